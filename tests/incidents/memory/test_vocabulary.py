import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from incidents.memory.vocabulary import Vocabulary, vocabulary_of
from incidents.memory.words import stems
from incidents.models import MemoryRecord
from incidents.services import memory, outcomes
from tests import factories
from tests.conftest import World


def test_rarity_counts_common_words_little_also_in_an_empty_bank() -> None:
    vocabulary = Vocabulary()

    assert vocabulary.rarity("timeout") < 2 < 5 < vocabulary.rarity("reindex")


def test_rarity_falls_with_every_document_that_holds_the_word() -> None:
    words = frozenset({"reindex"})

    rarities = [Vocabulary([words] * count).rarity("reindex") for count in (0, 1, 5, 50, 500)]

    assert rarities == sorted(rarities, reverse=True)
    assert rarities[-1] < 0.5


def test_vocabulary_of_follows_the_rows(world: World) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)
    factories.resolve(incident=incident, by=world.responder, root_cause="The zookeeper ensemble lost quorum.")
    record = MemoryRecord.objects.get()
    word = stems("zookeeper")[0]
    unseen = Vocabulary().rarity(word)

    before = vocabulary_of(record.bank).rarity(word)
    outcome = incident.outcomes.get()
    outcomes.correct_outcome(outcome=outcome, by=world.responder, root_cause="The disk was full.", minutes=1)
    corrected = vocabulary_of(record.bank)
    memory.forget(record=record, by=world.admin)

    assert before < unseen
    assert corrected.rarity(word) > before
    assert len(vocabulary_of(record.bank)) == 0


def test_vocabulary_of_reads_texts_once(world: World) -> None:
    factories.resolve(incident=factories.make_incident(project=world.project, by=world.responder), by=world.responder)
    bank = MemoryRecord.objects.get().bank
    vocabulary_of(bank)

    with CaptureQueriesContext(connection) as queries:
        vocabulary_of(bank)

    assert len(queries) == 1


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
