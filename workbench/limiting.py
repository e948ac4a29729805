"""How long one statement may run while somebody waits for a page, and how long a migration waits for its lock."""

from typing import Any


def limit_statements(database: dict[str, Any], seconds: int) -> None:
    """Let the server end every statement of connections made from now on after so many seconds; 0 leaves it.

    Told when a connection is made, so that it costs nothing later. What DATABASE_URL says of it stands. A pooler would
    refuse to be told so: there the limit belongs to the role.
    """
    if database.get("DISABLE_SERVER_SIDE_CURSORS"):
        return
    options = database["OPTIONS"]
    said = options.get("options", "")
    if seconds and "statement_timeout" not in said:
        options["options"] = f"{said} -c statement_timeout={seconds}s".strip()
