"""What a part of a contract is, and the field shapes that several parts share."""

from dataclasses import dataclass

from contracts.rules.fields import Field, Kind
from contracts.rules.states import ContractState
from contracts.rules.vocabulary import Section
from contracts.rules.words import N_

INT4 = 2**31 - 1
# Numbers that the workbench itself raises leave room above what a document may bring.
COUNTED, COUNTED_LONG = 2**30, 2**50
DRAFT = frozenset({ContractState.DRAFT})
KEPT = frozenset({ContractState.DRAFT, ContractState.PAUSED})  # records kept by hand
ALIVE = frozenset(set(ContractState) - {ContractState.CANCELLED})
# Fields that name somebody, by login name or as it was typed.
PEOPLE = frozenset(
    {
        "accepted_by",
        "accountable_owner",
        "author",
        "cancelled_by",
        "decided_by",
        "decider",
        "last_editor",
        "named_person",
        "requester",
        "run_by",
        "settled_by",
    }
)


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of row.

    `fixed`: its rows are made with the contract and none is added or removed (a grid may be `fixed` and
    `addable`: its own rows come beside the fixed ones). `single`: there is exactly one row. `open_in`:
    contract states in which people may add rows; `mend_in`: in which they may edit and remove them (the
    same if not given). `plan`: belongs to the definition over which the plan digest is taken.
    `pasteable`: rows may come from a spreadsheet. `title` names the whole, `one` a single row.
    """

    name: str
    section: Section
    title: str
    one: str
    fields: tuple[Field, ...]
    fixed: bool = False
    addable: bool = True
    single: bool = False
    ordered: bool = False
    pasteable: bool = False
    plan: bool = False
    open_in: frozenset[ContractState] = KEPT
    mend_in: frozenset[ContractState] | None = None

    @property
    def mendable_in(self) -> frozenset[ContractState]:
        """Return the contract states in which a row may be edited or removed."""
        return self.open_in if self.mend_in is None else self.mend_in

    @property
    def given(self) -> tuple[Field, ...]:
        """Return the fields that people fill in."""
        return tuple(field for field in self.fields if not field.server)

    def field(self, name: str) -> Field:
        """Return the field called `name`; KeyError if the part has none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)


NOTE = Field("note", Kind.TEXT, N_("Note"), limit=2_000)
EVIDENCE = Field(
    "evidence",
    Kind.LOCATION,
    N_("Evidence"),
    N_("A controlled location where the proof lies, not the proof itself."),
)
ATTEMPT_NUMBER = Field("attempt", Kind.WHOLE, N_("Attempt"), N_("The attempt's number."), low=1, high=INT4)
