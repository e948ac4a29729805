"""Every address × everybody × reading and writing: what each is answered, written down as data."""

from copy import copy

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from contracts.rules.vocabulary import Section
from tests import builders, people, scenes
from tests.gates.watching import snapshot
from tests.views.visiting import visitor

pytestmark = pytest.mark.django_db
WHO = ("anonymous", "stranger", "viewer", "reviewer", "curator", "operator", "exporter", "owner")

# What is answered: a status, or
LOGIN = "login"  # sent to the login page
ON = "on"  # 200, or sent on to where the result stands
SAID = "said"  # allowed to write, and told what is wrong with an empty post: 200, 302, 400, 409 or 422
MEANINGS = {LOGIN: {302}, ON: {200, 302}, SAID: {200, 302, 400, 409, 422}}


def row(*answers):
    """Return who → what is answered, in the order of `WHO`."""
    return dict(zip(WHO, answers, strict=True))


def all_of(answer, anonymous=LOGIN):
    return row(anonymous, *[answer] * 7)


READ = row(LOGIN, 404, ON, ON, ON, ON, ON, ON)
FILL_GET = row(LOGIN, 404, 403, ON, 403, 403, 403, ON)
FILL_POST = row(LOGIN, 404, 403, SAID, 403, 403, 403, SAID)
FILL_NOWHERE = row(LOGIN, 404, 403, 404, 403, 403, 403, 404)
OPERATION_NOWHERE = all_of(404)
NEVER = all_of(405)
EXPORT = row(LOGIN, 404, 403, 403, 403, 403, ON, ON)
SHARE = row(LOGIN, 404, 403, 403, 403, 403, 403, ON)
SHARE_POST = row(LOGIN, 404, 403, 403, 403, 403, 403, SAID)
OPERATE = row(LOGIN, 404, 403, 403, 403, SAID, 403, 403)
OPERATE_OR_SHARE = row(LOGIN, 404, 403, 403, 403, SAID, 403, SAID)

# Name of the route (with an act: of each act) → what GET and what POST are answered.
MATRIX = {
    "livez": (all_of(ON, ON), all_of(405, 405)),
    "healthz": (all_of(ON, ON), all_of(405, 405)),
    "readyz": (all_of(ON, ON), all_of(405, 405)),
    "metrics": (all_of(404, 404), all_of(405, 405)),  # no token is set here
    "set_language": (all_of(ON, ON), all_of(ON, ON)),
    "account_login": (all_of(ON, ON), all_of(ON, ON)),
    "account_logout": (all_of(405, 405), all_of(ON, ON)),
    "account_reauthenticate": (all_of(ON), all_of(ON)),
    "mfa_index": (all_of(ON), all_of(405)),
    # Between password and second factor only; everybody else is sent to where they belong.
    "mfa_authenticate": (all_of(302, 302), all_of(302, 302)),
    # Nobody here has a second factor: there is none to ask for, to remove or to replace.
    "mfa_reauthenticate": (all_of(302), all_of(302)),
    "mfa_reauthenticate_webauthn": (all_of(302), all_of(302)),
    "mfa_activate_totp": (all_of(ON), all_of(ON)),
    "mfa_deactivate_totp": (all_of(404), all_of(404)),
    "mfa_view_recovery_codes": (all_of(404), all_of(405)),
    "mfa_generate_recovery_codes": (all_of(ON), all_of(ON)),
    "mfa_add_webauthn": (all_of(ON), all_of(ON)),
    "mfa_edit_webauthn": (all_of(404), all_of(404)),
    "mfa_remove_webauthn": (all_of(404), all_of(404)),
    "password_change": (all_of(ON), all_of(ON)),
    "password_change_done": (all_of(ON), all_of(405)),
    "contracts:list": (all_of(ON), all_of(405)),
    "contracts:new": (
        all_of(ON),
        row(LOGIN, 403, 403, SAID, 403, 403, 403, SAID),
    ),
    "contracts:worksheet": (all_of(ON, ON), all_of(SAID, SAID)),
    "contracts:states": (all_of(ON), NEVER),
    "contracts:notices": (all_of(ON), all_of(SAID)),
    "contracts:mail_preferences": (all_of(ON), all_of(SAID)),
    "contracts:news": (all_of(400), NEVER),  # without the time since when
    "contracts:news_line": (all_of(503), NEVER),  # in tests no line is held
    "contracts:glossary": (all_of(ON, ON), all_of(405, 405)),
    "contracts:keyboard": (all_of(ON, ON), all_of(405, 405)),
    "contracts:style": (all_of(ON), NEVER),
    "contracts:drills": (all_of(ON), NEVER),
    "contracts:drills_of": (READ, NEVER),
    "contracts:drill": (OPERATE, OPERATE),
    # There is no such run here; tests of their own ask for one.
    "contracts:drill_run": (all_of(404), NEVER),
    "contracts:drill_stop": (all_of(404), all_of(404)),
    "contracts:tokens": (OPERATE_OR_SHARE, OPERATE_OR_SHARE),
    "contracts:schema": (all_of(ON, ON), all_of(405, 405)),
    "contracts:overview": (READ, NEVER),
    "contracts:events": (READ, NEVER),
    "contracts:timeline": (READ, NEVER),
    "contracts:export": (EXPORT, NEVER),
    "contracts:export_txt": (EXPORT, NEVER),
    "contracts:export_json": (EXPORT, NEVER),
    "contracts:sharing": (SHARE, SHARE_POST),
    "contracts:policy": (READ, row(LOGIN, 404, 403, 403, 403, SAID, 403, 403)),
    "contracts:ask": (FILL_GET, FILL_POST),
    "contracts:approvals": (all_of(ON), NEVER),
    "contracts:approval": (READ, row(LOGIN, 404, SAID, SAID, SAID, SAID, SAID, SAID)),
    "contracts:looking": (NEVER, READ),
    "contracts:correct": (
        row(LOGIN, 404, 403, 403, ON, 403, 403, 403),
        row(LOGIN, 404, 403, 403, SAID, 403, 403, 403),
    ),
    "contracts:withdraw": (READ, row(LOGIN, 404, SAID, SAID, SAID, SAID, SAID, SAID)),
    # There is no such operation here; tests of their own ask with one.
    "contracts:round": (FILL_NOWHERE, FILL_NOWHERE),
    "contracts:operation": (OPERATION_NOWHERE, OPERATION_NOWHERE),
    "contracts:holder": (READ, NEVER),
    "contracts:operate pause": (OPERATE, OPERATE),
    "contracts:operate take-over": (OPERATE, OPERATE),
    "contracts:operate roll-back": (OPERATE, OPERATE),
    "contracts:operate raise-cap": (OPERATE, OPERATE),
    "contracts:act leave-draft": (FILL_GET, FILL_POST),
    "contracts:act complete": (FILL_GET, FILL_POST),
    "contracts:act return-to-draft": (OPERATE, OPERATE),
    "contracts:act cancel": (OPERATE_OR_SHARE, OPERATE_OR_SHARE),
    "contracts:act archive": (OPERATE_OR_SHARE, OPERATE_OR_SHARE),
    "contracts:act unarchive": (OPERATE_OR_SHARE, OPERATE_OR_SHARE),
    "contracts:objects_act": (READ, FILL_POST),
    "contracts:paste": (FILL_GET, FILL_POST),
    "contracts:row_add": (FILL_GET, FILL_POST),
    "contracts:row": (READ, NEVER),
    "contracts:row_edit": (FILL_GET, FILL_POST),
    "contracts:row_remove": (FILL_GET, FILL_POST),
    "contracts:row_move": (READ, FILL_POST),
    "contracts:section": (READ, FILL_POST),
    "contracts:mark": (READ, FILL_POST),
    "contracts:here": (NEVER, READ),
}


def routes(resolver=None, prefix=""):
    """Return the name of every route there is."""
    for one in (resolver or get_resolver()).url_patterns:
        if isinstance(one, URLResolver):
            yield from routes(one, f"{one.namespace}:" if one.namespace else prefix)
        else:
            assert isinstance(one, URLPattern)
            yield f"{prefix}{one.name}"


def arguments(name, contract, work_object, item=None):
    """Return every set of arguments under which a route is asked for."""
    plain, _, act = name.partition(" ")
    task_id = contract.task_id
    if act:
        return [(task_id, act)]
    if plain in ("contracts:section", "contracts:mark", "contracts:here"):
        return [(task_id, section.value) for section in Section]
    if plain in OF_AN_ITEM:
        return [(item.contract.task_id, item.item_id) if item else (task_id, "item-none")]
    if plain in ("mfa_edit_webauthn", "mfa_remove_webauthn"):
        return [(work_object.pk,)]
    return [
        {
            "contracts:round": (task_id, "0" * 64),
            "contracts:operation": (task_id, "0" * 64),
            "contracts:tokens": (contract.team.slug,),
            "contracts:drill_run": ("D-0000000000",),
            "contracts:drill_stop": ("D-0000000000",),
            "contracts:paste": (task_id, "object"),
            "contracts:row_add": (task_id, "object"),
            "contracts:row": (task_id, "object", work_object.pk),
            "contracts:row_edit": (task_id, "object", work_object.pk),
            "contracts:row_remove": (task_id, "object", work_object.pk),
            "contracts:row_move": (task_id, "object", work_object.pk),
        }.get(plain, (task_id,) if plain in OF_A_CONTRACT else ())
    ]


OF_A_CONTRACT = {
    f"contracts:{name}" for name in ("overview", "events", "export", "export_txt", "export_json")
}
OF_A_CONTRACT |= {
    "contracts:holder",
    "contracts:timeline",
    "contracts:drill",
    "contracts:drills_of",
    "contracts:sharing",
    "contracts:objects_act",
    "contracts:policy",
    "contracts:ask",
}


OF_AN_ITEM = {"contracts:approval", "contracts:looking", "contracts:correct", "contracts:withdraw"}


def test_every_route_has_a_row():
    from contracts.views import operating
    from contracts.views.life import DEEDS

    # Addresses for workers are closed by token; tests/api/test_closing.py asks for each of them.
    names = {name for name in routes() if not name.startswith("api:")}
    acts = {f"contracts:act {slug}" for slug in DEEDS}
    acts |= {f"contracts:operate {slug}" for slug in operating.DEEDS}
    assert set(MATRIX) == (names - {"contracts:act", "contracts:operate"}) | acts


def logged_in(who, team):
    """Return a function that gives a browser with the cookies of one login, untouched by what others did with it."""
    if who == "anonymous":
        return Client
    cookies = visitor(people.stranger() if who == "stranger" else getattr(people, who)(team)).cookies

    def client():
        fresh = Client()
        fresh.cookies = copy(cookies)
        return fresh

    return client


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("method", ["get", "post"])
def test_everybody_is_answered_as_written(who, method):
    team = builders.a_team()
    contract = builders.a_draft(team)
    work_object = builders.a_row(contract, "object")
    item = scenes.ask(scenes.a_label_call(team), scenes.WHY)
    changing = who in ("reviewer", "operator", "owner", "curator")
    before = snapshot(contract)
    found, wanted = {}, {}
    client_of = logged_in(who, team)
    for name, both in MATRIX.items():
        if name in ("account_logout", "account_login") and method == "post":
            continue  # asked for by themselves below: they change who is asking
        answer = both[method == "post"][who]
        for given in arguments(name, contract, work_object, item):
            where = reverse(name.partition(" ")[0], args=given)
            status = getattr(client_of(), method)(where)
            assert status.streaming is False or b"".join(status)  # read to its end, so that it is closed
            place = f"{name} {given}"
            found[place] = status.status_code
            wanted[place] = (
                status.status_code if status.status_code in MEANINGS.get(answer, {answer}) else answer
            )
            if answer == LOGIN:
                assert status["Location"] == f"/login/?next={where}"
    assert found == wanted
    if not changing or method == "get":
        assert snapshot(contract) == before


@pytest.mark.parametrize("method", ["get", "head"])
def test_addresses_of_acts_lead_to_where_the_act_is_done(method):
    team = builders.a_team()
    contract = builders.a_draft(team)
    thing = builders.a_row(contract, "object")
    client = visitor(people.viewer(team))
    page = f"/contracts/{contract.task_id}/"
    for where, leads_to in (
        (f"{page}limits/mark/", f"{page}limits/#mark"),
        (f"{page}objects/act/?object-q=a+b", f"{page}objects/?object-q=a+b#part-object"),
        (f"{page}rows/object/{thing.pk}/move/", f"{page}objects/#object-{thing.pk}"),
    ):
        answer = getattr(client, method)(where)
        assert (answer.status_code, answer["Location"]) == (302, leads_to)
    assert client.get(f"{page}rows/object/{thing.pk + 9}/move/").status_code == 404


def test_whoever_logs_out_is_out(client):
    team = builders.a_team()
    client = visitor(people.viewer(team))
    assert client.post(reverse("account_logout")).status_code == 302
    assert client.get("/").status_code == 302


def test_login_takes_the_right_password_only(client):
    people.viewer(builders.a_team())
    where = reverse("account_login")
    assert client.post(where, {"login": "victor", "password": "wrong"}).status_code == 200
    assert client.get("/").status_code == 302
    assert client.post(where, {"login": "victor", "password": people.PASSWORD}).status_code == 302
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
def test_no_other_method_changes_anything(method):
    team = builders.a_team()
    contract = builders.a_draft(team)
    work_object = builders.a_row(contract, "object")
    client = visitor(people.owner(team))
    before = snapshot(contract)
    for name in MATRIX:
        if name != "account_logout":
            for given in arguments(name, contract, work_object)[:1]:
                where = reverse(name.partition(" ")[0], args=given)
                assert getattr(client, method)(where).status_code in (200, 302, 400, 403, 404, 405), where
    assert snapshot(contract) == before


def test_without_the_token_of_the_form_no_post_is_taken():
    team = builders.a_team()
    contract = builders.a_draft(team)
    work_object = builders.a_row(contract, "object")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.owner(team), backend="django.contrib.auth.backends.ModelBackend")
    for name, (_, posting) in MATRIX.items():
        if posting["owner"] in (SAID, ON):
            for given in arguments(name, contract, work_object):
                assert strict.post(reverse(name.partition(" ")[0], args=given)).status_code == 403, name


@pytest.mark.parametrize("task_id", ["no-such-task", "x" * 120, "a..b", "A:1"])
def test_a_task_that_is_not_there_is_answered_like_one_that_may_not_be_seen(task_id):
    team = builders.a_team()
    client = visitor(people.owner(team))
    for name in OF_A_CONTRACT:
        assert client.get(reverse(name, args=[task_id])).status_code == 404


@pytest.mark.parametrize(
    "where",
    [
        "/contracts/-x/",
        "/contracts/a%00b/",
        "/contracts/a/nothing/",
        "/contracts/a/rows/x/add/",
        "/contracts/%E5%B1%95/",
    ],
)
def test_addresses_that_nobody_made_are_not_found(where):
    assert visitor(people.owner(builders.a_team())).get(where).status_code == 404
