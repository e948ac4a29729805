"""64 curators decide on the same item at the same moment, over HTTP, against several web processes."""

import contextlib
import http.client
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from django.conf import settings

from contracts.gates.beats import database_now
from contracts.gates.form_keys import make_form_key
from contracts.models import Approval, ApprovalVote, Event
from contracts.rules.states import ApprovalState
from contracts.rules.vocabulary import Role
from tests import builders, people, scenes
from tests.races.racing import race
from tests.serving import served
from tests.views.visiting import address, visitor

pytestmark = pytest.mark.django_db(transaction=True)
CURATORS, CONTRACTS = 64, 5
TOKEN = "a" * 32  # the double submit of Django's protection needs the same value twice
RIVALS, CONTROLS = 32, 5


def items_to_decide(team, contracts, items):
    made = []
    for number in range(contracts):
        contract = scenes.a_label_contract(team, f"label-{number}")
        scenes.change_rules(contract, login_fresh_seconds="3600")  # a slow machine is not what this is about
        for call in range(items // contracts):
            scenes.call(contract, call + 2)
            made.append(scenes.ask(contract, scenes.WHY))
    return made


def cookies_of(person):
    session = visitor(person).cookies[settings.SESSION_COOKIE_NAME].value
    return f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}"


def a_post(item, person, number):
    post = {
        "csrfmiddlewaretoken": TOKEN,
        "item": item.item_id,
        "seen": item.fingerprint,
        "decision": "approved" if number % 2 else "rejected",
        "reason": f"Said by curator {number}.",
        "key": make_form_key(item, person),
    }
    return urlencode(post)


def test_r1_of_64_curators_over_http_one_approval_decision_stands_and_everybody_is_told_it(tmp_path, whole):
    team = builders.a_team()
    curators = [people.person(f"curator-{number}", team, Role.CURATOR) for number in range(CURATORS)]
    count = 200 if whole else 10  # the whole figure takes minutes: `pytest --whole`
    items = items_to_decide(team, CONTRACTS, count)
    places = [address("approval", item.contract.task_id, item.item_id) for item in items]
    barrier, cookies = threading.Barrier(CURATORS), [cookies_of(person) for person in curators]

    def decide_all(number):
        posts = [a_post(item, curators[number], number) for item in items]
        answers, headers = (
            [],
            {"Cookie": cookies[number], "Content-Type": "application/x-www-form-urlencoded"},
        )
        with contextlib.closing(
            http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)
        ) as browser:
            for place, post in zip(places, posts, strict=True):
                barrier.wait(timeout=300)
                browser.request("POST", place, post, headers)
                answer = browser.getresponse()
                answers.append((answer.status, answer.read().decode()))
        return answers

    with served(tmp_path) as url, ThreadPoolExecutor(CURATORS) as threads:
        answers = list(threads.map(decide_all, range(CURATORS)))
    statuses = Counter(status for one in answers for status, _ in one)
    print(f"attempted {CURATORS * count}, answered {dict(statuses)}")
    assert statuses == {302: count, 409: (CURATORS - 1) * count}
    for number, item in enumerate(items):
        item.refresh_from_db()
        winners = [who for who in range(CURATORS) if answers[who][number][0] == 302]
        assert [item.decided_by] == [curators[who].username for who in winners]
        told = "Approved by" if item.state == ApprovalState.APPROVED else "Sent back by"
        (name,) = [curators[who].get_full_name() for who in winners]
        losers = [answers[who][number][1] for who in range(CURATORS) if who not in winners]
        assert all(f"{told} {name}" in " ".join(text.split()) for text in losers)
    assert ApprovalVote.objects.filter(approval__in=items).count() == count
    assert Event.objects.filter(refused="already_decided").count() == (CURATORS - 1) * count
    for contract in {item.contract for item in items}:
        contract.refresh_from_db()
        assert Event.objects.first_break(contract) is None


def read_then_write(item, person):
    """Decide as a page does that looks first and saves afterwards: the shape that must lose."""

    def act():
        row = Approval.objects.get(pk=item.pk)
        if row.state != ApprovalState.PENDING:
            return 409
        row.state, row.decided_by, row.decided_at = (
            ApprovalState.APPROVED.value,
            person.username,
            database_now(),
        )
        row.save()
        return 302

    return act


def test_r1_control_looking_first_and_saving_afterwards_decides_an_approval_more_than_once():
    team = builders.a_team()
    rivals = [people.person(f"curator-{number}", team, Role.CURATOR) for number in range(RIVALS)]
    items = items_to_decide(team, 1, CONTROLS)
    answers = Counter(
        status for item in items for status in race(*(read_then_write(item, one) for one in rivals))
    )
    print(
        f"attempted {RIVALS * CONTROLS}, answered {dict(answers)}, decided too often {answers[302] - CONTROLS}"
    )
    assert answers[302] > CONTROLS
