import pytest
from django.utils import translation

from contracts.drills.adapters import all_adapters
from contracts.gates.drilling import ask_to_stop, end_run, keep_result, note_progress
from contracts.models import Contract, DrillRun
from contracts.rules.drill_runs import RunEnd
from contracts.rules.states import ContractState
from contracts.rules.windows import Window
from contracts.views import drilled
from tests import builders, people
from tests.drilled import CLEAN, HELD, OTTO, a_done_run, a_run, begun, found, not_expressible
from tests.gates.watching import force
from tests.views.reading import read
from tests.views.visiting import HTMX, address, queries, visitor, words

pytestmark = pytest.mark.django_db
ORDER = {"adapter": "sqlite-sample", "target": "plain", "repeat": "2", "windows": ["receipt_lost"]}


@pytest.fixture
def contract():
    return builders.a_complete_draft()


@pytest.fixture
def otto(contract):
    return visitor(people.operator(contract.team))


def grid(contract):
    return address("section", contract.task_id, "windows")


def test_an_operator_finds_the_button_on_the_grid_and_others_do_not(contract, otto):
    assert address("drill", contract.task_id) in words(otto.get(grid(contract)))
    for person in (people.viewer, people.reviewer, people.curator):
        assert "Run the drill" not in words(visitor(person(contract.team)).get(grid(contract)))


def test_where_the_setting_forbids_drills_the_button_is_off_and_says_why(contract, otto, settings):
    settings.WORKBENCH_DRILLS = False
    page = words(otto.get(grid(contract)))
    assert address("drill", contract.task_id) not in page
    assert "settings do not allow them here" in page
    assert "settings do not allow them here" in words(otto.get(address("drill", contract.task_id)))
    refused = otto.post(address("drill", contract.task_id), ORDER)
    assert refused.status_code == 422
    assert not DrillRun.objects.exists()


def test_a_cancelled_contract_and_one_past_its_deadline_are_not_drilled(contract, otto):
    force(contract, ContractState.CANCELLED)
    assert "verdict blocked" in words(otto.get(address("drill", contract.task_id)))
    late = builders.a_paused()
    Contract.objects.filter(pk=late.pk).update(deadline="2020-01-01T00:00Z")
    assert "The deadline has passed" in words(otto.get(address("drill", late.task_id)))


def test_the_form_begins_with_all_windows_or_the_one_that_was_asked_for(contract, otto):
    def checked(**query):
        page = read(otto.get(address("drill", contract.task_id, **query)))
        boxes = [one for one in page.every("input") if one["name"] == "windows"]
        return [one["value"] for one in boxes if "checked" in one.attributes]

    assert checked() == [window.value for window in Window]
    assert checked(window="two_resumes") == ["two_resumes"]


def test_a_run_is_started_and_its_page_polls_until_it_has_ended(contract, otto):
    answer = otto.post(address("drill", contract.task_id), ORDER)
    run = DrillRun.objects.get()
    assert answer["Location"] == address("drill_run", run.run_id)
    assert (run.asked_by, run.windows, run.repeat, run.contract) == ("otto", ["receipt_lost"], 2, contract)
    assert run.language == "en"
    page = otto.get(answer["Location"])
    assert 'hx-trigger="every 2s"' in words(page)
    assert "Nobody carries out drills just now" in words(page)
    assert page["Cache-Control"] == "no-store"
    begun(run)
    note_progress(run_id=run.run_id, window="receipt_lost", repetitions_done=1)
    part = otto.get(answer["Location"], headers=HTMX)
    assert "<html" not in words(part)
    assert "1 of 2 repetitions" in words(part)
    assert Window.RECEIPT_LOST.label in words(part)
    keep_result(run=run, found=found("receipt_lost", CLEAN))
    end_run(run_id=run.run_id, reason=RunEnd.COMPLETED)
    ended = words(otto.get(answer["Location"], headers=HTMX))
    assert "hx-trigger" not in ended
    assert "Every cell was run." in ended
    assert "each object has one page" in ended


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"repeat": "11"}, "A number from 1 to 10."),
        ({"repeat": "0"}, "A number from 1 to 10."),
        ({"repeat": "many"}, "A whole number"),
        ({"windows": []}, "Choose at least one window."),
        ({"target": "moon"}, "moon is not one of the available choices"),
        ({"adapter": "no-such-worker"}, "no-such-worker is not one of the available choices"),
    ],
)
def test_what_is_wrong_with_the_form_is_said_and_what_was_typed_is_kept(contract, otto, wrong, said):
    answer = otto.post(address("drill", contract.task_id), {**ORDER, **wrong})
    assert answer.status_code == 422
    assert said in words(answer)
    assert "Error:" in words(answer)
    assert not DrillRun.objects.exists()


def test_a_second_run_waits_for_the_end_of_the_first(contract, otto):
    first = a_run(contract)
    begun(first)
    note_progress(run_id=first.run_id, window="receipt_lost", repetitions_done=0)
    answer = otto.post(address("drill", contract.task_id), ORDER)
    assert answer.status_code == 422
    assert "Another run of this contract has not ended yet" in words(answer)
    assert address("drill_run", first.run_id) in words(otto.get(grid(contract)))
    assert address("drill_run", first.run_id) in words(otto.get(address("drill", contract.task_id)))


def test_a_run_whose_process_died_is_no_reason_to_refuse(contract, otto):
    import socket

    dead = begun(a_run(contract), host=socket.gethostname(), pid=2**22 + 1, began=1.0)
    answer = otto.post(address("drill", contract.task_id), ORDER)
    assert answer.status_code == 302
    dead.refresh_from_db()
    assert (dead.state, dead.end_reason) == ("failed", "runner_gone")


def test_a_worker_whose_parts_are_missing_cannot_be_chosen_and_says_what_to_install(
    contract, otto, monkeypatch
):
    (absent, *_) = all_adapters()
    monkeypatch.setattr(
        "contracts.views.drilled.all_adapters",
        lambda: (
            type(absent)(name=absent.name, title="X", command=(), needs=("no_such_module",), install="get x"),
        ),
    )
    page = otto.get(address("drill", contract.task_id))
    options = [one for one in read(page).every("option") if one["value"] == absent.name]
    assert "disabled" in options[0].attributes
    assert "get x" in words(page)
    assert "no_such_module" in words(page)


def test_an_operator_stops_a_run_and_others_do_not(contract, otto):
    run = begun(a_run(contract))
    stop = address("drill_stop", run.run_id)
    assert "Stop the run" in words(otto.get(address("drill_run", run.run_id)))
    viewer = visitor(people.viewer(contract.team))
    assert "Stop the run" not in words(viewer.get(address("drill_run", run.run_id)))
    assert viewer.post(stop).status_code == 403
    assert visitor(people.stranger()).post(stop).status_code == 404
    assert otto.get(stop)["Location"] == address("drill_run", run.run_id)
    assert otto.post(stop)["Location"] == address("drill_run", run.run_id)
    run.refresh_from_db()
    assert (run.state, run.stopped_by) == ("stopping", "otto")
    assert "There was nothing left to stop" in words(otto.post(stop, follow=True))


def test_a_run_of_no_contract_is_stopped_from_no_page(otto):
    run = begun(a_run())
    assert "Stop the run" not in words(otto.get(address("drill_run", run.run_id)))
    assert otto.post(address("drill_stop", run.run_id)).status_code == 403


def test_a_run_is_for_those_who_may_see_its_contract(contract):
    run = a_run(contract)
    where = address("drill_run", run.run_id)
    assert visitor(people.viewer(contract.team)).get(where).status_code == 200
    assert visitor(people.stranger()).get(where).status_code == 404
    assert visitor(people.stranger()).get(address("drill_run", a_run().run_id)).status_code == 200


def test_each_cell_leads_to_its_run_and_an_older_version_is_marked(contract, otto):
    run = a_done_run(contract)
    page = words(otto.get(grid(contract)))
    assert page.count(f'href="{address("drill_run", run.run_id)}"') == 2
    assert "older version" not in page
    assert address("drill_run", run.run_id) in words(otto.get(address("overview", contract.task_id)))
    Contract.objects.filter(pk=contract.pk).update(workflow_version="5")
    for where in (
        grid(contract),
        address("overview", contract.task_id),
        address("drills_of", contract.task_id),
        address("drill_run", run.run_id),
    ):
        assert "older version" in words(otto.get(where))


def test_a_cell_that_was_filled_elsewhere_leads_nowhere(contract, otto):
    run = a_done_run(builders.a_complete_draft())
    mine = a_done_run(contract)
    from contracts.models import WindowRow

    WindowRow.objects.filter(contract=contract, window="before_commit").update(
        evidence=f"http://localhost:8000/drills/{run.run_id}/"
    )
    WindowRow.objects.filter(contract=contract, window="receipt_lost").update(
        evidence="http://localhost:8000/drills/D-0000000000/"
    )
    page = words(otto.get(grid(contract)))
    assert f'href="{address("drill_run", run.run_id)}"' not in page
    assert f'href="{address("drill_run", mine.run_id)}"' not in page


def test_an_edited_row_keeps_its_way_to_the_run(contract):
    from contracts.models import WindowRow

    run = a_done_run(contract)
    row = WindowRow.objects.get(contract=contract, window="before_commit")
    rita = visitor(people.reviewer(contract.team))
    part = rita.get(address("row", contract.task_id, "window", row.pk), headers=HTMX)
    assert address("drill_run", run.run_id) in words(part)


def test_the_list_has_every_run_newest_first(contract, otto):
    assert "Nothing was drilled yet" in words(otto.get(address("drills_of", contract.task_id)))
    older, newer = a_done_run(contract), a_run(contract)
    page = words(otto.get(address("drills_of", contract.task_id)))
    assert page.index(newer.run_id) < page.index(older.run_id)


def test_the_comparison_shows_the_newest_count_of_each_window(contract, otto):
    a_done_run(contract)
    later = begun(a_run(contract, windows=["receipt_lost"]))
    keep_result(run=later, found=found("receipt_lost", HELD))
    keep_result(run=later, found=not_expressible("frozen_owner"))
    page = read(otto.get(address("drills")))
    (line,) = [one for one in page.every("tr") if one["id"] == "worker-sqlite-sample"]
    cells = {one["data-label"]: one.words for one in line.every("td")}
    assert "Held" in cells[Window.BEFORE_COMMIT.label]
    assert (
        "16 Pages in the target" in cells[Window.BEFORE_COMMIT.label]
        or "16" in cells[Window.BEFORE_COMMIT.label]
    )
    assert "Unknown, held" in cells[Window.RECEIPT_LOST.label]
    assert "Cannot be expressed" in cells[Window.FROZEN_OWNER.label]
    assert "not yet drilled" in cells[Window.TWO_RESUMES.label]


def test_strangers_compare_but_are_not_led_to_runs_of_others(contract):
    mine, nobodys = a_done_run(contract), a_done_run(target="deduplicates")
    page = words(visitor(people.stranger()).get(address("drills", target="plain")))
    assert "Pages too many: 2." in page
    assert mine.run_id not in page
    assert contract.task_id not in page
    assert nobodys.run_id in words(visitor(people.stranger()).get(address("drills", target="deduplicates")))


def test_the_comparison_opens_where_most_was_drilled_and_takes_no_nonsense(otto):
    a_done_run(target="deduplicates")
    for where in (address("drills"), address("drills", target="moon")):
        page = read(otto.get(where))
        (here,) = [
            one for one in page.every("a") if one["aria-current"] == "page" and "?target" in one["href"]
        ]
        assert here["href"] == "?target=deduplicates"
    assert "At this target nothing was drilled yet" in words(otto.get(address("drills", target="proxy")))


def test_a_worker_that_is_no_longer_there_stays_in_the_comparison(otto):
    a_done_run(adapter="a-former-worker")
    assert "a-former-worker" in words(otto.get(address("drills")))
    assert "a-former-worker" in words(otto.get(address("drill_run", DrillRun.objects.get().run_id)))


def test_the_log_is_shown_from_its_end_and_only_where_it_lies(contract, otto, tmp_path, monkeypatch):
    import socket

    tmp_path.joinpath("run.log").write_text("x" * 30_000 + "\n<b>first</b>\nlast\n", "utf-8")
    run = begun(a_run(contract), host=socket.gethostname(), folder=str(tmp_path))
    page = words(otto.get(address("drill_run", run.run_id)))
    assert "&lt;b&gt;first&lt;/b&gt;" in page
    assert page.count("x" * 100) < 300
    monkeypatch.setattr(drilled.socket, "gethostname", lambda: "another-machine")
    end_run(run_id=run.run_id, reason=RunEnd.FAULT, fault="RuntimeError")
    page = words(otto.get(address("drill_run", run.run_id)))
    assert "The log lies on another machine" in page
    assert "RuntimeError" in page


def test_who_waits_is_told_how_many_are_before(contract, otto):
    from django.db import connection
    from procrastinate.contrib.django.models import ProcrastinateWorker

    a_run(), a_run()
    mine = a_run(contract)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")
    assert ProcrastinateWorker.objects.count() == 1
    assert "2 are before it" in words(otto.get(address("drill_run", mine.run_id)))


def test_a_stopping_run_says_what_becomes_of_half_a_window(contract, otto):
    run = begun(a_run(contract))
    assert "What surrounds the workers is being started" in words(otto.get(address("drill_run", run.run_id)))
    ask_to_stop(run=run, actor=OTTO)
    assert "Half a window counts for nothing" in words(otto.get(address("drill_run", run.run_id)))
    end_run(run_id=run.run_id, reason=RunEnd.ASKED)
    page = words(otto.get(address("drill_run", run.run_id)))
    assert "Nothing was logged" in page or "another machine" in page


def test_pages_need_as_many_queries_for_many_runs_as_for_few(contract, otto):
    a_done_run(contract)
    where = [grid(contract), address("drills_of", contract.task_id), address("drills")]
    before = [queries(otto, one) for one in where]
    for _ in range(3):
        a_done_run(contract)
    assert [queries(otto, one) for one in where] == before


def test_sentences_of_results_are_in_the_readers_language(contract, otto):
    run = a_done_run(contract)
    with translation.override("zh-hans"):
        page = words(otto.get(address("drill_run", run.run_id), headers={"Accept-Language": "zh-hans"}))
    assert run.run_id in page
