import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import NoReverseMatch, reverse

from tests import builders, people
from tests.views.visiting import visitor, words
from workbench import checks
from workbench.accounts import AccountAdapter

ROOT = Path(__file__).resolve().parents[2]
WRONG = "not the password"
MISMATCH = "do not belong together"
TOO_MANY = "Too many failed tries"
TRIES = """
import sys
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
django.setup()
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
from django.test import Client
print([Client(headers={"host": "localhost"}).post("/login/", {"login": "victor", "password": "no"}).status_code
       for _ in range(5)])
"""


@pytest.fixture(autouse=True)
def nothing_counted(db):
    cache.clear()


@pytest.fixture
def victor():
    return people.viewer(builders.a_team())


def log_in(name, password=people.PASSWORD, client=None, **more):
    return (client or Client()).post(reverse("account_login"), {"login": name, "password": password, **more})


def fail(name, times):
    for _ in range(times):
        assert log_in(name, WRONG).status_code == 200


def test_after_five_wrong_passwords_not_even_the_right_one_is_taken(victor):
    fail("victor", 5)
    refused = log_in("victor")
    assert refused.status_code == 429
    assert TOO_MANY in words(refused)
    assert "_auth_user_id" not in refused.wsgi_request.session


def test_four_wrong_passwords_are_forgiven(victor):
    fail("victor", 4)
    assert log_in("victor").status_code == 302


def test_tries_are_counted_for_each_name_whatever_its_capitals_and_the_host(victor):
    for name in ("victor", "VICTOR", "Victor", "victor", "victor"):
        log_in(name, WRONG)
    assert (
        Client(headers={"host": "127.0.0.1"})
        .post("/login/", {"login": "victor", "password": people.PASSWORD})
        .status_code
        == 429
    )


def test_another_person_is_not_kept_out_with_them(victor):
    people.stranger()
    fail("victor", 5)
    assert log_in("stefan").status_code == 302


def test_an_address_that_guesses_for_many_names_is_kept_out(victor):
    for number in range(20):
        assert log_in(f"nobody-{number}", WRONG).status_code == 200
    assert log_in("victor").status_code == 429
    assert (
        Client(REMOTE_ADDR="203.0.113.9")
        .post("/login/", {"login": "victor", "password": people.PASSWORD})
        .status_code
        == 302
    )


def test_a_flood_of_logins_is_answered_by_a_page_of_ours(victor, settings):
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"login": "2/m/ip"}
    client = Client(headers={"accept-language": "zh-hans"})
    answers = [log_in("victor", WRONG, client) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 'lang="zh-hans"' in words(answers[2])
    assert "Please try again later" not in words(answers[2])


@pytest.mark.django_db(transaction=True)
def test_every_process_counts_the_same(victor):
    done = subprocess.run(
        [sys.executable, "-c", TRIES, connection.settings_dict["NAME"]],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[200, 200, 200, 200, 200]", done.stderr
    assert log_in("victor").status_code == 429
    cache.clear()
    assert log_in("victor").status_code == 302


def test_a_cache_of_one_process_is_found(settings):
    assert checks.check_shared_counts() == []
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    assert [message.id for message in checks.check_shared_counts()] == ["workbench.E007"]


def test_an_unknown_name_is_answered_like_a_wrong_password(victor):
    known, unknown = words(log_in("victor", WRONG)), words(log_in("nobody", WRONG))
    assert MISMATCH in known

    # Apart from the name that was typed and from what is random in every page.
    random = re.compile(r'value="(?:victor|nobody|\w{64})"|"X-CSRFToken": "\w+"|nonce="[^"]+"')
    assert random.sub("", known) == random.sub("", unknown)


def test_someone_who_left_is_answered_like_a_stranger(victor):
    victor.is_active = False
    victor.save()
    assert MISMATCH in words(log_in("victor"))


def test_the_session_gets_a_new_id_at_login(victor):
    client = Client()
    session = client.session
    session["before"] = True
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    assert log_in("victor", client=client).status_code == 302
    assert client.session.session_key != session.session_key
    assert not type(session)().exists(session.session_key)


def test_the_session_gets_a_new_id_when_somebody_proves_again_who_they_are(victor):
    client = visitor(victor, confirmed=None)
    before = client.session.session_key
    answer = client.post(
        reverse("account_reauthenticate"), {"password": people.PASSWORD, "next": "/password/"}
    )
    assert (answer.status_code, answer["Location"]) == (302, "/password/")
    assert client.session.session_key != before
    assert not type(client.session)().exists(before)
    assert client.get("/").status_code == 200


def test_a_wrong_password_proves_nothing_and_is_counted(victor):
    client = visitor(victor, confirmed=None)
    before = client.session.session_key
    for _ in range(5):
        answer = client.post(reverse("account_reauthenticate"), {"password": WRONG})
        assert (answer.status_code, "This is not your password." in words(answer)) == (200, True)
    assert client.post(reverse("account_reauthenticate"), {"password": people.PASSWORD}).status_code == 429
    assert client.session.session_key == before
    assert client.get("/").status_code == 200


def test_changing_the_password_takes_few_tries(victor):
    client = visitor(victor)
    guesses = {"old_password": WRONG, "new_password1": "x" * 20, "new_password2": "x" * 20}
    answers = [client.post("/password/", guesses).status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
@pytest.mark.parametrize("page", ["account_login", "account_logout", "account_reauthenticate"])
def test_nobody_is_led_elsewhere(victor, page, elsewhere):
    given = {"login": "victor", "password": people.PASSWORD, "next": elsewhere}
    client = Client() if page == "account_login" else visitor(victor)
    answer = client.post(reverse(page), given)
    assert (answer.status_code, answer["Location"]) == (302, "/login/" if page == "account_logout" else "/")


def test_login_leads_back_to_the_page_that_was_wanted(victor):
    assert log_in("victor", next="/contracts/new/")["Location"] == "/contracts/new/"


def test_whoever_is_logged_in_needs_no_login_page(victor):
    assert visitor(victor).get("/login/?next=/password/")["Location"] == "/password/"


@pytest.mark.parametrize(
    "name",
    [
        "signup",
        "reset_password",
        "email",
        "confirm_login_code",
        "inactive",
        "set_password",
        "change_password",
    ],
)
def test_pages_for_signing_up_and_for_mail_are_closed(name):
    with pytest.raises(NoReverseMatch):
        reverse(f"account_{name}")


@pytest.mark.parametrize(
    "where",
    [
        "/signup/",
        "/accounts/signup/",
        "/accounts/login/",
        "/password/reset/",
        "/email/",
        "/second-factor/passkeys/login/",
    ],
)
def test_nothing_answers_at_their_addresses(victor, where):
    assert visitor(victor).get(where).status_code == 404
    assert visitor(victor).post(where).status_code == 404


def test_login_answers_in_pages_only(victor):
    answer = Client(headers={"accept": "application/json"}).post(
        "/login/", {"login": "victor", "password": WRONG}
    )
    assert answer["Content-Type"].startswith("text/html")


def test_a_client_cannot_say_itself_where_it_is():
    request = RequestFactory().get("/", headers={"x-forwarded-for": "203.0.113.9"}, REMOTE_ADDR="192.0.2.1")
    assert AccountAdapter().get_client_ip(request) == "192.0.2.1"


def test_behind_the_proxy_its_word_counts_and_no_other(settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    request = RequestFactory().get("/", headers={"x-forwarded-for": "203.0.113.9, 198.51.100.7"})
    assert AccountAdapter().get_client_ip(request) == "198.51.100.7"


def test_an_address_that_cannot_be_read_still_counts():
    assert AccountAdapter().get_client_ip(RequestFactory().get("/", REMOTE_ADDR="")) == "unknown"


@pytest.mark.parametrize(("https", "proxies"), [("0", "0"), ("1", "1")])
def test_a_proxy_is_trusted_only_where_there_is_one(plain_environment, https, proxies):
    code = "import workbench.settings as s; print(s.ALLAUTH_TRUSTED_PROXY_COUNT, s.MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN)"
    environment = plain_environment | {"WORKBENCH_HTTPS": https}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [proxies, "False"]
