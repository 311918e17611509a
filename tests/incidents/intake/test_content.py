"""Whatever the body is, something of it reaches a person, and what was lost is said."""

import gzip

from incidents.intake import content
from incidents.intake.content import Content

LIMIT = 1_000_000
JSON = b'{"title": "disk 91% on db-3"}'


def read(body: bytes, *, encoding: str = "", pasted: bool = False) -> Content:
    return content.read(body, encoding=encoding, pasted=pasted, limit=LIMIT)


def test_json_is_read_through_marks_and_compression() -> None:
    for body, encoding in [
        (JSON, ""),
        (b"\xef\xbb\xbf" + JSON, ""),
        (gzip.compress(JSON, mtime=0), "gzip"),
        (gzip.compress(b"\xef\xbb\xbf" + JSON, mtime=0), "x-gzip"),
        (gzip.compress(JSON, mtime=0), ""),
        (JSON.decode().encode("utf-16"), ""),
    ]:
        found = read(body, encoding=encoding)
        assert [alert.title for alert in found.alerts] == ["disk 91% on db-3"]
        assert (found.problem, found.understood) == ("", True)


def test_text_is_an_alert() -> None:
    found = read(b"search-api is down")

    assert (found.alerts[0].text, found.problem, found.understood) == ("search-api is down", "", True)


def test_broken_json_is_kept_as_its_text() -> None:
    found = read(b'{"title": "cut')

    assert (found.alerts[0].text, found.understood) == ('{"title": "cut', False)
    assert found.problem == "The body is not valid JSON."


def test_lost_characters_are_said_and_the_rest_is_read() -> None:
    found = read(b'{"title": "caf\xe9 down"}')

    assert (found.alerts[0].title, found.understood) == ("caf� down", True)
    assert "UTF-8" in found.problem


def test_what_is_no_text_is_said_with_its_size() -> None:
    for body, encoding, problem in [
        (bytes(range(128, 256)) * 8, "", "no text"),
        (b"\x00" * 1024, "", "no text"),
        (gzip.compress(JSON, mtime=0)[:20], "gzip", "ends too early"),
        (bytes(range(128, 256)) * 8, "br", "encoding br is not understood"),
    ]:
        found = read(body, encoding=encoding)
        assert found.alerts[0].title == "An alert that could not be read"
        assert f"{len(body):,} bytes" in found.alerts[0].text
        assert problem in found.problem
        assert not found.understood


def test_a_body_that_is_not_packed_as_it_says_is_kept_as_text() -> None:
    found = read(JSON, encoding="gzip")

    assert (found.alerts[0].text, found.understood) == (JSON.decode(), False)


def test_a_paste_is_json_where_it_is_some_and_text_otherwise() -> None:
    assert read(JSON, pasted=True).alerts[0].title == "disk 91% on db-3"
    assert read(b'{"title": "cut', pasted=True) == Content(read(b'{"title": "cut').alerts)
