"""Launch plan of short_rounds.cu: a random mask, one tile per block, without the products that are known beforehand."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar, Unsupported
from ..common.launch_helpers import STREAMED_BLOCK, STREAMED_HINT, streamed_plan, streamed_tunable

PACK = 16  # elements, a byte each
PACKS = 1  # per thread: it waits for no load, so more would not help
MOST = 2**34  # elements: four per counter, so that counters have 32 bits
ROUNDS = 10
MULTIPLIER = 0xD2511F53  # multiplies the first word of a counter, the only one that is not 0
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF  # of a 64-bit number, its lower half


def round_keys(seed: int) -> tuple[int, ...]:
    """Keys as signed 32-bit numbers: those of the first word in rounds 1 to 9, those of the third in rounds 0 to 9.

    The first product of round 1 depends on the key alone; its halves are xored into the third words of rounds 1 and 2.
    """
    low, high = ([(seed >> 32 * side) + number * WEYL[side] & LOW for number in range(ROUNDS)] for side in range(2))
    product = MULTIPLIER * low[0]
    high[1] ^= product >> 32
    high[2] ^= product & LOW
    return tuple(word - 2**32 if word >= 2**31 else word for word in (*low[1:], *high))


def plan(
    case: Case, device: DeviceProperties, block: int = STREAMED_BLOCK, packs: int = PACKS, hint: int = STREAMED_HINT
) -> LaunchPlan:
    if case.elements > MOST:
        raise Unsupported(f"elements must be at most {MOST}, got {case.elements}")
    threshold = Scalar("int64", int(case.parameter("rate", 0.1) * 2**32))
    keys = tuple(Scalar("int32", key) for key in round_keys(case.parameter("seed", 2020)))
    arguments: tuple[str | Scalar, ...] = ("mask", threshold, *keys)
    entry = "random_mask_short_rounds_i8"
    return streamed_plan(entry, arguments, case, device, block=block, packs=packs, hint=hint, per_pack=PACK)


IMPLEMENTATIONS = (
    Implementation(
        "short_rounds",
        "sixteen bytes per thread in one store, of counters of 32 bits",
        Origin("written here"),
        plan=plan,
        tunable=streamed_tunable("random_mask", ("int8",)),
    ),
)
