"""What only a browser can measure: that things fit where they stand."""

import pytest

from tests import people
from tests.browser.sights import DRAFT, FULL, fill_the_world
from tests.browser.walking import Walker

OVERFLOW = "one => one.scrollWidth - one.clientWidth"


@pytest.fixture
def walk(open_browser, team):
    def at(width, language="en"):
        walker = Walker(open_browser(people.owner(team), language=language), language)
        walker.page.set_viewport_size({"width": width, "height": 900})
        return walker

    fill_the_world(team)
    return at


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("task_id", [DRAFT, FULL])
def test_the_table_of_operations_fits_a_laptop(walk, task_id, language):
    walker = walk(1280, language)
    walker.go("section", task_id, "operations")
    assert walker.page.locator("#part-operation .scroll").evaluate(OVERFLOW) <= 0


NARROWED = """one => {
    one.style.display = 'block';
    const line = one.getBoundingClientRect().height;
    one.style.width = 'min-content';
    return [Math.round(one.getBoundingClientRect().height / line), one.querySelectorAll('wbr').length];
}"""


def test_a_name_is_broken_behind_its_joints_alone(walk):
    """In a column as narrow as it gets, each piece of a name is one line."""
    walker = walk(1280)
    walker.go("section", FULL, "operations")
    lines, joints = walker.page.locator("#rows-operation th .id").first.evaluate(NARROWED)
    assert lines == joints + 1 == 2


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_main_button_of_a_form_is_as_wide_as_a_phone_lets_it(walk, language):
    walker = walk(390, language)
    for page, arguments, where in (
        ("section", (DRAFT, "limits"), "#part-limit .form > .actions"),
        ("act", (DRAFT, "leave-draft"), "form .actions"),
        ("sharing", (DRAFT,), "#give .actions"),
        ("list", (), "form.filters"),
    ):
        walker.go(page, *arguments)
        around = walker.page.locator(where).first
        button = around.locator(".deed, [type=submit]").first.bounding_box()
        assert button["width"] >= around.bounding_box()["width"] - 1, page
        assert button["height"] >= 44, page


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_the_strip_of_sections_shows_no_scroll_bar(walk, width):
    walker = walk(width)
    walker.go("section", DRAFT, "windows")
    rail, strip = walker.page.locator("#rail"), walker.page.locator("#rail ol")
    assert rail.evaluate(OVERFLOW) <= 0
    hidden = strip.evaluate("one => getComputedStyle(one).scrollbarWidth") == "none"
    assert hidden or strip.evaluate(OVERFLOW) <= 0
    assert walker.page.evaluate("document.documentElement.scrollWidth") <= width
