"""What is known by its shape: credentials, numbers of accounts, tickets and phones, resources, UUIDs, hashes."""

import re
from collections.abc import Iterator

from incidents.reading.redaction import credentials, looks_random
from lessons.anonymise.findings import Found

_ULID = re.compile(r"(?<![\w-])0[0-9A-HJKMNP-TV-Z]{25}(?![\w-])")
# Channels, members and teams of chats.
_CHAT = re.compile(r"(?<![\w-])[CUTGDWB]0(?=[A-Z0-9]{0,9}[A-Z])[A-Z0-9]{7,10}(?![\w-])")
_UUID_GROUPS = re.compile(r"-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-")
_UUID = re.compile(
    r"(?<![0-9A-Fa-f-])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f-])"
)

# Each with what its text must hold: looking for that is many times faster than trying the pattern everywhere.
_RESOURCES: list[tuple[tuple[str, ...], re.Pattern[str]]] = [
    (("arn:aws",), re.compile(r"\barn:aws[\w-]{0,12}:[^\s\"'`<>,;\x00]{5,400}")),
    (("subscriptions/",), re.compile(r"/?\bsubscriptions/[^\s\"'`<>,;\x00]{3,600}")),
    (
        ("projects/", "organizations/", "folders/", "billingAccounts/"),
        re.compile(
            r"\b(?:projects|organizations|folders|billingAccounts)/(?!\x00)[a-z0-9][\w.:-]{3,60}(?:/[^\s\"'`<>,;\x00]{1,300})?"
        ),
    ),
    (
        ("s3://", "s3a://", "gs://", "abfs", "wasb"),
        re.compile(r"\b(?:s3a?|gs|abfss?|wasbs?)://[^\s\"'`<>,;\x00]{2,300}"),
    ),
    ((".dkr.ecr",), re.compile(r"\b\d{12}\.dkr\.ecr[\w.-]{3,80}(?:/[\w./:@-]{1,200})?")),
    (
        ("gcr.io", "pkg.dev", "azurecr.io"),
        re.compile(r"\b(?:[a-z0-9.-]{2,60}\.)?(?:gcr\.io|pkg\.dev|azurecr\.io)/[\w./:@-]{1,200}"),
    ),
    (("AIDA", "AROA", "AGPA", "ANPA", "AIPA"), re.compile(r"\b(?:AIDA|AROA|AGPA|ANPA|AIPA)[A-Z0-9]{16}\b")),
    (("ocid1.",), re.compile(r"\bocid1\.[\w.-]{10,200}")),
    (
        ("rg-", "vnet-", "nsg-", "kv-", "aks-", "vmss-", "law-", "appi-"),
        re.compile(r"\b(?:rg|vnet|nsg|kv|aks|vmss|law|appi)-[a-z0-9]{2,30}(?:-[a-z0-9]{1,20}){1,5}\b"),
    ),
]
# A cluster, a bucket, a database of one's own is called by what it holds and where it runs: ledger-prod-eu.
_DEPLOYED = re.compile(
    r"(?<![\w./@-])(?=[a-z0-9-]{0,60}\b(?:prod|prd|production|staging|stg|preprod|uat)\b)[a-z][a-z0-9]{0,24}(?:-[a-z0-9]{1,24}){2,6}(?![\w@-])"
)
_NO_DEPLOYED = frozenset("to like and or only wide the non pre of in for from not".split())
_AWS_DIGITS = re.compile(r"-(?=[0-9a-f]{0,16}\d)[0-9a-f]{8,17}(?![\w-])")
_AWS_ID = re.compile(
    r"(?<![\w-])(?:i|vol|snap|sg|vpc|subnet|eni|eipalloc|rtb|igw|nat|acl|ami|lt|pcx|tgw|vpce|fs|sgr|dopt|cgw|vgw|r|eipassoc|mi|pl|asg|lb|tgw-attach|vpce-svc)$"
)
_RESOURCE_NAMED = re.compile(
    r"(?:--(?:project|subscription|resource-group|bucket|vault-name|account-name|tenant|cluster|profile|quota-project|billing-account|zone-name|function-name|queue-url|table-name|db-instance-identifier|instance-id|stack-name)[= ]|"
    r"\b(?:gcp |gcloud |google cloud )project(?: id)?[\s:=]{1,3}|\bbucket[\s:=]{1,3}|\bresource ?group[\s:=]{1,3}|\bsubscription(?: id)?[\s:=]{1,3}|\bAccountName=|\btenant id[\s:=]{1,3}|\b-g )[\"'`]?"
    r"(?P<value>(?=[\w.-]*[-\d_])[A-Za-z0-9][\w.-]{3,100}(?<!\.))",
    re.I,
)
# Something long that is neither a word, a path nor a digest: a key that nobody called one.
_OPAQUE = re.compile(r"(?<![\w+/.=:-])[A-Za-z0-9+/_-]{32,200}={0,2}(?![\w+/.-])")
# A placeholder that is none of ours could carry a number.
_FORGED = re.compile(r"<[A-Z]{2,12}_\d{4,}>")
_RESOURCE_HINTS = ("--", "project", "bucket", "group", "subscription", "tenant id", "-g ")
_ACCOUNT = re.compile(r"(?<![\w.:/#-])(?:\d{12}|\d{4}([ -])\d{4}\1\d{4})(?![\w-]|[ .]\d)")
_NO_ACCOUNT_AFTER = re.compile(
    r"\s?(?:bytes?|[kmgt]i?b|requests?|rows?|records?|messages?|ns|us|µs|ms|keys?|events?|offsets?)\b", re.I
)
_NO_ACCOUNT_BEFORE = re.compile(
    r"(?:memory|heap|offset|size|limit|lsn|bytes|used|free|total|sequence|max|min)\w{0,10}[\s:=]{1,3}(?:of\s|is\s|was\s)?$",
    re.I,
)
_NUMBERED = re.compile(
    r"\b(?P<what>customer|client|account|acct|contract|policy|invoice|order|member|merchant|tenant|subscriber|user|employee|reference|ref|"
    r"kunden?|vertrags?|rechnungs?|zakaznik|aws account|konto|booking|shipment|iban|vat)(?P<sep>[-\s]?(?:no\.?|number|num|id|nr\.?|nummer|numer|cislo|#|n°)[\s:=#]{0,3}|\s#)(?:is |was )?[\"'`]?"
    r"(?P<value>(?=[\w./-]*\d)[A-Za-z0-9][\w./-]{2,40}(?<![.,/]))",
    re.I,
)

# Letters and a number with a hyphen that name something public.
_PUBLIC_CODES = frozenset(
    """ORA TNS PLS RMAN CVE CWE RFC ISO IEC IEEE SHA MD UTF UCS AES DES RSA ECDSA TLS SSL DTLS HTTP HTTPS SMTP FTP SSH DNS TCP UDP IP
    IPV ICMP OSI ANSI ASCII EBCDIC PEP JSR JEP JDK KIP KEP GEP BIP EIP DIN EN ITU NIST FIPS PCI SOC HIPAA GHSA DSA RHSA RHBA USN MS KB SQL
    SQLSTATE DB MYSQL MY PG PGSQL ERR ERROR WARN E W ERRNO EXIT CODE HY COM IDS RAID LTO USB PCIE SATA SAS DDR CAT RJ ARM X GPT LLAMA BERT CL
    AB A B C D P Q S L R T V SEV LEVEL TIER PHASE STEP PART SECTION CHAPTER RULE CIS OWASP WASP CAPEC ATT TA CRC BASE LATIN WINDOWS CP KOI GB BIG
    EUC JIS MP H VP AV WPA WEP EAP BSD GPL LGPL APACHE KAFKA SPARK HADOOP HBASE HDFS YARN CASSANDRA ZOOKEEPER FLINK LUCENE SOLR HIVE AIRFLOW LOG
    HHH SPR JENKINS SERVER GO RUST PYTHON BPO FLUME CAMEL MESOS BEAM ARROW PULSAR NIFI STORM ACCUMULO PHOENIX IGNITE CALCITE TOMCAT MAVEN GROOVY
    XSA TALOS VU JVN DTD XSD EXT AUTH TERM CUDA SM COVID UTC GMT CET PM AM Q FY EC AKS NFS NTLM RC BLOWFISH SCRAM HMAC PBKDF POLY CHACHA ED CURVE
    SECP ES RS HS PS OAUTH OIDC SAML CSS ECMA HTML XML JSON YAML VT VM NET SC SCSI IDE AHCI NVME EFI GPT MBR FAT NTFS ZFS LDAP KRB SNMP SIP RTP
    MPEG H AAC JPEG PNG GIF CISA CTR CBC GCM CFB OFB SIGNAL SIG BUG PORT""".split()
)
_TICKET = re.compile(r"(?<![\w.-])(?P<prefix>[A-Z][A-Z0-9]{1,9})-(?P<number>\d{1,9})(?![\w]|-\d|\.\d)")
_TICKET_LONG = re.compile(
    r"\b(?:INC|CHG|PRB|RITM|REQ|SCTASK|TASK|CASE|CS|PBI|SR|TKT|RFC|WO|CR)\d{5,12}\b|(?<![\w-])#[A-Z]{1,6}-(?=[A-Z-]{0,20}\d)[A-Z0-9-]{3,24}\b"
)
_TICKET_BEFORE = re.compile(
    r"\b(?:tickets?|incidents?|issues?|cases?|bugs?|tasks?|jira|zendesk|pull requests?|merge requests?|prs?|mrs?|change(?: requests?)?|problem|request|vorgang|"
    r"stoerung|zgloszenie|servicenow|pagerduty|opsgenie|story|epic|postmortem|sev-?\d|orders?|bestellung)"
    r"(?:\s?(?:no\.?|number|nr\.?|id|record|key))?[\s:=]{0,2}$"
)
_TICKET_NUMBER = re.compile(
    r"(?<![\w.-])(?:[#!]\s?[\w-]{0,12}\d[\w-]{0,14}|(?:[A-Z]{1,6}-?)?\d{3,12}(?![\w.%]|\s?(?:ms|s|min|minutes|seconds|MB|GB|rows|requests|times|errors|per)\b))"
)
_HASHMARK = re.compile(r"(?<![\w&#/])#\d{2,9}\b(?![\w-])")

_DIGEST = re.compile(
    r"(?:\b(?:sha-?(?:256|512|384|1|224)|md5|digest|checksums?|integrity|blake2b?|hash sum|fingerprint|sum)\b[^\w\r\n]{0,4}(?:(?:is|was|of|expected|got|actual|digest|checksum|sum)[^\w\r\n]{0,3}){0,3})$",
    re.I,
)
_HEX = re.compile(r"(?<![\w#-])(?<!0x)(?:g(?=[0-9a-f]{7,40}\b))?[0-9a-fA-F]{7,64}(?![\w]|-[0-9A-Fa-f]{4}-)")
_COMMIT_BEFORE = re.compile(
    r"\b(?:commits?|sha|sha1|rev|revision|revert(?:ed|s)?|hash|git|HEAD|cherry-?pick(?:ed)?|merge[ds]?|tag|tree|checkout|bisect|image|deploy(?:ed)?|build|to|from|at)[\s:=@(\"'`]{1,3}$",
    re.I,
)
_COMMIT_RANGE = re.compile(r"(?<![\w.])[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}(?![\w.])")
_SHA512 = re.compile(r"(?:sha(?:256|384|512))[-:]$", re.I)

_PHONE = re.compile(
    r"(?<![\w.+/:-])(?:"
    r"(?:\+|00)(?:\s?\(0\)|[\s().\-/]{0,3}\d){8,16}"
    r"|\(\d{2,5}\)[\s.-]?\d{3,4}[\s.-]?\d{3,5}"
    r"|[2-9]\d{2}[-.]\d{3}[-.]\d{4}"
    r"|1[-. ][2-9]\d{2}[-. ]\d{3}[-. ]\d{4}"
    r"|0\d{1,5}(?:[ /-]\d{2,9}){1,5}"
    r")(?:\s?(?:ext\.?|x|Durchwahl|-)\s?\d{1,5})?(?![\w]|[.:]\d)"
)
_PHONE_BEFORE = re.compile(
    r"\b(?:tel(?:efon)?(?:ephone)?|phone|mobile|mobil|cell|call(?:ed)?|dial(?:ed)?|fax|whatsapp|sms|pager|hotline|handy|gsm|rufnummer|telefonu|numer|extension|ext)\b"
    r"[\w ]{0,20}?[.:)]{0,2}\s{0,2}(?:is |was |at |on |to )?$"
)
_NUMBER = re.compile(
    r"(?<![\w.])[+(]?\d(?:[\s()./-]{0,2}\d){5,14}(?![\w]|\.\d|\s?(?:ms|s|%|times|errors|requests|replicas|min|seconds)\b)"
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b")
_CARD = re.compile(r"(?<![\w.-])(?:\d{4}[ -]){3}\d{4}(?![\w-])")


def find_shapes(text: str) -> Iterator[Found]:
    """Yield what is told by its shape alone, or by its shape and the word before it."""
    lower = text.lower()
    for start, end, _ in credentials(text):
        yield Found(start, end, "credential", text[start:end])
    for match in _OPAQUE.finditer(text):
        if looks_random(match.group()):
            yield _whole(match, "credential")
    for group in _UUID_GROUPS.finditer(text):
        uuid = _UUID.match(text, max(0, group.start() - 8))
        if uuid:
            yield _whole(uuid, "uuid")
    yield from _resources(text)
    if any(hint in lower for hint in _RESOURCE_HINTS):
        for match in _RESOURCE_NAMED.finditer(text):
            yield _group(match, "resource", "value")
    for match in _ACCOUNT.finditer(text):
        if not _is_measure(text, match):
            yield Found(match.start(), match.end(), "account", re.sub(r"\D", "", match.group()))
    for match in _NUMBERED.finditer(text):
        yield _group(match, "account", "value")
    for pattern, kind in ((_ULID, "uuid"), (_CHAT, "account")):
        for match in pattern.finditer(text):
            yield _whole(match, kind)
    for match in _FORGED.finditer(text):
        yield _whole(match, "account")
    for pattern in (_IBAN, _CARD):
        for match in pattern.finditer(text):
            if any(c.isdigit() for c in match.group()[4:]):
                yield _whole(match, "account")
    yield from _tickets(text)
    yield from _hashes(text)
    yield from _phones(text)


def _resources(text: str) -> Iterator[Found]:
    for hints, pattern in _RESOURCES:
        if any(hint in text for hint in hints):
            for match in pattern.finditer(text):
                name = match.group().rstrip(".,:)")
                yield Found(match.start(), match.start() + len(name), "resource", name.lower())
    for match in _DEPLOYED.finditer(text):
        if not _NO_DEPLOYED.intersection(match.group().split("-")):
            yield _whole(match, "resource")
    for match in _AWS_DIGITS.finditer(text):
        kind = _AWS_ID.search(text[max(0, match.start() - 12) : match.start()])
        if kind:
            start = match.start() - len(kind.group())
            yield Found(start, match.end(), "resource", text[start : match.end()])


def _whole(match: re.Match[str], kind: str) -> Found:
    return Found(match.start(), match.end(), kind, match.group().lower())


def _group(match: re.Match[str], kind: str, group: str) -> Found:
    return Found(match.start(group), match.end(group), kind, match[group].lower())


def _is_measure(text: str, match: re.Match[str]) -> bool:
    if match[1]:
        return False
    number = int(match.group())
    if number % 1000 == 0 or number & (number - 1) == 0:
        return True
    before = text[max(0, match.start() - 30) : match.start()]
    return _NO_ACCOUNT_AFTER.match(text, match.end()) is not None or _NO_ACCOUNT_BEFORE.search(before) is not None


def _tickets(text: str) -> Iterator[Found]:
    for match in _TICKET.finditer(text):
        if match["prefix"] not in _PUBLIC_CODES and match["prefix"].rstrip("0123456789") not in _PUBLIC_CODES:
            yield _whole(match, "ticket")
    for match in _TICKET_LONG.finditer(text):
        yield _whole(match, "ticket")
    for match in _TICKET_NUMBER.finditer(text):
        if _TICKET_BEFORE.search(text[max(0, match.start() - 32) : match.start()].lower()):
            yield _whole(match, "ticket")
    for match in _HASHMARK.finditer(text):
        yield _whole(match, "ticket")


def _hashes(text: str) -> Iterator[Found]:
    for match in _COMMIT_RANGE.finditer(text):
        yield _whole(match, "commit")
    for match in _HEX.finditer(text):
        digits = match.group().lower().lstrip("g")
        before = text[max(0, match.start() - 60) : match.start()]
        if (_DIGEST.search(before) and len(digits) >= 32) or _SHA512.search(before):
            continue
        mixed = any(c.isdigit() for c in digits) and any(c.isalpha() for c in digits)
        committed = _COMMIT_BEFORE.search(before) is not None
        if not mixed and not (committed and digits.isalpha() and len(digits) >= 7 and len(set(digits)) > 3):
            continue
        if re.fullmatch(r"\d+e\d+", digits) or (re.fullmatch(r"\d+[a-f]", digits) and not committed):
            continue
        kind = "hash" if len(digits) in {16, 32, 64} and not committed else "commit"
        yield Found(match.start(), match.end(), kind, digits)


def _phones(text: str) -> Iterator[Found]:
    for match in _PHONE.finditer(text):
        number = match.group().rstrip(" -./(")
        if 7 <= sum(c.isdigit() for c in number) <= 17 and not re.fullmatch(r"0\d+ 0\d*", number):
            yield Found(match.start(), match.start() + len(number), "phone", re.sub(r"\D", "", number))
    for match in _NUMBER.finditer(text):
        if _PHONE_BEFORE.search(text[max(0, match.start() - 48) : match.start()].lower()):
            yield Found(match.start(), match.end(), "phone", re.sub(r"\D", "", match.group()))
