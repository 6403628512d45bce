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
KB = 2**10
MB = 2**20
MOST_BLOCKS = 4096  # slots of last_block.cu
WARP = 32
LATER, AWAITED, CLUSTERED = range(3)  # JOIN of last_block.cu


class Choice(NamedTuple):
    """How an array is cut and its sums joined; `plan` takes these by name."""

    join: int = AWAITED
    block: int = 512
    in_flight: int = 8  # packs per thread, at most: 64 KB per block, enough for a multiprocessor
    tiles: int = 4  # of so many packs per thread: a block's span, at most
    per_multiprocessor: int = 2  # blocks at least, also for an array of fewer spans
    blocks: int = 0  # at least, in place of those; CLUSTERED: exactly, and one span each
    hint: int = 2  # of common/streamed.cuh; 2: loads skip the L1


def rule(nbytes: int, max_cluster: int) -> Choice:
    """The choice for an array of so many bytes, on a GPU whose clusters have so many blocks at most.

    One block, and then one cluster, exchange sums faster than the whole GPU does. Loads that skip the L1 gain beyond
    the L2, but lose on the largest arrays: results/h200/trials.yaml.
    """
    if nbytes <= 32 * KB:
        return Choice(blocks=1)
    if nbytes <= MB and max_cluster >= 16:
        return Choice(join=CLUSTERED, block=1024, blocks=16)
    if nbytes <= 128 * MB:
        return Choice()
    if nbytes <= 256 * MB:
        return Choice(tiles=1)
    return Choice(hint=0)


def spans(packs: int, most: int, blocks: int, granule: int) -> tuple[int, int]:
    """Blocks, and packs of each: at least so many blocks with work, of `most` packs at most and of whole granules.

    Blocks that end after one span keep all multiprocessors busy to the end; fixed shares would not. Spans are longer
    where there would be more sums than slots.
    """
    span = max(min(most, -(-packs // blocks)), -(-packs // MOST_BLOCKS))
    span = -(-span // granule) * granule
    return -(-packs // span), span


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
    blocks: int | None = None,
    hint: int | None = None,
) -> LaunchPlan:
    asked = {
        "join": join,
        "block": block,
        "in_flight": in_flight,
        "tiles": tiles,
        "per_multiprocessor": per_multiprocessor,
        "blocks": blocks,
        "hint": hint,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    nbytes = case.elements * dtypes.itemsize(case.dtype)
    chosen = rule(nbytes, device.max_cluster if join is None else 1)
    return plan_of(case, device, chosen._replace(**given))


def plan_of(case: Case, device: DeviceProperties, chosen: Choice) -> LaunchPlan:
    join, block = chosen.join, chosen.block
    packs = max(1, -(-case.elements * dtypes.itemsize(case.dtype) // PACK_BYTES))
    if join == CLUSTERED:
        if chosen.blocks > device.max_cluster:
            raise Unsupported(f"blocks of a cluster must be at most {device.max_cluster}, got {chosen.blocks}")
        cluster = grid = chosen.blocks
        span = -(-packs // (grid * WARP)) * WARP
    else:
        cluster = 1
        least = chosen.blocks or device.multiprocessors * chosen.per_multiprocessor
        grid, span = spans(packs, block * chosen.in_flight * chosen.tiles, least, block)
    entry = f"reduce_sum_last_block_{dtypes.suffix(case.dtype)}"
    scalars = (Scalar("int64", case.elements), Scalar("int32", span))
    first = Launch(entry, (grid, 1, 1), (block, 1, 1), ("x", "sums", "y", *scalars))
    arguments = ("sums", "y", Scalar("int32", grid))
    second = Launch("reduce_sum_last_block_finish", (1, 1, 1), (block, 1, 1), arguments)
    return LaunchPlan(
        (first, second) if join == LATER and grid > 1 else (first,),
        defines=(
            ("BLOCK", block),
            ("PACKS", packs_in_flight(span, block, chosen.in_flight)),
            ("HINT", chosen.hint),
            ("JOIN", join),
            ("CLUSTER", cluster),
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
CASES = cases_of_bytes("reduce_sum", (4 * MB, 16 * MB, 64 * MB, 256 * MB, 1024 * MB))

IMPLEMENTATIONS = (
    Implementation(
        "last_block",
        "one span per block; the last block, or a cluster's first, adds up their sums",
        Origin("written here"),
        plan=plan,
        tunable=Tunable(VALUES, cases=CASES),
    ),
    Implementation(
        "two_launches",
        "the same spans; a second launch adds up their sums",
        Origin("written here"),
        plan=partial(plan, join=LATER),
        tunable=Tunable(VALUES, cases=CASES),
    ),
)
