"""Requests, sectors and wavefronts: known patterns, and the figures of Nsight Compute on an H200."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core.counters import Counters
from kernelbench.simt.counters import launch_counters
from kernelbench.simt.interface import LANES, NONE
from kernelbench.simt.machine import Machine
from tests.simt.hardware.patterns import patterns
from tests.simt.programs import Builder

HARDWARE = Path(__file__).parent / "hardware" / "counters.csv"
ATOMIC_SECTORS = HARDWARE.with_name("atomic_sectors.csv")
LANE = np.arange(LANES)
ELEMENTS = {4: 1, 8: 2, 16: 4}  # words of an access


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def access(machine: Machine, space: str, what: str, index: Any, size: int = 4, offset: int = 0) -> Counters:
    """Counters of one access of one warp: lane i at element index[i] of `size` bytes, off where it is negative."""
    index = np.asarray(index, np.int64)
    build = Builder()
    memory = machine.memory.allocate("x", 1 << 16, "input")
    base = memory.address if space == "global" else 0
    places = base + offset + np.maximum(index, 0) * size
    address = build.constant(places, np.uint64 if base else np.uint32)
    wanted = build.predicate()
    build.emit("testp_notanumber_f32", d=wanted, a=build.constant(np.where(index < 0, 0, np.nan), np.float32))
    values = [build.register() for _ in range(ELEMENTS[size])]
    if what == "ld":
        build.load(space, address, values, guard=wanted)
    elif what == "st":
        build.store(space, address, values, guard=wanted)
    else:
        build.atomic(space, "add", "u32", address, values[0], guard=wanted)
    report = machine.launch(build.build(shared=1 << 16), (1,), (32,), [])
    machine.memory.free(memory)
    assert not report.faults
    return launch_counters(report).counters


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (4, 16), (8, 32), (32, 32)])
@pytest.mark.parametrize("what", ["ld", "st"])
def test_sectors_of_strides(machine: Machine, what: str, stride: int, sectors: int) -> None:
    counters = access(machine, "global", what, LANE * stride)
    assert counters.global_sectors == sectors
    assert counters.global_load_requests + counters.global_store_requests == 1
    ideal = counters.global_load_ideal_sectors + counters.global_store_ideal_sectors
    assert ideal == (4 if stride else 1)


@pytest.mark.parametrize(("offset", "sectors"), [(4, 5), (32, 4), (128, 4), (28, 5)])
def test_sectors_off_the_boundary(machine: Machine, offset: int, sectors: int) -> None:
    assert access(machine, "global", "ld", LANE, offset=offset).global_load_sectors == sectors


@pytest.mark.parametrize(("size", "sectors"), [(8, 8), (16, 16)])
def test_sectors_of_packs(machine: Machine, size: int, sectors: int) -> None:
    counters = access(machine, "global", "ld", LANE, size)
    assert counters.global_load_sectors == counters.global_load_ideal_sectors == sectors
    assert access(machine, "global", "ld", LANE[::-1].copy(), size).global_load_sectors == sectors


@pytest.mark.parametrize("stride", range(34))
@pytest.mark.parametrize("what", ["ld", "st"])
def test_wavefronts_of_strides(machine: Machine, what: str, stride: int) -> None:
    counters = access(machine, "shared", what, LANE * stride)
    assert counters.shared_wavefronts == (np.gcd(stride, 32) if stride else 1)
    assert counters.shared_load_ideal_wavefronts + counters.shared_store_ideal_wavefronts == 1


def test_predicated_lanes_do_not_count(machine: Machine) -> None:
    counters = access(machine, "global", "ld", np.where(LANE < 3, LANE * 32, -1))
    assert (counters.global_load_requests, counters.global_load_sectors) == (1, 3)
    none = access(machine, "global", "ld", np.full(LANES, -1))
    assert (none.global_load_requests, none.warp_instructions) == (0, 3)


SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_"


def expected(row: dict[str, str]) -> tuple[str, str, int, int]:
    """(space, what, bytes a lane, figure of the hardware for that access alone) of a row of counters.csv.

    Each kernel of the recording also reads its pattern (4 sectors), and all but the global stores and atomics write
    their 32 results (4 sectors); those of shared stores and atomics read one word a lane of shared memory."""
    kernel, _, size = row["kernel"].partition("_")
    space = "global" if kernel in ("ldg", "stg", "atomg") else "shared"
    what = {"ld": "ld", "st": "st", "at": "atom"}[kernel[:2]]
    column = (SHARED if space == "shared" else SECTORS) + ("red" if kernel == "atomg" else what) + ".sum"
    return space, what, int(size), int(row[column]) - (4 if kernel == "ldg" else 0)


def test_every_figure_of_the_hardware(machine: Machine) -> None:
    known = patterns()
    different = []
    with HARDWARE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        space, what, size, figure = expected(row)
        counters = access(machine, space, what, known[row["pattern"]], size)
        found = counters.shared_wavefronts if space == "shared" else counters.global_sectors
        if found != figure:
            different.append((row["kernel"], row["pattern"], figure, found))
    assert len(rows) == 686
    assert not different


def test_sectors_of_atomics_as_the_hardware_counts_them(machine: Machine) -> None:
    """Each lane at a word of its own (- for none): 243 of 2,251 recorded launches, most of them picked because a sector
    counts twice."""
    different = []
    with ATOMIC_SECTORS.open(newline="") as file:
        for row in csv.DictReader(file):
            words = [-1 if word == "-" else int(word) for word in row["words"].split()]
            counters = access(machine, "global", "atom", words)
            if counters.global_atomic_sectors != int(row["sectors"]):
                different.append((row["words"], int(row["sectors"]), counters.global_atomic_sectors))
    assert not different


def test_sectors_of_atomics_depend_on_where_the_array_lies(machine: Machine) -> None:
    words = np.random.default_rng(101).permutation(256)[:LANES]
    counts = [access(machine, "global", "atom", words, offset=offset).global_atomic_sectors
              for offset in range(0, 4096, 512)]  # fmt: skip
    assert counts == [23, 21, 23, 22] * 2


def test_compare_and_swap_takes_two_passes(machine: Machine) -> None:
    build = Builder()
    place, zero = build.constant(LANE * 8), build.constant(0)
    build.atomic("shared", "cas", "u32", place, zero, e=zero, d=build.register())
    report = machine.launch(build.build(shared=1 << 10), (1,), (32,), [])
    assert launch_counters(report).counters.shared_atomic_wavefronts == 2 * 2


@pytest.mark.parametrize(("size", "wavefronts"), [(8, 1), (16, 2)])
def test_lanes_in_pairs_are_served_together_whether_or_not_both_take_part(
    machine: Machine, size: int, wavefronts: int
) -> None:
    pairs = LANE // 2
    assert access(machine, "shared", "ld", pairs, size).shared_load_wavefronts == wavefronts
    assert access(machine, "shared", "ld", np.where(LANE == 5, -1, pairs), size).shared_load_wavefronts == wavefronts
    broken = np.where(LANE == 5, 30, pairs)
    assert access(machine, "shared", "ld", broken, size).shared_load_wavefronts == 2 * wavefronts
    assert access(machine, "shared", "st", pairs, size).shared_store_wavefronts == 2 * wavefronts


@pytest.mark.parametrize(("index", "counted", "added"), [
    (np.zeros(32, int), 1, 32), (LANE // 4, 1, 4), (LANE * 8, 8, 8), (np.where(LANE % 2, LANE * 32, 0), 17, 32),
])  # fmt: skip
def test_atomics_that_count_lanes_take_those_on_one_word_together(
    machine: Machine, index: Any, counted: int, added: int
) -> None:
    found = []
    for mark in (1, NONE):
        build = Builder()
        build.atomic("shared", "add", "u32", build.constant(index * 4), build.constant(1), f=mark)
        report = machine.launch(build.build(shared=1 << 12), (1,), (32,), [])
        counters = launch_counters(report).counters
        assert counters.shared_atomic_requests == 1
        assert not launch_counters(report).conflicts
        found.append(counters.shared_atomic_wavefronts)
    assert found == [counted, added]


def test_copies_to_shared_memory_are_no_stores(machine: Machine) -> None:
    build = Builder()
    x = machine.memory.allocate("x", 32 * 16, "input")
    source = build.constant(x.address + LANE * 16, np.uint64)
    build.emit("cpasync_16", text="cp.async.cg.shared.global", a=build.constant(LANE * 32), b=4, c=source, x=[0])
    own = launch_counters(machine.launch(build.build(shared=1 << 12), (1,), (32,), [])).counters
    machine.memory.free(x)
    assert (own.global_load_requests, own.global_load_sectors) == (1, 16)
    assert (own.shared_store_requests, own.shared_store_wavefronts) == (0, 0)
    copies = own.shared_copy_requests, own.shared_copy_wavefronts, own.shared_copy_ideal_wavefronts
    assert copies == (own.shared_requests, own.shared_wavefronts, 4) == (1, 8, 4)
