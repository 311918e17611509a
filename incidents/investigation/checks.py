"""Safe first checks: a table of commands that only read, and the words of an alert that choose among them.

A model never writes to this table, so its commands may be run whatever the confidence.
"""

import re
from dataclasses import dataclass

from incidents.reading.facts import AlertFacts

SHOWN = 3


@dataclass(frozen=True)
class Check:
    """A question and the command that answers it. ``words`` are what in an alert makes it worth asking first."""

    text: str
    command: str
    words: frozenset[str] = frozenset()


TABLE: tuple[Check, ...] = (
    Check(
        "Who holds the database's connections?",
        'psql -c "select state, application_name, count(*) from pg_stat_activity group by 1, 2 order by 3 desc"',
        frozenset({"postgres", "postgresql", "pool", "connection", "connections", "database", "hikaripool", "psycopg"}),
    ),
    Check(
        "Which queries have run longest?",
        'psql -c "select pid, now() - query_start as runs, left(query, 80) from pg_stat_activity '
        "where state <> 'idle' order by 2 desc limit 10\"",
        frozenset({"postgres", "postgresql", "query", "queries", "lock", "deadlock", "slow", "database"}),
    ),
    Check(
        "How full is Redis, and does it evict?",
        "redis-cli info memory",
        frozenset({"redis", "cache", "evicted", "eviction", "oom"}),
    ),
    Check(
        "How far are the consumers behind?",
        "kafka-consumer-groups.sh --bootstrap-server localhost:9092 --describe --all-groups",
        frozenset({"kafka", "consumer", "lag", "broker", "partition", "topic"}),
    ),
    Check(
        "Is a disk full?",
        "df -h",
        frozenset({"disk", "space", "inode", "inodes", "volume", "enospc", "filesystem"}),
    ),
    Check(
        "What uses the memory?",
        "free -m",
        frozenset({"memory", "oom", "oomkilled", "heap", "swap"}),
    ),
    Check(
        "How long is the certificate still valid?",
        "openssl s_client -connect localhost:443 </dev/null 2>/dev/null | openssl x509 -noout -dates",
        frozenset({"certificate", "tls", "ssl", "x509", "expired", "handshake"}),
    ),
    Check(
        "Does the name resolve?",
        "cat /etc/resolv.conf",
        frozenset({"dns", "resolve", "nxdomain", "lookup", "hostname"}),
    ),
    Check(
        "Which pods restarted most recently?",
        "kubectl get pods --all-namespaces --sort-by=.status.startTime",
        frozenset({"kubernetes", "kubectl", "pod", "pods", "deployment", "container", "crashloopbackoff"}),
    ),
    Check(
        "What did the cluster report lately?",
        "kubectl get events --all-namespaces --sort-by=.lastTimestamp",
        frozenset({"kubernetes", "node", "nodes", "evicted", "scheduling"}),
    ),
    Check(
        "Which errors were logged in the last hour?",
        'journalctl --priority=err --since "1 hour ago" --no-pager',
        frozenset({"error", "errors", "exception", "failed"}),
    ),
)
# For an alert that says nothing: what restarted, what happened, what was logged.
USUAL = TABLE[-3:]
_WORD = re.compile(r"[a-z0-9]+")


def safe_checks(facts: AlertFacts) -> list[dict[str, str]]:
    """Return three checks as ``{"text", "command"}``: those that the alert's words call for, then the usual ones."""
    said = " ".join((facts.title, *facts.technologies, *facts.symptoms, *facts.error_signatures)).lower()
    words = set(_WORD.findall(said))
    called_for = sorted(
        (check for check in TABLE if check.words & words), key=lambda check: len(check.words & words), reverse=True
    )
    chosen = list(dict.fromkeys([*called_for[: SHOWN - 1], *USUAL]))[:SHOWN]
    return [{"text": check.text, "command": check.command} for check in chosen]
