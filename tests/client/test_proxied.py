"""Tools that the workbench itself sends for: the client asks it to, and finds out what became of it."""

import pytest

from contracts.client import Refused, Rejected, Seen, Tool, Unknown, WaitingForApproval, Workbench
from contracts.gates.approving import decide
from contracts.models import Approval, Operation
from tests import builders, people
from tests.client.relay import relayed_to
from tests.client.targets import a_task, a_token, call_of
from tests.gates.workers.target import target
from tests.serving import served

pytestmark = pytest.mark.django_db(transaction=True)
PROXIED = {"stale_owner": "single_write_proxy", "settle_seconds": 1}


@pytest.fixture(scope="module")
def server():
    with target() as running:
        yield running


@pytest.fixture(scope="module")
def url(server, tmp_path_factory, django_db_setup, django_db_blocker):
    """The address of a workbench that may write to the target."""
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        patch.setenv("WORKBENCH_PROXY_TARGETS", f"cms=http://127.0.0.1:{server.port}")
        patch.setenv("WORKBENCH_PROXY_ADDRESSES", f"127.0.0.1:{server.port}")
        patch.setenv("WORKBENCH_PROXY_SECONDS", "5")
        with served(tmp_path_factory.mktemp("served"), workers=1) as url:
            yield url


def to(path, **more):
    return call_of(**{"target": f"cms://{path}", "expected": "One page.", **more})


def written(server, contract):
    return [row["path"] for row in server.written() if row["Workbench-Task"] == contract.task_id]


def test_the_workbench_sends_once_and_no_function_is_needed(url, server):
    contract = a_task(tool=PROXIED)
    with Workbench(url, a_token(contract)) as workbench, workbench.resume(contract.task_id) as run:
        receipt = run.operation("cms.publish", **to("pages/1"))
        assert (receipt.sent_now, receipt.reference) == (True, "cms://pages/1")
        assert not run.operation("cms.publish", **to("pages/1")).sent_now
    assert written(server, contract) == ["/pages/1"]


def test_a_function_that_sends_is_not_called(url, server):
    contract = a_task(tool=PROXIED)
    tool = Tool("cms.publish", lambda _: pytest.fail("the workbench sends"))
    with Workbench(url, a_token(contract)) as workbench, workbench.resume(contract.task_id) as run:
        assert run.operation(tool, **to("pages/2")).sent_now
    assert written(server, contract) == ["/pages/2"]


@pytest.mark.parametrize("fault", ["before", "after", "half"])
def test_a_fault_of_the_network_on_the_way_to_the_workbench_leaves_one_page(fault, url, server):
    contract = a_task(tool=PROXIED)
    with relayed_to(url) as relay, Workbench(relay.url, a_token(contract), patience=20) as workbench:
        relay.only, relay.faults = "/send", [fault]
        with workbench.resume(contract.task_id) as run:
            assert run.operation("cms.publish", **to("pages/3")).reference == "cms://pages/3"
        assert relay.faults == []
    assert written(server, contract) == ["/pages/3"]


def test_a_consent_is_asked_for_and_used_as_for_any_other_tool(url, server):
    contract = a_task(tool=PROXIED | {"needs_approval": True})
    with Workbench(url, a_token(contract)) as workbench:
        with pytest.raises(WaitingForApproval), workbench.resume(contract.task_id) as run:
            run.operation("cms.publish", **to("pages/4"))
        assert written(server, contract) == []
        item = Approval.objects.joined().get(contract=contract)
        builders.done(decide(contract_id=contract.pk, **builders.word(item, people.curator(contract.team))))
        with workbench.resume(contract.task_id) as run:
            assert run.operation("cms.publish", **to("pages/4")).sent_now
    assert written(server, contract) == ["/pages/4"]


def test_a_clear_no_of_the_target_is_rejected(url):
    contract = a_task(tool=PROXIED)
    with Workbench(url, a_token(contract)) as workbench, pytest.raises(Rejected):  # noqa: SIM117
        with workbench.resume(contract.task_id) as run:
            run.operation("cms.publish", **to("no/5"))
    assert Operation.objects.get(contract=contract).state == "rejected"


def test_a_write_without_an_answer_is_looked_for_and_never_sent_blindly(url, server):
    contract = a_task(tool=PROXIED)

    def find(call):
        count = sum(row["Idempotency-Key"] == call.key for row in server.written())
        return Seen.found("page-6", count=count) if count else Seen.absent()

    with Workbench(url, a_token(contract)) as workbench:
        with pytest.raises(Unknown), workbench.resume(contract.task_id) as run:
            run.operation("cms.publish", **to("cut/6", settle=0))
        with workbench.resume(contract.task_id, tools=[Tool("cms.publish", query=find)]) as run:
            receipt = run.operation("cms.publish", **to("cut/6"))
    assert (receipt.sent_now, receipt.reference) == (False, "page-6")
    assert written(server, contract) == ["/cut/6"]


def test_a_target_that_is_not_configured_is_refused_and_stays_pending(url):
    contract = a_task(tool=PROXIED)
    with (
        Workbench(url, a_token(contract)) as workbench,
        pytest.raises(Refused) as refused,
        workbench.resume(contract.task_id) as run,
    ):
        run.operation("cms.publish", **to("pages/7", target="elsewhere://pages/7"))
    assert refused.value.code == "target_not_configured"
    assert Operation.objects.get(contract=contract).state == "pending"


def test_a_busy_workbench_is_asked_again_and_one_that_stays_busy_is_told(url, server, monkeypatch):
    contract = a_task(tool=PROXIED)
    busy = [3]

    def post(key, act, body):
        if act == "send" and busy[0]:
            busy[0] -= 1
            raise Refused("proxy_busy", "The workbench is busy sending.")
        return asked(key, act, body)

    monkeypatch.setattr("contracts.client.ledger.LOOK_AGAIN", 0.02)
    with Workbench(url, a_token(contract)) as workbench, workbench.resume(contract.task_id) as run:
        asked = run._ledger._post
        monkeypatch.setattr(run._ledger, "_post", post)
        assert run.operation("cms.publish", **to("pages/8")).sent_now
        busy[0] = 10**6
        monkeypatch.setattr("contracts.client.ledger.PROXY_PATIENCE", 0.1)
        with pytest.raises(Refused, match="proxy_busy"):
            run.operation("cms.publish", **to("pages/9", object="O-02", parameters={"page": "label-2"}))
    assert (busy[0] > 0, written(server, contract)) == (True, ["/pages/8"])
