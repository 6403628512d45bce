"""The drawn suites: what their seeds give, and that no shape lies outside of what they say."""

import importlib.util
import sys
from functools import cache
from math import log, prod
from types import ModuleType

import pytest

from kernelbench.core import dtypes, places
from kernelbench.suite import find_suite, read_suite
from tests.catalog import catalog

NAMES = (
    "draw_rows",
    "draw_axis",
    "draw_rows_unseen",
    "draw_axis_unseen",
    "draw_layer_norm",
    "draw_layer_norm_unseen",
    "draw_rows_third",
    "draw_axis_third",
    "draw_layer_norm_third",
    "draw_rows_fourth",
    "model_rows",
    "model_axis",
    "model_unaligned",
    "model_small_rows",
    "model_small_axis",
    "model_rows_unaligned",
    "model_layer_norm",
    "model_layer_norm_unseen",
    "model_layer_norm_third",
    "model_layer_norm_fourth",
    "model_layer_norm_unaligned",
)

CASES = {
    "model_rows": 156,
    "model_axis": 156,
    "model_unaligned": 42,
    "model_small_rows": 60,
    "model_small_axis": 60,
    "model_rows_unaligned": 60,
    "model_layer_norm": 60,
    "model_layer_norm_unseen": 90,
    "model_layer_norm_third": 90,
    "model_layer_norm_fourth": 90,
    "model_layer_norm_unaligned": 60,
}
BYTES = {
    "model_small_rows": (2**18, 2**24),
    "model_small_axis": (2**18, 2**24),
    "model_rows_unaligned": (2**18, 2**30),
    "model_layer_norm": (2**18, 2**30),
    "model_layer_norm_unseen": (2**18, 2**30),
    "model_layer_norm_third": (2**18, 2**30),
    "model_layer_norm_fourth": (2**18, 2**30),
    "model_layer_norm_unaligned": (2**18, 2**30),
}


@cache
def draw() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw", places.SUITES / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["draw"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def cases(name):
    known = catalog()
    return read_suite(find_suite(name, places.SUITES), known.operations, known.implementations).cases


def test_files_are_what_their_seeds_give():
    made = {suite.name: suite.text for suite in draw().suites()}
    assert set(made) == set(NAMES)
    for name, text in made.items():
        assert (places.SUITES / f"{name}.yaml").read_text() == text, "python suites/draw.py writes it anew"


@pytest.mark.parametrize("name", NAMES)
def test_shapes_are_within_their_bounds_and_spread_over_them(name):
    rows = "rows" in name or "layer_norm" in name
    least, most = BYTES.get(name, (2**20, 2**31))
    assert len({(case.shape, case.dtype) for case in cases(name)}) == CASES.get(name, 48)
    for case in cases(name):
        outer, dim, inner = case.outer_dim_inner
        assert least <= prod(case.shape) * dtypes.itemsize(case.dtype) <= most
        if rows:
            assert (1 <= outer <= 10**7, 1 <= dim <= 10**6, inner) == (True, True, 1)
        else:
            assert min(case.shape) >= 1, case.shape
            assert max(case.shape) <= 10**5
            assert inner >= 2
    last = [case.shape[-1] * dtypes.itemsize(case.dtype) % 16 == 0 for case in cases(name)]
    assert last.count(True) == (0 if name.endswith("unaligned") else last.count(False))
    sizes = [log(prod(case.shape) * dtypes.itemsize(case.dtype), 2) for case in cases(name)]
    assert min(sizes) < log(least, 2) + 3
    assert max(sizes) > log(most, 2) - 2


@pytest.mark.parametrize("name", ["draw_rows", "draw_axis"])
def test_seeds_have_no_shape_in_common(name):
    first, unseen, model = (
        {case.shape for case in cases(one)} for one in (name, f"{name}_unseen", name.replace("draw", "model"))
    )
    assert not first & unseen
    assert not (first | unseen) & model
    for other in ("model_unaligned", name.replace("draw", "model_small")):
        assert not (first | unseen) & {case.shape for case in cases(other)}


@pytest.mark.parametrize("name", ["model_layer_norm_unseen", "model_layer_norm_third", "draw_layer_norm"])
def test_cases_that_judge_layer_norm_are_none_that_its_cost_function_was_set_by(name):
    set_by = ("model_layer_norm", "peers_layer_norm", "layer_norm", "model_layer_norm_unseen")
    known = {(case.shape, case.dtype) for one in set_by if one != name for case in cases(one)}
    assert not known & {(case.shape, case.dtype) for case in cases(name)}
