"""What a worker may look at while it holds a task: how things stand now, whoever changed them."""

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contracts.client.lease import Hold
from contracts.client.shapes import Draft, Item, Job, SourceVersion
from contracts.rules.states import ObjectState

LOOK_EVERY = 1.0


class Looking:
    """Reads through the hold of one attempt; nothing here changes anything."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold

    @property
    def lost(self) -> threading.Event:
        """Set once the task is held no longer."""
        return self._hold.lease.lost

    @property
    def pause_requested(self) -> threading.Event:
        """Set once a person asked for a pause: end what is in flight, begin nothing new."""
        return self._hold.lease.pause_requested

    def contract(self) -> Mapping[str, Any]:
        """Return the whole contract as it stands, as exported."""
        return self._hold.get("").content

    def approval(self, item_id: str) -> Item:
        """Return an item as it stands."""
        return Item.read(self._hold.get(f"approvals/{item_id}").content)

    def current(self, artefact_id: str) -> Draft:
        """Return the current version of an artefact, whoever wrote it. Raises KeyError if there is none."""
        rows = self._hold.get("").content.get("artefacts", [])
        for row in rows:
            if row["artefact_id"] == artefact_id and row["current"]:
                return Draft.read(row)
        raise KeyError(artefact_id)

    def up_to_date(self, job: Job) -> Job:
        """Return the job with the current version of its source, which may be newer than what was accepted."""
        if job.source is None:
            return job
        for row in self._hold.get("").content.get("sources", []):
            if row["source_id"] == job.source.source_id and row["current"]:
                return replace(job, source=SourceVersion.read(row))
        return job

    def wait_for_people(self, *object_ids: str, wait: float) -> bool:
        """Wait while a person still has to accept one of these objects; tell whether none is left in progress."""
        end, etag, open_ones = time.monotonic() + wait, "", set(object_ids)
        while open_ones:
            reply = self._hold.get("", etag=etag)
            etag = reply.etag
            if reply.content:
                states = {row["object_id"]: row["state"] for row in reply.content["objects"]}
                open_ones = {one for one in object_ids if states.get(one) == ObjectState.IN_PROGRESS}
            if not open_ones or time.monotonic() >= end or self.pause_requested.is_set():
                break
            self.lost.wait(LOOK_EVERY)
        return not open_ones
