"""Two web servers at two addresses on one database: what one began, the other goes on with."""

import threading

import httpx
import pytest

from contracts.models import Attempt, Event, StoredAnswer
from tests.client.targets import a_token
from tests.operations.acts import Browser, a_written_task, do_everything
from tests.operations.sites import address_of_database, served_at

pytestmark = pytest.mark.django_db(transaction=True)
TWINS = 8


@pytest.fixture
def machines(transactional_db, tmp_path):
    """The addresses of two servers with a data folder and a pool of their own, as two machines have."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    url = address_of_database()
    with served_at(folders[0], url) as one, served_at(folders[1], url, host="127.0.0.2") as other:
        yield one, other


def test_two_machines_are_one_workbench(machines):
    """Everything in one test: a server that starts costs more than what is asked of it."""
    contract = a_written_task()
    _check_one_session(machines)
    _check_one_key(machines, contract)
    contract.refresh_from_db()
    assert Event.objects.first_break(contract) is None
    do_everything(machines, a_written_task())


def _check_one_session(machines):
    """Who has logged in at one is known at the other, and logged out at both."""
    here, there = Browser(machines[0]), Browser(machines[1])
    here.log_in("olga")
    there.cookies = here.cookies
    assert there.get("/").status_code == 200
    assert there.page.every("h1")[0].words != "Log in"
    (form,) = [form for form in there.page.every("form") if form["action"].endswith("/logout/")]
    there.submit(form, "/logout/")
    here.get("/")
    assert here.page.every("h1")[0].words == "Log in"
    here.close()
    there.close()


def _check_one_key(machines, contract):
    """The same request under one key, sent to both at once and again later, is carried out once."""
    headers = {"Authorization": f"Bearer {a_token(contract)}", "Idempotency-Key": "one-key"}
    barrier, answers = threading.Barrier(TWINS), []

    def ask(place):
        with httpx.Client(base_url=place, headers=headers, trust_env=False, timeout=60) as client:
            barrier.wait(60)
            answers.append(client.post(f"/api/v1/contracts/{contract.task_id}/resume", json={}))

    threads = [threading.Thread(target=ask, args=[machines[number % 2]]) for number in range(TWINS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    later = [httpx.post(one.request.url, headers=headers, json={}) for one in answers]
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {"key_running"}
    assert {(answer.status_code, answer.content) for answer in later} == {(201, _first(answers).content)}
    assert Attempt.objects.filter(contract=contract).count() == 1
    assert StoredAnswer.objects.filter(contract=contract).count() == 1


def _first(answers):
    return next(answer for answer in answers if answer.status_code == 201)
