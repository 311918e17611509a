"""Data and constraints, one file for each noun."""

from incidents.models.alert import Alert, Delivery, SystemText
from incidents.models.fix import Attempt, Feedback, Fix, Outcome
from incidents.models.incident import Incident, IncidentEvent, Note
from incidents.models.investigation import Diagnosis, Evidence, Investigation, Question, Step
from incidents.models.lease import Leased
from incidents.models.reading import MemoryReading
from incidents.models.record import MemoryRecord, MemoryRecordRevision

__all__ = [
    "Alert",
    "Attempt",
    "Delivery",
    "Diagnosis",
    "Evidence",
    "Feedback",
    "Fix",
    "Incident",
    "IncidentEvent",
    "Investigation",
    "Leased",
    "MemoryReading",
    "MemoryRecord",
    "MemoryRecordRevision",
    "Note",
    "Outcome",
    "Question",
    "Step",
    "SystemText",
]
