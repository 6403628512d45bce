"""What the strict checks cost where every warp reads all of a tile in shared memory."""

import time
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build import BuildRequest
from kernelbench.core.records import Launch, Scalar
from tests.build.binaries import only_built
from tests.simt.hardware.simulate import Simulation
from tests.simt.hardware.trials import Trial, empty, floats

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).parent / "planted" / "matmul.cu"
N = 256  # large enough that starting a thread does not count
SLOWER = 8  # times, at most; by what it costs in CPU time, which other processes change little
WAITING = 1.5  # times the CPU time of one thread, at most
ROUNDS = 9


def test_strict_checks_cost_a_few_times_the_run() -> None:
    ptx = only_built(BuildRequest(SOURCE, (), "sm_90")).ptx_path.read_text()
    launch = Launch("matmul", (N // 32, N // 32, 1), (32, 32, 1), ("a", "b", "c", Scalar("int32", N)))
    arrays = {"a": floats(N, N), "b": floats(N, N), "c": empty(N, N)}
    simulation = Simulation(Trial("matmul", SOURCE, (launch,), arrays, ("c",)), ptx)

    def seconds(*, strict: bool, threads: int) -> float:
        began = time.process_time()
        assert simulation.launch(launch, strict=strict, threads=threads).faults == ()
        return time.process_time() - began

    plain, strict, two = [], [], []
    for _ in range(ROUNDS):  # in turn: what slows the machine down for a while slows all three
        plain.append(seconds(strict=False, threads=1))
        strict.append(seconds(strict=True, threads=1))
        two.append(seconds(strict=True, threads=2))
    np.testing.assert_allclose(simulation.array("c"), arrays["a"] @ arrays["b"], rtol=1e-3, atol=1e-3)
    assert min(strict) < SLOWER * min(plain)
    assert min(two) < WAITING * min(strict), "threads wait for each other"
