"""What relu is, the plans of its kernels with other waves and blocks, and that they are right at any address."""

from math import ceil

import numpy as np
import pytest

from kernelbench.compare import read_ledger
from kernelbench.core import places
from kernelbench.core.records import Case, Scalar

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
@pytest.mark.parametrize("name", ["naive", "packed"])
def test_special_values(checked, name):
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-40, -1e-40, 5.0, -5.0, np.nan], np.float32)
    y = checked(name, case(x.size), fill=lambda spec, seed: x).outputs["y"]
    np.testing.assert_array_equal(y, np.where(x < 0, np.float32(0), x))
