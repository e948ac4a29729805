"""How many queries a page needs does not depend on how much there is."""

import pytest

from contracts.gates.beats import database_now
from contracts.gates.objects import add_lines
from contracts.models import Attempt, Checkpoint, Event, Operation, ToolContract, UsageEntry, WorkObject
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Section
from tests import builders, people
from tests.views.visiting import HTMX, address, queries, visitor

pytestmark = pytest.mark.django_db
FEW, MANY = 10, 2_000
PAGES = ["overview", "timeline", "holder", "policy", "events", "export", "sharing", "ask"]


def filled(team, count):
    """Return a contract with `count` sources, objects, operations, usage entries and checkpoints."""
    contract = builders.a_draft(team)
    actor = people.acting(people.owner(team))
    for part in ("tool", "attempt"):
        builders.a_row(contract, part)
    sources = [
        {"source_id": f"P-{n}", "version_label": "1", "sha256": "a" * 64, "location": f"s3://{n}"}
        for n in range(count)
    ]
    builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["source"], lines=sources))
    objects = [{"object_id": f"O-{n}", "source": f"P-{n}", "step": "draft"} for n in range(count)]
    builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=objects))
    _records(contract, count)
    return contract


def _records(contract, count):
    """Store what comes in one by one all at once: thousands of gates would take minutes."""
    now, tool = database_now(), ToolContract.objects.of(contract.pk).get()
    attempt = Attempt.objects.of(contract.pk).get()
    things = list(WorkObject.objects.of(contract.pk))
    Operation.objects.bulk_create(
        Operation(
            contract=contract, tool=tool, step="publish", work_object=thing, parameters={"n": n}, target="cms:x",
            expected="one", key=f"{n:064x}", fingerprint=f"{n:064x}", intended_at=now,
        )
        for n, thing in enumerate(things)
    )  # fmt: skip
    UsageEntry.objects.bulk_create(
        UsageEntry(
            contract=contract, entry_id=f"u-{n}", measure="tokens", amount=n, attempt=attempt, used_at=now,
            evidence="s3://x",
        )
        for n in range(count)
    )  # fmt: skip
    Checkpoint.objects.bulk_create(
        Checkpoint(
            contract=contract, checkpoint_id=f"C-{n}", sequence=n + 1, attempt=attempt, generation=1,
            durability="sync", next_step="draft", schema_version=1, inline_state={}, sha256="a" * 64, size_bytes=2,
            committed_at=now,
        )
        for n in range(count)
    )  # fmt: skip


def pages(contract):
    task_id = contract.task_id
    thing = WorkObject.objects.of(contract.pk)[5]
    found = {section.value: address("section", task_id, section.value) for section in Section}
    found |= {name: address(name) for name in ("list", "new")}
    found |= {name: address(name, task_id) for name in PAGES}
    found |= {
        "objects found": address(
            "section", task_id, "objects", **{"object-q": "O-", "object-state": "pending"}
        ),
        "last objects": address("section", task_id, "objects", **{"object-page": "9999"}),
        "ask for one": address("ask", task_id, operation=f"{9:064x}"),
        "operation": address("operation", task_id, f"{9:064x}"),
        "leave draft": address("act", task_id, "leave-draft"),
        "complete": address("act", task_id, "complete"),
        "paste": address("paste", task_id, "object"),
        "add": address("row_add", task_id, "object"),
        "edit": address("row_edit", task_id, "object", thing.pk),
        "remove": address("row_remove", task_id, "object", thing.pk),
    }
    return found


def test_pages_need_as_many_queries_for_ten_thousand_rows_as_for_ten():
    team = builders.a_team()
    client = visitor(people.owner(team))
    counts = {}
    for count in (FEW, MANY):
        contract = filled(team, count)
        assert Event.objects.of(contract.pk).count() > 2 * count
        counts[count] = {name: queries(client, where) for name, where in pages(contract).items()}
    more = {
        name: (counts[FEW][name], count) for name, count in counts[MANY].items() if count > counts[FEW][name]
    }
    assert more == {}
    assert max(counts[MANY].values()) <= 60


def test_acts_on_a_row_need_as_many_queries_for_many_rows_as_for_few(django_assert_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    team = builders.a_team()
    client = visitor(people.owner(team))
    assert (
        client.get(address("list")).status_code == 200
    )  # the first request of a session stores its language
    counts = []
    for count in (FEW, 2_000):
        contract = builders.a_draft(team)
        lines = [{"object_id": f"O-{n}"} for n in range(count)]
        actor = people.acting(people.owner(team))
        builders.done(add_lines(contract_id=contract.pk, actor=actor, part=PARTS["object"], lines=lines))
        thing = WorkObject.objects.of(contract.pk)[5]
        with CaptureQueriesContext(connection) as captured:
            where = address("row_move", contract.task_id, "object", thing.pk)
            assert client.post(where, {"direction": "up"}, headers=HTMX).status_code == 200
            where = address("row_add", contract.task_id, "object")
            assert client.post(where, {"object-new-object_id": "N"}, headers=HTMX).status_code == 200
            where = address("row_remove", contract.task_id, "object", thing.pk)
            assert client.post(where, {"version": "1"}, headers=HTMX).status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1]
