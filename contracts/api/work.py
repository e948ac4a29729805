"""What the owner of a task does: take it, keep it, commit steps, let it go; and what only operators do."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from contracts.api import bodies, shapes
from contracts.api.asking import Reached, change, refuse_unread
from contracts.api.bodies import TaskId
from contracts.api.telling import tell_attempt, tell_decision, tell_object
from contracts.gates.workers import changing, handing_out, journal, owning, pausing, rolling_back, stepping
from contracts.gates.workers.owning import Grant
from contracts.models import Attempt
from contracts.models.content import plain
from contracts.rules.granting import Offer, Released
from contracts.rules.refusals import refusal
from contracts.rules.step_reading import read_step
from contracts.rules.verdict import Verdict
from contracts.rules.vocabulary import StepKind

work = Router(tags=["Owning a task"])
operators = Router(tags=["Operators only"])
TASK = "/contracts/{task:task_id}"
FRAMEWORK = ("framework", "framework_handle")


@work.post(f"{TASK}/resume", response={201: shapes.GrantShape, **shapes.CHANGING}, url_name="resume")
def resume(request: HttpRequest, task_id: TaskId, body: bodies.Resume) -> HttpResponse:
    """Take the task if the resume decision allows it; whoever comes second is told who holds it."""
    stated = body.model_dump()
    handle = {name: stated.pop(name) for name in FRAMEWORK}

    def told(verdict: Verdict) -> tuple[int, dict[str, Any]]:
        grant: Grant = verdict.outcome
        attempt = tell_attempt(grant.attempt, grant.lease_seconds, grant.renew_seconds)
        return 201, {"attempt": attempt, "decision": tell_decision(grant.decision)}

    return change(
        request, task_id, lambda reached: owning.resume(**reached.of, offer=Offer(**stated), **handle), told
    )


@work.post(f"{TASK}/renew", response={200: shapes.RenewedShape, **shapes.CHANGING}, url_name="renew")
def renew(request: HttpRequest, task_id: TaskId, body: bodies.OfOwner) -> HttpResponse:
    """Keep the task for another lease. A late renewal is in time while nobody took over."""
    return change(
        request, task_id, lambda reached: owning.renew(**reached.of, generation=body.generation), _renewed
    )


@work.post(f"{TASK}/release", response={200: shapes.StateShape, **shapes.CHANGING}, url_name="release")
def release(request: HttpRequest, task_id: TaskId, body: bodies.Release) -> HttpResponse:
    """Let the task go. `finished` completes it, or is refused while something is left to do."""
    reason = Released(body.reason)
    return change(
        request,
        task_id,
        lambda reached: owning.release(
            **reached.of, generation=body.generation, reason=reason, note=body.note
        ),
        _state,
    )


@work.post(f"{TASK}/complete", response={200: shapes.StateShape, **shapes.CHANGING}, url_name="complete")
def complete(request: HttpRequest, task_id: TaskId, body: bodies.OfOwner) -> HttpResponse:
    """End a task of which nothing is left to do."""
    return change(
        request, task_id, lambda reached: owning.complete(**reached.of, generation=body.generation), _state
    )


@work.post(f"{TASK}/pause", response={200: shapes.StateShape, **shapes.CHANGING}, url_name="pause")
def pause(request: HttpRequest, task_id: TaskId, body: bodies.Pause) -> HttpResponse:
    """Ask for a pause: nothing new is begun, and what is in flight ends first."""
    return change(
        request, task_id, lambda reached: pausing.request_pause(**reached.of, **body.model_dump()), _state
    )


@work.post(f"{TASK}/steps/begin", response={200: shapes.BegunShape, **shapes.CHANGING}, url_name="begin_step")
def begin_step(request: HttpRequest, task_id: TaskId, body: bodies.Begin) -> HttpResponse:
    """Begin a step of the journal, or get the stored result of one that is done: it is not run again."""

    def told(verdict: Verdict) -> tuple[int, dict[str, Any]]:
        begun = verdict.outcome
        return 200, {
            "key": body.key,
            "state": str(begun.state),
            "first": begun.first,
            "result": begun.result,
            "result_location": begun.result_location,
            "result_sha256": begun.result_sha256,
        }

    def gate(reached: Reached) -> Verdict:
        return journal.begin_step(
            **reached.of, generation=body.generation, key=body.key, kind=StepKind(body.kind)
        )

    return change(request, task_id, gate, told)


@work.post(
    f"{TASK}/steps/commit",
    response={200: shapes.CommittedShape, 201: shapes.CommittedShape, **shapes.CHANGING},
    url_name="commit_step",
)
def commit_step(request: HttpRequest, task_id: TaskId, body: bodies.Commit) -> HttpResponse:
    """Commit one step: checkpoint, journal entry, objects, artefacts and usage stand or fall together."""

    def told(verdict: Verdict) -> tuple[int, dict[str, Any]]:
        done = verdict.outcome
        status = 200 if verdict.code == "exists" else 201
        return status, {"sequence": done.sequence, "checkpoint_id": done.checkpoint_id}

    step, problems = read_step(_told_step(body))
    if step is None:
        return refuse_unread(request, task_id, "commit_step", refusal("bad_values", problems=problems))
    return change(
        request,
        task_id,
        lambda reached: stepping.commit_step(**reached.of, generation=body.generation, step=step),
        told,
    )


@work.post(f"{TASK}/objects/take", response={200: shapes.ObjectsShape, **shapes.CHANGING}, url_name="take")
def take(request: HttpRequest, task_id: TaskId, body: bodies.Take) -> HttpResponse:
    """Get the next objects to work on, in the contract's order; none that is confirmed, none twice."""

    def gate(reached: Reached) -> Verdict:
        return handing_out.hand_out(**reached.of, generation=body.generation, count=body.count)

    return change(
        request,
        task_id,
        gate,
        lambda verdict: (200, {"objects": [tell_object(row) for row in verdict.outcome]}),
    )


@work.post(
    f"{TASK}/objects/return", response={200: shapes.ReturnedShape, **shapes.CHANGING}, url_name="give_back"
)
def give_back(request: HttpRequest, task_id: TaskId, body: bodies.Return) -> HttpResponse:
    """Give objects back unfinished; another may take them."""
    names = tuple(body.object_ids)

    def gate(reached: Reached) -> Verdict:
        return handing_out.give_back(
            **reached.of, generation=body.generation, object_ids=names, note=body.note
        )

    return change(request, task_id, gate, lambda _: (200, {"returned": len(names)}))


@work.post(
    f"{TASK}/sources",
    response={200: shapes.SourceStoredShape, 201: shapes.SourceStoredShape, **shapes.CHANGING},
    url_name="change_source",
)
def change_source(request: HttpRequest, task_id: TaskId, body: bodies.SourceBody) -> HttpResponse:
    """Tell of another version of a source; only the objects made from it are rechecked."""

    def told(verdict: Verdict) -> tuple[int, dict[str, Any]]:
        names = ("source_id", "version_label", "sha256", "current")
        status = 200 if verdict.code == "exists" else 201
        return status, {name: getattr(verdict.outcome, name) for name in names}

    return change(
        request, task_id, lambda reached: changing.change_source(**reached.of, **body.model_dump()), told
    )


@operators.post(f"{TASK}/take-over", response=shapes.CHANGING, url_name="take_over")
def take_over(request: HttpRequest, task_id: TaskId, body: bodies.TakeOver) -> HttpResponse:
    """Refused to workers, and recorded: an operator ends an attempt on the page of the contract."""
    return change(
        request, task_id, lambda reached: pausing.take_over(**reached.of, reason=body.reason), _state
    )


@operators.post(f"{TASK}/roll-back", response=shapes.CHANGING, url_name="roll_back")
def roll_back(request: HttpRequest, task_id: TaskId, body: bodies.RollBack) -> HttpResponse:
    """Refused to workers, and recorded: an operator rolls back on the page of the contract."""

    def gate(reached: Reached) -> Verdict:
        key = request.headers["Idempotency-Key"]
        return rolling_back.roll_back(**reached.of, **body.model_dump(), request_key=key)

    return change(request, task_id, gate, _state)


@operators.post(f"{TASK}/caps", response=shapes.CHANGING, url_name="raise_cap")
def raise_cap(request: HttpRequest, task_id: TaskId, body: bodies.RaiseCap) -> HttpResponse:
    """Refused to workers, and recorded: an operator raises a cap on the page of the contract."""
    return change(
        request, task_id, lambda reached: changing.raise_cap(**reached.of, **body.model_dump()), _state
    )


def _state(verdict: Verdict) -> tuple[int, dict[str, Any]]:
    row = verdict.outcome
    return 200, {"state": row.contract.state if isinstance(row, Attempt) else row.state}


def _renewed(verdict: Verdict) -> tuple[int, dict[str, Any]]:
    attempt: Attempt = verdict.outcome
    return 200, {"lease_end": plain(attempt.lease_end), "state": attempt.contract.state}


def _told_step(body: bodies.Commit) -> dict[str, Any]:
    """Return the step of a request as the rule reads it: what was given, and the version of an artefact flat."""
    raw = body.model_dump(exclude={"generation"}, exclude_unset=True)
    for row in raw.get("objects", ()):
        if version := row.pop("artefact", None):
            row |= {"artefact": version.pop("artefact_id")}
            row |= {_FLAT[name]: value for name, value in version.items()}
    raw["usage"] = {name: format(amount, "f") for name, amount in body.usage.items()}
    return raw


_FLAT = {"version_label": "artefact_version", "sha256": "artefact_sha256"}
