"""Counters that follow from how memory is built, worked out by hand: strides, offsets, wide accesses, tiles, trees."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core.counters import Counters
from tests.build.binaries import only_built
from tests.simt.hardware.simulate import Simulation
from tests.simt.hardware.trials import Trial, empty, floats, int32, trial

Run = Callable[[Trial], Counters]
PTX = Path(__file__).parent / "hardware" / "ptx"  # as nvcc 13.0 made it for sm_90; so they run without nvcc, too


@pytest.fixture(scope="session", params=["kept", pytest.param("nvcc", marks=pytest.mark.nvcc)])
def run(request: pytest.FixtureRequest) -> Run:
    """run(trial): its counters, with the PTX that is kept here and with that of the compiler at hand."""

    def kept(one: Trial) -> Counters:
        return counted(one, (PTX / one.source.with_suffix(".ptx").name).read_text())

    def compiled(one: Trial) -> Counters:
        return counted(one, only_built(one.request).ptx_path.read_text())

    return kept if request.param == "kept" else compiled


def counted(one: Trial, ptx: str) -> Counters:
    (counters,) = Simulation(one, ptx).run()
    return counters


def copied(kernel: str, stride: int, offset: int, width: int = 1, dtype: str = "float32") -> Trial:
    """One warp reads `width` numbers a lane; 32 results are written side by side."""
    x = floats((32 * max(stride, 1) + offset) * width, dtype=dtype)
    arrays = {"x": x, "y": empty(32 * width, dtype=dtype)}
    return trial("", f"strides:{kernel}", 1, 32, arrays, int32(stride), int32(offset), int32(32))


@pytest.mark.parametrize(
    ("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (3, 12), (4, 16), (5, 20), (8, 32), (16, 32), (32, 32)]
)
def test_floats_at_a_stride(run: Run, stride: int, sectors: int) -> None:
    own = run(copied("read_f32", stride, 0))
    assert (own.global_load_requests, own.global_load_sectors) == (1, sectors)
    assert own.global_load_ideal_sectors == (4 if stride else 1)
    assert (own.global_store_requests, own.global_store_sectors, own.global_store_ideal_sectors) == (1, 4, 4)


@pytest.mark.parametrize(("offset", "sectors"), [(0, 4), (1, 5), (7, 5), (8, 4), (9, 5), (31, 5), (32, 4)])
def test_floats_from_an_offset_on(run: Run, offset: int, sectors: int) -> None:
    assert run(copied("read_f32", 1, offset)).global_load_sectors == sectors


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (4, 16), (8, 32), (33, 32)])
def test_floats_written_at_a_stride(run: Run, stride: int, sectors: int) -> None:
    arrays = {"x": floats(32), "y": empty(32 * max(stride, 1))}
    own = run(trial("", "strides:write_f32", 1, 32, arrays, int32(stride), int32(0), int32(32)))
    assert (own.global_store_requests, own.global_store_sectors) == (1, sectors)
    assert own.global_store_ideal_sectors == (4 if stride else 1)


@pytest.mark.parametrize(
    ("kernel", "width", "dtype", "sectors"),
    [("read_u8", 1, "uint8", (1, 1, 2)), ("read_f16", 1, "float16", (2, 2, 3)), ("read_f64", 1, "float64", (8, 16, 9)),
     ("read_f32x2", 2, "float32", (8, 16, 9)), ("read_f32x4", 4, "float32", (16, 32, 17))],
)  # fmt: skip
def test_other_widths(run: Run, kernel: str, width: int, dtype: str, sectors: tuple[int, int, int]) -> None:
    """Side by side, every second one, from the second one on."""
    layouts = [(1, 0), (2, 0) if dtype not in ("uint8", "float16") else (1, 0), (1, 1)]
    assert tuple(run(copied(kernel, *layout, width, dtype)).global_load_sectors for layout in layouts) == sectors


def test_packs_of_eight_halves_are_wide_accesses(run: Run) -> None:
    packs = {name: floats(64, 8, dtype="float16", seed=seed) for seed, name in enumerate("ab")}
    own = run(trial("", "strides:multiply_halves", 2, 32, packs | {"y": empty(64, 8, dtype="float16")}, int32(64)))
    assert (own.global_load_requests, own.global_load_sectors) == (4, 64)
    assert (own.global_store_requests, own.global_store_sectors) == (2, 32)


def test_structures_of_three_floats(run: Run) -> None:
    own = run(trial("", "strides:structures", 1, 32, {"x": floats(32, 3), "y": empty(32)}, int32(32)))
    assert (own.global_load_requests, own.global_load_sectors, own.global_load_ideal_sectors) == (3, 36, 12)


SIZE = 48 * 1024


def strided(kernel: str, stride: int, dtype: str = "float32", width: int = 1) -> Trial:
    itemsize = np.dtype(dtype).itemsize
    arrays = {"x": floats(SIZE // itemsize, dtype=dtype), "y": empty(32 * width, dtype=dtype)}
    return trial("", f"shared_strides:{kernel}", 1, 32, arrays, int32(stride))


@pytest.mark.parametrize("stride", range(34))
def test_every_stride_of_floats(run: Run, stride: int) -> None:
    """Lanes meet on a bank as often as the stride and 32 have a common divisor; on one word they do not."""
    expected = int(np.gcd(stride, 32)) if stride else 1
    own = run(strided("load_f32", stride))
    assert (own.shared_load_requests, own.shared_load_wavefronts) == (1, expected)
    assert own.shared_load_ideal_wavefronts == 1
    fill = SIZE // 128
    assert (own.shared_store_requests, own.shared_store_wavefronts) == (fill, fill)
    if stride:
        own = run(strided("store_f32", stride))
        assert own.shared_store_wavefronts - fill == expected
        assert own.shared_store_ideal_wavefronts - fill == 1


@pytest.mark.parametrize(
    ("kernel", "dtype", "width", "wavefronts"),
    [("load_u8", "uint8", 1, {1: 1, 4: 1, 8: 2}), ("load_f16", "float16", 1, {1: 1, 2: 1, 4: 2, 64: 32}),
     ("load_f32x2", "float32", 2, {0: 1, 1: 2, 2: 4, 3: 2, 16: 32}),
     ("load_f32x4", "float32", 4, {0: 2, 1: 4, 2: 8, 3: 4, 8: 32})],
)  # fmt: skip
def test_strides_of_other_widths(run: Run, kernel: str, dtype: str, width: int, wavefronts: Mapping[int, int]) -> None:
    found = {stride: run(strided(kernel, stride, dtype, width)).shared_load_wavefronts for stride in wavefronts}
    assert found == wavefronts


@pytest.mark.parametrize("name", ["plain", "tiled", "padded"])
def test_transpose(run: Run, name: str) -> None:
    width, height = 200, 136
    arrays = {"x": floats(height, width), "y": empty(width, height)}
    grid = (-(-width // 32), -(-height // 32), 1)
    own = run(trial("", f"transpose:{name}", grid, (32, 8, 1), arrays, int32(width), int32(height)))
    shared = own.shared_requests, own.shared_wavefronts
    assert shared == {"plain": (0, 0), "tiled": (1952, 28152), "padded": (1952, 1952)}[name]
    if name == "plain":
        assert own.global_store_sectors == width * height
    else:
        assert own.global_store_sectors < width * height / 7


N, BLOCK = 2**18, 256


@pytest.fixture(scope="session")
def tree(run: Run) -> Callable[[str], Counters]:
    x = floats(N)

    def counted_tree(name: str) -> Counters:
        arrays = {"x": x, "y": empty(N // BLOCK)}
        return run(trial("", f"trees:{name}", N // BLOCK, BLOCK, arrays, int32(N), shared_bytes=4 * BLOCK))

    return counted_tree


def test_the_strided_tree_has_conflicts_and_the_sequential_none(tree: Callable[[str], Counters]) -> None:
    strided_tree, sequential = tree("strided"), tree("sequential")
    assert (strided_tree.shared_requests, strided_tree.shared_wavefronts) == (46_080, 153_600)
    assert (sequential.shared_requests, sequential.shared_wavefronts) == (46_080, 46_080)


def test_the_modulo_tree_leaves_lanes_idle(tree: Callable[[str], Counters]) -> None:
    modulo, sequential = tree("modulo"), tree("sequential")
    assert modulo.lanes_per_instruction < sequential.lanes_per_instruction - 4
    assert modulo.warp_instructions > sequential.warp_instructions
    # Without conflicts, but every warp is busy in the first five steps.
    assert modulo.shared_requests == modulo.shared_wavefronts == N // BLOCK * (8 + 3 * (5 * 8 + 4 + 2 + 1) + 1)
    assert modulo.barriers == sequential.barriers == N // BLOCK * 8 * 9


def test_each_input_is_read_once(tree: Callable[[str], Counters]) -> None:
    for name in ("modulo", "strided", "sequential", "unrolled"):
        own: Any = tree(name)
        assert (own.global_load_requests, own.global_load_sectors) == (N // 32, N // 8)
        assert (own.read_once_bytes, own.written_once_bytes) == (4 * N, 4 * (N // BLOCK))
