import json
import time
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.contrib.messages import get_messages
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from contracts.views.confirming import confirmed
from tests import builders, people
from tests.test_workbench.passkeys import a_passkey
from tests.views.visiting import visitor, words
from workbench.sealing import seal, unseal

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
AA = dict.fromkeys(("clientDataJSON", "attestationObject", "authenticatorData", "signature"), "AA")
ANSWERED_AA = json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": AA})
ENTER, INDEX = "/second-factor/enter/", "/second-factor/"


@pytest.fixture(autouse=True)
def nothing_counted(db):
    cache.clear()


@pytest.fixture
def carla():
    return people.curator(builders.a_team())


@pytest.fixture
def app(carla):
    """The authenticator app of the curator, set up."""
    return TOTP.activate(carla, SECRET)


@pytest.fixture
def codes(carla, app):
    return RecoveryCodes.activate(carla)


def code(secret=SECRET, steps=0):
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def other_than(*right):
    return next(text for text in ("000000", "111111", "222222", "333333", "444444") if text not in right)


def wrong_code():
    return other_than(*(code(steps=steps) for steps in range(-2, 4)))


def at_the_door(**more):
    """Return a browser whose person has given the right password and nothing more."""
    client = Client()
    answer = client.post("/login/", {"login": "carla", "password": people.PASSWORD, **more})
    assert (answer.status_code, answer["Location"]) == (302, ENTER)
    return client


def enter(client, text):
    return client.post(ENTER, {"code": text})


def is_inside(client):
    return client.get("/").status_code == 200


def test_the_app_is_set_up_with_its_code_and_recovery_codes_are_shown_once(carla):
    client = visitor(carla)
    page = client.get(reverse("mfa_activate_totp"))
    secret = page.context["form"].secret
    assert secret in words(page)
    assert 'src="data:image/svg+xml;base64,' in words(page)
    answer = client.post(reverse("mfa_activate_totp"), {"code": code(secret)})
    assert (answer.status_code, answer["Location"]) == (302, "/second-factor/codes/")
    shown = client.get("/second-factor/codes/")
    kept = Authenticator.objects.get(user=carla, type="recovery_codes").wrap().get_unused_codes()
    assert len(kept) == 10
    assert all(one in words(shown) for one in kept)
    again = client.get("/second-factor/codes/")
    assert not any(one in words(again) for one in kept)
    # The code that set it up cannot be used to log in with.
    assert words(enter(at_the_door(), code(secret))).count("This was not accepted") >= 1


def test_a_wrong_code_sets_nothing_up_and_keeps_the_secret(carla):
    client = visitor(carla)
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    right = [code(secret, steps) for steps in range(-2, 4)]
    answer = client.post(reverse("mfa_activate_totp"), {"code": other_than(*right)})
    assert "This was not accepted" in words(answer)
    assert answer.context["form"].secret == secret
    assert not Authenticator.objects.exists()


def test_no_secret_can_be_read_in_the_table(carla, app, codes):
    with connection.cursor() as cursor:
        cursor.execute("SELECT data::text FROM mfa_authenticator")
        stored = " ".join(text for (text,) in cursor.fetchall())
    assert "secret" in stored
    assert SECRET not in stored
    assert unseal(codes.instance.data["seed"]) not in stored
    assert not any(one in stored for one in codes.get_unused_codes())
    assert unseal(app.instance.data["secret"]) == SECRET


def test_a_secret_is_read_with_the_key_that_was_replaced_and_with_no_other(settings):
    sealed = seal(SECRET)
    assert seal(SECRET) != sealed
    settings.SECRET_KEY, replaced = "another key" * 6, settings.SECRET_KEY
    with pytest.raises(ImproperlyConfigured, match="another secret key"):
        unseal(sealed)
    settings.SECRET_KEY_FALLBACKS = [replaced]
    assert unseal(sealed) == SECRET
    settings.SECRET_KEY_FALLBACKS = []
    assert unseal(seal(SECRET)) == SECRET


def test_the_password_alone_opens_nothing(app):
    client = at_the_door()
    assert not is_inside(client)
    assert "login" in words(client.get(ENTER))
    assert client.get("/login/")["Location"] == ENTER


def test_the_code_opens_and_leads_where_the_person_wanted(app):
    client = at_the_door(next="/contracts/new/")
    before = client.session.session_key
    answer = enter(client, code())
    assert (answer.status_code, answer["Location"]) == (302, "/contracts/new/")
    assert is_inside(client)
    assert client.session.session_key != before
    assert not type(client.session)().exists(before)


def test_the_second_step_leads_nobody_elsewhere(app):
    assert enter(at_the_door(next="//evil.example/"), code())["Location"] == "/"


def test_a_code_is_taken_once(app):
    first, second = at_the_door(), at_the_door()
    used = code()
    assert enter(first, used).status_code == 302
    assert "This was not accepted" in words(enter(second, used))
    assert not is_inside(second)
    assert enter(second, code(steps=1)).status_code == 302  # the next one is taken


@pytest.mark.parametrize(("steps", "taken"), [(-1, True), (1, True), (-3, False), (3, False)])
def test_a_clock_may_be_half_a_minute_off(app, steps, taken):
    assert (enter(at_the_door(), code(steps=steps)).status_code == 302) is taken


def test_a_recovery_code_is_taken_once(codes):
    used, kept = codes.get_unused_codes()[:2]
    assert enter(at_the_door(), used).status_code == 302
    client = at_the_door()
    assert "This was not accepted" in words(enter(client, used))
    assert enter(client, kept).status_code == 302


def test_codes_cannot_be_guessed(app, codes):
    client = at_the_door()
    for _ in range(5):
        assert enter(client, wrong_code()).status_code == 200
    refused = enter(client, code())
    assert (refused.status_code, "Too many failed tries" in words(refused)) == (429, True)
    assert enter(at_the_door(), codes.get_unused_codes()[0]).status_code == 429  # nor from another browser


def test_the_second_step_can_be_left(app):
    client = at_the_door()
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get(ENTER)["Location"] == "/login/"
    assert client.get("/login/").status_code == 200


def test_whoever_gave_only_the_password_cannot_change_the_second_factor(app, carla):
    client = at_the_door()
    for name in ("mfa_deactivate_totp", "mfa_activate_totp", "mfa_generate_recovery_codes", "mfa_index"):
        for answer in (client.get(reverse(name)), client.post(reverse(name))):
            assert answer["Location"].startswith("/login/?next=")
    assert Authenticator.objects.filter(user=carla, type="totp").exists()


@pytest.mark.parametrize("method", ["get", "post"])
def test_without_proof_nothing_is_changed_and_nothing_posted_is_kept(carla, method):
    client = visitor(carla, confirmed=timezone.now() - timedelta(minutes=6))
    answer = getattr(client, method)(reverse("mfa_activate_totp"), {"code": "123456"})
    where = "/confirm/?next=%2Fsecond-factor%2Fapp%2Fadd%2F"
    assert answer.status_code == 302
    assert answer["Location"].startswith(where)
    assert "123456" not in json.dumps(dict(client.session))
    client.post("/confirm/", {"password": people.PASSWORD, "next": reverse("mfa_activate_totp")})
    assert client.get(reverse("mfa_activate_totp")).status_code == 200


def test_a_second_factor_is_not_removed_by_the_password(app, carla):
    client = visitor(carla)
    answer = client.post(reverse("mfa_deactivate_totp"))
    assert answer["Location"] == "/second-factor/confirm/?next=%2Fsecond-factor%2Fapp%2Fremove%2F"
    given = {"code": code(), "next": reverse("mfa_deactivate_totp")}
    assert client.post("/second-factor/confirm/", given)["Location"] == reverse("mfa_deactivate_totp")
    assert client.post(reverse("mfa_deactivate_totp"))["Location"] == INDEX
    assert not Authenticator.objects.exists()


def test_recovery_codes_go_with_the_last_factor(app, codes, carla):
    client = visitor(carla, second_factor=True)
    assert client.post(reverse("mfa_deactivate_totp")).status_code == 302
    assert not Authenticator.objects.exists()


def test_new_recovery_codes_replace_the_old(app, codes, carla):
    old = codes.get_unused_codes()
    client = visitor(carla, second_factor=True)
    assert client.post(reverse("mfa_generate_recovery_codes"))["Location"] == "/second-factor/codes/"
    new = Authenticator.objects.get(user=carla, type="recovery_codes").wrap().get_unused_codes()
    assert not set(old) & set(new)


def test_proving_by_code_renews_the_session_and_is_remembered(app, carla):
    client = visitor(carla, confirmed=None)
    before = client.session.session_key
    answer = client.post("/second-factor/confirm/", {"code": code(), "next": "/password/"})
    assert answer["Location"] == "/password/"
    assert client.session.session_key != before
    request = client.get("/").wsgi_request
    assert timezone.now() - confirmed(request).second_factor_at < timedelta(minutes=1)


def test_the_page_that_asked_for_a_second_factor_is_found_again(carla):
    client = visitor(carla)
    assert "you have none yet" in words(client.get(f"{INDEX}?next=/contracts/new/"))
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": code(secret)})
    assert 'href="/contracts/new/">Go on' in words(client.get("/second-factor/codes/"))
    assert 'href="/contracts/new/">Go on' in words(client.get(INDEX))


def test_the_page_of_the_second_factor_leads_nobody_elsewhere(carla):
    assert "you have none yet" not in words(visitor(carla).get(f"{INDEX}?next=//evil.example/"))


@pytest.mark.parametrize(
    ("host", "told", "instead"),
    [
        ("127.0.0.1:8123", True, "http://localhost:8123/second-factor/passkeys/add/"),
        ("[::1]", True, "http://localhost/second-factor/passkeys/add/"),
        ("localhost:8123", False, ""),
    ],
)
def test_under_a_number_passkeys_are_said_not_to_work(carla, host, told, instead):
    client = visitor(carla)
    page = words(client.get(reverse("mfa_add_webauthn"), headers={"host": host}))
    assert ("no passkey works" in page) is told
    assert instead in page


@pytest.mark.parametrize(
    "credential",
    [
        "",
        "null",
        "[]",
        "5",
        "{}",
        "{",
        '{"id": 5}',
        '{"id": "a", "rawId": "a", "type": "public-key", "response": {}}',
        ANSWERED_AA,
        '{"id": "\\u0000"}',
        '{"id": "\\ud800"}',
        "[" * 20_000,
        '{"a":' * 5000,
        '{"id": "' + "A" * 40_000 + '"}',
    ],
)
@pytest.mark.parametrize("page", ["mfa_add_webauthn", "mfa_authenticate", "mfa_reauthenticate_webauthn"])
def test_a_passkey_that_answers_nonsense_is_refused(carla, page, credential):
    if page != "mfa_add_webauthn":
        Authenticator.objects.create(user=carla, type="webauthn", data=a_passkey())
    client = at_the_door() if page == "mfa_authenticate" else visitor(carla, second_factor=True)
    where = reverse(page)
    client.get(where)
    answer = client.post(where, {"credential": credential, "name": "mine"})
    if page == "mfa_reauthenticate_webauthn":
        assert (answer.status_code, answer["Location"]) == (302, where)
        assert len(list(get_messages(client.get(where).wsgi_request))) == 1
    else:
        assert answer.status_code == 200
        assert 'id="errors"' in words(answer)
    keys = Authenticator.objects.filter(user=carla, type=Authenticator.Type.WEBAUTHN)
    assert keys.count() == (page != "mfa_add_webauthn")


def test_nobody_touches_the_passkey_of_somebody_else(carla):
    theirs = Authenticator.objects.create(user=people.stranger(), type="webauthn", data=a_passkey())
    client = visitor(carla, second_factor=True)
    for name in ("mfa_edit_webauthn", "mfa_remove_webauthn"):
        assert client.get(reverse(name, args=[theirs.pk])).status_code == 404
        assert client.post(reverse(name, args=[theirs.pk]), {"name": "mine"}).status_code == 404
