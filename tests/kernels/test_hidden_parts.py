"""Softmax and log-softmax off the last axis where parts of a column are -inf throughout and others far below 0: such
parts have no weight, by every way in which parts are joined. Columns of -inf, with NaN or with inf give NaN."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.core import distributions, dtypes
from kernelbench.core.records import ArraySpec, Case
from kernelbench.devices.known import KNOWN
from tests.catalog import catalog
from tests.gpu import accuracy
from tests.kernels import deep_tiles
from tests.kernels.conftest import Checked
from tests.kernels.simulated import Fill
from tests.kernels.tiles import tiled

pytestmark = pytest.mark.nvcc

CATALOG = catalog()
DTYPES = ("float32", "bfloat16")


def drawn(case: Case, inputs: str) -> Fill:
    """Inputs of a distribution of accuracy.py's own, or of a suite's."""

    def fill(spec: ArraySpec, seed: int) -> NDArray[np.generic]:
        generator, size = np.random.default_rng(seed), case.elements
        if inputs in accuracy.OWN:
            values = accuracy.changed(np, generator.standard_normal(size, dtype=np.float32), case, inputs, 0)
        else:
            (named,) = CATALOG.operations[case.operation].filled(replace(case, inputs=inputs))[:1]
            values = distributions.draw_input(np, generator, named, 0, size, seed)
        stored: NDArray[np.generic] = dtypes.narrow(np, values, spec.dtype)
        return stored

    return fill


def case_of(shape: tuple[int, ...], dtype: str, operation: str = "log_softmax") -> Case:
    return Case(operation, shape, 1, dtype)


TILES = [
    *((*row, dtype) for dtype in DTYPES for row in (
        ("h200", (1, 128, 128), "whole", "block", 0),
        ("h200", (3, 200, 24), "whole", "block", 0),
        ("h200", (2, 101, 31), "ragged", "block", {"y": 1}),
        ("h200", (1, 1100, 48), "whole", "cluster", 0),
        ("h200", (1, 2001, 31), "shifted", "cluster", 1),
        ("h200", (1, 500, 1025), "shifted", "cluster", 0),
        ("a100", (1, 3001, 31), "ragged", "co-resident", 0),
    )),
    ("h200", (1, 4001, 15), "ragged", "cluster", 1, "bfloat16"),  # narrow rows of halves
]  # fmt: skip


@pytest.mark.parametrize(("gpu", "shape", "layout", "exchange", "shift", "dtype"), TILES)
def test_parts_that_are_hidden_have_no_weight(
    checked: Checked, gpu: str, shape: tuple[int, ...], layout: str, exchange: str, shift: Any, dtype: str
) -> None:
    this = case_of(shape, dtype)
    plan = tiled(layout=layout, exchange=exchange)
    checked("one_read_axis", this, shift, KNOWN[gpu], fill=drawn(this, "hidden"), plan=plan)


@pytest.mark.parametrize("exchange", ["block", "cluster", "co-resident", "tickets"])
@pytest.mark.parametrize("form", ["slabs", "ragged", "shifted"])
def test_hidden_parts_of_small_tiles(checked: Checked, form: str, exchange: str) -> None:
    for dtype in DTYPES:
        this = deep_tiles.case_of(form, exchange, dtype)
        plan = deep_tiles.planned(form, exchange)
        checked("one_read_axis", this, {"y": 1}, plan=plan, fill=drawn(this, "hidden"))


@pytest.mark.parametrize("operation", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_a_block_has_fewer_of_than_it_takes_at_once(checked: Checked, operation: str, dtype: str) -> None:
    """What no row of the tile falls to is -inf as well."""
    for dim in (1, 2):
        for inputs in ("hidden", "large"):
            this = case_of((1, dim, 1025), dtype, operation)
            checked("one_read_axis", this, fill=drawn(this, inputs))


def test_small_slabs_with_hidden_parts(checked: Checked) -> None:
    for shape in ((65, 3, 30), (300, 3, 5), (33, 16, 4), (16, 2, 48)):
        this = case_of(shape, "float32")
        checked("one_read_axis", this, fill=drawn(this, "hidden"))
