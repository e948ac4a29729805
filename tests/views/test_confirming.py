from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.utils import timezone

from contracts.rules.approving import Policy
from contracts.views.confirming import Confirmed, confirm_address, confirmed, step_up
from tests import builders, people
from tests.test_workbench.passkeys import a_passkey
from tests.views.visiting import visitor

pytestmark = pytest.mark.django_db
POLICY = Policy(
    number=1,
    quorum=1,
    author_may_decide=False,
    default_expiry_hours=24,
    longest_expiry_hours=72,
    login_fresh_seconds=300,
    second_factor=False,
    on_timeout="expire",
    pass_on_to="",
    pass_on_hours=None,
)
STRICT = replace(POLICY, second_factor=True)
PAGE = "/contracts/a-task/approvals/7/?shown=all"


@pytest.fixture
def carla():
    return people.curator(builders.a_team())


def asking(client, person, method="get", path=PAGE):
    """Return a request for `path` from that browser."""
    request = getattr(RequestFactory(), method)(path)
    request.session, request.user = client.session, person
    return request


def ago(**time):
    return timezone.now() - timedelta(**time)


def led_to(answer):
    """Return the page that one is sent to, and the one that it leads back to."""
    assert answer.status_code == 302
    where = urlsplit(answer["Location"])
    return where.path, parse_qs(where.query)["next"][0]


def test_who_has_just_logged_in_goes_on(carla):
    assert step_up(asking(visitor(carla), carla), POLICY) is None


@pytest.mark.parametrize(("seconds", "asked_again"), [(0, False), (290, False), (301, True), (100_000, True)])
def test_a_login_is_good_for_as_long_as_the_policy_says(carla, seconds, asked_again):
    request = asking(visitor(carla, confirmed=ago(seconds=seconds)), carla)
    assert (step_up(request, POLICY) is not None) is asked_again
    assert step_up(request, replace(POLICY, login_fresh_seconds=200_000)) is None


def test_an_old_login_leads_to_the_password_and_back(carla):
    request = asking(visitor(carla, confirmed=ago(minutes=6)), carla)
    assert led_to(step_up(request, POLICY)) == ("/confirm/", PAGE)


def test_a_session_that_remembers_nothing_is_no_confirmation(carla):
    request = asking(visitor(carla, confirmed=None), carla)
    assert confirmed(request) == Confirmed(None, None)
    assert led_to(step_up(request, POLICY)) == ("/confirm/", PAGE)


def test_without_a_second_factor_one_is_set_up_first(carla):
    assert led_to(step_up(asking(visitor(carla), carla), STRICT)) == ("/second-factor/", PAGE)


def test_the_password_alone_is_no_second_factor(carla):
    TOTP.activate(carla, "JBSWY3DPEHPK3PXP")
    assert led_to(step_up(asking(visitor(carla), carla), STRICT)) == ("/second-factor/confirm/", PAGE)


def test_an_old_second_factor_is_asked_for_again_however_new_the_password_is(carla):
    TOTP.activate(carla, "JBSWY3DPEHPK3PXP")
    client = visitor(carla, confirmed=ago(minutes=6), second_factor=True)
    client.post("/confirm/", {"password": people.PASSWORD})
    request = asking(client, carla)
    assert step_up(request, POLICY) is None
    assert led_to(step_up(request, STRICT)) == ("/second-factor/confirm/", PAGE)


def test_a_fresh_second_factor_goes_on(carla):
    assert step_up(asking(visitor(carla, second_factor=True), carla), STRICT) is None


def test_the_page_of_the_factor_used_last_is_opened(carla):
    passkey = Authenticator.objects.create(user=carla, type="webauthn", data=a_passkey())
    request = asking(visitor(carla), carla)
    assert led_to(step_up(request, STRICT)) == ("/second-factor/passkeys/confirm/", PAGE)
    TOTP.activate(carla, "JBSWY3DPEHPK3PXP").instance.record_usage()
    assert led_to(step_up(request, STRICT)) == ("/second-factor/confirm/", PAGE)
    passkey.record_usage()
    assert led_to(step_up(request, STRICT)) == ("/second-factor/passkeys/confirm/", PAGE)


@pytest.mark.parametrize("policy", [POLICY, STRICT])
def test_only_reading_is_led_away(carla, policy):
    client = visitor(carla, confirmed=None)
    assert step_up(asking(client, carla, "head"), policy) is not None
    for method in ("post", "put", "patch", "delete"):
        assert step_up(asking(client, carla, method), policy) is None
    assert "account_reauthentication_state" not in client.session


def test_a_refused_decision_is_given_the_way_to_confirm(carla):
    request = asking(visitor(carla, confirmed=None), carla, "post")
    assert confirm_address(request) == (
        "/confirm/?next=%2Fcontracts%2Fa-task%2Fapprovals%2F7%2F%3Fshown%3Dall"
    )
    assert confirm_address(request, second_factor=True).startswith("/second-factor/?next=%2Fcontracts")


def test_what_somebody_else_confirmed_in_this_session_does_not_count(carla):
    request = asking(visitor(carla, second_factor=True), people.stranger())
    assert confirmed(request) == Confirmed(None, None)
    request.user = AnonymousUser()
    assert confirmed(request) == Confirmed(None, None)
