"""The three questions that are asked when an alert names no service, error or metric."""

from dataclasses import dataclass

from incidents.reading.facts import AlertFacts


@dataclass(frozen=True)
class Ask:
    """A question to the engineer, with an example of a good answer."""

    text: str
    example: str = ""


def questions_for(facts: AlertFacts) -> tuple[Ask, Ask, Ask]:
    """Return exactly three specific questions. What the alert does say is used, never asked again."""
    what = f"{facts.symptoms[0]!s}"[:60] if facts.symptoms else ""
    failing = Ask(
        f"Which service, page or request is it (“{what}”), and what does the person see?"
        if what
        else "Which service, page or request fails, and what does the person see?",
        "search-api: GET /search answers 502",
    )
    since = (
        Ask(f"What changed shortly before {facts.times[0]}?"[:300], "A release, a flag, a job, a certificate")
        if facts.times
        else Ask(
            "When did it start, and did anything change shortly before?", "About 14:10, after the release of 14:00"
        )
    )
    return (
        failing,
        since,
        Ask("What does one failing request say in the log or the trace?", "Paste a line with the error's own words"),
    )
