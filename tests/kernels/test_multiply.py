"""What multiply is, the plans of its kernels, that they compile to what they launch, and are right at any address."""

from math import ceil

import numpy as np
import pytest

from kernelbench.build.machine_code import machine_code
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, Scalar

WAYS = {
    "whole_packs": "WholePacks",
    "counted_here": "CountedHere",
    "through_memory": "ThroughMemory",
    "cast_in_loop": "CastInLoop",
    "element_index": "ElementIndex",
    "int4": "Int4",
}
PACKED = ("oneflow", *WAYS)
SIZES = (1, 7, 8, 9, 255, 257, 2**20 + 1, 2**31 + 5)
MOST_BLOCKS = 132 * 8 * 32  # 32 waves of 8 blocks of 256 threads a multiprocessor


@pytest.fixture(scope="module")
def multiply(catalog):
    return catalog.implementations["multiply"]


def case(*shape, dtype="float16", **parameters):
    return Case("multiply", shape, -1, dtype, parameters=tuple(parameters.items()))


@pytest.mark.parametrize("type_", [np.float32, np.float16])
def test_the_tolerance_takes_one_rounding_and_no_more(catalog, type_):
    x, y = np.random.default_rng(0).normal(size=(2, 100_000)).astype(type_)
    exact = x.astype(np.float64) * y
    allowed = catalog.operations["multiply"].tolerance(case(1, dtype=np.dtype(type_).name))
    errors = np.abs((x * y).astype(np.float64) - exact)
    assert (errors <= allowed.absolute + allowed.relative * np.abs(exact)).all()
    twice = np.nextafter(x * y, type_(np.inf)).astype(np.float64)  # another rounding
    assert (np.abs(twice - exact) > allowed.absolute + allowed.relative * np.abs(exact)).mean() > 0.4


@pytest.mark.parametrize("name", PACKED)
def test_packs_tail_and_at_most_32_waves(multiply, h200, dtype, name):
    per_pack = 4 if dtype == "float32" else 8
    for n in SIZES:
        plan = multiply[name].plan(case(n, dtype=dtype), h200)
        (launch,) = plan.launches
        assert launch.block == (256, 1, 1)
        assert launch.grid == (max(1, min(ceil((n // per_pack) / 256), MOST_BLOCKS)), 1, 1)
        assert launch.arguments == ("x", "y", "z", Scalar("int64", n // per_pack), Scalar("int64", n))
        assert dict(plan.defines) == {"BLOCK": 256, **({"WAY": WAYS[name]} if name in WAYS else {})}


def test_naive_has_a_thread_for_each_element(multiply, h200):
    plan = multiply["naive"].plan(case(1000), h200)
    assert plan.launches[0].grid == (4, 1, 1)
    most = (2**31 - 1) * 256
    with pytest.raises(Unsupported, match=f"elements must be at most {most}, got {most + 1}"):
        multiply["naive"].plan(case(most + 1), h200)


@pytest.mark.parametrize("name", ["naive", *PACKED])
def test_debug_is_a_build_without_optimisation(multiply, h200, name):
    assert multiply[name].plan(case(8, debug=True), h200).debug
    assert not multiply[name].plan(case(8), h200).debug
    assert not multiply["copy"].plan(case(8, debug=True), h200).debug, "the yardstick stays what it is"


@pytest.mark.parametrize("n", [1, 2, 3, 2**20])
def test_the_copy_moves_as_many_bytes_as_a_product(multiply, h200, n):
    plan = multiply["copy"].plan(case(n), h200)
    (launch,) = plan.launches
    assert launch.arguments == ("x", "y", "z", "half", Scalar("int64", n))
    assert dict(plan.scratch) == {"half": 2 * max(1, n // 2)}


@pytest.mark.nvcc
def test_three_ways_are_the_same_machine_code_and_two_are_not(multiply, h200, binaries):
    entry = "multiply_hand_written_f16"
    codes = {}
    for name in WAYS:
        (binary,) = binaries(multiply[name], [multiply[name].plan(case(500), h200)], "sm_90")
        codes[name] = machine_code(binary.path)[entry]
    assert codes["whole_packs"] == codes["cast_in_loop"] == codes["int4"]
    assert codes["element_index"].instructions > codes["whole_packs"].instructions
    assert codes["through_memory"] != codes["whole_packs"]
