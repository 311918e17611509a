"""What every on-call engineer knows about common failures, as a table.

It is general knowledge and no evidence: nothing here was ever verified in anyone's project. Commands only read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# A hostile alert may be long; what names its failure stands in what people would read of it.
MAX_CHARACTERS = 20_000


@dataclass(frozen=True)
class SymptomClass:
    """One kind of failure. ``words`` is a regular expression over alert text; ``category`` one of the diagnosis's."""

    name: str
    words: re.Pattern[str]
    cause: str
    category: str
    severity: str
    first_action: str
    long_term_fix: str
    command: str | None = None
    # What most failures look like from outside: only where nothing more particular is named.
    general: bool = False


@dataclass(frozen=True)
class Recognised:
    """``plainly``: an error or the title names the failure, not a passing remark."""

    symptom: SymptomClass
    plainly: bool


def recognise(plain: Sequence[str], passing: Sequence[str]) -> Recognised | None:
    """Return the class whose words stand most often in the texts, or None.

    ``plain`` are titles and error lines, which count three times; ``passing`` is the text around them.
    A particular failure that is plainly named comes before a general one, and at a tie the earlier of the table.
    """
    plain_text = "\n".join(plain)[:MAX_CHARACTERS]
    passing_text = "\n".join(passing)[:MAX_CHARACTERS]
    best, most = None, (False, 0)
    for symptom in SYMPTOM_CLASSES:
        in_plain = _different_matches(symptom, plain_text)
        weight = 3 * in_plain + _different_matches(symptom, passing_text)
        rank = (in_plain > 0 and not symptom.general, weight)
        if weight and rank > most:
            best, most = Recognised(symptom, plainly=in_plain > 0), rank
    return best


def _different_matches(symptom: SymptomClass, text: str) -> int:
    return len({match.group().lower() for match in symptom.words.finditer(text)})


def _words(*expressions: str) -> re.Pattern[str]:
    return re.compile("|".join(expressions), re.IGNORECASE)


SYMPTOM_CLASSES: tuple[SymptomClass, ...] = (
    SymptomClass(
        name="connection pool exhausted",
        words=_words(
            r"connection from the pool",
            r"pool (?:is )?(?:exhausted|full|timeout|limit|size)",
            r"pool exhaust\w*",
            r"hikaripool",
            r"too many (?:connections|clients)",
            r"remaining connection slots",
            r"connection is not available",
            r"queuepool limit",
            r"obtaining a connection",
            r"max_connections",
        ),
        cause="Connections are held longer than the pool can bear: slow queries, a leak or a batch job.",
        category="capacity",
        severity="high",
        first_action="See who holds the connections, and since when, before restarting anything.",
        long_term_fix="Give batch jobs a pool of their own with a hard limit, and alert on pool waiters.",
        command='psql -c "select usename, state, count(*), min(state_change) from pg_stat_activity group by 1, 2"',
    ),
    SymptomClass(
        name="disk full",
        words=_words(
            r"no space left on device",
            r"disk (?:is )?(?:almost )?full",
            r"disk (?:usage|space|pressure)",
            r"disk \d{2,3} ?%",
            r"filesystem (?:is )?(?:almost )?(?:full|at \d)",
            r"enospc",
            r"out of inodes",
            r"flood.stage watermark",
        ),
        cause="A volume is filling up: logs, temporary files, a backup or old segments.",
        category="capacity",
        severity="high",
        first_action="Find which volume is full and what grew on it in the last hours.",
        long_term_fix="Rotate and expire what grows, and alert on the day a volume will be full, not on its level.",
        command="df -h",
    ),
    SymptomClass(
        name="out of memory",
        words=_words(
            r"oom.?kill\w*",
            r"out of memory",
            r"outofmemoryerror",
            r"java heap space",
            r"exit code 137",
            r"memory (?:limit|cgroup)",
            r"cannot allocate memory",
            r"gc overhead limit",
        ),
        cause="The process needs more memory than its limit: a leak, a larger load or a limit too low.",
        category="capacity",
        severity="high",
        first_action="Compare memory use with the limit since the last deploy: a slope is a leak, a step is load.",
        long_term_fix="Set limits from measured use, and keep a heap dump when the limit is hit.",
        command="kubectl top pods --all-namespaces --sort-by=memory",
    ),
    SymptomClass(
        name="image pull",
        words=_words(
            r"imagepullbackoff", r"errimagepull", r"manifest unknown", r"pull access denied", r"toomanyrequests"
        ),
        cause="The container image cannot be pulled: a wrong tag, a registry that refuses, or expired access.",
        category="configuration",
        severity="high",
        first_action="Read the events of one failing pod: they name the image and the registry's answer.",
        long_term_fix="Check in the pipeline that an image exists before its tag is rolled out.",
        command="kubectl get events --all-namespaces --field-selector reason=Failed",
    ),
    SymptomClass(
        name="crash loop",
        words=_words(
            r"crashloopbackoff",
            r"crash.?loop\w*",
            r"back-off restarting",
            r"restarting repeatedly",
            r"keeps? (?:restarting|crashing)",
            r"segmentation fault",
            r"panic:",
        ),
        cause="The process ends right after its start: a bad release, a missing setting or a dependency.",
        category="change",
        severity="high",
        first_action="Read the last lines before the process ended, and compare its start with the last deploy.",
        long_term_fix="Make a failed start stop the rollout by itself.",
        command="kubectl get pods --all-namespaces --field-selector status.phase!=Running",
    ),
    SymptomClass(
        name="certificate expired",
        words=_words(
            r"certificate (?:has |is )?(?:expired|expir\w+|not yet valid)",
            r"cert(?:ificate)? expir\w+",
            r"x509",
            r"certificate.verify.failed",
            r"ssl handshake",
            r"tls handshake",
            r"sslerror",
            r"unable to verify the first certificate",
        ),
        cause="A certificate has expired or its chain is not trusted.",
        category="security",
        severity="critical",
        first_action="Read the dates and the chain of the certificate that is served now.",
        long_term_fix="Renew automatically, and alert three weeks before a certificate ends.",
    ),
    SymptomClass(
        name="name resolution",
        words=_words(
            r"no such host",
            r"nxdomain",
            r"servfail",
            r"name (?:or service )?not (?:known|resolved)",
            r"name resolution",
            r"could not resolve",
            r"getaddrinfo",
            r"enotfound",
            r"\bdns\b",
            r"unknownhostexception",
        ),
        cause="A name does not resolve: the resolver is down, the record is gone or a search domain changed.",
        category="network",
        severity="critical",
        first_action="Resolve the name from an affected host and from another one, and compare the answers.",
        long_term_fix="Watch the resolvers themselves, and cache answers on every node.",
        command="kubectl get pods --namespace kube-system --selector k8s-app=kube-dns",
    ),
    SymptomClass(
        name="rate limited",
        words=_words(
            r"\b429\b", r"rate.?limit\w*", r"too many requests", r"throttl\w+", r"slow ?down", r"requestlimitexceeded"
        ),
        cause="A service refuses calls because we send more than it allows.",
        category="dependency",
        severity="medium",
        first_action="Find which caller's rate rose, and when.",
        long_term_fix="Retry with back-off and jitter, and keep a budget for each caller.",
    ),
    SymptomClass(
        name="quota used up",
        words=_words(
            r"quota (?:exceeded|used up|limit\w*)",
            r"quotaexceeded\w*",
            r"exceeded (?:your |the )?quota",
            r"limitexceeded\w*",
            r"insufficient capacity",
        ),
        cause="A quota of the platform is used up.",
        category="capacity",
        severity="high",
        first_action="See which quota it is and what used it in the last day.",
        long_term_fix="Alert at 80 % of each quota, and remove what nobody uses.",
        command="kubectl get resourcequota --all-namespaces",
    ),
    SymptomClass(
        name="replication lag",
        words=_words(
            r"replica\w* (?:is )?(?:lag\w*|behind|delay\w*)",
            r"replication (?:lag|delay|slot|stopped|broken)",
            r"seconds_behind_master",
            r"standby (?:is )?behind",
            r"wal (?:lag|retention)",
        ),
        cause="The replica cannot keep up: a long transaction, heavy writes or a slow disk on the replica.",
        category="data",
        severity="high",
        first_action="See whether the replica applies nothing at all or only too slowly.",
        long_term_fix="Split large writes into batches, and keep reports off the replica that serves users.",
        command='psql -c "select application_name, state, write_lag, replay_lag from pg_stat_replication"',
    ),
    SymptomClass(
        name="lag of a queue or consumer",
        words=_words(
            r"consumer.?(?:group )?(?:\w+ )?lag\w*",
            r"queue (?:depth|length|size|is growing|backlog|lag)",
            r"backlog",
            r"messages? (?:are )?piling up",
            r"messages_ready",
            r"rebalanc\w+",
            r"dead.?letter",
            r"approximateageofoldestmessage",
        ),
        cause="Work arrives faster than it is done: consumers are stuck, too few or failing on one message.",
        category="capacity",
        severity="high",
        first_action="See whether consumers do nothing (stuck) or too little (slow), by partition or queue.",
        long_term_fix="Set poison messages aside automatically, and alert on the age of the oldest message.",
    ),
    SymptomClass(
        name="deadlock or lock wait",
        words=_words(
            r"deadlock\w*",
            r"lock wait",
            r"could not obtain lock",
            r"lock (?:timeout|contention)",
            r"database is locked",
            r"waiting for \w*lock",
            r"blocked by (?:pid|session|transaction)",
        ),
        cause="Transactions block each other: a long one holds locks that others wait for.",
        category="data",
        severity="high",
        first_action="Find the session at the head of the waiting chain and what it has been doing.",
        long_term_fix="Keep transactions short, take locks in one order, and set a lock timeout for migrations.",
        command='psql -c "select pid, pg_blocking_pids(pid), state, query_start from pg_stat_activity where '
        'cardinality(pg_blocking_pids(pid)) > 0"',
    ),
    SymptomClass(
        name="violated constraint or damaged data",
        words=_words(
            r"(?:unique|foreign key|check|not.null) constraint",
            r"duplicate (?:key|entry)",
            r"integrityerror",
            r"checksum (?:mismatch|differs|error|failed)",
            r"corrupt\w*",
            r"invalid page",
            r"schema mismatch",
        ),
        cause="Data does not have the shape that the code expects: a bad write, a migration or damage.",
        category="data",
        severity="high",
        first_action="Stop what writes, then look at one failing record and when it was last written.",
        long_term_fix="Check data where it comes in, and try restores regularly.",
    ),
    SymptomClass(
        name="setting or secret missing",
        words=_words(
            r"missing (?:required )?(?:environment|env|config\w*|setting|secret|key)",
            r"(?:secret|configmap|config) \S{1,80} not found",
            r"createcontainerconfigerror",
            r"environment variable \S{1,80} (?:is )?(?:not set|missing|required)",
            r"is not set\b",
            r"invalid configuration",
            r"keyerror",
            r"failed to load config\w*",
        ),
        cause="A setting or secret is missing or wrong since the last change.",
        category="configuration",
        severity="high",
        first_action="Compare the settings of a failing instance with those of the last good release.",
        long_term_fix="Check every setting at start, and refuse to roll out without it.",
    ),
    SymptomClass(
        name="access refused",
        words=_words(
            r"permission denied",
            r"access ?denied\w*",
            r"unauthori[sz]ed",
            r"\b401\b",
            r"\b403\b",
            r"forbidden",
            r"invalid (?:token|credentials|api key|signature)",
            r"token (?:has )?expired",
            r"authentication failed",
            r"not authori[sz]ed",
        ),
        cause="A credential or a permission is no longer valid: expired, rotated or taken away.",
        category="security",
        severity="high",
        first_action="Find which identity is refused, by what, since when, and what was rotated then.",
        long_term_fix="Rotate credentials with an overlap, and alert before one expires.",
    ),
    SymptomClass(
        name="node not ready",
        words=_words(
            r"\bnode\w* (?:\S{1,60} )?(?:is |are |has been )?(?:not ?ready|unreachable|down|lost)",
            r"nodenotready",
            r"kubelet (?:stopped|is not)",
            r"host (?:is )?(?:down|unreachable)",
            r"instance (?:status check|retire\w*|terminated)",
        ),
        cause="A node has failed or has lost its connection to the cluster.",
        category="capacity",
        severity="high",
        first_action="See whether one node or a whole zone is affected, and what its last events were.",
        long_term_fix="Spread replicas over zones, and replace nodes that fail automatically.",
        command="kubectl get nodes --output wide",
    ),
    SymptomClass(
        name="quorum or leader election",
        words=_words(
            r"no leader",
            r"leader (?:election|changed?|lost)",
            r"lost (?:leader\w*|quorum)",
            r"quorum",
            r"split.?brain",
            r"etcdserver",
            r"not enough replicas",
            r"under.?replicated",
            r"isr shrunk",
        ),
        cause="Cluster members cannot agree on a leader: members are gone, slow or cut off.",
        category="network",
        severity="critical",
        first_action="Count the members that see each other, and change nothing until a majority is certain.",
        long_term_fix="Keep an odd number of members in separate zones, on disks that are fast enough.",
    ),
    SymptomClass(
        name="clock skew",
        words=_words(
            r"clock (?:skew|drift|offset)",
            r"time (?:skew|drift)",
            r"\bntp\b",
            r"chrony\w*",
            r"requesttimetooskewed",
            r"used before issued",
            r"timestamp (?:is )?in the future",
        ),
        cause="The clocks of two machines differ by more than the protocol allows.",
        category="configuration",
        severity="medium",
        first_action="Compare the clocks of the affected hosts with their time source.",
        long_term_fix="Alert on clock offset on every host.",
        command="chronyc tracking",
    ),
    SymptomClass(
        name="file descriptors used up",
        words=_words(r"too many open files", r"\bemfile\b", r"\benfile\b", r"file descriptors?", r"\bnofile\b"),
        cause="A process has used up its file descriptors: a leak of sockets or files.",
        category="capacity",
        severity="high",
        first_action="Count the open descriptors of the process by kind, and see whether the number grows.",
        long_term_fix="Close what is opened, and alert at 80 % of the limit.",
        command="ss --summary",
    ),
    SymptomClass(
        name="threads used up",
        words=_words(
            r"thread ?pool\w* (?:is )?(?:exhausted|full|rejected|saturated)",
            r"thread (?:pool )?(?:exhaustion|starvation)",
            r"rejectedexecution\w*",
            r"unable to create (?:new )?native thread",
            r"worker_connections are not enough",
            r"server reached \S{1,40}max\w*",
            r"no (?:idle|free|available) workers?",
            r"all workers (?:are )?busy",
        ),
        cause="Every worker waits for something slow, so that new requests find none.",
        category="capacity",
        severity="high",
        first_action="Take a thread dump: what most threads wait for is the cause.",
        long_term_fix="Give every outgoing call a short timeout, and slow dependencies a pool of their own.",
    ),
    SymptomClass(
        name="cache evictions or memory",
        words=_words(
            r"evict(?:ion|ions|ed|ing)",
            r"cache (?:hit|miss)(?: rate| ratio)?",
            r"maxmemory",
            r"cache (?:is )?full",
            r"\bredis\b.{0,40}memory",
            r"memcached",
            r"cache stampede",
        ),
        cause="The cache is full or cold, so that the load falls on what is behind it.",
        category="capacity",
        severity="medium",
        first_action="Compare memory, evictions and hit rate with yesterday at this time.",
        long_term_fix="Set expiry times on what is cached, and size the cache from the working set.",
        command="redis-cli info memory",
    ),
    SymptomClass(
        name="backup or scheduled job failed",
        words=_words(
            r"backup\w* (?:\S{1,40} ){0,3}(?:has |is )?(?:failed|missing|too old|overdue)",
            r"failed backup",
            r"cron\w* (?:\S{1,40} )?(?:has |is )?(?:failed|missed|overdue)",
            r"(?:scheduled|nightly|batch) (?:job|task)",
            r"job (?:has )?failed",
            r"backofflimitexceeded",
            r"deadlineexceeded.{0,20}job",
        ),
        cause="A scheduled job did not run or did not end.",
        category="change",
        severity="medium",
        first_action="Read the end of the job's last run, and see when it last succeeded.",
        long_term_fix="Alert when a success is overdue, not only when a run fails.",
        command="kubectl get cronjobs --all-namespaces",
    ),
    SymptomClass(
        name="connection refused",
        words=_words(
            r"connection refused",
            r"econnrefused",
            r"connect(?:ion)? (?:was )?reset",
            r"econnreset",
            r"broken pipe",
            r"upstream prematurely closed",
            r"no healthy upstream",
            r"no route to host",
        ),
        cause="The other side does not listen: it is down, restarting or behind a changed rule.",
        category="network",
        severity="high",
        first_action="See whether the target runs and listens, then whether it can be reached from the caller.",
        long_term_fix="Take instances out of rotation by their readiness, before they stop.",
        command="ss --listening --tcp --numeric",
    ),
    SymptomClass(
        name="timeout of a dependency",
        words=_words(
            r"timed? ?out",
            r"timeout\w*",
            r"deadline ?exceeded",
            r"gateway time-?out",
            r"\b504\b",
            r"etimedout",
            r"circuit ?breaker",
        ),
        cause="A dependency answers too slowly or not at all.",
        category="dependency",
        severity="high",
        first_action="Find which call times out, and ask that dependency's own numbers first.",
        long_term_fix="Use short timeouts, few retries and a circuit breaker for each dependency.",
        general=True,
    ),
    SymptomClass(
        name="surge of server errors",
        words=_words(
            r"\b5xx\b",
            r"\b50[023]\b",
            r"error rate",
            r"server errors?",
            r"bad gateway",
            r"service unavailable",
            r"high errors?",
            r"requests? (?:are )?fail\w*",
            r"unhandled exception",
        ),
        cause="The service fails on many requests; a recent change is the first thing to look at.",
        category="change",
        severity="high",
        first_action="Compare the start of the errors with the last deploy, and read the most frequent error.",
        long_term_fix="Roll out in steps that stop by themselves when errors rise.",
        general=True,
    ),
    SymptomClass(
        name="latency",
        words=_words(
            r"latenc\w+",
            r"\bp9[059]\b",
            r"slow (?:quer\w+|response\w*|request\w*)",
            r"response time",
            r"high load",
            r"cpu (?:usage|throttl\w+|saturat\w+|at \d)",
        ),
        cause="The service answers slowly: more load, a slower dependency or a costlier query.",
        category="capacity",
        severity="medium",
        first_action="See whether all requests are slow or one route, and whether load rose at the same time.",
        long_term_fix="Set a latency objective for each route, and test with the load of the busiest hour.",
        general=True,
    ),
)
