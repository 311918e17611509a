"""How often a fix worked: counted over outcomes and attempts that name it, never over anybody's text."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from incidents.models.fix import Attempt, Outcome
from teams.models import User


@dataclass(frozen=True)
class TrackRecord:
    """``worked`` of ``tried`` times; the last time that it worked, by whom, when, and in how many minutes."""

    worked: int = 0
    tried: int = 0
    held: int = 0
    last_by: User | None = None
    last_at: datetime | None = None
    last_minutes: int | None = None
    last_failed_at: datetime | None = None

    @property
    def failed(self) -> int:
        """How often it did not work."""
        return self.tried - self.worked


@dataclass(frozen=True)
class Application:
    """One time that a fix was applied to an incident; ``fix_id`` is what is left of the fix after merging."""

    fix_id: int
    incident_id: int
    at: datetime
    worked: bool
    act: Outcome | Attempt

    @property
    def outcome(self) -> Outcome | None:
        """The outcome, where the act is one."""
        return self.act if isinstance(self.act, Outcome) else None

    @property
    def by(self) -> User:
        """Who applied it."""
        return self.act.verified_by if isinstance(self.act, Outcome) else self.act.tried_by


def applications(fix_ids: Collection[int], *, also: Q | None = None) -> list[Application]:
    """Return every application of the fixes, and of acts that match ``also``, oldest first. Two queries.

    An outcome that did not hold counts as failed. What was merged into a fix counts as that fix.
    """
    wanted = Q(fix__in=fix_ids) | Q(fix__merged_into__in=fix_ids)
    if also:
        wanted |= also
    outcomes = Outcome.objects.filter(wanted, superseded_by=None).select_related(
        "verified_by", "incident__project", "fix__merged_into"
    )
    attempts = Attempt.objects.filter(wanted, superseded_by=None).select_related(
        "tried_by", "incident__project", "fix__merged_into"
    )
    found = [
        Application(act.fix.root_id, act.incident_id, act.verified_at, act.held is not False, act) for act in outcomes
    ] + [Application(act.fix.root_id, act.incident_id, act.tried_at, False, act) for act in attempts]
    return sorted(found, key=lambda application: application.at)


def track_records(fix_ids: Iterable[int]) -> dict[int, TrackRecord]:
    """Return the track record of each fix, also of those never applied. Two queries.

    The ids are those that are left after merging: ``Fix.root_id``.
    """
    ids = set(fix_ids)
    return {fix_id: TrackRecord() for fix_id in ids} | sum_up(applications(ids))


def sum_up(applied: Iterable[Application]) -> dict[int, TrackRecord]:
    """Return the track record of each fix that was applied. No query."""
    history: dict[int, list[Application]] = defaultdict(list)
    for application in applied:
        history[application.fix_id].append(application)
    return {fix_id: _track_record(times) for fix_id, times in history.items()}


def _track_record(applied: list[Application]) -> TrackRecord:
    worked = [application for application in applied if application.worked]
    failed = [application for application in applied if not application.worked]
    last = worked[-1].act if worked else None
    return TrackRecord(
        worked=len(worked),
        tried=len(applied),
        held=sum(1 for one in worked if isinstance(one.act, Outcome) and one.act.held),
        last_by=last.verified_by if isinstance(last, Outcome) else None,
        last_at=worked[-1].at if worked else None,
        last_minutes=last.minutes if isinstance(last, Outcome) else None,
        last_failed_at=failed[-1].at if failed else None,
    )


def usual_minutes(applied: Iterable[Application]) -> str:
    """Return how long it took each time that it worked, shortest to longest: "14 to 18 min"; "" where it never did."""
    minutes = sorted(one.act.minutes for one in applied if one.worked and isinstance(one.act, Outcome))
    if not minutes:
        return ""
    return f"{minutes[0]} min" if minutes[0] == minutes[-1] else f"{minutes[0]} to {minutes[-1]} min"
