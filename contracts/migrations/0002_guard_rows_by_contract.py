"""What Django cannot declare: keys and references that contain the contract, and an append-only event chain.

Every primary key of content becomes `(id, contract_id)` and every reference inside a contract
`(reference, contract_id)`. A row can then never point into another contract, and the tables can be
distributed by contract without a new design.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

CONTENT = {
    "planerow": (),
    "sectionmark": (),
    "ownergate": (),
    "attempt": (),
    "checkpoint": (("attempt", "attempt"),),
    "journalstep": (("attempt", "attempt"),),
    "source": (),
    "artefact": (("source", "source"),),
    "workobject": (("source", "source"), ("artefact", "artefact"), ("attempt", "attempt")),
    "toolcontract": (),
    "operation": (("work_object", "workobject"), ("tool", "toolcontract")),
    "approvalpolicy": (),
    "approval": (("operation", "operation"), ("draft", "artefact")),
    "approvalvote": (("approval", "approval"),),
    "limit": (),
    "usageentry": (("attempt", "attempt"),),
    "windowrow": (),
    "event": (),
}
TRIGGER = """
CREATE FUNCTION contracts_event_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events are only ever added' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER event_is_final BEFORE UPDATE OR DELETE ON contracts_event
    FOR EACH ROW EXECUTE FUNCTION contracts_event_is_final();
CREATE TRIGGER event_table_is_final BEFORE TRUNCATE ON contracts_event
    FOR EACH STATEMENT EXECUTE FUNCTION contracts_event_is_final();
"""


def guard(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    for table in CONTENT:
        editor.execute(f"ALTER TABLE contracts_{table} DROP CONSTRAINT contracts_{table}_pkey")
        editor.execute(f"ALTER TABLE contracts_{table} ADD PRIMARY KEY (id, contract_id)")
    for table, references in CONTENT.items():
        for column, target in references:
            editor.execute(
                f"ALTER TABLE contracts_{table} ADD CONSTRAINT {table}_{column}_in_same_contract "
                f"FOREIGN KEY ({column}_id, contract_id) REFERENCES contracts_{target} (id, contract_id) "
                "DEFERRABLE INITIALLY DEFERRED"
            )


class Migration(migrations.Migration):
    dependencies = [("contracts", "0001_initial")]

    operations = [
        migrations.RunPython(guard, migrations.RunPython.noop, elidable=False),
        migrations.RunSQL(TRIGGER, "DROP FUNCTION contracts_event_is_final CASCADE"),
    ]
