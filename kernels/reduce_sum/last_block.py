"""Launch plans of last_block.cu: one launch, or two where the blocks' sums are added by a launch of their own."""

from functools import partial

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

BLOCK = 512
PACKS = 8  # of 16 bytes per thread in flight, at most: 64 KB per block, enough for a multiprocessor
PER_MULTIPROCESSOR = 2  # blocks at least, also for an array of fewer spans
PACK_BYTES = 16
MB = 2**20
ALONE = 4  # packs per thread up to which one block alone is faster than several that exchange sums
MOST_SLOTS = 4096  # of last_block.cu
LATER, COUNTED, AWAITED = range(3)  # JOIN of last_block.cu


def tiles_and_hint(nbytes: int) -> tuple[int, int]:
    """Tiles, each of PACKS packs per thread, and the hint of common/streamed.cuh, for an array of so many bytes.

    Loads that skip the L1 gain beyond the L2, and lose on the largest arrays: results/h200/trials.yaml.
    """
    if nbytes <= 16 * MB:
        return 4, 0
    if nbytes <= 128 * MB:
        return 4, 2
    if nbytes <= 256 * MB:
        return 1, 2
    return 4, 0


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
    join: int = COUNTED,
    block: int = BLOCK,
    in_flight: int = PACKS,
    tiles: int | None = None,
    per_multiprocessor: int = PER_MULTIPROCESSOR,
    hint: int | None = None,
    blocks: int = 0,
    granule: int = 0,
    cluster: int = 1,
    early: int = 1,
) -> LaunchPlan:
    """`blocks` of the grid, 0 for `per_multiprocessor`; a span is a multiple of `granule` packs, 0 for `block`."""
    nbytes = case.elements * dtypes.itemsize(case.dtype)
    best_tiles, best_hint = tiles_and_hint(nbytes)
    tiles, hint = best_tiles if tiles is None else tiles, best_hint if hint is None else hint
    packs = max(1, -(-nbytes // PACK_BYTES))
    if packs <= ALONE * block:
        grid, span, cluster = 1, packs, 1
    else:
        least = blocks or device.multiprocessors * per_multiprocessor
        grid, span = spans(packs, block * in_flight * tiles, least, granule or block, cluster)
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
            ("PACKS", packs_in_flight(span, block, in_flight)),
            ("HINT", hint),
            ("JOIN", join),
            ("CLUSTER", cluster),
            ("EARLY", early),
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
