"""A model of the ledger of writes, walked beside the real gates, the real database and a real target.

Workers freeze and wake up, requests are late or lost, receipts get lost, others take over and ask the target.
The rules draw what happens next; after each the ledger must stand where the model stands, and in a target that a
write reached twice there must be one page. What the model may assume is what a tool contract says: nothing is on
its way any more once the settle time has passed.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from contracts.client import Call, TargetRefused
from contracts.client.examples.content_system import Pages
from contracts.gates.beats import database_now
from contracts.gates.sending import dispatch
from contracts.gates.workers.ledger import intend, report
from contracts.gates.workers.owning import renew, resume
from contracts.gates.workers.pausing import take_over
from contracts.gates.workers.reconciling import reconcile, settle_by_person
from contracts.models import Contract, Event, Operation
from contracts.rules.granting import Offer
from contracts.rules.ledger import AskedForm
from tests import builders
from tests.gates.workers.owners import OPERATOR, WHY, lapse
from tests.storms.counting import Counters
from tests.storms.ledger_model import CAPS, KINDS, SETTLE, WRITES, Request, Worker, Write, a_call, shift

# How much more often than others these happen, so that a history comes to what matters.
OFTEN = {
    "resume": 6,
    "intend": 4,
    "dispatch": 4,
    "send": 5,
    "arrive": 4,
    "give_up": 2,
    "ask": 4,
    "let_time_pass": 2,
}


class LedgerMachine(RuleBasedStateMachine):
    """One history of one task with three writes."""

    address: ClassVar[str]  # of the process of targets
    counters: ClassVar[Counters]
    histories: ClassVar[int]
    kinds: ClassVar[tuple[str, ...]] = tuple(KINDS)

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        kind = self.kind = data.draw(st.sampled_from(self.kinds), "kind")
        switches, said = KINDS[kind]
        type(self).histories += 1
        tool = {**builders.EXAMPLES["tool"], "concurrency": "free", "settle_seconds": 3600, **said}
        self.contract = builders.a_paused(
            tools=[{**tool, "named_person": "Head of collections"}], limits=CAPS, policies=[{"number": 1}]
        )
        self.target = Pages(f"{self.address}/{self.contract.pk}{switches}")
        self.writes = [Write() for _ in WRITES]
        self.workers: list[Worker] = []
        self.owner: Worker | None = None
        self.wire: list[Request] = []
        self.sent = self.fence = self.generation = 0
        self.resume()

    @rule(data=st.data())
    def happen(self, data: Any) -> None:
        """Draw one of the things that can happen now."""
        possible: dict[str, list[tuple[Any, ...]]] = {}
        for name, *given in self.possible():
            possible.setdefault(name, []).append(tuple(given))
        names = [name for name in possible for _ in range(OFTEN.get(name, 1))]
        name = data.draw(st.sampled_from(names), "next")
        getattr(self, name)(*data.draw(st.sampled_from(possible[name]), "with"))

    def possible(self) -> Iterator[tuple[Any, ...]]:
        """Yield every thing that can happen now: the name of a method, and what it is given."""
        if self.owner is None:
            yield ("resume",)
        for number, write in enumerate(self.writes):
            if self.owner is not None and not self.owner.busy(number):
                yield ("intend_again" if write.state else "intend", number)
            if self.owner is not None and write.state == "unknown":
                yield ("ask", number)
        for worker in self.workers:
            name = "dispatch" if worker is self.owner else "dispatch_too_late"
            yield from ((name, worker, number) for number in WRITES if self.may_try(worker, number))
            yield from (("send", worker, number) for number in sorted(worker.may_send))
            yield from (("give_up", worker, number) for number in sorted(worker.waiting))
        for request in self.wire:
            yield from (("arrive", request, True), ("arrive", request, False), ("lose", request))
        if not self.wire:
            yield ("let_time_pass",)
        if self.owner is not None and self.kind == "generation" and self.owner.told is None:
            yield ("announce",)
        if any(write.handed_over for write in self.writes):
            yield ("let_a_person_decide",)
        if self.owner is not None:
            yield from (("displace", *how) for how in ((False, True), (False, False), (True, True)))

    def may_try(self, worker: Worker, number: int) -> bool:
        """Tell whether a process, displaced or not, is there and could want to send this write."""
        return bool(worker.alive and self.writes[number].state and not worker.busy(number))

    # What workers and people do

    def resume(self) -> None:
        worker = Worker(self.generation + 1)
        verdict = resume(contract_id=self.contract.pk, actor=worker.actor, offer=Offer())
        open_yet = [write for write in self.writes if write.state == "unknown"]
        if open_yet and all(write.handed_over for write in open_yet):
            self.agree(verdict, "resume_escalate")
            return
        self.agree(verdict, "done")
        assert verdict.outcome.attempt.generation == worker.generation
        self.owner, self.generation = worker, worker.generation
        self.workers.append(worker)

    def displace(self, killed: bool, asked: bool) -> None:
        """The owner is frozen or killed; an operator takes over, or its lease runs out and another resumes."""
        former = self.owner
        former.alive = not killed
        if killed:
            former.may_send, former.waiting = set(), {}
        self.owner = None
        if asked:
            self.agree(take_over(contract_id=self.contract.pk, actor=OPERATOR, reason=WHY), "done")
            self.generation += 1  # which fences the former owner at once
            self.lose_owner()
        else:
            lapse(self.contract)
            self.lose_owner()
            self.resume()

    def lose_owner(self) -> None:
        for write in self.writes:
            if write.state == "sending":
                self.become_unknown(write)

    def become_unknown(self, write: Write) -> None:
        write.state, write.settled = "unknown", False
        self.counters.unknown += 1

    def intend(self, number: int) -> None:
        write = self.writes[number]
        verdict = intend(**self.by(self.owner), **a_call(number))
        self.agree(verdict, "exists" if write.state else "done")
        write.key = verdict.outcome.key
        write.state = write.state or "pending"

    intend_again = intend

    def dispatch(self, worker: Worker, number: int) -> None:
        """The owner, or a displaced worker that knows nothing of it, wants to send."""
        write = self.writes[number]
        verdict = dispatch(**self.by(worker), operation_key=write.key)
        expected = self.may_dispatch(worker, write)
        self.agree(verdict, expected)
        if expected == "done":
            write.state, write.sender, write.handed_over = "sending", worker.generation, False
            worker.may_send.add(number)

    dispatch_too_late = dispatch

    def may_dispatch(self, worker: Worker, write: Write) -> str:
        if worker is not self.owner:
            return "stale_generation" if worker.generation < self.generation else "not_open"
        if write.state != "pending":
            return "operation_not_pending"
        return "unknown_first" if any(other.state == "unknown" for other in self.writes) else "done"

    def send(self, worker: Worker, number: int) -> None:
        """A worker lets a request leave; one that was frozen does so whenever it wakes up."""
        worker.may_send.remove(number)
        worker.waiting[number] = self.leave(worker, number)

    def leave(self, worker: Worker, number: int) -> int:
        self.sent += 1
        self.counters.attempted += 1
        self.wire.append(Request(number, worker.generation, self.sent))
        return self.sent

    def give_up(self, worker: Worker, number: int) -> None:
        """A worker waits no longer, and says that it does not know."""
        del worker.waiting[number]
        self.tell(worker, number, "unknown")

    def tell(self, worker: Worker, number: int, result: str, reference: str = "") -> None:
        """Report; that of a displaced worker changes nothing and is kept."""
        write = self.writes[number]
        verdict = report(**self.by(worker), operation_key=write.key, result=result, reference=reference)
        self.agree(verdict, "done" if worker is self.owner else "late_report")
        if worker is not self.owner:
            return
        if result == "unknown":
            self.become_unknown(write)
        else:
            write.state = result
            self.counters.acknowledged += 1

    # What the line and the target do

    def arrive(self, request: Request, receipt: bool) -> None:
        """A request reaches the target, in whichever order, and its receipt the worker, or not."""
        self.wire.remove(request)
        write = self.writes[request.write]
        call = Call(
            write.key, request.generation, "cms.publish", a_call(request.write)["parameters"], "cms://"
        )
        try:
            reference = self.target.publish(call).reference
        except TargetRefused:
            reference = ""
        refused = self.kind == "generation" and request.generation < self.fence
        assert bool(reference) != refused
        self.fence = max(self.fence, request.generation)
        write.pages += not refused and not (self.kind == "key" and write.pages)
        worker = next(each for each in self.workers if each.generation == request.generation)
        if receipt and worker.waiting.get(request.write) == request.number:
            del worker.waiting[request.write]
            self.tell(worker, request.write, "rejected" if refused else "confirmed", reference)

    def lose(self, request: Request) -> None:
        """A request never arrives."""
        self.wire.remove(request)

    def let_time_pass(self) -> None:
        """More than the settle time passes. Nothing is on its way any more; who is frozen may stay so."""
        shift(self.contract, 2 * SETTLE)
        if self.owner is not None:
            self.agree(renew(**self.by(self.owner)), "done")
        for write in self.writes:
            write.settled = True
        for worker in self.workers:
            if worker.told is not None:
                worker.told, worker.told_settled = worker.told - 2 * SETTLE, True

    # What is found out afterwards

    def announce(self) -> None:
        """The owner tells the target its generation."""
        if self.owner.told is None:
            self.target.announce(self.owner.generation)
            self.owner.told = database_now()
            self.fence = max(self.fence, self.owner.generation)

    def ask(self, number: int) -> None:
        """The owner asks the target about a write of unknown result, and stores what it said."""
        write = self.writes[number]
        if self.kind == "generation":
            self.announce()
        seen = self.target.find(Call(write.key, self.owner.generation, "cms.publish", {}, "cms://"))
        assert (seen.count or 0) == write.pages
        told = self.owner.told
        form = AskedForm(
            "found" if write.pages else "absent",
            database_now(),
            "cms://pages",
            reference=seen.reference,
            count=seen.count,
            announced_generation=self.owner.generation if told else None,
            announced_at=told,
        )
        verdict = reconcile(**self.by(self.owner), operation_key=write.key, asked=form)
        self.agree(verdict, "done")
        self.settle(write, verdict.outcome.operation)

    def settle(self, write: Write, _stored: Operation) -> None:
        write.state = self.after_asking(write)
        own = write.sender == self.owner.generation
        write.handed_over = write.state == "unknown" and self.kind == "nothing" and not own
        self.counters.recovered += write.state != "unknown"

    def after_asking(self, write: Write) -> str:
        """Return where the ledger must stand once the target has said whether it has the write."""
        if write.pages:
            return "confirmed"
        fenced = self.kind == "generation" and self.owner.told_settled
        certain = write.settled and (write.sender == self.owner.generation or fenced)
        return "pending" if self.kind == "key" or certain else "unknown"

    def let_a_person_decide(self) -> None:
        """The operator looks into the target and says what became of a write that nobody can know about."""
        write = next(write for write in self.writes if write.handed_over)
        found = "confirmed" if write.pages else "rejected"
        verdict = settle_by_person(
            contract_id=self.contract.pk,
            actor=OPERATOR,
            operation_key=write.key,
            decision=found,
            evidence="cms://pages",
            reason=WHY,
        )
        self.agree(verdict, "done")
        write.state, write.handed_over = found, False
        self.counters.recovered += 1

    # What must hold after every step

    @invariant()
    def one_page_of_each_write(self) -> None:
        if hasattr(self, "writes"):
            doubled = [write.key for write in self.writes if write.pages > 1]
            self.counters.duplicated += len(doubled)
            assert not doubled, f"written twice into a target that checks {self.kind}"

    @invariant()
    def the_ledger_stands_where_the_model_stands(self) -> None:
        if hasattr(self, "writes"):
            rows = Operation.objects.filter(contract=self.contract).values_list("key", "state")
            assert dict(rows) == {write.key: write.state for write in self.writes if write.state}
            assert all(write.pages for write in self.writes if write.state == "confirmed")

    def teardown(self) -> None:
        """Compare the target's own record with what the model counted, and verify the chain."""
        if not hasattr(self, "writes"):
            return
        try:
            pages = Counter(row["key"] for row in self.target.record()["pages"])
            assert pages == +Counter({write.key: write.pages for write in self.writes if write.state})
            contract = Contract.objects.get(pk=self.contract.pk)
            assert Event.objects.first_break(contract) is None
        finally:
            self.target.close()

    def by(self, worker: Worker) -> dict[str, Any]:
        return {
            "contract_id": self.contract.pk,
            "actor": worker.actor,
            "generation": worker.generation,
        }

    def agree(self, verdict: Any, code: str) -> None:
        """Fail where a gate answers what the model does not."""
        self.counters.unexpected += verdict.code != code
        assert verdict.code == code, (verdict.code, code, verdict.problems)
