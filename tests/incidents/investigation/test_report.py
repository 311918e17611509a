"""Reading what a model wrote: leniently where it is harmless, never further than that."""

import json
from typing import Any

import pytest

from incidents.investigation.report import SCHEMA, Report, parse_report, readable, tidy


def written(**fields: Any) -> str:
    return json.dumps({"summary": "Pool exhausted.", **fields})


def test_parse_report_reads_a_whole_report() -> None:
    report = parse_report(
        written(
            severity="critical",
            category="capacity",
            root_cause="The reindex job holds the pool.",
            confidence="high",
            evidence=[{"ref": "P1", "quote": "held the pool", "match_strength": "close", "reason": "same error"}],
            immediate_actions=[{"text": "Pause the job", "command": "kubectl get cronjob", "refs": ["P1"]}],
            needs_more_info=False,
        )
    )

    assert report.severity == "critical"
    assert report.category == "capacity"
    assert report.evidence[0].ref == "P1"
    assert report.immediate_actions[0].command == "kubectl get cronjob"
    assert report.immediate_actions[0].refs == ("P1",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        "[]",
        "null",
        "{",
        '{"severity": "high"}',  # neither summary nor cause
        '{"query": "db"}',
        '<|channel|>commentary<|message|>{"query":"db"}<|end|>',
        '{"summary": ' + "[" * 20_000 + "]" * 20_000 + "}",
        '{"summary": 1' + "0" * 6000 + "}",
        json.dumps({"summary": "x" * 200_000}),
    ],
)
def test_parse_report_refuses_what_is_no_report(text: str) -> None:
    with pytest.raises(ValueError):
        parse_report(text)


def test_parse_report_finds_the_object_in_a_fence_or_in_markup() -> None:
    for text in (f"```json\n{written()}\n```", f"<|channel|>final<|message|>{written()}<|end|>"):
        assert parse_report(text).summary == "Pool exhausted."


def test_parse_report_turns_odd_values_into_harmless_ones() -> None:
    report = parse_report(
        written(
            severity="apocalyptic",
            category=["capacity"],
            root_cause=None,
            confidence="certain",
            evidence="P1",
            ruled_out="a bad deploy",
            immediate_actions=[None, {"text": 3}, {"text": "Look", "command": 7, "refs": "[P1]", "extra": 1}],
            long_term_fixes=None,
            needs_more_info="yes",
            clarifying_questions=["a", "b", "c", "d"],
        )
    )

    assert (report.severity, report.category, report.confidence) == ("", "not_known", "low")
    assert report.root_cause == ""
    assert report.evidence == ()
    assert report.ruled_out == ["a bad deploy"]
    assert [(action.text, action.command, action.refs) for action in report.immediate_actions] == [
        ("Look", None, ("P1",))
    ]
    assert report.needs_more_info is False
    assert len(report.clarifying_questions) == 3


def test_parse_report_reads_an_unknown_strength_as_weak_and_none_as_no_opinion() -> None:
    cited = [{"ref": "P1", "quote": "q", "match_strength": "perfect"}, {"ref": "P2", "quote": "q"}]
    report = parse_report(written(evidence=cited))

    assert [item.match_strength for item in report.evidence] == ["weak", "close"]


def test_tidy_removes_markup_unseen_characters_and_what_is_too_long() -> None:
    assert tidy("a<|end|>b\u202ec\u200bd\0", 100) == "abcd"
    assert len(tidy("x" * 2_000_000, 300)) <= 400
    assert tidy(["a"], 10) == ""


def test_readable_shows_no_text_that_begins_with_markup() -> None:
    assert readable('<|channel|>commentary<|message|>{"query":"db"}<|end|>', 100) == ""
    assert readable("  Sorry, no.", 100) == "Sorry, no."


def test_schema_is_flat_and_strict() -> None:
    def check(part: dict[str, Any]) -> None:
        if "properties" in part:
            assert part["required"] == list(part["properties"])
            assert part["additionalProperties"] is False
            for inner in part["properties"].values():
                check(inner)
        if "items" in part:
            check(part["items"])
        assert not {"$ref", "maxLength", "minLength", "maxItems"} & part.keys()

    check(SCHEMA)
    assert set(SCHEMA["properties"]) == set(Report.model_fields)
