"""The README's pictures, made anew by ``make pictures``: real pages of a fresh start with the example data.

The example data counts its times back from now. A picture that is made on another day differs in its dates and times,
and otherwise only where a page does.
"""

import base64
from dataclasses import dataclass

import pytest

from tests.browser.conftest import ROOT, SignIn

MAX_BYTES = 150_000
QUALITY = 85


@dataclass(frozen=True)
class Picture:
    """A page at a width, in a theme; its first view and not more."""

    name: str
    path: str
    theme: str = "light"
    width: int = 1440
    height: int = 900


PICTURES = [
    Picture("incident", "/incidents/SEARCH-15/"),
    Picture("incident-dark", "/incidents/SEARCH-15/", theme="dark"),
    Picture("inbox", "/incidents/"),
    Picture("unknown", "/incidents/SEARCH-17/"),
    Picture("needs-info", "/incidents/SEARCH-18/"),
    Picture("phone", "/incidents/SEARCH-15/", width=375, height=812),
]


@pytest.mark.browser
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_picture(picture: Picture, sign_in: SignIn) -> None:
    visitor = sign_in("priya", width=picture.width, theme=picture.theme)
    visitor.page.set_viewport_size({"width": picture.width, "height": picture.height})
    if visitor.page.locator("form[action$='/first-steps/dismiss/']").count():
        visitor.page.click("form[action$='/first-steps/dismiss/'] button")
    visitor.open(picture.path)
    visitor.page.evaluate("document.fonts.ready")

    # Playwright writes no WebP, which is a quarter of a PNG here.
    browser = visitor.page.context.new_cdp_session(visitor.page)
    taken = browser.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    image = base64.b64decode(taken["data"])

    assert len(image) < MAX_BYTES
    (ROOT / "docs/images" / f"{picture.name}.webp").write_bytes(image)
