"""What relu is, the plans of its kernels with other waves and blocks, and that they are right at any address."""

from math import ceil

import numpy as np
import pytest

from kernelbench.compare import read_ledger
from kernelbench.core import places
from kernelbench.core.records import Case, Scalar
from tests.kernels.simulated import run_and_check

# name -> block, waves
GRIDS = {
    "packed": (256, 32),
    **{f"waves_{waves}": (256, waves) for waves in (1, 2, 4, 8, 16, 64)},
    **{f"block_{block}": (block, 32) for block in (64, 128, 512, 1024)},
}


@pytest.fixture(scope="module")
def relu(catalog):
    return catalog.implementations["relu"]


def case(*shape, dtype="float32"):
    return Case("relu", shape, -1, dtype)


def test_the_reference_keeps_nan(catalog):
    got = catalog.operations["relu"].reference(np, case(4), {"x": np.array([-1.0, 2.0, np.nan, -np.inf])})["y"]
    np.testing.assert_array_equal(got, [0.0, 2.0, np.nan, 0.0])
    assert catalog.operations["relu"].bytes_moved(case(5)) == 40


@pytest.mark.parametrize("name", GRIDS)
def test_the_grid_is_a_thread_a_pack_in_so_many_waves(relu, h200, name):
    block, waves = GRIDS[name]
    for n in (1, 3, 4 * 256 * 100, 2**28 + 1, 2**31 + 5):
        plan = relu[name].plan(case(n), h200)
        (launch,) = plan.launches
        assert launch.grid == (max(1, min(ceil((n // 4) / block), 132 * (2048 // block) * waves)), 1, 1)
        assert (launch.block, dict(plan.defines)) == ((block, 1, 1), {"BLOCK": block})
        assert launch.arguments == ("x", "y", Scalar("int64", n // 4), Scalar("int64", n))


def test_the_claim_about_the_grid_names_all_that_there_are(relu):
    claim = read_ledger(places.LEDGER)["grid-waves"].document["claim"]
    assert set(claim["alternatives"]) == set(GRIDS) <= set(relu)


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["naive", "packed", "waves_1", "block_64", "block_1024", "copy"])
def test_is_right_wherever_arrays_begin(catalog, h200, binaries, dtype, name):
    implementation, operation = catalog.implementations["relu"][name], catalog.operations["relu"]
    for n in (1, 7, 261):
        for shift in (0, 1, {"x": 1}, {"y": 1}):
            run_and_check(implementation, operation, case(n, dtype=dtype), h200, binaries, shift)


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["naive", "packed"])
def test_special_values(catalog, relu, h200, binaries, name):
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-40, -1e-40, 5.0, -5.0, np.nan], np.float32)
    operation = catalog.operations["relu"]
    ran = run_and_check(relu[name], operation, case(x.size), h200, binaries, fill=lambda spec, seed: x)
    np.testing.assert_array_equal(ran.outputs["y"], np.where(x < 0, np.float32(0), x))
