"""The role that serves can do everything the workbench does and cannot touch what is only ever added to."""

import io

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import errors, sql

from contracts.models import Contract, Event
from contracts.models.privileges import differences, owner_of_tables
from tests import builders
from tests.operations.acts import a_written_task, do_everything
from tests.operations.sites import address_of_database, as_administrator, served_at

pytestmark = pytest.mark.django_db(transaction=True)
ADDED_TO = ("contracts_event", "contracts_storedanswer", "contracts_drillresult", "contracts_reservedtaskid")


def printed(role):
    out = io.StringIO()
    call_command("database_roles", role, stdout=out)
    return out.getvalue()


@pytest.fixture
def role(transactional_db):
    """A role restricted by what the command prints, run by the administrator as the document says."""
    name = f"serving_{connection.settings_dict['NAME']}"[:60]
    with as_administrator() as server:
        server.execute(printed(name))
        yield name
        server.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))
    with connection.cursor() as cursor:  # as it was before, for the next test of this database
        cursor.execute(f'GRANT TEMPORARY ON DATABASE "{connection.settings_dict["NAME"]}" TO PUBLIC')


@pytest.fixture
def restricted(role):
    with psycopg.connect(address_of_database(role), autocommit=True) as plain:
        yield plain


def test_everything_the_workbench_does_is_done_as_the_restricted_role(role, tmp_path):
    contract = a_written_task()
    with served_at(tmp_path, address_of_database(role)) as place:
        exports = do_everything([place], contract)
    assert contract.task_id.encode() in exports["json"]
    assert not differences(role)


@pytest.mark.parametrize("table", ADDED_TO)
@pytest.mark.parametrize("act", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {}"])
def test_what_is_only_added_to_is_refused_by_privilege(restricted, table, act):
    column = "task_id" if table == "contracts_reservedtaskid" else "id"
    with pytest.raises(errors.InsufficientPrivilege):
        restricted.execute(act.format(table, column, column))


@pytest.mark.parametrize(
    "act",
    [
        "CREATE TABLE mine (id int)",
        "CREATE TEMPORARY TABLE mine (id int)",
        "CREATE SCHEMA mine",
        "ALTER TABLE contracts_event DISABLE TRIGGER event_is_final",
        "DROP TRIGGER event_is_final ON contracts_event",
        "DELETE FROM contracts_contract",
        "UPDATE django_migrations SET name = name",
        "CREATE OR REPLACE FUNCTION contracts_event_is_final() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
    ],
)
def test_neither_tables_nor_guards_can_be_changed(restricted, act):
    with pytest.raises(errors.InsufficientPrivilege):
        restricted.execute(act)


def test_the_owner_could_rewrite_events_once_the_trigger_is_off(role):
    """The control: it is the privilege that refuses, for the owner needs one statement to be rid of the trigger."""
    contract = builders.a_draft()
    assert Event.objects.first_break(contract) is None
    rewrite = "UPDATE contracts_event SET actor = 'nobody'"
    with psycopg.connect(address_of_database()) as owner:
        with pytest.raises(errors.RestrictViolation):
            owner.execute(rewrite)
        owner.rollback()
        owner.execute("ALTER TABLE contracts_event DISABLE TRIGGER event_is_final")
        assert owner.execute(rewrite).rowcount == 1
        owner.execute("ALTER TABLE contracts_event ENABLE TRIGGER event_is_final")
    assert Event.objects.first_break(Contract.objects.get(pk=contract.pk)) == 1


def test_the_command_tells_what_a_role_has_too_much_and_too_little(role):
    out = io.StringIO()
    call_command("database_roles", role, check=True, stdout=out)
    assert "nothing else" in out.getvalue()
    with as_administrator() as server:
        named = sql.Identifier(role)
        server.execute(sql.SQL("GRANT DELETE ON contracts_event TO {}").format(named))
        server.execute(sql.SQL("REVOKE INSERT ON contracts_event FROM {}").format(named))
        server.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(named))
    with pytest.raises(CommandError) as refused:
        call_command("database_roles", role, check=True)
    assert str(refused.value).splitlines() == [
        f"{role} may DELETE in contracts_event, and should not.",
        f"{role} may not INSERT in contracts_event, and has to.",
        f"{role} may make tables or schemas, and should not.",
    ]
    with as_administrator() as server:
        server.execute(printed(role))
    assert not differences(role)


def test_an_owner_who_may_not_make_roles_is_told_to_ask_and_changes_nothing(transactional_db):
    with as_administrator():
        pass  # the role of the tests may not make roles on the throw-away server only
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("database_roles", "somebody_new", apply=True)
    with pytest.raises(CommandError, match="no role somebody_new"):
        call_command("database_roles", "somebody_new", check=True)


def test_an_owner_applies_it_to_a_role_that_is_there(role):
    out = io.StringIO()
    call_command("database_roles", role, apply=True, stdout=out)
    assert "is ready" in out.getvalue()


def test_the_owner_is_no_role_to_serve_with(transactional_db):
    with pytest.raises(CommandError, match="owns the tables"):
        call_command("database_roles", owner_of_tables())


def test_a_name_is_never_taken_for_sql(transactional_db):
    name = 'x"; DROP TABLE contracts_event; --'
    assert '"x""; DROP TABLE contracts_event; --"' in printed(name)
    with as_administrator() as server:
        server.execute(printed(name))
        assert not differences(name)
        server.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))
