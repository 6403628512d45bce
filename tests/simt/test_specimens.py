"""Each kernel that is known to be wrong is caught by `check --strict --specimens` on the simulator, and for what it is
known for."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from kernelbench.cli.progress import ConsoleProgress
from kernelbench.core.records import Result
from kernelbench.planning.catalog import load_catalog
from kernelbench.walks.check import check as check_walk
from kernelbench.walks.request import Request

pytestmark = pytest.mark.nvcc

SUITE = """
title: one specimen
description: one case that it takes
operation: {operation}
dtype: [float32, float16, bfloat16]
cases:
  - shape: {shape}
    axis: -1
implementations: [copy, {name}]
baseline: copy
"""


@dataclass(frozen=True)
class Caught:
    """`status` of the row, and words of its reason; `otherwise`: what the row says without the strict checks."""

    operation: str
    shape: tuple[int, ...]
    status: str
    words: str
    otherwise: str = "wrong"


SPECIMENS = {
    "ft_as_published": Caught("softmax", (2, 2, 64, 64), "wrong", "it never reads x"),
    "four_kernels_as_published": Caught("softmax", (2, 2, 64, 64), "wrong", "elements wrong, first y[0, 0, 0, 0]"),
    "paddle_as_published": Caught("log_softmax", (8, 256), "failed", "two warps access shared memory"),
    "tree_unrolled_as_published": Caught("reduce_sum", (512,), "failed", "two lanes of a warp access", "ok"),
}


def check(name: str, folder: Path, *, strict: bool) -> list[Result]:
    one = SPECIMENS[name]
    suite = folder / "specimen.yaml"
    suite.write_text(SUITE.format(operation=one.operation, shape=list(one.shape), name=name))
    request = Request(
        (str(suite),), device="simulated", only=(name,), specimens=True, strict=strict, inputs=("normal",)
    )
    found = check_walk(request, ConsoleProgress())
    return [result for result in found if result.implementation.name == name]


def test_every_specimen_is_here() -> None:
    catalog = load_catalog(specimens=True).implementations
    known = {one.name for names in catalog.values() for one in names.values() if one.role == "specimen"}
    assert set(SPECIMENS) == known


@pytest.mark.parametrize("name", SPECIMENS)
def test_a_specimen_is_caught(name: str, tmp_path: Path) -> None:
    one = SPECIMENS[name]
    found = check(name, tmp_path, strict=True)
    assert [(result.case.dtype, result.status) for result in found] == [
        (dtype, one.status) for dtype in ("float32", "float16", "bfloat16")
    ]
    assert all(one.words in result.reason for result in found), [result.reason for result in found]


@pytest.mark.parametrize("name", SPECIMENS)
def test_only_lanes_in_step_give_the_right_result_all_the_same(name: str, tmp_path: Path) -> None:
    """Warps of the simulator take turns, which shows the race between warps in the result as well."""
    assert {result.status for result in check(name, tmp_path, strict=False)} == {SPECIMENS[name].otherwise}
