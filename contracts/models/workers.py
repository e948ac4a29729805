"""What workers are known by, and what they were answered."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from contracts.models.prepared import run
from contracts.models.teams import Team
from contracts.rules.vocabulary import LINE_MAX

_BEARER = b"""
SELECT t.id::text, t.worker, CASE WHEN t.revoked_at IS NOT NULL THEN 'token_revoked'
        WHEN t.expires_at <= clock_timestamp() THEN 'token_expired' ELSE '' END,
    CASE WHEN t.last_used_at IS NULL OR t.last_used_at < clock_timestamp() - interval '1 minute' THEN 'unnoted' END,
    (SELECT s.contract_id::text FROM contracts_tokenscope s JOIN contracts_contract c ON c.id = s.contract_id
        WHERE s.token_id = t.id AND c.task_id = $2::text),
    t.token_id
FROM contracts_workertoken t WHERE t.digest = $1::text
"""


@dataclass(frozen=True, slots=True)
class Bearing:
    """Who bears a token: its key, the worker, and the key of the contract `sought` if the token reaches it.

    `closed`: the code of why it opens nothing, by the database's clock. `unnoted`: its use is to be noted, as it
    was not within the last minute.
    """

    pk: int
    worker: str
    closed: str
    unnoted: bool
    sought: str
    reached: int | None
    token_id: str  # what people and logs call the token


def find_bearing(digest: str, task_id: str = "") -> Bearing | None:
    """Return who bears the token of this digest and what it reaches of `task_id` (one prepared query)."""
    row = run(_BEARER, [digest, task_id])
    if row is None:
        return None
    pk, worker, closed, unnoted, reached, token_id = row
    contract = None if reached is None else int(reached)
    return Bearing(
        int(pk or 0), worker or "", closed or "", unnoted is not None, task_id, contract, token_id or ""
    )


class WorkerTokenQuerySet(models.QuerySet["WorkerToken"]):
    """Reads of tokens."""

    def live(self, now: datetime) -> "WorkerTokenQuerySet":
        """Return the tokens that open something at `now`."""
        return self.filter(revoked_at__isnull=True, expires_at__gt=now)


class WorkerToken(models.Model):
    """What one worker proves itself with. Only its digest is kept: the token itself is shown once.

    Two tokens of one worker may overlap, so that one can be changed for the other without a pause.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="worker_tokens")
    token_id = models.CharField(max_length=20, unique=True)  # what people and logs call it
    worker = models.CharField(max_length=LINE_MAX)
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the whole token
    made_at = models.DateTimeField(db_default=Now(), editable=False)
    made_by = models.CharField(max_length=LINE_MAX)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.CharField(max_length=LINE_MAX, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute

    objects: ClassVar[WorkerTokenQuerySet] = WorkerTokenQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(digest__regex="^[0-9a-f]{64}$"), name="token_digest"),
            models.CheckConstraint(condition=Q(expires_at__gt=F("made_at")), name="token_expires_after_made"),
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=True, revoked_by="")
                | Q(revoked_at__isnull=False) & ~Q(revoked_by=""),
                name="revoking_names_who_and_when",
            ),
        ]
        indexes = [models.Index(fields=["team", "-made_at"], name="tokens_of_team")]

    def __str__(self) -> str:
        return f"{self.worker} {self.token_id}"


class TokenScope(models.Model):
    """One contract that one token reaches. What is not listed does not exist for its bearer."""

    contract = models.ForeignKey(
        "contracts.Contract", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    token = models.ForeignKey(WorkerToken, on_delete=models.CASCADE, related_name="scopes")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "token"], name="token_reaches_contract_once")
        ]

    def __str__(self) -> str:
        return f"{self.token_id} {self.contract_id}"


class StoredAnswer(models.Model):
    """The answer to one request that changes something: the same key gets the same bytes, for ever.

    It is stored in the transaction of what was done, so that neither is there without the other.
    """

    contract = models.ForeignKey(
        "contracts.Contract", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    worker = models.CharField(max_length=LINE_MAX)
    key = models.CharField(max_length=LINE_MAX)
    request_sha256 = models.CharField(max_length=64)  # of method, path and body
    status = models.PositiveSmallIntegerField()
    content_type = models.CharField(max_length=LINE_MAX)
    body = models.BinaryField()
    answered_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["contract", "worker", "key"], name="one_answer_per_key"),
            models.CheckConstraint(
                condition=Q(request_sha256__regex="^[0-9a-f]{64}$"), name="answered_request_digest"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker} {self.key}"

    @property
    def retired(self) -> bool:
        """Tell whether the body was removed long after the contract had ended; none is empty when it is stored."""
        return not self.body
