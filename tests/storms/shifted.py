"""A worker on a machine whose clock is wrong: `python -m tests.storms.shifted SECONDS URL TOKEN TASK TARGET`.

Whatever tells the time of day here is `SECONDS` ahead, before anything else is loaded; what measures durations is
not, as on a machine whose clock was set wrongly. The worker takes the task, publishes a page whose receipt is lost,
and commits for longer than its lease. After a line it commits once more. It tells three JSON lists: whether its
lease has run out by its own clock, and what happened.
"""

import datetime
import json
import sys
import time

SHIFT = float(sys.argv[1])


def shift() -> None:
    """Set the clock of this process wrong."""
    real_time, real_datetime = time.time, datetime.datetime

    class Shifted(real_datetime):  # type: ignore[valid-type, misc]
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return real_datetime.now(tz) + datetime.timedelta(seconds=SHIFT)

        @classmethod
        def utcnow(cls) -> datetime.datetime:
            return cls.now(datetime.UTC).replace(tzinfo=None)

    time.time = lambda: real_time() + SHIFT
    time.time_ns = lambda: int((real_time() + SHIFT) * 10**9)
    datetime.datetime = Shifted  # type: ignore[misc]


def main(url: str, token: str, task_id: str, target: str) -> None:
    """Work, wait for a line, and try to go on."""
    from contracts.client import LeaseLost, Tool, Workbench
    from contracts.client.examples.content_system import Pages

    pages = Pages(target)
    tool = Tool("cms.publish", pages.publish, pages.find, pages.announce)
    with Workbench(url, token) as workbench:
        run = workbench.resume(task_id)
        run.__enter__()
        lapsed = run.attempt.lease_end <= datetime.datetime.now(datetime.UTC)
        receipt = run.operation(
            tool, {"page": "label"}, step="publish", target="cms://pages", expected="One page.", object="O-01"
        )
        end, commits = time.monotonic() + 2.5 * run.attempt.lease_seconds, 0
        while time.monotonic() < end:
            run.commit(next_step="draft")
            commits += 1
            time.sleep(0.2)
        _tell([lapsed, receipt.reference, commits])
        sys.stdin.readline()
        lapsed = run.attempt.lease_end <= datetime.datetime.now(datetime.UTC)
        try:
            run.commit(next_step="too late")
        except LeaseLost as lost:
            _tell([lapsed, lost.code])
        else:
            _tell([lapsed, "committed"])


def _tell(words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    shift()
    main(*sys.argv[2:])
