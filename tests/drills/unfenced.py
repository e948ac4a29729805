"""A control: a worker whose lease nobody checks when it writes. The runner must find what it forks."""

import json
import sys
import time

from contracts.drills.adapter import Adapter
from contracts.drills.marks import AGAIN_LATER, COMMITTED, DRAFTED, LEAVING, READY, SENT, Marks

LEASE = 1.0
ADAPTER = Adapter(
    name="unfenced",
    title="Unfenced writer",
    command=(sys.executable, "-m", "tests.drills.unfenced"),
    lease=LEASE + 0.3,
)


def main():
    marks = Marks.from_environment()
    file = marks.folder / "state.json"
    marks.reach(READY)
    state = json.loads(file.read_text()) if file.exists() else {"until": 0, "texts": {}, "done": []}
    if state["until"] > time.time():
        time.sleep(state["until"] - time.time())
    for name in marks.objects:
        if name in state["done"]:
            continue
        state["until"] = time.time() + LEASE
        if name not in state["texts"]:
            source = marks.source(name)
            state["texts"][name] = [marks.model(name, source), source]
            marks.reach(DRAFTED, name)
            file.write_text(json.dumps(state))
            marks.committed(name)
            marks.reach(COMMITTED, name)
        if name == marks.approval and not marks.approved(name):
            marks.waiting(name)
            file.write_text(json.dumps(state | {"until": 0}))
            return AGAIN_LATER
        marks.reach(LEAVING, name)
        marks.publish(name, *state["texts"][name], key=f"{marks.task}/{name}")
        marks.sent(name)
        marks.reach(SENT, name)
        state["done"].append(name)
        file.write_text(json.dumps(state))
    marks.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
