"""The terms of the domain in both languages."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from contracts.rules.glossary import GROUPS


@login_not_required  # Marked: it holds nothing of anybody, and explains the words of the pages before the login too.
@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    groups = [(group, [(group.anchor(term), term) for term in group.terms]) for group in GROUPS]
    return render(request, "contracts/glossary.html", {"groups": groups})
