"""What a contract lacks: each thing taken away from a whole one, one by one."""

from datetime import UTC, datetime

import pytest

from contracts.rules.completeness import (
    IDENTITY_NEEDS,
    PLANE_NEEDS,
    WHOLE_TASK,
    Progress,
    missing_things,
    needs_named_person,
    section_states,
)
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Effect, Measure, Plane, Section, SectionState, StaleOwner
from contracts.rules.windows import Window

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TOOL = {"tool": "cms", "effect": "non_idempotent_write", "query_path": "cms:log", "key_supported": False,
        "stale_owner": "none", "named_person": ""}  # fmt: skip
OWN = {"window": "power cut", "setting": "s", "provoked": "p", "expected": "e"}


def whole(**changes):
    """Return the facts of a contract that lacks nothing; `changes` replace parts of them."""
    facts = {
        "identity": dict.fromkeys(IDENTITY_NEEDS, "x") | {"deadline": "2030-01-02T00:00:00Z"},
        "rows": {
            "plane": [{"plane": p.value, "authority": "a:b", "readers": "all", "retention_days": 1} for p in Plane],
            "tool": [dict(TOOL)],
            "limit": [{"measure": m.value, "cap": "5"} for m in Measure],
            "gate": [{"named_person": "Bo"}],
            "window": [
                *({"window": w.value, "setting": "s", "provoked": "", "expected": ""} for w in Window),
                dict(OWN),
            ],
        },
        "counts": {"source": 1, "object": 200, "tool": 1},
        "touched": frozenset(PARTS),
        "marked": frozenset(section.value for section in Section),
    }  # fmt: skip
    return Progress(**(facts | changes))


def replaced(part, index, **facts):
    """Return the rows of a whole contract, with one row changed."""
    rows = {name: [dict(row) for row in listed] for name, listed in whole().rows.items()}
    rows[part][index] |= facts
    return rows


def found(progress, now=NOW):
    things = missing_things(progress, now=now)
    assert all(thing.sentence % thing.values for thing in things)
    return [(thing.section.value, thing.part, thing.field, thing.code) for thing in things]


def test_a_whole_contract_lacks_nothing():
    assert found(whole()) == []
    assert set(section_states(whole(), ()).values()) == {SectionState.COMPLETE}


@pytest.mark.parametrize("name", IDENTITY_NEEDS)
@pytest.mark.parametrize("nothing", ["", None])
def test_each_fact_of_the_identity_is_missed(name, nothing):
    progress = whole(identity=whole().identity | {name: nothing})
    assert found(progress) == [("identity", "identity", name, "empty")]
    without = {fact: value for fact, value in whole().identity.items() if fact != name}
    assert found(whole(identity=without)) == [("identity", "identity", name, "empty")]


def test_a_deadline_must_lie_ahead():
    for passed in (NOW, datetime(2031, 1, 1, tzinfo=UTC)):
        identity = whole().identity | {"deadline": "2030-01-01T00:00:00Z"}
        assert found(whole(identity=identity), now=passed) == [
            ("identity", "identity", "deadline", "deadline_passed")
        ]
    assert found(whole(), now=datetime(2030, 1, 1, 23, 59, 59, tzinfo=UTC)) == []


@pytest.mark.parametrize("index", range(len(Plane)))
@pytest.mark.parametrize("name", PLANE_NEEDS)
def test_each_fact_of_each_plane_is_missed(index, name):
    (thing,) = missing_things(whole(rows=replaced("plane", index, **{name: ""})), now=NOW)
    assert (thing.part, thing.field, thing.row) == ("plane", name, list(Plane)[index].label)


@pytest.mark.parametrize("part", ["source", "object", "tool"])
@pytest.mark.parametrize("count", [0, None])
def test_one_source_one_object_and_one_tool_are_needed(part, count):
    counts = {name: number for name, number in whole().counts.items() if name != part}
    progress = whole(counts=counts if count is None else counts | {part: 0})
    assert found(progress) == [(PARTS[part].section.value, part, "", "none")]


@pytest.mark.parametrize("effect", Effect)
@pytest.mark.parametrize("query_path", ["", "cms:log"])
@pytest.mark.parametrize("key_supported", [False, True])
@pytest.mark.parametrize("stale_owner", StaleOwner)
@pytest.mark.parametrize("person", ["", "Bo"])
def test_a_write_nobody_can_look_up_needs_a_named_person(
    effect, query_path, key_supported, stale_owner, person
):
    tool = TOOL | {
        "effect": effect.value, "query_path": query_path, "key_supported": key_supported,
        "stale_owner": stale_owner.value, "named_person": person,
    }  # fmt: skip
    blind = (
        effect is not Effect.READ_ONLY
        and query_path == ""
        and not key_supported
        and stale_owner is not StaleOwner.TARGET_DEDUPLICATES
    )
    assert needs_named_person(tool) is blind
    expected = [("operations", "tool", "named_person", "named_person")] if blind and not person else []
    assert found(whole(rows=replaced("tool", 0, **tool))) == expected


def test_one_cap_over_the_whole_task_is_enough():
    for kept in WHOLE_TASK:
        capped = {kept, Measure.FAILED_RECOVERIES}
        rows = whole().rows | {
            "limit": [{"measure": m.value, "cap": "5" if m in capped else None} for m in Measure]
        }
        assert found(whole(rows=rows)) == []


def test_a_cap_on_tries_alone_is_not_one_on_the_whole_task():
    capped = {Measure.TRIES_PER_STEP, Measure.FAILED_RECOVERIES}
    rows = whole().rows | {
        "limit": [{"measure": m.value, "cap": "5" if m in capped else None} for m in Measure]
    }
    assert found(whole(rows=rows)) == [("limits", "limit", "cap", "no_cap")]


def test_failed_recoveries_have_a_cap():
    index = list(Measure).index(Measure.FAILED_RECOVERIES)
    (thing,) = missing_things(whole(rows=replaced("limit", index, cap=None)), now=NOW)
    assert (thing.code, thing.row) == ("empty", Measure.FAILED_RECOVERIES.label)


def test_somebody_takes_over_what_cannot_be_decided():
    assert found(whole(rows=replaced("gate", 0, named_person=""))) == [
        ("owner", "gate", "named_person", "empty")
    ]


@pytest.mark.parametrize("index", range(len(Window)))
def test_each_of_the_six_windows_has_its_setting(index):
    (thing,) = missing_things(whole(rows=replaced("window", index, setting="")), now=NOW)
    assert (thing.part, thing.field, thing.row) == ("window", "setting", list(Window)[index].label)


@pytest.mark.parametrize("name", ["setting", "provoked", "expected"])
def test_a_window_of_ones_own_tells_how_and_what(name):
    (thing,) = missing_things(whole(rows=replaced("window", len(Window), **{name: ""})), now=NOW)
    assert (thing.field, thing.row) == (name, "power cut")


@pytest.mark.parametrize("section", Section)
def test_each_section_is_marked_by_a_person(section):
    progress = whole(marked=whole().marked - {section.value})
    assert found(progress) == [(section.value, "mark", "", "not_marked")]


def test_things_come_in_the_order_of_the_pages():
    blank = whole(
        identity={}, counts={}, marked=frozenset(), rows={**whole().rows, "gate": [{"named_person": ""}]}
    )
    order = [list(Section).index(thing.section) for thing in missing_things(blank, now=NOW)]
    assert order == sorted(order)
    assert missing_things(blank, now=NOW) == missing_things(blank, now=NOW)


@pytest.mark.parametrize("section", Section)
@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("lacks", [False, True])
@pytest.mark.parametrize("touched", [False, True])
def test_a_section_is_as_far_as_its_mark_its_content_and_its_gaps_say(section, marked, lacks, touched):
    names = {part.name for part in PARTS.values() if part.section is section}
    progress = whole(
        marked=frozenset({section.value} if marked else ()), touched=frozenset(names if touched else ())
    )
    things = [thing for thing in missing_things(_blank(), now=NOW) if thing.section is section]
    gaps = [thing for thing in things if (thing.code != "not_marked") is lacks] or things[:0]
    expected = (
        (SectionState.NEEDS_ATTENTION if lacks and gaps else SectionState.COMPLETE)
        if marked
        else SectionState.IN_PROGRESS if touched else SectionState.NOT_STARTED
    )  # fmt: skip
    assert section_states(progress, gaps)[section] is expected


def _blank():
    rows = {
        "plane": [{"plane": p.value, "authority": "", "readers": "", "retention_days": None} for p in Plane],
        "tool": [TOOL | {"query_path": ""}],
        "limit": [{"measure": m.value, "cap": None} for m in Measure],
        "gate": [{"named_person": ""}],
        "window": [{"window": w.value, "setting": "", "provoked": "", "expected": ""} for w in Window],
    }
    return Progress({}, rows, {}, frozenset(), frozenset())


def test_a_blank_contract_is_told_everything_it_lacks():
    codes = [code for *_, code in found(_blank())]
    assert codes.count("empty") == len(IDENTITY_NEEDS) + len(Plane) * len(PLANE_NEEDS) + 2 + len(Window)
    assert codes.count("none") == 3
    assert codes.count("not_marked") == len(Section)
    assert set(section_states(_blank(), missing_things(_blank(), now=NOW)).values()) == {
        SectionState.NOT_STARTED
    }
