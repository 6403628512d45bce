"""What memory_access is, the plan of its kernel, and that it touches exactly the elements it should, at any address."""

import pytest

from kernelbench.core.records import Case, Scalar
from kernelbench.devices.simulated import SimulatedDevice
from kernelbench.measure.case_data import CaseData, SliceRange
from tests.catalog import catalog

CATALOG = catalog()
IMPLEMENTATIONS, OPERATION = CATALOG.implementations["memory_access"], CATALOG.operations["memory_access"]


def case(n, side="load", offset=0, stride=1, dtype="float32"):
    return Case("memory_access", (n,), -1, dtype, (), (("side", side), ("offset", offset), ("stride", stride)))


@pytest.mark.parametrize(("side", "x", "y"), [("load", 9, 3), ("store", 3, 9)])
def test_the_spread_out_array_ends_with_its_last_element(side, x, y):
    one = case(3, side, 2, 3, "float16")
    assert [spec.shape for spec in OPERATION.arrays(one)] == [(x,), (y,)]
    assert OPERATION.bytes_moved(one) == 2 * 3 * 2, "what lies between is not counted"


@pytest.mark.parametrize(("side", "places"), [("load", (7, 5, 0, 1)), ("store", (0, 1, 7, 5))])
def test_the_side_decides_whose_offset_and_stride_they_are(h200, side, places):
    n = 2**31 + 5
    (launch,) = IMPLEMENTATIONS["strided"].plan(case(n, side, 7, 5), h200).launches
    assert launch.grid == (-(-n // 256), 1, 1)
    assert launch.arguments == ("x", "y", Scalar("int64", n), *(Scalar("int64", value) for value in places))


@pytest.mark.parametrize("name", ["strided", "copy"])
@pytest.mark.parametrize("side", ["load", "store"])
def test_spread_out_arrays_are_not_widened_on_the_simulator(side, name):
    """At a stride of 32, one of 2 GB would take 4 GB more."""
    for dtype, stored in (("float32", "float32"), ("float16", "float16"), ("bfloat16", "float64")):
        one, device = case(5, side, 0, 3, dtype), SimulatedDevice("h200")
        arrays = device.allocate(OPERATION.filled(one))
        device.fill(arrays, OPERATION.filled(one), 1)
        data = CaseData(device, OPERATION, one, [arrays], 1)
        reference = IMPLEMENTATIONS[name].reference or OPERATION.reference
        data.look_at(data.inputs(arrays))
        assert data.expected(reference, data.inputs(arrays), SliceRange(0, 1, 1))["y"].dtype == stored


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["strided", "copy"])
@pytest.mark.parametrize("side", ["load", "store"])
def test_writes_what_it_should_and_nothing_between(checked, dtype, side, name):
    for n, offset, stride in ((1, 0, 1), (1, 5, 3), (33, 1, 1), (261, 3, 2), (300, 0, 33)):
        for shift in (0, 1):
            checked(name, case(n, side, offset, stride, dtype), shift)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("offset", "stride", "sectors"),
    [(0, 1, 4), (1, 1, 5), (7, 1, 5), (8, 1, 4), (0, 2, 8), (1, 2, 8), (0, 8, 32), (0, 32, 32)],
)
def test_sectors_of_a_warp(checked, offset, stride, sectors):
    for side, other in (("load", "store"), ("store", "load")):
        (counters,) = checked("strided", case(256, side, offset, stride)).counters
        spread = {"load": counters.global_load_sectors, "store": counters.global_store_sectors}
        assert spread == {side: 8 * sectors, other: 8 * 4}


def test_what_a_stride_leaves_of_an_output_need_not_be_written():
    assert [spec.one_in for spec in OPERATION.arrays(case(3, "store", 2, 3))] == [1, 3]
    assert [spec.one_in for spec in OPERATION.arrays(case(3, "load", 2, 3))] == [1, 1]
