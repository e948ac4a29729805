"""The workbench's own addresses, and what they are measured against: a bare page, and Django's admin of the same rows.

For benchmarks alone: the workbench itself has no admin.
"""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import include, path

from contracts.models import Contract, WorkObject

PER_PAGE = 100
BARE = "<!DOCTYPE html><html lang='en'><title>Bare</title><p>{{ user.get_username }}</p></html>"


class Objects(admin.ModelAdmin):  # type: ignore[type-arg]
    """The columns, the search and the filter that the section of objects has."""

    list_display = ("object_id", "source", "artefact", "step", "state", "evidence")
    list_select_related = ("source", "artefact")
    list_filter = ("state",)
    search_fields = ("object_id", "step", "note")
    list_per_page = PER_PAGE
    ordering = ("position", "id")


class ObjectsInline(admin.TabularInline):  # type: ignore[type-arg]
    """All objects of a contract on one form; references are plain numbers, without lists to choose from."""

    model = WorkObject
    extra = 0
    raw_id_fields = ("source", "artefact", "attempt")


class Contracts(admin.ModelAdmin):  # type: ignore[type-arg]
    """A contract with its objects below it."""

    fields = ("title",)
    inlines = (ObjectsInline,)


beside = admin.AdminSite("beside")
beside.register(WorkObject, Objects)
beside.register(Contract, Contracts)


def bare(request: HttpRequest) -> HttpResponse:
    """Say who is logged in: the least a page can do that passes the same middleware."""
    return HttpResponse(engines["django"].from_string(BARE).render({}, request))


urlpatterns: list[Any] = [
    path("beside/bare/", bare, name="bare"),
    path("beside/admin/", beside.urls),
    path("", include("workbench.urls")),
]
