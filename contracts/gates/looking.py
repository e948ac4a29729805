"""Who has a place open just now. It proves nothing and decides nothing, so it is no event of the contract."""

from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from contracts.models import Presence

SEEN_FOR = timedelta(seconds=45)  # after this without a sign a person is taken to have left
KEPT_FOR = timedelta(hours=1)


def look(*, contract_id: int, place: str, user: Any) -> None:
    """Record that `user` has `place` of a contract open at this moment."""
    Presence.objects.bulk_create(
        [Presence(contract_id=contract_id, place=place, person=user, seen_at=Now())],
        update_conflicts=True,
        unique_fields=["contract", "place", "person"],
        update_fields=["seen_at"],
    )
    Presence.objects.filter(Q(contract_id=contract_id), seen_at__lt=Now() - KEPT_FOR).delete()


def leave(user: Any) -> None:
    """Forget what `user` has open: whoever logs out has left, and nobody is told otherwise until it lapses."""
    Presence.objects.filter(person=user).delete()
