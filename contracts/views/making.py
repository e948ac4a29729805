from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _

from contracts.exports.definition import CASE_LANGUAGES, CASES, blank, case, definition_of
from contracts.exports.reading import read_document
from contracts.forms.making import BlankForm, CaseForm, CopyForm, ImportForm, MakeForm
from contracts.forms.words import said
from contracts.forms.worksheet import Sheet
from contracts.gates.creating import create_contract
from contracts.models import Contract, Team
from contracts.rules.document import LISTS, Document, check_document
from contracts.rules.parts import PARTS
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import PASTE_MAX_BYTES, Role
from contracts.views.loading import actor_of

# Where a contract may begin, in the order of the tabs.
FORMS: dict[str, type[MakeForm]] = {
    "blank": BlankForm,
    "case": CaseForm,
    "copy": CopyForm,
    "import": ImportForm,
}
WAYS = {
    "blank": _("Blank"),
    "case": _("From an example"),
    "copy": _("Copy of another"),
    "import": _("From a JSON file"),
}
CASE_WORDS = {
    "archive-photographs": _("Archive photographs: searchable descriptions, accepted one by one"),
    "museum-label": _("Museum label: one label, approved overnight and published once"),
}
WORKSHEET = "worksheet"  # where the form of the worksheet comes from
OFFERED_COPIES = 50
SHOWN_PROBLEMS = 200
SHOWN_NAMESAKES = 5


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be created, before anything is."""

    document: Document
    state: ContractState
    counts: list[tuple[str, int]]
    problems: list[tuple[str, str]]
    problem_count: int
    resend: bool  # the file is too large to be carried along: it must be chosen again


def new_contract(request: HttpRequest) -> HttpResponse:
    teams = list(_teams_of(request.user))
    asked = request.POST.get("from") or request.GET.get("from", "")
    way = asked if asked in FORMS else "blank"
    if not teams:
        status = 403 if request.method == "POST" else 200
        return render(request, "contracts/new.html", {"nav_here": "new", "teamless": True}, status=status)
    if request.method != "POST":
        return _page(request, way, _form(request, way, teams))
    if asked == WORKSHEET:
        return _take_in(request, teams)
    form = _form(request, way, teams, posted=True)
    if request.POST.get("step") == "edit":
        return _page(request, way, _form(request, way, teams, again=True))
    if not form.is_valid():
        return _page(request, way, form, status=422)
    document = _document(way, form)
    if request.POST.get("step") != "create" or document.problems:
        return _show(request, way, form, document)
    if form.cleaned_data["digest"] != document.digest:
        return _show(request, way, form, document, changed=True)
    return _create(request, way, form, teams, document)


def _take_in(request: HttpRequest, teams: list[Team]) -> HttpResponse:
    """Show a worksheet as the import of a document, which may still get another id and another team."""
    sheet = Sheet(request.POST, whole=True)
    if not sheet.is_valid():  # sent here without having been looked at there
        return redirect("contracts:worksheet")
    text = sheet.json(now=timezone.now())
    form = ImportForm({"text": text, "team": teams[0].slug}, teams=teams)
    if not form.is_valid():
        return _page(request, "import", form, status=422)
    return _show(request, "import", form, _document("import", form))


def _teams_of(user: Any) -> Any:
    """Return the teams whose contracts the person may create."""
    return Team.objects.filter(roles__role=Role.REVIEWER.value, roles__group__user=user).order_by("name")


def _form(
    request: HttpRequest, way: str, teams: list[Team], *, posted: bool = False, again: bool = False
) -> MakeForm:
    """Return the form of one way: empty, with what was posted, or with it but not yet judged."""
    more: dict[str, Any] = {"teams": teams}
    if way == "case":
        more["cases"] = {name: CASE_WORDS[name] for name in CASES}
    if way == "copy":
        more["visible"] = Contract.objects.visible_to(request.user)
        more["initial"] = {"source": request.GET.get("source", "")}
    if posted:
        return FORMS[way](request.POST, request.FILES, **more)
    if again:
        more["initial"] = request.POST.dict()
    return FORMS[way](**more)


def _document(way: str, form: MakeForm) -> Document:
    """Return the checked document of what was asked for; its problems say what stands against it."""
    given = form.cleaned_data
    if way == "import":
        return read_document(given["content"], task_id=given["task_id"])
    if way == "blank":
        raw = blank(given["task_id"], given["team"], given["title"])
    elif way == "case":
        language = get_language() or ""
        raw = case(given["case"], language if language in CASE_LANGUAGES else "en", now=timezone.now())
    else:
        raw = definition_of(given["source"])
    return check_document({**raw, "team": given["team"]}, task_id=given["task_id"])


def _show(
    request: HttpRequest, way: str, form: MakeForm, document: Document, *, changed: bool = False
) -> HttpResponse:
    """Show what would be created; a document with problems is shown with the form, to be mended."""
    preview = _preview(document, form)
    status = 422 if document.problems else 200
    return _page(request, way, form, preview=preview, changed=changed, status=status)


def _preview(document: Document, form: MakeForm) -> Preview:
    rows = document.rows
    counts = [(gettext(PARTS[part].title), len(rows[part])) for part in LISTS.values() if rows.get(part)]
    problems = [(problem.field, said(problem)) for problem in document.problems[:SHOWN_PROBLEMS]]
    content = form.cleaned_data.get("content", b"")
    state = ContractState(document.life.get("state", ContractState.DRAFT.value))
    resend = len(content) > PASTE_MAX_BYTES
    return Preview(document, state, counts, problems, len(document.problems), resend)


def _create(
    request: HttpRequest, way: str, form: MakeForm, teams: list[Team], document: Document
) -> HttpResponse:
    team = next(team for team in teams if team.slug == form.cleaned_data["team"])
    verdict = create_contract(user=request.user, actor=actor_of(request), team=team, document=document)
    if not verdict.allowed:
        form.add_refusal(verdict)
        return _page(request, way, form, status=422)
    if verdict.code == "exists":
        messages.info(request, gettext("This very contract was here already; nothing was created."))
    else:
        messages.success(request, gettext("The contract was created."))
    return redirect("contracts:overview", verdict.outcome.task_id)


def _page(request: HttpRequest, way: str, form: MakeForm, *, status: int = 200, **more: Any) -> HttpResponse:
    preview: Preview | None = more.get("preview")
    bad = preview is not None and bool(preview.problems)
    context = {
        "nav_here": "new",
        "form": form,
        "way": way,
        "ways": WAYS,
        "team_name": dict(form.fields["team"].choices).get(form["team"].value(), ""),  # type: ignore[attr-defined]
        "confirming": preview is not None and not bad,
        "has_errors": bad,
        "carried": _carried(form, preview) if preview is not None and not bad else [],
        "namesakes": _namesakes(request, preview) if preview is not None and not bad else [],
        "copyable": _copyable(request) if way == "copy" and preview is None else [],
        "bad_words": _bad_words(preview.problem_count) if preview is not None and bad else "",
        **more,
    }
    return render(request, "contracts/new.html", context, status=status)


def _bad_words(count: int) -> str:
    words = ngettext(
        "%(count)d place needs attention; nothing was stored.",
        "%(count)d places need attention; nothing was stored.",
        count,
    )
    return words % {"count": count}


def _carried(form: MakeForm, preview: Preview) -> list[tuple[str, str]]:
    """Return what the confirming form carries along unseen, so that what was shown is what is created."""
    carried = [
        (name, str(form.data.get(name, ""))) for name in form.fields if name not in ("digest", "file", "text")
    ]
    if "content" in form.cleaned_data and not preview.resend:
        carried.append(("text", form.cleaned_data["content"].decode()))
    return [*carried, ("digest", preview.document.digest)]


def _namesakes(request: HttpRequest, preview: Preview) -> list[str]:
    """Return the task ids of contracts of the same title; what the person may not see is not among them."""
    document = preview.document
    same = Contract.objects.visible_to(request.user).filter(title__iexact=document.identity["title"])
    ids = same.exclude(task_id=document.task_id).order_by("-id").values_list("task_id", flat=True)
    return list(ids[:SHOWN_NAMESAKES])


def _copyable(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the contracts that were revised last, as suggestions; any other id may be typed."""
    recent = Contract.objects.visible_to(request.user).order_by("-revised_on", "-revised_at", "-id")
    return list(recent.values_list("task_id", "title")[:OFFERED_COPIES])
