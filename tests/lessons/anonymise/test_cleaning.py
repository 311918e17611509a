"""Findings, ordinals, what stays, and how long it takes."""

import base64
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.anonymise.cleaning import PLACEHOLDER, anonymise, anonymise_together
from lessons.anonymise.names import Names
from tests.lessons.anonymise import redteam

NAMES = redteam.vocabulary()
NOBODY = Names()


def test_offsets_are_of_the_text_that_came_in() -> None:
    text = "Søren restarted ledgerd on 10.4.2.1, then ledgerd again."

    cleaned = anonymise(text, NAMES)

    assert [text[f.start : f.end] for f in cleaned.findings] == ["Søren", "ledgerd", "10.4.2.1", "ledgerd"]
    assert cleaned.text == "<PERSON_1> restarted <SERVICE_1> on <IP_1>, then <SERVICE_1> again."


def test_one_thing_has_one_ordinal_however_it_is_spelled() -> None:
    cleaned = anonymise("checkout-orchestrator, CheckoutOrchestrator and CHECKOUT_ORCHESTRATOR; then mailbird", NAMES)

    assert cleaned.text == "<SERVICE_1>, <SERVICE_1> and <SERVICE_1>; then <SERVICE_2>"


def test_fields_of_one_lesson_share_their_ordinals() -> None:
    cleaned = anonymise_together({"symptom": "mailbird hung", "fix": "restart ledgerd, then mailbird"}, NAMES)

    assert cleaned["symptom"].text == "<SERVICE_1> hung"
    assert cleaned["fix"].text == "restart <SERVICE_2>, then <SERVICE_1>"


def test_an_edit_of_a_clean_text_gets_new_ordinals() -> None:
    cleaned = anonymise("Restart <SERVICE_1> and mailbird on <HOST_2>.", NAMES)

    assert cleaned.text == "Restart <SERVICE_1> and <SERVICE_2> on <HOST_2>."
    assert [finding.replacement for finding in cleaned.findings] == ["<SERVICE_2>"]


@pytest.mark.parametrize("text", ["<NIGHTJAR_1>", "<HOST_4488129044>", "<Nightjar>"])
def test_what_only_looks_like_a_placeholder_is_read(text: str) -> None:
    cleaned = anonymise(text + " by nightjar", NAMES)

    assert "ightjar" not in cleaned.text.lower()
    assert "4488129044" not in cleaned.text


def test_a_name_between_ordinary_word_and_service_is_uncertain_and_its_kind_says_so() -> None:
    cleaned = anonymise("Then restart payments and wait.", NAMES)

    assert [finding.as_json() for finding in cleaned.findings] == [
        {"kind": "uncertain_service", "start": 13, "end": 21, "replacement": "<SERVICE_1>"}
    ]
    assert anonymise("Then restart payments and wait.", NAMES, harmless=["Payments"]).findings == ()


def test_a_person_cannot_let_a_certain_finding_stay() -> None:
    assert anonymise("the payments service and mailbird", NAMES, harmless=["payments", "mailbird"]).text == (
        "the <SERVICE_1> service and <SERVICE_2>"
    )


def test_an_uncertain_word_is_certain_where_the_lesson_uses_it_as_a_name() -> None:
    cleaned = anonymise("The payments service hung. Then restart payments.", NAMES)

    assert [finding.uncertain for finding in cleaned.findings] == [False, False]


@pytest.mark.parametrize(
    "text",
    [
        "redis ran out of memory; redis-cli showed maxmemory",
        "Version 1.2.3.4 and nginx 1.25.3.1 are fine, so is ORA-12541",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "In March 2026 the grace period was raised; kubelet will mark the node",
        "com.zaxxer.hikari.HikariDataSource, jvm.memory.used, config.yaml, main.py, http_requests_total",
        "127.0.0.1, ::1, 0.0.0.0/0, 255.255.255.0",
        "https://kubernetes.io/docs/concepts/ says the same",
    ],
)
def test_public_words_stay(text: str) -> None:
    assert anonymise(text, NAMES).findings == ()


@pytest.mark.parametrize("times", [1, 2, 3, 7])
def test_a_name_is_found_however_often_it_was_encoded(times: int) -> None:
    said = b"owned by nightjar"
    for _ in range(times):
        said = base64.b64encode(said)

    assert said.decode() not in anonymise(f"header {said.decode()} seen", NAMES).text


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit",
    ["a", "1", ".", "a.", "1.", "a-", ":", "1:", "%25", "/a", "\\", "a@a.", "(", "+1 ", "http://", "password=", "Jana ",
     "Mark ", "\u200b", "с", "田", "Aab ", "\\u0061", "eyJ", "-----BEGIN RSA PRIVATE KEY-----", "customer A", "12-",
     "<HOST_1>"],
)  # fmt: skip
def test_hostile_text_takes_bounded_time(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    before = time.process_time()

    anonymise(text, NAMES)

    assert time.process_time() - before < 10  # about a second at most on an idle machine


@pytest.mark.thorough
def test_ten_kilobytes_with_five_thousand_names() -> None:
    names = Names(
        teams=tuple(f"Team Zorvax {n:04}" for n in range(1000)),
        services=tuple(f"quellis-{n:04}-api" for n in range(2000)),
        hosts=tuple(f"vm{n:04}.brightfjord.net" for n in range(1000)),
        members=tuple((f"Wex{n:04} Tarnoll", f"wex{n:04}@brightfjord.io") for n in range(1000)),
    )
    text = "\n".join(case.text for case in redteam.clean())[:10_000]
    anonymise(text, names)  # compiles
    took = []
    for _ in range(5):
        before = time.process_time()
        anonymise(text, names)
        took.append(time.process_time() - before)

    assert min(took) < 0.05


_TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from(list("aeinors-._/@:%=<>1234567890 \n"))), max_size=120
)
_PIECES = st.lists(
    st.one_of(
        _TEXTS,
        st.sampled_from(
            ["nightjar", "Jana ", "10.1.2.3", "<HOST_1>", "<", "HOST_1>", "password=", " customer ", "on 3 May ", "%6E",
             "https://", "search", " service", "\n", "-", "ledger", "d", "Mark", "commit ", "9fceb02", "@", ".io",
             "2026"]
        ),
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(_PIECES)
def test_whatever_comes_in_is_replaced_at_its_place_and_clean_afterwards(text: str) -> None:
    cleaned = anonymise(text, NAMES)

    rebuilt, last = "", 0
    for finding in cleaned.findings:
        assert last <= finding.start < finding.end <= len(text)
        assert PLACEHOLDER.fullmatch(finding.replacement)
        rebuilt += text[last : finding.start] + finding.replacement
        last = finding.end
    assert rebuilt + text[last:] == cleaned.text
    assert anonymise(cleaned.text, NAMES).findings == ()


@given(_TEXTS)
def test_without_names_anything_can_be_read(text: str) -> None:
    assert PLACEHOLDER.sub("", anonymise(text, NOBODY).text) is not None
