"""Runs of drills: asked for, begun, told how far they are, stopped, ended; and what each window came to.

A run belongs to the process that carries it out. Every change names the state it starts from, so that a run that
was stopped or found dead meanwhile is never brought back to life.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext, override
from procrastinate.contrib.django import app

from contracts.gates.beats import Turn, take_turn
from contracts.gates.rows import closed
from contracts.models import DrillResult, DrillRun, WindowRow
from contracts.models.content import plain
from contracts.models.drills import OPEN_STATES
from contracts.rules.drill_runs import AFTER, SETTING, Order, RunEnd, RunState, check_order, grid_facts
from contracts.rules.drilling import Counters, Target
from contracts.rules.parts.part import ALIVE
from contracts.rules.refusals import refusal
from contracts.rules.verdict import Verdict, allow
from contracts.rules.vocabulary import TEXT_MAX, Actor, ActorKind
from contracts.rules.windows import WindowVerdict

RUNNER = Actor("drill", ActorKind.SYSTEM)
QUEUE, JOB = "drills", "contracts.drills.carry_out"
LOCK = "one-drill-at-a-time"


@dataclass(frozen=True, slots=True)
class Runner:
    """The process that carries a run out; a pid alone may be somebody else's later, so it says when it began."""

    host: str
    pid: int
    began: float  # seconds since 1970
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What one window came to, over all repetitions: the verdict, the numbers, one sentence (message id, values).

    Without a verdict the window could not be provoked: that is kept with the run and fills no cell.
    """

    window: str
    verdict: WindowVerdict | None
    counters: Counters
    sentence: str
    values: Mapping[str, str] = field(default_factory=dict)
    evidence: str = ""


def ask_for_run(
    *,
    actor: Actor,
    adapter: str,
    target: str,
    windows: Sequence[str],
    repeat: int,
    contract_id: int | None = None,
    language: str = "",
    queued: bool = True,
) -> Verdict:
    """Store a run and, if `queued`, hand it to the background worker. The outcome is the run.

    Refused where the setting forbids drills, where the order makes no sense, and while another run of the same
    contract has not ended. Without a contract nothing is recorded anywhere but in the run.
    """
    order = check_order(adapter, target, windows, repeat)

    def body(turn: Turn | None) -> Verdict:
        refused = _may_ask(turn)
        if refused is not None:
            return refused
        if isinstance(order, tuple):
            return refusal("bad_values", problems=order)
        run = _new_run(turn, actor, order, language)
        run.save(force_insert=True)
        if turn is not None:
            turn.note("ask_for_drill", "drill", run.run_id, None, run.facts())
        if queued:
            app.configure_task(JOB, queue=QUEUE, lock=LOCK).defer(run_id=run.run_id)
        return allow(run)

    if contract_id is None:
        with transaction.atomic(durable=True):
            return body(None)
    return take_turn(contract_id=contract_id, actor=actor, act="ask_for_drill", part="drill", body=body)


def _may_ask(turn: Turn | None) -> Verdict | None:
    if not settings.WORKBENCH_DRILLS:
        return refusal("drills_forbidden")
    return closed(turn, ALIVE) if turn is not None else None


def _new_run(turn: Turn | None, actor: Actor, order: Order, language: str) -> DrillRun:
    return DrillRun(
        run_id=f"D-{secrets.token_hex(5)}",
        contract=turn.contract if turn else None,
        adapter=order.adapter,
        target=order.target.value,
        windows=[window.value for window in order.windows],
        repeat=order.repeat,
        workflow_version=turn.contract.workflow_version if turn else "",
        language=language,
        asked_by=actor.name,
    )


def begin_run(*, run_id: str, runner: Runner) -> bool:
    """Let `runner` carry the run out, if it still waits; False if it was stopped or begun meanwhile."""
    taken = DrillRun.objects.filter(run_id=run_id, state=RunState.QUEUED.value).update(
        state=RunState.RUNNING.value,
        started_at=Now(),
        seen_at=Now(),
        host=runner.host,
        pid=runner.pid,
        pid_began=runner.began,
        folder=runner.folder,
    )
    return bool(taken)


def note_progress(*, run_id: str, window: str, repetitions_done: int) -> bool:
    """Store how far the run is; False if it is to stop, or has ended in the eyes of everybody else."""
    runs = DrillRun.objects.filter(run_id=run_id, state__in=OPEN_STATES)
    runs.update(at_window=window, repetitions_done=repetitions_done, seen_at=Now())
    return goes_on(run_id=run_id)


def notice_alive(*, run_id: str, versions: Mapping[str, str] | None = None) -> None:
    """Store a sign of life of the run's process and, once they are known, the versions of all that is run."""
    told = {} if versions is None else {"versions": dict(versions)}
    DrillRun.objects.filter(run_id=run_id, state__in=OPEN_STATES).update(seen_at=Now(), **told)


def goes_on(*, run_id: str) -> bool:
    """Tell whether nobody has asked the run to stop."""
    return DrillRun.objects.filter(run_id=run_id, state=RunState.RUNNING.value).exists()


def ask_to_stop(*, run: DrillRun, actor: Actor) -> Verdict:
    """Stop a run that waits, or ask the one that carries it out to stop. Asking twice is asking once."""

    def body(turn: Turn | None) -> Verdict:
        waiting = DrillRun.objects.filter(pk=run.pk, state=RunState.QUEUED.value)
        stopped = waiting.update(
            state=RunState.STOPPED.value,
            end_reason=RunEnd.ASKED.value,
            ended_at=Now(),
            stopped_by=actor.name,
        )
        running = DrillRun.objects.filter(pk=run.pk, state=RunState.RUNNING.value)
        if not stopped and not running.update(state=RunState.STOPPING.value, stopped_by=actor.name):
            return allow(run, code="unchanged")
        if turn is not None:
            turn.note("stop_drill", "drill", run.run_id, None, run.facts())
        return allow(run)

    if run.contract_id is None:
        with transaction.atomic(durable=True):
            return body(None)
    return take_turn(
        contract_id=run.contract_id,
        actor=actor,
        act="stop_drill",
        part="drill",
        subject=run.run_id,
        body=body,
    )


def end_run(*, run_id: str, reason: RunEnd, fault: str = "") -> bool:
    """End a run that has not ended; False if it had. `fault`: what the runner failed of, for people."""
    ended = DrillRun.objects.filter(run_id=run_id, state__in=OPEN_STATES).update(
        state=AFTER[reason].value,
        end_reason=reason.value,
        ended_at=Now(),
        fault=fault[:TEXT_MAX],
    )
    return bool(ended)


def keep_result(*, run: DrillRun, found: Found) -> Verdict:
    """Store what one window came to and, if the run belongs to a contract, fill the cell of its grid.

    The outcome is the stored result. A contract that takes no more changes refuses, which it records; the result
    of the run stays all the same. A second result of the same window is refused.
    """
    counters = {name: plain(getattr(found.counters, name)) for name in Counters.__dataclass_fields__}
    with transaction.atomic(durable=True):
        result, new = DrillResult.objects.get_or_create(
            run=run,
            window=found.window,
            defaults={
                "verdict": found.verdict.value if found.verdict else "",
                "counters": counters,
                "sentence": found.sentence,
                "values": dict(found.values),
                "evidence": found.evidence,
            },
        )
    if not new:
        return refusal("one_result_per_window", outcome=result)
    if run.contract_id is None or found.verdict is None:
        return allow(result)
    verdict = fill_result(contract_id=run.contract_id, run=run, found=found)
    return allow(result) if verdict.allowed else verdict


def fill_result(*, contract_id: int, run: DrillRun, found: Found) -> Verdict:
    """Write what a run found into the result half of one row of the contract's grid. The outcome is the row.

    What stood there before is kept by the event. Only this gate and a person who records a drill of another kind
    write there.
    """

    def body(turn: Turn) -> Verdict:
        row = WindowRow.objects.filter(contract=turn.contract, window=found.window).first()
        shut = closed(turn, ALIVE)
        if shut is not None or row is None:
            return shut or refusal("row_gone")
        turn.answer()
        before = row.facts()
        for name, value in grid_facts(found.verdict, found.counters).items():
            setattr(row, name, value)
        row.on_resuming = _told(run, found)
        row.run_at, row.run_by, row.evidence = turn.now, run.asked_by, address_of(run)
        row.version += 1
        row.save()
        turn.note("drill", "window", row.natural_key(), before, row.facts())
        return allow(row)

    return take_turn(
        contract_id=contract_id, actor=RUNNER, act="drill", part="window", subject=found.window, body=body
    )


def address_of(run: DrillRun) -> str:
    """Return where people find a run."""
    return f"{settings.WORKBENCH_ADDRESS.rstrip('/')}/drills/{run.run_id}/"


def _told(run: DrillRun, found: Found) -> str:
    """Return what happened in the language of who asked: it becomes content of the contract."""
    with override(run.language or settings.LANGUAGE_CODE):
        said = [gettext(found.sentence) % found.values]
        if found.verdict is not WindowVerdict.NOT_EXPRESSIBLE:
            numbers: dict[str, Any] = {
                "adapter": run.adapter,
                "target": gettext(Target(run.target).label),
                "repeat": found.counters.repeat,
                "in_target": found.counters.in_target,
                "expected": found.counters.expected,
                "lost": found.counters.lost,
            }
            said.append(gettext(SETTING) % numbers)
    return "\n".join(said)
