"""What the pages cost: milliseconds, queries, bytes and requests, beside a bare page and Django's own admin.

All in one process and in turns, so that a ratio holds on any machine; see `visiting` for why not over HTTP.
"""

import logging
import os
import time
from typing import Any

from tests.benchmarks.filling import a_worked_contract, more_contracts
from tests.benchmarks.places import analyse, workbench
from tests.benchmarks.telling import Row, aim, in_turns, middle, table, tail
from tests.benchmarks.visiting import HTMX, Visit, queries_of, weight_of

SIZES = (50, 500, 5_000)  # objects of one contract
WORKED = 500  # objects of the contract whose other pages are looked at
CONTRACTS, WAITING = 200, 30  # in the list; in the queue
ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "20"))
INLINE = 500  # rows of one form of the admin
BARE, ADMIN = "bare page", "admin: list of 100"
FRAGMENTS = "part: "
SMALL = {"sizes": (20, 120), "worked": 20, "contracts": 12, "waiting": 2, "rounds": 2, "inline": 400}


def run(
    sizes: tuple[int, ...] = SIZES,
    *,
    worked: int = WORKED,
    contracts: int = CONTRACTS,
    waiting: int = WAITING,
    rounds: int = ROUNDS,
    inline: int = INLINE,
) -> list[Row]:
    """Print and return a row for each page and part, and for each aim."""
    with workbench(settings="tests.benchmarks.beside_settings"):
        visits = _visits(sizes, worked, contracts, waiting)
        analyse()
        rows = _measure(visits, rounds)
        table(f"Pages, in one process, {rounds} visits each, in turns", rows)
        print("compressed: as a proxy with gzip would send it; cold: page and all it links to, compressed\n")
        saved = _save_all(max(sizes), inline)
    return [*rows, *saved, *_aims({row["page"]: row for row in rows}, max(sizes))]


def _visits(sizes: tuple[int, ...], worked: int, contracts: int, waiting: int) -> dict[str, Visit]:
    from django.contrib.auth import get_user_model

    from tests import builders, people
    from tests.exports.telling import a_crowded_draft
    from tests.views.visiting import address, visitor

    team = builders.a_team()
    olga, carla = visitor(people.owner(team)), visitor(people.curator(team))
    ada = visitor(get_user_model().objects.create_superuser("ada", password=people.PASSWORD))
    drafts = {size: a_crowded_draft(size) for size in sizes}
    used = a_worked_contract("pages-worked", worked, left=worked // 10)
    more_contracts(used, "show", contracts)
    visits = {BARE: Visit(olga, "/beside/bare/"), ADMIN: Visit(ada, "/beside/admin/contracts/workobject/")}
    visits["list"] = Visit(olga, address("list"))
    visits |= {
        f"objects: {size:,}": Visit(olga, address("section", draft.task_id, "objects"))
        for size, draft in drafts.items()
    }
    for name in ("overview", "events", "timeline", "export"):
        visits[name] = Visit(olga, address(name, used.task_id))
    return visits | _approvals(team, carla, waiting) | _parts(olga, carla, used, drafts[min(sizes)])


def _approvals(team: Any, curator: Any, waiting: int) -> dict[str, Visit]:
    """Return the visits of somebody who decides, with `waiting` requests before them."""
    from tests import scenes
    from tests.views.reading import by_id, read
    from tests.views.visiting import address

    contract = scenes.a_label_contract(team, "pages-label")
    scenes.change_rules(contract, login_fresh_seconds="3600")  # a slow machine is not what this is about
    for number in range(waiting):
        scenes.call(contract, number + 2)
        item = scenes.ask(contract, scenes.WHY)
    page = Visit(curator, address("approval", contract.task_id, item.item_id))
    marks = {
        one["name"]: one["value"]
        for one in by_id(read(page()))["item"].every("input")
        if one["name"] == "mark"
    }
    looking = address("looking", contract.task_id, item.item_id)
    return {
        "approval queue": Visit(curator, address("approvals")),
        "approval": page,
        f"{FRAGMENTS}looking": Visit(curator, looking, HTMX, marks),
    }


def _parts(owner: Any, curator: Any, used: Any, draft: Any) -> dict[str, Visit]:
    """Return the parts of pages that htmx asks for."""
    from contracts.models import WorkObject
    from tests.views.visiting import address

    row = WorkObject.objects.of(draft.pk).first()
    assert row is not None
    places = {
        "list": address("list", q="show"),
        "events": address("events", used.task_id, actor="label-writer"),
        "owner now": address("holder", used.task_id),
        "row": address("row", draft.task_id, "object", row.pk),
        "edit a row": address("row_edit", draft.task_id, "object", row.pk),
        "add a row": address("row_add", draft.task_id, "object"),
    }
    parts = {f"{FRAGMENTS}{name}": Visit(owner, place, HTMX) for name, place in places.items()}
    parts[f"{FRAGMENTS}queue"] = Visit(curator, address("approvals"), HTMX)
    here = address("here", draft.task_id, "objects")
    parts[f"{FRAGMENTS}here"] = Visit(owner, here, HTMX, {"others": "nobody"})
    return parts


def _measure(visits: dict[str, Visit], rounds: int) -> list[Row]:
    spent = in_turns(visits, rounds)
    base = middle(spent[BARE])
    return [
        {
            "page": name,
            "p50_ms": middle(spent[name]),
            "p95_ms": tail(spent[name]),
            "x_bare": round(middle(spent[name]) / base, 2),
            "queries": queries_of(visit),
            **weight_of(visit()),
        }
        for name, visit in visits.items()
    ]


def _save_all(count: int, inline: int) -> list[Row]:
    """Change all objects of the largest contract by one form, and as many as the admin takes by its own."""
    from django.contrib.auth import get_user_model

    from contracts.models import Contract, WorkObject
    from tests import builders, people
    from tests.exports.telling import a_crowded_draft
    from tests.views.visiting import address, visitor

    draft = a_crowded_draft(count)
    posted = {"act": "skip", "all": "1", "reason": "Not on show."}
    olga = visitor(people.owner(builders.a_team()))
    start = time.perf_counter()
    answer = olga.post(address("objects_act", draft.task_id), posted)
    spent = round((time.perf_counter() - start) * 1_000, 2)
    changed = WorkObject.objects.of(draft.pk).filter(state="skipped").count()
    row = {
        "saved": f"{count:,} objects, one form",
        "status": answer.status_code,
        "changed": changed,
        "ms": spent,
    }
    crowd: Contract = a_crowded_draft(inline)
    ada = visitor(get_user_model().objects.get(username="ada"))
    rows = [row, _save_inline(ada, f"/beside/admin/contracts/contract/{crowd.pk}/change/", inline)]
    table("Saving all objects", rows)
    return rows


def _save_inline(client: Any, url: str, count: int) -> Row:
    from tests.views.reading import filled_form, read

    page = client.get(url)
    assert page.status_code == 200, page.status_code
    form = max(read(page).every("form"), key=lambda one: len(one.every("input")))
    values = filled_form(form)
    logging.disable(logging.ERROR)  # the refusal is what is asked for
    start = time.perf_counter()
    answer = client.post(url, values)
    spent = round((time.perf_counter() - start) * 1_000, 2)
    logging.disable(logging.NOTSET)
    told = f"{count:,} objects inline in the admin, {len(values):,} fields"
    return {"saved": told, "status": answer.status_code, "changed": 0, "ms": spent}


def _aims(rows: dict[str, Row], most: int) -> list[Row]:
    print()
    large = rows[f"objects: {most:,}"]
    approval = rows["approval"]
    parts = {name: row for name, row in rows.items() if name.startswith(FRAGMENTS)}
    lists = ("list", "approval queue", "events", f"objects: {most:,}")
    return [
        aim(
            f"objects section of {most:,} by the admin's list",
            large["p50_ms"] / rows[ADMIN]["p50_ms"],
            at_most=0.5,
        ),
        *(aim(f"queries of {name}", rows[name]["queries"], at_most=12) for name in lists),
        aim("approval page by the bare page", approval["x_bare"], at_most=4),
        aim("queries of the approval page", approval["queries"], at_most=12),
        aim("kB of the approval page, cold, all it links to", approval["cold_bytes"] / 1_000, at_most=100),
        aim("requests of the approval page, cold", approval["requests"], at_most=8),
        *(aim(f"{name} by the bare page", row["x_bare"], at_most=2.5) for name, row in parts.items()),
    ]
