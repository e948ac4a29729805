import asyncio
import time

import pytest
from django.db import connection

from contracts.client import (
    AsyncWorkbench,
    LeaseLost,
    NotResumable,
    Refused,
    Rejected,
    Stale,
    Tool,
    Unknown,
    Unreachable,
    WaitingForApproval,
    Workbench,
)
from contracts.gates.approving import decide
from contracts.gates.correcting import correct_draft
from contracts.gates.workers.pausing import request_pause, take_over
from contracts.models import Approval, Attempt, Operation, WorkObject
from contracts.rules.vocabulary import ActorKind
from tests import builders, people
from tests.client.relay import relayed_to
from tests.client.targets import Target, a_task, a_token, call_of

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = ("/operations", "/dispatch", "/report", "steps/commit", "steps/begin", "objects/take")


@pytest.fixture
def target():
    return Target()


@pytest.fixture
def contract():
    return a_task()


@pytest.fixture
def workbench(url, contract):
    with Workbench(url, a_token(contract), patience=20) as workbench:
        yield workbench


def publish(run, target, number=1, **more):
    return run.operation(target.tool(), **call_of(number, **more))


def operator(contract):
    return people.acting(people.operator(contract.team), ActorKind.OPERATOR)


def displace(contract):
    builders.done(take_over(contract_id=contract.pk, actor=operator(contract), reason="It hangs."))


def states(contract):
    return dict(WorkObject.objects.filter(contract=contract).values_list("object_id", "state"))


def state(contract):
    contract.refresh_from_db()
    return contract.state


def say(contract, decision):
    item = Approval.objects.joined().get(contract=contract, state="pending")
    known = builders.word(item, people.curator(contract.team), decision)
    builders.done(decide(contract_id=contract.pk, **known))


def test_a_stored_step_is_never_run_again_by_whichever_attempt(workbench, contract):
    with workbench.resume(contract.task_id) as run:
        assert run.step("draft", lambda: {"text": "Fired clay."}) == {"text": "Fired clay."}
        assert run.step("draft", lambda: pytest.fail("it is done")) == {"text": "Fired clay."}
    assert (run.attempt.number, run.state) == (1, "paused")
    with workbench.resume(contract.task_id) as run:
        assert run.step("draft", lambda: pytest.fail("it is done")) == {"text": "Fired clay."}
    assert run.generation == 2


def test_objects_are_handed_out_until_none_is_left_and_the_task_is_finished(workbench, contract):
    with workbench.resume(contract.task_id) as run:
        for job in run.objects(batch=2):
            run.step(f"draft:{job.object_id}", lambda: "Fired clay.", job=job, draft=f"L-{job.object_id}")
            assert run.current(f"L-{job.object_id}").text == "Fired clay."
            run.accept(job, evidence="read")
    assert (run.state, set(states(contract).values())) == ("completed", {"confirmed"})
    with pytest.raises(NotResumable) as refused:
        workbench.resume(contract.task_id)
    assert (refused.value.code, refused.value.decision.verdict) == ("resume_refuse", "refuse")


@pytest.mark.parametrize(("language", "chinese"), [("", False), ("en", False), ("zh-hans", True)])
def test_its_sentences_come_in_the_language_that_was_asked_for(url, contract, language, chinese):
    with Workbench(url, a_token(contract), language=language) as workbench, pytest.raises(Refused) as refused:
        workbench.contract("nothing-here")
    assert refused.value.code == "no_such_contract"
    assert any("\u4e00" <= character <= "\u9fff" for character in refused.value.sentence) is chinese


def test_what_was_handed_out_and_not_come_to_is_given_back(workbench, contract):
    with workbench.resume(contract.task_id) as run:
        jobs = run.objects(batch=2)
        first = next(jobs)
        jobs.close()
        assert states(contract) == {first.object_id: "in_progress", "O-02": "pending"}
    assert set(states(contract).values()) == {"pending"}


def test_a_second_worker_is_told_who_holds_the_task_and_may_wait(workbench, contract):
    with workbench.resume(contract.task_id) as run:
        with pytest.raises(NotResumable) as waits:
            workbench.resume(contract.task_id)
        assert (waits.value.waits, waits.value.problem["attempt"]["number"]) == (True, 1)
        assert run.attempt.number == 1
    assert Attempt.objects.filter(contract=contract).count() == 1


def test_a_fault_of_the_network_in_any_call_leaves_one_page_for_each_object(url, target):
    cases = [(path, fault) for path in CALLS for fault in ("before", "after", "half")]
    contract = a_task(len(cases))
    with (
        relayed_to(url) as relay,
        Workbench(relay.url, a_token(contract), patience=20) as workbench,
        workbench.resume(contract.task_id, tools=[target.tool()]) as run,
    ):
        for relay.only, fault in cases:
            relay.faults = [fault]
            job = next(run.objects())
            number = int(job.object_id[2:])
            run.step(f"draft:{number}", lambda: "Fired clay.")
            receipt = run.operation("cms.publish", **call_of(number))
            assert receipt.reference == f"page-{number}"
            run.accept(job)
            assert relay.faults == []
    assert run.state == "completed"
    assert len(target.pages) == len(set(target.pages)) == len(cases)


def test_a_network_that_stays_away_is_never_a_success_and_nothing_is_sent(url, target, contract):
    with relayed_to(url) as relay, Workbench(relay.url, a_token(contract), patience=3) as workbench:
        relay.only, relay.faults = "/dispatch", ["before"] * 100
        with pytest.raises(Unreachable), workbench.resume(contract.task_id) as run:
            publish(run, target)
        assert target.pages == []
        relay.faults = []
        with workbench.resume(contract.task_id, tools=[target.tool()]) as run:
            assert run.operation("cms.publish", **call_of()).sent_now
    assert len(target.pages) == 1


def test_a_report_that_did_not_arrive_is_made_again_and_the_page_is_not(url, target, contract):
    with relayed_to(url) as relay, Workbench(relay.url, a_token(contract), patience=3) as workbench:
        relay.only, relay.faults = "/report", ["before"] * 100
        with workbench.resume(contract.task_id) as run:
            with pytest.raises(Unreachable):
                publish(run, target)
            relay.faults = []
            assert publish(run, target).reference == "page-1"
    assert len(target.pages) == 1


def test_a_lost_receipt_is_found_by_asking_after_the_generation_was_told(workbench, contract, target):
    target.faults, target.deaf = ["lost"], 1
    with workbench.resume(contract.task_id) as run:
        receipt = run.operation(target.tool(), **call_of())
    assert (receipt.reference, len(target.pages), target.told) == ("page-1", 1, [run.generation])
    stored = Operation.objects.get(contract=contract)
    assert (stored.state, stored.reconciliation["count"]) == ("confirmed", 1)
    assert stored.reconciliation["announced_generation"] == run.generation


def test_what_never_arrived_is_sent_again_only_when_it_is_certainly_absent(workbench, contract, target):
    target.faults = ["gone"]
    began = time.monotonic()
    with workbench.resume(contract.task_id) as run:
        assert run.operation(target.tool(), **call_of()).reference == "page-1"
    assert time.monotonic() - began >= 1  # the settle time was waited out
    assert (len(target.pages), Operation.objects.get(contract=contract).tries) == (1, 2)


def test_without_a_way_to_ask_it_stays_unknown_until_an_attempt_that_can(workbench, contract, target):
    target.faults = ["lost"]
    with pytest.raises(Unknown) as unknown, workbench.resume(contract.task_id) as run:
        run.operation("cms.publish", send=target.send, **call_of())
    assert unknown.value.outlook.ahead == "ask"
    assert (target.pages, state(contract)) == ([unknown.value.operation.key], "paused")
    with workbench.resume(contract.task_id, tools=[target.tool()]) as run:
        assert run.decision.verdict == "reconcile"
        receipt = run.operation("cms.publish", **call_of())
    assert (receipt.sent_now, receipt.reference, len(target.pages)) == (False, "page-1", 1)


def test_a_write_that_only_a_person_can_decide_is_handed_over_and_the_task_paused(url, target):
    contract = a_task(tool={"query_path": "", "stale_owner": "none", "settle_seconds": None})
    target.faults = ["gone"]
    with Workbench(url, a_token(contract)) as workbench:
        with pytest.raises(Unknown) as unknown, workbench.resume(contract.task_id) as run:
            run.operation(target.tool(), **call_of())
        assert (unknown.value.outlook.ahead, state(contract)) == ("person", "paused")
    assert Attempt.objects.get(contract=contract).ended_at is not None


def test_what_the_target_clearly_refused_is_rejected_and_another_round_is_an_explicit_act(
    workbench, contract, target
):
    target.faults = ["no"]
    with workbench.resume(contract.task_id) as run:
        for _ in range(2):
            with pytest.raises(Rejected):
                run.operation(target.tool(), **call_of())
        other = {"parameters": {"page": "label-one"}}
        with pytest.raises(Refused) as refused:
            run.operation(target.tool(), **call_of(**other))
        assert refused.value.code == "new_round_needed"
        assert run.operation(target.tool(), **call_of(**other), again=True).operation.round == 2
    assert len(target.pages) == 1


def test_it_waits_for_a_person_and_the_next_attempt_sends_what_was_approved(url, target):
    contract = a_task(tool={"needs_approval": True})
    with Workbench(url, a_token(contract)) as workbench:
        with pytest.raises(WaitingForApproval) as waits, workbench.resume(contract.task_id) as run:
            run.operation(target.tool(), **call_of())
        assert (target.pages, state(contract)) == ([], "paused")
        say(contract, "approved")
        item = workbench.approval(contract.task_id, waits.value.item.item_id, wait=5)
        assert item.state == "approved"
        with workbench.resume(contract.task_id) as run:
            assert run.operation(target.tool(), **call_of()).sent_now
            assert not run.operation(target.tool(), **call_of()).sent_now
    assert len(target.pages) == 1


def test_a_persons_no_is_told_and_nothing_is_sent(url, target):
    contract = a_task(tool={"needs_approval": True})
    told = []
    with Workbench(url, a_token(contract)) as workbench, workbench.resume(contract.task_id) as run:

        def decided(item):
            told.append(item.item_id)
            say(contract, "rejected")

        with pytest.raises(Rejected) as no:
            run.operation(target.tool(), **call_of(wait=20), on_wait=decided)
        assert (no.value.item.decision_reason, told) == ("Not like this.", [no.value.item.item_id])
        with pytest.raises(Rejected):
            run.operation(target.tool(), **call_of())
    assert target.pages == []


def test_a_changed_draft_makes_the_request_stale_while_it_waits(url, target):
    contract = a_task(tool={"needs_approval": True})
    with Workbench(url, a_token(contract)) as workbench, workbench.resume(contract.task_id) as run:
        run.step("draft", lambda: "Fired clay, about 500.", draft="L-1")
        label = {"parameters": {"label": run.current("L-1").named}, "draft": "L-1", "preview": ""}

        def corrected(item):
            stored = Approval.objects.joined().get(contract=contract)
            known = builders.word(stored, people.curator(contract.team))
            kept = {name: known[name] for name in ("actor", "user", "item_id", "seen", "confirmed_at")}
            text = {"text": "Fired clay, about 600.", "reason": "The date was wrong."}
            builders.done(correct_draft(contract_id=contract.pk, **kept, **text))

        with pytest.raises(Stale) as stale:
            run.operation(target.tool(), **call_of(wait=20, **label), on_wait=corrected)
        assert stale.value.item.stale_member.startswith("draft")
    assert target.pages == []


def test_a_displaced_worker_stops_at_once_and_sends_nothing(workbench, contract, target):
    run = workbench.resume(contract.task_id)
    displace(contract)
    with pytest.raises(LeaseLost), run:
        publish(run, target)
    assert (run.lost.is_set(), target.pages) == (True, [])
    with workbench.resume(contract.task_id) as other:
        run.lost.clear()  # a worker that does not look is refused all the same
        with pytest.raises(LeaseLost) as lost:
            publish(run, target)
        assert (lost.value.code, other.generation > run.generation) == ("stale_generation", True)


def test_an_answer_to_dispatch_that_comes_after_the_lease_has_ended_lets_nothing_leave(url, contract, target):
    def slowly(asked):
        answer = ask(asked)
        if "dispatch" in asked.path:
            displace(contract)
            connection.close()  # this is a thread of the relay
            run._hold.lease._until = 0.0
        return answer

    with relayed_to(url) as relay, Workbench(relay.url, a_token(contract)) as workbench:
        ask, relay.upstream = relay.upstream, slowly
        run = workbench.resume(contract.task_id)
        with pytest.raises(LeaseLost), run:
            publish(run, target)
    assert target.pages == []
    assert Operation.objects.get(contract=contract).state == "unknown"


def test_a_requested_pause_ends_the_handing_out(workbench, contract):
    with workbench.resume(contract.task_id) as run:
        taken = []
        for job in run.objects():
            taken.append(job.object_id)
            builders.done(
                request_pause(contract_id=contract.pk, actor=operator(contract), reason="A closed day.")
            )
            run._hold.lease.renew()
    assert (taken, state(contract)) == (["O-01"], "paused")


def test_a_tool_of_which_nobody_said_how_it_is_sent_is_an_error_of_the_program(workbench, contract):
    with workbench.resume(contract.task_id) as run, pytest.raises(ValueError, match=r"cms\.publish"):
        run.operation("cms.publish", **call_of())


def test_a_failing_worker_lets_go_at_once(workbench, contract):
    with pytest.raises(ZeroDivisionError), workbench.resume(contract.task_id) as run:
        run.step("draft", lambda: 1 / 0)
    assert state(contract) == "paused"
    with workbench.resume(contract.task_id) as run:
        assert run.step("draft", lambda: 1) == 1


def test_the_whole_is_there_for_asyncio_too(url, contract, target):
    async def send(call):
        await asyncio.sleep(0)
        return target.send(call)

    async def work():
        workbench = AsyncWorkbench(url, a_token_of_contract)
        tool = Tool("cms.publish", send, target.query, target.told.append)
        async with await workbench.resume(contract.task_id, tools=[tool]) as run:
            async for job in run.objects():
                number = int(job.object_id[2:])
                assert await run.step(f"draft:{number}", lambda number=number: draft(number)) == number
                await run.operation("cms.publish", **call_of(number))
                await run.accept(job)
        assert [row["task_id"] for row in await workbench.contracts()] == [contract.task_id]
        assert (await workbench.decision(contract.task_id)).verdict == "refuse"
        await workbench.close()

    async def draft(number):
        await asyncio.sleep(0)
        return number

    a_token_of_contract = a_token(contract)
    asyncio.run(work())
    assert (len(target.pages), state(contract)) == (2, "completed")


def test_the_rest_of_a_run_is_there_for_asyncio_too(url, contract, target):
    contract = a_task(2, tool={"compensation": "cms.publish with remove"}, acceptance="worker")

    async def remove(call):
        return target.send(call)

    other, gone = {"parameters": {"page": "label-one"}}, {"target": "cms://pages", "expected": "No page."}

    async def work():
        workbench = AsyncWorkbench(url, known)
        async with await workbench.resume(contract.task_id) as run:
            assert (run.attempt.number, run.state, run.lost.is_set()) == (1, "", False)
            assert not run.pause_requested.is_set()
            run.know(Tool("cms.publish", target.send, target.query))
            jobs = [job async for job in run.objects(batch=2)]
            await run.give_back(jobs[1], note="Later.")
            assert (await run.contract())["task_id"] == contract.task_id
            assert await run.wait_for_people("O-02", wait=0)
            operation = await run.consent("cms.publish", **call_of(1))
            assert (await run.abandon(operation, "Not needed.")).state == "abandoned"
            receipt = await run.operation("cms.publish", **call_of(1, again=True, **other))
            taken = {"page": "label-one", "remove": True}
            await run.compensate(receipt, "cms.publish", taken, **gone, send=remove)
            assert await run.settle_unknown() == []
            await workbench.request_pause(contract.task_id, "A closed day.")
        assert run.state == "paused"
        await workbench.close()

    known = a_token(contract)
    asyncio.run(work())
    assert len(target.pages) == 2


def test_a_pending_call_is_given_up_and_one_that_was_sent_is_not(workbench, contract, target):
    with workbench.resume(contract.task_id) as run:
        wanted = {name: value for name, value in call_of(1).items() if name != "parameters"}
        operation = run.consent("cms.publish", call_of(1)["parameters"], **wanted)
        assert run.abandon(operation, "Another label is better.").state == "abandoned"
        assert run.abandon(operation.key, "Once more.").state == "abandoned"
        with pytest.raises(Rejected):
            publish(run, target)
        receipt = publish(run, target, again=True, parameters={"page": "label-one"})
        with pytest.raises(Refused) as refused:
            run.abandon(receipt.operation, "Too late.")
        assert refused.value.code == "operation_not_pending"
    assert len(target.pages) == 1


def test_a_confirmed_write_is_taken_back_once_by_a_write_of_its_own(url, target):
    contract = a_task(tool={"compensation": "cms.publish with remove"})
    with Workbench(url, a_token(contract)) as workbench, workbench.resume(contract.task_id) as run:
        receipt = publish(run, target)
        for first in (True, False):
            gone = {"target": "cms://pages", "expected": "No page.", "reason": "It was wrong."}
            taken = run.compensate(receipt, target.tool(), {"page": "label-1", "remove": True}, **gone)
            assert taken.sent_now is first
            assert (taken.operation.step, taken.operation.object) == ("compensate:publish", "O-01")
    assert len(target.pages) == 2


def test_a_write_whose_tool_names_no_compensation_is_not_taken_back(workbench, contract, target):
    with workbench.resume(contract.task_id) as run:
        receipt = publish(run, target)
        gone = {"target": "cms://pages", "expected": "No page."}
        with pytest.raises(Refused) as refused:
            run.compensate(receipt.operation, target.tool(), {"page": "label-1"}, **gone)
        assert refused.value.code == "no_compensation"
    assert len(target.pages) == 1


def test_a_number_that_another_checkpoint_took_is_made_good_for(workbench, contract):
    with workbench.resume(contract.task_id) as run:
        assert run.commit(next_step="draft")[0] == 1
        run._hold.post("steps/commit", {"checkpoint": a_point("another-thread")})  # numbered 2 by the server
        assert run.commit(next_step="draft")[0] == 3
        assert run.commit(next_step="draft")[0] == 4
        with pytest.raises(Refused) as refused:  # a number given by the worker is its own affair
            run.commit(next_step="draft", checkpoint={"sequence": 9})
        assert refused.value.code == "sequence_not_next"
        assert run.commit(next_step="draft")[0] == 5
        with pytest.raises(Refused) as refused:  # nothing but the number is mended
            run.commit(next_step="draft", checkpoint={"checkpoint_id": "another-thread"})
        assert refused.value.code == "checkpoint_id_once"


def a_point(name):
    point = {"checkpoint_id": name, "next_step": "draft", "durability": "sync", "inline_state": {}}
    return {**point, "schema_version": 1}
