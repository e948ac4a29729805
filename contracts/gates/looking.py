"""Who has a place open just now. It proves nothing and decides nothing, so it is no event of the contract."""

from datetime import timedelta
from typing import Any

from django.db import connection

from contracts.models import Presence

SEEN_FOR = timedelta(seconds=45)  # after this without a sign a person is taken to have left
KEPT_FOR = timedelta(hours=1)


# Nobody's own sign is taken away by the statement that renews it, and nobody waits for a sign that another renews.
_LOOK = f"""
WITH gone AS (
    DELETE FROM {Presence._meta.db_table} WHERE id IN (
        SELECT id FROM {Presence._meta.db_table} WHERE contract_id = %(contract)s
        AND seen_at < statement_timestamp() - %(kept)s AND NOT (place = %(place)s AND person_id = %(person)s)
        FOR UPDATE SKIP LOCKED
    )
)
INSERT INTO {Presence._meta.db_table} (contract_id, place, person_id, seen_at)
VALUES (%(contract)s, %(place)s, %(person)s, statement_timestamp())
ON CONFLICT (contract_id, place, person_id) DO UPDATE SET seen_at = EXCLUDED.seen_at
"""  # noqa: S608  # own name


def look(*, contract_id: int, place: str, user: Any) -> None:
    """Record that `user` has `place` of a contract open at this moment, and forget old signs; one statement."""
    with connection.cursor() as cursor:
        known: dict[str, Any] = {"contract": contract_id, "place": place, "person": user.pk, "kept": KEPT_FOR}
        cursor.execute(_LOOK, known)


def leave(user: Any) -> None:
    """Forget what `user` has open: whoever logs out has left, and nobody is told otherwise until it lapses."""
    Presence.objects.filter(person=user).delete()
