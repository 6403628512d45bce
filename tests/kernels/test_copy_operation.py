"""Copies by 4, 8 and 16 bytes: their plans, their accesses, and that they are right at any address."""

from math import ceil

import numpy as np
import pytest

from kernelbench.build.sass import cross_check, disassemble
from kernelbench.core import dtypes
from kernelbench.core.records import Case, Scalar
from tests.kernels.simulated import run_and_check

WORDS = (4, 8, 16)


@pytest.fixture(scope="module")
def copies(catalog):
    return catalog.implementations["copy"]


def case(*shape, dtype="float32"):
    return Case("copy", shape, -1, dtype)


def test_a_copy_is_what_was_there(catalog):
    operation = catalog.operations["copy"]
    assert operation.reference(np, case(2), {"x": np.array([1.0, np.nan])})["y"].tolist()[0] == 1.0
    assert (operation.bytes_moved(case(5, 2)), operation.flops(case(5, 2))) == (80, 0)


@pytest.mark.parametrize("word", WORDS)
def test_words_and_a_tail(copies, h200, dtype, word):
    for n in (1, 7, 257, 2**28 + 3, 2**31 + 5):
        words = n // (word // dtypes.itemsize(dtype))
        plan = copies[f"bytes_{word}"].plan(case(n, dtype=dtype), h200)
        (launch,) = plan.launches
        assert launch.arguments == ("x", "y", Scalar("int64", words), Scalar("int64", n))
        assert launch.grid == (max(1, min(ceil(words / 256), 132 * 8 * 32)), 1, 1)
        assert dict(plan.defines) == {"BLOCK": 256, "WORD": word}


@pytest.mark.nvcc
@pytest.mark.parametrize("word", WORDS)
def test_the_machine_code_loads_and_stores_whole_words(copies, h200, binaries, dtype, word):
    plan = copies[f"bytes_{word}"].plan(case(500, dtype=dtype), h200)
    (binary,) = binaries(copies[f"bytes_{word}"], [plan], "sm_90")
    sass = disassemble(binary.path)
    if sass is None:
        pytest.skip("neither nvdisasm nor cuobjdump was found")
    accesses = cross_check(binary.ptx_path.read_text(), plan.launches[0].entry, sass).sass
    sizes = {size for (kind, size), count in accesses.items() if count and kind in ("ld.global", "st.global")}
    assert sizes == {word, dtypes.itemsize(dtype)}, "whole words, and single elements of the tail"


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["bytes_4", "bytes_8", "bytes_16", "copy"])
def test_is_right_wherever_arrays_begin(catalog, h200, binaries, dtype, name):
    implementation, operation = catalog.implementations["copy"][name], catalog.operations["copy"]
    for n in (1, 7, 261):
        for shift in (0, 1, {"x": 1}, {"y": 1}):
            run_and_check(implementation, operation, case(n, dtype=dtype), h200, binaries, shift)
