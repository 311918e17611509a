"""Credentials go, what an incident is read by stays."""

import time

import pytest

from incidents.reading.redaction import redact, redact_tree


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password=hunter2 for db", "hunter2"),
        ("PW=hunter2", "hunter2"),
        ('{"api_key": "abc def 123"}', "abc def 123"),
        ("DB_PASSWORD: s3cret!", "s3cret!"),
        ("client_secret='a b c'", "a b c"),
        ("Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
        ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("Cookie: sessionid=abc123; csrftoken=def", "abc123"),
        ("postgres://app:p4ss@db.internal/orders", "p4ss"),
        ("amqp://guest:gu-est@mq:5672/%2f", "gu-est"),
        ("curl -u bob:builder http://x", "builder"),
        ("mysql -h db -pS3cret -e 'select 1'", "S3cret"),
        ("redis-cli -h r -a hush get x", "hush"),
        ("sshpass -p opensesame ssh x", "opensesame"),
        ("run --password hunter2 --verbose", "hunter2"),
        ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
        ("ghp_" + "a" * 36, "ghp_" + "a" * 36),
        ("glpat-" + "x" * 20, "glpat-" + "x" * 20),
        ("xoxb-" + "1" * 12 + "-abc", "xoxb-" + "1" * 12),
        ("sk_live_" + "z" * 24, "sk_live_" + "z" * 24),
        ("gsk_" + "q" * 40, "gsk_" + "q" * 40),
        ("AIza" + "b" * 35, "AIza" + "b" * 35),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJzdWIiOiIxMjM0In0"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("occ_abcdefgh_" + "k" * 32, "k" * 32),
        ('{\\"password\\": \\"hunter2\\"}', "hunter2"),
        ("githubToken: abc123", "abc123"),
        ('"secret" => "abc123"', "abc123"),
        ("<password>hunter2 or so</password>", "hunter2 or so"),
        ("Authorization: ApiKey abc123", "abc123"),
        ("Authorization: Splunk abc123", "abc123"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ", "MIIEvQIBADANBgkqhkiG9w0BAQ"),
        ("SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc", "TwL2iGABf9DHoTf"),
        ("SK" + "0a1b2c3d" * 4, "0a1b2c3d"),
        ("hf_" + "Ab1" * 10, "Ab1"),
        ("the password for root is Hunter22!", "Hunter22"),
        ("Passwort: geheim", "geheim"),
        ("heslo: tajne", "tajne"),
        ("deploy:Pa55word@db-host", "Pa55word"),
        ("login was admin/adm1n-2", "adm1n-2"),
        ("DB_PASS=hunter2", "hunter2"),
        ("AccountKey=Zm9v+A==;x", "Zm9v+A"),
        ("run --db-password 'two words' --verbose", "two words"),
        ("ldapsearch -D cn=x -w P4vel!heslo -b dc=x", "P4vel!heslo"),
        ("docker login -u bob -p hush2 registry", "hush2"),
        ("mysql -u root -p'two words'", "two words"),
        ("net use Z: \\\\fs01\\share /user:bob Pa55", "Pa55"),
        ("rabbitmqctl add_user shovel hush2", "hush2"),
        ("nightly_sync=Zk3vQ9xT2mLp7RwB4nYc8HsD1fGj6KqU", "Zk3vQ9xT2mLp7RwB4nYc8HsD1fGj6KqU"),
    ],
)
def test_redact_removes_credentials(text: str, secret: str) -> None:
    cleaned = redact(text)

    assert secret not in cleaned
    assert "[redacted: " in cleaned
    assert redact(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "redis 7.2.4.1, build 2026081209, 1234567890 requests, std::vector, commit 4f2a9c1d0b3e",
        "token: required",
        "the password is wrong and was rotated",
        "tests pass: 12, fail: 0",
        "image nginx:1.25@sha256:e3b0c442",
        "login failed / timed out",
        "the user's token expired at 02:14",
        "password = null",
        "host 10.0.0.1:5432 refused, ORA-12541, sha256 9f21",
        "https://runbooks.example.com/rb-07?x=1",
        "partition::token in module secretary",
        "Password must be changed",
        "SyntaxError: Unexpected token: name",
        "prompt_tokens=1500, max_tokens: 8000",
        "image=registry/search@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "alertname=SearchApiHighErrorRateOverTheLast30Minutes25",
        "trace_id: 5759e988bd862e3fe1be46a994272793",
        "request=7d5c1d62-4b7e-4b4e-9d3e-0c2f7a7b9f10-7d5c1d62-4b7e",
    ],
)
def test_redact_leaves_what_is_no_credential(text: str) -> None:
    assert redact(text) == text


def test_redact_tree_reaches_keys_values_and_named_secrets() -> None:
    tree = {"labels": {"password": "x y", "list": ["token=abc123", 7, None]}, "AKIAABCDEFGHIJKLMNOP": "v"}

    cleaned = redact_tree(tree)

    assert cleaned["labels"] == {"password": "[redacted: password]", "list": ["token=[redacted: password]", 7, None]}
    assert "AKIAABCDEFGHIJKLMNOP" not in str(cleaned)


def test_redact_finds_a_credential_anywhere_in_a_long_text() -> None:
    text = "\n".join(f"{n} request served in 12 ms password=hunter{n}x" for n in range(20_000))

    assert "hunter" not in redact(text)


def test_redact_of_a_cut_off_key_leaves_the_text_behind_it() -> None:
    assert redact("-----BEGIN PRIVATE KEY-----\nMIIE [cut]\nsearch-api is down") == (
        "[redacted: private key][cut]\nsearch-api is down"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a." * 500_000,
        "password=" * 100_000,
        "://" * 300_000,
        "curl " * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 37_000,
        "=Aa1" * 250_000,
    ],
)
def test_redact_is_bounded_on_hostile_text(text: str) -> None:
    started = time.process_time()

    redact(text)

    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('{"name": "DB_PASSWORD", "value": "hunter2horse"}', "hunter2horse"),
        ("- name: DB_PASSWORD\n  value: hunter2horse", "hunter2horse"),
        ('<add key="Password" value="hunter2horse"/>', "hunter2horse"),
        ('"password": ["hunter2horse"]', "hunter2horse"),
        ("password: |\n  hunter2horse", "hunter2horse"),
        ("pass=hunter2horse", "hunter2horse"),
        ("encryption_key=hunter2horse", "hunter2horse"),
        ("ALTER USER app PASSWORD 'hunter2horse'", "hunter2horse"),
        ("IDENTIFIED BY 'hunter2horse'", "hunter2horse"),
        ("pass\u200bword=hunter2horse", "hunter2horse"),
        ('Authorization: Digest username="ada", response="0a4f113b"', "0a4f113b"),
        ("Authorization: AWS4-HMAC-SHA256 Credential=x/20261201, Signature=fe5f80f7", "fe5f80f7"),
        ("curl --user=admin:hunter2horse https://x", "hunter2horse"),
        ("https://ghtoken0123456789@github.example/x.git", "ghtoken0123456789"),
        ("AccountKey=" + "aB3/" * 21 + "Q==", "aB3/aB3/"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----", "lQOYBF"),
        ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,1F\n\nMIIEpQ", "MIIEpQ"),
        ("vault token hvs." + "CAESIJ" * 6, "CAESIJCAESIJ"),
        ("SG." + "aB3dE" * 4 + "aB." + "aB3dE" * 8 + "aB3", "aB3dEaB3dE"),
        ("hf_" + "aBcDe" * 7, "aBcDeaBcDe"),
        ("pypi-AgEIcHlwaS5vcmc" + "CJ" * 30, "CJCJCJ"),
        ("ya29.a0" + "Af3d" * 20, "Af3dAf3d"),
        ("glsa_" + "aB3d" * 8 + "_0a1b2c3d", "aB3daB3d"),
        ("dop_v1_" + "ab3d" * 16, "ab3dab3d"),
        ("https://discord.com/api/webhooks/123456/" + "aB3d" * 17, "aB3daB3d"),
    ],
    ids=range(25),
)
def test_redact_removes_credentials_of_further_shapes(text: str, secret: str) -> None:
    assert secret not in redact(text)
