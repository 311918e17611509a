"""Asks a project's memory with the bank bound: what a recall may read follows from today's access, never from a caller.

A memory server gives candidates, not texts. Its results are collapsed by document, looked up among *our* rows of that
very bank, ranked by our own landscape of it, and judged by the gate; what is handed on is our own revision. An id that
the bank's rows do not know, made up, forged or another project's, is dropped.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from incidents.memory import banks
from incidents.memory.features import Placed
from incidents.memory.gate import JUDGED, RIVALS, Judged, judge
from incidents.memory.landscape import Landscape
from incidents.memory.readings import landscape_of, memory_text, revisions_of, wanted
from incidents.memory.texts import AlertText
from incidents.memory.words import stems
from incidents.models import Evidence, Incident, MemoryRecord, MemoryRecordRevision
from incidents.models.investigation import MatchStrength, MemoryWord
from incidents.reading.facts import AlertFacts
from incidents.reading.text import clean
from oncall.clients.memory import Memory, MemoryFailure
from teams.models import Bank, Project

Kind = MemoryRecord.Kind

RESOLUTIONS = (Kind.VERIFIED_RESOLUTION, Kind.IMPORTED_INCIDENT)
CANDIDATES_SHOWN = 5
# Generous, so that what our rows no longer want, and a server still has, hides nothing.
RECALL_LIMIT = 30
QUERIES_AT_MOST = 6
QUERY_CHARACTERS = 1000
# Reciprocal rank fusion, with the constant that its authors found: see oncall.clients.embedded.index.
FUSION_K = 60
_STRONGEST_FIRST = (MatchStrength.CLOSE, MatchStrength.PARTIAL, MatchStrength.WEAK)


@dataclass(frozen=True)
class Candidate:
    """A memory that the gate judged. ``project`` owns it, where that is another project of the same team."""

    record: MemoryRecord
    revision: MemoryRecordRevision
    scope: str
    strength: str
    reason: str
    project: Project | None = None


@dataclass(frozen=True)
class Recalled:
    """What one bank gave: memory's word, at most five candidates, best first, and why it was unavailable."""

    word: str
    candidates: tuple[Candidate, ...] = ()
    problem: str = ""


class BoundRecall:
    """The memory of one project, asked about one alert. No method raises when the memory server fails.

    ``alert_text`` is what came in and, where there are any, an engineer's answers: what memories are compared with.
    ``exclude_incident`` is the one under investigation: its own records are no evidence that it is known, but what
    failed on it counts.
    """

    def __init__(
        self,
        *,
        project: Project,
        memory: Memory | None,
        alert_text: str,
        facts: AlertFacts,
        exclude_incident: Incident | None,
    ) -> None:
        self._project = project
        self._memory = memory
        self._incident = exclude_incident
        self._alert = AlertText(alert_text, facts, exclude_incident.fingerprint if exclude_incident else "")

    def own(self, queries: Sequence[str]) -> Recalled:
        """Ask the project's own bank for verified resolutions and imports."""
        return self._ask_own(RESOLUTIONS, queries, exclude=self._incident)

    def failed_attempts(self, queries: Sequence[str]) -> Recalled:
        """Ask the project's own bank for what was tried and failed."""
        return self._ask_own((Kind.FAILED_ATTEMPT,), queries)

    def same_team(self, queries: Sequence[str]) -> list[Recalled]:
        """Ask each bank of the same team that the project may read now."""
        if self._memory is None or not self._is_on():
            return []
        return [
            self._ask(self._memory, bank, RESOLUTIONS, queries, scope=Evidence.Scope.SAME_TEAM, project=owner)
            for bank, owner in banks.same_team_banks(self._project)
        ]

    def shared(self, queries: Sequence[str]) -> Recalled:
        """Ask the shared lessons; the word is off unless platform and team both let the project use them now."""
        bank = banks.shared_bank(self._project)
        if self._memory is None or bank is None or not self._is_on():
            return Recalled(MemoryWord.OFF)
        return self._ask(self._memory, bank, (Kind.LESSON,), queries, scope=Evidence.Scope.SHARED)

    def has_memories(self) -> bool:
        """Return whether anything should be in the own bank, whether or not it can be recalled yet."""
        return wanted(banks.own_bank(self._project)).exists()

    def _ask_own(self, kinds: Collection[Kind], queries: Sequence[str], exclude: Incident | None = None) -> Recalled:
        if self._memory is None or not self._is_on():
            return Recalled(MemoryWord.OFF)
        bank = banks.own_bank(self._project)
        return self._ask(self._memory, bank, kinds, queries, scope=Evidence.Scope.OWN, exclude=exclude)

    def _is_on(self) -> bool:
        return Project.objects.filter(pk=self._project.pk, memory_on=True).exists()

    def _ask(
        self,
        memory: Memory,
        bank: Bank,
        kinds: Collection[Kind],
        queries: Sequence[str],
        *,
        scope: Evidence.Scope,
        project: Project | None = None,
        exclude: Incident | None = None,
    ) -> Recalled:
        return ask(
            memory,
            bank,
            kinds,
            queries,
            self._alert,
            scope=scope,
            project=project,
            exclude=exclude,
            strict=Project.objects.filter(pk=self._project.pk, relevance=Project.Relevance.STRICT).exists(),
        )


def ask(
    memory: Memory,
    bank: Bank,
    kinds: Collection[Kind],
    queries: Sequence[str],
    alert: AlertText,
    *,
    scope: Evidence.Scope = Evidence.Scope.OWN,
    project: Project | None = None,
    exclude: Incident | None = None,
    strict: bool = False,
) -> Recalled:
    """Recall from one bank and judge what came: all that an investigation knows of memory goes through here.

    With ``strict``, what is not close is weak.
    """
    landscape = landscape_of(bank)
    held = landscape.groups() & {kind.value for kind in kinds}
    if not len(landscape):
        return Recalled(MemoryWord.EMPTY)
    try:
        document_ids = recalled_ids(memory, bank, [kind for kind in kinds if kind.value in held], queries)
    except MemoryFailure as failure:
        return Recalled(MemoryWord.UNAVAILABLE, problem=str(failure))
    ranked = _ranked(bank, landscape, kinds, document_ids, alert, exclude)
    words = _counted(ranked.candidates, judge(alert, ranked.candidates, ranked.rivals, landscape))
    if strict:
        words = [_strictly(word) for word in words]
    order = sorted(
        zip(ranked.candidates, words, strict=True),
        key=lambda pair: (_STRONGEST_FIRST.index(pair[1].strength), -pair[1].score),
    )
    candidates = tuple(
        Candidate(revision.record, revision, scope.value, word.strength.value, word.reason, project)
        for placed, word in order[:CANDIDATES_SHOWN]
        for revision in [ranked.revisions[placed.key]]
    )
    matched = any(candidate.strength != MatchStrength.WEAK for candidate in candidates)
    return Recalled(MemoryWord.MATCHED if matched else MemoryWord.NO_MATCH, candidates)


@dataclass(frozen=True)
class _Ranked:
    candidates: list[Placed]
    rivals: list[Placed]
    revisions: dict[int, MemoryRecordRevision]


def _ranked(
    bank: Bank,
    landscape: Landscape[int],
    kinds: Collection[Kind],
    document_ids: Sequence[str],
    alert: AlertText,
    exclude: Incident | None,
) -> _Ranked:
    """Return the first of what the memory gave, ordered by the landscape, and the nearest of the bank."""
    usable = wanted(bank).filter(kind__in=kinds)
    without: set[int] = set()
    if exclude:
        without = set(usable.filter(incident=exclude).values_list("pk", flat=True))
    given = {parsed for text in document_ids if (parsed := _uuid(text))}
    recalled = set(usable.filter(document_id__in=given).values_list("pk", flat=True)) - without
    near = landscape.near(alert.reading, groups={kind.value for kind in kinds}, without=without)
    scores = near.scores(recalled)
    best = sorted(scores, key=lambda record: (-scores[record], record))[:JUDGED]
    rivals = near.best(RIVALS)
    scores |= near.scores(rivals)
    records = usable.filter(pk__in={*best, *rivals})
    revisions: dict[int, MemoryRecordRevision] = {one.record_id: one for one in revisions_of(records)}
    placed = {key: Placed(key, memory_text(revision), scores[key]) for key, revision in revisions.items()}
    return _Ranked(
        candidates=[placed[key] for key in best if key in placed],
        rivals=[placed[key] for key in rivals if key in placed],
        revisions=revisions,
    )


def _strictly(word: Judged) -> Judged:
    if word.strength != MatchStrength.PARTIAL:
        return word
    reason = f"Near, but this project takes only close matches: {word.reason[:1].lower()}{word.reason[1:]}"
    return replace(word, strength=MatchStrength.WEAK, reason=reason[:300])


def recalled_ids(memory: Memory, bank: Bank, kinds: Collection[Kind], queries: Sequence[str]) -> list[str]:
    """Return the ids of the documents that the queries gave, fused, best first, each once.

    Each kind is asked for by itself, so that many memories of one kind do not hide another.

    Raises:
        MemoryFailure: the memory did not answer one of them.
    """
    scores: dict[str, float] = defaultdict(float)
    for query in _usable(queries):
        for kind in kinds:
            recalled = memory.recall(bank.bank_id, query, tags=[f"kind:{kind.value}"], limit=RECALL_LIMIT)
            for rank, document_id in enumerate(dict.fromkeys(item.document_id for item in recalled), start=1):
                scores[document_id] += 1 / (FUSION_K + rank)
    return sorted(scores, key=lambda document_id: -scores[document_id])


def _usable(queries: Sequence[str]) -> list[str]:
    """Return the queries that hold a word; a memory server refuses one of nothing but punctuation."""
    cut = dict.fromkeys(clean(query)[:QUERY_CHARACTERS].strip() for query in queries)
    return [query for query in cut if stems(query)][:QUERIES_AT_MOST]


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _counted(placed: Sequence[Placed], words: Sequence[Judged]) -> list[Judged]:
    """Return the gate's words, with how often the same fix matched where that is more than once."""
    fixes = [one.memory.fix_id for one in placed]
    matching = [fix for fix, word in zip(fixes, words, strict=True) if word.strength != MatchStrength.WEAK and fix]
    times = Counter(matching)
    return [
        replace(word, reason=f"{word.reason.rstrip('.')}, seen {times[fix]}×.")
        if word.strength != MatchStrength.WEAK and fix and times[fix] > 1
        else word
        for fix, word in zip(fixes, words, strict=True)
    ]
