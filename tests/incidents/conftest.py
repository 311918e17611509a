"""A language model behind Groq's wire protocol, and a memory that answers as a test says."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from tests.oncall.clients import groq_server
from tests.oncall.clients.groq_server import GroqServer


@pytest.fixture
def groq(settings: Any) -> Iterator[GroqServer]:
    """A Groq server on loopback that the settings point to. Unscripted, it is a well-behaved model."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "groq"}}
    with GroqServer() as server:
        settings.LLM = "groq"
        settings.GROQ_BASE_URL = server.url
        settings.GROQ_API_KEY = groq_server.KEY
        settings.GROQ_PLAIN_V1 = False
        settings.GROQ_MODELS = ["openai/gpt-oss-120b"]
        settings.GROQ_TPM_BUDGET = 100_000
        yield server
    cache.clear()
