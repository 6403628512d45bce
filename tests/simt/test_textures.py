"""Textures and surfaces against NumPy, by the rules of the Programming Guide."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.core.errors import DeviceError
from kernelbench.simt import Simulation, Texture, simulate
from tests.simt.harness import Load

pytestmark = pytest.mark.nvcc
WIDTH, HEIGHT = 8, 4


@pytest.fixture(scope="module")
def ptx(load: Load) -> str:
    return load("textures").text


def run(ptx: str, entry: str, block: Any, **arrays: Any) -> Simulation:
    done = simulate(ptx, entry, 1, block, arrays, strict=True)
    assert not done.faults, done.faults
    return done


def index(places: NDArray[Any], size: int, address: str) -> NDArray[Any]:
    """Texels of whole places; -1 for the border."""
    if address == "wrap":
        return places % size
    if address == "mirror":
        folded = places % (2 * size)
        return np.where(folded < size, folded, 2 * size - 1 - folded)
    if address == "border":
        return np.where((places >= 0) & (places < size), places, -1)
    return places.clip(0, size - 1)


def texels(image: NDArray[Any], x: NDArray[Any], y: NDArray[Any], address: str) -> NDArray[Any]:
    column, row = index(x, image.shape[1], address), index(y, image.shape[0], address)
    return np.where((column < 0) | (row < 0), 0, image[row, column])


def sampled(image: NDArray[Any], x: NDArray[Any], y: NDArray[Any], texture: Texture) -> NDArray[Any]:
    """At places in texels; weights have 8 bits behind the point."""
    if texture.filter == "point":
        return texels(image, np.floor(x).astype(int), np.floor(y).astype(int), texture.address)
    left, above = np.floor(x - 0.5).astype(int), np.floor(y - 0.5).astype(int)
    a, b = (np.floor((place - 0.5 - whole) * 256 + 0.5) / 256 for place, whole in ((x, left), (y, above)))
    parts = [
        (a if i else 1 - a) * (b if j else 1 - b) * texels(image, left + i, above + j, texture.address)
        for i in (0, 1)
        for j in (0, 1)
    ]
    return np.sum(parts, 0)


MODES = [(False, "clamp"), (False, "border"), *((True, mode) for mode in ("clamp", "border", "wrap", "mirror"))]


@pytest.mark.parametrize("filter", ["point", "linear"])
@pytest.mark.parametrize(("normalized", "address"), MODES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_two_dimensions(ptx: str, filter: str, normalized: bool, address: str, dtype: Any) -> None:
    random = np.random.default_rng(1)
    image = random.integers(-64, 64, (HEIGHT, WIDTH)).astype(dtype)
    x = random.integers(-40, 40 + 4 * WIDTH, 64) / 4.0  # exact in texels, and as fractions
    y = random.integers(-24, 24 + 4 * HEIGHT, 64) / 4.0
    at = np.stack([x / WIDTH, y / HEIGHT] if normalized else [x, y], 1).astype(np.float32)
    texture = Texture(image, filter=filter, address=address, normalized=normalized)
    found = run(ptx, "sample_2d", 64, t=texture, at=at, y=np.zeros(64, np.float32)).outputs["y"]
    np.testing.assert_array_equal(found, sampled(image.astype(np.float64), x, y, texture))


@pytest.mark.parametrize("filter", ["point", "linear"])
def test_one_dimension(ptx: str, filter: str) -> None:
    row = np.random.default_rng(2).integers(-64, 64, 16).astype(np.float32)
    x = np.linspace(-3, 19, 89)[:64]
    texture = Texture(row, filter=filter)
    found = run(ptx, "sample_1d", 64, t=texture, at=x.astype(np.float32), y=np.zeros(64, np.float32)).outputs["y"]
    expected = sampled(row[None].astype(np.float64), x, np.full(64, 0.5), texture)
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("filter", ["point", "linear"])
@pytest.mark.parametrize(("normalized", "address"), MODES)
def test_three_dimensions(ptx: str, filter: str, normalized: bool, address: str) -> None:
    random = np.random.default_rng(6)
    image = random.integers(-64, 64, (6, HEIGHT, WIDTH)).astype(np.float32)
    x, y, z = (random.integers(-4 * size, 8 * size, 64) / 4.0 for size in (WIDTH, HEIGHT, 6))
    texture = Texture(image, filter=filter, address=address, normalized=normalized)
    if normalized:
        z = random.integers(-24, 48, 64) / 4.0 * 6 / 8  # eighths of the depth, exact as fractions
    at = np.stack([x / WIDTH, y / HEIGHT, z / 6, z] if normalized else [x, y, z, z], 1).astype(np.float32)
    found = run(ptx, "sample_3d", 64, t=texture, at=at, y=np.zeros(64, np.float32)).outputs["y"]
    whole = np.floor(z - 0.5 * (filter == "linear")).astype(int)
    weight = np.floor((z - 0.5 - whole) * 256 + 0.5) / 256
    slices = []
    for number in (whole, whole + 1):
        place = index(number, 6, address)
        each = [
            sampled(image[max(k, 0)].astype(np.float64), x[i : i + 1], y[i : i + 1], texture)[0] * (k >= 0)
            for i, k in enumerate(place)
        ]
        slices.append(np.array(each))
    expected = slices[0] if filter == "point" else (1 - weight) * slices[0] + weight * slices[1]
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("filter", ["point", "linear"])
def test_layers(ptx: str, filter: str) -> None:
    random = np.random.default_rng(7)
    flat = random.integers(-64, 64, (3, HEIGHT, WIDTH)).astype(np.float32)
    line = random.integers(-64, 64, (3, WIDTH)).astype(np.float32)
    x, y = random.integers(-8, 40, 64) / 4.0, random.integers(-8, 24, 64) / 4.0
    textures = {"flat": Texture(flat, filter=filter, layered=True), "line": Texture(line, filter=filter, layered=True)}
    at = np.stack([x, y], 1).astype(np.float32)
    found = run(ptx, "sample_layers", 64, **textures, at=at, y=np.zeros((2, 64), np.float32)).outputs["y"]
    for i in range(64):
        layer = min(max(i % 5 - 1, 0), 2) if i % 5 else 2  # of -1, which is a large number, the last
        one = sampled(flat[layer].astype(np.float64), x[i : i + 1], y[i : i + 1], textures["flat"])
        two = sampled(line[layer][None].astype(np.float64), x[i : i + 1], np.full(1, 0.5), textures["line"])
        np.testing.assert_array_equal(found[:, i], np.concatenate([one, two]).astype(np.float32))


def test_a_level_of_a_texture_that_has_one(ptx: str) -> None:
    image = np.arange(32, dtype=np.float32).reshape(HEIGHT, WIDTH)
    at = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), -1).reshape(-1, 2).astype(np.float32) + 0.5
    found = run(ptx, "of_level", 32, t=Texture(image), at=at, y=np.zeros(32, np.float32)).outputs["y"]
    np.testing.assert_array_equal(found, image.reshape(-1))


def test_surfaces_of_three_dimensions(ptx: str) -> None:
    image = np.random.default_rng(8).standard_normal((5, HEIGHT, WIDTH)).astype(np.float32)
    zeros = [Texture(np.zeros_like(image), layered=layered) for layered in (False, True)]
    found = run(ptx, "moved_3d", (WIDTH, HEIGHT, 5), f=Texture(image), to=zeros[0], layers=zeros[1]).outputs
    np.testing.assert_array_equal(found["to"], image + 1)
    np.testing.assert_array_equal(found["layers"], image + 2)


def test_whole_places_outside_give_zero(ptx: str) -> None:
    row = np.arange(1, 17, dtype=np.float32)
    found = run(ptx, "fetch_1d", 32, t=Texture(row), y=np.zeros(32, np.float32), first=np.int32(-8)).outputs["y"]
    np.testing.assert_array_equal(found, np.pad(row, 8))


def test_pixels_and_fractions(ptx: str) -> None:
    image = np.random.default_rng(3).integers(0, 256, (HEIGHT, WIDTH, 4)).astype(np.uint8)
    texture = Texture(image, channels=4)
    found = run(ptx, "pixels", 32, t=texture, y=np.zeros((32, 4), np.uint8)).outputs["y"]
    np.testing.assert_array_equal(found, image.reshape(32, 4))
    found = run(ptx, "fractions", 32, t=texture, y=np.zeros((32, 4), np.float32)).outputs["y"]
    np.testing.assert_array_equal(found, image.reshape(32, 4) / np.float32(255))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_integers_are_extended(ptx: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    row = np.linspace(limits.min, limits.max, 16).astype(dtype)
    found = run(ptx, "whole", 16, t=Texture(row), y=np.zeros(16, np.int32)).outputs["y"]
    np.testing.assert_array_equal(found, row.astype(np.int32))


def test_surfaces_are_read_and_written(ptx: str) -> None:
    image = np.random.default_rng(4).standard_normal((HEIGHT, WIDTH, 2)).astype(np.float32)
    target = Texture(np.zeros_like(image), channels=2)
    found = run(ptx, "moved", (WIDTH, HEIGHT), f=Texture(image, channels=2), to=target).outputs
    np.testing.assert_array_equal(found["to"], image[..., ::-1])
    np.testing.assert_array_equal(found["f"], image)
    assert not target.array.any(), "the caller's array is never changed"


def test_edges_of_surfaces(ptx: str) -> None:
    row = np.arange(1, 25, dtype=np.int16)
    found = run(ptx, "at_edges", 32, s=Texture(row), y=np.zeros(64, np.int16)).outputs["y"]
    np.testing.assert_array_equal(found[:32], row[np.arange(-4, 28).clip(0, 23)])
    np.testing.assert_array_equal(found[32:], np.pad(row, 4))


def test_outside_of_a_surface_is_a_fault(ptx: str) -> None:
    done = simulate(ptx, "outside", 1, 32, {"s": Texture(np.zeros(20, np.float32))})
    assert [(fault.kind, fault.lane, fault.count) for fault in done.faults] == [("invalid_operand", 20, 12)]
    np.testing.assert_array_equal(done.outputs["s"], np.ones(20))


def test_a_handle_that_is_none_is_a_fault(ptx: str) -> None:
    for handle in (np.zeros(64, np.uint8), np.uint64(99), Texture(np.zeros((4, 4), np.float32))):
        done = simulate(ptx, "whole", 1, 1, {"t": handle, "y": np.zeros(1, np.int32)})
        assert [fault.kind for fault in done.faults] == ["invalid_operand"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"array": np.zeros((2, 2, 2, 2), np.float32)}, "1D to 3D"),
        ({"array": np.zeros((2, 2, 2, 2), np.float32), "layered": True}, "layers: 1D or 2D"),
        ({"array": np.zeros((4, 3), np.float32), "channels": 3}, "1, 2 or 4"),
        ({"array": np.zeros(4)}, "expected one of float32"),
        ({"array": np.zeros(4, np.float32), "address": "wrap"}, "needs normalized"),
        ({"array": np.zeros(4, np.float32), "filter": "cubic"}, "cubic"),
    ],
)
def test_textures_that_cannot_be(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(DeviceError, match=reason):
        Texture(**options)
