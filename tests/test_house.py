"""The rules of the house that no linter knows, read off the syntax tree."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_WRITE = ("gates", "drills", "migrations")
FORBIDDEN_NAMES = {"utils", "common", "core", "helpers", "services", "selectors", "managers", "signals"}
# Calls that write whatever they are called on.
ALWAYS_WRITES = {
    "bulk_create",
    "bulk_update",
    "get_or_create",
    "update_or_create",
    "abulk_create",
    "aupdate_or_create",
}
# Calls that write when they are called on a manager or queryset.
QUERYSET_WRITES = {"create", "update", "delete", "acreate", "aupdate", "adelete"}
# Calls that write when they are called on a row.
ROW_WRITES = {"save", "delete", "asave", "adelete"}
CLOCKS = {
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.date.today",
    "timezone.now",
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.sleep",
}
CLOCK_MODULES = {"time", "random", "secrets", "django", "psycopg", "guardian", "socket", "subprocess", "os"}


def sources(*rooms):
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return dotted(node.func) + "()" if isinstance(node, ast.Call) else ""


def is_write(call):
    """Tell whether a call writes rows. `mapping.update(other)` and `digest.update(bytes)` do not."""
    if not isinstance(call.func, ast.Attribute):
        return False
    name, chain = call.func.attr, dotted(call.func.value)
    if name in ALWAYS_WRITES:
        return True
    on_rows = "objects" in chain.split(".") or chain.endswith(("_set", "_set.all()"))
    filtered = any(
        f".{step}()" in chain for step in ("filter", "exclude", "all", "select_for_update", "order_by")
    )
    if name in QUERYSET_WRITES and (on_rows or filtered):
        return True
    if name == "update":
        return bool(call.keywords) and not call.args
    return name in ROW_WRITES and not call.args


def writes(source):
    return [
        node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and is_write(node)
    ]


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("Row.objects.create(a=1)", True),
        ("Row.objects.filter(a=1).update(a=2)", True),
        ("rows.filter(a=1).delete()", True),
        ("rows.bulk_create(made)", True),
        ("row.save(update_fields=['a'])", True),
        ("row.delete()", True),
        ("rows.update(a=2)", True),
        ("contract.step_set.all().update(a=2)", True),
        ("seen.update(other)", False),
        ("hashlib.sha256().update(b'')", False),
        ("Verdict.create(1)", False),
        ("answer.delete('cookie')", False),
    ],
)
def test_the_search_for_writes_finds_writes_and_nothing_else(source, found):
    assert bool(writes(source)) is found


def test_only_gates_drills_and_migrations_write():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources("contracts")
        if path.relative_to(ROOT / "contracts").parts[0] not in MAY_WRITE
        for line in writes(path.read_text("utf-8"))
    ]
    assert found == []


def test_rules_and_the_workers_library_know_no_django():
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources("contracts/rules", "contracts/client")
        for name in imports(ast.parse(path.read_text("utf-8")))
        if name in {"django", "guardian", "psycopg"}
    ]
    assert found == []


def test_rules_have_no_clock_and_no_chance():
    found = []
    for path in sources("contracts/rules"):
        tree = ast.parse(path.read_text("utf-8"))
        calls = [dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        bad = sorted(CLOCKS.intersection(calls) | CLOCK_MODULES.intersection(imports(tree)))
        found += [f"{path.relative_to(ROOT)}: {name}" for name in bad]
    assert found == []


def test_no_file_has_a_name_without_a_verb():
    paths = [path for room in ("contracts", "workbench", "tests") for path in (ROOT / room).rglob("*")]
    found = [str(path.relative_to(ROOT)) for path in paths if path.stem in FORBIDDEN_NAMES]
    assert found == []


def test_functions_and_files_have_sizes_people_enjoy():
    found = []
    for path in (ROOT / "manage.py", *sources("contracts", "workbench")):
        if "migrations" in path.parts:
            continue
        text = path.read_text("utf-8")
        if (lines := text.count("\n")) > 400:
            found.append(f"{path.relative_to(ROOT)} has {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (length := node.end_lineno - node.lineno + 1) > 60:
                found.append(f"{path.relative_to(ROOT)}: {node.name} has {length} lines")
    assert found == []


def test_contracts_never_import_the_workbench():
    found = [
        str(path.relative_to(ROOT))
        for path in sources("contracts")
        if "workbench" in imports(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []
