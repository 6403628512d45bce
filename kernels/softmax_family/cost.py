"""The cost function of softmax and log-softmax: how long a candidate takes beyond an empty kernel, from what it does.

A block loads its share, exchanges sums, computes and stores; meanwhile others do the same. So the time is about the
largest of four: of memory for all bytes, of the multiprocessors' ports for them, of instructions for all elements, and
of the blocks one after another in their places (waves times the time of a block). Part of a block's time more passes at
the beginning and the end, when others do not yet, or no longer, fill the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelbench import Constant

# Where nothing was fitted on the GPU: set by the times of the rule's choices in results/h200, of one candidate per
# case, which tell nothing about `cache` and `launch`. `kernelbench tune --model` fits all of them to all candidates.
CONSTANTS = {
    "bandwidth": Constant(0.87, "share of the peak", "rate of a copy of the same bytes beyond the L2"),
    "cache": Constant(2.0, "times the bandwidth", "rate of reads that the L2 serves"),
    "launch": Constant(1.0e-6, "s", "each launch after the first"),
    "latency": Constant(8.0e-7, "s", "from a block's start to its last load, while memory is busy"),
    "line": Constant(14.0, "bytes", "moved beside each stretch of memory that a block reads or writes"),
    "port": Constant(80.0, "bytes per clock", "that a multiprocessor loads and stores"),
    "gap": Constant(40.0, "bytes", "of the port's time that each stretch takes which a warp accesses at once"),
    "start": Constant(1.0e-8, "s", "a multiprocessor takes to start a block"),
    "edge": Constant(0.6, "times a block", "that beginning and end take"),
    "sharpness": Constant(5.3, "exponent", "of the joined limits: the larger, the less do they add up"),
    "shuffle": Constant(2.0e-8, "s", "a step of an exchange between lanes"),
    "barrier": Constant(1.0e-7, "s", "an exchange between the warps of a block"),
    "cluster": Constant(6.4e-7, "s", "an exchange between two blocks of a cluster"),
    "member": Constant(1.8e-7, "s", "each doubling of a cluster beyond two blocks"),
    "group": Constant(7.5e-6, "s", "an exchange through memory between blocks that wait for each other"),
    "float": Constant(7.9, "instructions", "an element of float32"),
    "half": Constant(6.3, "instructions", "an element of a half type"),
    "again": Constant(4.8, "instructions", "an element whose exponential is computed twice"),
    "pack": Constant(10.7, "instructions", "a load with its store"),
    "masked": Constant(36.0, "instructions", "a load with its store that may reach beyond the row"),
    "staged": Constant(3.8, "instructions", "an element that goes through shared memory"),
    "thread": Constant(63.0, "instructions", "a thread beside its packs"),
}


@dataclass(frozen=True)
class Quantities:
    """What a candidate does. Counts are of all its blocks, in units of a warp, unless said otherwise."""

    peak_bytes_per_s: float
    clock_hz: float
    multiprocessors: float
    moved_bytes: float  # between memory and multiprocessors, once each way
    read_again_bytes: float
    in_cache: float  # 1 where what is read again is still in the L2
    stretch_bytes: float  # of neighbouring elements that a block reads
    launches: float
    blocks: float
    resident: float  # blocks that a multiprocessor holds at once
    access_bytes: float  # of neighbouring elements that a warp accesses at once
    block_bytes: float  # that one block loads
    shuffles: float  # steps of a block, one after another
    barriers: float  # of a block
    cluster: float  # blocks
    waiting: float  # 1 where blocks exchange through memory
    warps: float
    packs: float  # loads of all warps
    pack_elements: float
    half: float  # 1 for types of two bytes
    again: float  # share of the elements whose exponentials are computed twice
    masked: float  # 1 where packs reach beyond rows
    staged: float  # 1 where elements go through shared memory

    @property
    def by_name(self) -> dict[str, float]:
        return {name: float(value) for name, value in asdict(self).items()}


def seconds(q: Mapping[str, Any], k: Mapping[str, float]) -> Any:
    """The time beyond an empty kernel's, of quantities `q` (numbers or arrays) with the constants `k`."""
    bandwidth = q["peak_bytes_per_s"] * k["bandwidth"]
    memory = q["moved_bytes"] * (1 + k["line"] / q["stretch_bytes"]) / bandwidth
    memory = memory + q["read_again_bytes"] / bandwidth / np.where(q["in_cache"] > 0, k["cache"], 1.0)
    element = np.where(q["half"] > 0, k["half"], k["float"]) + q["again"] * k["again"] + q["staged"] * k["staged"]
    pack = q["pack_elements"] * element + k["pack"] + q["masked"] * k["masked"]
    instructions = q["packs"] * pack + q["warps"] * k["thread"]
    busy = np.minimum(q["blocks"], q["multiprocessors"])  # multiprocessors that have a block
    own_blocks = np.ceil(q["blocks"] / q["multiprocessors"])
    issue = instructions / (busy * SCHEDULERS * q["clock_hz"]) + own_blocks * k["start"]
    port = 2 * own_blocks * q["block_bytes"] * (1 + k["gap"] / q["access_bytes"]) / (k["port"] * q["clock_hz"])
    own_memory = memory * busy / q["blocks"]  # of a block, if others load on all other multiprocessors
    own_issue = instructions / q["blocks"] / (SCHEDULERS * q["clock_hz"])
    block = k["latency"] + own_memory + own_issue + q["shuffles"] * k["shuffle"] + q["barriers"] * k["barrier"]
    cluster = k["cluster"] + k["member"] * (np.log2(np.maximum(q["cluster"], 2)) - 1)
    block = block + np.where(q["cluster"] > 1, cluster, 0.0) + q["waiting"] * k["group"]
    waves = np.maximum(1.0, q["blocks"] / (q["multiprocessors"] * q["resident"]))
    limits = np.stack(np.broadcast_arrays(memory, issue, port, waves * block))
    most = limits.max(axis=0)
    joined = most * ((limits / most) ** k["sharpness"]).sum(axis=0) ** (1 / k["sharpness"])
    return joined + k["edge"] * block + (q["launches"] - 1) * k["launch"]


SCHEDULERS = 4  # per multiprocessor, each of which issues an instruction of a warp per clock
