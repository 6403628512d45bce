"""Launch plans of last_block.cu: one launch, or two where the blocks' sums are added by a launch of their own."""

from functools import partial

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.records import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar

BLOCK = 256
PACKS = 8  # of 16 bytes a thread in flight: 32 KB a block, so that two blocks reach what an H200 needs
TILES = 2  # times PACKS that a thread of a large array adds up, so that few sums are left for the last block
PER_MULTIPROCESSOR = 2  # blocks for an array that has not that many spans
HINT = 0  # of common/streamed.cuh
PACK_BYTES = 16
ALONE = 4  # packs a thread, up to which one block adds all up sooner than several tell each other their sums


def spans(packs: int, device: DeviceProperties, block: int, in_flight: int, tiles: int, per: int) -> tuple[int, int]:
    """Blocks, and packs of each: whole spans of a large array, at least some blocks a multiprocessor of a small one.

    Blocks that end when they have added a span keep all multiprocessors at work to the end, as no fixed share does.
    """
    if packs <= ALONE * block:
        return 1, max(packs, 1)
    span = min(block * in_flight * tiles, -(-packs // (device.multiprocessors * per)))
    span = -(-span // block) * block  # a thread each at least, and all of a warp's accesses whole lines
    return -(-packs // span), span


def plan(
    case: Case,
    device: DeviceProperties,
    launches: int = 1,
    block: int = BLOCK,
    in_flight: int = PACKS,
    tiles: int = TILES,
    per_multiprocessor: int = PER_MULTIPROCESSOR,
    hint: int = HINT,
) -> LaunchPlan:
    packs = -(-case.elements * dtypes.itemsize(case.dtype) // PACK_BYTES)
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


IMPLEMENTATIONS = (
    Implementation(
        "last_block", "a span a block; the block done last adds up their sums", Origin("written here"), plan=plan
    ),
    Implementation(
        "two_launches",
        "the same spans; a second launch adds up their sums",
        Origin("written here"),
        plan=partial(plan, launches=2),
    ),
)
