"""The safe first checks and the three questions: what an alert's words choose."""

import re

import pytest

from incidents.investigation.checks import TABLE, safe_checks
from incidents.investigation.questions import questions_for
from incidents.reading.facts import read_facts

# What a command of the table may begin with: none of these writes.
READS = re.compile(
    r"psql -c \"select |redis-cli info|kafka-consumer-groups\.sh .*--describe|df |free |openssl s_client |cat /etc/"
    r"|kubectl get |journalctl "
)


@pytest.mark.parametrize("check", TABLE, ids=lambda check: check.text)
def test_every_check_of_the_table_only_reads(check: object) -> None:
    assert READS.match(check.command)  # type: ignore[attr-defined]
    assert not re.search(r"[^2<]>(?!/dev/null)|delete|restart|rm |--force", check.command)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("alert", "first"),
    [
        ("redis evicted keys, cache hit rate low", "How full is Redis, and does it evict?"),
        ("No space left on device /var", "Is a disk full?"),
        ("x509: certificate has expired", "How long is the certificate still valid?"),
        ("Timeout expired obtaining a connection from the pool", "Who holds the database's connections?"),
    ],
)
def test_the_alerts_words_choose_the_first_check(alert: str, first: str) -> None:
    checks = safe_checks(read_facts(alert))

    assert checks[0]["text"] == first
    assert len(checks) == 3


def test_an_alert_that_says_nothing_gets_the_usual_checks() -> None:
    checks = safe_checks(read_facts("something is broken"))

    assert [check["text"] for check in checks] == [check.text for check in TABLE[-3:]]
    assert all(set(check) == {"text", "command"} for check in checks)


@pytest.mark.parametrize("alert", ["site feels slow", "something is broken", "", "is it down since 14:10?"])
def test_there_are_exactly_three_different_questions_with_examples(alert: str) -> None:
    questions = questions_for(read_facts(alert))

    assert len({ask.text for ask in questions}) == 3
    assert all(ask.text.endswith("?") and ask.example and len(ask.text) <= 300 for ask in questions)
