"""`manage.py example`: real worker processes at the two example tasks, told line by line."""

import logging
import signal
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import get_language, gettext, override, to_locale

from contracts.client import Refused, Unreachable, Workbench
from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import calls
from contracts.management.example_processes import Processes
from contracts.management.example_tasks import correct_date, find_or_create, fresh_token
from contracts.models import Contract
from contracts.rules.states import ApprovalState, ContractState, ObjectState

FORMER_DATE, DATE = "1120", "1160"
REPLACED = "rescan-1"
LOOK_EVERY = 1.0
NIGHT = 5  # seconds in which an approval can be seen before the text changes
AGAIN_LATER = 75  # the exit code of a worker that stopped by itself


class Command(BaseCommand):
    help = (
        "Do one of the example tasks with real worker processes against the running workbench, and tell what "
        "happens. Kill whatever you like at any moment and start again: it goes on where it was."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("task", choices=("museum-label", "archive-photographs"))
        parser.add_argument(
            "--url", default="http://127.0.0.1:8000", help="of the workbench (default %(default)s)"
        )
        languages = [code for code, _ in settings.LANGUAGES]
        parser.add_argument(
            "--lang", choices=languages, default="en", help="of the task and of what is told; default: en"
        )

    def handle(self, *, task: str, url: str, lang: str, **_: Any) -> None:
        with override(lang):
            self.tell(task, url, to_locale(lang))

    def tell(self, task: str, url: str, locale: str) -> None:
        """Do the task; whatever is said is said in the language of `locale`."""
        logging.getLogger("httpx").setLevel(logging.WARNING)  # what happens is told here, line by line
        contract = find_or_create(task, get_language() or "en")
        processes = Processes(settings.WORKBENCH_DATA / "examples" / contract.task_id, self.say)
        with ExitStack() as stack:
            workbench = stack.enter_context(
                Workbench(
                    url, token := fresh_token(contract, task), patience=10, language=get_language() or ""
                )
            )
            told = Story(self.say, contract, workbench, processes, url.rstrip("/"))
            told.environment = {"WORKBENCH_URL": url, "WORKBENCH_TOKEN": token, "TASK": contract.task_id}
            told.environment["WORKER_LANGUAGE"] = locale
            try:
                told.begin()
                if task == "museum-label":
                    told.environment["CONTENT_SYSTEM"] = stack.enter_context(processes.content_system())
                    told.museum_label()
                else:
                    told.archive_photographs()
            except Unreachable:
                absent = gettext(
                    "No workbench answers at %(url)s. Run `manage.py up`, then this again: it goes on where it was."
                )
                raise CommandError(absent % {"url": url}) from None
            except Refused as refused:
                raise CommandError(f"{refused.code}: {refused.sentence}") from None
            except KeyboardInterrupt:
                self.say(gettext("Ended. Start it again: it goes on where it was."))

    def say(self, text: str) -> None:
        """Tell one line at once, also into a pipe."""
        self.stdout.write(f"{time.strftime('%H:%M:%S')} {text}")
        self.stdout.flush()


class Story:
    """What happens around the workers. Where it goes on is read off the contract each time, never remembered."""

    environment: dict[str, str]

    def __init__(
        self,
        say: Callable[[str], object],
        contract: Contract,
        workbench: Workbench,
        processes: Processes,
        url: str,
    ) -> None:
        self.say, self._row, self._workbench, self._processes = say, contract, workbench, processes
        self._place = f"{url}/contracts/{contract.task_id}"

    def begin(self) -> None:
        """Say where it can be watched."""
        told = {"task": self._row.task_id, "state": _life(self._contract()), "url": f"{self._place}/"}
        self.say(gettext("The task is %(task)s (%(state)s). Watch it: %(url)s") % told)

    def museum_label(self) -> None:
        """Draft, wait overnight, correct, wait again, publish, lose the receipt, and publish no second page."""
        while not self._ended():
            if not self._curator_decides():
                return
            self._worker("museum_label")
        self.say(gettext("Once more, as if somebody had clicked again; it is refused, as it should be:"))
        self._worker("museum_label")
        self._count()

    def archive_photographs(self) -> None:
        """Draft, lose power in the middle of a photograph, replace one overnight, go on with what is left."""
        if not self._contract()["attempts"]:
            self.say(gettext("This worker will lose power in the middle of its third photograph."))
            self._worker("archive_photographs", kill_at=self._contract()["objects"][2]["object_id"])
        while not self._ended():
            self._await_cataloguer()
            self._replace_overnight()
            self._worker("archive_photographs")
        self._count()

    def _worker(self, module: str, *, kill_at: str = "") -> None:
        """Run one worker to its end, and say so if that was not an end of its own choice."""
        code = self._processes.run_worker(module, self.environment, kill_at=kill_at)
        if code in (0, AGAIN_LATER):
            return
        how = signal.Signals(-code).name if code < 0 else gettext("exit code %(code)s") % {"code": code}
        died = gettext(
            "The worker died (%(how)s). Another one waits until its lease has lapsed, then asks for the task."
        )
        self.say(died % {"how": how})
        time.sleep(LOOK_EVERY)

    def _contract(self) -> Mapping[str, Any]:
        return self._workbench.contract(self._row.task_id).content

    def _ended(self) -> bool:
        return self._contract()["life"]["state"] in (ContractState.COMPLETED, ContractState.CANCELLED)

    def _curator_decides(self) -> bool:
        """Wait for the decision on the newest request; tell whether there is anything to go on with."""
        items = self._contract()["approvals"]
        if not items:
            return True
        item_id = items[-1]["item_id"]
        if items[-1]["state"] == ApprovalState.PENDING:
            place = {"url": f"{self._place}/approvals/{item_id}/"}
            self.say(gettext("Nobody holds the task. Decide as “curator”: %(url)s") % place)
        state = ApprovalState.PENDING
        while state is ApprovalState.PENDING:
            state = self._workbench.approval(self._row.task_id, item_id, wait=30).state
        self.say(gettext("The request: %(state)s.") % {"state": gettext(state.label)})
        if state is ApprovalState.APPROVED and items[-1]["consumed_at"] is None:
            self._correct_overnight()
        else:
            time.sleep(LOOK_EVERY)  # whatever stopped the worker, another one is not started at once
        if state is ApprovalState.REJECTED:
            place = {"url": f"{self._place}/sources/"}
            self.say(gettext("Write another version of the label, then start again: %(url)s") % place)
        return state is not ApprovalState.REJECTED

    def _correct_overnight(self) -> None:
        """Correct the date of the label, once."""
        label = next(row for row in self._contract()["artefacts"] if row["current"])
        if FORMER_DATE in label["inline_text"]:
            self.say(gettext("It is night now, for %(seconds)d seconds.") % {"seconds": NIGHT})
            time.sleep(NIGHT)
            version = correct_date(self._row, label, FORMER_DATE, DATE)
            told = gettext("Next morning a colleague corrects the date to %(date)s: version %(version)s.")
            self.say(told % {"date": DATE, "version": version})
            self.say(gettext("The approval was for the former version. It does not cover this one."))

    def _await_cataloguer(self) -> None:
        """Wait until a person has accepted something, if nobody has yet."""
        drafted = [row for row in self._contract()["objects"] if row["artefact"]]
        if not drafted or any(row["state"] != ObjectState.IN_PROGRESS for row in drafted):
            return
        names = ", ".join(row["object_id"] for row in drafted)
        place = {"names": names, "url": f"{self._place}/objects/"}
        ask = gettext("As “reviewer”, choose %(names)s, then “Accept” and “Apply to the chosen”: %(url)s")
        self.say(ask % place)
        while not any(row["state"] == ObjectState.CONFIRMED for row in self._contract()["objects"]):
            time.sleep(LOOK_EVERY)

    def _replace_overnight(self) -> None:
        """Replace one accepted photograph, once."""
        contract = self._contract()
        if any(row["version_label"] == REPLACED for row in contract["sources"]):
            return
        accepted = {row["source"] for row in contract["objects"] if row["state"] == ObjectState.CONFIRMED}
        for row in contract["sources"]:
            if row["source_id"] in accepted:
                self._workbench.change_source(
                    self._row.task_id, row["source_id"], REPLACED, row["sha256"][::-1], row["location"]
                )
                told = gettext("Overnight %(source)s is scanned anew: it alone is to be rechecked.")
                self.say(told % {"source": row["source_id"]})
                return

    def _count(self) -> None:
        contract = self._contract()
        ended = {"state": _life(contract), "number": len(contract["attempts"])}
        self.say(gettext("The task: %(state)s. Attempts: %(number)s") % ended)
        asked = {"number": len(calls(str(self._processes.model_record)))}
        self.say(gettext("Calls of the model: %(number)s") % asked)
        if "CONTENT_SYSTEM" in self.environment:
            with closing(Pages(self.environment["CONTENT_SYSTEM"])) as system:
                pages = system.all()
            made = {"number": len(pages), "names": ", ".join(pages)}
            self.say(gettext("Pages in the content system: %(number)s (%(names)s)") % made)
        self.say(gettext("Look at what became of it: %(url)s") % {"url": f"{self._place}/"})


def _life(contract: Mapping[str, Any]) -> str:
    return gettext(ContractState(contract["life"]["state"]).label)
