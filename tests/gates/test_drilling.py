import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from contracts.exports.json_form import stream_json
from contracts.exports.reading import read_document
from contracts.exports.snapshot import open_snapshot
from contracts.exports.text_form import stream_text
from contracts.gates import drilling
from contracts.gates.drilling import (
    Found,
    address_of,
    ask_for_run,
    ask_to_stop,
    begin_run,
    end_run,
    fill_result,
    goes_on,
    keep_result,
    note_progress,
    notice_alive,
)
from contracts.gates.rows import edit_row
from contracts.models import DrillResult, DrillRun, WindowRow
from contracts.rules.drill_runs import RunEnd, RunState
from contracts.rules.drilling import Counters
from contracts.rules.parts import PARTS
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import ActorKind
from tests import builders, people
from tests.drilled import CANNOT, CLEAN, DOUBLED, HELD, OTTO, a_run, begun, found, not_expressible
from tests.gates.watching import assert_allowed, assert_refused, events_of, force, snapshot

pytestmark = pytest.mark.django_db
ORDER = {"adapter": "client", "target": "proxy", "windows": ["two_resumes"], "repeat": 3}


def row(contract, window="before_commit"):
    return WindowRow.objects.get(contract=contract, window=window)


def jobs():
    return [job.args["run_id"] for job in ProcrastinateJob.objects.filter(queue_name=drilling.QUEUE)]


def test_a_run_is_asked_for_and_its_job_stored_with_it():
    contract = builders.a_complete_draft()
    verdict, events = assert_allowed(contract, ask_for_run, **ORDER, language="zh-hans")
    run = DrillRun.objects.get()
    assert verdict.outcome == run
    assert (run.state, run.adapter, run.target, run.repeat, run.asked_by) == (
        "queued",
        "client",
        "proxy",
        3,
        "olga",
    )
    assert (run.windows, run.workflow_version, run.language) == (["two_resumes"], "4", "zh-hans")
    assert (run.is_open, run.repetitions, run.outdated, str(run)) == (True, 3, False, run.run_id)
    assert jobs() == [run.run_id]
    (event,) = events
    assert (event.act, event.part, event.subject, event.after) == (
        "ask_for_drill",
        "drill",
        run.run_id,
        run.facts(),
    )


def test_a_run_of_no_contract_is_recorded_nowhere_else(settings):
    run = a_run(queued=False)
    assert (run.contract, run.workflow_version, run.outdated, jobs()) == (None, "", False, [])


def test_it_refuses_where_the_setting_forbids_drills(settings):
    settings.WORKBENCH_DRILLS = False
    contract = builders.a_draft()
    assert_refused(contract, "drills_forbidden", ask_for_run, **ORDER)
    assert ask_for_run(actor=OTTO, **ORDER).code == "drills_forbidden"
    assert not DrillRun.objects.exists()
    assert jobs() == []


def test_it_refuses_an_order_that_makes_no_sense():
    contract = builders.a_draft()
    verdict = assert_refused(contract, "bad_values", ask_for_run, **{**ORDER, "repeat": 0, "windows": []})
    assert [problem.field for problem in verdict.problems] == ["windows", "repeat"]
    assert ask_for_run(actor=OTTO, **{**ORDER, "target": "moon"}).code == "bad_values"


def test_it_refuses_for_a_cancelled_contract():
    contract = force(builders.a_draft(), ContractState.CANCELLED)
    assert_refused(contract, "not_open", ask_for_run, **ORDER)


def test_it_refuses_a_second_run_while_one_has_not_ended():
    contract = builders.a_draft()
    first = a_run(contract)
    assert_refused(contract, "one_open_run_per_contract", ask_for_run, **ORDER)
    assert jobs() == [first.run_id]
    assert end_run(run_id=first.run_id, reason=RunEnd.FAULT, fault="x" * 5_000)
    first.refresh_from_db()
    assert (first.state, len(first.fault)) == ("failed", 4_000)
    assert a_run(contract).is_open


def test_only_one_process_begins_a_run():
    run = a_run()
    begun(run)
    assert (run.state, run.host, run.pid, run.folder) == ("running", "elsewhere", 7, "/tmp/nowhere")
    assert run.started_at
    assert not begin_run(run_id=run.run_id, runner=drilling.Runner("here", 8, 2.0))
    run.refresh_from_db()
    assert run.pid == 7


def test_progress_is_stored_and_says_whether_to_go_on():
    contract = builders.a_draft()
    run = begun(a_run(contract))
    known = snapshot(contract)
    assert note_progress(run_id=run.run_id, window="receipt_lost", repetitions_done=3)
    run.refresh_from_db()
    assert (run.at_window, run.repetitions_done) == ("receipt_lost", 3)
    assert snapshot(contract) == known  # how far a run is belongs to no contract
    ask_to_stop(run=run, actor=OTTO)
    assert not note_progress(run_id=run.run_id, window="receipt_lost", repetitions_done=4)
    assert not goes_on(run_id=run.run_id)
    end_run(run_id=run.run_id, reason=RunEnd.ASKED)
    assert not note_progress(run_id=run.run_id, window="before_commit", repetitions_done=0)
    run.refresh_from_db()
    assert (run.repetitions_done, run.state) == (4, "stopped")


def test_signs_of_life_and_versions_are_stored_while_a_run_is_open():
    run = begun(a_run())
    before = run.seen_at
    notice_alive(run_id=run.run_id, versions={"python": "3.13"})
    notice_alive(run_id=run.run_id)
    run.refresh_from_db()
    assert run.versions == {"python": "3.13"}
    assert run.seen_at >= before
    end_run(run_id=run.run_id, reason=RunEnd.COMPLETED)
    notice_alive(run_id=run.run_id, versions={})
    run.refresh_from_db()
    assert (run.versions, run.state) == ({"python": "3.13"}, "done")


@pytest.mark.parametrize("of_a_contract", [True, False])
def test_a_waiting_run_is_stopped_at_once_and_never_begins(of_a_contract):
    run = a_run(builders.a_draft() if of_a_contract else None)
    assert ask_to_stop(run=run, actor=OTTO).code == "done"
    run.refresh_from_db()
    assert (run.state, run.end_reason, run.stopped_by) == ("stopped", "asked", "otto")
    assert not begin_run(run_id=run.run_id, runner=drilling.Runner("here", 8, 2.0))
    assert ask_to_stop(run=run, actor=OTTO).code == "unchanged"


def test_a_run_under_way_is_asked_to_stop_once():
    contract = builders.a_draft()
    run = begun(a_run(contract))
    assert ask_to_stop(run=run, actor=OTTO).code == "done"
    assert ask_to_stop(run=run, actor=OTTO).code == "unchanged"
    run.refresh_from_db()
    assert (run.state, run.ended_at) == (RunState.STOPPING, None)
    assert [event.act for event in events_of(contract)][-1] == "stop_drill"
    assert [event.act for event in events_of(contract)].count("stop_drill") == 1


def test_a_run_ends_once_and_for_the_first_reason():
    run = begun(a_run())
    assert end_run(run_id=run.run_id, reason=RunEnd.RUNNER_GONE)
    assert not end_run(run_id=run.run_id, reason=RunEnd.COMPLETED)
    run.refresh_from_db()
    assert (run.state, run.end_reason) == ("failed", "runner_gone")


def test_a_result_fills_its_cell_with_who_when_and_where(settings):
    contract = builders.a_complete_draft()
    run = begun(a_run(contract))
    before = row(contract).facts()
    verdict, events = assert_kept(contract, run, found("before_commit", CLEAN))
    filled = row(contract)
    assert (filled.counted, filled.repeated, filled.verdict) == (16, False, "held")
    assert (filled.run_by, filled.evidence) == ("otto", address_of(run))
    assert filled.evidence.endswith(f"/drills/{run.run_id}/")
    assert filled.run_at == events[0].at
    first, second = filled.on_resuming.split("\n")
    assert first == "What was not stored was done once more; each object has one page."
    assert "16 pages for 16 objects, 0 missing" in second
    assert (events[0].act, events[0].actor, events[0].actor_kind) == ("drill", "drill", ActorKind.SYSTEM)
    assert (events[0].before, events[0].after) == (before, filled.facts())
    stored = verdict.outcome
    assert (stored.verdict, stored.counters["in_target"], stored.evidence) == (
        "held",
        16,
        "/tmp/before_commit",
    )
    assert stored.counters["seconds_to_resume"] == "1.5"
    assert str(stored) == f"{run.pk} before_commit"


def assert_kept(contract, run, what):
    known = len(events_of(contract))
    version = row(contract, what.window).version
    verdict = keep_result(run=run, found=what)
    assert verdict.allowed
    assert row(contract, what.window).version == version + 1
    return verdict, events_of(contract)[known:]


def test_each_verdict_fills_its_cell():
    contract = builders.a_complete_draft()
    run = begun(a_run(contract))
    for window, what in {
        "receipt_lost": found("receipt_lost", DOUBLED),
        "frozen_owner": found("frozen_owner", HELD),
        "two_resumes": not_expressible("two_resumes"),
    }.items():
        assert_kept(contract, run, what)
        assert row(contract, window).verdict == what.verdict.value
    assert row(contract, "two_resumes").counted is None
    assert row(contract, "two_resumes").on_resuming == CANNOT


def test_sentences_go_in_in_the_language_of_who_asked():
    contract = builders.a_draft()
    run = begun(a_run(contract, language="zh-hans"))
    assert_kept(contract, run, found("before_commit", CLEAN))
    assert row(contract).on_resuming


def test_a_window_that_could_not_be_provoked_fills_nothing():
    contract = builders.a_draft()
    run = begun(a_run(contract))
    known = snapshot(contract)
    what = Found("before_commit", None, Counters(), "Nobody came to %(point)s.", {"point": "drafted"})
    assert keep_result(run=run, found=what).outcome.verdict == ""
    assert snapshot(contract) == known


def test_results_of_no_contract_are_kept_with_the_run():
    run = begun(a_run())
    assert keep_result(run=run, found=found("before_commit", CLEAN)).allowed
    assert DrillResult.objects.get().run == run


def test_a_window_has_one_result_in_a_run():
    contract = builders.a_draft()
    run = begun(a_run(contract))
    assert_kept(contract, run, found("before_commit", CLEAN))
    known = snapshot(contract)
    again = keep_result(run=run, found=found("before_commit", DOUBLED))
    assert (again.code, again.outcome.verdict) == ("one_result_per_window", "held")
    assert snapshot(contract) == known


def test_a_later_run_takes_the_place_of_an_earlier_one_and_of_a_result_typed_by_hand():
    contract = builders.a_draft()
    first = begun(a_run(contract))
    assert_kept(contract, first, found("before_commit", DOUBLED))
    end_run(run_id=first.run_id, reason=RunEnd.COMPLETED)
    by_hand = {**row(contract).facts(), "verdict": "failed", "counted": "7", "evidence": "logs://by-hand"}
    olga = people.acting(people.owner(contract.team))
    verdict = edit_row(
        contract_id=contract.pk,
        actor=olga,
        part=PARTS["window"],
        row_id=row(contract).pk,
        version=row(contract).version,
        values=by_hand,
    )
    assert verdict.allowed
    second = begun(a_run(contract))
    _, (event,) = assert_kept(contract, second, found("before_commit", CLEAN))
    assert (event.before["counted"], event.after["counted"]) == (7, 16)
    assert DrillResult.objects.filter(run=first).get().verdict == "failed"


def test_a_contract_that_was_cancelled_meanwhile_keeps_its_grid_and_the_run_its_result():
    contract = builders.a_draft()
    run = begun(a_run(contract))
    force(contract, ContractState.CANCELLED)
    verdict = keep_result(run=run, found=found("before_commit", CLEAN))
    assert (verdict.allowed, verdict.code) == (False, "not_open")
    assert row(contract).verdict == ""
    assert DrillResult.objects.get().verdict == "held"
    assert events_of(contract)[-1].refused == "not_open"


def test_a_window_that_is_not_in_the_grid_is_refused():
    contract = builders.a_draft()
    run = begun(a_run(contract))
    WindowRow.objects.filter(contract=contract, window="before_commit").delete()
    verdict = fill_result(contract_id=contract.pk, run=run, found=found("before_commit", CLEAN))
    assert verdict.code == "row_gone"


def test_a_run_is_marked_once_the_contract_is_about_another_version():
    contract = builders.a_complete_draft()
    run = a_run(contract)
    contract.workflow_version = "5"
    contract.save()
    run = DrillRun.objects.select_related("contract").get(pk=run.pk)
    assert run.outdated


def test_results_go_out_as_json_and_text_and_come_back_the_same():
    contract = builders.a_complete_draft()
    run = begun(a_run(contract))
    assert_kept(contract, run, found("frozen_owner", HELD))
    with open_snapshot(contract.pk) as snapshot:
        content = b"".join(stream_json(snapshot))
    with open_snapshot(contract.pk) as snapshot:
        text = b"".join(stream_text(snapshot, "en")).decode()
    (back,) = [row for row in read_document(content).rows["window"] if row["window"] == "frozen_owner"]
    assert (back["verdict"], back["counted"]) == ("unknown_held", 15)
    assert back["evidence"] == address_of(run)
    assert "Unknown, held" in text
    assert address_of(run) in text
