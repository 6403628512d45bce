"""Kernels of tests/simt/planted/: how they are launched, and the lines that mark their mistakes."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernelbench.core.records import Launch, Scalar
from kernelbench.simt.machine import LaunchReport
from tests.simt.hardware.simulate import Simulation
from tests.simt.hardware.trials import Trial, zeros

Values = NDArray[np.int32]


def launched(
    source: Path, ptx: str, entry: str, threads: int, *, strict: bool, more: int = 0, shared_bytes: int = 0
) -> tuple[Values, Values, LaunchReport]:
    """What a block of that kernel reads and leaves, with `more` elements of y than it has threads."""
    x = np.random.default_rng(1).integers(0, 1000, threads).astype(np.int32)
    arguments = ("x", "y", Scalar("int32", threads))
    launch = Launch(entry, (1, 1, 1), (threads, 1, 1), arguments, shared_bytes=shared_bytes)
    simulation = Simulation(Trial(entry, source, (launch,), {"x": x, "y": zeros(threads + more)}, ("y",)), ptx)
    report = simulation.launch(launch, strict=strict)
    return x, simulation.array("y"), report


def marked_lines(source: Path, entry: str) -> tuple[int, ...]:
    """Those of a kernel that end in `// here`, then those that end in `// or here`."""
    lines = source.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if f"void {entry}(" in line)
    end = next(number for number in range(start, len(lines)) if lines[number] == "}")
    return tuple(
        number + 1 for mark in ("// here", "// or here") for number in range(start, end) if mark in lines[number]
    )
