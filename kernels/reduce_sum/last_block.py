"""Launch plans of last_block.cu: one launch, or two where the blocks' sums are added by a launch of their own."""

from functools import partial
from typing import NamedTuple

from kernelbench import (
    Case,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    Tunable,
    Unsupported,
    dtypes,
)
from ..common.launch_helpers import cases_of_bytes, power_of_two_from

PACK_BYTES = 16
MB = 2**20
ALONE = 4  # packs per thread up to which one block alone is faster than several that exchange sums
MOST_SLOTS = 4096  # of last_block.cu
LATER, COUNTED, AWAITED = range(3)  # JOIN of last_block.cu


class Choice(NamedTuple):
    """How an array is cut and its sums joined; `plan` takes these by name."""

    join: int = COUNTED
    block: int = 512
    in_flight: int = 8  # packs per thread, at most: 64 KB per block, enough for a multiprocessor
    tiles: int = 4  # of so many packs per thread: a block's span, at most
    per_multiprocessor: int = 2  # blocks at least, also for an array of fewer spans
    blocks: int = 0  # at least, in place of those
    granule: int = 0  # packs of which a span is a multiple; 0: one per thread
    cluster: int = 1  # blocks
    hint: int = 0  # of common/streamed.cuh
    early: int = 1  # whether blocks fetch the counter, or their slots, before x


def rule(nbytes: int) -> Choice:
    """The choice for an array of so many bytes.

    Loads that skip the L1 gain beyond the L2, and lose on the largest arrays: results/h200/trials.yaml.
    """
    if 16 * MB < nbytes <= 128 * MB:
        return Choice(hint=2)
    if 128 * MB < nbytes <= 256 * MB:
        return Choice(tiles=1, hint=2)
    return Choice()


def spans(packs: int, most: int, blocks: int, granule: int, cluster: int) -> tuple[int, int]:
    """Blocks, and packs of each: at least so many blocks with work, of `most` packs at most and of whole granules.

    Blocks that end after one span keep all multiprocessors busy to the end; fixed shares would not. The last cluster
    may have blocks without work.
    """
    span = min(most, -(-packs // blocks))
    span = -(-span // granule) * granule
    return -(-packs // (span * cluster)) * cluster, span


def packs_in_flight(span: int, block: int, most: int) -> int:
    """The fewest, a power of two, with which a span is one batch of loads; else `most`."""
    return min(most, power_of_two_from(-(-span // block)))


def plan(
    case: Case,
    device: DeviceProperties,
    join: int | None = None,
    block: int | None = None,
    in_flight: int | None = None,
    tiles: int | None = None,
    per_multiprocessor: int | None = None,
    hint: int | None = None,
    **others: int,
) -> LaunchPlan:
    """`others`: further fields of Choice, which are not tuned."""
    nbytes = case.elements * dtypes.itemsize(case.dtype)
    asked = {
        "join": join,
        "block": block,
        "in_flight": in_flight,
        "tiles": tiles,
        "per_multiprocessor": per_multiprocessor,
        "hint": hint,
        **others,
    }
    return plan_of(case, device, rule(nbytes)._replace(**{k: v for k, v in asked.items() if v is not None}))


def plan_of(case: Case, device: DeviceProperties, chosen: Choice) -> LaunchPlan:
    join, block, cluster = chosen.join, chosen.block, chosen.cluster
    packs = max(1, -(-case.elements * dtypes.itemsize(case.dtype) // PACK_BYTES))
    if packs <= ALONE * block:
        grid, span, cluster = 1, packs, 1
    else:
        least = chosen.blocks or device.multiprocessors * chosen.per_multiprocessor
        grid, span = spans(packs, block * chosen.in_flight * chosen.tiles, least, chosen.granule or block, cluster)
    if grid > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {grid} of {span} packs")
    if join == AWAITED and grid > MOST_SLOTS * cluster:
        raise Unsupported(f"sums that a block awaits must be at most {MOST_SLOTS}, got {grid // cluster}")
    if cluster > 1 and device.compute_capability < (9, 0):
        raise Unsupported("clusters need sm_90")
    one = join != LATER or grid == 1
    scalars = (Scalar("int64", case.elements), Scalar("int32", span))
    entry = f"reduce_sum_last_block_{dtypes.suffix(case.dtype)}"
    first = Launch(entry, (grid, 1, 1), (block, 1, 1), ("x", "sums", "y", *scalars))
    arguments = ("sums", "y", Scalar("int32", grid))
    second = Launch("reduce_sum_last_block_finish", (1, 1, 1), (block, 1, 1), arguments)
    return LaunchPlan(
        (first,) if one else (first, second),
        defines=(
            ("BLOCK", block),
            ("PACKS", packs_in_flight(span, block, chosen.in_flight)),
            ("HINT", chosen.hint),
            ("JOIN", join),
            ("CLUSTER", cluster),
            ("EARLY", chosen.early),
        ),
        scratch=(("sums", 4 * grid),),
        reasons=(f"{grid} blocks of {span} packs of {PACK_BYTES} bytes",),
    )


VALUES = {
    "block": (256, 512),
    "in_flight": (4, 8),
    "tiles": (1, 2, 4),
    "per_multiprocessor": (1, 2, 4, 8),
    "hint": (0, 2),
}
CASES = cases_of_bytes("reduce_sum", (MB, 4 * MB, 16 * MB, 64 * MB, 256 * MB, 1024 * MB))

IMPLEMENTATIONS = (
    Implementation(
        "last_block",
        "one span per block; the last block to finish adds up their sums",
        Origin("written here"),
        plan=plan,
        tunable=Tunable({**VALUES, "join": (COUNTED, AWAITED)}, cases=CASES),
    ),
    Implementation(
        "two_launches",
        "the same spans; a second launch adds up their sums",
        Origin("written here"),
        plan=partial(plan, join=LATER),
        tunable=Tunable(VALUES, cases=CASES),
    ),
)
