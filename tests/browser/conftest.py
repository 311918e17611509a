"""The whole product as a stranger starts it: one command, real workers, example data, a real browser."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
START_SECONDS = 90
# The site of these tests shares PostgreSQL and Redis with the other tests, but nothing in them.
SITE_DATABASE = "oncall_browser"
SITE_REDIS = 7


@dataclass
class Site:
    """A running product. ``data`` is where it keeps its database."""

    url: str
    data: Path
    process: subprocess.Popen[bytes]
    log: Path

    def manage(self, *arguments: str, stdin: str = "") -> str:
        """Return what a management command prints."""
        run = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=environment(self.data),
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout


def environment(data: Path) -> dict[str, str]:
    """Return a stranger's environment: nothing set but where the data goes, and the real services where there are any.

    See ``tests/real_services.py``.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    services = {}
    if "DATABASE_URL" in os.environ:
        services["DATABASE_URL"] = f"{os.environ['DATABASE_URL'].rpartition('/')[0]}/{SITE_DATABASE}"
    if "REDIS_URL" in os.environ:
        services["REDIS_URL"] = f"{os.environ['REDIS_URL'].rpartition('/')[0]}/{SITE_REDIS}"
    if "HINDSIGHT_TEST_URL" in os.environ:
        services["HINDSIGHT_URL"] = os.environ["HINDSIGHT_TEST_URL"]
    return {**kept, **services, "ONCALL_PROFILE": "local", "ONCALL_DATA_DIR": str(data)}


def _empty_services() -> None:
    """Give the site an empty database and an empty Redis, where it uses such."""
    if "DATABASE_URL" in os.environ:
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {SITE_DATABASE} WITH (FORCE)")  # type: ignore[arg-type]
            connection.execute(f"CREATE DATABASE {SITE_DATABASE}")  # type: ignore[arg-type]
    if "REDIS_URL" in os.environ:
        redis.Redis.from_url(f"{os.environ['REDIS_URL'].rpartition('/')[0]}/{SITE_REDIS}").flushdb()


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start everything, and end it with Ctrl-C."""
    data = tmp_path_factory.mktemp("site")
    _empty_services()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = data / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", str(port)],
            cwd=ROOT,
            env=environment(data),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    site = Site(f"http://localhost:{port}", data, process, log)
    try:
        _wait_until_up(site)
        yield site
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=15)


def _wait_until_up(site: Site) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if site.process.poll() is not None:
            pytest.fail(f"serve ended:\n{site.log.read_text()}")
        with contextlib.suppress(urllib.error.URLError, OSError):
            if urllib.request.urlopen(f"{site.url}/healthz", timeout=1).status == 200:
                return
        time.sleep(0.2)
    pytest.fail(f"serve did not start:\n{site.log.read_text()}")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's own Chromium. Ends with these tests: while it runs, Django takes every query for one in a loop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--headless=new", "--no-sandbox", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@dataclass
class Visitor:
    """A person at a browser; whatever the console complains about is kept."""

    page: Page
    site: Site
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to a page of the site."""
        self.page.goto(self.site.url + path)

    def text(self) -> str:
        """Return what the page's main part says."""
        return self.page.locator("main").inner_text()


SignIn = Callable[..., Visitor]


def _open_browser(
    site: Site, browser: Browser, key: str | None, *, width: int = 1440, javascript: bool = True, theme: str = "light"
) -> Visitor:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        java_script_enabled=javascript,
        color_scheme=theme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(15_000)
    visitor = Visitor(page, site)
    page.on("console", lambda m: visitor.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    if key:
        visitor.open("/accounts/login/")
        page.click(f"button[value='{key}@example.com']")
    return visitor


@pytest.fixture
def sign_in(site: Site, browser: Browser) -> Iterator[SignIn]:
    """Return a function that opens a browser of its own and signs an example person in by their button."""
    visitors: list[Visitor] = []

    def open_browser(key: str | None, **how: Any) -> Visitor:
        visitors.append(_open_browser(site, browser, key, **how))
        return visitors[-1]

    yield open_browser
    for visitor in visitors:
        visitor.page.context.close()
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []


@pytest.fixture(scope="module")
def seated(site: Site, browser: Browser) -> Iterator[SignIn]:
    """Return a function like ``sign_in`` that opens one browser for each person and keeps it for all the tests."""
    visitors: dict[str, Visitor] = {}

    def seat(key: str, *, demo: bool) -> Visitor:
        if key not in visitors:
            visitors[key] = _open_browser(site, browser, key if demo else None)
        return visitors[key]

    yield seat
    for visitor in visitors.values():
        visitor.page.context.close()
