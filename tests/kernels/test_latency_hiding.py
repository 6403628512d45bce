"""The plans of latency_hiding, what its kernels may take so that all warps are resident, and that they copy."""

from dataclasses import replace

import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog

CATALOG = catalog()
IMPLEMENTATIONS, OPERATION = CATALOG.implementations["latency_hiding"], CATALOG.operations["latency_hiding"]
FLIGHTS = {"bytes_4": (4, 1), "bytes_16": (16, 1), "bytes_64": (16, 4)}  # bytes of a load, loads in flight


def case(n, warps=64, chain=0, dtype="float32"):
    return Case("latency_hiding", (n,), -1, dtype, (), (("warps", warps), ("chain", chain)))


@pytest.fixture
def small(h200):
    """With two multiprocessors, so that few elements give every warp several rounds."""
    return replace(h200, multiprocessors=2)


@pytest.mark.parametrize(
    ("name", "warps", "blocks", "threads"),
    [
        *((name, *launch) for name in FLIGHTS for launch in ((1, 1, 32), (10, 1, 320), (32, 1, 1024))),
        *((name, *launch) for name in ("bytes_4", "bytes_16") for launch in ((48, 2, 768), (64, 2, 1024))),
    ],
)
def test_each_multiprocessor_gets_its_warps(h200, name, warps, blocks, threads):
    word, loads = FLIGHTS[name]
    n = 2**31 + 5
    plan = IMPLEMENTATIONS[name].plan(case(n, warps, 9, "float16"), h200)
    (launch,) = plan.launches
    assert (launch.grid, launch.block) == ((132 * blocks, 1, 1), (threads, 1, 1))
    scalars = (Scalar("int64", n // (word // 2)), Scalar("int64", n), Scalar("int32", 9))
    assert launch.arguments == ("x", "y", *scalars, Scalar("float32", 1.0), Scalar("float32", 0.0))
    assert dict(plan.defines) == {"WORD": word, "LOADS": loads}
    assert f"at most {warps * 32 * word * loads} bytes in flight" in plan.reasons[0]


def test_a_multiprocessor_with_fewer_places_takes_fewer_warps(h200):
    with pytest.raises(Unsupported, match="warps must be from 1 to 32"):
        IMPLEMENTATIONS["bytes_4"].plan(case(9, 64), replace(h200, max_threads_per_multiprocessor=1024))


@pytest.mark.nvcc
@pytest.mark.parametrize(("name", "warps"), [("bytes_4", 64), ("bytes_16", 64), ("bytes_64", 32)])
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_all_warps_are_resident_and_nothing_spills(h200, binaries, architecture, name, warps):
    plan = IMPLEMENTATIONS[name].plan(case(2**20, warps), h200)
    (launch,) = plan.launches
    (binary,) = binaries(IMPLEMENTATIONS[name], [plan], architecture)
    for facts in binary.facts.values():
        assert h200.resident_blocks(1024, facts.registers, facts.shared_bytes) >= launch.grid[0] // 132, facts
        assert facts.spill_store_bytes == facts.spill_load_bytes == facts.stack_bytes == 0


@pytest.mark.nvcc
@pytest.mark.parametrize("name", [*FLIGHTS, "copy"])
def test_copies_wherever_arrays_begin(small, checked, dtype, name):
    for n in (1, 7, 1030):
        for shift in (0, {"x": 1}, {"y": 1}):
            checked(name, case(n, 1, 3, dtype), shift, small)
    checked(name, case(3001, 20 if name == "bytes_64" else 48, 0, dtype), 0, small)


@pytest.mark.nvcc
def test_no_compiler_leaves_the_chain_out(small, checked):
    short, long = (checked("bytes_4", case(64, 1, chain), 0, small).counters[0].warp_instructions for chain in (32, 96))
    assert long - short >= 2 * 64, "64 multiply-adds more for each of two warps"
