"""Every address of the workbench's pages."""

from django.urls import include, path, register_converter

from contracts.api.addresses import addresses
from contracts.rules.approving import ITEM_ID
from contracts.rules.parts import PARTS
from contracts.rules.vocabulary import Section
from contracts.views.approval import approval, correct, looking
from contracts.views.asking import ask
from contracts.views.comparing import compare_drills
from contracts.views.drills import ask_for_drill, drill_run, drills_of, stop_drill
from contracts.views.events import event_list
from contracts.views.exporting import download_json, download_txt, preview, schema
from contracts.views.glossary import glossary
from contracts.views.holding import holder
from contracts.views.keyboard import keyboard
from contracts.views.life import act
from contracts.views.listing import contract_list
from contracts.views.mail_preferences import mail_preferences
from contracts.views.making import new_contract
from contracts.views.notices import news, notice_list
from contracts.views.objects import act_on_objects
from contracts.views.operating import operate
from contracts.views.operations import operation
from contracts.views.overview import overview
from contracts.views.pasting import paste
from contracts.views.policy import policy
from contracts.views.presence import here
from contracts.views.pushing import news_line
from contracts.views.queue import approvals
from contracts.views.rounds import open_next
from contracts.views.rows import add, edit, move, remove, show
from contracts.views.sections import mark, section
from contracts.views.sharing import sharing
from contracts.views.states import states
from contracts.views.style import style
from contracts.views.timeline import timeline
from contracts.views.tokens import tokens
from contracts.views.withdrawing import withdraw
from contracts.views.worksheet import worksheet


class TaskIdConverter:
    """A task id, exactly as the rules allow it."""

    regex = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class SectionConverter(TaskIdConverter):
    """One of the nine sections."""

    regex = "|".join(section.value for section in Section)


class PartConverter(TaskIdConverter):
    """One kind of row."""

    regex = "|".join(PARTS)


class ItemConverter(TaskIdConverter):
    """One approval item; imported ones keep the id they came with."""

    regex = ITEM_ID


class DigestConverter(TaskIdConverter):
    """A SHA-256 digest, such as the key of an operation."""

    regex = r"[0-9a-f]{64}"


class RunConverter(TaskIdConverter):
    """One run of drills."""

    regex = r"D-[0-9a-f]{10}"


register_converter(TaskIdConverter, "task")
register_converter(RunConverter, "run")
register_converter(DigestConverter, "sha256")
register_converter(ItemConverter, "item")
register_converter(SectionConverter, "section")
register_converter(PartConverter, "part")

app_name = "contracts"
CONTRACT = "contracts/<task:task_id>/"
urlpatterns = [
    path("", contract_list, name="list"),
    path("contracts/new/", new_contract, name="new"),
    path("worksheet/", worksheet, name="worksheet"),
    path("approvals/", approvals, name="approvals"),
    path("notices/", notice_list, name="notices"),
    path("notices/mail/", mail_preferences, name="mail_preferences"),
    path("notices/news/", news, name="news"),
    path("notices/line/", news_line, name="news_line"),
    path("glossary/", glossary, name="glossary"),
    path("keys/", keyboard, name="keyboard"),
    path("style/", style, name="style"),
    path("states/", states, name="states"),
    path("drills/", compare_drills, name="drills"),
    path("drills/<run:run_id>/", drill_run, name="drill_run"),
    path("drills/<run:run_id>/stop/", stop_drill, name="drill_stop"),
    path("teams/<slug:slug>/tokens/", tokens, name="tokens"),
    path("schema/contract-1.json", schema, name="schema"),
    path("api/v1/", include((addresses(), "api"))),
    path(CONTRACT, overview, name="overview"),
    path(CONTRACT + "events/", event_list, name="events"),
    path(CONTRACT + "timeline/", timeline, name="timeline"),
    path(CONTRACT + "export/", preview, name="export"),
    path(CONTRACT + "export.txt", download_txt, name="export_txt"),
    path(CONTRACT + "export.json", download_json, name="export_json"),
    path(CONTRACT + "sharing/", sharing, name="sharing"),
    path(CONTRACT + "act/<slug:act>/", act, name="act"),
    path(CONTRACT + "operate/<slug:act>/", operate, name="operate"),
    path(CONTRACT + "owner/now/", holder, name="holder"),
    path(CONTRACT + "drills/", drills_of, name="drills_of"),
    path(CONTRACT + "drills/new/", ask_for_drill, name="drill"),
    path(CONTRACT + "policy/", policy, name="policy"),
    path(CONTRACT + "<section:section>/mark/", mark, name="mark"),
    path(CONTRACT + "<section:section>/here/", here, name="here"),
    path(CONTRACT + "approvals/ask/", ask, name="ask"),
    path(CONTRACT + "approvals/<item:item_id>/", approval, name="approval"),
    path(CONTRACT + "approvals/<item:item_id>/looking/", looking, name="looking"),
    path(CONTRACT + "approvals/<item:item_id>/correct/", correct, name="correct"),
    path(CONTRACT + "approvals/<item:item_id>/withdraw/", withdraw, name="withdraw"),
    path(CONTRACT + "operations/<sha256:operation_key>/", operation, name="operation"),
    path(CONTRACT + "operations/<sha256:operation_key>/round/", open_next, name="round"),
    path(CONTRACT + "objects/act/", act_on_objects, name="objects_act"),
    path(CONTRACT + "paste/<part:part>/", paste, name="paste"),
    path(CONTRACT + "rows/<part:part>/add/", add, name="row_add"),
    path(CONTRACT + "rows/<part:part>/<int:row_id>/", show, name="row"),
    path(CONTRACT + "rows/<part:part>/<int:row_id>/edit/", edit, name="row_edit"),
    path(CONTRACT + "rows/<part:part>/<int:row_id>/remove/", remove, name="row_remove"),
    path(CONTRACT + "rows/<part:part>/<int:row_id>/move/", move, name="row_move"),
    path(CONTRACT + "<section:section>/", section, name="section"),
]
