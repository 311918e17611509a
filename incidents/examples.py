"""Alerts to paste, one for each thing that memory can say about the example data. Invented, as the example data is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """``pattern`` is what it shows; ``project`` the key of the example project that it is for."""

    pattern: str
    word: str
    label: str
    project: str
    text: str


EXAMPLES = {
    "known": Example(
        "known_here",
        "Known here",
        "Pool timeout in search-api",
        "SEARCH",
        """\
[FIRING:1] SearchApiHighErrorRate severity=critical
service=search-api env=prod-eu
search-api answers 502 for 18.4% of requests (baseline 0.3%)
Timeout expired. The timeout period elapsed prior to obtaining a connection from the pool.
pool: active=40 idle=0 waiting=212
""",
    ),
    "elsewhere": Example(
        "seen_elsewhere",
        "Seen elsewhere",
        "Name resolution in search-indexer",
        "SEARCH",
        """\
[FIRING:1] IndexerLatency severity=medium
service=search-indexer env=prod-eu
p99 5.3s (baseline 0.4s)
getaddrinfo EAI_AGAIN pricing.internal, resolver 10.0.0.10 timed out
""",
    ),
    "new": Example(
        "new_pattern",
        "New pattern",
        "Checksums of a model differ",
        "SEARCH",
        """\
[FIRING:1] ModelChecksumMismatch severity=high
service=rank-model env=prod-eu
ranking model file checksum differs on 3 of 8 nodes after a warm start
sha256 mismatch: expected 9f21, found 40ce
""",
    ),
    "vague": Example("needs_more_info", "Needs info", "“site feels slow”", "SEARCH", "site feels slow\n"),
}
