"""Of each kind as many rows come along as people look at, and none of one kind hides another."""

from contracts.rules.resume_facts import SAMPLE, Fault, FaultKind, ObjectRow
from contracts.rules.resume_samples import first_faults, first_rows
from contracts.rules.states import ObjectState


def test_many_rows_of_one_state_hide_no_row_of_another():
    many = [ObjectRow(f"O-{number}", ObjectState.UNKNOWN) for number in range(SAMPLE + 5)]
    late = ObjectRow("O-late", ObjectState.RECHECK)
    assert list(first_rows([*many, late])) == [*many[:SAMPLE], late]


def test_many_faults_of_one_kind_hide_no_fault_of_another():
    many = [Fault(FaultKind.CHECKSUM, "checkpoint", str(number)) for number in range(SAMPLE + 5)]
    late = Fault(FaultKind.KEY, "operation", "late")
    assert list(first_faults([*many, late])) == [*many[:SAMPLE], late]
