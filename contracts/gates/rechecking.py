"""Objects whose source or artefact changed: they are looked at again, against the versions in force."""

from collections.abc import Iterable

from django.db.models import F, Q

from contracts.gates.beats import Turn
from contracts.models import Artefact, Source, WorkObject
from contracts.rules.states import Act, ObjectState


def point_to_current(turn: Turn, rows: Iterable[WorkObject]) -> list[WorkObject]:
    """Bind objects that are looked at again to the versions in force, in memory alone; return those that moved."""
    moved = []
    for work_object in rows:
        for name, model, column in (("source", Source, "source_id"), ("artefact", Artefact, "artefact_id")):
            former = getattr(work_object, name)
            if former is None or former.current:
                continue
            known = model.objects.of(turn.contract.pk).filter(current=True)
            newest = known.filter(**{column: getattr(former, column)}).first()
            if newest is not None:
                setattr(work_object, name, newest)
                moved.append(work_object)
    return moved


def recheck_drifted(turn: Turn) -> None:
    """Let every confirmed object be looked at again that rests on what is no longer current."""
    drifted = Q(source__current=False) | Q(artefact__current=False)
    # Whoever accepted an artefact for another version of its very source knew that source.
    drifted |= Q(artefact__source__current=False) & (
        Q(source__isnull=True) | ~Q(artefact__source__source_id=F("source__source_id"))
    )
    confirmed = WorkObject.objects.of(turn.contract.pk).filter(drifted, state=ObjectState.CONFIRMED.value)
    touched = []
    for work_object in confirmed.joined():
        before = work_object.facts()
        work_object.state = ObjectState.RECHECK.value
        work_object.version += 1
        turn.note(Act.SOURCE_CHANGED.value, "object", work_object.natural_key(), before, work_object.facts())
        touched.append(work_object)
    WorkObject.objects.bulk_update(touched, ["state", "version"], batch_size=1_000)
