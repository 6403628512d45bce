"""Requests, sectors and wavefronts of single accesses; strides are in test_golden_counters.py."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core.counters import Counters
from kernelbench.simt.interface import LANES, NONE
from kernelbench.simt.launch_counters import launch_counters
from kernelbench.simt.machine import Machine
from tests.simt.programs import Builder

ATOMIC_SECTORS = Path(__file__).parent / "hardware" / "atomic_sectors.csv"
LANE = np.arange(LANES)
ELEMENTS = {4: 1, 8: 2, 16: 4}  # words of an access


def access(machine: Machine, space: str, what: str, index: Any, size: int = 4, offset: int = 0) -> Counters:
    """Counters of one access of one warp: lane i at element index[i] of `size` bytes, off where it is negative."""
    index = np.asarray(index, np.int64)
    build = Builder()
    memory = machine.memory.allocate("x", 1 << 16, "input")
    base = memory.address if space == "global" else 0
    places = base + offset + np.maximum(index, 0) * size
    address = build.constant(places, np.uint64 if base else np.uint32)
    wanted = build.only(index >= 0)
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


def test_predicated_lanes_do_not_count(machine: Machine) -> None:
    counters = access(machine, "global", "ld", np.where(LANE < 3, LANE * 32, -1))
    assert (counters.global_load_requests, counters.global_load_sectors) == (1, 3)
    none = access(machine, "global", "ld", np.full(LANES, -1))
    assert (none.global_load_requests, none.warp_instructions) == (0, 3)


@pytest.mark.parametrize(
    ("index", "size", "requested"),
    [(LANE, 4, 128), (LANE * 8, 4, 128), (np.zeros(LANES), 4, 4), (LANE // 4, 4, 32), (LANE, 8, 256),
     (np.where(LANE < 3, LANE, -1), 4, 12), (np.where(LANE < 3, LANE // 2, -1), 16, 32)],
)  # fmt: skip
def test_requested_bytes_count_once_for_lanes_that_share_them(
    machine: Machine, index: Any, size: int, requested: int
) -> None:
    loads, stores = (access(machine, "global", what, index, size) for what in ("ld", "st"))
    assert (loads.global_load_requested_bytes, loads.global_store_requested_bytes) == (requested, 0)
    assert (stores.global_load_requested_bytes, stores.global_store_requested_bytes) == (0, requested)


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
    assert (own.global_load_requests, own.global_load_sectors, own.global_load_requested_bytes) == (1, 16, 512)
    assert (own.shared_store_requests, own.shared_store_wavefronts) == (0, 0)
    copies = own.shared_copy_requests, own.shared_copy_wavefronts, own.shared_copy_ideal_wavefronts
    assert copies == (own.shared_requests, own.shared_wavefronts, 4) == (1, 8, 4)
