"""Launches whose counters and results a GPU and the simulator must agree on: their kernels, inputs and outputs.

Every input comes from a seed, so that both sides get the same bits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelbench.build import BuildRequest
from kernelbench.core import dtypes
from kernelbench.core.launching import LaunchPlan
from kernelbench.core.records import ArraySpec, Case, Implementation, Launch, Scalar
from kernelbench.devices.known import known_gpu
from kernelbench.planning.case_plans import plan_case
from kernelbench.planning.catalog import load_catalog

FOLDER = Path(__file__).resolve().parent
POISON = 0xFF  # every byte of an output before the launch

ARCHITECTURE = "sm_90"
EXACT = 0
ONE_FUNCTION = 2  # in units in the last place: what one function of the GPU may differ by
SOFTMAX = 4  # two functions and a sum of many of their values
# Choices that the plan of one_read_rows no longer takes. They stay; what it takes now is a trial of its own.
EARLIER = {
    "one_read_rows 24x37 float32": {"held": 1, "lanes": 16, "warps": 1, "blocks": 1, "packs": 1, "rows": 1,
                                    "masked": 1, "block": 128, "resident": 12, "hint": 1},
    "one_read_rows 24x37 bfloat16": {"staged": 1, "columns": 37, "group": 2, "block": 128, "resident": 7, "hint": 1},
}  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One kernel on one input. `arrays` in the order of allocation; those in `outputs` are compared."""

    name: str
    source: Path
    launches: tuple[Launch, ...]
    arrays: Mapping[str, NDArray[Any]]
    outputs: tuple[str, ...]
    ulps: int = EXACT  # that results may differ by
    dtype: str = ""  # of the outputs, where numpy does not know it: bfloat16
    defines: tuple[tuple[str, str | int], ...] = ()

    @property
    def request(self) -> BuildRequest:
        return BuildRequest(self.source, self.defines, ARCHITECTURE)

    def role(self, name: str) -> str:
        """As the simulator's memory calls it: an input holds values, an output and scratch hold none yet."""
        undefined = self.arrays[name].size and (self.arrays[name].reshape(-1).view(np.uint8) == POISON).all()
        return "output" if undefined else "input"


@cache
def trials() -> tuple[Trial, ...]:
    found = (*_strides(), *_shared(), *_trees(), *_atomics(), *_paths(), *_others(), *_softmax())
    names = [trial.name for trial in found]
    assert len(set(names)) == len(names), "names are keys of the recorded figures"
    return found


def floats(*shape: int, seed: int = 1, dtype: str = "float32") -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def integers(high: int, *shape: int, seed: int = 2, dtype: str = "int32") -> NDArray[Any]:
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def empty(*shape: int, dtype: Any = "float32") -> NDArray[Any]:
    """An output as it is before the launch."""
    return np.full(prod(shape) * np.dtype(dtype).itemsize, POISON, np.uint8).view(dtype).reshape(shape)


def zeros(*shape: int, dtype: str = "int32") -> NDArray[Any]:
    return np.zeros(shape, dtype)


def int32(value: int) -> Scalar:
    return Scalar("int32", value)


def trial(
    name: str,
    place: str,
    grid: int | tuple[int, int, int],
    block: int | tuple[int, int, int],
    arrays: Mapping[str, NDArray[Any]],
    *scalars: Scalar,
    outputs: Sequence[str] = ("y",),
    shared_bytes: int = 0,
    ulps: int = EXACT,
) -> Trial:
    """`place`: `file:entry`. The kernel takes the arrays, in order, then the scalars."""
    file, entry = place.split(":")
    launch = Launch(entry, _extent(grid), _extent(block), (*arrays, *scalars), shared_bytes)
    return Trial(name, FOLDER / f"{file}.cu", (launch,), arrays, tuple(outputs), ulps)


def _extent(size: int | tuple[int, int, int]) -> tuple[int, int, int]:
    return (size, 1, 1) if isinstance(size, int) else size


def _strides() -> Iterator[Trial]:
    n, block = 500, 128
    grid = -(-n // block)
    for stride in (0, 1, 2, 3, 4, 8, 32):
        x = floats(n * max(stride, 1))
        yield trial(f"read every {stride}. float", "strides:read_f32", grid, block, {"x": x, "y": empty(n)},
                    int32(stride), int32(0), int32(n))  # fmt: skip
    for offset in (1, 7, 8):
        yield trial(f"read floats from {offset} on", "strides:read_f32", grid, block,
                    {"x": floats(n + offset), "y": empty(n)}, int32(1), int32(offset), int32(n))  # fmt: skip
    for stride in (2, 5, 33):
        yield trial(f"write every {stride}. float", "strides:write_f32", grid, block,
                    {"x": floats(n), "y": empty(n * stride)}, int32(stride), int32(0), int32(n))  # fmt: skip
    yield from _wide_strides(n, grid, block)
    yield trial("structures of 12 bytes", "strides:structures", grid, block,
                {"x": floats(n, 3), "y": empty(n)}, int32(n))  # fmt: skip
    order = np.random.default_rng(3).permutation(n).astype(np.int32)
    for name in ("gather", "scatter"):
        yield trial(f"{name} in random order", f"strides:{name}", grid, block,
                    {"x": floats(n), "index": order, "y": empty(n)}, int32(n))  # fmt: skip
    halves = {"a": floats(n, 8, dtype="float16"), "b": floats(n, 8, seed=9, dtype="float16")}
    yield trial("products of packs of 8 halves", "strides:multiply_halves", grid, block,
                halves | {"y": empty(n, 8, dtype="float16")}, int32(n))  # fmt: skip


def _wide_strides(n: int, grid: int, block: int) -> Iterator[Trial]:
    for kind, width, dtype in (("f32x2", 2, "float32"), ("f32x4", 4, "float32"), ("f64", 1, "float64"),
                               ("f16", 1, "float16"), ("u8", 1, "uint8")):  # fmt: skip
        for stride, offset in ((1, 0), (1, 1), (3, 0)):
            count = (n * stride + offset) * width
            x = integers(256, count, dtype=dtype) if dtype == "uint8" else floats(count, dtype=dtype)
            for way, sizes in (("read", (count, n * width)), ("write", (n * width, count))):
                arrays = {"x": x[: sizes[0]], "y": empty(sizes[1], dtype=dtype)}
                if way == "write" and stride == 1 and offset == 0:
                    continue  # the same as reading
                yield trial(f"{way} {kind}, stride {stride}, offset {offset}", f"strides:{way}_{kind}", grid, block,
                            arrays, int32(stride), int32(offset), int32(n))  # fmt: skip


def _shared() -> Iterator[Trial]:
    size = 48 * 1024
    kinds = {"f32": (4, "float32", (0, 1, 2, 3, 4, 8, 16, 17, 32, 33)), "f32x2": (8, "float32", (0, 1, 2, 3, 16)),
             "f32x4": (16, "float32", (0, 1, 2, 3, 4)), "f16": (2, "float16", (1, 2, 32)),
             "u8": (1, "uint8", (1, 3, 4))}  # fmt: skip
    for kind, (width, dtype, strides) in kinds.items():
        itemsize = np.dtype(dtype).itemsize
        x = integers(256, size, dtype="uint8") if dtype == "uint8" else floats(size // itemsize, dtype=dtype)
        for stride in strides:
            block = 128 if 4 * 32 * max(stride, 1) * width <= size else 32
            y = empty(block * width // itemsize, dtype=dtype)
            for way in ("load", "store"):
                if way == "load" or stride > 0:
                    yield trial(f"{way} {kind} of shared memory, stride {stride}", f"shared_strides:{way}_{kind}", 1,
                                block, {"x": x, "y": y}, int32(stride))  # fmt: skip
    everyone = 0xFFFFFFFF
    some = {"even": 0x55555555, "odd and 0": 0xAAAAAAAB, "pairs": 0x33333333, "half": 0xFFFF, "few": 0x80018001}
    for width in (2, 4):
        for share in (1, 2, 4, 8, 32):
            yield _neighbours(width, share, "all", everyone)
        for name, lanes in some.items():
            for share in (2, 4):
                yield _neighbours(width, share, name, lanes)


def _neighbours(width: int, share: int, name: str, lanes: int) -> Trial:
    return trial(f"f32x{width} of shared memory, {share} lanes alike, lanes on: {name}",
                 f"shared_strides:neighbours_f32x{width}", 1, 64, {"x": floats(64, width), "y": empty(64, width)},
                 int32(share), Scalar("uint32", lanes))  # fmt: skip


def _trees() -> Iterator[Trial]:
    n, block = 20_000, 256
    grid = -(-n // block)
    for tree in ("modulo", "strided", "sequential", "unrolled"):
        yield trial(f"tree, {tree}", f"trees:{tree}", grid, block, {"x": floats(n), "y": empty(grid)}, int32(n),
                    shared_bytes=4 * block)  # fmt: skip
    # Whole numbers: blocks add in no certain order.
    yield trial("tree, shuffled", "trees:shuffled", 12, block,
                {"x": integers(100, n, dtype="float32"), "y": zeros(1, dtype="float32")}, int32(n))  # fmt: skip
    width, height = 200, 136
    for name in ("plain", "tiled", "padded"):
        yield trial(f"transpose, {name}", f"transpose:{name}", (-(-width // 32), -(-height // 32), 1), (32, 8, 1),
                    {"x": floats(height, width), "y": empty(width, height)}, int32(width), int32(height))  # fmt: skip


def _atomics() -> Iterator[Trial]:
    n = 20_000
    for kind, x in (("uniform", integers(256, n, dtype="uint8")), ("one value", np.full(n, 77, np.uint8))):
        for name in ("histogram_shared", "histogram_global"):
            yield trial(f"{name}, {kind}", f"atomics:{name}", 8, 256, {"x": x, "y": zeros(256)}, int32(n))
    slots = {"apart": np.arange(256), "one": np.zeros(256), "four": np.arange(256) % 4, "random": integers(256, 256),
             "same bank": np.arange(256) * 32 % 256 + np.arange(256) // 8}  # fmt: skip
    targets = {name: slot.astype(np.int32) for name, slot in slots.items()}
    for name, slot in targets.items():
        yield trial(f"global addition of int32, {name}", "atomics:add_i32", 2, 128, {"slot": slot, "y": zeros(256)})
        yield trial(f"shared addition of int32, {name}", "atomics:shared_add_i32", 1, 256,
                    {"slot": slot, "y": empty(256, dtype="int32")})  # fmt: skip
    for reach in (64, 128, 256, 512, 2048):  # one warp, each lane another element
        for seed in range(6):
            slot = np.random.default_rng(100 + seed).permutation(reach)[:32].astype(np.int32)
            yield trial(f"global addition of int32, 32 of {reach}, seed {seed}", "atomics:add_i32", 1, 32,
                        {"slot": slot, "y": zeros(reach)})  # fmt: skip
    for kind, dtype in (("u64", "uint64"), ("f32", "float32"), ("f64", "float64")):
        for name in ("apart", "random"):
            yield trial(f"global addition of {kind}, {name}", f"atomics:add_{kind}", 2, 128,
                        {"slot": targets[name], "y": zeros(256, dtype=dtype)})  # fmt: skip
    yield trial("global addition of half2, apart", "atomics:add_half2", 2, 128,
                {"slot": targets["apart"], "y": zeros(512, dtype="float16")})  # fmt: skip
    yield trial("global maximum, random", "atomics:max_i32", 2, 128, {"slot": targets["random"], "y": zeros(256)})
    for name in ("exchange", "compare_and_swap"):
        yield trial(f"global {name}", f"atomics:{name}", 2, 128,
                    {"slot": targets["same bank"], "values": integers(256, 256), "y": empty(256, dtype="int32")},
                    outputs=("values", "y"))  # fmt: skip
    yield trial("shared maximum, random", "atomics:shared_max_u32", 1, 256,
                {"slot": targets["random"], "y": empty(256, dtype="uint32")})  # fmt: skip
    yield trial("shared exchange, same bank", "atomics:shared_exchange", 1, 256,
                {"slot": targets["same bank"], "y": empty(256, dtype="int32")})  # fmt: skip
    yield trial("shared addition of float, four", "atomics:shared_add_f32", 1, 256,
                {"slot": targets["four"], "y": empty(256)})  # fmt: skip


def _paths() -> Iterator[Trial]:
    for n in (1, 31, 1000):
        yield trial(f"guarded, n {n}", "paths:guarded", 8, 128, {"x": floats(1024), "y": empty(1024)}, int32(n))
    for n in (510, 1023):
        yield trial(f"vector and tail, n {n}", "paths:vector_and_tail", 2, 128, {"x": floats(n), "y": empty(n)},
                    int32(n))  # fmt: skip
    n = 777
    yield trial("both sides of a branch", "paths:both_sides", 7, 128,
                {"a": floats(n), "b": floats(n, seed=5), "y": empty(n)}, int32(n))  # fmt: skip
    yield trial("four ways", "paths:four_ways", 7, 128, {"x": floats(n), "y": empty(n)}, int32(n))
    yield trial("ragged loops", "paths:ragged", 7, 128,
                {"lengths": integers(20, n), "x": floats(n + 20), "y": empty(n)}, int32(n))  # fmt: skip
    yield trial("collatz", "paths:collatz", 7, 128, {"y": empty(n, dtype="int32")}, int32(n))
    yield trial("compaction", "paths:compact", 7, 128,
                {"x": floats(n), "y": empty(7 * 128), "counts": empty(28, dtype="int32")},
                Scalar("float32", 0.25), int32(n), outputs=("y", "counts"))  # fmt: skip
    table = np.sort(integers(10_000, 1000))
    yield trial("binary search", "paths:binary_search", 7, 128,
                {"table": table, "x": integers(10_000, n, seed=8), "y": empty(n, dtype="int32")},
                int32(len(table)), int32(n))  # fmt: skip


def _others() -> Iterator[Trial]:
    for width, n in ((1, 256), (2, 200), (4, 100), (4, 256)):
        yield trial(f"asynchronous copy of {4 * width} bytes, n {n}", f"copies:copy_{4 * width}", 1, 256,
                    {"x": floats(n, width), "y": empty(n, width)}, int32(n))  # fmt: skip
    yield trial("asynchronous copy with zeros", "copies:copy_and_fill", 1, 256,
                {"x": floats(100, 4), "y": empty(256, 4)}, int32(100))  # fmt: skip
    n = 256
    yield trial("local array, picked from", "local:picked", 2, 128,
                {"x": integers(1000, 16, n), "y": empty(n, dtype="int32")}, int32(n))  # fmt: skip
    yield trial("local array, sorted", "local:sorted", 2, 128, {"x": floats(n, 8), "y": empty(n, 8)})
    yield trial("local array of bytes", "local:counted_bytes", 2, 128,
                {"x": integers(256, n, 40, dtype="uint8"), "y": empty(n, dtype="uint8")}, int32(40))  # fmt: skip
    functions = {"exponential", "fast_exponential", "logarithm", "tangent", "inverse_root"}
    for name in ("polynomial", "quotient", "root", "larger", "through_half", "through_bfloat16", *sorted(functions)):
        yield trial(name.replace("_", " "), f"arithmetic:{name}", 8, 128, {"x": floats(1000), "y": empty(1000)},
                    int32(1000), ulps=ONE_FUNCTION if name in functions else EXACT)  # fmt: skip
    yield trial("tiled product", "arithmetic:tiled_product", (4, 4, 1), (16, 16, 1),
                {"a": floats(64, 64), "b": floats(64, 64, seed=6), "y": empty(64, 64)}, int32(64))  # fmt: skip
    yield trial("dot products of halves", "arithmetic:dot_halves", 4, 128,
                {"x": floats(2000, dtype="float16"), "y": empty(500)}, int32(1000))  # fmt: skip


SHAPES = ((24, 37), (16, 128), (8, 1000), (3, 4096))


def _softmax() -> Iterator[Trial]:
    catalog, device = load_catalog(), known_gpu("h200")
    operation = catalog.operations["softmax"]
    for name, one in catalog.implementations["softmax"].items():
        for number, shape in enumerate(SHAPES):
            for dtype in ("float32",) if number % 2 else ("float32", "float16" if number else "bfloat16"):
                case = Case("softmax", shape, -1, dtype)
                planned = plan_case(case, operation, one, device)
                if planned.plan is None or planned.status != "ok" or one.source is None:
                    continue
                label = f"{name} {'x'.join(map(str, shape))} {dtype}"
                plans = {label: planned.plan}
                if label in EARLIER and one.plan:
                    plans = {
                        label: one.plan(case, device, **EARLIER[label]),
                        f"{label}, {planned.plan.launches[0].entry}": planned.plan,
                    }
                for label, plan in plans.items():
                    yield _softmax_trial(label, case, operation.arrays(case), one, plan)


def _softmax_trial(name: str, case: Case, arrays: Sequence[ArraySpec], one: Implementation, plan: LaunchPlan) -> Trial:
    assert one.source is not None
    scratch = {of: empty(size, dtype="uint8") for of, size in plan.scratch}
    return Trial(
        name,
        one.source.with_name(plan.source or one.source.name),
        plan.launches,
        {spec.name: _softmax_array(spec) for spec in arrays} | scratch,
        tuple(spec.name for spec in arrays if spec.role == "output"),
        EXACT if one.role == "yardstick" else SOFTMAX,
        case.dtype,
        plan.defines,
    )


def _softmax_array(spec: ArraySpec) -> NDArray[Any]:
    stored = dtypes.storage(spec.dtype)
    if spec.role == "output":
        return empty(*spec.shape, dtype=stored)
    values = floats(*spec.shape, seed=11)
    if spec.dtype == "bfloat16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)  # cut off, so that it is exact
    return values.astype(stored)
