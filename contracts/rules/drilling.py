"""What a drill counts, and what its counters mean: nothing else decides whether a cell has passed."""

from dataclasses import dataclass, fields
from decimal import Decimal

from contracts.rules.windows import Window, WindowVerdict
from contracts.rules.words import N_, Labelled


class Target(Labelled):
    """How the target system of a drill keeps a second page out, if it does."""

    PLAIN = "plain", N_("Accepts everything")
    DEDUPLICATES = "deduplicates", N_("Recognises a key it has seen")
    CHECKS_GENERATION = "checks_generation", N_("Refuses a former generation")
    PROXY = "proxy", N_("Reached by the single write proxy")


@dataclass(frozen=True, slots=True)
class Counters:
    """What was counted in one or more repetitions; repetitions are summed with `+`."""

    repeat: int = 0
    expected: int = 0  # objects that must have one page each
    in_target: int = 0  # pages in all
    lost: int = 0  # expected objects without a page
    left_open: int = 0  # of the lost: known as not done, because a write waits for a person
    duplicated: int = 0  # pages beyond the first of an object
    unexpected: int = 0  # pages that rest on what had been replaced, or of a name that nobody expected
    repeated_steps: int = 0  # calls of the model for an object whose step was stored already
    unknown_held: int = 0  # writes left unknown, for a person
    stale_refused: int = 0  # writes of a displaced worker that were refused, by the target or before it
    attempted: int = 0  # requests to write that reached the target
    acknowledged: int = 0  # receipts that reached the worker
    recovered: int = 0  # writes of unknown result that were settled by asking
    seconds_to_resume: Decimal = Decimal(0)  # from the fault to the first sign of the next owner; the longest

    def __add__(self, other: "Counters") -> "Counters":
        """Return the sum; of the seconds, the longest."""
        names = [field.name for field in fields(self) if field.name != "seconds_to_resume"]
        summed = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Counters(**summed, seconds_to_resume=max(self.seconds_to_resume, other.seconds_to_resume))


def judge(counters: Counters) -> WindowVerdict:
    """Return the verdict. A model that talks on is no pass: only what the target holds is looked at."""
    wrong = counters.duplicated or counters.unexpected or counters.repeated_steps
    if wrong or counters.lost > counters.left_open:
        return WindowVerdict.FAILED
    return WindowVerdict.UNKNOWN_HELD if counters.unknown_held else WindowVerdict.HELD


# As the console's JSON spells a verdict; None is a cell that was not run.
SPELLED: dict[WindowVerdict | None, str] = {
    WindowVerdict.HELD: "pass",
    WindowVerdict.FAILED: "fail",
    WindowVerdict.UNKNOWN_HELD: "unknown_held",
    WindowVerdict.NOT_EXPRESSIBLE: "not_expressible",
    None: "not_run",
}

_WRONG = (
    (("unexpected",), N_("Pages that rest on what had been replaced: %(unexpected)s.")),
    (
        ("duplicated", "repeated_steps"),
        N_("Pages too many: %(duplicated)s. Finished steps that ran again: %(repeated_steps)s."),
    ),
    (("duplicated",), N_("Pages too many: %(duplicated)s.")),
    (("repeated_steps",), N_("Finished steps that ran again: %(repeated_steps)s.")),
    (("lost",), N_("Objects without a page: %(lost)s of %(expected)s, and nobody was told.")),
)
_HELD = {
    Window.BEFORE_COMMIT: N_("What was not stored was done once more; each object has one page."),
    Window.AFTER_COMMIT: N_("The next owner went on behind the stored step; each object has one page."),
    Window.RECEIPT_LOST: N_("The target was asked before anything was sent again; each object has one page."),
    Window.TWO_RESUMES: N_("One of the two went on; each object has one page."),
    Window.FROZEN_OWNER: N_("The late write made no second page; each object has one."),
    Window.CHANGED_WHILE_PAUSED: N_("What had changed was asked for again; each object has one page."),
}
_HELD_MORE = (
    (
        Window.RECEIPT_LOST,
        "recovered",
        N_("Writes of unknown result found by asking the target: %(recovered)s; each object has one page."),
    ),
    (
        Window.FROZEN_OWNER,
        "stale_refused",
        N_("Late writes refused: %(stale_refused)s; each object has one page."),
    ),
)
_SENT_AGAIN = N_("Sent again, and the target recognised it; each object has one page.")
_WAITS = N_("Writes held for a person because nobody can know: %(unknown_held)s; nothing is there twice.")


def tell(window: Window, counters: Counters) -> tuple[str, dict[str, str]]:
    """Return one sentence, as message id and values, that says what happened."""
    values = {field.name: str(getattr(counters, field.name)) for field in fields(counters)}
    return _sentence(window, counters), values


def _sentence(window: Window, counters: Counters) -> str:
    verdict = judge(counters)
    if verdict is WindowVerdict.FAILED:
        return next(text for names, text in _WRONG if all(getattr(counters, name) for name in names))
    if verdict is WindowVerdict.UNKNOWN_HELD:
        return _WAITS
    more = (text for at, name, text in _HELD_MORE if at is window and getattr(counters, name))
    if window is Window.RECEIPT_LOST and counters.attempted > counters.expected:
        return next(more, _SENT_AGAIN)
    return next(more, _HELD[window])
