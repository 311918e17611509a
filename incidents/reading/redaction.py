"""Credentials out of text, before it is stored, searched, sent or shown.

A table of our own: the detectors that are published scan files with entropy and context, are made to alarm and not to
replace, and bring more packages than this product has. Each line has its tests. Versions, commit hashes, build numbers
and addresses are no credentials and stay: an incident is read by them.
"""

import re
from itertools import pairwise
from typing import Any

_VALUE = r"[^\s\"'`,;&<>()\[\]{}\x00]+"
# Names whose value is a credential: key=value, key: value, "key": "value". What stands before the name does not matter
# ("DB_PASSWORD", "githubToken"), but a parser's "unexpected token: name" names none.
_NAMES = (
    r"(?=[apcst])(?:(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|account[_-]?key|credential)s?|"
    r"(?<!unexpected )(?<!invalid )(?<!illegal )token|session_?id|(?<![A-Za-z0-9])pwd?|(?<=[_-])pass|(?<![A-Za-z0-9])pass(?==))"
)
_SCHEMES = r"(?:bearer|basic|digest|token|negotiate|ntlm|splunk|geniekey|api-?key|key)"

# Kind; pattern; the group that is kept, if any; and what a text holds, in lower case, if the pattern can match: looking for
# that is far quicker than trying the pattern.
_PATTERNS: list[tuple[str, re.Pattern[str], str, tuple[str, ...]]] = [
    (
        "private key",
        re.compile(
            # To its end; of a key that was cut off, whatever looks like one. Possessive: no way back, so it is linear.
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"
            r"(?:(?:[^-]|-(?!----)){0,8000}+-----END [A-Z ]{0,30}PRIVATE KEY-----|[A-Za-z0-9+/=\s\\]{0,8000}+)"
        ),
        "",
        ("-----begin",),
    ),
    (
        "jwt",
        re.compile(r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{5,2000}"),
        "",
        ("eyj",),
    ),
    (
        "aws key",
        re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        "",
        ("akia", "asia"),
    ),
    (
        "github token",
        re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})\b"),
        "",
        ("gh", "github_pat"),
    ),
    (
        "gitlab token",
        re.compile(r"\bglpat-[A-Za-z0-9_-]{16,64}"),
        "",
        ("glpat-",),
    ),
    (
        "slack token",
        re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"),
        "",
        ("xox",),
    ),
    (
        "slack webhook",
        re.compile(r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{10,120}"),
        "",
        ("hooks.slack",),
    ),
    (
        "stripe key",
        re.compile(r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,120}"),
        "",
        ("k_live_", "k_test_"),
    ),
    (
        "google key",
        re.compile(r"\bAIza[A-Za-z0-9_-]{30,45}"),
        "",
        ("aiza",),
    ),
    (
        "groq key",
        re.compile(r"\bgsk_[A-Za-z0-9]{20,120}"),
        "",
        ("gsk_",),
    ),
    (
        "api key",
        re.compile(r"\b(?:sk-(?:[A-Za-z]{1,12}-)?[A-Za-z0-9_-]{20,200}|occ_[a-z0-9]{8}_[a-z0-9]{16,64})\b"),
        "",
        ("sk-", "occ_"),
    ),
    (
        "sendgrid key",
        re.compile(r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
        "",
        ("sg.",),
    ),
    (
        "twilio key",
        re.compile(r"\b(?:SK|AC)[0-9a-f]{32}\b"),
        "",
        ("sk", "ac"),
    ),
    (
        "hugging face token",
        re.compile(r"\bhf_[A-Za-z0-9]{20,60}\b"),
        "",
        ("hf_",),
    ),
    (
        "npm token",
        re.compile(r"\bnpm_[A-Za-z0-9]{30,60}\b"),
        "",
        ("npm_",),
    ),
    (
        "password",
        re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)[^\s/@]{1,200}(?=@)", re.I),
        "keep",
        ("://",),
    ),
    (
        "authorization",
        re.compile(
            r"(?P<keep>\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?:" + _SCHEMES + r"\s{1,3})?" + _VALUE,
            re.I,
        ),
        "keep",
        ("authorization",),
    ),
    (
        "token",
        re.compile(r"(?P<keep>\bbearer\s{1,3})[A-Za-z0-9._~+/=-]{12,4000}", re.I),
        "keep",
        ("bearer",),
    ),
    (
        "cookie",
        re.compile(r"(?P<keep>\b(?:set-)?cookie[\"']?\s{0,3}:\s{0,3})[^\r\n\"]{1,4000}", re.I),
        "keep",
        ("cookie",),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>"
            + _NAMES
            + r"(?:\\?[\"'])?\s{0,3}(?:=>?|:(?!:))\s{0,3})(?!\[redacted)(?:\"[^\"\r\n]{1,400}\"|'[^'\r\n]{1,400}'|(?:\\?[\"'])?"
            + _VALUE
            + r")",
            re.I,
        ),
        "keep",
        (),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>(?<![\w-])--?(?:[\w-]{0,30}-)?(?:password|passwd|pass|pw|pwd|passphrase|passin|passout|storepass|keypass|token|secret|api-key|apikey)[ =])"
            r"(?!\[redacted)(?:\"[^\"\r\n]{1,200}\"|'[^'\r\n]{1,200}'|[\"']?" + _VALUE + r")",
            re.I,
        ),
        "keep",
        ("-p", "pass", "-token", "-secret", "-api", "-pw"),
    ),
    (
        "password",
        re.compile(r"(?P<keep><(?:password|passwd|pwd|secret|token|apikey)>)[^<\r\n]{1,400}", re.I),
        "keep",
        ("<p", "<s", "<t", "<a"),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\r\n|;]{0,200}?\s-p)(?!\[redacted)(?:\"[^\"\r\n]{1,100}\"|'[^'\r\n]{1,100}'|[^\s\"']{3,100})"
        ),
        "keep",
        ("mysql", "mariadb"),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>\b(?:redis-cli\b[^\r\n|;]{0,200}?\s-a|ldap(?:search|modify|add|delete|whoami)\b[^\r\n|;]{0,200}?\s-w|sshpass\s+-p|(?:docker|podman|az|vault|oc|mongo\w*|cqlsh|sqlcmd|isql|ipmitool|zip|7z|unzip|smbclient|influx|clickhouse-client|net use|keytool|snmp\w*)\b[^\r\n|;]{0,200}?\s-[pPW]|(?:rabbitmqctl|rabbitmqadmin) (?:add_user|change_password) [^\s]{1,60}(?=\s)|net use\b[^\r\n|;]{0,120}?\s/user:[^\s]{1,80}(?=\s)|curl\b[^\r\n|;]{0,200}?\s(?:-u|--user)\s+[^\s:]{1,80}:)\s?[\"']?)(?!\[redacted)[^\s\"']{2,100}"
        ),
        "keep",
        ("redis-cli", "sshpass", "curl", "ldap", " -p", " -w", "rabbitmq", "net use"),
    ),
    (
        "password",
        re.compile(
            # In words: "the password is hunter2", "Passwort: geheim". A value holds a digit or a sign, or is quoted.
            r"(?P<keep>\b(?:password|passwd|pwd|passphrase|secret|pin|token)\b[^.\n:=]{0,30}?\s(?:is|was|to|now)\s{1,2})"
            r"(?!\[redacted)(?:\"[^\"\r\n]{1,100}\"|'[^'\r\n]{1,100}'|(?=[^\s]{0,60}[\d!@#$%^&?])[^\s\"'<>\x00]{4,100}(?<![.,;:!?)]))",
            re.I,
        ),
        "keep",
        ("pass", "pwd", "secret", "pin", "token"),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>\b(?:passwort|kennwort|mot de passe|contrase(?:ñ|n)a|heslo|has(?:ł|l)o|senha|wachtwoord|l(?:ö|o)senord|salasana|парол[ьяі]|parola|lozinka)"
            r"\s{0,2}(?:[:=]|\bist\b|\best\b|\bes\b|\bje\b)\s{0,2}[\"']?)(?!\[redacted)" + _VALUE,
            re.I,
        ),
        "keep",
        (
            "wort",
            "passe",
            "contrase",
            "heslo",
            "has",
            "senha",
            "wachtwoord",
            "senord",
            "salasana",
            "парол",
            "parola",
            "lozinka",
        ),
    ),
    (
        "password",
        re.compile(
            # user:password@host, without a scheme; an image's name:tag@sha256 is none.
            r"(?P<keep>(?<![\w/:.@-])[A-Za-z_][\w.-]{1,40}:)[^\s:@/\\\"'<>\x00]{3,80}(?=@(?!sha256:)[A-Za-z0-9])"
        ),
        "keep",
        ("@",),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>\b(?:login|credentials?|creds|log in with|username and password)(?: (?:(?:is|was|are|were|with)|for [^\n:]{0,40}?))?[: ]{1,2}[\w.-]{2,40}\s?/\s?)(?=[^\s]{0,60}[\d!@#$%^&?])[^\s\"'<>,;\x00]{4,80}",
            re.I,
        ),
        "keep",
        ("login", "cred", "log in", "username"),
    ),
]


# A word that only looks like a value: "password: required", "token = null".
_HARMLESS = re.compile(
    r"^(?:null|none|true|false|required|invalid|expired|missing|wrong|empty|yes|no|\*+|x+|\.+|<[^>]*>?)$", re.I
)
# Something long after "=" or ":" that may be opaque; whether it is, its letters say.
_ASSIGNED = re.compile(r"(?P<keep>[=:]\s{0,2}[\"']?)(?P<value>[A-Za-z0-9+_=-]{32,200})(?![A-Za-z0-9+_=/.-])")


def redact(text: str) -> str:
    """Return the text with every credential-shaped string replaced by ``[redacted: kind]``. Linear in its length."""
    pieces, last = [], 0
    for start, end, kind in credentials(text):
        pieces += [text[last:start], f"[redacted: {kind}]"]
        last = end
    return "".join([*pieces, text[last:]])


def credentials(text: str) -> list[tuple[int, int, str]]:
    """Return where credential-shaped strings begin and end and their kinds, in order and apart. Linear in its length."""
    lower = text.lower()
    found = [
        (match.start() + len(match["keep"] if keep else ""), match.end(), kind)
        for kind, pattern, keep, hints in _PATTERNS
        if not hints or any(hint in lower for hint in hints)
        for match in pattern.finditer(text)
        if not (keep and _HARMLESS.match(match.group()[len(match["keep"]) :].strip("\"'")))
    ]
    found += [(*match.span("value"), "token") for match in _ASSIGNED.finditer(text) if looks_random(match["value"])]
    # Two lines of the table may see one credential: the first in the table names it.
    apart: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(found, key=lambda one: one[0]):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]), apart[-1][2])
        else:
            apart.append((start, end, kind))
    return apart


def looks_random(value: str) -> bool:
    """Return whether letters of both cases and digits change as often as chance has it.

    Words in CamelCase change less often; commit hashes, digests and UUIDs have one case.
    """
    kinds = ["upper" if c.isupper() else "lower" if c.islower() else "digit" if c.isdigit() else "" for c in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    return min(kinds.count(kind) for kind in ("upper", "lower", "digit")) >= 3 and changes >= 0.45 * len(value)


def redact_tree(value: Any) -> Any:
    """Return nested lists and dictionaries with every string redacted, keys included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(key)): _redact_named(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_tree(inner) for inner in value]
    return value


_SECRET_NAME = re.compile(_NAMES + r"$", re.I)


def is_credential(name: str, value: str) -> bool:
    """Return whether the field's name says that its value is a credential, whatever the value looks like."""
    return _SECRET_NAME.search(name[-80:]) is not None and not _HARMLESS.match(value)


def _redact_named(name: str, value: Any) -> Any:
    if isinstance(value, str | int) and is_credential(name, str(value)):
        return "[redacted: password]"
    return redact_tree(value)
