"""Softmax and log-softmax off the last axis where a tile is more than registers hold, or dim more than a block: every
element on the simulator, of small tiles that the rule would not choose."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.core import dtypes
from kernelbench.core.records import ArraySpec, Case, DeviceProperties, LaunchPlan, Scalar
from kernelbench.devices.known import KNOWN
from tests.catalog import catalog
from tests.kernels.conftest import Checked
from tests.kernels.deep_tiles import FORMS, case_of, planned, tile_for
from tests.kernels.signatures import entry_text
from tests.kernels.simulated import Build, Fill

pytestmark = pytest.mark.nvcc

CATALOG, NAME = catalog(), "one_read_axis"
BOTH, FLOAT, HALF = ("float32", "bfloat16"), ("float32",), ("bfloat16",)


@dataclass(frozen=True)
class Technique:
    form: str
    exchange: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.form}-{self.exchange}-{self.dtype}"


# A compiler's run for each technique is most of the time. Both types are one where a tile has the same packs for each.
TYPES = {
    "strips": {"block": HALF, "cluster": FLOAT, "co-resident": HALF},
    "slabs": {"block": BOTH, "cluster": BOTH, "co-resident": BOTH, "tickets": HALF},
    "ragged": {"block": BOTH, "cluster": BOTH, "co-resident": BOTH, "tickets": FLOAT},
    "even": {"block": HALF, "cluster": FLOAT, "co-resident": HALF},
    "shifted": {"block": BOTH, "cluster": BOTH, "co-resident": BOTH, "tickets": HALF},
    "folded": {"block": HALF, "co-resident": FLOAT},
}
EVERY = [
    Technique(form, exchange, dtype)
    for form, exchanges in TYPES.items()
    for exchange, types in exchanges.items()
    for dtype in types
]
LACKING = [one for one in EVERY if FORMS[one.form].lacks]
ALONE = [one for one in EVERY if one.exchange == "block"]
AS_SOFTMAX = [
    Technique("slabs", "cluster", "float32"),
    Technique("ragged", "block", "bfloat16"),
    Technique("shifted", "co-resident", "bfloat16"),
]


def of(techniques: list[Technique]) -> pytest.MarkDecorator:
    """One after another: a technique is then read once for all tests."""
    return pytest.mark.parametrize("technique", techniques, ids=str, scope="module")


def plan_of(technique: Technique, less: int = 0, loading: int = 0) -> Callable[..., LaunchPlan]:
    """`less`: bytes of shared memory kept from the launch. `loading`: blocks of a group that load at once, if not 0."""

    def plan(this: Case, device: DeviceProperties) -> LaunchPlan:
        made = planned(technique.form, technique.exchange)(this, device)
        (launch,) = made.launches
        arguments = launch.arguments if not loading else (*launch.arguments[:-1], Scalar("int32", loading))
        launch = replace(launch, shared_bytes=launch.shared_bytes - less, arguments=arguments)
        return replace(made, launches=(launch,))

    return plan


def case_for(technique: Technique, operation: str = "log_softmax", lacks: int | None = None) -> Case:
    return case_of(technique.form, technique.exchange, technique.dtype, operation, lacks)


SPECIAL = 1  # a seed; of others, inputs are random


def mixed(case: Case) -> Fill:
    """Inputs of which all columns are special: all, all but the first and all but the last -inf; a NaN at first or at
    last, an inf at last; some numbers that the powers of others have to be relative to."""

    def fill(spec: ArraySpec, seed: int) -> NDArray[np.generic]:
        outer, dim, inner = case.outer_dim_inner
        values = np.random.default_rng(seed).normal(size=(outer, dim, inner)).astype(np.float32)
        number, place = np.arange(outer * inner).reshape(outer, 1, inner), np.arange(dim)[None, :, None]
        for kind, rows, value in (
            (0, place >= 0, -np.inf),
            (1, place > 0, -np.inf),
            (2, place < dim - 1, -np.inf),
            (3, place == 0, np.nan),
            (4, place == dim - 1, np.nan),
            (5, place == dim - 1, np.inf),
            (6, (place + number) % 11 == 0, 200.0),  # one pack of a thread, and another one of the next
        ):
            if seed == SPECIAL:
                values = np.where((number % 7 == kind) & rows, np.float32(value), values)
        stored: NDArray[np.generic] = dtypes.narrow(np, values.reshape(-1), spec.dtype)
        return stored

    return fill


@of(EVERY)
def test_every_element_is_right_on_memory_that_earlier_launches_used(checked: Checked, technique: Technique) -> None:
    case = case_for(technique)
    checked(NAME, case, plan=plan_of(technique), fill=mixed(case), seeds=(7, SPECIAL, 7))


@of(EVERY)
def test_arrays_may_begin_anywhere(checked: Checked, technique: Technique) -> None:
    for shift in ({"x": 1}, {"y": 1}):
        checked(NAME, case_for(technique), shift, plan=plan_of(technique))


@of(LACKING)
def test_packs_in_shared_memory_may_have_no_element(checked: Checked, technique: Technique) -> None:
    """Of a last block of one row, or a single one of half of them."""
    rows = tile_for(technique.form, technique.exchange, case_for(technique)).rows
    lacks = rows // 2 if technique.exchange == "block" else rows - 1
    checked(NAME, case_for(technique, lacks=lacks), plan=plan_of(technique))


@of([Technique("slabs", "co-resident", "float32")])
def test_blocks_of_a_group_may_load_one_by_one(checked: Checked, technique: Technique) -> None:
    """And what counts them begins again at the next launch."""
    checked(NAME, case_for(technique), plan=plan_of(technique, loading=1), seeds=(7, 8, 7))


@of(ALONE)
def test_packs_in_shared_memory_are_waited_for(binaries: Build, technique: Technique) -> None:
    """After the last copy has begun: the simulator has none under way."""
    plan = planned(technique.form, technique.exchange)(case_for(technique), KNOWN["h200"])
    (binary,) = binaries(CATALOG.implementations["log_softmax"][NAME], [plan], "sm_90")
    entry = entry_text(binary.ptx_path, plan.launches[0].entry)
    copies = [found.start() for found in re.finditer(r"cp\.async\.c[ag]", entry)]
    assert copies
    assert entry.find("cp.async.wait_all") > copies[-1]


@of(ALONE)
def test_no_shared_memory_is_asked_for_in_vain(checked: Checked, technique: Technique) -> None:
    """With a pack less, the last column is beyond it."""
    with pytest.raises(AssertionError, match="shared"):
        checked(NAME, case_for(technique), plan=plan_of(technique, less=16))


@of(AS_SOFTMAX)
def test_softmax_is_right(checked: Checked, technique: Technique) -> None:
    case = case_for(technique, "softmax")
    checked(NAME, case, {"y": 1}, plan=plan_of(technique), fill=mixed(case), seeds=(7, SPECIAL, 7))
