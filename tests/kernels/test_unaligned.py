"""Kernels of sums and of log-softmax on arrays that begin one element beyond an aligned address, on the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernelbench import dtypes
from kernelbench.catalog import load_catalog
from kernelbench.records import Case, Scalar
from tests.simt.harness import Kernels

CATALOG = load_catalog()
ROWS = [
    *(("reduce_sum", name, (1003,)) for name in ("tree_modulo", "tree_unrolled_all", "shuffle", "shuffle_packed")),
    *(("reduce_sum", "shuffle_packed", (n,)) for n in (1, 2, 9)),
    *(("log_softmax", name, (3, 70, 5)) for name in ("generic", "paddle", "paddle_2022", "one_read", "copy")),
]


@pytest.mark.nvcc
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("operation", "name", "shape"), ROWS, ids=lambda value: str(value).replace(" ", ""))
def test_right_on_arrays_that_are_not_aligned(h200, binaries, operation, name, shape, dtype):
    case = Case(operation, shape, min(1, len(shape) - 1), dtype)
    implementation, defined = CATALOG.implementations[operation][name], CATALOG.operations[operation]
    plan = implementation.plan(case, h200)
    (binary,) = binaries(implementation, [plan], "sm_90")
    kernels = Kernels(Path(binary.ptx_path).read_text())

    places, addresses = {}, {}
    for spec in defined.arrays(case):
        size = dtypes.itemsize(spec.dtype)
        places[spec.name] = place = kernels.machine.arena.allocate(spec.name, spec.nbytes + size, "input")
        addresses[spec.name] = np.uint64(place.address + size)
    for scratch, nbytes in plan.scratch:
        addresses[scratch] = np.uint64(kernels.machine.arena.allocate(scratch, nbytes, "output").address)
    count = case.elements
    x = np.random.default_rng(count).normal(size=count).astype(dtypes.storage(dtype))
    places["x"].view(x.dtype, (count + 1,))[1:] = x

    for launch in plan.launches:
        arguments = [
            np.dtype(argument.dtype).type(argument.value) if isinstance(argument, Scalar) else addresses[argument]
            for argument in launch.arguments
        ]
        kernels.run(launch.entry, launch.grid, launch.block, *arguments, shared=launch.shared_bytes)

    (y,) = [spec for spec in defined.arrays(case) if spec.role == "output"]
    stored = dtypes.storage(y.dtype)
    got = places["y"].view(np.dtype(stored), (y.nbytes // dtypes.itemsize(y.dtype) + 1,))[1:].astype(np.float64)
    wide = x.astype(np.float64).reshape(defined.split(case) if defined.split else 1, -1)
    expected = (implementation.reference or defined.reference)(np, case, {"x": wide})["y"].reshape(-1)
    tolerance = defined.tolerance(case)
    assert (np.abs(got - expected) <= tolerance.absolute + tolerance.relative * np.abs(expected)).all()
