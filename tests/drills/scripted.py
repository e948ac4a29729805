"""A worker that does as its words say, for tests of the runner itself: `python -m tests.drills.scripted HOW`.

`files`: reaches crash points by creating files. `silent`: never reaches any. `hangs`: never ends. `deaf`: ends with 75.
"""

import os
import sys
import time
from pathlib import Path

from contracts.drills.marks import Marks


def main(how):
    """Behave as `how` says."""
    folder, crash = Path(os.environ["DRILL_FOLDER"]), os.environ["DRILL_CRASH"]
    if how == "hangs":
        time.sleep(600)
    if how == "deaf":
        return 75
    stored = folder / "stored"
    done = set(stored.read_text().split()) if stored.exists() else set()
    for name in os.environ["DRILL_OBJECTS"].split(","):
        if name in done:
            continue
        print(f"model {name}", flush=True)
        mark = folder / f"reached-drafted-{name}"
        if how == "files" and crash == f"drafted:{name}":
            mark.touch()
            while mark.exists():
                time.sleep(0.05)
        marks = Marks.from_environment()
        marks.publish(name, "words", marks.source(name), key=name)
        done.add(name)
        stored.write_text(" ".join(done))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
