"""The comparison that runs on a GPU, run on the simulator: it finds what comparing on the host finds."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench import devices
from kernelbench.build import BuildRequest
from kernelbench.core import dtypes
from kernelbench.core.differences import Differences
from kernelbench.core.records import Tolerance
from tests.build.binaries import only_built
from tests.devices.compared_arrays import PLANTED, assert_alike, on_the_host, planted
from tests.simt.harness import Kernels

pytestmark = pytest.mark.nvcc

SOURCE = Path(devices.__file__).with_name("cuda") / "compare.cuh"
KERNEL = """
extern "C" __global__ void compares(const double* got, const double* want, double relative, double absolute,
                                    double overflow, double roundoff, double smallest, unsigned long long* found,
                                    long long size) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  Compared mine(relative, absolute, overflow, roundoff, smallest);
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += threads)
    mine.add(i, got[i], want[i]);
  mine.join(found);
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    folder = tmp_path_factory.mktemp("compare")
    (folder / "k.cu").write_text(SOURCE.read_text() + KERNEL)
    binary = only_built(BuildRequest(folder / "k.cu", (), "sm_90"), folder=folder / "cache")
    return Kernels(binary.ptx_path.read_text())


def compare(kernels: Kernels, stored: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
    got, found = dtypes.widen(np, stored, dtype), np.array([0, 2**64 - 1, 0, 0, 0, 0], np.uint64)
    bounds = (tolerance.relative, tolerance.absolute, dtypes.overflow(dtype), *dtypes.rounding_steps(dtype))
    size = got.size
    kernels.run("compares", -(-size // 1024), 256, got, expected, *map(np.float64, bounds), found, np.int64(size))
    errors = [None if math.isnan(one) else float(one) for one in found[2:].view(np.float64)]
    first = int(found[1]) if found[0] else None
    at = (None, None) if first is None else (float(got[first]), float(expected[first]))
    return Differences(int(found[0]), *errors[:2], first, *at, *errors[2:])


@pytest.mark.parametrize("what", PLANTED)
def test_it_finds_what_comparing_on_the_host_finds(kernels: Kernels, what: str) -> None:
    for dtype in ("float32", "float16", "bfloat16"):
        for size in (1, 17, 1003):
            stored, expected = planted(what, dtype, size)
            for tolerance, right in on_the_host(stored, expected, dtype):
                found = compare(kernels, stored, dtype, expected, tolerance)
                assert_alike(found, right, f"{dtype}, {size} elements, {tolerance}")
