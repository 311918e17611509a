"""Which problem an alert belongs to: two with the same fingerprint in a project are the same open incident."""

import hashlib

from incidents.intake.normal import NormalAlert
from incidents.reading.facts import AlertFacts
from incidents.reading.text import signature


def fingerprint(alert: NormalAlert, facts: AlertFacts) -> str:
    """Return SHA-256 of the sender's own key; without one, of service, environment, title and first error.

    What varies from one firing to the next (numbers, ids, times) does not count.
    """
    if alert.dedup_key:
        parts = ["key", alert.dedup_key]
    else:
        errors = [signature(error) for error in facts.error_signatures[:1]]
        parts = ["facts", facts.service or "", facts.environment or "", signature(facts.title), *errors]
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()
