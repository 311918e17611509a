"""What the tests of the frame share."""

import re

import pytest
from django.conf import settings


@pytest.fixture(scope="session")
def symbols() -> frozenset[str]:
    """The ids that static/icons.svg has."""
    return frozenset(re.findall(r'<symbol id="([^"]+)"', (settings.BASE_DIR / "static/icons.svg").read_text()))
