"""Rules that hold for every template."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template import loader

FOLDER = settings.BASE_DIR / "templates"
TEMPLATES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
PAGES = [path for path in TEMPLATES if path.suffix == ".html"]
# What the content security policy blocks: a page that has it looks right in a test and is broken in a browser.
_BLOCKED = re.compile(
    r"""\sstyle=|<style|<script(?![^>]*\ssrc=)|\son[a-z]+=|\shx-on|javascript:|(?:src|href)="https?:"""
)
_LITERAL_ICON = re.compile(r'\{% icon "([^"]+)"(?: "([^"]+)")? %\}')


def name(path: Path) -> str:
    return str(path.relative_to(FOLDER))


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_template_compiles(path: Path) -> None:
    assert loader.get_template(name(path))


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_template_has_nothing_that_the_policy_blocks(path: Path) -> None:
    assert not _BLOCKED.findall(path.read_text())


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_template_names_icons_that_exist(path: Path, symbols: frozenset[str]) -> None:
    used = {"-".join(filter(None, parts)) for parts in _LITERAL_ICON.findall(path.read_text())}
    assert used <= symbols


@pytest.mark.parametrize(
    "page", ["400.html", "403.html", "403_csrf.html", "404.html", "413.html", "429.html", "500.html"]
)
def test_error_page_needs_no_person_and_no_request(page: str) -> None:
    assert "On-Call Copilot" in loader.get_template(page).render({})
