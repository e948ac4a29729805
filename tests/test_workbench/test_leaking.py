"""What somebody can do who has got hold of a copy of the database, or of a browser's session."""

import json

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.urls import reverse

from contracts.rules.tokens import is_token
from tests import builders, people
from tests.api.bearing import Worker
from tests.test_workbench.test_second_factor import code
from tests.views.visiting import visitor, words

pytestmark = pytest.mark.django_db
NEW = "another horse, another battery"


@pytest.fixture(autouse=True)
def nothing_counted(db):
    cache.clear()


def everything_stored():
    """Return every row of every table as text, as a dump of the database holds them."""
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT row_to_json(one)::text FROM "{table}" AS one')
            found += [row for (row,) in cursor.fetchall()]
    # Sessions are signed and packed, but not sealed: whoever holds the copy reads them as well.
    return "\n".join([*found, *(json.dumps(one.get_decoded()) for one in Session.objects.all())])


def a_token_from_the_page(contract):
    """Issue a token as people do: what its page leaves behind counts too."""
    form = {"deed": "issue", "worker": "label-writer", "days": "3", "contracts": [contract.task_id]}
    browser = visitor(people.owner(contract.team))
    answer = browser.post(reverse("contracts:tokens", args=[contract.team.slug]), form)
    (token,) = filter(is_token, words(answer).replace("<", " ").replace(">", " ").split())
    return token


def a_second_factor_from_the_page(person):
    """Set up an authenticator app with its recovery codes; return its secret and the codes."""
    browser = visitor(person)
    secret = browser.get(reverse("mfa_activate_totp")).context["form"].secret
    assert browser.post(reverse("mfa_activate_totp"), {"code": code(secret)}).status_code == 302
    shown = words(browser.get("/second-factor/codes/"))
    codes = Authenticator.objects.get(user=person, type="recovery_codes").wrap().get_unused_codes()
    assert all(one in shown for one in codes)
    return [secret, *codes]


def test_nothing_that_opens_a_door_can_be_read_in_a_copy_of_the_database(settings):
    """But for the keys of sessions that still run, as the document of threats says."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    contract = builders.a_paused()
    curator = people.curator(contract.team)
    token = a_token_from_the_page(contract)
    worker = Worker(contract, token=token)
    worker.generation = worker.resume()  # so that answers are kept under their keys
    secrets = [token, people.PASSWORD, *a_second_factor_from_the_page(curator)]
    stored = everything_stored()
    assert [secret for secret in secrets if secret in stored] == []
    assert "argon2" in stored
    # The control: the search looks into content, accounts, kept answers and what is sealed.
    for known in (contract.title, curator.username, "attempt_id", "totp", "_auth_user_hash"):
        assert known in stored, known


def test_a_stolen_session_ends_when_its_person_changes_the_password():
    person = people.curator(builders.a_team())
    own, stolen = visitor(person), visitor(person)
    assert stolen.get("/").status_code == 200
    changed = {"old_password": people.PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert own.post("/password/", changed).status_code == 302
    answer = stolen.get("/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/")
    assert own.get("/").status_code == 200
