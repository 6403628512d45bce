"""The cost function of softmax and log-softmax: how long a candidate takes beyond an empty kernel, from what it does.

Blocks load, exchange sums, compute and store while others do the same. So the time is about the largest of four: of
memory for all bytes, of the multiprocessors' paths to the L2, of instructions, and of the blocks one after another in
their places (waves times the time of a block, whatever they move). In the first three, part of a block's time passes
more at the beginning and the end, when the blocks do not yet, or no longer, keep the GPU busy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbench import Constant

# These serve where no better ones were fitted on the GPU. They were fitted to the times of candidates on two GPUs, in
# results/h200/model and results/h100/model, see docs/tuning.md. The last two numbers bound a fit.
CONSTANTS = {
    "bandwidth": Constant(0.86, "share of the peak", "rate of a copy of the same bytes beyond the L2", 0.75, 0.95),
    "cache": Constant(1.3, "times the bandwidth", "rate of reads that the L2 serves", 1.0, 4.0),
    "launch": Constant(3.09e-6, "s", "each launch after the first", 5e-7, 5e-6),
    "latency": Constant(1.17e-6, "s", "from a block's start to its last load, and to its last store", 3e-7, 2e-6),
    "line": Constant(35.5, "bytes", "moved beside each stretch of memory that a block reads or writes", 1.0, 64.0),
    "port": Constant(78.2, "bytes per clock", "that a multiprocessor loads and stores", 24.0, 128.0),
    "gap": Constant(40.1, "bytes", "of the port's time that each stretch takes which a warp accesses at once", 1, 200),
    "edge": Constant(0.581, "times a block", "that beginning and end take", 0.1, 1.0),
    "tail": Constant(0.861, "waves", "of an almost empty last wave: 0 of its share, 1 of a full one", 0.02, 1.0),
    "sharpness": Constant(3.64, "exponent", "of the joined limits: the larger, the less do they add up", 3.5, 8.0),
    "shuffle": Constant(1.89e-8, "s", "a step of an exchange between lanes", 3e-9, 4e-8),
    "barrier": Constant(3.09e-7, "s", "an exchange between the warps of a block", 5e-8, 1e-6),
    "cluster": Constant(2.11e-7, "s", "an exchange between blocks of a cluster", 5e-8, 1e-6),
    "member": Constant(1.02e-7, "s", "each block of a cluster", 1e-8, 4e-7),
    "group": Constant(6.27e-6, "s", "an exchange through memory between blocks that wait for each other", 1e-6, 1.5e-5),
    "float": Constant(17.5, "instructions", "an element of float32", 4.0, 25.0),
    "half": Constant(12.9, "instructions", "an element of a half type", 4.0, 25.0),
    "again": Constant(2.83, "instructions", "an element whose exponential is computed twice", 0.5, 12.0),
    "masked": Constant(51.2, "instructions", "an end of a row that lies within a pack", 10.0, 150.0),
    "column": Constant(
        7.52, "instructions", "a column that threads join, and each step between lanes of it", 2.0, 30.0
    ),
    "pair": Constant(33.5, "instructions", "a maximum and sum that blocks join or send", 5.0, 60.0),
    "pace": Constant(1.0, "clocks", "between two instructions of a warp that is alone", 1.0, 2.5),
    "spill": Constant(0.831, "times 4 bytes", "of memory for each register that a thread lacks", 0.2, 10.0),
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
    block_warps: float
    shuffles: float  # steps of a block, one after another
    barriers: float  # of a block
    cluster: float  # blocks
    waiting: float  # 1 where blocks exchange through memory
    warps: float
    elements: float
    half: float  # 1 for types of two bytes
    again: float  # share of the elements whose exponentials are computed twice
    ends: float  # of rows that lie within packs
    columns: float  # that threads join, and steps between lanes
    pairs: float  # of a maximum and a sum, that blocks join or send
    spilled: float  # registers of a thread for which there is no room

    @property
    def by_name(self) -> dict[str, float]:
        return {name: float(value) for name, value in vars(self).items()}


def seconds(q: Mapping[str, Any], k: Mapping[str, float]) -> Any:
    """The time beyond an empty kernel's, of quantities `q` (numbers or arrays) with the constants `k`."""
    bandwidth = q["peak_bytes_per_s"] * k["bandwidth"]
    nbytes = q["moved_bytes"] * (1 + k["line"] / q["stretch_bytes"]) + q["warps"] * 128 * q["spilled"] * k["spill"]
    nbytes = nbytes + q["read_again_bytes"] / np.where(q["in_cache"] > 0, k["cache"], 1.0)
    element = np.where(q["half"] > 0, k["half"], k["float"]) + q["again"] * k["again"]
    instructions = q["elements"] * element + q["ends"] * k["masked"] + q["columns"] * k["column"]
    instructions = instructions + q["pairs"] * k["pair"]
    busy = np.minimum(q["blocks"], q["multiprocessors"])  # multiprocessors that have a block
    own_blocks = np.ceil(q["blocks"] / q["multiprocessors"])
    issue = instructions / (busy * SCHEDULERS * q["clock_hz"])
    own_port = 2 * q["block_bytes"] * (1 + k["gap"] / q["access_bytes"]) / (k["port"] * q["clock_hz"])
    own_issue = instructions / q["warps"] * (k["pace"] + q["block_warps"] / SCHEDULERS) / q["clock_hz"]
    block = k["latency"] + own_port + own_issue + q["shuffles"] * k["shuffle"] + q["barriers"] * k["barrier"]
    block = block + np.where(q["cluster"] > 1, k["cluster"] + k["member"] * q["cluster"], 0.0)
    block = block + q["waiting"] * k["group"]
    share = q["blocks"] / (q["multiprocessors"] * q["resident"])
    waves = np.maximum(1.0, share + k["tail"] * (np.ceil(share) - share))
    ends = k["edge"] * block
    limits = np.stack(
        np.broadcast_arrays(nbytes / bandwidth + ends, issue + ends, own_blocks * own_port + ends, waves * block)
    )
    most = limits.max(axis=0)
    joined = most * ((limits / most) ** k["sharpness"]).sum(axis=0) ** (1 / k["sharpness"])
    return joined + (q["launches"] - 1) * k["launch"]


SCHEDULERS = 4  # per multiprocessor, each of which issues an instruction of a warp per clock
