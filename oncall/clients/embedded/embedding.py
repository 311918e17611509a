"""Vectors of texts: WordLlama, 256 dimensions, whose weights and tokenizer are inside its package."""

import os
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import numpy.typing

DIMENSIONS = 256
# What is embedded of a text: beyond this, a static embedding is only an average of everything.
WHOLE_CHARACTERS, HEAD_CHARACTERS = 8000, 300

Vectors = numpy.typing.NDArray[numpy.float32]
_loading = threading.Lock()
# Vectors of single words, some 1 kB each.
WORDS_KEPT = 30_000
_words: dict[str, Vectors] = {}


def _unlock_after_fork() -> None:
    global _loading
    _loading = threading.Lock()  # one that another thread held at the fork would never be released


os.register_at_fork(after_in_child=_unlock_after_fork)


@cache
def _load() -> Any:
    # Imported when first used: loading takes half a second, which `manage.py check` must not pay.
    import wordllama  # noqa: PLC0415

    # Without cache_dir it looks in the wrong folder and then downloads.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def _model() -> Any:
    with _loading:
        return _load()


def embed(texts: list[str]) -> Vectors:
    """Return one unit vector for each text, shape (len(texts), 256); a text without a known word gives zeros."""
    if not texts:
        return numpy.zeros((0, DIMENSIONS), numpy.float32)
    vectors = numpy.asarray(_model().embed(texts, norm=False), numpy.float32)
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    usable = numpy.isfinite(lengths) & (lengths > 0)
    return numpy.where(usable, vectors / numpy.where(usable, lengths, 1), 0).astype(numpy.float32)


def embed_words(words: Sequence[str]) -> Vectors:
    """Return one unit vector for each word, shape (len(words), 256); words that were asked for lately are at hand."""
    missing = [word for word in dict.fromkeys(words) if word not in _words]
    if len(_words) + len(missing) > WORDS_KEPT:
        _words.clear()
        missing = list(dict.fromkeys(words))
    found = dict(zip(missing, embed(missing), strict=True))
    _words.update(found)
    return numpy.stack([_words[word] for word in words]) if words else numpy.zeros((0, DIMENSIONS), numpy.float32)


def embed_document(text: str) -> Vectors:
    """Return the vectors of the whole text and of its head, shape (2, 256).

    A query that names the title alone is nearer to the head than to the whole.
    """
    return embed([text[:WHOLE_CHARACTERS], text[:HEAD_CHARACTERS]])


def pack(vectors: Vectors) -> bytes:
    """Return the vectors as bytes of float16: half the size, and no rank changes by it."""
    return vectors.astype(numpy.float16).tobytes()


def unpack(packed: bytes, dimensions: int = DIMENSIONS) -> Vectors:
    """Return what ``pack`` was given, as rows."""
    return numpy.frombuffer(packed, numpy.float16).reshape(-1, dimensions).astype(numpy.float32)
