"""Errors in ulp, on results that NumPy makes."""

from math import prod

import numpy as np
import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import Case
from tests.catalog import catalog
from tests.gpu.shapes import small_cases
from tests.gpu.ulp import errors, least_size
from tests.kernels.simulated import random_input

CATALOG = catalog()
OF_FLOATS = {"float32": np.float32, "float16": np.float16}


def wide_inputs(case):
    specs = CATALOG.operations[case.operation].arrays(case)
    return {
        spec.name: dtypes.widen(np, random_input(spec, 7), spec.dtype).reshape(-1)
        for spec in specs
        if spec.role == "input"
    }


@pytest.mark.parametrize("operation", sorted(CATALOG.operations))
def test_every_output_has_a_step(operation):
    cases = [one for one in small_cases() if one.operation == operation]
    assert cases
    for case in cases[:9]:
        wide = wide_inputs(case)
        for spec in CATALOG.operations[operation].arrays(case):
            if spec.role == "output":
                least = np.broadcast_to(least_size(np, case, wide, spec.dtype), prod(spec.shape))
                assert np.isfinite(least).all()
                assert (least >= 0).all()


@pytest.mark.parametrize("dtype", OF_FLOATS)
def test_layer_norm_is_counted_in_steps_of_its_terms(dtype):
    """NumPy's own in float32, of rows far from 0: results near 0 are wrong by many of their own steps."""
    case = Case("layer_norm", (64, 500), -1, "float32")
    wide = {**wide_inputs(case), "beta": np.zeros(500)}
    wide["x"] = (wide["x"] + 100).astype(np.float32).astype(np.float64)
    expected = CATALOG.operations["layer_norm"].reference(np, case, wide)["y"].reshape(-1)
    x, gamma = wide["x"].astype(np.float32).reshape(64, 500), wide["gamma"].astype(np.float32)
    centred = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5))
    got = (centred * scale * gamma).astype(OF_FLOATS[dtype]).astype(np.float64).reshape(-1)
    plain = errors(np, got, expected, dtype, 0.0, exact=False).max_ulp
    found = errors(np, got, expected, dtype, least_size(np, case, wide, dtype), exact=False).max_ulp
    assert found < 4
    assert plain > 10 * found
