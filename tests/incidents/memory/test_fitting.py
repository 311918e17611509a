from io import StringIO
from pathlib import Path

import numpy
import pytest
from django.core.management import CommandError, call_command

from incidents.memory.constants import CONSTANTS, Constants, constants
from incidents.memory.features import RELATIVE, Placed, evidence
from incidents.memory.fitting import minimise
from incidents.memory.landscape import Landscape
from incidents.memory.texts import AlertText, MemoryText
from incidents.reading.facts import read_facts
from tests.incidents.memory import collections


def features() -> set[str]:
    memory = MemoryText("Pool exhausted", "No connection left")
    landscape = Landscape({0: memory.reading})
    placed = [Placed(0, memory, 0.1)]
    [found] = evidence(AlertText("pool", read_facts("pool")), placed, placed, landscape, {})
    return set(found.features)


def test_the_committed_constants_load_and_weigh_every_feature() -> None:
    known = constants()

    assert known.weights.keys() == features()
    assert known.strangers.keys() == set(RELATIVE)
    assert known.close > known.partial
    assert all(weight.scale > 0 for weight in known.weights.values())
    assert Constants.read(known.as_json()) == known


def test_the_committed_constants_carry_their_figures() -> None:
    figures = constants().figures

    assert figures["answerable"] + figures["unanswerable"] >= 100
    for how in ("fitted", "random_folds", "topic_folds"):
        assert figures[how]["accepted_hit@3_at_0.25"] >= 0.71
        assert figures[how]["accepted_hit@3_at_0.05"] >= 0.52


def test_fit_gate_is_the_same_whenever_it_is_run(tmp_path: Path) -> None:
    files = collections.write(tmp_path)
    written = []
    for name in ("one.json", "other.json"):
        out = StringIO()
        call_command("fit_gate", *files, "--out", str(tmp_path / name), stdout=out)
        written.append((tmp_path / name).read_text())
        assert '"topic_folds"' in out.getvalue()

    assert written[0] == written[1] != CONSTANTS.read_text()
    assert Constants.read(written[0]).weights.keys() == features()


def test_fit_gate_refuses_too_few_queries(tmp_path: Path) -> None:
    memories, queries = collections.write(tmp_path)
    few = tmp_path / "few.jsonl"
    few.write_text("\n".join(Path(queries).read_text().splitlines()[:3]))

    with pytest.raises(CommandError, match="At least 8 queries"):
        call_command("fit_gate", memories, str(few), "--out", str(tmp_path / "out.json"))


def test_minimise_finds_where_a_function_is_least() -> None:
    wanted = numpy.array([3.0, -2.0])
    scale = numpy.array([1.0, 50.0])

    found = minimise(lambda at: (float(scale @ (at - wanted) ** 2), 2 * scale * (at - wanted)), numpy.zeros(2))

    assert found == pytest.approx(wanted, abs=1e-4)
