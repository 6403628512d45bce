"""Softmax and log-softmax as other GPUs get them: candidates of each technique, compiled for that GPU and run on the
simulator with its properties."""

import pytest

from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernels.softmax_family.axis_candidates import axis_candidates
from kernels.softmax_family.axis_plans import choice_plan
from kernels.softmax_family.axis_tiles import Tile
from kernels.softmax_family.row_candidates import row_candidates
from kernels.softmax_family.row_plans import plan_of
from kernels.softmax_family.row_techniques import Held, Split, Staged, StagedLanes

# sm_75 with the least shared memory, sm_80, sm_89, and sm_120 with clusters of eight blocks.
GPUS = ("t4", "a100", "rtx4090", "rtx5090")

ROWS = {
    "lanes": ((37, 100), "float32", lambda one: isinstance(one, Held) and one.warps == 1 and one.lanes == 8),
    "lanes, masked": ((9, 301), "bfloat16", lambda one: isinstance(one, Held) and one.warps == 1 and one.masked),
    "warps": ((2, 4001), "float32", lambda one: isinstance(one, Held) and one.warps == 4),
    "shared memory": ((1, 40_004), "float32", lambda one: isinstance(one, Held) and one.shared_packs > 0),
    "staged": ((130, 17), "float16", lambda one: isinstance(one, Staged)),
    "staged lanes": ((40, 129), "bfloat16", lambda one: isinstance(one, StagedLanes)),
    "split": ((2, 9001), "bfloat16", lambda one: isinstance(one, Split)),
}
VIEWS = {
    "strips": ((2, 100, 128), "float32", lambda one: (one.layout, one.exchange) == ("whole", "block")),
    "ragged": ((2, 101, 31), "bfloat16", lambda one: (one.layout, one.exchange) == ("ragged", "block")),
    "shifted": ((1, 40, 1025), "float32", lambda one: (one.layout, one.exchange) == ("shifted", "block")),
    "group": ((2, 1501, 48), "float32", lambda one: one.exchange == "co-resident"),
    "tickets": ((2, 2001, 48), "bfloat16", lambda one: one.exchange == "tickets"),
}
each_gpu = pytest.mark.parametrize("gpu", GPUS)


@pytest.mark.nvcc
@each_gpu
@pytest.mark.parametrize("technique", ROWS)
def test_rows(checked, gpu, technique):
    shape, dtype, takes = ROWS[technique]
    case, device = Case("softmax", shape, -1, dtype), KNOWN[gpu]
    choice = next(one for one in row_candidates(case, device, True) if takes(one))
    checked(
        "one_read_rows",
        case,
        0,
        device,
        plan=lambda case, device: plan_of("softmax_one_read_rows", choice, case, device),
    )


@pytest.mark.nvcc
@each_gpu
@pytest.mark.parametrize("technique", VIEWS)
def test_views(checked, gpu, technique):
    shape, dtype, takes = VIEWS[technique]
    case, device = Case("log_softmax", shape, 1, dtype), KNOWN[gpu]
    tile = next(one for one in axis_candidates(case, device) if isinstance(one, Tile) and takes(one))
    checked(
        "one_read_axis",
        case,
        0,
        device,
        plan=lambda case, device: choice_plan("log_softmax_one_read_axis", case, device, tile),
    )


@pytest.mark.nvcc
@pytest.mark.parametrize("technique", ["rows", "columns"])
def test_clusters_of_eight_blocks(checked, technique):
    device = KNOWN["rtx5090"]
    if technique == "rows":
        case = Case("softmax", (2, 9001), -1, "float32")
        choice = next(one for one in row_candidates(case, device, True) if isinstance(one, Held) and one.blocks == 8)
        checked("one_read_rows", case, 0, device, plan=lambda *given: plan_of("softmax_one_read_rows", choice, *given))
    else:
        case = Case("log_softmax", (1, 2001, 48), 1, "float32")
        tiles = [one for one in axis_candidates(case, device) if isinstance(one, Tile) and one.exchange == "cluster"]
        tile = next(one for one in tiles if one.parts == 8)
        checked(
            "one_read_axis", case, 0, device,
            plan=lambda *given: choice_plan("log_softmax_one_read_axis", *given, tile),
        )  # fmt: skip
