"""The form of an answer: the schema that a model is asked to fill, and the reading of what it wrote.

The schema is flat, with every field required and nullable, because constrained decoding accepts no more than that.
Lengths, words and duplicates are checked here, after the fact. What stands in a ``Report`` is still the model's
claim: ``incidents.investigation.rules`` decides what becomes of it.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from incidents.models.incident import Category, Severity
from incidents.models.investigation import Confidence, MatchStrength
from incidents.reading.text import clean, cut

NAME = "diagnosis"
MAX_REPORT_CHARACTERS = 100_000
TEXT_LIMIT = 2000
LINE_LIMIT = 400
COMMAND_LIMIT = 2000
LIST_LIMIT = 6
QUESTION_LIMIT = 300

# Tokens of a model's own chat format, which some models let slip into their text.
CHANNEL_MARKUP = re.compile(r"<\|[A-Za-z_]{1,20}\|>")
# Invisible characters and those that turn the direction of writing: they make a line show something else than it is.
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def _strings() -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA: dict[str, Any] = _object(
    {
        "severity": {"type": ["string", "null"], "enum": [*Severity.values, None]},
        "category": {"type": "string", "enum": list(Category.values)},
        "summary": {"type": "string"},
        "root_cause": {"type": ["string", "null"]},
        "confidence": {"type": "string", "enum": list(Confidence.values)},
        "evidence": {
            "type": "array",
            "items": _object(
                {
                    "ref": {"type": "string"},
                    "quote": {"type": ["string", "null"]},
                    "match_strength": {"type": "string", "enum": list(MatchStrength.values)},
                    "reason": {"type": ["string", "null"]},
                }
            ),
        },
        "ruled_out": _strings(),
        "immediate_actions": {
            "type": "array",
            "items": _object({"text": {"type": "string"}, "command": {"type": ["string", "null"]}, "refs": _strings()}),
        },
        "long_term_fixes": _strings(),
        "needs_more_info": {"type": "boolean"},
        "clarifying_questions": _strings(),
    }
)


def tidy(value: object, limit: int) -> str:
    """Return a model's text fit to keep: no markup of its chat format, no unseen characters, at most ``limit`` long."""
    if not isinstance(value, str):
        return ""
    # The first cut keeps what follows cheap on an answer of megabytes.
    text = CHANNEL_MARKUP.sub("", _UNSEEN.sub("", value[: limit * 4]))
    return cut(clean(text).strip(), limit)


def readable(text: str, limit: int) -> str:
    """Return a model's free text fit to be shown; "" for what is only markup of its chat format."""
    return "" if CHANNEL_MARKUP.match(text.lstrip()[:40]) else tidy(text, limit)


def _tidy_list(value: object, limit: int) -> list[str]:
    items = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    texts = (tidy(item, limit) for item in items[: LIST_LIMIT * 4])
    return list(dict.fromkeys(text for text in texts if text))[:LIST_LIMIT]


def _word(value: object, allowed: Iterable[str], otherwise: str) -> str:
    word = value.strip().lower().replace(" ", "_") if isinstance(value, str) else ""
    return word if word in allowed else otherwise


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Cited(_Part):
    """A memory that the answer cites. ``match_strength`` is the model's opinion, which can only lower the gate's."""

    ref: str = ""
    quote: str = ""
    match_strength: str = MatchStrength.CLOSE
    reason: str = ""

    @field_validator("ref", mode="before")
    @classmethod
    def _read_ref(cls, value: object) -> str:
        return tidy(value, 12).strip("[]() ").upper()

    @field_validator("quote", mode="before")
    @classmethod
    def _read_quote(cls, value: object) -> str:
        return value.strip()[:TEXT_LIMIT] if isinstance(value, str) else ""

    @field_validator("match_strength", mode="before")
    @classmethod
    def _read_strength(cls, value: object) -> str:
        # A model that names no strength has no opinion; one that names an unknown one gets the lowest.
        return MatchStrength.CLOSE if value is None else _word(value, MatchStrength.values, MatchStrength.WEAK)

    @field_validator("reason", mode="before")
    @classmethod
    def _read_reason(cls, value: object) -> str:
        return tidy(value, 280)


class Action(_Part):
    """Something to do now, perhaps with a command, and the memories that it rests on."""

    text: str = ""
    command: str | None = None
    refs: tuple[str, ...] = ()

    @field_validator("text", mode="before")
    @classmethod
    def _read_text(cls, value: object) -> str:
        return tidy(value, LINE_LIMIT)

    @field_validator("command", mode="before")
    @classmethod
    def _read_command(cls, value: object) -> str | None:
        # Kept as it is, unseen characters too: what is shown, judged and copied must be the same.
        text = clean(value).strip() if isinstance(value, str) else ""
        return text if 0 < len(text) <= COMMAND_LIMIT else None

    @field_validator("refs", mode="before")
    @classmethod
    def _read_refs(cls, value: object) -> tuple[str, ...]:
        return tuple(ref.strip("[]() ").upper() for ref in _tidy_list(value, 12))


class Report(_Part):
    """What the model claims, in parts."""

    severity: str = ""
    category: str = Category.NOT_KNOWN
    summary: str = ""
    root_cause: str = ""
    confidence: str = Confidence.LOW
    evidence: tuple[Cited, ...] = ()
    ruled_out: list[str] = Field(default_factory=list)
    immediate_actions: tuple[Action, ...] = ()
    long_term_fixes: list[str] = Field(default_factory=list)
    needs_more_info: bool = False
    clarifying_questions: list[str] = Field(default_factory=list)

    @field_validator("severity", mode="before")
    @classmethod
    def _read_severity(cls, value: object) -> str:
        return _word(value, Severity.values, "")

    @field_validator("category", mode="before")
    @classmethod
    def _read_category(cls, value: object) -> str:
        return _word(value, Category.values, Category.NOT_KNOWN)

    @field_validator("confidence", mode="before")
    @classmethod
    def _read_confidence(cls, value: object) -> str:
        return _word(value, Confidence.values, Confidence.LOW)

    @field_validator("summary", "root_cause", mode="before")
    @classmethod
    def _read_text(cls, value: object) -> str:
        return tidy(value, TEXT_LIMIT)

    @field_validator("ruled_out", "long_term_fixes", mode="before")
    @classmethod
    def _read_lines(cls, value: object) -> list[str]:
        return _tidy_list(value, LINE_LIMIT)

    @field_validator("clarifying_questions", mode="before")
    @classmethod
    def _read_questions(cls, value: object) -> list[str]:
        return _tidy_list(value, QUESTION_LIMIT)[:3]

    @field_validator("evidence", mode="before")
    @classmethod
    def _read_evidence(cls, value: object) -> list[Any]:
        return _objects(value, 20)

    @field_validator("immediate_actions", mode="before")
    @classmethod
    def _read_actions(cls, value: object) -> list[Any]:
        return [item for item in _objects(value, LIST_LIMIT) if isinstance(item.get("text"), str)]

    @field_validator("needs_more_info", mode="before")
    @classmethod
    def _read_flag(cls, value: object) -> bool:
        return value is True


def _objects(value: object, limit: int) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)][:limit] if isinstance(value, list) else []


def parse_report(text: str) -> Report:
    """Return the report that a text holds, read leniently.

    Raises:
        ValueError: no JSON object stands in it, or one that says neither what happened nor why.
    """
    if len(text) > MAX_REPORT_CHARACTERS:
        raise ValueError(f"The answer has {len(text):,} characters; at most {MAX_REPORT_CHARACTERS:,} are read.")
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError("No JSON object stands in the answer.")
    try:
        data = json.loads(text[start : end + 1])
    except RecursionError as error:
        raise ValueError("The answer is nested too deeply.") from error
    if not isinstance(data, dict):
        raise ValueError("The answer is not a JSON object.")
    report = Report.model_validate(data)
    if not report.summary and not report.root_cause:
        raise ValueError("The answer has neither a summary nor a root cause.")
    return report
