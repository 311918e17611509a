"""One bounded run of the agent over an incident, and what it left: steps, questions, two diagnoses, evidence."""

import uuid
from typing import Self

from django.db import models
from django.db.models import Case, Exists, OuterRef, Q, Subquery, Value, When

from incidents.models.incident import Category, Severity
from incidents.models.lease import Leased
from incidents.models.record import MemoryRecordRevision
from teams.models import BankAssignment


class Confidence(models.TextChoices):
    """How sure. The code decides, by rules."""

    HIGH = "high", "High"
    MEDIUM = "medium", "Medium"
    LOW = "low", "Low"


class Pattern(models.TextChoices):
    """What kind of incident this is, seen from memory."""

    KNOWN_HERE = "known_here", "Known here"
    SEEN_ELSEWHERE = "seen_elsewhere", "Seen elsewhere"
    NEW_PATTERN = "new_pattern", "New pattern"
    NEEDS_MORE_INFO = "needs_more_info", "Needs more information"


class MemoryWord(models.TextChoices):
    """How memory answered. Unavailable is not the same as no match."""

    MATCHED = "matched", "Matched"
    NO_MATCH = "no_match", "No match"
    EMPTY = "empty", "Empty"
    OFF = "off", "Off"
    UNAVAILABLE = "unavailable", "Unavailable"


class MatchStrength(models.TextChoices):
    """How much a memory is the same failure."""

    CLOSE = "close", "Close match"
    PARTIAL = "partial", "Partial match"
    WEAK = "weak", "Weak match"


class Investigation(models.Model):
    """Has two diagnoses, or one where the project's memory is off. The second to end closes it."""

    class State(models.TextChoices):
        """Active while running or waiting."""

        RUNNING = "running", "Running"
        WAITING = "waiting", "Waiting for an answer"
        FINISHED = "finished", "Finished"
        CANCELLED = "cancelled", "Cancelled"

    ACTIVE = (State.RUNNING, State.WAITING)
    Pattern = Pattern
    MemoryWord = MemoryWord

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    incident = models.ForeignKey("incidents.Incident", models.PROTECT, related_name="investigations")
    number = models.PositiveSmallIntegerField()
    strategy = models.CharField(max_length=12)
    memory_on = models.BooleanField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.RUNNING)
    # "" until it ends, and for ever where memory was unavailable or off.
    pattern = models.CharField(max_length=16, choices=Pattern.choices, blank=True)
    memory_word = models.CharField(max_length=12, choices=MemoryWord.choices, blank=True)
    started_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    # Set while waiting; the sweep ends the wait.
    waits_until = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    # Commands and evaluations never wait for a person.
    may_ask = models.BooleanField(default=True)

    class Meta:
        """One active investigation for each incident."""

        constraints = [
            models.UniqueConstraint(fields=["incident", "number"], name="investigation_number_once"),
            models.UniqueConstraint(
                fields=["incident"], condition=Q(state__in=["running", "waiting"]), name="investigation_one_active"
            ),
        ]

    def __str__(self) -> str:
        return f"investigation {self.number} of incident {self.incident_id}"

    @property
    def is_active(self) -> bool:
        """Whether it still runs or waits."""
        return self.state in self.ACTIVE


class Diagnosis(Leased):
    """A structured answer, the work of one task. Immutable once finished."""

    class Kind(models.TextChoices):
        """What it may see."""

        ALERT_ONLY = "alert_only", "Alert alone"
        WITH_MEMORY = "with_memory", "With memory"

    class State(models.TextChoices):
        """How far the task is."""

        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        WAITING = "waiting", "Waiting for an answer"
        FINISHED = "finished", "Finished"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    ENDED = (State.FINISHED, State.FAILED, State.CANCELLED)
    Confidence = Confidence

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    investigation = models.ForeignKey(Investigation, models.PROTECT, related_name="diagnoses")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)

    severity = models.CharField(max_length=8, choices=Severity.choices, blank=True)
    category = models.CharField(max_length=16, choices=Category.choices, default=Category.NOT_KNOWN)
    summary = models.TextField(blank=True)
    root_cause = models.TextField(blank=True)
    confidence = models.CharField(max_length=8, choices=Confidence.choices, blank=True)
    confidence_reason = models.TextField(blank=True)
    ruled_out = models.JSONField(default=list)  # [str]
    # [{"text", "command": str | null, "refs": [str], "fix": public id | null, "rated_not_helpful": bool,
    #   "struck": {"attempt": public id, "record": public id | null, "doubtful": bool} | null}]
    immediate_actions = models.JSONField(default=list)
    long_term_fixes = models.JSONField(default=list)  # [str]
    needs_more_info = models.BooleanField(default=False)
    clarifying_questions = models.JSONField(default=list)  # [str]
    safe_checks = models.JSONField(default=list)  # [{"text", "command"}], from a table in code
    # Failed fixes of this kind of incident: [{"fix", "attempt", "record", "doubtful"}] as public ids.
    do_not_repeat = models.JSONField(default=list)
    # What the rules changed, in words: [{"rule": 1..7, "text"}].
    warnings = models.JSONField(default=list)
    # The model's text where no form of the report could be read.
    unreadable_text = models.TextField(blank=True)

    model = models.CharField(max_length=80, blank=True)
    simulated = models.BooleanField(default=False)
    # Why it ended before it was done: steps, deadline, tokens, crashed, ... in words; "" when it was done.
    stopped = models.CharField(max_length=200, blank=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    worked_seconds = models.FloatField(default=0)
    # When it was last handed to the queue; the sweep sends it again when nobody took it.
    queued_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """One of each kind."""

        constraints = [models.UniqueConstraint(fields=["investigation", "kind"], name="diagnosis_kind_once")]

    def __str__(self) -> str:
        return f"{self.kind} of investigation {self.investigation_id}"


class Step(models.Model):
    """One thing the agent did, saved as it happened. The conversation is rebuilt from these rows.

    No text of a memory stands here: ``result`` names records and revisions, and is rendered under today's access.
    """

    class Kind(models.TextChoices):
        """What it was."""

        TOOL = "tool", "Tool"
        MODEL = "model", "Model call"
        RULES = "rules", "Checked by the rules"

    class Status(models.TextChoices):
        """How it went."""

        RUNNING = "running", "Running"
        SUCCESS = "success", "Done"
        NO_DATA = "no_data", "Nothing found"
        REFUSED = "refused", "Refused"
        ERROR = "error", "Failed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    diagnosis = models.ForeignKey(Diagnosis, models.PROTECT, related_name="steps")
    sequence = models.PositiveSmallIntegerField()
    # Which turn of the model asked for it; one turn may call several tools.
    turn = models.PositiveSmallIntegerField(default=0)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=80)
    call_id = models.CharField(max_length=120, blank=True)
    arguments = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    scope = models.CharField(max_length=40, blank=True)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.RUNNING)
    # One line for the trace: "2 queries, 3 memories".
    line = models.CharField(max_length=300, blank=True)
    model = models.CharField(max_length=80, blank=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    # For a model call: its parts, by reference where a part is a memory, and a hash of what went out.
    sent = models.JSONField(default=dict)
    sent_hash = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField()
    seconds = models.FloatField(default=0)

    class Meta:
        """In the order they happened."""

        ordering = ["diagnosis", "sequence"]
        constraints = [models.UniqueConstraint(fields=["diagnosis", "sequence"], name="step_place")]

    def __str__(self) -> str:
        return f"{self.sequence} {self.name}"


class Question(models.Model):
    """What the agent asks the engineer. All open questions of a run are one wait."""

    class AskedBy(models.TextChoices):
        """Where it came from."""

        MODEL = "model", "The model"
        RULES = "rules", "The rules: the alert is too vague"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    investigation = models.ForeignKey(Investigation, models.PROTECT, related_name="questions")
    sequence = models.PositiveSmallIntegerField()
    asked_by = models.CharField(max_length=8, choices=AskedBy.choices)
    text = models.CharField(max_length=300)
    example = models.CharField(max_length=200, blank=True)
    # The tool call that asked, so that the answer becomes its result.
    call_id = models.CharField(max_length=120, blank=True)
    answer = models.TextField(blank=True)
    answered_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    # Set when the wait ended, with an answer or without one.
    closed_at = models.DateTimeField(null=True, blank=True)
    asked_at = models.DateTimeField()

    class Meta:
        """In the order they were asked."""

        ordering = ["investigation", "sequence"]
        constraints = [models.UniqueConstraint(fields=["investigation", "sequence"], name="question_place")]

    def __str__(self) -> str:
        return self.text


class EvidenceQuerySet(models.QuerySet["Evidence"]):
    """Reads that put text beside the citation."""

    def with_text(self) -> Self:
        """Add ``revision_title`` and ``revision_text`` as the diagnosis's project may read them today.

        Both are empty, and ``is_readable`` is False, once the project may no longer read the bank.
        """
        project = OuterRef("diagnosis__investigation__incident__project")
        assigned = BankAssignment.objects.filter(
            bank=OuterRef("record__bank"),
            project=project,
            access__in=[BankAssignment.Access.OWN, BankAssignment.Access.READ],
        )
        revision = MemoryRecordRevision.objects.filter(record=OuterRef("record"), number=OuterRef("revision"))
        readable, text = Q(is_readable=True), models.TextField()
        return self.annotate(
            is_readable=Exists(assigned),
            revision_title=Case(
                When(readable, then=Subquery(revision.values("title"))), default=Value(""), output_field=text
            ),
            revision_text=Case(
                When(readable, then=Subquery(revision.values("text"))), default=Value(""), output_field=text
            ),
        )


class Evidence(models.Model):
    """A memory that was recalled for a diagnosis: accepted as evidence, or not, with the reason."""

    class Scope(models.TextChoices):
        """Whose memory it is."""

        OWN = "own", "This project"
        SAME_TEAM = "same_team", "Same team"
        SHARED = "shared", "Shared lesson"

    diagnosis = models.ForeignKey(Diagnosis, models.PROTECT, related_name="evidence")
    ref = models.CharField(max_length=6)  # P1, T1, S1; F1 for a failed attempt
    scope = models.CharField(max_length=10, choices=Scope.choices)
    record = models.ForeignKey("incidents.MemoryRecord", models.PROTECT, related_name="citations")
    revision = models.PositiveIntegerField()
    # Where the quote stands in the revision's text; both None without one.
    quote_start = models.PositiveIntegerField(null=True, blank=True)
    quote_end = models.PositiveIntegerField(null=True, blank=True)
    match_strength = models.CharField(max_length=8, choices=MatchStrength.choices)
    # What the gate saw, in one line of words, and what the model said.
    reason = models.CharField(max_length=300, blank=True)
    model_reason = models.CharField(max_length=300, blank=True)
    accepted = models.BooleanField(default=False)
    not_used_because = models.CharField(max_length=200, blank=True)
    position = models.PositiveSmallIntegerField(default=0)

    objects = EvidenceQuerySet.as_manager()

    class Meta:
        """Each reference once in a diagnosis."""

        ordering = ["diagnosis", "position", "pk"]
        constraints = [models.UniqueConstraint(fields=["diagnosis", "ref"], name="evidence_ref_once")]

    def __str__(self) -> str:
        return self.ref
