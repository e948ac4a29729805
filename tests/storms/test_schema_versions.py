"""Five versions that do not fit together: of none is anything resumed blindly, and each says what is wrong."""

import copy
import json

import pytest

from contracts.gates.workers.owning import resume
from contracts.models import Contract
from contracts.rules.document import check_document
from contracts.rules.granting import Offer, caller_of
from contracts.rules.resume_findings import CheckName, Outcome, Standing
from contracts.rules.resume_reading import UnreadableExport, facts_of
from contracts.rules.resuming import decide
from tests.exports.telling import as_json
from tests.gates.workers.owners import OTHER, a_checkpoint, a_task, granted, lapse
from tests.storms.counting import Counters

pytestmark = pytest.mark.django_db
# What is agreed after a checkpoint was written in state-schema version 2 (columns), and what a worker brings.
AGREED = {"state_schema_version": 2, "readable_schema_versions": [1]}
INCOMPATIBLE = {
    "the checkpoint is newer than all that the workflow reads": (
        {"state_schema_version": 1, "readable_schema_versions": []},
        {},
    ),
    "the checkpoint is older than all that the workflow reads": (
        {"state_schema_version": 4, "readable_schema_versions": [3]},
        {},
    ),
    "the worker was built for the next state schema": (AGREED, {"schema_version": 3}),
    "the worker was built for a state schema that can be read but is not agreed": (
        AGREED,
        {"schema_version": 1},
    ),
    "the worker runs the next version of the workflow": (AGREED, {"workflow_version": "5"}),
}
COMPATIBLE = {
    "the checkpoint is of the agreed version": (AGREED, {"schema_version": 2, "workflow_version": "4"}),
    "the checkpoint is of a version that can be read": (
        {"state_schema_version": 3, "readable_schema_versions": [2, 1]},
        {"schema_version": 3},
    ),
}


def an_interrupted_task(agreed):
    """Return a task that its worker left behind a checkpoint in state-schema version 2; then `agreed` changed."""
    contract = a_task()
    granted(contract)
    a_checkpoint(contract, 1, "draft")
    lapse(contract)
    granted(contract)  # what the first left is settled; the second leaves nothing
    lapse(contract)
    Contract.objects.filter(pk=contract.pk).update(**agreed)
    contract.refresh_from_db()
    return contract


def reasons(decision):
    """Return what blocks, as sentences with their values; all of it must be about versions."""
    blocked = [check for check in decision.checks if check.standing is Standing.BLOCKED]
    assert [check.name for check in blocked] == [CheckName.VERSIONS]
    found = [finding for finding in blocked[0].findings if finding.standing is Standing.BLOCKED]
    return tuple(finding.sentence % finding.values for finding in found)


def test_none_of_five_incompatible_versions_is_resumed_blindly():
    counters, told = Counters(), {}
    for name, (agreed, brought) in INCOMPATIBLE.items():
        contract = an_interrupted_task(agreed)
        counters.attempted += 1
        verdict = resume(contract_id=contract.pk, actor=OTHER, offer=Offer(**brought))
        contract.refresh_from_db()
        counters.unexpected += verdict.code != "resume_migrate"
        counters.duplicated += contract.generation != 2  # that many grants there were before
        assert verdict.outcome.verdict is Outcome.MIGRATE
        told[name] = reasons(verdict.outcome)
    counters.tell("incompatible versions")
    assert counters.unexpected == counters.duplicated == counters.acknowledged == 0
    assert all(len(found) == 1 for found in told.values())
    assert len(set(told.values())) == len(INCOMPATIBLE) == 5  # each for a reason of its own


@pytest.mark.parametrize("name", COMPATIBLE)
def test_control_what_fits_is_resumed(name):
    agreed, brought = COMPATIBLE[name]
    contract = an_interrupted_task(agreed)
    verdict = resume(contract_id=contract.pk, actor=OTHER, offer=Offer(**brought))
    assert (verdict.code, verdict.outcome.attempt.generation) == ("done", 3)


@pytest.mark.parametrize("name", INCOMPATIBLE)
def test_a_process_that_holds_the_export_alone_comes_to_the_same_verdict(name):
    agreed, brought = INCOMPATIBLE[name]
    contract = an_interrupted_task(agreed)
    offer = Offer(**brought)
    verdict = resume(contract_id=contract.pk, actor=OTHER, offer=offer)
    contract.refresh_from_db()
    found = decide(facts_of(json.loads(as_json(contract))), caller_of(OTHER, offer), contract.revised_at)
    assert (found.verdict, found.may_resume) == (Outcome.MIGRATE, False)
    assert reasons(found) == reasons(verdict.outcome)


@pytest.mark.parametrize("version", [0, 2, 99, "1", None])
def test_an_export_in_another_version_of_the_format_is_neither_read_nor_stored(version):
    document = json.loads(as_json(an_interrupted_task(AGREED)))
    facts_of(document)  # the control: as it was exported it is read
    changed = copy.deepcopy(document) | {"schema_version": version}
    with pytest.raises(UnreadableExport) as refused:
        facts_of(changed)
    assert [problem.code for problem in refused.value.problems] == ["unknown_version"]
    assert [problem.code for problem in check_document(changed).problems] == ["unknown_version"]
