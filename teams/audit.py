"""The one record of who did what: append-only rows in hash chains, one chain for each team and one for the platform.

``record`` belongs in the same transaction as the act. Rows hold ids only: names are resolved when they are shown.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from teams.models import AuditChain, AuditEvent, Team, User

PLATFORM = "platform"
GENESIS = "0" * 64


@dataclass(frozen=True)
class Acting:
    """Through which door the act came, and from which address."""

    via: str
    address: str = ""


_WORKER = Acting("task")
_acting: ContextVar[Acting] = ContextVar("acting", default=_WORKER)


@contextmanager
def acting(via: str, address: str = "") -> Iterator[None]:
    """Say for the time of the block through which door acts come: session, key:<id>, token:<id>, task, command."""
    token = _acting.set(Acting(via, address))
    try:
        yield
    finally:
        _acting.reset(token)


def came_by(via: str) -> None:
    """Say it for the rest of the block that is open: authentication finds out only inside the request."""
    _acting.set(replace(_acting.get(), via=via))


def record(
    act: str,
    *,
    by: User | None,
    on: models.Model,
    team: Team | None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> AuditEvent:
    """Append one row to the team's chain, or to the platform's where there is no team.

    ``before`` and ``after`` hold ids and short stored values (texts, whole numbers, yes or no), never text of an
    incident.

    Raises:
        TypeError: a value is of another kind. A fraction comes back from a JSON column with other digits than were
            hashed, and the row would read as changed.
        TransactionManagementError: there is no transaction to share with the act.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("An audit row belongs in the transaction of its act.")
    for value in (*(before or {}).values(), *(after or {}).values()):
        _check(value)
    chain = _locked(f"team:{team.public_id}" if team else PLATFORM)
    context = _acting.get()
    event = AuditEvent(
        chain=chain,
        sequence=chain.next_sequence,
        at=timezone.now().isoformat(timespec="milliseconds"),
        actor_id=by.public_id if by else None,
        via=context.via,
        act=act,
        object_type=on._meta.model_name or "",
        object_id=str(getattr(on, "public_id", None) or getattr(on, "key_id", None) or on.pk),
        before=dict(before or {}),
        after=dict(after or {}),
        address=context.address,
        previous_hash=chain.last_hash,
    )
    event.row_hash = row_hash(event)
    event.save(force_insert=True)
    AuditChain.objects.filter(pk=chain.pk).update(next_sequence=event.sequence + 1, last_hash=event.row_hash)
    return event


def _check(value: object) -> None:
    if isinstance(value, list):
        for item in value:
            _check(item)
    elif not isinstance(value, str | int | None):
        raise TypeError(f"An audit row cannot keep a {type(value).__name__}.")


def _locked(name: str) -> AuditChain:
    """Return the head of the chain with its row locked, so that writers come one after another.

    SQLite ignores the row lock; there ``BEGIN IMMEDIATE`` has locked the whole database already.
    """
    AuditChain.objects.get_or_create(name=name)
    return AuditChain.objects.select_for_update().get(name=name)


def row_hash(event: AuditEvent) -> str:
    """Return SHA-256 over the previous row's hash and the canonical JSON of this row."""
    row = {
        "chain": event.chain.name,
        "sequence": event.sequence,
        "at": event.at,
        "actor": str(event.actor_id) if event.actor_id else None,
        "via": event.via,
        "act": event.act,
        "object": [event.object_type, event.object_id],
        "before": event.before,
        "after": event.after,
        "address": event.address,
    }
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(f"{event.previous_hash}{text}".encode()).hexdigest()


def verify(chain: AuditChain) -> list[str]:
    """Return one sentence for each row that was changed, is missing or stands in the wrong place; none when intact."""
    problems: list[str] = []
    expected, ends = 1, {GENESIS}
    for event in chain.events.order_by("sequence").iterator():
        event.chain = chain
        true_hash = row_hash(event)
        if event.sequence != expected:
            problems.append(f"{chain.name}: {_missing(expected, event.sequence - 1)}.")
        elif event.row_hash != true_hash:
            problems.append(f"{chain.name}: row {event.sequence} was changed.")
        elif event.previous_hash not in ends:
            problems.append(f"{chain.name}: row {event.sequence} does not follow row {event.sequence - 1}.")
        # A row that was changed is named itself; the next one is right if it follows either of its hashes.
        expected, ends = event.sequence + 1, {event.row_hash, true_hash}
    if expected < chain.next_sequence:
        problems.append(f"{chain.name}: {_missing(expected, chain.next_sequence - 1)}.")
    elif expected > chain.next_sequence or chain.last_hash not in ends:
        problems.append(f"{chain.name}: its head does not follow row {expected - 1}.")
    return problems


def _missing(first: int, last: int) -> str:
    return f"row {first} is missing" if first == last else f"rows {first} to {last} are missing"
