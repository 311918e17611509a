"""A small collection with known answers, written for these tests."""

import json
from pathlib import Path

MEMORIES = [
    ("pool", "Checkout: pool exhausted", "Timeout expired obtaining a connection from the pool, 502 for many calls.",
     "The nightly export holds its connections for a whole batch.", "Pause the export."),
    ("disk", "Search nodes refuse writes", "index read-only / allow delete, disk used 96 percent on the data node.",
     "Old snapshots filled the data disk.", "Remove old snapshots."),
    ("certificate", "Geocoder: certificate expired", "x509: certificate has expired or is not yet valid.",
     "The intermediate certificate ran out.", "Renew it by hand."),
    ("queue", "Indexer lags behind", "Consumer lag 180,000. Unexpected end-of-input at offset 88123.",
     "A truncated message stopped the consumer.", "Skip the poison message."),
    ("clock", "Tokens refused on one host", "Token used before issued. The host runs 90 seconds ahead.",
     "The time daemon had stopped.", "Start the time daemon."),
    ("names", "Lookups fail inside the cluster", "getaddrinfo EAI_AGAIN for every second call to another service.",
     "The resolver ran out of upstream sockets.", "Restart the resolver with more sockets."),
]  # fmt: skip
QUERIES = [
    ("checkout: Timeout expired obtaining a connection from the pool, many 502", "pool", "verbatim"),
    (
        "customers cannot pay since midnight, all connections of the database pool are taken by a batch job",
        "pool",
        "own",
    ),
    ("index is read-only / allow delete on the search nodes, disk nearly full", "disk", "verbatim"),
    ("x509 certificate has expired, the geocoder answers nothing", "certificate", "verbatim"),
    ("indexer: consumer lag grows, Unexpected end-of-input at offset 12", "queue", "verbatim"),
    ("login fails on one machine only, its clock is ahead: token used before issued", "clock", "own"),
    ("EAI_AGAIN from getaddrinfo in half of the calls between services", "names", "verbatim"),
    ("checkout: java heap space, the pod was killed for its memory", "", "near"),
    ("search nodes: cluster has no elected leader since the upgrade", "", "near"),
    ("the printer of the second floor prints blank pages", "", "far"),
    ("geocoder: 429 too many requests from the upstream provider", "", "near"),
]

# Speaks of a failure that stands near one of the memories, and does not quite say the same.
PARTLY = "geocoder: 429 too many requests from the upstream provider"


def write(folder: Path) -> tuple[str, str]:
    """Return the paths of the memories' and the queries' file."""
    memories, queries = folder / "memories.jsonl", folder / "queries.jsonl"
    keys = ("id", "title", "symptom", "cause", "fix")
    rows = [dict(zip(keys, row, strict=True)) | {"source": "secret-source"} for row in MEMORIES]
    memories.write_text("\n".join(map(json.dumps, rows)))
    asked = [
        {"id": f"q{place}", "text": text, "relevant": [answer] if answer else [], "also_ok": [], "kind": kind}
        for place, (text, answer, kind) in enumerate(QUERIES)
    ]
    queries.write_text("\n".join(map(json.dumps, asked)))
    return str(memories), str(queries)
