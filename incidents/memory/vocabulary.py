"""How rare a word is in a bank: document frequencies over our own rows, the same whatever memory serves the bank."""

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable

from django.db.models import F

from incidents.memory.words import common_words, stems
from incidents.models import MemoryRecordRevision
from teams.models import Bank

# A small bank says little about how common a word is. It is counted as if so many documents of somebody else stood
# beside it, in which a common word is in every fourth and any other in one of three hundred.
ASSUMED_DOCUMENTS = 60
COMMON_SHARE = 1 / 4
OTHER_SHARE = 1 / 300
# Vocabularies kept in one process; the one unused for longest goes first.
MAX_VOCABULARIES = 64


class Vocabulary:
    """The documents of one bank as sets of stems, and how many hold each."""

    def __init__(self, documents: Iterable[frozenset[str]] = ()) -> None:
        self._documents: dict[int, frozenset[str]] = {}
        self._holding: Counter[str] = Counter()
        self._refreshing = threading.Lock()
        for key, words in enumerate(documents):
            self._put(key, words)

    def __len__(self) -> int:
        return len(self._documents)

    def rarity(self, stem: str) -> float:
        """Return how much it says that a document holds the stem: about 0 where all do, some 8 at most."""
        share = COMMON_SHARE if stem in common_words() else OTHER_SHARE
        holding = self._holding[stem] + ASSUMED_DOCUMENTS * share
        return math.log((len(self) + ASSUMED_DOCUMENTS) / holding)

    def refresh(self, bank: Bank) -> None:
        """Take in revisions that came or went since the last time: one query for ids, one for new texts."""
        with self._refreshing:
            self._refresh(bank)

    def _refresh(self, bank: Bank) -> None:
        wanted = MemoryRecordRevision.objects.filter(record__bank=bank, number=F("record__wanted_revision"))
        ids = set(wanted.values_list("pk", flat=True))
        for gone in self._documents.keys() - ids:
            self._holding.subtract(self._documents.pop(gone))
        new = ids - self._documents.keys()
        for start in range(0, len(new), 500):
            some = sorted(new)[start : start + 500]
            for pk, text in MemoryRecordRevision.objects.filter(pk__in=some).values_list("pk", "text"):
                self._put(pk, frozenset(stems(text)))

    def _put(self, key: int, words: frozenset[str]) -> None:
        self._documents[key] = words
        self._holding.update(words)


class _Vocabularies:
    """This process's vocabularies by bank."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, Vocabulary] = OrderedDict()

    def of(self, bank: Bank) -> Vocabulary:
        with self._lock:
            vocabulary = self._held.setdefault(bank.bank_id, Vocabulary())
            self._held.move_to_end(bank.bank_id)
            while len(self._held) > MAX_VOCABULARIES:
                self._held.popitem(last=False)
        vocabulary.refresh(bank)
        return vocabulary


_vocabularies = _Vocabularies()


def vocabulary_of(bank: Bank) -> Vocabulary:
    """Return the bank's vocabulary as its rows are now."""
    return _vocabularies.of(bank)
