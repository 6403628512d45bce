"""Bulk tensor copies and bulk reductions against NumPy, and the mistakes that they find."""

from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.core.errors import DeviceError
from kernelbench.simt import Simulation, TensorMap, simulate
from tests.simt.bfloats import bfloat, widened
from tests.simt.harness import Load

pytestmark = pytest.mark.nvcc
SHARED = 32768
Box = tuple[int, ...]


@pytest.fixture(scope="module")
def ptx(load: Load) -> str:
    return load("tensors", "sm_90a").text


def run(ptx: str, entry: str, grid: int | tuple[int, ...], faulty: bool = False, **arrays: Any) -> Simulation:
    done = simulate(ptx, entry, grid, 64, arrays, SHARED, strict=True)
    assert faulty or not done.faults, "\n".join(map(str, done.faults))
    return done


def box_of(x: NDArray[Any], start: Box, box: Box, steps: Box, fill: float = 0) -> NDArray[Any]:
    """Elements of the box at `start`, outermost axis first; `fill` outside."""
    found = np.full([-(-size // step) for size, step in zip(box, steps, strict=True)], fill, x.dtype)
    for index in product(*map(range, found.shape)):
        place = tuple(s + i * step for s, i, step in zip(start, index, steps, strict=True))
        if all(0 <= one < size for one, size in zip(place, x.shape, strict=True)):
            found[index] = x[place]
    return found


def swizzled(box: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """The bytes of a box as the Programming Guide draws them: 16 bytes each change places within a row of `width`."""
    groups = np.ascontiguousarray(box).view(np.uint8).reshape(-1, 16)
    if not width:
        return groups.reshape(-1)
    across, every = width // 16, 128 // width  # groups of a row; rows after which the pattern moves on
    target = np.empty_like(groups)
    for number, group in enumerate(groups):
        row, column = divmod(number, across)
        target[row * across + (column ^ (row // every % across))] = group
    return target.reshape(-1)


def loaded(ptx: str, tensor: TensorMap, start: Box, count: int) -> tuple[NDArray[np.uint8], Simulation]:
    rank = len(start)
    at = np.array([*reversed(start), *(0,) * (5 - rank)], np.int32).tobytes()
    y, size = np.zeros(count // 4, np.uint32), np.int32(count)
    done = run(ptx, f"load_{rank}", 1, map=tensor, at=at, y=y, bytes=size)
    return done.outputs["y"].view(np.uint8), done


@pytest.mark.parametrize(
    ("shape", "box", "start"),
    [
        ((100,), (64,), (20,)),
        ((100,), (64,), (-20,)),
        ((100,), (64,), (70,)),
        ((40, 60), (16, 32), (8, 12)),
        ((40, 60), (16, 32), (-3, 40)),
        ((40, 60), (16, 32), (100, 0)),
        ((5, 12, 20), (3, 4, 16), (3, -1, 8)),
        ((3, 4, 6, 20), (2, 3, 2, 8), (2, 2, -1, 15)),
        ((2, 3, 4, 6, 8), (2, 2, 3, 2, 4), (1, -1, 2, 5, 6)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_boxes_of_all_ranks(ptx: str, rng: np.random.Generator, shape: Box, box: Box, start: Box, dtype: Any) -> None:
    shape, box = (*shape[:-1], shape[-1] * 2), (*box[:-1], box[-1] * 2)  # rows of whole 16 bytes for both types
    x = rng.standard_normal(shape).astype(dtype)
    expected = box_of(x, start, box, (1,) * len(box))
    found, done = loaded(ptx, TensorMap(x, box), start, expected.nbytes)
    np.testing.assert_array_equal(found, expected.reshape(-1).view(np.uint8))
    assert done.counters.shared_copy_requests == done.counters.global_load_requests == 1
    assert done.counters.shared_copy_wavefronts == -(-expected.nbytes // 128)


@pytest.mark.parametrize(("swizzle", "width"), [("32B", 32), ("64B", 64), ("128B", 128)])
def test_swizzles(ptx: str, rng: np.random.Generator, swizzle: str, width: int) -> None:
    x = rng.integers(0, 1000, (64, 80)).astype(np.int32)
    box = (40, width // 4)
    expected = box_of(x, (30, 70), box, (1, 1))
    found, _ = loaded(ptx, TensorMap(x, box, swizzle=swizzle), (30, 70), expected.nbytes)
    np.testing.assert_array_equal(found, swizzled(expected, width))
    assert (found != expected.reshape(-1).view(np.uint8)).any()


def test_every_other_row(ptx: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 1000, (40, 20, 32)).astype(np.int32)
    box, steps = (7, 8, 16), (3, 2, 1)
    expected = box_of(x, (30, 5, 20), box, steps)
    found, _ = loaded(ptx, TensorMap(x, box, steps=steps), (30, 5, 20), expected.nbytes)
    np.testing.assert_array_equal(found, expected.reshape(-1).view(np.uint8))


def test_a_part_of_an_array_and_nan_outside(ptx: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((30, 64)).astype(np.float32)
    tensor = TensorMap(x, (8, 16), shape=(10, 50), strides=(3 * 64 * 4,), fill="nan")
    expected = box_of(x[::3, :50], (5, 40), (8, 16), (1, 1), np.nan)
    found, _ = loaded(ptx, tensor, (5, 40), expected.nbytes)
    np.testing.assert_array_equal(found.view(np.float32), expected.reshape(-1))


def test_a_map_in_global_memory(ptx: str) -> None:
    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    at = np.array([8, 4, 0, 0, 0], np.int32).tobytes()
    y = np.zeros((16, 32), np.float32)
    done = run(ptx, "load_by_pointer", 1, map=TensorMap(x, (16, 32)), at=at, y=y, bytes=np.int32(y.nbytes))
    np.testing.assert_array_equal(done.outputs["y"], x[4:20, 8:40])


@pytest.mark.parametrize("swizzle", ["none", "128B"])
def test_there_and_back(ptx: str, rng: np.random.Generator, swizzle: str) -> None:
    x = rng.standard_normal((50, 72)).astype(np.float32)  # tiles of 32 x 16 reach beyond both ends
    tiles = [TensorMap(one, (16, 32), swizzle=swizzle) for one in (x, np.zeros((45, 72), np.float32))]
    done = run(ptx, "add_one", (3, 4), a=tiles[0], b=tiles[1], columns=np.int32(32), rows=np.int32(16))
    np.testing.assert_array_equal(done.outputs["b"], x[:45] + 1)
    np.testing.assert_array_equal(done.outputs["a"], x)


STEPS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "inc": lambda a, b: np.where(a >= b, 0, a + 1),
    "dec": lambda a, b: np.where((a == 0) | (a > b), b, a - 1),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@pytest.mark.parametrize("step", STEPS)
def test_reductions_of_tiles(ptx: str, rng: np.random.Generator, step: str) -> None:
    x = rng.integers(0, 50, (3, 4, 8)).astype(np.uint32)
    y = rng.integers(0, 50, (4, 10)).astype(np.uint32)
    y = np.ascontiguousarray(np.pad(y, ((0, 0), (0, 2))))
    tensor = TensorMap(y, (4, 8), shape=(4, 10), strides=(48,))
    done = run(ptx, "reduce_tile", 3, to=tensor, x=x, words=np.int32(32), step=np.int32(list(STEPS).index(step)))
    expected = y.copy()
    inside = expected[1:, :7]  # the box begins at row 1, column -1
    for block in x:
        inside[...] = STEPS[step](inside, block[:3, 1:])
    np.testing.assert_array_equal(done.outputs["to"], expected)


@pytest.mark.parametrize(
    ("entry", "dtype", "step"),
    [
        ("row_add_f32", np.float32, np.add),
        ("row_add_f16", np.float16, np.add),
        ("row_max_f16", np.float16, np.maximum),
        ("row_min_s64", np.int64, np.minimum),
        ("row_xor_b64", np.int64, np.bitwise_xor),
        ("row_dec_u32", np.uint32, STEPS["dec"]),
        ("row_add_bf16", np.uint16, lambda a, b: bfloat(widened(a) + widened(b))),
    ],
)
def test_reductions_of_rows(ptx: str, rng: np.random.Generator, entry: str, dtype: Any, step: Any) -> None:
    values = rng.standard_normal((4, 64)) * 100
    x = (
        bfloat(values)
        if entry == "row_add_bf16"
        else np.abs(values).astype(dtype)
        if dtype == np.uint32
        else values.astype(dtype)
    )
    y = x[::-1].copy()[0]
    done = run(ptx, entry, 4, x=x, y=y)
    np.testing.assert_array_equal(done.outputs["y"], reduce(step, x, y).astype(dtype))
    assert done.counters.global_store_requests == 4


def test_reductions_in_a_cluster(ptx: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 1000, (8, 64)).astype(np.uint32)
    done = run(ptx, "reduce_in_cluster", 8, x=x, y=np.zeros((2, 64), np.uint32))
    np.testing.assert_array_equal(done.outputs["y"], x.reshape(2, 4, 64).sum(1))


def test_reductions_of_single_values_in_a_cluster(ptx: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 1000, (8, 64)).astype(np.uint32)
    done = run(ptx, "add_in_cluster", 8, x=x, y=np.zeros((2, 64), np.uint32), maxima=np.zeros((2, 2), np.uint64))
    np.testing.assert_array_equal(done.outputs["y"], x.reshape(2, 4, 64).sum(1))
    found = [[one.max(), (256 << 32) + one.sum()] for one in x.reshape(2, 256).astype(np.uint64)]
    np.testing.assert_array_equal(done.outputs["maxima"], found)


def test_one_copy_for_several_blocks(ptx: str, rng: np.random.Generator) -> None:
    mask = 0b1111
    x, line = rng.standard_normal((4, 64)).astype(np.float32), rng.standard_normal((4, 32)).astype(np.float32)
    arrays = {"map": TensorMap(x, (1, 64)), "x": line, "y": np.zeros((4, 384), np.float32)}
    done = run(ptx, "multicast", 4, **arrays, mask=np.int32(mask), expected=np.int32(4 * (256 + 128)))
    expected = np.concatenate([x.reshape(-1), line.reshape(-1)])
    np.testing.assert_array_equal(done.outputs["y"], np.tile(expected, (4, 1)))


def test_a_copy_to_a_block_that_is_not_there(ptx: str) -> None:
    arrays = {"map": TensorMap(np.ones((4, 64), np.float32), (1, 64)), "x": np.ones((4, 32), np.float32)}
    done = run(ptx, "multicast", 4, True, **arrays, y=np.zeros((4, 384), np.float32), mask=np.int32(0b11111),
               expected=np.int32(4 * (256 + 128)))  # fmt: skip
    assert {one.kind for one in done.faults} == {"unwritten_window"}
    assert "block 4, which the cluster does not have" in done.faults[0].text


# ---- Mistakes ------------------------------------------------------------------------------------

X = np.ones((8, 32), np.float32)


def planted(ptx: str, tensor: TensorMap, **options: int) -> list[str]:
    values = {"expected": 1024, "offset": 0, "opened": 1, "from": 0} | options
    arrays = {"map": tensor, "y": np.zeros(64, np.float32), **{name: np.int32(one) for name, one in values.items()}}
    return [f"{one.kind}: {one.text}" for one in run(ptx, "faulty", 1, True, **arrays).faults]


def test_what_is_right_has_no_fault(ptx: str) -> None:
    assert planted(ptx, TensorMap(X, (8, 32))) == []


def test_a_barrier_that_was_not_opened(ptx: str) -> None:
    (said,) = planted(ptx, TensorMap(X, (8, 32)), opened=0)
    assert said.startswith("no_mbarrier: tensors.cu:")


@pytest.mark.parametrize(("expected", "missing"), [(1028, "4 bytes missing"), (1008, "16 unexpected bytes arrived")])
def test_the_wrong_number_of_bytes(ptx: str, expected: int, missing: str) -> None:
    (said,) = planted(ptx, TensorMap(X, (8, 32)), expected=expected)
    assert said.startswith("mbarrier_deadlock")
    assert missing in said


def test_a_box_at_the_wrong_place(ptx: str) -> None:
    said = planted(ptx, TensorMap(X, (8, 32)), offset=64)
    assert said[0].startswith("misaligned")
    assert "bulk read at an address that is not a multiple of 128: byte 1088 of" in said[0]


def test_a_box_outside_shared_memory(ptx: str) -> None:
    said = planted(ptx, TensorMap(X, (8, 32)), offset=SHARED - 512)
    assert said[0].startswith("out_of_bounds_write")


@pytest.mark.parametrize("tensor", [TensorMap(X[0], (32,)), TensorMap(X.reshape(2, 4, 32), (1, 1, 32))])
def test_a_map_with_other_axes(ptx: str, tensor: TensorMap) -> None:
    assert planted(ptx, tensor)[0].startswith("no_tensor_map")


def test_no_map(ptx: str) -> None:
    assert planted(ptx, TensorMap(X, (8, 32)), **{"from": 1})[0].startswith("no_tensor_map")


def test_a_store_of_what_nobody_wrote(ptx: str) -> None:
    done = run(ptx, "unwritten", 1, True, map=TensorMap(np.zeros((1, 32), np.float32), (1, 32)))
    assert [one.kind for one in done.faults] == ["uninitialised_shared"]
    assert "byte 112 of" in done.faults[0].text  # a fault per 16 bytes, of which one word is missing


def test_a_read_before_the_copy_has_come(ptx: str) -> None:
    done = run(ptx, "unwaited", 1, True, map=TensorMap(X[:1].copy(), (1, 32)), y=np.zeros(64, np.float32))
    assert {one.kind for one in done.faults} == {"shared_race", "warp_race", "uninitialised_shared"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"box": (8, 33)}, "a row of the box has 132 bytes, expected a multiple of 16"),
        (
            {"box": (8, 64), "swizzle": "128B"},
            "a row of the box has 256 bytes, expected a multiple of 16 and at most 128",
        ),
        ({"box": (8, 512)}, "expected 1 to 256"),
        ({"box": (8,)}, "a box of 1"),
        ({"box": (8, 32), "steps": (9, 1)}, "1 to 8"),
        ({"box": (8, 32), "swizzle": "256B"}, "swizzle '256B'"),
        ({"box": (8, 32), "shape": (9, 64)}, "takes 2304 bytes of the array"),
        ({"box": (8, 32), "shape": (8, 30)}, "strides .* expected multiples of 16"),
        ({"box": (8, 32), "dtype": "bfloat16"}, "bfloat16 has 2 bytes"),
    ],
)
def test_maps_that_cannot_be(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(DeviceError, match=reason):
        TensorMap(np.zeros((8, 64), np.float32), **options)


def test_nan_is_for_floats() -> None:
    with pytest.raises(DeviceError, match="only floats"):
        TensorMap(np.zeros((8, 64), np.int32), (8, 32), fill="nan")
