"""What happened at the invented company: alerts, what was tried, what fixed it. Written for this project."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tried:
    """A fix that failed: who tried it, how many minutes into the incident, and what happened."""

    by: str
    fix: str
    what_happened: str
    after_minutes: int


@dataclass(frozen=True)
class Fixed:
    """The verified outcome. ``fix`` names the same fix in several cases by the same title."""

    by: str
    fix: str
    root_cause: str
    what_was_done: str
    minutes: int
    command: str = ""
    runbook: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Case:
    """An incident: ``days_ago`` before the first run, at ``hour`` UTC."""

    project: str
    days_ago: float
    hour: int
    alert: str
    fixed: Fixed | None = None
    tried: tuple[Tried, ...] = ()


RB_POOL = ("RB-07 Pool exhaustion", "https://runbooks.example.com/rb-07")
RB_LOCK = ("RB-12 Stale builder lock", "https://runbooks.example.com/rb-12")
RB_DISK = ("RB-03 Disk watermarks", "https://runbooks.example.com/rb-03")
RB_CERT = ("RB-21 Certificates", "https://runbooks.example.com/rb-21")
RB_CACHE = ("RB-15 Cold cache", "https://runbooks.example.com/rb-15")
RB_QUEUE = ("RB-18 Stuck consumer", "https://runbooks.example.com/rb-18")

PAUSE_REINDEX = "Pause the nightly reindex"
PAUSE_COMMAND = """kubectl -n search patch cronjob reindex-nightly -p '{"spec":{"suspend":true}}'"""

CASES = [
    # --- Search -------------------------------------------------------------------------------------------------------
    Case(
        "SEARCH",
        173,
        2,
        """\
[FIRING:1] SearchApiHighErrorRate severity=critical
service=search-api env=prod-eu
search-api answers 502 for 12.1% of requests (baseline 0.3%)
Npgsql.NpgsqlException: Timeout expired. The timeout period elapsed prior to obtaining a connection from the pool.
pool: active=20 idle=0 waiting=140
""",
        Fixed(
            "tomasz",
            PAUSE_REINDEX,
            "reindex-nightly holds its database connections for a whole batch and leaves none for search-api.",
            "Suspended the cronjob. The connections came back within two minutes and the 502s stopped.",
            41,
            PAUSE_COMMAND,
            RB_POOL,
        ),
        (
            Tried(
                "jonas",
                "Restart the search-api pods",
                "Errors were back after 4 min: the new pods queued for the same connections.",
                11,
            ),
        ),
    ),
    Case(
        "SEARCH",
        119,
        1,
        """\
[FIRING:1] SearchApiHighErrorRate severity=critical
service=search-api env=prod-eu
502 rate 22.0% (baseline 0.3%), p99 30.2s (baseline 0.4s)
Timeout expired. The timeout period elapsed prior to obtaining a connection from the pool.
pool: active=40 idle=0 waiting=206
""",
        Fixed(
            "jonas",
            PAUSE_REINDEX,
            "The nightly reindex ran into the morning after a retry and kept 38 of 40 connections.",
            "Suspended reindex-nightly; errors were gone in three minutes. Let it run again at noon.",
            24,
            PAUSE_COMMAND,
            RB_POOL,
        ),
        (
            Tried(
                "jonas",
                "Raise the pool of search-api from 20 to 40",
                "The reindex took the new connections as well. Nothing changed for requests.",
                9,
            ),
        ),
    ),
    Case(
        "SEARCH",
        64,
        2,
        """\
[FIRING:1] SearchApiHighErrorRate severity=critical
service=search-api env=prod-eu
search-api answers 502 for 17.6% of requests (baseline 0.3%)
Timeout expired. The timeout period elapsed prior to obtaining a connection from the pool.
pool: active=40 idle=0 waiting=188
""",
        Fixed(
            "ines",
            PAUSE_REINDEX,
            "reindex-nightly held every connection of the pool: its batch size had gone back to 5000 with a release.",
            "Suspended the cronjob, errors were gone in 3 min. Set the batch size back to 500 the next day.",
            18,
            PAUSE_COMMAND,
            RB_POOL,
        ),
    ),
    Case(
        "SEARCH",
        151,
        6,
        """\
[FIRING:1] SuggestIndexStale severity=medium
service=suggest-builder env=prod-eu
suggest index is 31 h old (threshold 24 h)
suggest-builder: could not acquire lock suggest/build, held by suggest-builder-6c9f since 30 h
""",
        Fixed(
            "priya",
            "Clear the stale build lock",
            "A node was drained in the middle of a build, and the lock of the dead pod never expired.",
            "Deleted the key suggest/build from the lock store; the next build took it and finished in 20 min.",
            33,
            "redis-cli -h lock-store del suggest/build",
            RB_LOCK,
        ),
        (
            Tried(
                "priya",
                "Restart the suggest-builder deployment",
                "The new pod waited for the same lock.",
                8,
            ),
        ),
    ),
    Case(
        "SEARCH",
        47,
        7,
        """\
[FIRING:1] SuggestIndexStale severity=medium
service=suggest-builder env=prod-eu
suggest index is 26 h old (threshold 24 h)
could not acquire lock suggest/build, held by suggest-builder-77d1 since 26 h
""",
        Fixed(
            "jonas",
            "Clear the stale build lock",
            "The builder was killed during a cluster upgrade and left its lock behind.",
            "Deleted the lock key; the build started at once.",
            12,
            "redis-cli -h lock-store del suggest/build",
            RB_LOCK,
        ),
    ),
    Case(
        "SEARCH",
        138,
        11,
        """\
[FIRING:3] IndexWritesRejected severity=high
service=product-index env=prod-eu
ClusterBlockException: index [products_v212] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded
flood-stage watermark]
disk used 96% on index-1 (baseline 71%)
""",
        Fixed(
            "ines",
            "Remove old snapshots and lift the read-only block",
            "Snapshots of four old product indices had never been deleted and filled the data disk.",
            "Deleted the four oldest snapshots, disk fell to 74 %, then removed the read-only block from the index.",
            52,
            "curl -s http://index:9200/_cat/allocation?v",
            RB_DISK,
        ),
        (
            Tried(
                "tomasz",
                "Restart the index nodes one by one",
                "The block is a setting of the index; it was still there after the restart.",
                20,
            ),
        ),
    ),
    Case(
        "SEARCH",
        96,
        15,
        """\
[FIRING:1] SearchApiLatency severity=high
service=search-api env=prod-eu
p99 4.8s (baseline 0.4s), GC pause 2.9s (baseline 0.05s)
org.elasticsearch.monitor.jvm.JvmGcMonitorService: [gc][old] overhead, spent [2.8s] collecting in the last [3.1s]
""",
        Fixed(
            "priya",
            "Cap the bucket count of the brand facet",
            "The brand facet asked for 100,000 buckets after the filter page was changed; each query filled the heap.",
            "Set the facet's size to 200 in the query template and rolled it out. Old-generation GC went quiet.",
            67,
        ),
        (
            Tried(
                "priya",
                "Raise the heap of the index nodes to 31 GB",
                "Pauses came later but were longer.",
                25,
            ),
        ),
    ),
    Case(
        "SEARCH",
        83,
        4,
        """\
[FIRING:1] PodOOMKilled severity=medium
service=suggest-builder env=prod-eu
container suggest-builder OOMKilled, exit code 137, restarts=6
memory working set 2040Mi (limit 2048Mi)
""",
        Fixed(
            "tomasz",
            "Build the suggestion dictionary in four parts",
            "The Turkish dictionary doubled the peak memory of a build in one piece.",
            "Switched the builder to four parts; peak memory is 700 Mi now.",
            95,
        ),
        (
            Tried(
                "tomasz",
                "Raise the memory limit of suggest-builder to 3 Gi",
                "Killed again at 3 Gi, a few minutes later.",
                30,
            ),
        ),
    ),
    Case(
        "SEARCH",
        130,
        9,
        """\
[FIRING:1] EdgeCertificateExpiry severity=critical
service=search-api env=prod-eu
tls: failed to verify certificate: x509: certificate has expired or is not yet valid, host search.example.com
handshake errors 100% (baseline 0%)
""",
        Fixed(
            "ines",
            "Renew the edge certificate by hand",
            "The renewal job had failed for a month: its DNS token had been rotated without it.",
            "Issued the certificate by hand and loaded it at the edge; gave the job the new token.",
            29,
            "",
            RB_CERT,
        ),
    ),
    Case(
        "SEARCH",
        58,
        18,
        """\
[FIRING:1] SearchCacheHitRateLow severity=high
service=search-cache env=prod-eu
hit rate 11% (baseline 86%), backend queries 9,400/s (baseline 1,300/s)
READONLY You can't write against a read only replica
failover of search-cache finished 6 min ago
""",
        Fixed(
            "jonas",
            "Point the writers at the new cache primary and warm the top queries",
            "After the failover the writers kept the old primary's address, so nothing was cached any more.",
            "Restarted the writers to look up the primary again, then ran the warm-up job for the top 5,000 queries.",
            22,
            "kubectl -n search create job --from=cronjob/cache-warmup cache-warmup-now",
            RB_CACHE,
        ),
        (
            Tried(
                "jonas",
                "Add two replicas to search-cache",
                "More replicas, all of them read-only. The hit rate fell further.",
                9,
            ),
        ),
    ),
    Case(
        "SEARCH",
        110,
        13,
        """\
[FIRING:1] GeocoderErrors severity=medium
service=search-indexer env=prod-eu
HTTP 429 Too Many Requests from geocode.example.net for 64% of calls (baseline 0%)
Retry-After: 30
""",
        Fixed(
            "priya",
            "Lower the geocoder batch concurrency to 4",
            "A new contract limits us to 50 calls a second; the indexer ran 32 workers.",
            "Set the concurrency to 4 by config. The backlog was gone in an hour.",
            38,
        ),
    ),
    Case(
        "SEARCH",
        75,
        10,
        """\
[FIRING:1] IndexOpenFailed severity=high
service=product-index env=prod-eu
java.lang.IllegalArgumentException: failed to build synonyms, line 4187: duplicate mapping
index products_v216 could not be opened
""",
        Fixed(
            "ines",
            "Roll the synonym file back to the last good version",
            "A merchandiser's upload held the same term on both sides of a rule.",
            "Put the version of the day before back and reopened the index. The upload is checked now.",
            26,
        ),
    ),
    Case(
        "SEARCH",
        39,
        20,
        """\
[FIRING:1] IndexerConsumerLag severity=high
service=search-indexer env=prod-eu
consumer lag 182,000 (baseline 300) on products-updates partition 7
com.fasterxml.jackson.databind.JsonMappingException: Unexpected end-of-input, offset 88123041
""",
        Fixed(
            "priya",
            "Skip the poison message and replay it from the dead-letter topic",
            "One cut message stopped partition 7: the consumer retried it for ever.",
            "Moved the offset past 88123041, stored the message on the dead-letter topic. The lag was gone in 9 min.",
            31,
            "",
            RB_QUEUE,
        ),
        (
            Tried(
                "jonas",
                "Scale the indexer from 6 to 12 consumers",
                "Partition 7 still had one consumer, which was stuck on the same message.",
                12,
            ),
        ),
    ),
    Case(
        "SEARCH",
        21,
        16,
        """\
[FIRING:1] SearchApiHighErrorRate severity=critical
service=search-api env=prod-eu
HTTP 500 for 9.4% of requests (baseline 0.1%) since release 2026.11.2
java.lang.NullPointerException: Cannot invoke "Ranker.score()" because "this.ranker" is null
""",
        Fixed(
            "jonas",
            "Switch the flag new_ranker off",
            "The flag was on for all users while the model file was only on half of the pods.",
            "Switched the flag off; errors stopped at once. The rollout checks the file first now.",
            9,
            "",
        ),
    ),
    # --- Catalogue ----------------------------------------------------------------------------------------------------
    Case(
        "CAT",
        127,
        8,
        """\
[FIRING:1] SyncConsumerDown severity=high
service=catalog-sync env=prod-eu
ssl.SSLCertVerificationError: certificate verify failed: certificate has expired (_ssl.c:1006)
broker kafka-2:9093 refused the handshake, consumer lag 51,000 (baseline 200)
""",
        Fixed(
            "jonas",
            "Rotate the broker's certificate and restart the broker",
            "The certificate of kafka-2 was left out of the yearly rotation: the list named two brokers of three.",
            "Issued a certificate for kafka-2, restarted that broker, and the consumers came back by themselves.",
            44,
            "",
            RB_CERT,
        ),
        (
            Tried(
                "jonas",
                "Restart the catalog-sync consumers",
                "They failed in the same handshake.",
                10,
            ),
        ),
    ),
    Case(
        "CAT",
        90,
        5,
        """\
[FIRING:1] PriceImportBehind severity=medium
service=price-import env=prod-eu
price import is 47 min behind (threshold 15 min)
csv.Error: line 1: expected 14 columns, found 15
""",
        Fixed(
            "priya",
            "Replay the price file with the old column map",
            "The supplier's file has a new column in the middle.",
            "Replayed with the old map, which ignores the new column; told the supplier.",
            35,
        ),
    ),
    Case(
        "CAT",
        72,
        12,
        """\
[FIRING:1] ResizeQueueLong severity=medium
service=image-resize env=prod-eu
queue length 5,840 (baseline 40)
worker image-resize-3 busy for 3,100 s with one file of 912 MB
""",
        Fixed(
            "tomasz",
            "Refuse source images above 100 MB",
            "One worker held a 912 MB file, and the queue is read in order.",
            "Put the size check in front of the queue and dropped the file. The queue was empty in 20 min.",
            28,
        ),
    ),
    Case(
        "CAT",
        33,
        14,
        """\
[FIRING:1] CatalogApiErrors severity=high
service=catalog-api env=prod-eu
HTTP 503 for 6.2% of requests (baseline 0.2%)
FATAL: remaining connection slots are reserved for non-replication superuser connections
sessions idle in transaction: 61
""",
        Fixed(
            "ines",
            "End the idle sessions of the export job",
            "A stuck export left 61 sessions idle in transaction and used up the database's connection slots.",
            "Ended the sessions of the export job; slots were free within a minute.",
            16,
            "psql -h catalog-db -c \"select pid, state from pg_stat_activity where state like 'idle in%'\"",
        ),
    ),
    Case(
        "CAT",
        54,
        3,
        """\
[FIRING:1] ImageCacheWriteErrors severity=high
service=image-resize env=prod-eu
OSError: [Errno 28] No space left on device: /var/cache/thumbs
disk used 41%, inodes used 100% on cache-node-4
""",
        Fixed(
            "jonas",
            "Remove thumbnails that nobody asked for in 30 days",
            "Millions of tiny files used up the inodes of the cache disk while most of its bytes were free.",
            "Deleted thumbnails by access time, inodes fell to 38 %; the clean-up runs nightly now.",
            57,
            "df -i /var/cache/thumbs",
            RB_DISK,
        ),
        (
            Tried(
                "jonas",
                "Grow the cache volume by 200 GB",
                "Bytes were never the limit: still no inode was free.",
                18,
            ),
        ),
    ),
    Case(
        "CAT",
        17,
        19,
        """\
[FIRING:1] CatalogApiLatency severity=medium
service=catalog-api env=prod-eu
p99 5.1s (baseline 0.3s)
getaddrinfo EAI_AGAIN pricing.internal, resolver 10.0.0.10 timed out
""",
        Fixed(
            "priya",
            "Give the cluster resolver two more replicas",
            "A crawler's look-ups filled the resolver's queue, so that every fifth query waited five seconds.",
            "Scaled the resolver from 2 to 4 replicas and switched its cache on.",
            40,
        ),
    ),
]

# Open when the example data is first looked at, one for each thing that memory can say.
OPEN = [
    Case(
        "SEARCH",
        0.02,
        0,
        """\
[FIRING:1] SuggestIndexStale severity=medium
service=suggest-builder env=prod-eu
suggest index is 27 h old (threshold 24 h)
could not acquire lock suggest/build, held by suggest-builder-5d8c since 27 h
""",
    ),
    Case(
        "SEARCH",
        0.05,
        0,
        """\
[FIRING:1] AttributeFeedBehind severity=medium
service=search-indexer env=prod-eu
attribute feed is 52 min behind (threshold 15 min)
csv.Error: line 1: expected 9 columns, found 10
""",
    ),
    Case(
        "SEARCH",
        0.08,
        0,
        """\
[FIRING:2] ClockSkewDetected severity=high
service=product-index env=prod-eu
clock offset 4.2s (baseline 0.01s) on index-5 and index-6
join rejected: message timestamp lies in the future
""",
    ),
    Case("SEARCH", 0.12, 0, "search results look odd since this morning, can someone have a look?\n"),
]

# Resolved by a colleague a little while ago, by confirming what memory offered.
JUST_RESOLVED = Case(
    "SEARCH",
    0.009,
    0,
    """\
[FIRING:1] SearchCacheHitRateLow severity=high
service=search-cache env=prod-eu
hit rate 9% (baseline 86%), backend queries 8,900/s (baseline 1,300/s)
READONLY You can't write against a read only replica
failover of search-cache finished 4 min ago
""",
)
