"""What an alert says, read by rules alone: service, environment, severity, errors, metrics, times, symptoms.

Deterministic, and linear in the part that is looked at: the first 400 lines and 40,000 characters. What is beyond still
stands in the alert's text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from incidents.reading.text import clean, signature

MAX_CHARACTERS, MAX_LINES, MAX_LINE = 40_000, 400, 1_000
MAX_SIGNATURES, MAX_METRICS, MAX_TIMES = 8, 12, 6
MAX_TITLE = 200


@dataclass(frozen=True)
class Metric:
    """A number that the alert names, as text, with its usual value where the alert says it."""

    name: str
    value: str
    baseline: str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class AlertFacts:
    """Everything is redacted, untrusted text."""

    title: str = ""
    service: str | None = None
    environment: str | None = None
    severity: str | None = None
    error_signatures: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    times: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    technologies: tuple[str, ...] = field(default=())

    @property
    def vague(self) -> bool:
        """Whether it names no service, no error and no metric: there is nothing to match by."""
        return not (self.service or self.error_signatures or self.metrics)

    def as_dict(self) -> dict[str, Any]:
        """Return the result of ``inspect_alert``."""
        return {
            "title": self.title,
            "service": self.service,
            "environment": self.environment,
            "severity": self.severity,
            "error_signatures": list(self.error_signatures),
            "metrics": [vars(metric) for metric in self.metrics],
            "times": list(self.times),
            "symptoms": list(self.symptoms),
            "technologies": list(self.technologies),
            "vague": self.vague,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "AlertFacts":
        """Return the facts that ``as_dict`` gave; what is missing is empty."""
        return cls(
            title=str(stored.get("title") or ""),
            service=stored.get("service"),
            environment=stored.get("environment"),
            severity=stored.get("severity"),
            error_signatures=tuple(stored.get("error_signatures") or ()),
            metrics=tuple(
                Metric(str(m.get("name")), str(m.get("value")), m.get("baseline"), m.get("unit"))
                for m in stored.get("metrics") or ()
            ),
            times=tuple(stored.get("times") or ()),
            symptoms=tuple(stored.get("symptoms") or ()),
            technologies=tuple(stored.get("technologies") or ()),
        )


def read_facts(
    text: str, *, labels: Mapping[str, str] | None = None, services: Mapping[str, str] | None = None
) -> AlertFacts:
    """Return the facts of an alert's text.

    ``labels`` are the sender's own fields and win over the text. ``services`` maps each known name and alias, in lower
    case, to the service's name.
    """
    pairs = {key.casefold(): said for key, value in (labels or {}).items() if (said := " ".join(str(value).split()))}
    lines = [line[:MAX_LINE] for line in clean(text[:MAX_CHARACTERS]).split("\n")[:MAX_LINES]]
    written = _pairs(lines)
    looked_at = "\n".join(lines)
    return AlertFacts(
        title=_title(lines, pairs),
        service=_service(looked_at, pairs, written, services or {}),
        environment=_first(pairs, written, _ENVIRONMENT_KEYS) or _environment(looked_at),
        severity=_severity(pairs, written, looked_at),
        error_signatures=tuple(_error_signatures(lines)),
        metrics=tuple(_metrics(lines)),
        times=tuple(dict.fromkeys(_TIME.findall(looked_at)))[:MAX_TIMES],
        symptoms=tuple(_symptoms(looked_at)),
        technologies=tuple(_technologies(looked_at)),
    )


# --- Title ------------------------------------------------------------------------------------------------------------

_FIRING = re.compile(r"^\s*\[(?:FIRING|RESOLVED|ALERT|CRITICAL|WARNING|TRIGGERED)(?::\d+)?\]\s*", re.I)
_RULE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,80}")
_ONLY_LABELS = re.compile(r"(?:[\w.-]+[=:]\s?[\w./-]+[\s,;]*)+")
TITLE_SHOWN = 140
_TITLE_TAIL = re.compile(r"\s+(?:severity|service|env|environment)=\S+", re.I)


def _title(lines: list[str], labels: Mapping[str, str]) -> str:
    given = labels.get("title") or labels.get("alertname")
    if given:
        return given[:MAX_TITLE]
    said = [line.strip() for line in lines if line.strip()]
    first = said[0] if said else ""
    title = _TITLE_TAIL.sub("", _FIRING.sub("", first)).strip(" {[,")
    if _RULE_NAME.fullmatch(title):
        # The name of a rule alone says little: add the first line that is more than labels.
        more = next((line for line in said[1:] if not _ONLY_LABELS.fullmatch(line)), "")
        title = f"{title}: {more}" if more else title
    return (title or first)[:TITLE_SHOWN]


# --- Service, environment, severity -----------------------------------------------------------------------------------

_PAIR = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]{1,40})[\"']?\s{0,2}[=:]\s{0,2}[\"']?([A-Za-z0-9][\w./-]{0,100})")
_SERVICE_KEYS = (
    "service",
    "service_name",
    "servicename",
    "app",
    "application",
    "component",
    "deployment",
    "job",
    "container",
)
_POD_KEYS = ("pod", "pod_name", "kubernetes_pod_name", "exported_pod")
# What Kubernetes appends to a workload's name: a replica set's hash and a pod's letters, or a stateful set's number.
_POD_SUFFIX = re.compile(r"(?:-(?=[a-z]*\d)[a-z0-9]{6,10})?-[bcdfghjklmnpqrstvwxz2-9]{5}$|-\d{1,3}$")
_ENVIRONMENT_KEYS = ("environment", "env", "stage", "cluster_env", "deployment_environment")
_SEVERITY_KEYS = ("severity", "priority", "level", "urgency")
_ENVIRONMENT = re.compile(
    r"\b((?:prod|production|staging|stage|preprod|qa|dev|sandbox)(?:-[a-z]{2,10}\d?)?)\b(?!\s*[=:])", re.I
)
SEVERITIES = {
    "critical": "critical", "crit": "critical", "fatal": "critical", "emergency": "critical", "disaster": "critical",
    "page": "critical", "sev1": "critical", "sev-1": "critical", "p1": "critical", "p0": "critical",
    "high": "high", "error": "high", "major": "high", "sev2": "high", "sev-2": "high", "p2": "high",
    "medium": "medium", "moderate": "medium", "warning": "medium", "warn": "medium", "average": "medium",
    "sev3": "medium", "p3": "medium",
    "low": "low", "minor": "low", "info": "low", "information": "low", "informational": "low", "notice": "low",
    "sev4": "low", "p4": "low", "p5": "low",
}  # fmt: skip


# "search-api prod critical", "[CRITICAL] disk full": at an end of the first line it is the sender's word, in the middle
# it is prose.
_SEVERITY_WORD = r"(?:critical|warning|emergency|major|minor)"
_SEVERITY_ALONE = re.compile(rf"^[\W_]{{0,4}}{_SEVERITY_WORD}\b|(?<![\w-]){_SEVERITY_WORD}[\W_]{{0,4}}$", re.I)


def _pairs(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        for key, value in _PAIR.findall(line):
            found.setdefault(key.casefold(), value)
    return found


def _first(labels: Mapping[str, str], written: Mapping[str, str], keys: Iterable[str]) -> str | None:
    for source in (labels, written):
        for key in keys:
            if source.get(key):
                return source[key][:120]
    return None


def _service(
    text: str, labels: Mapping[str, str], written: Mapping[str, str], services: Mapping[str, str]
) -> str | None:
    for source in (labels, written):
        for key in _SERVICE_KEYS:
            value = source.get(key)
            if value:
                return services.get(value.casefold(), value)[:120]
    pod = _first(labels, written, _POD_KEYS)
    if pod:
        workload = _POD_SUFFIX.sub("", pod)
        return services.get(workload.casefold(), workload)
    # A known name in running text counts only when it is no ordinary word: "search" alone may be one.
    folded = text.casefold()
    for name in sorted(services, key=len, reverse=True):
        if re.search(r"[-_.\d]", name) and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", folded):
            return services[name]
    return None


def _environment(text: str) -> str | None:
    match = _ENVIRONMENT.search(text)
    return match.group(1).casefold() if match else None


def _severity(labels: Mapping[str, str], written: Mapping[str, str], text: str) -> str | None:
    given = _first(labels, written, _SEVERITY_KEYS)
    if given and given.casefold() in SEVERITIES:
        return SEVERITIES[given.casefold()]
    match = re.search(r"\b(SEV-?[1-4]|P[0-5])\b", text) or _SEVERITY_ALONE.search(text.lstrip().split("\n", 1)[0])
    return SEVERITIES.get(re.sub(r"[\W_]", "", match.group()).casefold()) if match else None


# --- Errors -----------------------------------------------------------------------------------------------------------

_ERROR_LINE = re.compile(
    r"\b[A-Za-z_][\w.]{2,120}(?:Exception|Error|Timeout|Failure|Fault)\b"  # a class of an exception
    r"|\b(?:ERROR|FATAL|PANIC|SEVERE|CRITICAL)\b[:\s\]]"
    r"|\b(?:error|panic|fatal|exception)\s?:"
    r"|\[?Errno \d+\]?|\bE[A-Z]{4,}\b(?=[\s:]|$)|\bORA-\d{4,5}\b|\b[A-Z]{2,8}-\d{3,5}\b(?=:)"
    r"|\bHTTP[ /]?(?:1\.\d )?[45]\d\d\b|\b(?:status|code)[ =:]{1,3}[45]\d\d\b|\b[45]\d\ds\b|\b50[0-4] (?:for|bad|service|gateway|internal)"
    r"|\b(?:timed out|time-?out expired|timeout expired|connection (?:refused|reset|is not available)|no space left|"
    r"out of memory|oomkilled|permission denied|access denied|too many (?:open files|connections|requests)|"
    r"could not (?:acquire|connect|open|resolve|be opened|read|write)|cannot (?:allocate|connect|open|invoke)|"
    r"failed to \w+|failure to \w+|refused the|rejected|certificate (?:has expired|verify failed)|"
    r"read[- ]only replica|deadlock|lock wait|segfault|core dumped|crash ?loop\w*|imagepullbackoff|evicted|"
    r"checksum|mismatch|corrupt\w*|exit code [1-9]\d*|lies in the future|is too old|backoff)\b",
    re.I,
)
_CASED = re.compile(r"\bE[A-Z]{4,}\b")
_LOG_HEAD = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ][\d:.,Z+-]{5,20}\s+|\[[^\]\s]{1,40}\]\s+)*(?:(?:ERROR|FATAL|WARN(?:ING)?|SEVERE|CRITICAL)\b[\s:\]]*)?"
)


def _error_signatures(lines: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    for number, line in enumerate(lines):
        if _FIRING.match(line) and number == 0:
            continue
        match = _ERROR_LINE.search(line)
        if match is None or _is_plain_word(match.group()):
            continue
        readable = _LOG_HEAD.sub("", line).strip(" \t\"'")[:300]
        compared = signature(readable)
        if readable and compared not in seen:
            seen.add(compared)
            yield readable
        if len(seen) >= MAX_SIGNATURES:
            return


def _is_plain_word(found: str) -> bool:
    """E-codes are capitals only ("EAI_AGAIN", "ECONNREFUSED"); the search ignores case, so "every" would be one."""
    return found[:1] in "eE" and found.isalpha() and not _CASED.fullmatch(found)


# --- Metrics ----------------------------------------------------------------------------------------------------------

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_UNIT = r"(?:%|ms|s|min|h|d|/s|/min|rps|qps|[KMGT]i?B?|Mi|Gi)?"
_BASELINE = re.compile(
    rf"\b(?:baseline|threshold|limit|usually|normal(?:ly)?|expected)\s*[:=]?\s*({_NUMBER}\s?{_UNIT})(?=[\s,)\]]|$)",
    re.I,
)
# "<name> 18.4% (baseline 0.3%)": the number before a baseline, with the words before it as its name.
_WITH_BASELINE = re.compile(
    rf"([A-Za-z0-9][\w /.-]{{0,60}}?)[\s=:]+(?:for |is |of |at )?({_NUMBER})\s?({_UNIT})(?:\s+(?:old|behind|of requests|of calls))?\s*[\[(](?:baseline|threshold|limit|usually|normal(?:ly)?|expected)\b\s*[:=]?\s*({_NUMBER}\s?{_UNIT})[\])]",
    re.I,
)
_RATE = re.compile(
    rf"\b(?:(?P<what>[A-Za-z0-9][\w-]{{0,30}})\s+for\s+)?(?P<value>{_NUMBER})\s?%\s+of\s+(?P<of>requests|calls|checks|writes|reads|jobs)",
    re.I,
)
_KEY_NUMBER = re.compile(rf"(?<![\w.-])([A-Za-z][\w.]{{1,30}})=({_NUMBER})({_UNIT})(?=[\s,;)\]]|$)")
_NAMED = re.compile(
    rf"\b((?:p\d\d(?:\.\d)?|latency|error rate|hit rate|5xx rate|4xx rate|cpu|memory|heap|disk used|disk|inodes used|inodes|queue length|"
    rf"consumer lag|replication lag|lag|gc pause|clock offset|load|qps|rps|restarts|backlog|age|throughput|connections|waiting|"
    rf"memory working set|working set)s?)\s*(?:is|at|of|=|:|over|above|was)?\s*({_NUMBER})\s?({_UNIT})(?=[\s,;:()\]]|$)",
    re.I,
)


def _metrics(lines: list[str]) -> list[Metric]:
    found: dict[str, Metric] = {}
    for line in lines:
        for metric in _metrics_of(line):
            found.setdefault(metric.name.casefold(), metric)
        if len(found) >= MAX_METRICS:
            break
    return list(found.values())[:MAX_METRICS]


def _metrics_of(line: str) -> Iterator[Metric]:
    for match in _WITH_BASELINE.finditer(line):
        name, value, unit, baseline = match.groups()
        rate = _RATE.search(match.group())
        if rate:
            name = f"{rate['what'] or 'share'} of {rate['of']}"
        yield Metric(_short(name), value, baseline.strip(), unit or None)
    for match in _RATE.finditer(line):
        baseline = _BASELINE.search(line, match.end())
        what = f"{match['what'] or 'share'} of {match['of']}"
        yield Metric(_short(what), match["value"], baseline.group(1) if baseline else None, "%")
    for match in _NAMED.finditer(line):
        yield Metric(_short(match.group(1)), match.group(2), None, match.group(3) or None)
    for name, value, unit in _KEY_NUMBER.findall(line):
        if name.casefold() not in (
            "line",
            "port",
            "pid",
            "id",
            "version",
            "errno",
            "code",
            "status",
            "offset",
            "severity",
        ):
            yield Metric(name, value, None, unit or None)


def _short(name: str) -> str:
    """Return the last few words of what stands before a number: its name."""
    return " ".join(name.replace("=", " ").strip(" ,.:-").split()[-4:])[:60]


# --- Times, symptoms, technologies ------------------------------------------------------------------------------------

_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\dT?\s?\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?|\bsince \d\d:\d\d\b|\bfor \d{1,3} ?(?:s|m|min|minutes|h|hours)\b"
)

# What people call a failure, each with the shapes that it is written in.
SYMPTOMS: tuple[tuple[str, str], ...] = (
    ("connection pool exhausted", r"connection from the pool|pool (?:exhaust|timeout|is full)|max pool size|pooled connections|connection is not available"),
    ("too many connections", r"too many connections|connection slots|remaining connection"),
    ("timeout", r"tim(?:e|ed)[ -]?out|deadline exceeded"),
    ("connection refused", r"connection refused|econnrefused"),
    ("server errors", r"\b50\d\b|\b5xx\b|bad gateway|service unavailable|internal server error"),
    ("high latency", r"latency|p9\d|slow"),
    ("disk full", r"no space left|disk (?:is )?(?:full|used|usage)|watermark|filesystem full"),
    ("inodes used up", r"inode"),
    ("out of memory", r"oom|out of memory|memory limit|heap space"),
    ("garbage collection", r"\bgc\b|garbage collect"),
    ("crash loop", r"crash ?loop|back-?off restarting|restarts?="),
    ("certificate expired", r"certificate has expired|x509|certificate verify failed|certificate expir"),
    ("name resolution failed", r"eai_again|nxdomain|could not resolve|name resolution|getaddrinfo|dns"),
    ("rate limited", r"\b429\b|too many requests|rate limit|throttl"),
    ("consumer lag", r"consumer lag|\blag\b|queue (?:length|depth)|backlog"),
    ("poison message", r"end-of-input|deserializ|poison|malformed message"),
    ("replication lag", r"replication lag|replica (?:is )?behind"),
    ("deadlock", r"deadlock|lock wait"),
    ("stale lock", r"could not acquire lock|lock .{0,40}held by|stale lock"),
    ("permission denied", r"permission denied|access denied|forbidden|\b403\b|unauthori[sz]ed|\b401\b"),
    ("read-only", r"read[- ]only"),
    ("image pull failed", r"imagepull|errimage|pull access denied"),
    ("node not ready", r"notready|node not ready|node .{0,20}unreachable"),
    ("clock skew", r"clock (?:skew|offset|drift)|lies in the future|ntp"),
    ("checksum mismatch", r"checksum|sha256 mismatch|corrupt"),
    ("stale data", r"stale|is \d+ ?h old|out of date|behind"),
    ("cold cache", r"hit rate|cache miss|cold cache"),
    ("failover", r"failover"),
    ("null reference", r"nullpointer|null reference|is null|nonetype"),
    ("schema changed", r"expected \d+ columns|unknown column|schema"),
    ("quorum lost", r"quorum|no leader|leader election"),
    ("backup failed", r"backup (?:failed|missing)|cronjob failed"),
    ("too many open files", r"too many open files|emfile"),
)  # fmt: skip
_SYMPTOMS = tuple((name, re.compile(shape, re.I)) for name, shape in SYMPTOMS)

TECHNOLOGIES = (
    "ansible", "argo", "aws", "azure", "cassandra", "ceph", "clickhouse", "cloudflare", "consul", "docker", "elasticsearch",
    "envoy", "etcd", "flink", "gcp", "grafana", "grpc", "haproxy", "hadoop", "helm", "ingress", "istio", "java", "jenkins",
    "kafka", "keycloak", "kubernetes", "linux", "loki", "mariadb", "memcached", "mongodb", "mysql", "nats", "nginx", "node",
    "opensearch", "oracle", "postgres", "postgresql", "prometheus", "pulsar", "python", "rabbitmq", "redis", "s3", "snowflake",
    "solr", "spark", "sqlserver", "terraform", "thanos", "tomcat", "traefik", "vault", "zookeeper",
)  # fmt: skip
_TECHNOLOGY = re.compile(r"(?<![A-Za-z0-9])(" + "|".join(TECHNOLOGIES) + r")(?![A-Za-z0-9])", re.I)


def _symptoms(text: str) -> list[str]:
    return [name for name, shape in _SYMPTOMS if shape.search(text)][:12]


def _technologies(text: str) -> list[str]:
    return list(dict.fromkeys(match.casefold() for match in _TECHNOLOGY.findall(text)))[:8]
