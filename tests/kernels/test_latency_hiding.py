"""The plans of latency_hiding, what its kernels may take so that all warps are resident, and that they copy."""

from dataclasses import replace

import numpy as np
import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog
from tests.kernels.simulated import run_and_check

CATALOG = catalog()
IMPLEMENTATIONS, OPERATION = CATALOG.implementations["latency_hiding"], CATALOG.operations["latency_hiding"]
FLIGHTS = {"bytes_4": (4, 1), "bytes_16": (16, 1), "bytes_64": (16, 4)}  # bytes of a load, loads in flight


def case(n, warps=64, chain=0, dtype="float32"):
    return Case("latency_hiding", (n,), -1, dtype, (), (("warps", warps), ("chain", chain)))


@pytest.fixture
def small(h200):
    """With two multiprocessors, so that few elements give every warp several rounds."""
    return replace(h200, multiprocessors=2)


def test_the_result_is_a_copy_and_flops_are_those_of_the_chain():
    assert OPERATION.reference(np, case(3), {"x": np.arange(3.0)})["y"].tolist() == [0, 1, 2]
    assert OPERATION.bytes_moved(case(3, dtype="float16")) == 12
    assert OPERATION.flops(case(3, chain=7)) == 42


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


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (case(9, 0), "warps must be from 1 to 64, what a multiprocessor holds of them, got 0"),
        (case(9, 65), "warps must be from 1 to 64, what a multiprocessor holds of them, got 65"),
        (case(9, 33), "warps above 32 must be even, for two blocks, got 33"),
        (case(9, 8, -1), r"chain must be from 0 to 2\^31 - 1, got -1"),
    ],
)
def test_what_cannot_be_resident_is_refused(h200, one, text):
    with pytest.raises(Unsupported, match=text):
        IMPLEMENTATIONS["bytes_4"].plan(one, h200)


def test_what_has_more_in_flight_has_fewer_warps(h200):
    with pytest.raises(Unsupported, match="warps must be from 1 to 32, what a multiprocessor holds of them, got 34"):
        IMPLEMENTATIONS["bytes_64"].plan(case(9, 34), h200)


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
def test_copies_wherever_arrays_begin(small, binaries, dtype, name):
    for n in (1, 7, 1030):
        for shift in (0, {"x": 1}, {"y": 1}):
            run_and_check(IMPLEMENTATIONS[name], OPERATION, case(n, 1, 3, dtype), small, binaries, shift)
    warps = 20 if name == "bytes_64" else 48
    run_and_check(IMPLEMENTATIONS[name], OPERATION, case(3001, warps, 0, dtype), small, binaries)


@pytest.mark.nvcc
def test_no_compiler_leaves_the_chain_out(small, binaries):
    def instructions(chain):
        ran = run_and_check(IMPLEMENTATIONS["bytes_4"], OPERATION, case(64, 1, chain), small, binaries)
        return ran.counters[0].warp_instructions

    assert instructions(96) - instructions(32) >= 2 * 64, "64 multiply-adds more for each of two warps"
