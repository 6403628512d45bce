"""The physical quantities of candidates, which cost.py turns into time."""

from __future__ import annotations

from math import ceil, log2, prod

from kernelbench import Case, DeviceProperties, dtypes
from .axis_candidates import AxisChoice, axis_candidates
from .axis_grids import USUAL_CLOCK_HZ
from .axis_plans import choice_plan
from .axis_tiles import resident, view_of
from .cost import Quantities
from .row_candidates import row_candidates
from .row_choices import PACK_BYTES, WARP, Choice, Held, Split, StagedLanes
from .row_plans import plan_of
from .slab_plans import Slabs

LEAST_REGISTERS = 24  # per thread: others limit how many blocks are resident


def rows_quantities(case: Case, device: DeviceProperties, keeps_exponentials: bool) -> tuple[dict[str, float], ...]:
    """Of each of row_candidates()."""
    found = row_candidates(case, device, keeps_exponentials)
    return tuple(of_rows(one, case, device).by_name for one in found)


def axis_quantities(case: Case, device: DeviceProperties) -> tuple[dict[str, float], ...]:
    """Of each of axis_candidates()."""
    return tuple(of_view(one, case, device).by_name for one in axis_candidates(case, device))


def of_rows(choice: Choice, case: Case, device: DeviceProperties) -> Quantities:
    plan = plan_of("x", choice, case, device)
    launch, itemsize = plan.launches[0], dtypes.itemsize(case.dtype)
    blocks, warps = prod(launch.grid), choice.block // WARP
    nbytes, per_pack = case.elements * itemsize, PACK_BYTES // itemsize
    lanes_per_row = choice.lanes if isinstance(choice, (Held, StagedLanes)) else WARP
    own_packs, elements, barriers = 1.0, float(per_pack), 0.0  # of a thread; of a pack
    if isinstance(choice, Held):
        own_packs = float((choice.packs + choice.shared_packs) * choice.rows)
        barriers = float(choice.warps > 1)
    elif isinstance(choice, StagedLanes):
        own_packs, elements = float(choice.loads * choice.group), 4 / itemsize
    elif isinstance(choice, Split):
        own_packs, barriers = float(choice.packs), 1.0
    else:
        own_packs, lanes_per_row = choice.group * choice.columns / per_pack, 1
    split = isinstance(choice, Split)
    recompute = isinstance(choice, Held) and choice.recompute
    staged = not isinstance(choice, (Held, Split))
    return Quantities(
        **_of_device(device),
        moved_bytes=2 * nbytes,
        read_again_bytes=nbytes if split else 0,
        in_cache=float(nbytes <= device.l2_bytes / 2),
        stretch_bytes=max(PACK_BYTES, nbytes / blocks),
        launches=len(plan.launches),
        blocks=blocks,
        resident=max(
            1, min(choice.resident, device.resident_blocks(choice.block, LEAST_REGISTERS, launch.shared_bytes))
        ),
        access_bytes=lanes_per_row * PACK_BYTES if own_packs > 1 and not staged else WARP * PACK_BYTES,
        block_bytes=nbytes / blocks,
        shuffles=2 * log2(lanes_per_row) * (choice.group if isinstance(choice, StagedLanes) else 1),
        barriers=barriers,
        cluster=choice.blocks if isinstance(choice, Held) else 1,
        waiting=0,
        warps=blocks * warps * len(plan.launches),
        packs=blocks * warps * own_packs * len(plan.launches),
        pack_elements=elements,
        half=float(itemsize < 4),
        again=float(recompute),
        masked=float(case.outer_dim_inner[1] * itemsize % PACK_BYTES != 0 and not staged),
        staged=float(staged),
    )


def of_view(choice: AxisChoice, case: Case, device: DeviceProperties) -> Quantities:
    launch = choice_plan("x", case, device, choice).launches[0]
    itemsize, view = dtypes.itemsize(case.dtype), view_of(case)
    blocks, warps = prod(launch.grid), ceil(prod(launch.block) / WARP)
    nbytes, again = case.elements * itemsize, float(case.operation == "softmax")
    common = _of_device(device) | {
        "moved_bytes": 2 * nbytes,
        "launches": 1,
        "blocks": blocks,
        "warps": blocks * warps,
        "access_bytes": WARP * PACK_BYTES,
        "block_bytes": nbytes / blocks,
        "half": float(itemsize < 4),
    }
    if isinstance(choice, Slabs):
        packs = nbytes / PACK_BYTES / WARP
        here = device.resident_blocks(prod(launch.block), LEAST_REGISTERS, launch.shared_bytes)
        return Quantities(
            **common, read_again_bytes=0, in_cache=0, stretch_bytes=nbytes / blocks, resident=max(1, min(3, here)),
            shuffles=0, barriers=float(not choice.staged), cluster=1, waiting=0, packs=packs,
            pack_elements=PACK_BYTES / itemsize, again=again, masked=0, staged=1,
        )  # fmt: skip
    tickets = choice.exchange == "tickets"
    whole_rows = choice.width == view.inner
    common["access_bytes"] = min(WARP, choice.segment if not whole_rows else WARP) * choice.pack_bytes
    return Quantities(
        **common,
        read_again_bytes=nbytes if tickets else 0,
        in_cache=float(choice.parts * choice.held_bytes <= device.l2_bytes / 2),
        stretch_bytes=choice.width * itemsize * (choice.rows * choice.slabs if whole_rows else 1),
        resident=max(1.0, resident(choice, device) / device.multiprocessors),
        shuffles=log2(max(1, choice.group)) if choice.group else 2,
        barriers=0 if choice.group else 2,
        cluster=choice.parts if choice.exchange == "cluster" else 1,
        waiting=float(choice.exchange in ("tickets", "co-resident")),
        packs=blocks * warps * (choice.packs + choice.shared_packs),
        pack_elements=choice.per_pack,
        again=again,
        masked=float(not choice.is_exact(view)),
        staged=choice.shared_packs / (choice.packs + choice.shared_packs),
    )


def _of_device(device: DeviceProperties) -> dict[str, float]:
    return {
        "peak_bytes_per_s": device.peak_bytes_per_s,
        "clock_hz": device.max_clock_hz or USUAL_CLOCK_HZ,
        "multiprocessors": device.multiprocessors,
    }
