"""A random mask of one int8 per element: 1 where the element is kept, 0 where it is dropped.

Element i takes word i % 4 of Philox4x32-10 of counter i / 4 and key `seed`, and is kept where that word is at least
`rate` * 2^32: the same mask for the same seed, on every machine and from every kernel. Nothing is read.
"""

from typing import Any

import numpy as np

from kernelbench import Arrays, ArraySpec, Case, Operation, Unsupported

RATE, SEED = 0.1, 2020
CHUNK = 2**22  # counters that the reference computes at once
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF  # of a 64-bit number, its lower half


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    rate, seed = case.parameter("rate", RATE), case.parameter("seed", SEED)
    case.require_dtype("int8")
    if not 0 <= rate < 1:
        raise Unsupported(f"rate must be at least 0 and below 1, got {rate}")
    if not 0 <= seed < 2**63:
        raise Unsupported(f"seed must be at least 0 and below 2^63, got {seed}")
    return (ArraySpec("mask", case.shape, case.dtype, "output"),)


def philox(xp: Any, counters: Any, key: int) -> Any:
    """Four words for each counter, uint64 [counters, 4] with values below 2^32."""
    u = xp.uint64
    low, half = u(LOW), u(32)
    words = [counters & low, counters >> half, xp.zeros_like(counters), xp.zeros_like(counters)]
    for number in range(10):
        keys = [u(((key >> 32 * side & LOW) + number * WEYL[side]) & LOW) for side in range(2)]
        first, second = u(MULTIPLIERS[0]) * words[0], u(MULTIPLIERS[1]) * words[2]
        words = [(second >> half) ^ words[1] ^ keys[0], second & low, (first >> half) ^ words[3] ^ keys[1], first & low]
    return xp.stack(words, axis=1)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    rate, seed = case.parameter("rate", RATE), case.parameter("seed", SEED)
    threshold = np.uint64(int(rate * 2**32))
    counters = -(-case.elements // 4)
    kept = xp.empty(4 * counters)
    for start in range(0, counters, CHUNK):
        stop = min(start + CHUNK, counters)
        words = philox(xp, xp.arange(start, stop, dtype=xp.uint64), seed)
        kept[4 * start : 4 * stop] = (words >= threshold).reshape(-1)
    return {"mask": kept[: case.elements]}


def flops(case: Case) -> int:
    """Ten rounds of two products for four elements, and a comparison each."""
    return 6 * case.elements


OPERATION = Operation(
    name="random_mask",
    summary="a random mask of one byte per element, reproducible from a seed",
    arrays=arrays,
    reference=reference,
    flops=flops,
    parameters={"rate": RATE, "seed": SEED},
    refused=dict.fromkeys(("uniform", "zeros", "ones", "large", "masked"), "it reads none"),
)
