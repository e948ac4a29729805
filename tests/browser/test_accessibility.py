import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe

from tests import people, scenes
from tests.browser.approval_sights import ASKING, DECIDING
from tests.browser.sights import SIGHTS, fill_the_world
from tests.browser.walking import Walker

COLOURS = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}
NARROW, WIDE = {"width": 320, "height": 640}, {"width": 1280, "height": 900}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def found_by_axe(page, **options):
    """Return what axe finds: the rule, and the elements it is broken at."""
    # Half a megabyte of script: a page that has it already does not get it once more.
    script = "" if page.evaluate("'axe' in window") else AXE_SCRIPT
    results = Axe(script).run(page, **options).response
    return [f"{v['id']}: {node['html'][:160]}" for v in results["violations"] for node in v["nodes"]]


def looked_at(walker, go):
    """Look at one page as different people would; return everything that stands in somebody's way."""
    page = walker.page
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    go(walker)
    found = [f"light, {one}" for one in found_by_axe(page)]
    page.emulate_media(color_scheme="dark")
    found += [f"dark, {one}" for one in found_by_axe(page, options=COLOURS)]
    page.set_viewport_size(NARROW)
    wider = page.evaluate(OVERFLOW)
    return found if wider <= 0 else [*found, f"narrow, {wider} pixels too wide"]


def person_at(open_browser, person, language="en"):
    # The policy of the pages lets no foreign script in, not even axe; colours that change slowly are no colours yet.
    page = open_browser(person, language=language, bypass_csp=True, reduced_motion="reduce")
    return Walker(page, language)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("group", range(4))
def test_no_page_stands_in_anybodys_way(open_browser, team, group, language):
    """Every state of every page: axe in both themes, and no sideways scrolling at 320 pixels."""
    fill_the_world(team)
    walker = person_at(open_browser, people.owner(team), language)
    names = sorted(SIGHTS, key=lambda name: name == "login_refused")[group::4]  # logging out comes last
    found = [f"{name}: {one}" for name in names for one in looked_at(walker, SIGHTS[name])]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_approval_page_stands_in_anybodys_way(open_browser, team, language):
    scenes.fill_the_queue(team)
    found = []
    for person, sights in ((people.curator(team), DECIDING), (people.owner(team), ASKING)):
        walker = person_at(open_browser, person, language)
        found += [f"{name}: {one}" for name, go in sights.items() for one in looked_at(walker, go)]
    stranger = person_at(open_browser, people.neighbour(), language)
    found += looked_at(stranger, lambda walker: walker.go("approvals"))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_first_page_of_a_new_team_stands_in_nobodys_way(open_browser, team, language):
    walker = person_at(open_browser, people.owner(team), language)
    assert looked_at(walker, lambda walker: walker.page.goto("/")) == []
    stranger = person_at(open_browser, people.stranger(), language)
    assert looked_at(stranger, lambda walker: walker.page.goto("/contracts/new/")) == []


def test_the_search_finds_what_is_wrong(open_browser, team):
    """The control: a page that is wrong in each of the ways looked for."""
    walker = person_at(open_browser, people.owner(team))

    def spoil(walker):
        walker.page.goto("/")
        walker.page.evaluate(
            "document.querySelector('main').innerHTML ="
            " '<img src=x><p style=\"color:#888;background:#777;width:2000px\">grey on grey</p>'"
        )

    told = "\n".join(looked_at(walker, spoil))
    for wrong in ("light, image-alt", "dark, color-contrast", "narrow, "):
        assert wrong in told
