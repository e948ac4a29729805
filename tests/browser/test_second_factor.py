import re

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from playwright.sync_api import expect

from tests import people
from tests.browser.walking import Walker
from tests.test_workbench.test_second_factor import code

KEY = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(autouse=True)
def nothing_counted(team):
    cache.clear()


def with_passkey(page):
    """Plug a security key into the browser; return how to talk to it."""
    talk = page.context.new_cdp_session(page)
    talk.send("WebAuthn.enable")
    added = talk.send("WebAuthn.addVirtualAuthenticator", {"options": KEY})
    return talk, added["authenticatorId"]


def give_password(walker, person):
    walker.page.fill("[name=login]", person.get_username())
    walker.page.fill("[name=password]", people.PASSWORD)
    walker.page.click("main button[type=submit]")


def log_out(walker):
    walker.page.click("details.menu summary")
    walker.page.click("details.menu form button")
    expect(walker.page.locator("main h1")).to_have_text(walker.word("Log in"))


def add_passkey(walker, name):
    walker.page.goto("/second-factor/")
    with walker.leaving():  # the script must be there before the form is sent
        walker.page.click("a[href='/second-factor/passkeys/add/']")
    walker.page.fill("[name=name]", name)
    walker.page.keyboard.press("Enter")
    expect(walker.page.locator("main h1")).to_have_text(walker.word("Recovery codes"))
    expect(walker.page.locator("#codes")).to_have_text(re.compile(r"^(\d{8}\s*){10}$"))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_passkey_is_added_asked_for_at_login_and_asked_for_again(open_browser, team, language):
    person = people.curator(team)
    walker = Walker(open_browser(person, language=language), language)
    page = walker.page
    with_passkey(page)
    add_passkey(walker, "My key")
    log_out(walker)
    give_password(walker, person)
    expect(page.locator("main h1")).to_have_text(walker.word("Second factor"))
    page.wait_for_load_state()
    page.locator("form[data-passkey] button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text(walker.word("Contracts"))
    # Once more, as the page of an approval asks.
    page.goto("/second-factor/passkeys/confirm/?next=/contracts/new/")
    expect(page.locator("main h1")).to_have_text(walker.word("Confirm who you are"))
    page.click("form[data-passkey] button")
    expect(page).to_have_url(re.compile(r"/contracts/new/$"))
    assert Authenticator.objects.get(user=person, type="webauthn").last_used_at is not None


def test_a_passkey_is_renamed_and_removed(open_browser, team):
    walker = Walker(open_browser(people.curator(team)))
    page = walker.page
    with_passkey(page)
    add_passkey(walker, "")
    page.click("text=I have kept them")
    expect(page.locator("main")).to_contain_text("Passkey 1")
    page.click("text=Rename")
    page.fill("[name=name]", "The blue one")
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("Second factor")
    expect(page.locator("main")).to_contain_text("The blue one")
    page.click("a[href$='/remove/']")
    page.click("main button.danger")
    expect(page.locator("#notices")).to_contain_text("The passkey is removed.")
    assert not Authenticator.objects.exists()


def test_a_passkey_that_does_not_answer_is_said_in_the_page(open_browser, team):
    person = people.curator(team)
    walker = Walker(open_browser(person))
    page = walker.page
    talk, key = with_passkey(page)
    add_passkey(walker, "My key")
    talk.send("WebAuthn.setUserVerified", {"authenticatorId": key, "isUserVerified": False})
    talk.send("WebAuthn.clearCredentials", {"authenticatorId": key})
    page.goto("/second-factor/passkeys/confirm/")
    page.click("form[data-passkey] button")
    expect(page.locator("form[data-passkey] [role=alert]")).to_be_visible()
    expect(page).to_have_url(re.compile("/second-factor/passkeys/confirm/$"))


def test_the_app_is_set_up_and_used_without_scripts(open_browser, team):
    person = people.curator(team)
    page = open_browser(person, java_script_enabled=False)
    page.goto("/second-factor/app/add/")
    picture = page.locator("main img.qr")
    assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
    secret = page.locator("main dd code").first.inner_text()
    page.fill("[name=code]", code(secret))
    page.click("main button.deed")
    expect(page.locator("#codes")).to_be_visible()
    page.goto("/second-factor/confirm/?next=/contracts/new/")
    page.fill("[name=code]", code(secret, steps=1))
    page.click("main button.deed")
    expect(page).to_have_url(re.compile(r"/contracts/new/$"))
