"""What memory is asked about an alert. One place, so that investigations, the command line and the measure ask alike."""

from incidents.reading.facts import AlertFacts
from incidents.reading.text import clean, without_labels

# An alert's words up to here; a longer one is asked for by its title, its symptoms and its beginning.
QUERY_CHARACTERS = 600


def recall_queries(text: str, facts: AlertFacts, answers: str = "") -> list[str]:
    """Return at least two queries where there is enough to ask: the alert's words, and its error signature.

    What an engineer answered is a query of its own.
    """
    words = _tidy(without_labels(text))
    if len(words) > QUERY_CHARACTERS:
        words = " ".join(dict.fromkeys((facts.title, *facts.symptoms, words)))
    signature = " ".join(facts.error_signatures)
    if not signature:
        signature = " ".join((facts.title, *facts.symptoms))
    tidy = (_tidy(query)[:QUERY_CHARACTERS] for query in (words or text, signature, answers))
    return list(dict.fromkeys(query for query in tidy if query))


def _tidy(text: str) -> str:
    return " ".join(clean(text).split())
