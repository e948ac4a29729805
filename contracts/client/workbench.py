"""The workbench as a worker sees it."""

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, Unpack
from urllib.parse import quote

import httpx

from contracts.client.exceptions import NotResumable
from contracts.client.lease import Hold
from contracts.client.line import LONGEST_POLL, Line, Reply
from contracts.client.run import Run
from contracts.client.shapes import Attempt, Decision, Item, Offer, Tool, moment
from contracts.rules.states import ApprovalState

# Seconds between two questions whether the task is free, or the item decided.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.2, 2.0


class Workbench:
    """One workbench, reached with one worker's token.

    `timeout`: seconds for one answer. `patience`: seconds in which a call is repeated, under the key of the first
    try, before Unreachable is raised. `language`: of the sentences in refusals and decisions, such as `zh-hans`;
    codes are the same in all. `transport`: of httpx, for tests.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 10.0,
        patience: float = 60.0,
        language: str = "",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = url
        self._line = Line(
            url, token, timeout=timeout, patience=patience, language=language, transport=transport
        )

    def __repr__(self) -> str:
        """Return a text without the token."""
        return f"Workbench({self._url!r})"

    def __enter__(self) -> Self:
        """Return the workbench itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._line.close()

    def resume(
        self, task_id: str, *, tools: Iterable[Tool] = (), wait: float = 0.0, **offer: Unpack[Offer]
    ) -> Run:
        """Ask for the task and return the run, to be used as a context.

        `tools`: how the contract's tools are reached, so that writes left unknown by a former attempt are asked
        about before anything else. `wait`: seconds to wait while another attempt holds the task. `offer`: what
        this worker was built for. Raises NotResumable with the decision.
        """
        end, path = time.monotonic() + wait, place(task_id)
        while True:
            asked = time.monotonic()
            try:
                told = self._line.post(f"{path}/resume", dict(offer)).content
                break
            except NotResumable as no:
                left = end - time.monotonic()
                if not no.waits or left <= 0:
                    raise
                time.sleep(min(left, _pause(no)))
        hold = Hold(self._line, path, Attempt.read(told["attempt"]), asked)
        known = {tool.name: tool for tool in tools}
        return Run(hold, Decision.read(told["decision"]), known, offer.get("schema_version"))

    def contracts(self) -> list[Mapping[str, Any]]:
        """Return the contracts that the token reaches."""
        return list(self._line.get("contracts").content["contracts"])

    def contract(self, task_id: str, *, etag: str = "") -> Reply:
        """Return the whole contract, as exported; status 304 without content if `etag` still fits."""
        return self._line.get(place(task_id), etag=etag)

    def decision(self, task_id: str, **offer: Unpack[Offer]) -> Decision:
        """Return the resume decision, without asking for the task."""
        told = self._line.get(f"{place(task_id)}/decision", params=dict(offer)).content
        return Decision.read(told.get("decision", told))

    def approval(self, task_id: str, item_id: str, *, wait: float = 0.0) -> Item:
        """Return an item; with `wait`, once it is decided or so many seconds have passed."""
        end = time.monotonic() + wait
        while True:
            asked = time.monotonic()
            seconds = max(0, min(int(end - asked), LONGEST_POLL))
            path = f"{place(task_id)}/approvals/{quote(item_id, safe=':')}"
            item = Item.read(self._line.get(path, params={"wait": seconds}, wait=seconds).content)
            if item.state is not ApprovalState.PENDING or end - time.monotonic() < 1:
                return item
            if time.monotonic() - asked < seconds / 2:  # too many wait there: it answered at once
                time.sleep(LONGEST_PAUSE)

    def change_source(
        self,
        task_id: str,
        source_id: str,
        version_label: str,
        sha256: str,
        location: str,
        *,
        size_bytes: int | None = None,
    ) -> None:
        """Tell that a source has a new version: what was accepted from the former one is to be rechecked."""
        body = {
            "source_id": source_id,
            "version_label": version_label,
            "sha256": sha256,
            "location": location,
        }
        more = {} if size_bytes is None else {"size_bytes": size_bytes}
        self._line.post(f"{place(task_id)}/sources", {**body, **more})

    def request_pause(self, task_id: str, reason: str) -> None:
        """Ask whoever is at work to pause."""
        self._line.post(f"{place(task_id)}/pause", {"reason": reason})


def place(task_id: str) -> str:
    """Return the path of a contract below the root of the API."""
    return f"contracts/{quote(task_id, safe=':')}"


def _pause(no: NotResumable) -> float:
    """Return how long to wait before asking again: until the lease of the other ends, but not for too long."""
    attempt = no.problem.get("attempt")
    told = moment(attempt.get("lease_end")) if isinstance(attempt, Mapping) else None
    if told is None:
        return LONGEST_PAUSE
    return min(LONGEST_PAUSE, max(SHORTEST_PAUSE, told.timestamp() - time.time()))
