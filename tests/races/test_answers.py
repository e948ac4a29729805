"""R3: twins of one request, all at once, and replays long after: carried out once, answered with the same bytes."""

import hashlib
import random
from collections import Counter

import pytest
from django.test import Client

from contracts.models import Event, StoredAnswer
from contracts.rules.vocabulary import Actor, ActorKind
from tests import builders
from tests.api.bearing import Worker
from tests.races.racing import race, say

pytestmark = pytest.mark.django_db(transaction=True)
TWINS, KEYS, REPLAYS = 8, 12, 100
WHOLE_TWINS, WHOLE_KEYS, WHOLE_REPLAYS = 32, 100, 1_000
WORKER = Actor("label-writer", ActorKind.WORKER)


def figures(whole):
    return (WHOLE_TWINS, WHOLE_KEYS, WHOLE_REPLAYS) if whole else (TWINS, KEYS, REPLAYS)


def a_source(number):
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    return {"source_id": "P-1", "version_label": str(number), "sha256": digest, "location": "archive://p/1"}


def a_twin(worker, number):
    """Send one request until it is answered, as a client does that is told that the key is running."""

    def ask():
        own = Worker(worker.contract, token=worker.token)
        own.client = Client()
        met = Counter()
        while True:
            answer = own.post("/sources", a_source(number), key=f"twin-{number}")
            met[answer.status_code] += 1
            if answer.status_code != 409:
                return answer.status_code, answer.content, met
            assert answer.json()["code"] == "key_running"
            assert answer["Retry-After"] == "1"

    return ask


def test_r3_twins_are_carried_out_once_and_answered_alike(whole):
    twins, keys, replays = figures(whole)
    worker = Worker(builders.a_paused())
    first, met = {}, Counter()
    for number in range(keys):
        told = race(*(a_twin(worker, number) for _ in range(twins)))
        assert {(status, content) for status, content, _ in told} == {(201, told[0][1])}
        first[number] = told[0][1]
        for _, _, counted in told:
            met += counted
    executed = Event.objects.of(worker.contract.pk).filter(part="source", act="add", actor="label-writer")
    assert executed.count() == keys
    chance = random.Random(3)
    differing = 0
    for _ in range(replays):
        number = chance.randrange(keys)
        answer = worker.post("/sources", a_source(number), key=f"twin-{number}")
        differing += (answer.status_code, answer.content) != (201, first[number])
    assert differing == 0
    assert executed.count() == keys
    assert worker.post("/sources", a_source(0), key="").status_code == 400
    other = worker.post("/sources", a_source(1), key="twin-0")
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    worker.contract.refresh_from_db()
    assert Event.objects.first_break(worker.contract) is None
    say(
        f"R3: {twins} twins x {keys} keys, executed {executed.count()}, told to wait {met[409]}, "
        f"replays {replays}, differing {differing}"
    )


def look_then_do(contract, key, done):
    """Look whether the key was answered, do the work, keep the answer: the shape that must lose."""

    def ask():
        if StoredAnswer.objects.filter(contract=contract, key=key).exists():
            return
        done.append(key)
        StoredAnswer.objects.bulk_create(
            [
                StoredAnswer(
                    contract=contract,
                    worker="label-writer",
                    key=key,
                    request_sha256="a" * 64,
                    status=200,
                    content_type="application/json",
                    body=b"{}",
                )
            ],
            ignore_conflicts=True,
        )

    return ask


def test_control_looking_first_and_keeping_afterwards_executes_more_than_once():
    contract = builders.a_paused()
    done = []
    for number in range(KEYS):
        race(*(look_then_do(contract, f"twin-{number}", done) for _ in range(TWINS)))
    say(f"R3 control: {len(done)} executions for {KEYS} keys")
    assert len(done) > KEYS
