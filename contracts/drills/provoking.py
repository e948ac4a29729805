"""The six windows: what is done to the workers, and when. What came of it is counted elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contracts.drills.adapter import BEFORE_VICTIM, OBJECTS, VICTIM, Adapter, Keeper, Setting
from contracts.drills.marks import AGAIN_LATER, COMMITTED, DRAFTED, LEAVING, READY
from contracts.drills.processes import Log, Started, Worker
from contracts.rules.drilling import Target
from contracts.rules.windows import Window
from contracts.rules.words import N_

STARTS = 6  # of workers after the fault, until it counts as not done
SECONDS_TO_WAIT_FOR_PERSON = 2.0  # then a worker that waits for a yes is killed
SECONDS_AFTER_THAW = 20.0
FAULT, CHANGE = "fault", "change"  # what the runner notes in the log


class NotProvoked(Exception):
    """The window was not there: the worker never came to the point. `sentence` is a message id."""

    def __init__(self, sentence: str, **values: str) -> None:
        super().__init__(sentence % values)
        self.sentence, self.values = sentence, values


@dataclass(slots=True)
class Stage:
    """One repetition: who plays, and what is around them. `announce` tells the target the start's number."""

    adapter: Adapter
    setting: Setting
    keeper: Keeper
    log: Log
    started: Started
    part: str
    announce: Callable[[int], None]
    approval: str = ""
    number: int = 0
    workers: list[Worker] = field(default_factory=list)

    def start(self, crash: str = "") -> Worker:
        """Start the next worker."""
        self.number += 1
        if self.setting.target is Target.CHECKS_GENERATION and not self.adapter.fences_itself:
            self.announce(self.number)
        who = f"worker {self.number}"
        self.log.add("runner", f"starts {who}{f', to stop at {crash}' if crash else ''}")
        process = self.started.start(self.adapter.command, self._environment(crash), part=self.part)
        worker = Worker(process, who, self.log, self.setting.folder)
        self.workers.append(worker)
        return worker

    def _environment(self, crash: str) -> Mapping[str, str]:
        given = {
            "DRILL_TARGET": self.setting.address,
            "DRILL_TASK": self.setting.task,
            "DRILL_FOLDER": str(self.setting.folder),
            "DRILL_OBJECTS": ",".join(OBJECTS),
            "DRILL_START": str(self.number),
            "DRILL_CRASH": crash,
            "DRILL_APPROVAL": self.approval,
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",
        }
        return {**given, **self.setting.services, **self.keeper.environment()}

    def until_reached(self, worker: Worker, point: str, work_object: str) -> None:
        """Wait until a worker is at a crash point; raises NotProvoked if it never gets there."""
        if not worker.wait_reached(point, work_object, self.adapter.longest):
            worker.kill(group=True)
            raise NotProvoked(
                N_("The worker never reached “%(point)s” of %(object)s."), point=point, object=work_object
            )

    def run(self, worker: Worker, seconds: float = 0) -> int | None:
        """Let a worker run to its end; one that takes too long is killed."""
        code = worker.wait_end(seconds or self.adapter.longest)
        if code is None:
            worker.kill(group=True)
        return code

    def finish(self) -> bool:
        """Start one worker after the other until one says that nothing is left; tell whether one did."""
        for _ in range(STARTS):
            worker = self.start()
            code = self.run_with_person(worker) if self.approval else self.run(worker)
            if code == 0:
                return True
            self.log.pause(self.adapter.pause)
        self.log.add("runner", "not done after so many starts")
        return False

    def run_with_person(self, worker: Worker) -> int | None:
        """Let a worker run; where it asks for a yes, it ends or is killed, and a person says yes."""
        if not worker.wait_said(f"waiting {VICTIM}", self.adapter.longest):
            return self.run(worker)
        if worker.wait_end(SECONDS_TO_WAIT_FOR_PERSON) is None:
            worker.kill(group=True)
        self.keeper.approve(VICTIM)
        self.log.add("runner", f"a person says yes to {VICTIM}")
        return AGAIN_LATER


def before_commit(stage: Stage) -> None:
    """Kill the worker when the model has answered and nothing of it is stored."""
    worker = stage.start(f"{DRAFTED}:{VICTIM}")
    stage.until_reached(worker, DRAFTED, VICTIM)
    worker.kill()
    stage.log.add("runner", FAULT)
    stage.finish()


def after_commit(stage: Stage) -> None:
    """Kill the worker's whole process group when the draft is stored and nobody has heard of it."""
    worker = stage.start(f"{COMMITTED}:{VICTIM}")
    stage.until_reached(worker, COMMITTED, VICTIM)
    worker.kill(group=True)
    stage.log.add("runner", FAULT)
    stage.finish()


def receipt_lost(stage: Stage) -> None:
    """Do nothing: the target accepts one page and closes the connection."""
    stage.finish()


def two_resumes(stage: Stage) -> None:
    """Kill a worker, then let two resume in the same moment."""
    first = stage.start(f"{DRAFTED}:{BEFORE_VICTIM}")
    stage.until_reached(first, DRAFTED, BEFORE_VICTIM)
    first.kill()
    twins = [stage.start(f"{READY}:-") for _ in range(2)]
    for twin in twins:
        stage.until_reached(twin, READY, "-")
    stage.log.add("runner", FAULT)
    for twin in twins:
        twin.go_on()
    codes = [stage.run(twin) for twin in twins]
    if 0 not in codes:
        stage.log.pause(stage.adapter.pause)
        stage.finish()


def frozen_owner(stage: Stage) -> None:
    """Stop the worker just before a write leaves, let another take over, then let the first go on."""
    first = stage.start(f"{LEAVING}:{VICTIM}")
    stage.until_reached(first, LEAVING, VICTIM)
    first.freeze()
    stage.log.add("runner", FAULT)
    stage.log.pause(stage.adapter.lease)
    code = stage.run(stage.start())
    first.go_on()
    first.thaw()
    late = stage.run(first, SECONDS_AFTER_THAW)
    if 0 not in (code, late):
        stage.log.pause(stage.adapter.pause)
        stage.finish()


def changed_while_paused(stage: Stage) -> None:
    """Replace the source after a person has said yes to what was made from the former one."""
    stage.approval = VICTIM
    first = stage.start()
    stage.run_with_person(first)
    if not first.said(f"waiting {VICTIM}"):
        raise NotProvoked(N_("The worker never asked for a person's yes for %(object)s."), object=VICTIM)
    stage.keeper.change(VICTIM)
    stage.log.add("runner", CHANGE)
    stage.log.add("runner", FAULT)
    stage.finish()


WINDOWS: dict[Window, Callable[[Stage], None]] = {
    Window.BEFORE_COMMIT: before_commit,
    Window.AFTER_COMMIT: after_commit,
    Window.RECEIPT_LOST: receipt_lost,
    Window.TWO_RESUMES: two_resumes,
    Window.FROZEN_OWNER: frozen_owner,
    Window.CHANGED_WHILE_PAUSED: changed_while_paused,
}
