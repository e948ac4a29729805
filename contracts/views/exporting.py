"""Carrying a contract away: the preview, the two files, and the schema of the JSON form."""

import hashlib
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

from django.contrib.auth.decorators import login_not_required
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language, gettext
from django.views.decorators.http import require_safe

from contracts.exports.json_form import json_sha256, stream_json
from contracts.exports.schema import committed_schema
from contracts.exports.snapshot import open_snapshot
from contracts.exports.text_form import LANGUAGES, stream_text
from contracts.exports.writing import write_pieces
from contracts.models import Contract
from contracts.rules.vocabulary import Right
from contracts.views.loading import contract_context, load_contract

PREVIEW_LINES = 20_000
KEPT_IN_MEMORY = 4 * 1024 * 1024  # bytes of one file; what is larger waits on disk


class Preview:
    """Takes the TXT form as a file does, and keeps its first lines."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.lines = 0

    def take(self, pieces: Iterator[bytes]) -> str:
        """Read all `pieces` and return their SHA-256."""
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
            if self.lines <= PREVIEW_LINES:
                self.pieces.append(piece)
            self.lines += piece.count(b"\n")
        return digest.hexdigest()

    def text(self) -> str:
        return "".join(b"".join(self.pieces).decode().splitlines(keepends=True)[:PREVIEW_LINES])


@require_safe
def preview(request: HttpRequest, task_id: str) -> HttpResponseBase:
    loaded = load_contract(request, task_id, Right.EXPORT)
    language = _language(request)
    if language is None:
        return _unknown_language()
    shown = Preview()
    with open_snapshot(loaded.contract.pk) as snapshot:
        json_digest = json_sha256(snapshot)
        txt_digest = shown.take(stream_text(snapshot, language, json_digest=json_digest))
        revision = snapshot.contract.revision
    context = {
        **contract_context(loaded, "export"),
        "revision": revision,
        "preview": shown.text(),
        "lines_left": max(0, shown.lines - PREVIEW_LINES),
        "json_digest": json_digest,
        "txt_digest": txt_digest,
        "language": language,
        "languages": LANGUAGES,
        "txt_url": reverse("contracts:export_txt", args=[task_id]) + f"?lang={language}",
    }
    return render(request, "contracts/export.html", context)


@require_safe
def download_txt(request: HttpRequest, task_id: str) -> HttpResponseBase:
    loaded = load_contract(request, task_id, Right.EXPORT)
    language = _language(request)
    if language is None:
        return _unknown_language()
    with open_snapshot(loaded.contract.pk) as snapshot:
        name = _file_name(snapshot.contract, f"{language}.txt")
        return _file(request, stream_text(snapshot, language), name, "text/plain; charset=utf-8")


@require_safe
def download_json(request: HttpRequest, task_id: str) -> HttpResponseBase:
    loaded = load_contract(request, task_id, Right.EXPORT)
    with open_snapshot(loaded.contract.pk) as snapshot:
        name = _file_name(snapshot.contract, "json")
        return _file(request, stream_json(snapshot), name, "application/json")


# Marked: the schema is public documentation and holds nothing of any contract.
@login_not_required
@require_safe
def schema(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(committed_schema(), content_type="application/schema+json")


def _language(request: HttpRequest) -> str | None:
    """Return the language asked for, else that of the person; None if there is no such language."""
    language = request.GET.get("lang") or get_language() or LANGUAGES[0]
    return language if language in LANGUAGES else None


def _unknown_language() -> HttpResponse:
    sentence = gettext("“lang” must be one of: %(words)s.") % {"words": ", ".join(LANGUAGES)}
    return HttpResponseBadRequest(sentence + "\n", content_type="text/plain; charset=utf-8")


def _file_name(contract: Contract, ending: str) -> str:
    # Some systems take no colon in the name of a file.
    return f"{contract.task_id.replace(':', '_')}-r{contract.revision}.{ending}"


def _file(request: HttpRequest, pieces: Iterator[bytes], name: str, content_type: str) -> HttpResponseBase:
    """Answer with a file that is complete before the first byte leaves: a slow reader holds no snapshot."""
    file: IO[bytes] = SpooledTemporaryFile(KEPT_IN_MEMORY)  # noqa: SIM115  # the response closes it
    etag = f'"{write_pieces(pieces, file)}"'
    length = file.tell()
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename=name, content_type=content_type)
    response["Content-Length"] = str(length)
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    unchanged = get_conditional_response(request, etag)
    if unchanged is None:
        return response
    response.close()
    return unchanged
