"""Every interleaving of a small ledger under the rule of resending: can one intention land twice in the target?

Explores lost receipts, frozen workers that wake up, requests that arrive late, takeovers and reconciliations, in
whole seconds. A rule that takes “absent” for “never” is the control that must lose.
"""

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from contracts.rules.repeating import Ahead, Answer, Asked, Operation, Outlook, Tool, outlook
from contracts.rules.states import OperationState
from contracts.rules.vocabulary import Effect, StaleOwner

START = datetime(2030, 1, 1, tzinfo=UTC)
SETTLE, END, GENERATIONS, MOST_TRIES = 2, 7, 3, 3


class World(NamedTuple):
    second: int = 0
    state: str = "pending"
    generation: int = 1
    workers: tuple = ("idle",) + ("gone",) * (GENERATIONS - 1)
    wire: tuple = ()  # (generation, second) of each request still travelling
    pages: int = 0
    fence: int = 0  # highest generation the target has seen
    told: int | None = None  # second in which the target was told the present generation
    sender: int | None = None
    sent: int | None = None
    last: int | None = None
    tries: int = 0


def moment(second):
    return None if second is None else START + timedelta(seconds=second)


def put(items, index, value):
    return (*items[:index], value, *items[index + 1 :])


def asked(world, tool, rule):
    """Ask the target, store what it says, and do what the rule allows."""
    answer = Answer.FOUND if world.pages else Answer.ABSENT
    announced = world.generation if world.told is not None else None
    record = Asked(
        answer, moment(world.second), world.generation, announced=announced, announced_at=moment(world.told)
    )
    operation = Operation(
        "k", "t", "s", OperationState.UNKNOWN, START, generation=world.sender, tries=world.tries,
        sent_at=moment(world.sent), last_send=moment(world.last), asked=record,
    )  # fmt: skip
    match rule(tool, operation, now=moment(world.second)).ahead:
        case Ahead.CONFIRM:
            return world._replace(state="confirmed")
        case Ahead.SEND_AGAIN:
            return world._replace(state="pending", told=None)
    return world


def steps_of_the_owner(world, tool, rule):
    own = world.generation - 1
    me = world.workers[own]
    if world.state == "pending" and me == "idle" and world.tries < MOST_TRIES:
        yield world._replace(
            state="sending", workers=put(world.workers, own, "may_send"), sender=world.generation,
            sent=world.second, last=None, tries=world.tries + 1,
        )  # fmt: skip
    if world.state == "sending" and me == "waiting":
        yield world._replace(state="unknown", workers=put(world.workers, own, "idle"), last=world.second)
    if world.state == "unknown" and me == "idle":
        yield asked(world, tool, rule)
        if tool.stale_owner is StaleOwner.TARGET_CHECKS_GENERATION and world.told is None:
            yield world._replace(told=world.second, fence=max(world.fence, world.generation))


def steps_of_the_world(world, tool):
    checks = tool.stale_owner is StaleOwner.TARGET_CHECKS_GENERATION
    for index, worker in enumerate(world.workers):
        if worker == "may_send":  # a frozen one may wake up here at any later time
            wire = tuple(sorted((*world.wire, (index + 1, world.second))))
            yield world._replace(workers=put(world.workers, index, "waiting"), wire=wire)
    for index, (generation, _) in enumerate(world.wire):
        rest = world._replace(wire=world.wire[:index] + world.wire[index + 1 :])
        yield rest
        written = not (checks and generation < world.fence) and not (tool.key_supported and world.pages)
        fence = max(world.fence, generation) if checks else 0
        yield rest._replace(pages=world.pages + written, fence=fence)
    if world.generation < GENERATIONS and world.state != "confirmed":
        lost = world.state == "sending"
        yield world._replace(
            state="unknown" if lost else world.state, generation=world.generation + 1, told=None,
            workers=put(world.workers, world.generation, "idle"), last=world.second if lost else world.last,
        )  # fmt: skip
    if world.second < END:
        travelling = tuple(request for request in world.wire if request[1] + SETTLE > world.second + 1)
        yield world._replace(second=world.second + 1, wire=travelling)


def explore(tool, rule):
    """Return whether some interleaving writes two pages, and whether some resends after an unknown result."""
    seen, queue, resent = {World()}, deque([World()]), False
    while queue:
        world = queue.popleft()
        resent = resent or world.tries > 1
        if world.pages > 1:
            return True, True
        for following in (*steps_of_the_owner(world, tool, rule), *steps_of_the_world(world, tool)):
            if following not in seen:
                seen.add(following)
                queue.append(following)
    return False, resent


def absent_is_never(tool, operation, *, now):
    return Outlook(Ahead.CONFIRM if operation.asked.answer is Answer.FOUND else Ahead.SEND_AGAIN, "")


PLAIN = Tool("t", Effect.NON_IDEMPOTENT_WRITE, query_path="q:", settle_seconds=SETTLE)
CHECKING = Tool(
    "t", Effect.NON_IDEMPOTENT_WRITE, query_path="q:", settle_seconds=SETTLE,
    stale_owner=StaleOwner.TARGET_CHECKS_GENERATION,
)  # fmt: skip
KEYED = Tool("t", Effect.NON_IDEMPOTENT_WRITE, key_supported=True, key_memory_hours=24, settle_seconds=SETTLE)


@pytest.mark.parametrize("tool", [PLAIN, CHECKING, KEYED], ids=["plain", "checks_generation", "deduplicates"])
def test_no_interleaving_writes_a_second_page_and_work_still_goes_on(tool):
    assert explore(tool, outlook) == (False, True)


@pytest.mark.parametrize("tool", [PLAIN, CHECKING], ids=["plain", "checks_generation"])
def test_the_control_that_takes_absent_for_never_writes_a_second_page(tool):
    assert explore(tool, absent_is_never)[0]


@pytest.mark.parametrize("tool", [PLAIN, CHECKING], ids=["plain", "checks_generation"])
def test_the_control_that_forgets_the_settle_time_writes_a_second_page(tool):
    def hasty(tool, operation, *, now):
        quick = Tool(tool.name, tool.effect, query_path="q:", settle_seconds=0, stale_owner=tool.stale_owner)
        return outlook(quick, operation, now=now)

    assert explore(tool, hasty)[0]
