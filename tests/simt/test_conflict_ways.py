"""How many ways bank conflicts have, from the least to the most, of an instruction and of a line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernelbench.simt.ir import SourceLine
from kernelbench.simt.launch_counters import WAYS_ABOVE, launch_counters
from kernelbench.simt.machine import LaunchReport
from tests.simt.hardware.simulate import Simulation
from tests.simt.hardware.trials import empty, floats, int32, trial

PTX = Path(__file__).parent / "hardware" / "ptx"
N, BLOCK = 4096, 256


def launched(tree: str, **options: int) -> LaunchReport:
    arrays = {"x": floats(N), "y": empty(N // BLOCK)}
    one = trial("", f"trees:{tree}", N // BLOCK, BLOCK, arrays, int32(N), shared_bytes=4 * BLOCK)
    return Simulation(one, (PTX / "trees.ptx").read_text()).launch(one.launches[0], **options)


def ways(report: LaunchReport) -> set[tuple[int, int]]:
    """Least and most of each instruction that conflicts."""
    rows = report.counters[report.counters["most_ways"] > 0]
    return {(WAYS_ABOVE - int(row["least_ways"]), int(row["most_ways"])) for row in rows}


@pytest.mark.parametrize("threads", [1, 2])
def test_an_instruction_that_conflicts_more_and_more_has_a_range(threads: int) -> None:
    """Lanes lie 2, 4, 8, .. slots apart: 32 lanes meet 2-, 4-, 8-way; from then on there are fewer lanes in a warp."""
    assert ways(launched("strided", threads=threads)) == {(2, 8)}


def test_a_tree_without_conflicts_has_none() -> None:
    assert ways(launched("sequential")) == set()


def test_a_line_has_the_range_of_its_instructions() -> None:
    report = launched("strided")
    placed = replace(report, sources=tuple(replace(one, source=SourceLine("a.cu", 7)) for one in report.sources))
    assert launch_counters(placed).conflicts == {("a.cu", 7): (2, 8)}
    narrowed = report.counters.copy()
    narrowed["most_ways"][np.argmax(narrowed["most_ways"])] = 16
    assert launch_counters(replace(placed, counters=narrowed)).conflicts == {("a.cu", 7): (2, 16)}
