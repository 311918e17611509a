"""Addresses of machines and people: URLs, e-mail, IP, MAC, host names, paths that name a user.

A dotted row of words is a host only if its last label can be one: Java classes, files, metrics and versions have dots, too.
"""

import ipaddress
import re
from collections.abc import Iterator

from lessons.anonymise.findings import Found
from lessons.anonymise.wordlists import is_common, technology

_URL = re.compile(
    r"\b(?:jdbc:|odbc:)?[a-z][a-z0-9+.-]{1,20}(?<![.+-])://[^\s\"'<>`\x00\\^{}|]{1,2000}|\bmailto:[^\s\"'<>\x00]{3,300}|"
    r"\b(?:git|hg|svn)@[\w.-]{3,250}:[\w./~+-]{1,300}",
    re.I,
)
_URL_END = re.compile(r"[.,;:!?)\]*]+$")
_EMAIL = re.compile(
    r"(?<![\w.+%'-])(?:\"[^\"\r\n\x00]{1,60}\"@|[\w.+%'=&/-]{1,64}(?:@|\s?(?:\(at\)|\[at\]|\{at\}| at )\s?))"
    r"(?=[\w(\[])(?:[\w-]{1,63}(?:\.|\s?(?:\(dot\)|\[dot\]|\{dot\}| dot )\s?)){1,8}[a-z][\w-]{1,62}(?![\w@])",
    re.I,
)
_MAC = re.compile(
    r"(?<![0-9A-Fa-f:.-])(?:[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4,6}[0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})(?![0-9A-Fa-f:-])"
)
_IPV4 = re.compile(
    r"(?<![\w.])(?<!\d-)(?:\d{1,3}(?:\[\.\]|\(\.\)|\.)){3}(?:\d{1,3}|\*|x{1,3})(?P<net>/\d{1,2})?(?P<port>:\d{1,5})?(?![\w]|\.\d|-\d)"
)
_RANGE = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}\s?[-–]\s?(?:\d{1,3}\.){0,3}\d{1,3}(?![\w.])")
_IPV6 = re.compile(
    r"(?<![\w:.])\[?(?P<ip>(?=[0-9A-Fa-f]{0,4}:)(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?)"
    r"(?:%[\w.-]{1,20})?(?P<net>/\d{1,3})?\]?(?::\d{1,5})?(?![\w:])"
)
_SHORT_IP = re.compile(
    r"\b(?:ip|addr|address|subnet|host)s?\s(?:\w+\s){0,2}(?P<ip>(?:\d{1,3}\.){2}\d{1,3}\.?)(?=\s|$|/)", re.I
)

# A version is said to be one, or follows its product.
_VERSION_BEFORE = re.compile(
    r"(?:\bv|\b(?:versions?|ver\.?|releases?|build|rev|tag|upgrad\w*|downgrad\w*|updat\w*|bump\w*|patch\w*|fix\w*|since|until|"
    r"before|after|below|above|requires?|needs?|minimum|than|driver|client|sdk|firmware|library|plugin|agent|package|module)"
    r"(?:\s(?:version|from|to|in|is|at|of|with))?[\s:=]{1,2}[\"'`v]?|[=<>~^]=?\s?[\"'v]?|@)$",
    re.I,
)
_VERSIONS_BEFORE = re.compile(
    r"(?:v|versions?|from|upgrad\w*|releases?)\W{1,3}\w{0,20}\s?[\"'`]?\d+(?:\.\d+){2,3}[\"'`]?[,;]?\s(?:to|and|or|through|until|->|→)\s[\"'`v]?$",
    re.I,
)
_VERSION_SUFFIX = re.compile(
    r"\d+(?:\.\d+){2,3}-(?:rc|beta|alpha|snapshot|ga|final|release|dev|generic|build|p|r)[\d.]*\b", re.I
)
_PRODUCT_BEFORE = re.compile(r"(?P<product>[A-Za-z][\w.+-]{1,40})[ /-]v?$")
_ADDRESS_WORDS = frozenset(
    """at on to from host server node ip address addr via by peer gateway dns upstream listen bind bound client tcp udp for
    and or with in is was of machine router nameserver resolver target endpoint source destination src dst dial proxy
    against between ping ssh telnet route through behind master replica primary the range block network subnet
    remote local""".split()
)

# What says nothing about whose it is: as an address, and with the length of a network behind it.
_ANYBODYS_IPV4 = frozenset("0.0.0.0 127.0.0.1 127.0.1.1 127.0.0.53 255.255.255.255 169.254.169.254".split())
_ANYBODYS_NETWORKS = frozenset("0.0.0.0 127.0.0.0 10.0.0.0 172.16.0.0 192.168.0.0 224.0.0.0 169.254.0.0".split())
_MASK = re.compile(r"255(?:\.(?:255|254|252|248|240|224|192|128|0)){3}$")

_HOST = re.compile(
    r"(?<![\w@.\x00/\\-])(?:\*\.|_)?(?:[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?\.){1,10}[a-z][a-z0-9-]{0,61}[a-z0-9]\.?(?P<port>:\d{2,5}\b)?(?P<path>/[\w./%~?=&#+-]{0,200})?(?![\w@(\x00])",
    re.I,
)
_TLDS = frozenset(
    """com net org edu gov mil int arpa biz io dev app cloud ai co online site store shop tech xyz info name pro coop museum
    aero jobs mobi travel tel cat asia eu agency blog club digital email global group health host hosting inc llc live ltd
    media network news page software solutions space systems team tools website work world zone one bank berlin wien london
    paris nyc tokyo hamburg koeln internal local localdomain lan corp intra intranet home private priv test example invalid
    localhost onion consul svc cluster dc ac ad ae af ag al am ao ar as at au aw az ba bb bd be bf bg bh bi bj bm bn bo br bs
    bt bw by bz ca cc cd cf cg ch ci ck cl cm cn cr cu cv cy cz de dj dk dm do dz ec ee eg er es et fi fj fk fm fo fr ga ge gg
    gh gi gl gm gn gr gt gu gy hk hn hr ht hu id ie il im in iq ir is it je jm jo jp ke kg kh ki km kp kr kw ky kz la lb lc li
    lk lr ls lt lu lv ly ma mc md me mg mk ml mm mn mo mr ms mt mu mv mw mx my mz na ne nf ng ni nl no np nr nu nz om pa pe pf
    pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf
    tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw""".split()
)
# Last labels that are as often the ending of a file, a package or a metric.
_DOUBTFUL = frozenset(
    """py sh rs md so pl pm cc cs ps tf mk mo zip mov ml hs do in is it to at me my id as us no be so am name info host email
    page live group test local network work jobs pro app dev int home one es re la ms st mn media store tools team cluster
    example internal va""".split()
)
_FILES = frozenset("py sh rs md so pl pm cc cs ps tf mk zip mov ml hs".split())
_REVERSED = frozenset(
    "com org net io java javax jakarta de edu gov sun scala kotlin akka dev uk ch fr cz se eu us co ai app".split()
)
_PUBLIC_HOSTS = re.compile(
    r"(?:.*\.)?(?:kubernetes\.io|k8s\.io|docker\.io|docker\.com|quay\.io|gcr\.io|ghcr\.io|github\.com|githubusercontent\.com|gitlab\.com|"
    r"apache\.org|python\.org|pypi\.org|npmjs\.(?:org|com)|nodejs\.org|golang\.org|readthedocs\.io|docs\.aws\.amazon\.com|cloud\.google\.com|go\.dev|rubygems\.org|crates\.io|maven\.org|"
    r"postgresql\.org|mysql\.com|redis\.io|nginx\.org|elastic\.co|mozilla\.org|ietf\.org|w3\.org|iana\.org|letsencrypt\.org|"
    r"debian\.org|ubuntu\.com|centos\.org|fedoraproject\.org|kernel\.org|gnu\.org|freedesktop\.org|istio\.io|helm\.sh|"
    r"prometheus\.io|grafana\.com|opentelemetry\.io|hashicorp\.com|terraform\.io|stackoverflow\.com|wikipedia\.org|"
    r"(?:learn|docs|support)\.microsoft\.com|oracle\.com|cert-manager\.io|argoproj\.io|fluxcd\.io|socket\.io|asp\.net|pool\.ntp\.org|swagger\.io|json-schema\.org|schema\.org|xmlsoap\.org)$",
    re.I,
)
_NO_HOST = frozenset(
    "node.js vue.js next.js asp.net vb.net ado.net system.net socket.io draw.io java.io java.net javax.net e.g i.e a.m p.m".split()
)
_HOST_BEFORE = re.compile(
    r"\b(?:hosts?|hostname|servers?|nodes?|ssh|ping|dig|nslookup|telnet|curl|wget|domain|fqdn|dns|endpoint|at|instance|"
    r"upstream|broker|peer|to|from|via|on|Host:|server_name|-h|--host)[\s:=\"'`]{1,3}$",
    re.I,
)
_EVIDENCE = re.compile(
    r"^(?:www|api|mail|smtp|imap|vpn|ftp|db|ns\d?|mx\d?|git|ci|sso|auth|login|cdn|static|wiki|admin|portal|status|dev|staging|prod|app)\.|\d[\w-]*\.|[\w]-[\w]",
    re.I,
)

_ENVIRONMENTS = frozenset(
    """prod prd preprod stage staging stg dev tst uat qa int live dr dmz lab infra core mgmt eu us uk de nl fra ams lon nyc sfo sin
    euw use usw dc az west east north south central""".split()
)
_ROLES = frozenset(
    """db sql pg psql mysql maria mongo redis kafka zk es elastic web www app api fe be lb haproxy nginx proxy gw gateway edge
    cache mq rabbit queue worker node master slave replica primary standby etcd kube ceph osd mon san nas fs file nfs smb
    backup bkp dns ns ntp ldap ad dc vpn fw firewall sw switch rtr router core esx esxi hv hyp kvm vm srv server host box
    jump bastion build ci jenkins runner log logs mail mx smtp print term ts rdp spark hdfs hadoop batch etl ml gpu data
    search store storage git registry vault consul nomad prom monitor mgmt pos kiosk scan gke eks aks""".split()
)
# Machines are named by what they do, where, and a number.
_NUMBERED = re.compile(
    r"(?<![\w.\x00/-])(?=[A-Za-z-]{1,40}\d)[A-Za-z][A-Za-z0-9]{0,30}(?:-[A-Za-z0-9]{1,20}){0,8}(?![\w-]|\.\d)"
)
_DESKTOP = re.compile(r"\b(?:DESKTOP|LAPTOP|WIN|PC|WS|NB)-(?=[A-Z0-9]{0,12}\d)[A-Z0-9]{5,12}\b")
_CALLED = re.compile(
    r"\b(?:hosts?|hostname|server|machine|box|vm|laptop|node)\s[\"'`]?(?P<host>[a-z]{4,15})[\"'`]?(?![\w@/.(-])"
)
# A pod's or a node pool's name ends in random letters.
_POD = re.compile(
    r"(?<![\w.\x00-])[a-z][a-z0-9]*(?:-[a-z0-9]+){0,6}-(?=[a-z0-9]*\d)(?=[0-9]*[a-z])[a-z0-9]{8,10}-(?:[bcdfghjklmnpqrstvwxz2456789]{4,5})(?![\w-])"
)
_NAMED_MACHINE = re.compile(
    r"\b(?:hosts?|hostname|servers?|machines?|vms?|broker|bastion|jump ?host|switch|router|firewall|ssh|ping|scp|rsync|sftp|on|node|"
    r"telnet|nodename|instance|Rechner|Server|appliance|laptop|workstation|target|to|from|disk of|of)[\s:=]{1,2}[\"'`]?(?:\w+@)?"
    r"(?P<host>[a-z][a-z0-9]{0,20}(?:[-_][a-z0-9]{1,20}){0,6})[\"'`]?(?![\w@/.(-])",
    re.I,
)
_AT_MACHINE = re.compile(r"\b[a-z_][\w.-]{0,31}@(?P<host>[a-z][a-z0-9-]{1,62})(?![\w.@-])(?=[:\s$#\"'`,;)]|$)", re.I)
_SSH = re.compile(
    r"\b(?:ssh|scp|rsync|sftp|mosh)\b[^\r\n|;]{0,120}?\s(?P<login>[a-z_][\w.-]{0,31}@[a-z][\w.-]{0,62})", re.I
)

_PATH = re.compile(
    r"(?<![\w.])(?:[A-Za-z]:)?(?:[\\/]{1,2}(?:var|export|mnt|data|nfs)){0,2}[\\/]{1,2}(?:home|Users|user|profiles|Documents and Settings)[\\/]{1,2}(?!\x00)(?P<user>[^\s\\/:\"'<>|,;)\x00]{1,64})(?:[\\/]{1,2}[^\s\\/:\"'<>|,;)\x00]{0,120}){0,20}"
    r"|(?<![\w\\:])\\\\{1,3}[A-Za-z][\w.-]{1,63}(?:\\{1,2}[\w.$-]{1,80}){1,10}"
    r"|(?<![\w~/`:])~[a-z_][a-z0-9_-]{1,31}(?:/[\w./-]{0,200}|(?![\w.(~]))",
)
_ANYBODYS_USERS = re.compile(
    r"^(?:\$|%|\{|<|\*|user(?:name)?$|root$|ubuntu$|ec2-user$|app$|node$|runner$|vagrant$|public$|default$|jenkins$|you$|me$|\.\.\.?$|…)",
    re.I,
)


def find_addresses(text: str) -> Iterator[Found]:
    """Yield URLs, e-mail addresses, hardware and network addresses, hosts and paths that name a user."""
    yield from _urls(text)
    for match in _EMAIL.finditer(text):
        if _is_email(match.group()):
            yield Found(match.start(), match.end(), "email", re.sub(r"\s", "", match.group().lower()))
    for match in _MAC.finditer(text):
        yield Found(match.start(), match.end(), "mac", re.sub(r"\W", "", match.group().lower()))
    yield from _ip_addresses(text)
    yield from _hosts(text)
    for match in _PATH.finditer(text):
        if match["user"] is None or not _ANYBODYS_USERS.match(match["user"]):
            yield Found(match.start(), match.end(), "path", match.group().lower())


def _urls(text: str) -> Iterator[Found]:
    for match in _URL.finditer(text):
        url = _URL_END.sub("", match.group())
        host = re.sub(r"^[^:]*:(?:[a-z0-9+.-]*:)?/{2}(?:[^/@]*@)?", "", url, flags=re.I)
        host = re.split(r"[/:?#]", host)[0]
        bare = re.fullmatch(r"[^?@]*", url) is not None
        if bare and (host.lower() in {"localhost", "", *_ANYBODYS_IPV4} or _is_public_page(host, url)):
            continue
        yield Found(match.start(), match.start() + len(url), "url", url.lower())


def _is_public_page(host: str, url: str) -> bool:
    """Return whether the address is a page of a public project's own; what people keep on a forge is theirs."""
    if not _PUBLIC_HOSTS.match(host):
        return False
    return re.search(r"(?:github|gitlab|githubusercontent|docker|quay|gcr|ghcr)\.", host) is None or url.count("/") < 3


def _is_email(found: str) -> bool:
    local, _, domain = found.partition("@")
    if not domain:
        return re.search(r"[(\[{]", found) is not None or re.search(r" dot ", found) is not None
    return not local.endswith("/") and domain.rpartition(".")[2].strip().lower() not in {
        "py",
        "js",
        "service",
        "timer",
        "socket",
        "target",
    }


def _ip_addresses(text: str) -> Iterator[Found]:
    for match in _RANGE.finditer(text):
        yield Found(match.start(), match.end(), "network", match.group())
    for match in _IPV4.finditer(text):
        address = re.sub(r"[\[\]()]", "", match.group().partition("/")[0].partition(":")[0])
        octets = address.split(".")
        if any(octet.isdigit() and int(octet) > 255 for octet in octets) or _is_anybodys(address, match["net"]):
            continue
        if not match["net"] and not match["port"] and is_version(text, match.start()):
            continue
        yield Found(match.start(), match.end(), "network" if match["net"] else "ip", address + (match["net"] or ""))
    for match in _IPV6.finditer(text):
        try:
            ip = ipaddress.IPv6Address(match["ip"])
        except ValueError:
            continue
        # Two short groups are as often a time or C++.
        if match["ip"] in {"::", "::1"} or (len(match["ip"].replace(":", "")) < 4 and not match["net"]):
            continue
        yield Found(match.start(), match.end(), "network" if match["net"] else "ip", str(ip) + (match["net"] or ""))
    for match in _SHORT_IP.finditer(text):
        yield Found(match.start("ip"), match.end("ip"), "ip", match["ip"])


def _is_anybodys(address: str, net: str | None) -> bool:
    if _MASK.match(address) or address in _ANYBODYS_IPV4:
        return True
    return net is not None and address in _ANYBODYS_NETWORKS


def is_version(text: str, start: int) -> bool:
    """Return whether the words before a dotted number say that it is a version."""
    before = text[max(0, start - 60) : start]
    if _VERSION_SUFFIX.match(text, start):
        return True
    if _VERSION_BEFORE.search(before) or _VERSIONS_BEFORE.search(before):
        return True
    product = _PRODUCT_BEFORE.search(before)
    if product is None:
        return False
    word = product["product"].lower()
    return word not in _ADDRESS_WORDS and (word in technology() or not is_common(word))


def _hosts(text: str) -> Iterator[Found]:
    for match in _HOST.finditer(text):
        name = match.group().split(":")[0].split("/")[0].rstrip(".")
        if _is_host(text, match, name):
            path = match["path"] if match["path"] and len(match["path"]) > 1 else ""
            end = match.start() + len(name) + len(match["port"] or "") + len(path)
            end = len(_URL_END.sub("", text[match.start() : end])) + match.start()
            yield Found(match.start(), end, "url" if path else "host", text[match.start() : end].lower())
    for match in _NUMBERED.finditer(text):
        # In capitals it is as often a standard: ML-KEM-768.
        if _is_machine(match.group().lower()) and not re.fullmatch(r"[A-Z]{2,5}-[A-Z]{2,5}-\d{3,4}", match.group()):
            yield Found(match.start(), match.end(), "host", match.group().lower())
    for match in _DESKTOP.finditer(text):
        yield Found(match.start(), match.end(), "host", match.group().lower())
    for match in _CALLED.finditer(text):
        if not is_common(match["host"]):
            yield Found(match.start("host"), match.end("host"), "host", match["host"])
    for match in _POD.finditer(text):
        yield Found(match.start(), match.end(), "host", match.group().lower())
    for match in _NAMED_MACHINE.finditer(text):
        host = match["host"]
        if ("-" in host and not _is_product(host) and (re.search(r"\d", host) or _is_own(host))) or (
            re.search(r"[a-z]\d{2,}$", host) and not _is_product(host)
        ):
            yield Found(match.start("host"), match.end("host"), "host", host.lower())
    if "@" not in text:
        return
    for match in _AT_MACHINE.finditer(text):
        yield Found(match.start(), match.end(), "host", match["host"].lower())
    for match in _SSH.finditer(text):
        yield Found(match.start("login"), match.end("login"), "host", match["login"].rpartition("@")[2].lower())


def _is_machine(name: str) -> bool:
    """Return whether a name with a number says what a machine does or where it stands: db-prod-03, web01, kafka-eu-3."""
    parts = name.split("-")
    bare = [part.rstrip("0123456789") for part in parts]
    if parts[0] == "ip" and len(parts) == 5:
        return all(part.isdigit() for part in parts[1:])
    if _is_product(name):
        return False
    if len(parts) == 1:
        return bare[0] in _ROLES and 2 <= len(name) - len(bare[0]) <= 3
    numbered = re.search(r"(?<!\d)\d{1,4}[a-z]?$", parts[-1]) is not None
    placed = any(part in _ENVIRONMENTS for part in bare)
    does = any(part in _ROLES for part in bare)
    if len(parts) == 2:
        return numbered and ((placed and does) or (does and parts[1].startswith("0")))
    return numbered and (placed or bare[0] in _ROLES or (does and _is_own(name)))


def _is_role(host: str) -> bool:
    return _is_own(host) and not _ROLES.isdisjoint(host.lower().split("-"))


def _is_own(host: str) -> bool:
    """Return whether a name with hyphens holds a word that is nobody else's."""
    return any(not is_common(part.lower()) for part in re.split(r"[-_]", host) if len(part) > 2)


_REGION = re.compile(
    r"(?:us|eu|ap|sa|ca|me|af|il|mx)-(?:gov-|iso-)?(?:north|south|east|west|central)+-?\d[a-z]?$|(?:us|europe|asia|northamerica|southamerica|australia|africa|me)-[a-z]+\d(?:-[a-z])?$"
)


def _is_product(name: str) -> bool:
    """Return whether it reads as a cloud's region or a public product with a version: eu-central-1, python-3, http2."""
    if _REGION.match(name.lower()):
        return True
    parts = re.split(r"[-_]", name.lower())
    if name.lower() in technology():
        return True
    words = [part for part in parts if not part.isdigit()]
    return len(parts) == 2 and len(words) == 1 and words[0] in technology() and len(parts[1]) < 2


def _is_host(text: str, match: re.Match[str], name: str) -> bool:
    labels = name.split(".")
    last = labels[-1].lower()
    lower = name.lower()
    if last not in _TLDS or lower in _NO_HOST or re.fullmatch(r"[\d.]+", name):
        return False
    if _PUBLIC_HOSTS.match(lower):
        return False
    before = text[max(0, match.start() - 30) : match.start()]
    if labels[0].lower() in _REVERSED and len(labels) > 2 and last not in {"com", "net", "org", "internal", "local"}:
        return False
    if any(re.search(r"[a-z][A-Z]", label) for label in labels[1:]) or re.fullmatch(
        r"[A-Z][a-z]+(?:[A-Z][a-z]+)+", labels[0]
    ):
        return False
    if labels[-1][0].isupper() and not name.isupper():
        return False
    said = bool(match["port"]) or _HOST_BEFORE.search(before) is not None
    if len(labels) == 2 and last in _FILES:
        return bool(match["port"])
    if last in _DOUBTFUL:
        return (
            last not in _FILES
            and (said or bool(_EVIDENCE.search(name)))
            and (
                len(labels) > 2
                or last in {"local", "internal", "host", "test", "example", "app", "dev", "no", "at", "be", "it", "es"}
                or bool(match["port"])
            )
        )
    return True
