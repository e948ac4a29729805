"""The failure windows every contract is drilled in, and the seams where a program may be stopped."""

from dataclasses import dataclass

from contracts.rules.words import N_, Labelled


class Window(Labelled):
    """The six windows of every grid."""

    BEFORE_COMMIT = "before_commit", N_("Crash before checkpoint commit")
    AFTER_COMMIT = "after_commit", N_("Crash after commit, before it is known")
    RECEIPT_LOST = "receipt_lost", N_("Remote write accepted, receipt lost")
    TWO_RESUMES = "two_resumes", N_("Two resumes at once")
    FROZEN_OWNER = "frozen_owner", N_("Lease lapsed, old worker alive")
    CHANGED_WHILE_PAUSED = "changed_while_paused", N_("Source or approval changed while paused")


class WindowVerdict(Labelled):
    """How a really executed drill ended."""

    HELD = "held", N_("Held")
    UNKNOWN_HELD = "unknown_held", N_("Unknown, held")
    FAILED = "failed", N_("Failed")
    NOT_EXPRESSIBLE = "not_expressible", N_("Cannot be expressed")


@dataclass(frozen=True, slots=True)
class WindowText:
    """How one window is provoked, and what must be seen then (message ids)."""

    provoked: str
    expected: str


WINDOW_TEXTS: dict[Window, WindowText] = {
    Window.BEFORE_COMMIT: WindowText(
        N_("Kill the worker with SIGKILL after its work and before the checkpoint is stored."),
        N_("The step runs once more; nothing confirmed before it runs again."),
    ),
    Window.AFTER_COMMIT: WindowText(
        N_("Kill the worker with SIGKILL after the checkpoint is stored and before it hears of it."),
        N_("The next owner goes on behind that checkpoint; the step is not repeated."),
    ),
    Window.RECEIPT_LOST: WindowText(
        N_("Cut the connection after the target accepted the write."),
        N_("The operation is unknown until the target was asked; the target holds one object."),
    ),
    Window.TWO_RESUMES: WindowText(
        N_("Release two resume requests by one barrier."),
        N_("One attempt; the second request is told its number."),
    ),
    Window.FROZEN_OWNER: WindowText(
        N_("Stop the worker beyond its lease, let another take over, then let the first go on."),
        N_("Every late write of the first is refused and recorded."),
    ),
    Window.CHANGED_WHILE_PAUSED: WindowText(
        N_("Replace a source, and edit an approved draft, while the task is paused."),
        N_("Only that object is rechecked; the old approval does not cover the new version."),
    ),
}


class Seam(Labelled):
    """Named moments between the beats of a gate, where a test may stop or kill the program."""

    BEGUN = "begun", N_("Transaction begun")
    LOCKED = "locked", N_("Rows locked and read again")
    ALLOWED = "allowed", N_("Rule asked, answer known")
    WRITTEN = "written", N_("Rows written")
    RECORDED = "recorded", N_("Event recorded")
    COMMITTED = "committed", N_("Transaction committed")
