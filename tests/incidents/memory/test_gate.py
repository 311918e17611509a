import pytest

from incidents.memory.features import Placed
from incidents.memory.gate import JUDGED, RIVALS, Judged, judge
from incidents.memory.landscape import Landscape
from incidents.memory.texts import AlertText, MemoryText
from incidents.reading.facts import read_facts

POOL = MemoryText(
    title="SearchApiHighErrorRate",
    symptom=(
        "[FIRING:1] SearchApiHighErrorRate severity=critical\nservice=search-api env=prod-eu\n"
        "search-api answers 502 for 12.1% of requests (baseline 0.3%)\n"
        "Npgsql.NpgsqlException: Timeout expired. The timeout period elapsed prior to obtaining a connection from the "
        "pool.\npool: active=20 idle=0 waiting=140"
    ),
    cause="reindex-nightly holds its database connections for a whole batch and leaves none for search-api.",
    service="search-api",
    fingerprint="pool",
    fix_id=1,
)
RANKER = MemoryText(
    title="SearchApiHighErrorRate",
    symptom=(
        "[FIRING:1] SearchApiHighErrorRate severity=high\nservice=search-api env=prod-eu\n"
        "HTTP 500 for 9.4% of requests (baseline 0.3%)\n"
        "java.lang.NullPointerException: Cannot invoke Ranker.score() because this.ranker is null"
    ),
    cause="The flag new_ranker was on without a ranker deployed.",
    service="search-api",
    fingerprint="ranker",
    fix_id=2,
)
DISK = MemoryText(
    title="IndexWritesRejected",
    symptom=(
        "service=product-index env=prod-eu\nClusterBlockException: index [products] blocked by: "
        "FORBIDDEN/12/index read-only / allow delete\ndisk used 96% (threshold 90%)"
    ),
    cause="Old snapshots filled the data disk.",
    service="product-index",
    fingerprint="disk",
    fix_id=3,
)
QUEUE = MemoryText(
    title="IndexerConsumerLag",
    symptom="service=search-indexer\nconsumer lag 182,000 (baseline 200)\nUnexpected end-of-input at offset 88123",
    cause="A truncated message stopped the consumer.",
    service="search-indexer",
    fingerprint="queue",
    fix_id=4,
)
CERTIFICATE = MemoryText(
    title="GeocoderErrors",
    symptom="service=geocoder\nx509: certificate has expired or is not yet valid",
    cause="The intermediate certificate ran out.",
    service="geocoder",
    fingerprint="certificate",
    fix_id=5,
)
BANK = [POOL, RANKER, DISK, QUEUE, CERTIFICATE]
SERVICES = {memory.service: memory.service for memory in BANK}


def ask(text: str, memories: list[MemoryText] = BANK, fingerprint: str = "") -> dict[str, Judged]:
    """Return the gate's word by the memory's fingerprint."""
    alert = AlertText(text, read_facts(text, services=SERVICES), fingerprint)
    landscape = Landscape({place: memory.reading for place, memory in enumerate(memories)})
    near = landscape.near(alert.reading)
    keys = near.best(JUDGED)
    scores = near.scores(keys)
    placed = [Placed(key, memories[key], scores[key]) for key in keys]
    words = judge(alert, placed, placed[:RIVALS], landscape)
    return {one.memory.fingerprint: word for one, word in zip(placed, words, strict=True)}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        # the same error line, other numbers
        (
            "service=search-api\nNpgsql.NpgsqlException: Timeout expired. The timeout period elapsed prior to "
            "obtaining a connection from the pool.\npool: active=40 idle=0 waiting=212",
            "pool",
        ),
        # one line, in somebody's words
        ("search-api: connection pool timeout, 502s", "pool"),
        ("502 from search-api after the deploy, NullPointerException in Ranker.score", "ranker"),
        ("search-indexer consumer lag 90,000, end-of-input at offset 12", "queue"),
        ("geocoder: x509: certificate has expired or is not yet valid", "certificate"),
    ],
)
def test_judge_finds_the_same_failure_in_a_bank_of_five(text: str, known: str) -> None:
    words = ask(text)

    assert words.pop(known).strength == "close"
    assert {word.strength for word in words.values()} == {"weak"}


@pytest.mark.parametrize(
    "text",
    [
        # same service, another failure
        "[FIRING:1] SearchApiLatency severity=high\nservice=search-api env=prod-eu\np99 4.8s, GC pause 3.1s",
        # same service and status code, nothing else
        "search-api 502",
        # same technology, another failure
        "java.lang.OutOfMemoryError: Java heap space in checkout",
        # same error class, another service and cause
        "payments: Timeout expired while waiting for the fraud provider",
        "node went NotReady, kubelet stopped posting status",
        "site feels slow",
    ],
)
def test_judge_is_weak_on_another_failure(text: str) -> None:
    assert {word.strength for word in ask(text).values()} == {"weak"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\n ",
        "pool " * 20_000,
        "connection pool exhausted " * 4_000,
        "the of and to a in",
        "error failed timeout service critical high latency request",
        "1234 5678 502 12.1 0.3 140",
        "x" * 100_000,
        "\u202e\u0000\ud83d\u200b",
        "💥" * 1000,
        "]]]}}}" * 1000,
    ],
)
def test_judge_bears_hostile_alerts_and_calls_none_of_them_close(text: str) -> None:
    assert "close" not in {word.strength for word in ask(text).values()}


@pytest.mark.parametrize("memories", [[], [MemoryText(title="", symptom="")]])
def test_judge_bears_an_empty_memory(memories: list[MemoryText]) -> None:
    assert {word.strength for word in ask("search-api: connection pool timeout", memories).values()} <= {"weak"}


def test_judge_says_why_in_one_line_of_words() -> None:
    text = POOL.symptom.replace("20", "40")

    words = ask(text)

    assert words["pool"].reason == "Same error text, same service, same symptom (connection pool exhausted)."
    assert words["disk"].reason.startswith("Shares no telling word, says nothing of ")
    assert "another service (product-index), another symptom (disk full)" in words["disk"].reason
    assert not any(character.isdigit() for character in words["pool"].reason)  # no score


def test_judge_calls_the_same_error_of_another_service_partial() -> None:
    text = POOL.symptom.replace("search-api", "checkout")

    word = ask(text)["pool"]

    assert word.strength == "partial"
    assert "another service (search-api)" in word.reason


def test_judge_takes_the_same_alert_for_known_unless_it_names_another_error() -> None:
    said = "[FIRING:1] SearchApiHighErrorRate severity=critical service=search-api\nsearch-api answers 502 again"

    assert ask(said, fingerprint="pool")["pool"].strength == "close"
    other = f"{said}\njava.lang.NullPointerException: Cannot invoke Ranker.score() because this.ranker is null"
    assert ask(other, fingerprint="pool")["pool"].strength != "close"


def test_judge_does_not_hold_occurrences_of_one_failure_against_each_other() -> None:
    again = [
        MemoryText(POOL.title, POOL.symptom.replace("140", str(number)), POOL.cause, POOL.service, str(number))
        for number in range(150, 157)
    ]

    words = ask("search-api: connection pool timeout, 502s", [*BANK, *again])

    assert {words[memory.fingerprint].strength for memory in again} == {"close"}


def test_judge_does_not_call_close_what_contradicts() -> None:
    text = "product-index: ClusterBlockException, [products] blocked, allow delete: x509 certificate has expired"

    word = ask(text)["disk"]

    assert word.strength == "partial"
    assert "another symptom" in word.reason
