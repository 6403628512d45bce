"""The cost function of softmax and log-softmax: how long a candidate takes beyond an empty kernel, from what it does.

Blocks load, exchange sums, compute and store while others do the same. So the time is about the largest of four: of
memory for all bytes, of instructions, of starting clusters, and of the blocks one after another in their places (waves
times the time of a block, whatever they move). In the first three, the first warps start one after another, and part of
a block's time passes at the beginning and the end, when the blocks do not yet, or no longer, keep the GPU busy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbench import Constant
from .hardware import SCHEDULERS

# These serve where no better ones were fitted on the GPU. They were fitted to the times of candidates on two GPUs, in
# results/h200/model and results/h100/model, see docs/tuning.md. The last two numbers bound a fit.
CONSTANTS = {
    "bandwidth": Constant(0.873, "share of the peak", "rate of a copy of the same bytes beyond the L2", 0.75, 0.95),
    "latency": Constant(8.89e-7, "s", "from a block's start to its last load, and to its last store", 3e-7, 2e-6),
    "line": Constant(28.0, "bytes", "moved besides each stretch of memory that a block reads or writes", 1.0, 64.0),
    "sector": Constant(
        5.89, "bytes", "moved besides what a warp accesses at once, if it begins or ends within a sector", 1.0, 40.0
    ),
    "warp": Constant(
        8.23e-9, "s", "each warp that a multiprocessor starts before all its places are taken", 1e-9, 5e-8
    ),
    "start": Constant(2.34e-9, "s", "each block of a cluster that the GPU starts", 1e-10, 1e-8),
    "edge": Constant(0.58, "times a block", "that beginning and end take", 0.1, 1.0),
    "sharpness": Constant(3.5, "exponent", "of the joined limits: the larger, the less do they add up", 3.5, 8.0),
    "barrier": Constant(1.32e-7, "s", "a step of an exchange between the warps of a block", 5e-8, 1e-6),
    "group": Constant(3.32e-6, "s", "an exchange through memory between blocks that wait for each other", 1e-6, 1.5e-5),
    "float": Constant(25.4, "instructions", "an element of float32", 4.0, 40.0),
    "half": Constant(16.2, "instructions", "an element of a half type", 4.0, 25.0),
    "again": Constant(2.29, "instructions", "an element whose exponential is computed twice", 0.5, 12.0),
    "pair": Constant(34.9, "instructions", "a maximum and sum that blocks join or send", 5.0, 60.0),
    "spill": Constant(0.552, "times 4 bytes", "of memory for each register that a thread lacks", 0.2, 10.0),
}


@dataclass(frozen=True, kw_only=True)
class Quantities:
    """What a candidate does. Counts are of all its blocks, in units of a warp, unless said otherwise."""

    peak_bytes_per_s: float
    clock_hz: float
    multiprocessors: float
    moved_bytes: float  # between memory and multiprocessors, once each way
    read_again_bytes: float = 0
    stretch_bytes: float  # of neighbouring elements that a block reads
    partial: float = 0  # 1 where what a warp accesses at once begins or ends within a sector
    launches: float = 1
    blocks: float
    resident: float  # blocks that a multiprocessor holds at once
    access_bytes: float  # of neighbouring elements that a warp accesses at once
    block_warps: float
    barriers: float = 0  # steps of the exchanges between a block's warps: each has the logarithm of their number
    cluster: float = 1  # blocks
    waiting: float = 0  # 1 where blocks exchange through memory
    warps: float
    elements: float
    half: float  # 1 for types of two bytes
    again: float = 0  # share of the elements whose exponentials are computed twice
    pairs: float = 0  # of a maximum and a sum, that blocks join or send
    replays: float = 0  # accesses to shared memory that are repeated, because lanes meet in a bank
    spilled: float = 0  # registers of a thread for which there is no room
    turns: float = 1  # rows that a block takes in turn, each of which waits for loads: layer norm alone
    weights: float = 0  # packs of weights that a thread loads when it has exchanged: layer norm alone

    @property
    def by_name(self) -> dict[str, float]:
        return {name: float(value) for name, value in vars(self).items()}


def predicted_seconds(q: Mapping[str, Any], k: Mapping[str, float]) -> Any:
    """The time beyond an empty kernel's, of quantities `q` (numbers or arrays) with the constants `k`."""
    bandwidth = q["peak_bytes_per_s"] * k["bandwidth"]
    nbytes = q["moved_bytes"] * (1 + k["line"] / q["stretch_bytes"]) + q["warps"] * 128 * q["spilled"] * k["spill"]
    nbytes = nbytes + q["moved_bytes"] * q["partial"] * k["sector"] / q["access_bytes"] + q["read_again_bytes"]
    element = k["float"] + q["half"] * (k["half"] - k["float"]) + q["again"] * k["again"]
    instructions = q["elements"] * element + q["pairs"] * k["pair"] + q["replays"]
    busy = np.minimum(q["blocks"], q["multiprocessors"])  # multiprocessors that have a block
    starts = np.where(q["cluster"] > 1, q["blocks"] * k["start"], 0.0)
    issue = instructions / (busy * SCHEDULERS * q["clock_hz"])
    own_issue = instructions / q["warps"] * (1 + q["block_warps"] / SCHEDULERS) / q["clock_hz"]
    block = q["turns"] * k["latency"] + own_issue + q["barriers"] * k["barrier"] + q["waiting"] * k["group"]
    block = block + q["weights"] * k.get("weights", 0.0)
    waves = np.ceil(q["blocks"] / (q["multiprocessors"] * q["resident"]))
    first_warps = np.minimum(q["blocks"] / q["multiprocessors"], q["resident"]) * q["block_warps"]
    ends = k["edge"] * block / q["turns"] + first_warps * k["warp"]
    shared = (nbytes / bandwidth, issue, starts)
    limits = np.stack(np.broadcast_arrays(*(one + ends for one in shared), waves * block))
    most = limits.max(axis=0)
    joined = most * ((limits / most) ** k["sharpness"]).sum(axis=0) ** (1 / k["sharpness"])
    return joined + (q["launches"] - 1) * 2 * k["latency"]  # each further launch loads and stores once more


def fastest(quantities: Sequence[Mapping[str, float]], constants: Mapping[str, float]) -> int:
    """The number of the candidate that is expected to be the fastest."""
    together = {name: np.array([each[name] for each in quantities]) for name in quantities[0]}
    return int(predicted_seconds(together, constants).argmin())
