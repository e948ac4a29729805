"""The real catalogue: every key of a table that belongs to contracts contains the contract.

A server that spreads tables over machines by contract can keep a key unique only if the contract is part of it.
What does not fit yet is named here one by one, with what would have to change; a new table joins no list by itself.
"""

import pytest
from django.db import connection

from contracts.models import CONTENT

pytestmark = pytest.mark.django_db
UNIQUE = """
SELECT t.relname, i.relname, x.indisprimary, array(
    SELECT a.attname::text FROM unnest(x.indkey) AS k JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k)
FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
WHERE x.indisunique AND t.relnamespace = current_schema()::regnamespace AND t.relname LIKE 'contracts\\_%'
"""
REFERENCES = """
SELECT c.conrelid::regclass::text, c.confrelid::regclass::text, array(
    SELECT a.attname::text FROM unnest(c.conkey) AS k JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k)
FROM pg_constraint c WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace
    AND c.conrelid::regclass::text LIKE 'contracts\\_%'
"""
# Column that names the contract, where it is not called contract_id.
NAMED = {
    "contracts_contract": "id",
    "contracts_contractuserpermission": "content_object_id",
    "contracts_contractgrouppermission": "content_object_id",
}
# Few rows, read with rows of every contract: a copy on each machine.
COPIED = {
    "contracts_team",
    "contracts_teamrole",
    "contracts_reservedtaskid",  # holds every task id ever used, and is what makes them unique
    "contracts_workertoken",  # looked up by its digest before the contract is known
    "contracts_reader",
    "contracts_muted",
}
# Kept by one machine: drills belong to the machine that carries them out.
LOCAL = {"contracts_drillrun", "contracts_drillresult"}
# Their primary key is the id alone: it would become (id, contract), as that of content is. None is referred to.
TO_WIDEN = {
    "contracts_contractgrouppermission_pkey",
    "contracts_contractuserpermission_pkey",
    "contracts_notice_pkey",
    "contracts_presence_pkey",
    "contracts_storedanswer_pkey",
    "contracts_tokenscope_pkey",
}
# Would go: contracts_reservedtaskid refuses the same id before, in the same transaction.
TO_DROP = {"contracts_contract_task_id_key"}


def asked(question):
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchall()


def spread(table):
    return table not in COPIED | LOCAL


def without_contract(keys):
    """Return the names of the keys of spread tables that do not contain the contract."""
    return {
        key
        for table, key, _, columns in keys
        if spread(table) and NAMED.get(table, "contract_id") not in columns
    }


def test_every_key_contains_the_contract_but_for_those_that_are_named():
    assert without_contract(asked(UNIQUE)) == TO_WIDEN | TO_DROP


def test_the_search_finds_a_key_without_the_contract():
    """The control: one index more, and it is found."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE UNIQUE INDEX without_it ON contracts_event (hash)")
        cursor.execute("CREATE UNIQUE INDEX with_it ON contracts_event (contract_id, hash)")
    assert without_contract(asked(UNIQUE)) == TO_WIDEN | TO_DROP | {"without_it"}


def test_all_content_has_the_contract_in_its_primary_key():
    primary = {table: columns for table, _, first, columns in asked(UNIQUE) if first}
    assert {
        model._meta.db_table for model in CONTENT if primary[model._meta.db_table] != ["id", "contract_id"]
    } == set()


def test_a_reference_between_spread_tables_contains_the_contract():
    """Then both rows lie on the same machine; a reference to a copied table finds its row on every one."""
    found = {
        (table, target)
        for table, target, columns in asked(REFERENCES)
        if spread(table) and spread(target) and target.startswith("contracts_")
        if NAMED.get(table, "contract_id") not in columns
    }
    assert found == set()


def test_nothing_spread_is_referred_to_by_what_is_copied():
    found = {(table, target) for table, target, _ in asked(REFERENCES) if table in COPIED and spread(target)}
    assert {pair for pair in found if pair[1].startswith("contracts_")} == set()


def test_no_table_is_in_no_list():
    tables = {table for table, *_ in asked(UNIQUE)}
    columns = dict(
        asked(
            "SELECT table_name::text, array_agg(column_name::text) FROM information_schema.columns "
            "WHERE table_schema = current_schema() GROUP BY 1"
        )
    )
    assert tables >= COPIED | LOCAL
    assert {
        table for table in tables if spread(table) and NAMED.get(table, "contract_id") not in columns[table]
    } == set()
