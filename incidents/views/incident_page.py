"""Puts what the incident's page shows into the order of reading.

Nothing is decided here: strengths, confidence, pattern and what is struck out come from the rows that the rules wrote.
Names, dates, minutes and runbooks come from our rows through the cited record, never from a model's text.
"""

from functools import cached_property
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format

from incidents.models import (
    Attempt,
    Delivery,
    Diagnosis,
    Evidence,
    Fix,
    Incident,
    Investigation,
    MemoryRecord,
    Outcome,
    Question,
)
from incidents.models.fix import Followed
from incidents.models.track import TrackRecord
from incidents.services import bring_in
from incidents.services.bring_in import Helper
from incidents.views.cards import Action, Card, Failed, kind, left, quoted
from incidents.views.incident_rows import IncidentRows
from incidents.views.timeline import TimelineLine, timeline
from incidents.views.two_answers import Answer, Row, Side, changed, compare, ready
from teams.models import Membership, User

NOT_USED_SHOWN = 6


class IncidentPage(IncidentRows):
    """What one person sees of one incident."""

    @property
    def is_active(self) -> bool:
        """Whether an investigation runs or waits."""
        return self.investigation is not None and self.investigation.is_active

    @property
    def live_state(self) -> str:
        """What the page's script is told: running, waiting or done."""
        if self.is_waiting:
            return "waiting"
        return "running" if self.is_active else "done"

    @property
    def open_questions(self) -> list[Question]:
        """Questions that nobody has answered yet."""
        return [question for question in self.questions if question.closed_at is None]

    @property
    def takes_up_later(self) -> bool:
        """Whether the run ended for want of an answer and can be taken up."""
        return (
            not self.is_active
            and self.investigation is not None
            and self.investigation.pattern == Investigation.Pattern.NEEDS_MORE_INFO
            and bool(self.questions)
        )

    @property
    def main(self) -> Diagnosis | None:
        """The answer that the page acts on: with memory where there is one."""
        finished = [d for d in (self.memory, self.alone) if d and d.state == Diagnosis.State.FINISHED]
        return finished[0] if finished else None

    @property
    def matched(self) -> bool:
        """Whether memory matched; only then is it said what memory changed."""
        word = self.investigation.memory_word if self.investigation else ""
        return word == Investigation.MemoryWord.MATCHED

    @cached_property
    def cards(self) -> list[Card]:
        """Accepted evidence, at most three, in the order that the rules gave."""
        return [self._card(item) for item in self.evidence if item.accepted][:3]

    @cached_property
    def _not_used(self) -> list[Evidence]:
        return [item for item in self.evidence if not item.accepted]

    @cached_property
    def not_used(self) -> list[Card]:
        """What was recalled and not used, with why: the first ones, in the order of the rules."""
        return [self._card(item) for item in self._not_used[:NOT_USED_SHOWN]]

    @property
    def not_used_count(self) -> int:
        """How many were recalled and not used."""
        return len(self._not_used)

    @property
    def not_used_more(self) -> int:
        """How many of them are not shown."""
        return len(self._not_used) - len(self.not_used)

    @cached_property
    def rows(self) -> list[Row]:
        """The two answers, row by row."""
        cited = tuple(card.evidence.ref for card in self.cards[:2])
        return compare(
            Side(self.alone, self._first_action(self.alone)),
            Side(self.memory, self._first_action(self.memory), cited),
            matched=self.matched,
        )

    @property
    def same_rows(self) -> str:
        """The rows that both answers agree in, the first aside: on a phone these names stand for them."""
        return ", ".join(row.name.lower() for row in self.rows[1:] if row.delta == "same")

    @property
    def changed(self) -> str:
        """In one line, what memory changed; "" where it did not match."""
        return changed(self.rows) if self.matched else ""

    @cached_property
    def actions(self) -> list[Action]:
        """What to do now, from the answer that the page acts on."""
        return self._actions(self.main) if self.main else []

    @cached_property
    def do_not_repeat(self) -> list[Failed]:
        """Fixes that failed, as the rules found them; while a run is going, those of this incident."""
        found: list[Failed] = []
        seen: set[int] = set()
        for diagnosis in (self.memory, self.alone):
            for entry in diagnosis.do_not_repeat if diagnosis else []:
                failed = self._failed(entry)
                if failed and failed.attempt.pk not in seen:
                    seen.add(failed.attempt.pk)
                    found.append(failed)
        for attempt in self.attempts:
            if attempt.pk not in seen:
                found.append(Failed(attempt, self._record_of(attempt)))
        return found

    @cached_property
    def followable(self) -> dict[str, str]:
        """What an outcome or an attempt may say that it followed: key to label."""
        choices = {f"record:{card.evidence.ref}": f"{card.evidence.ref} {_fix_of(card)}" for card in self.cards}
        for diagnosis, words in ((self.memory, ""), (self.alone, ", alert alone" if self.memory else "")):
            for action in self._actions(diagnosis) if diagnosis else []:
                choices[action.followed_key] = f"Suggestion {action.number}{words}"
        return choices

    @cached_property
    def fixes(self) -> list[tuple[str, str]]:
        """Known fixes of the project that may be named, those on this page first."""
        named = [(item.record.fix, f"Same fix as {item.ref}: ") for item in self.evidence if item.record.fix]
        named += [(application.act.fix, "") for application in self.applications]
        labels: dict[str, str] = {}
        for fix, same in named:
            if fix.project_id == self.incident.project_id:
                labels.setdefault(str(left(fix).public_id), f"{same}{left(fix).title}")
        return list(labels.items())

    @cached_property
    def confirmable(self) -> Card | None:
        """The first card that stands for a fix of this project: *its fix worked again*."""
        own = [card for card in self.cards if card.evidence.scope == Evidence.Scope.OWN and card.record.fix_id]
        return own[0] if own else None

    @property
    def outcome_fix(self) -> Fix | None:
        """The fix of the current outcome, or what is left of it after merging."""
        return left(self.outcome.fix) if self.outcome else None

    @property
    def followed_ref(self) -> str:
        """The reference of the cited record that the outcome followed, while it stands on the page."""
        followed = self.outcome.followed_record_id if self.outcome else None
        return next((card.evidence.ref for card in self.cards if followed and card.record.pk == followed), "")

    @property
    def what_was_followed(self) -> str:
        """What the outcome followed, in words."""
        outcome = self.outcome
        if outcome is None or outcome.followed == Followed.SOMETHING_ELSE:
            return "Something else than was suggested"
        if outcome.followed == Followed.RECORD:
            return f"{self.followed_ref or 'A record'}, as memory had it"
        return f"Suggestion {(outcome.followed_action or 0) + 1}"

    @property
    def first_day(self) -> str:
        """The day that it started: "18 June", with the year where it is another one."""
        day, today = timezone.localtime(self.incident.started_at), timezone.localtime(self.now)
        return date_format(day, "j F" if day.year == today.year else "j F Y")

    @property
    def ended_on_its_day(self) -> bool:
        """Whether it was resolved on the day that it started, and that is not today."""
        if self.incident.resolved_at is None:
            return False
        day = timezone.localtime(self.incident.resolved_at).date()
        return timezone.localtime(self.incident.started_at).date() == day != timezone.localtime(self.now).date()

    @property
    def lasted(self) -> str:
        """How long the resolved incident lasted: "13 min", "3 h 20 min", "2 days"."""
        if self.incident.resolved_at is None:
            return ""
        minutes = max(1, round((self.incident.resolved_at - self.incident.started_at).total_seconds() / 60))
        hours, rest = divmod(minutes, 60)
        if hours < 1:
            return f"{minutes} min"
        if hours < 48:
            return f"{hours} h {rest} min" if rest else f"{hours} h"
        return f"{hours // 24} days"

    @cached_property
    def timeline(self) -> list[TimelineLine]:
        """Alerts, people and the agent in one list; a run of alerts is one line."""
        return timeline(self.incident, self.events, self.alerts, user=self.user)

    @cached_property
    def sweeps_saved(self) -> bool:
        """Whether something saved is still on its way to memory."""
        return any(record.state in ("queued", "retained", "forgetting") for record in self.records)

    @property
    def attempts_after_answer(self) -> int:
        """Attempts that the answer did not know yet."""
        started = self.investigation.started_at if self.investigation else None
        return sum(1 for attempt in self.attempts if started and attempt.tried_at > started)

    @cached_property
    def _helpers(self) -> list[Helper]:
        """Members who are still there, the person themselves aside."""
        return [
            bring_in.helper(membership)
            for membership in self.memberships.values()
            if membership.left_at is None and membership.user.is_active and membership.user_id != self.user.pk
        ]

    @property
    def who_fixed_this(self) -> list[Helper]:
        """Members who verified fixes for the service, those with most first; the newest first among equals."""
        found = [one for one in self._helpers if one.last_at]
        return sorted(found, key=lambda one: (one.fixes, one.last_at or self.now), reverse=True)

    @property
    def who_else(self) -> list[Helper]:
        """The rest of the team."""
        return [one for one in self._helpers if not one.last_at]

    @cached_property
    def assignable(self) -> list[User]:
        """Who may take over."""
        return [
            membership.user
            for membership in self.memberships.values()
            if membership.left_at is None and membership.role != Membership.Role.VIEWER and membership.user.is_active
        ]

    @property
    def may_be_moved(self) -> bool:
        """Whether a paste may still go to another project, as far as it is known here; the move looks again."""
        pasted = all(alert.delivery.source == Delivery.Source.PASTE for alert in self.alerts)
        return pasted and not self.records and self.incident.status != Incident.Status.RESOLVED

    @property
    def step_count(self) -> int:
        """Turns taken so far: what the limit of an investigation counts. One turn may call several tools."""
        return max((step.turn for step in self.steps), default=0)

    @property
    def seconds(self) -> float:
        """Working time of the traced run so far."""
        return sum(step.seconds for step in self.steps)

    # --- parts ------------------------------------------------------------------------------------------------------

    def has_left(self, user: User | None) -> bool:
        """Whether the person is no active member of the team."""
        if user is None:
            return False
        membership = self.memberships.get(user.pk)
        return membership is None or membership.left_at is not None or not user.is_active

    def _card(self, item: Evidence) -> Card:
        text: str = item.revision_text or ""  # type: ignore[attr-defined]
        before, quote, after = quoted(text, item.quote_start, item.quote_end)
        shared = item.scope == Evidence.Scope.SHARED
        outcome = item.record.outcome
        attempt = item.record.attempt
        by = None if shared else (outcome.verified_by if outcome else attempt.tried_by if attempt else None)
        sort, word = kind(item)
        return Card(
            evidence=item,
            title=item.revision_title or "",  # type: ignore[attr-defined]
            before=before,
            quote=quote,
            after=after,
            track=TrackRecord() if shared else self.tracks.get(_root_id(item.record), TrackRecord()),
            by=by,
            has_left=self.has_left(by),
            minutes=None if shared or not outcome else outcome.minutes,
            kind=sort,
            kind_word=word,
        )

    def _record_of(self, attempt: Attempt | Outcome) -> MemoryRecord | None:
        return next((record for record in self.records if record.attempt_id == attempt.pk), None)

    def _failed(self, entry: dict[str, Any] | None) -> Failed | None:
        if not entry or not entry.get("attempt"):
            return None
        acts = {str(application.act.public_id): application.act for application in self.applications}
        act = acts.get(str(entry["attempt"]))
        if act is None:
            return None
        records = {str(item.record.public_id): item.record for item in self.evidence}
        records |= {str(record.public_id): record for record in self.records}
        return Failed(act, records.get(str(entry.get("record"))), bool(entry.get("doubtful")))

    def _actions(self, diagnosis: Diagnosis) -> list[Action]:
        return [
            Action(
                number=index + 1,
                text=str(action.get("text") or ""),
                command=str(action.get("command") or ""),
                refs=tuple(action.get("refs") or ()),
                struck=self._failed(action.get("struck")),
                rated_not_helpful=bool(action.get("rated_not_helpful")),
                followed_key=f"action:{diagnosis.kind}:{index}",
            )
            for index, action in enumerate(diagnosis.immediate_actions)
        ]

    def _first_action(self, diagnosis: Diagnosis | None) -> Answer | None:
        if not ready(diagnosis):
            return None
        actions = self._actions(diagnosis)
        if not actions:
            return Answer("Nothing.")
        return Answer(actions[0].text, actions[0].refs, actions[0].struck)


def _fix_of(card: Card) -> str:
    return card.fix.title if card.fix else card.title


def _root_id(record: MemoryRecord) -> int:
    return record.fix.root_id if record.fix else 0
