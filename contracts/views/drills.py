from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from contracts.drills.adapters import all_adapters
from contracts.drills.storing import bury_dead
from contracts.forms.drills import DrillForm
from contracts.gates.beats import database_now
from contracts.gates.drilling import ask_for_run, ask_to_stop
from contracts.models import DrillRun, rights_of
from contracts.rules.drill_runs import REPEAT_MAX_ON_PAGE, RunEnd, RunState
from contracts.rules.vocabulary import Right
from contracts.rules.windows import Window
from contracts.views.drilled import (
    drill_offer,
    lacking,
    log_of,
    nobody_works,
    shown_result,
    target_words,
    title_of,
    waits_behind,
)
from contracts.views.loading import Asked, actor_of, contract_context, load_contract

PER_PAGE = 25


@require_http_methods(["GET", "HEAD", "POST"])
def ask_for_drill(request: Asked, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id, Right.OPERATE)
    absent = lacking()
    adapters = [
        (one.name, gettext(one.title) + (f" ({gettext('not installed')})" if one.name in absent else ""))
        for one in all_adapters()
    ]
    posted = request.POST if request.method == "POST" else None
    form = DrillForm(
        posted, adapters=adapters, lacking=set(absent), windows=request.GET.getlist("window", [])
    )
    verdict = None
    if form.is_valid():
        bury_dead()  # a run whose process died is no reason to refuse
        verdict = ask_for_run(
            contract_id=loaded.contract.pk,
            actor=loaded.actor,
            language=translation.get_language() or "",
            **form.cleaned_data,
        )
        if verdict.allowed:
            return redirect("contracts:drill_run", verdict.outcome.run_id)
        loaded.contract.refresh_from_db()
        form.add_refusal(verdict)
    offer = drill_offer(loaded.contract, database_now())
    context = contract_context(loaded, "windows") | {
        "form": form,
        "offer": offer,
        "lacking": absent.values(),
        "has_errors": bool(form.errors),
        "most": REPEAT_MAX_ON_PAGE,
    }
    return render(request, "drills/ask.html", context, status=422 if form.errors else 200)


@require_safe
def drills_of(request: Asked, task_id: str) -> HttpResponse:
    loaded = load_contract(request, task_id)
    runs = DrillRun.objects.of(loaded.contract.pk).select_related("contract").prefetch_related("results")
    page = Paginator(runs, PER_PAGE).get_page(request.GET.get("page"))
    context = contract_context(loaded, "windows") | {
        "page": page,
        "lines": [_line(run) for run in page.object_list],
        "offer": drill_offer(loaded.contract, database_now()),
    }
    return render(request, "drills/list.html", context)


def _line(run: DrillRun) -> dict[str, Any]:
    shown = sorted((shown_result(one) for one in run.results.all()), key=_in_order)
    return {"run": run, "title": title_of(run), "target": target_words(run), "results": shown}


def _in_order(shown: Any) -> int:
    return [window.value for window in Window].index(shown.result.window)


@require_safe
@vary_on_headers("HX-Request")
def drill_run(request: Asked, run_id: str) -> HttpResponse:
    run = _load(request, run_id)
    now = database_now()
    rights = rights_of(request.user, run.contract_id) if run.contract_id else frozenset()
    log, is_here = log_of(run)
    context = _line(run) | {
        "windows_left": [
            gettext(Window(name).label)
            for name in run.windows
            if name not in {one.window for one in run.results.all()}
        ],
        "state": RunState(run.state),
        "end": RunEnd(run.end_reason) if run.end_reason else None,
        "at_window": gettext(Window(run.at_window).label) if run.at_window else "",
        "log": log,
        "log_is_here": is_here,
        "before": waits_behind(run),
        "nobody_works": run.state == RunState.QUEUED and nobody_works(now),
        "may_stop": run.is_open and Right.OPERATE in rights,
        "now": now,
        "nav_here": "drills",
        "versions": sorted(run.versions.items()),
    }
    is_part = request.htmx and not request.htmx.boosted
    response = render(request, f"drills/run.html{'#live' if is_part else ''}", context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _load(request: Asked, run_id: str) -> DrillRun:
    """Return a run, 404 if its contract is not the person's to see."""
    runs = DrillRun.objects.visible_to(request.user).select_related("contract", "contract__team")
    return get_object_or_404(runs.prefetch_related("results"), run_id=run_id)


@require_http_methods(["GET", "HEAD", "POST"])
def stop_drill(request: Asked, run_id: str) -> HttpResponse:
    run = _load(request, run_id)
    if request.method != "POST":  # a reload, or the way back from the login page
        return redirect("contracts:drill_run", run_id)
    if run.contract_id is None or Right.OPERATE not in rights_of(request.user, run.contract_id):
        raise PermissionDenied(Right.OPERATE.label)
    verdict = ask_to_stop(run=run, actor=actor_of(request, Right.OPERATE))
    if verdict.code == "unchanged":
        messages.info(request, gettext("There was nothing left to stop."))
    return redirect("contracts:drill_run", run_id)
