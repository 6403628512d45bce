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
from ..common.launch_helpers import cases_of_bytes

BLOCK = 512
PACKS = 8  # of 16 bytes per thread in flight: 64 KB per block, enough for a multiprocessor
PER_MULTIPROCESSOR = 2  # blocks at least, also for an array of fewer spans
PACK_BYTES = 16
MB = 2**20
ALONE = 4  # packs per thread up to which one block alone is faster than several that exchange sums


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


def spans(packs: int, device: DeviceProperties, block: int, in_flight: int, tiles: int, per: int) -> tuple[int, int]:
    """Blocks, and packs of each: whole spans of a large array; of a small one at least `per` blocks per multiprocessor.

    Blocks that end after one span keep all multiprocessors busy to the end; fixed shares would not.
    """
    if packs <= ALONE * block:
        return 1, max(packs, 1)
    span = min(block * in_flight * tiles, -(-packs // (device.multiprocessors * per)))
    span = -(-span // block) * block  # at least one pack per thread, and only whole lines per access of a warp
    return -(-packs // span), span


def plan(
    case: Case,
    device: DeviceProperties,
    launches: int = 1,
    block: int = BLOCK,
    in_flight: int = PACKS,
    tiles: int | None = None,
    per_multiprocessor: int = PER_MULTIPROCESSOR,
    hint: int | None = None,
) -> LaunchPlan:
    nbytes = case.elements * dtypes.itemsize(case.dtype)
    best_tiles, best_hint = tiles_and_hint(nbytes)
    tiles, hint = best_tiles if tiles is None else tiles, best_hint if hint is None else hint
    packs = -(-nbytes // PACK_BYTES)
    blocks, span = spans(packs, device, block, in_flight, tiles, per_multiprocessor)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks} of {span} packs")
    one = launches == 1 or blocks == 1
    scalars = (Scalar("int64", case.elements), Scalar("int64", span))
    entry = f"reduce_sum_last_block_{dtypes.suffix(case.dtype)}"
    first = Launch(entry, (blocks, 1, 1), (block, 1, 1), ("x", "sums", "y", *scalars))
    arguments = ("sums", "y", Scalar("int32", blocks))
    second = Launch("reduce_sum_last_block_finish", (1, 1, 1), (block, 1, 1), arguments)
    return LaunchPlan(
        (first,) if one else (first, second),
        defines=(("BLOCK", block), ("PACKS", in_flight), ("HINT", hint), ("FINISH", int(one))),
        scratch=(("sums", 4 * blocks),),
        reasons=(f"{blocks} blocks of {span} packs of {PACK_BYTES} bytes",),
    )


TUNABLE = Tunable(
    {
        "block": (256, 512),
        "in_flight": (4, 8, 16),
        "tiles": (1, 2, 4),
        "per_multiprocessor": (1, 2, 4),
        "hint": (0, 2),
    },
    cases=cases_of_bytes("reduce_sum", (MB, 4 * MB, 16 * MB, 64 * MB, 256 * MB, 1024 * MB)),
)

IMPLEMENTATIONS = (
    Implementation(
        "last_block",
        "one span per block; the last block to finish adds up their sums",
        Origin("written here"),
        plan=plan,
        tunable=TUNABLE,
    ),
    Implementation(
        "two_launches",
        "the same spans; a second launch adds up their sums",
        Origin("written here"),
        plan=partial(plan, launches=2),
        tunable=TUNABLE,
    ),
)
