"""The rows that the incident's page shows: each kind loaded once, in a constant number of queries."""

from functools import cached_property

from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone

from incidents.models import (
    Alert,
    Attempt,
    Diagnosis,
    Evidence,
    Feedback,
    Incident,
    IncidentEvent,
    Investigation,
    MemoryRecord,
    Outcome,
    Question,
    Step,
)
from incidents.models.track import Application, TrackRecord, applications, sum_up
from incidents.services import bring_in
from teams.models import Membership, User

ALERTS_SHOWN = 50


class IncidentRows:
    """What one person sees of one incident. Each property loads its rows once."""

    def __init__(self, incident: Incident, user: User) -> None:
        self.incident = incident
        self.user = user
        self.now = timezone.now()

    @cached_property
    def investigation(self) -> Investigation | None:
        """The newest investigation; loaded with the incident."""
        return self.incident.latest_investigation

    @cached_property
    def diagnoses(self) -> dict[str, Diagnosis]:
        """The answers of the newest investigation, by kind, with this person's rating of each."""
        if self.investigation is None:
            return {}
        mine = Feedback.objects.filter(diagnosis=OuterRef("pk"), user=self.user)
        rows = self.investigation.diagnoses.annotate(
            my_rating=Subquery(mine.values("helpful")), my_note=Subquery(mine.values("note"))
        )
        return {diagnosis.kind: diagnosis for diagnosis in rows}

    @cached_property
    def alone(self) -> Diagnosis | None:
        """The answer from the alert alone."""
        return self.diagnoses.get(Diagnosis.Kind.ALERT_ONLY)

    @cached_property
    def memory(self) -> Diagnosis | None:
        """The answer with memory; None where the project's memory is off."""
        return self.diagnoses.get(Diagnosis.Kind.WITH_MEMORY)

    @property
    def traced(self) -> Diagnosis | None:
        """The answer whose run the trace shows: with memory, or the other where memory is off."""
        return self.memory or self.alone

    @cached_property
    def steps(self) -> list[Step]:
        """The trace: the with-memory run's steps, or the other's where memory is off."""
        return list(self.traced.steps.order_by("sequence")) if self.traced else []

    @cached_property
    def questions(self) -> list[Question]:
        """What the investigation asked, where it waits or ended for want of an answer: only then it is shown."""
        run = self.investigation
        if run is None or not (self.is_waiting or run.pattern == Investigation.Pattern.NEEDS_MORE_INFO):
            return []
        return list(run.questions.select_related("answered_by"))

    @cached_property
    def evidence(self) -> list[Evidence]:
        """What was recalled for the answer with memory, accepted or not, with its text."""
        if self.memory is None:
            return []
        return list(
            Evidence.objects.filter(diagnosis=self.memory)
            .with_text()
            .select_related(
                "record__incident__project",
                "record__outcome__verified_by",
                "record__attempt__tried_by",
                "record__created_by",
                "record__forgotten_by",
                "record__fix__merged_into",
                "record__bank",
            )
            .order_by("position", "pk")
        )

    @cached_property
    def applications(self) -> list[Application]:
        """Every time that one of the fixes on this page was applied, and every act on this incident."""
        fixes = {item.record.fix.root_id for item in self.evidence if item.record.fix}
        named = [
            entry["attempt"]
            for diagnosis in self.diagnoses.values()
            for entry in [
                *diagnosis.do_not_repeat,
                *(action.get("struck") or {} for action in diagnosis.immediate_actions),
            ]
            if entry.get("attempt")
        ]
        return applications(fixes, also=Q(incident=self.incident) | Q(public_id__in=named))

    @cached_property
    def tracks(self) -> dict[int, TrackRecord]:
        """Track records by fix."""
        return sum_up(self.applications)

    @cached_property
    def outcome(self) -> Outcome | None:
        """The current outcome; one that did not hold is current no more."""
        acts = [act.act for act in self.applications if act.incident_id == self.incident.pk]
        return next((act for act in acts if isinstance(act, Outcome) and act.is_current), None)

    @cached_property
    def attempts(self) -> list[Attempt]:
        """What was tried here and failed."""
        acts = [act.act for act in self.applications if act.incident_id == self.incident.pk]
        return [act for act in acts if isinstance(act, Attempt)]

    @cached_property
    def alerts(self) -> list[Alert]:
        """The first alerts; ``incident.alert_count`` has how many there are."""
        return list(self.incident.alerts.select_related("delivery").order_by("received_at", "pk")[:ALERTS_SHOWN])

    @cached_property
    def events(self) -> list[IncidentEvent]:
        """What people and the agent did."""
        return list(self.incident.events.select_related("by", "note__by", "system_text__by"))

    @cached_property
    def records(self) -> list[MemoryRecord]:
        """What was saved from this incident."""
        return list(
            self.incident.memory_records.select_related(
                "created_by", "fix", "feedback__diagnosis", "attempt", "outcome"
            ).order_by("created_at")
        )

    @cached_property
    def memberships(self) -> dict[int, Membership]:
        """Everybody who is or was in the team, by person, with the fixes that they verified."""
        rows = Membership.objects.filter(team=self.incident.project.team_id).select_related("user")
        return {
            membership.user_id: membership
            for membership in bring_in.with_fixes(rows, self.incident).order_by("user__name")
        }

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for an answer."""
        return self.investigation is not None and self.investigation.state == Investigation.State.WAITING
