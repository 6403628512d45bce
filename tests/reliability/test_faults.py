"""Every fault of the matrix that needs no GPU: none may cost a finished row."""

import json
from pathlib import Path

import pytest

from kernelbench.build import find_compiler
from kernelbench.core import places
from kernelbench.core.errors import NoCompiler
from tests.reliability.matrix import FAULTS
from tests.reliability.stage import CUDA, FAKE, SIMULATOR, Stage

MOMENTS = 6  # the recorded table has 20
# What the quick core plays in another form: kills in every write, Ctrl-C, a full disk, streams of tests/core/.
ELSEWHERE = ("killed_at_random_moments", "terminated", "hung_up", "read_only", "output_unread", "output_closed")
ELSEWHERE += ("messages_unread",)
# On the simulator a fault takes seconds, so that here each is played once: on the fake device where it can be.
PLAYED = [
    pytest.param(name, kind, marks=[pytest.mark.exhaustive] if kind == SIMULATOR or name in ELSEWHERE else [])
    for name, one in FAULTS.items()
    if one.kinds != (CUDA,)
    for kind in [FAKE if FAKE in one.kinds else SIMULATOR]
]


@pytest.mark.parametrize(("name", "kind"), PLAYED)
def test_a_fault_costs_no_finished_row(name: str, kind: str, tmp_path: Path) -> None:
    if kind == SIMULATOR:
        try:
            find_compiler()
        except NoCompiler as missing:
            pytest.skip(str(missing))
    found = FAULTS[name].play(Stage(kind, tmp_path, places.cache(), MOMENTS))
    assert found.lost == 0
    assert found.seen


def test_the_recorded_table_is_of_these_faults() -> None:
    path = places.RECORDED / "reliability" / "no_gpu.json"
    recorded = json.loads(path.read_text())["faults"]
    played = [(one.title, kind) for one in FAULTS.values() for kind in (FAKE, SIMULATOR) if kind in one.kinds]
    assert [(one["fault"], one["on"]) for one in recorded] == played, "play them again: tests/reliability/record.py"
    assert [one for one in recorded if "failed" in one or one["lost"]] == []
