import pytest

from incidents.memory.landscape import Landscape
from incidents.memory.texts import AlertText, MemoryText, Reading
from incidents.memory.words import stems, words_by_stem
from incidents.reading.facts import read_facts

POOL = MemoryText("Pool exhausted", "No connection is left in the pool of checkout.", "A job holds its connections.")
DISK = MemoryText("Disk full", "No space left on device on the search node.", "Old snapshots filled the disk.")
CERTIFICATE = MemoryText("Certificate expired", "x509: certificate has expired", "It was renewed by hand.")


def asked(text: str) -> Reading:
    return AlertText(text, read_facts(text)).reading


@pytest.fixture
def landscape() -> Landscape[str]:
    made: Landscape[str] = Landscape()
    made.put("pool", POOL.reading, "verified")
    made.put("disk", DISK.reading, "verified")
    made.put("certificate", CERTIFICATE.reading, "imported")
    return made


def test_the_nearest_come_first(landscape: Landscape[str]) -> None:
    assert landscape.near(asked("pool exhausted: cannot get a connection")).best(1) == ["pool"]
    assert landscape.near(asked("certificate of the gateway is expired")).best(1) == ["certificate"]


def test_groups_and_what_is_left_out(landscape: Landscape[str]) -> None:
    alert = asked("pool exhausted: cannot get a connection")

    assert set(landscape.near(alert, groups={"verified"}).best(9)) == {"pool", "disk"}
    assert set(landscape.near(alert, without={"pool", "unknown"}).best(9)) == {"disk", "certificate"}
    assert landscape.near(alert, groups={"lesson"}).best(9) == []
    assert landscape.groups() == {"verified", "imported"}


def test_what_was_dropped_counts_no_more(landscape: Landscape[str]) -> None:
    word = stems("snapshots")[0]
    before = landscape.rarity(word)

    landscape.drop("disk")
    landscape.drop("disk")

    assert len(landscape) == 2
    assert landscape.rarity(word) > before
    assert "disk" not in landscape.near(asked("disk full, no space left")).best(9)


def test_what_was_put_again_counts_once(landscape: Landscape[str]) -> None:
    word = stems("snapshots")[0]
    before = landscape.rarity(word)

    for _ in range(300):
        landscape.put("disk", DISK.reading, "verified")

    assert len(landscape) == 3
    assert landscape.rarity(word) == before
    assert landscape.near(asked("disk full, no space left")).best(1) == ["disk"]


def test_rarity_counts_common_words_little_also_in_an_empty_bank() -> None:
    empty: Landscape[int] = Landscape()

    assert empty.rarity("timeout") < 2 < 5 < empty.rarity("reindex")
    assert empty.near(asked("anything at all")).best(3) == []


def test_rarity_falls_with_every_document_that_holds_the_word() -> None:
    reading = MemoryText("reindex", "").reading

    rarities = [Landscape(dict.fromkeys(range(count), reading)).rarity("reindex") for count in (0, 1, 5, 50, 500)]

    assert rarities == sorted(rarities, reverse=True)
    assert rarities[-1] < 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Connections to the HikariPool", ["connect", "hikaripool", "hikari", "pool"]),
        ("the and of", []),
        ("502", ["502"]),
    ],
)
def test_stems(text: str, expected: list[str]) -> None:
    assert stems(text) == expected


def test_words_by_stem_says_how_each_is_first_written() -> None:
    assert words_by_stem("Timeouts of HikariPool, timeout") == {
        "timeout": "timeouts",
        "hikari": "hikari",
        "pool": "pool",
    }
