import pytest
from playwright.sync_api import expect

from contracts.gates.drilling import keep_result
from contracts.models import WindowRow
from contracts.rules.windows import Window
from tests import builders, people
from tests.browser.test_accessibility import looked_at, person_at
from tests.browser.walking import Walker
from tests.drilled import HELD, a_done_run, a_run, begun, found, not_expressible
from tests.drills.queueing import background_worker

TASK = "drilled-in-the-browser"


def test_a_window_is_run_from_the_page_and_its_cell_fills(open_browser, team, tmp_path):
    contract = builders.a_complete_draft(team, task_id=TASK)
    walker = Walker(open_browser(people.operator(team)))
    page = walker.page
    with background_worker(tmp_path):
        walker.go("section", TASK, "windows")
        expect(page.get_by_text("not yet drilled")).to_have_count(6)
        page.get_by_role("link", name="Run the drill…").click()
        page.locator("#id_adapter").select_option("sqlite-sample")
        page.locator("#id_target").select_option("plain")
        for window in Window:
            if window is not Window.BEFORE_COMMIT:
                page.get_by_label(window.label).uncheck()
        page.get_by_role("button", name="Start the run").click()
        expect(page.get_by_role("progressbar", name="Repetitions done")).to_be_visible()
        expect(page.get_by_text("Every cell was run.")).to_be_visible(timeout=180_000)
        expect(page.locator("#result-before_commit")).to_contain_text("each object has one page")
        page.get_by_role("link", name="To the failure windows").click()
    expect(page.get_by_text("not yet drilled")).to_have_count(5)
    row = WindowRow.objects.get(contract=contract, window="before_commit")
    cell = page.locator(f"#window-{row.pk}")
    expect(cell).to_contain_text("Held")
    expect(cell.get_by_text("8", exact=True)).to_be_visible()
    cell.get_by_role("link").first.click()
    expect(page.locator("h1")).to_contain_text("Drill D-")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_page_of_drills_stands_in_anybodys_way(open_browser, team, language):
    done = a_done_run(builders.a_complete_draft(team, task_id=TASK))
    contract = builders.a_complete_draft(team, task_id="under-way")
    running = begun(a_run(contract))
    keep_result(run=running, found=found("before_commit", HELD))
    keep_result(run=running, found=not_expressible("receipt_lost"))
    waiting = a_run(builders.a_complete_draft(team, task_id="waiting"))
    nothing = builders.a_complete_draft(team, task_id="nothing")
    walker = person_at(open_browser, people.operator(team), language)

    def refused(walker):
        walker.go("drill", nothing.task_id)
        walker.page.fill("[name=repeat]", "many")
        walker.page.click("main form button.deed")
        expect(walker.page.locator(".error-summary")).to_be_visible()

    sights = {
        "grid": lambda walker: walker.go("section", TASK, "windows"),
        "done": lambda walker: walker.go("drill_run", done.run_id),
        "running": lambda walker: walker.go("drill_run", running.run_id),
        "waiting": lambda walker: walker.go("drill_run", waiting.run_id),
        "list": lambda walker: walker.go("drills_of", TASK),
        "no runs": lambda walker: walker.go("drills_of", nothing.task_id),
        "form": lambda walker: walker.go("drill", TASK),
        "refused": refused,
        "not now": lambda walker: walker.go("drill", "under-way"),
        "comparison": lambda walker: walker.go("drills"),
    }
    wrong = [f"{name}: {one}" for name, go in sights.items() for one in looked_at(walker, go)]
    assert not wrong, "\n".join(wrong)
