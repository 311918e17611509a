"""Ratings of answers: helpful or not, with a note. A changed one reaches the bank as well."""

from dataclasses import dataclass

from django.db import transaction

from incidents.memory import records
from incidents.memory.banks import own_bank
from incidents.models import Diagnosis, Feedback, IncidentEvent, MemoryRecord
from incidents.services import acts, timeline
from incidents.services.incidents import Conflict
from incidents.services.memory import SYNC_TASK
from oncall.clients.queue import publish
from teams import audit
from teams.models import User

Kind = MemoryRecord.Kind


@dataclass(frozen=True)
class SavedFeedback:
    """A rating and its memory record."""

    feedback: Feedback
    record: MemoryRecord | None
    already_saved: bool = False


def rate(*, diagnosis: Diagnosis, helpful: bool, by: User, note: str = "") -> SavedFeedback:
    """Save a person's rating of an answer, or change the one that they gave; the change reaches the bank.

    Raises:
        Conflict: the answer is not finished.
    """
    note = acts.written(note)
    with transaction.atomic():
        incident = acts.hold(diagnosis.investigation.incident, by)
        diagnosis = Diagnosis.objects.select_related("investigation").get(pk=diagnosis.pk)
        diagnosis.investigation.incident = incident
        if diagnosis.state not in Diagnosis.ENDED:
            raise Conflict("The answer is not finished yet. Rate it when it is.")
        feedback = Feedback.objects.filter(diagnosis=diagnosis, user=by).first()
        if feedback and (feedback.helpful, feedback.note) == (helpful, note):
            return SavedFeedback(feedback, acts.record_of(Kind.FEEDBACK, feedback=feedback), already_saved=True)
        before = {"helpful": feedback.helpful} if feedback else {}
        feedback = feedback or Feedback(diagnosis=diagnosis, user=by)
        feedback.diagnosis = diagnosis
        feedback.helpful, feedback.note = helpful, note
        feedback.save()
        record = records.remember(
            bank=own_bank(incident.project),
            kind=Kind.FEEDBACK,
            incident=incident,
            content=[str(diagnosis.public_id), str(by.public_id)],
            parts=records.rating(feedback, acts.sighting(incident)),
            by=by,
            occurred_at=feedback.created_at,
            feedback=feedback,
        )
        publish(SYNC_TASK, record_id=record.pk)
        audit.record(
            "feedback.rate",
            by=by,
            on=feedback,
            team=incident.project.team,
            before=before,
            after={"helpful": helpful, "diagnosis": str(diagnosis.public_id)},
        )
        word = "helpful" if helpful else "not helpful"
        answer = f"{diagnosis.get_kind_display().lower()}: {word}"
        timeline.add(incident=incident, kind=IncidentEvent.Kind.RATED, by=by, answer=answer)
        return SavedFeedback(feedback, record)
