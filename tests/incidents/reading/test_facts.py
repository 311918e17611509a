"""What an alert says is read by rules, and what says nothing is vague."""

import time

import pytest

from incidents.demo.cases import CASES
from incidents.examples import EXAMPLES
from incidents.reading.facts import AlertFacts, read_facts
from tests.factories import POOL_ALERT

SERVICES = {"search-api": "search-api", "search": "search-api", "suggest": "suggest-builder"}


def test_read_facts_of_a_full_alert() -> None:
    facts = read_facts(POOL_ALERT, services=SERVICES)

    assert (facts.service, facts.environment, facts.severity) == ("search-api", "prod-eu", "critical")
    assert any("Timeout expired" in error for error in facts.error_signatures)
    assert {metric.name: (metric.value, metric.baseline) for metric in facts.metrics}["502 of requests"] == (
        "18.4",
        "0.3%",
    )
    assert {"connection pool exhausted", "timeout", "server errors"} <= set(facts.symptoms)
    assert not facts.vague


@pytest.mark.parametrize(
    "text",
    [
        "site feels slow",
        "search results look odd since this morning, can someone have a look?",
        "something is broken on checkout??\ncustomers writing in",
        "every page hangs",
        "",
        "🔥🔥🔥",
    ],
)
def test_a_text_without_service_error_or_metric_is_vague(text: str) -> None:
    assert read_facts(text, services=SERVICES).vague


@pytest.mark.parametrize("text", [case.alert for case in CASES] + [e.text for k, e in EXAMPLES.items() if k != "vague"])
def test_example_alerts_are_not_vague(text: str) -> None:
    facts = read_facts(text)

    assert facts.service
    assert facts.environment == "prod-eu"
    assert facts.severity
    assert facts.error_signatures or facts.metrics


def test_labels_win_over_the_text() -> None:
    facts = read_facts("service=a severity=low", labels={"service": "search", "severity": "P1"}, services=SERVICES)

    assert (facts.service, facts.severity) == ("search-api", "critical")


@pytest.mark.parametrize(
    ("pod", "service"),
    [
        ("checkout-7f9c2d1b4e-x2x9z", "checkout"),
        ("search-7f9c2d1b4e-x2x9z", "search-api"),  # by its alias
        ("log-shipper-x2x9z", "log-shipper"),
        ("orders-db-0", "orders-db"),
        ("search-query", "search-query"),
    ],
)
def test_a_pod_names_its_service(pod: str, service: str) -> None:
    assert read_facts(f"pod={pod} restarts", services=SERVICES).service == service


def test_a_title_is_one_line() -> None:
    assert read_facts("x", labels={"title": " disk\n full\r\n on a "}).title == "disk full on a"


def test_facts_survive_their_dictionary() -> None:
    facts = read_facts(POOL_ALERT)

    assert AlertFacts.from_dict(facts.as_dict()) == facts
    assert AlertFacts.from_dict({}) == AlertFacts()


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "x\n" * 300_000, "a=1 " * 100_000, "(baseline " * 4000, ("a " * 500 + "\n") * 40, "1" * 40_000],
)
def test_read_facts_is_bounded_on_hostile_text(text: str) -> None:
    started = time.process_time()

    read_facts(text, services=SERVICES)

    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("search-api prod-eu critical", "critical"),
        ("[CRITICAL] disk full on db-3", "critical"),
        ("Warning: certificate of search-api expires", "medium"),
        ("the critical path of checkout is slow", None),
        ("SEV-2 checkout is slow", "high"),
    ],
)
def test_a_severity_at_an_end_of_the_first_line_is_the_senders(line: str, severity: str | None) -> None:
    assert read_facts(f"{line}\nconnection refused", services=SERVICES).severity == severity
