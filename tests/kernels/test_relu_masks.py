"""Relu with a mask of bits, and its gradient from one: orders of bits, launches, and every element on the simulator."""

import numpy as np
import pytest

from kernelbench.core.records import ArraySpec, Case, Scalar
from kernelbench.devices.simulated import SimulatedDevice
from tests.catalog import catalog

CATALOG = catalog()
SCHEMES = {"consecutive": 8, "strided": 8, "ballot": 1, "ballot_words": 8}
SIZES = (1, 31, 33, 257, 2047, 2048, 2049, 4099)


def case(operation, n, dtype="float32"):
    return Case(operation, (n,), -1, dtype)


def test_bits_lie_as_they_are_read():
    x = np.full(40, -1.0)
    x[[0, 9, 31, 32]] = 3.0
    got = CATALOG.operations["relu_bitset"].reference(np, case("relu_bitset", 40), {"x": x.reshape(1, 40)})
    assert got["mask"].tolist() == [1 + 2**9 + 2**31, 1]
    mask = np.array(got["mask"], dtype="<u4").view(np.uint8)[:5]
    from_bits = CATALOG.implementations["relu_grad"]["from_bits"].reference
    dy = np.arange(1.0, 41.0).reshape(1, 40)
    dx = from_bits(np, case("relu_grad", 40), {"dy": dy, "mask": mask.reshape(1, 5).astype(np.float64)})["dx"]
    assert np.flatnonzero(dx).tolist() == [0, 9, 31, 32]
    assert CATALOG.operations["relu_grad"].reference(np, case("relu_grad", 40), {"dy": dy, "y": x})["dx"].sum() == 76


@pytest.mark.parametrize("n", SIZES)
def test_the_strided_order_is_as_its_kernel_tells(n):
    """Element k * s + t of a tile of r elements is bit k of its byte t, s = ceil(r / 8)."""
    x = np.random.default_rng(n).normal(size=n)
    strided = CATALOG.implementations["relu_bitset"]["strided"].reference
    words = strided(np, case("relu_bitset", n), {"x": x.reshape(1, n)})["mask"]
    octets = words.astype("<u4").view(np.uint8)
    expected = np.zeros(-(-n // 32) * 4, dtype=np.uint8)
    for tile in range(0, n, 2048):
        step = -(-min(2048, n - tile) // 8)
        for element in range(tile, min(tile + 2048, n)):
            expected[tile // 8 + (element - tile) % step] |= int(x[element] > 0) << (element - tile) // step
    assert octets.tolist() == expected.tolist()


def test_devices_make_every_byte():
    device = SimulatedDevice("h200")
    spec = ArraySpec("mask", (8192,), "uint8", "input", fill="bits")
    arrays = device.allocate([spec])
    device.fill(arrays, [spec], 1)
    counts = np.bincount(device.materialise(arrays["mask"]), minlength=256)
    assert (counts > 8).all()
    assert counts.max() < 70


@pytest.mark.parametrize(("name", "per_thread"), SCHEMES.items())
def test_schemes_have_a_thread_for_so_many_elements(h200, name, per_thread):
    plan = CATALOG.implementations["relu_bitset"][name].plan
    for n in (1, 2048, 100_003):
        (launch,) = plan(case("relu_bitset", n), h200).launches
        assert launch.grid == (-(-n // per_thread // 256), 1, 1)
        assert launch.arguments == ("x", "y", "mask", Scalar("int64", n))
    assert plan(case("relu_bitset", 2**33), h200).launches[0].grid == (132 * 8 * 32, 1, 1)


def test_gradients_read_what_they_are_named_after(h200):
    for name, array in (("from_y", "y"), ("from_bits", "mask")):
        (launch,) = CATALOG.implementations["relu_grad"][name].plan(case("relu_grad", 1001, "float16"), h200).launches
        assert launch.arguments == ("dy", array, "dx", Scalar("int64", 125), Scalar("int64", 1001))


@pytest.mark.nvcc
def test_schemes_touch_the_sectors_that_were_published(checked):
    n = 8192
    sectors, loads = {}, {}
    for name in SCHEMES:
        (counters,) = checked(name, case("relu_bitset", n)).counters
        loads[name] = counters.global_load_sectors // (n // 8)  # 1 would do
        sectors[name] = counters.global_store_sectors - loads[name] * (n // 8)  # y is stored as x is loaded
    assert loads == {"consecutive": 8, "strided": 1, "ballot": 1, "ballot_words": 1}
    assert sectors == {"consecutive": n // 256, "strided": n // 256, "ballot": n // 32, "ballot_words": n // 256}


@pytest.mark.nvcc
def test_traffic_of_the_gradients_is_the_published_one(checked):
    n = 8192
    for name, arrays in (("from_y", 3), ("from_bits", 2 + 1 / 32)):
        (counters,) = checked(name, case("relu_grad", n)).counters
        assert counters.read_once_bytes + counters.written_once_bytes == arrays * 4 * n
