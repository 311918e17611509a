"""What credentials look like: a table, each line of which has its tests.

A table of our own: the detectors that are published scan files with entropy and context, are made to alarm and not to
replace, and bring more packages than this product has.
"""

import re

_VALUE = r"[^\s\"'`,;&<>()\[\]{}\x00]+"
# Names whose value is a credential: key=value, key: value, "key": "value". What stands before the name does not matter
# ("DB_PASSWORD", "githubToken"), but a parser's "unexpected token: name" names none.
NAMES = (
    r"(?=[acepst])(?:(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|account[_-]?key|"
    r"(?:encryption|signing|auth)[_-]?key|credential)s?|"
    r"(?<!unexpected )(?<!invalid )(?<!illegal )token|session_?id|(?<![A-Za-z0-9])pwd?|(?<=[_-])pass|(?<![A-Za-z0-9])pass(?==))"
)
_SCHEMES = r"(?:bearer|basic|digest|token|negotiate|ntlm|splunk|geniekey|api-?key|key)"

# Kind; pattern; the group that is kept, if any; and what a text holds, in lower case, if the pattern can match: looking for
# that is far quicker than trying the pattern.
SHAPES: list[tuple[str, re.Pattern[str], str, tuple[str, ...]]] = [
    (
        "private key",
        re.compile(
            # To its end; of a key that was cut off, whatever looks like one. Possessive: no way back, so it is linear.
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----)){0,8000}+-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|"
            r"(?:\s{0,4}[A-Za-z-]{1,30}: [^\r\n]{1,100}){0,4}[A-Za-z0-9+/=\s\\]{0,8000}+)"
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
            + NAMES
            + r"(?:\\?[\"'])?\s{0,3}(?:=>?|:(?!:))\s{0,3}(?:\[\s{0,3}(?!redacted))?)(?![|>][+-]?\s)(?!\[redacted)(?:\"[^\"\r\n]{1,400}\"|'[^'\r\n]{1,400}'|(?:\\?[\"'])?"
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
            r"(?P<keep>\b(?:redis-cli\b[^\r\n|;]{0,200}?\s-a|ldap(?:search|modify|add|delete|whoami)\b[^\r\n|;]{0,200}?\s-w|sshpass\s+-p|(?:docker|podman|az|vault|oc|mongo\w*|cqlsh|sqlcmd|isql|ipmitool|zip|7z|unzip|smbclient|influx|clickhouse-client|net use|keytool|snmp\w*)\b[^\r\n|;]{0,200}?\s-[pPW]|(?:rabbitmqctl|rabbitmqadmin) (?:add_user|change_password) [^\s]{1,60}(?=\s)|net use\b[^\r\n|;]{0,120}?\s/user:[^\s]{1,80}(?=\s)|curl\b[^\r\n|;]{0,200}?\s(?:-u|--user)[\s=]+[^\s:]{1,80}:)\s?[\"']?)(?!\[redacted)[^\s\"']{2,100}"
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
    (
        "password",
        re.compile(
            # {"name": "DB_PASSWORD", "value": "…"}, the same in YAML and as attributes of XML.
            r"(?P<keep>\b(?:name|key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?[\w.-]{0,60}?"
            + NAMES
            + r"[\w.-]{0,20}[\"']?\s{0,3},?\s{1,40}[\"']?value[\"']?\s{0,3}[:=]\s{0,3})"
            r"(?:\"[^\"\r\n]{1,400}\"|'[^'\r\n]{1,400}'|" + _VALUE + r")",
            re.I,
        ),
        "keep",
        ("value",),
    ),
    (
        "password",
        re.compile(r"(?P<keep>" + NAMES + r"[\"']?\s{0,3}:\s{0,3}[|>][+-]?[ \t]{0,3}\r?\n\s{1,20})" + _VALUE, re.I),
        "keep",
        ("|", ">"),
    ),
    (
        "password",
        re.compile(
            r"(?P<keep>\bidentified\s{1,3}(?:with\s{1,3}\w{1,40}\s{1,3})?by\s{1,3}(?:password\s{1,3})?|\bpassword\s{1,3}(?='))"
            r"(?:'[^'\r\n]{1,200}'|\"[^\"\r\n]{1,200}\"|" + _VALUE + r")",
            re.I,
        ),
        "keep",
        ("identified", "password"),
    ),
    (
        "authorization",
        re.compile(
            # Their parts follow, with commas between them.
            r"(?P<keep>\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:digest|aws4-hmac-sha256)\s{1,3})[^\r\n]{1,2000}",
            re.I,
        ),
        "keep",
        ("authorization",),
    ),
    (
        "token",
        re.compile(r"(?P<keep>\bhttps?://)[A-Za-z0-9_-]{16,200}(?=@)"),
        "keep",
        ("://",),
    ),
    (
        "token",
        re.compile(
            # Vault, PyPI, Google, Grafana, DigitalOcean.
            r"\b(?:hv[sbr]\.[A-Za-z0-9_-]{20,300}|pypi-[A-Za-z0-9_-]{30,400}|ya29\.[A-Za-z0-9_-]{20,400}|"
            r"gl(?:sa|c)_[A-Za-z0-9_]{20,200}|do[por]_v1_[a-f0-9]{32,80})"
        ),
        "",
        ("hvs.", "hvb.", "hvr.", "pypi-", "ya29.", "glsa_", "glc_", "_v1_"),
    ),
    (
        "discord webhook",
        re.compile(r"https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/[\w/-]{20,200}"),
        "",
        ("discord",),
    ),
]
