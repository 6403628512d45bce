"""Copies by 4, 8 and 16 bytes: their plans, their accesses, and that they are right at any address."""

import sys
from math import ceil
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from kernelbench.build.sass import cross_check, disassemble
from kernelbench.core import dtypes
from kernelbench.core.records import Case, Scalar

WORDS = (4, 8, 16)


@pytest.fixture(scope="module")
def copies(catalog):
    return catalog.implementations["copy"]


def case(*shape, dtype="float32"):
    return Case("copy", shape, -1, dtype)


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


@pytest.mark.parametrize(
    ("elements", "dtype", "blocks"),
    [
        (1, "float32", 1),
        (3, "float32", 1),
        (4096, "float32", 1),
        (4099, "float32", 1),
        (4100, "float32", 2),
        (8192, "float16", 1),
        (8200, "bfloat16", 2),
    ],
)
def test_the_copy_of_softmax_covers_every_whole_pack(softmax, h200, elements, dtype, blocks):
    plan = softmax["copy"].plan(Case("softmax", (elements,), 0, dtype), h200)
    (launch,) = plan.launches
    assert (launch.grid, launch.block) == ((blocks, 1, 1), (256, 1, 1))
    assert launch.arguments == ("x", "y", Scalar("int64", elements))
    assert dict(plan.defines) == {"BLOCK": 256, "PACKS": 4, "STREAMED": 0}


@pytest.mark.parametrize(("name", "packs", "streamed"), [("copy_1", 1, 0), ("copy_streamed", 2, 1)])
def test_further_copies_have_other_packs_in_flight(softmax, h200, name, packs, streamed):
    one = Case("softmax", (10_000,), 0, "float32")
    plan = softmax[name].plan(one, h200)
    assert plan.launches[0].grid == (-(-2500 // (256 * packs)), 1, 1)
    assert dict(plan.defines) == {"BLOCK": 256, "PACKS": packs, "STREAMED": streamed}
    assert (softmax[name].role, softmax[name].source) == ("yardstick", softmax["copy"].source)


def test_memcpy_copies_as_many_bytes_on_the_stream(catalog, monkeypatch):
    calls = []
    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(
        runtime=SimpleNamespace(memcpyAsync=lambda *given: calls.append(given), memcpyDeviceToDevice=3)
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for operation, (source, target) in {"softmax": ("x", "y"), "relu_grad": ("dy", "dx")}.items():
        one = Case(operation, (3, 5), -1, "bfloat16")
        memcpy = catalog.implementations[operation]["copy_memcpy"]
        arrays = {name: SimpleNamespace(data=SimpleNamespace(ptr=ptr)) for name, ptr in ((source, 7), (target, 8))}
        call = memcpy.prepare(one, arrays, 1234)
        assert calls == [], "not before it is asked"
        assert call() is None
        assert calls == [(8, 7, 30, 3, 1234)]
        assert memcpy.role == "yardstick"
        assert memcpy.reference(np, one, {source: "there"}) == {target: "there"}
        calls.clear()


def test_the_copy_of_softmax_takes_any_axis_and_is_checked_against_x(softmax, h200):
    copy, (last, first) = softmax["copy"], (Case("softmax", (4, 6, 10), axis, "float32") for axis in (-1, 0))
    assert copy.role == "yardstick"
    assert copy.plan(first, h200) == copy.plan(last, h200)
    x = np.zeros((4, 6, 10))
    assert copy.reference(np, last, {"x": x})["y"] is x
