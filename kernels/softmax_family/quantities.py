"""The physical quantities of candidates, which cost.py turns into time."""

from __future__ import annotations

from math import ceil, exp, log1p, log2, prod

from kernelbench import Case, DeviceProperties, LaunchPlan, dtypes
from .axis_candidates import AxisChoice, axis_candidates
from .axis_grids import AHEAD_SHARE, grid_of, lead_of
from .axis_tiles import UNALIGNED_REGISTERS, Tile, view_of
from .cost import Quantities
from .hardware import PACK, SCHEDULERS, SECTOR, USUAL_CLOCK_HZ, WARP
from .row_candidates import row_candidates
from .row_plans import plan_of
from .row_techniques import Choice, Held, Split, StagedLanes
from .slab_plans import Slabs, bank_ways, slab_plan
from .words import Words

# Registers of a thread besides its packs: how many it takes, and below how many the compiler puts some into local
# memory. All three numbers were chosen by the times in results/h200/model and results/h100/model.
BESIDE, LEAST_BESIDE = 32, 18
# More per masked pack of a block that has a row alone (in a cluster the compiler keeps fewer places), and per pack of
# four halves or more whose columns a thread sums up.
PACK_REGISTERS = 2.0
SOFT = 2.0  # registers by which these numbers may be wrong
# A pack in shared memory takes so many times the instructions of one in registers, since it is read three times: chosen
# by the same times. Tiles whose packs are cut at their ends showed no difference.
SHARED_WORK = 1.2
# For words, chosen by times of candidates (docs/tuning.md): the weight of the sectors that unaligned accesses touch,
# where rows share a warp; and instructions of an element of softmax in a word of so many bytes, in those of one in a
# pack.
SHARED_SECTORS = 0.2
WORD_WORK = {8: 0.7, 4: 0.7, 2: 1.2}


def rows_quantities(case: Case, device: DeviceProperties, keeps_exponentials: bool) -> tuple[dict[str, float], ...]:
    """The quantities of each of row_candidates()."""
    found = row_candidates(case, device, keeps_exponentials)
    return tuple(
        of_words(one, case, device, WORD_WORK[one.word]).by_name
        if isinstance(one, Words)
        else of_rows(one, case, device, keeps_exponentials).by_name
        for one in found
    )


def axis_quantities(case: Case, device: DeviceProperties) -> tuple[dict[str, float], ...]:
    """The quantities of each of axis_candidates()."""
    return tuple(of_view(one, case, device).by_name for one in axis_candidates(case, device))


def of_rows(choice: Choice, case: Case, device: DeviceProperties, keeps_exponentials: bool) -> Quantities:
    plan = plan_of("x", choice, case, device)
    launch, itemsize = plan.launches[0], dtypes.itemsize(case.dtype)
    blocks, warps = prod(launch.grid), choice.block // WARP
    _, columns = case.rows_columns()
    nbytes, per_pack = case.elements * itemsize, PACK // itemsize
    masked = columns % per_pack != 0
    elements, barriers, spilled = case.elements / WARP, 0.0, 0.0
    registers = _most_registers(choice.resident * choice.block, device)
    if isinstance(choice, Held):
        packs = choice.packs * choice.rows
        barriers = log2(1 + choice.warps) if choice.warps > 1 else 0.0
        elements = blocks * warps * (packs + SHARED_WORK * choice.shared_packs * choice.rows) * per_pack
        keeps_floats = itemsize < 4 and ((keeps_exponentials and not choice.recompute) or choice.warps == 1)
        held = packs * PACK // 4 * (2 if keeps_floats else 1)
        more = PACK_REGISTERS * packs if masked and choice.blocks == 1 else 0.0
        spilled = _beyond(held + more + LEAST_BESIDE, registers)
        registers = min(registers, held + BESIDE)
    elif isinstance(choice, StagedLanes):
        registers = BESIDE
    elif isinstance(choice, Split):
        elements, barriers = 2 * elements, log2(1 + warps)
    split = isinstance(choice, Split)
    return Quantities(
        **of_device(device),
        moved_bytes=2 * nbytes,
        read_again_bytes=nbytes if split else 0,
        stretch_bytes=nbytes,  # neighbouring blocks read neighbouring rows
        launches=len(plan.launches),
        blocks=blocks,
        resident=max(1, device.resident_blocks(choice.block, int(registers), launch.shared_bytes)),
        access_bytes=WARP * PACK,
        block_warps=warps,
        barriers=barriers,
        cluster=choice.blocks if isinstance(choice, Held) else 1,
        warps=blocks * warps * len(plan.launches),
        elements=elements,
        half=float(itemsize < 4),
        again=float(isinstance(choice, Held) and choice.recompute),
        spilled=spilled,
    )


def of_words(choice: Words, case: Case, device: DeviceProperties, work: float) -> Quantities:
    """`work`: instructions of an element, in those of one in packs."""
    rows, _ = case.rows_columns()
    itemsize, warps = dtypes.itemsize(case.dtype), choice.block // WARP
    blocks = choice.blocks_for(rows)
    nbytes = case.elements * itemsize
    elements = blocks * warps * choice.words * choice.rows * (choice.word // itemsize)
    return Quantities(
        **of_device(device),
        moved_bytes=2 * nbytes,
        stretch_bytes=nbytes,
        blocks=blocks,
        resident=choice.resident,
        partial=SHARED_SECTORS if choice.threads <= WARP else 0,
        access_bytes=min(WARP, choice.threads) * choice.word,
        # The partition of a multiprocessor that gets the most of a row's warps takes the longest.
        block_warps=SCHEDULERS * ceil(warps / SCHEDULERS) if choice.threads > WARP else warps,
        warps=blocks * warps,
        elements=elements * work,
        half=float(itemsize < 4),
    )


def of_view(choice: AxisChoice, case: Case, device: DeviceProperties) -> Quantities:
    return _of_slabs(choice, case, device) if isinstance(choice, Slabs) else _of_tile(choice, case, device)


def _of_tile(tile: Tile, case: Case, device: DeviceProperties) -> Quantities:
    itemsize, view = dtypes.itemsize(case.dtype), view_of(case)
    lead = lead_of(tile, view, device.l2_bytes // AHEAD_SHARE) if tile.exchange == "tickets" else 0
    blocks, threads = prod(grid_of(tile, view, device, lead)), tile.threads * tile.slabs
    warps, whole_rows = ceil(threads / WARP), tile.width == view.inner
    resident, spilled = _resident_spilled(tile, threads, device)
    packs = tile.packs * tile.held_strips + tile.shared_packs * (SHARED_WORK if tile.layout == "whole" else 1)
    return Quantities(
        **_of_axis(case, device, blocks, warps),
        read_again_bytes=case.elements * itemsize if tile.exchange == "tickets" else 0,
        stretch_bytes=tile.width * itemsize * tile.held_strips * (tile.rows * tile.slabs if whole_rows else 1),
        partial=float(view.inner * itemsize % SECTOR != 0),
        access_bytes=min(WARP, tile.threads if whole_rows else tile.segment) * tile.pack_bytes,
        resident=resident,
        barriers=0 if tile.group else 2 * log2(1 + warps),
        cluster=tile.parts if tile.exchange == "cluster" else 1,
        waiting=float(tile.exchange in ("tickets", "co-resident")),
        elements=blocks * warps * packs * tile.per_pack,
        half=float(itemsize < 4),
        pairs=blocks * _joined_pairs(tile),
        spilled=spilled,
    )


def _of_slabs(choice: Slabs, case: Case, device: DeviceProperties) -> Quantities:
    plan = slab_plan("x", case, device, choice)
    launch = plan.launches[0]
    blocks, warps = prod(launch.grid), ceil(prod(launch.block) / WARP)
    elements = case.elements / WARP if choice.staged else blocks * warps * _elements_per_thread(plan)
    return Quantities(
        **_of_axis(case, device, blocks, warps),
        stretch_bytes=case.elements * dtypes.itemsize(case.dtype) / blocks,
        access_bytes=WARP * PACK,
        resident=max(1, device.resident_blocks(launch.block[0], BESIDE, launch.shared_bytes)),
        barriers=0 if choice.staged else 2 * log2(1 + warps),
        elements=elements,
        half=float(dtypes.itemsize(case.dtype) < 4),
        replays=0 if choice.staged else 2 * elements * (bank_ways(plan) - 1),  # each is loaded and stored
    )


def _elements_per_thread(plan: LaunchPlan) -> int:
    """Elements per thread where a block copies slabs. Threads take columns in rounds; some have none in the last."""
    constant = {name: int(value) for name, value in plan.defines}
    columns, lanes = constant["SLABS"] * constant["INNER"], constant["LANES"]
    return ceil(columns * lanes / constant["THREADS"]) * ceil(constant["DIM"] / lanes)


def _of_axis(case: Case, device: DeviceProperties, blocks: int, block_warps: int) -> dict[str, float]:
    itemsize = dtypes.itemsize(case.dtype)
    return of_device(device) | {
        "moved_bytes": 2 * case.elements * itemsize,
        "blocks": blocks,
        "warps": blocks * block_warps,
        "block_warps": block_warps,
        "again": float(case.operation == "softmax"),
    }


def _resident_spilled(tile: Tile, threads: int, device: DeviceProperties) -> tuple[float, float]:
    """Blocks that a multiprocessor holds, and the registers that a thread lacks."""
    bound, here = tile.bound
    most = _most_registers(ceil(max(bound, WARP) * here / (SCHEDULERS * WARP)) * SCHEDULERS * WARP, device)
    held = tile.packs * tile.registers * tile.held_strips
    takes_all = tile.shared_packs > 0 or (tile.layout == "shifted" and tile.per_pack > 1)  # as compiled for Hopper
    # What blocks that exchange take besides packs of fewer than 16 bytes was read off binaries.
    beside = UNALIGNED_REGISTERS if tile.pack_bytes < PACK and not tile.group else BESIDE
    registers = most if takes_all else min(most, held + beside)
    more = PACK_REGISTERS * tile.packs if tile.itemsize < 4 and tile.per_pack >= 4 else 0.0
    resident = max(1, device.resident_blocks(threads, int(registers), tile.shared_bytes))
    return resident, _beyond(held + more + LEAST_BESIDE, most)


def _beyond(needed: float, most: float) -> float:
    """By how much there are too few; smooth, since the need is an estimate."""
    return SOFT * log1p(exp((needed - most) / SOFT))


def _most_registers(threads: int, device: DeviceProperties) -> float:
    """Registers of each of so many threads of a multiprocessor, at most."""
    return float(min(255, device.registers_per_multiprocessor // threads // 8 * 8))


def _joined_pairs(tile: Tile) -> int:
    """Pairs of maximum and sum that each lane of a warp joins or sends, added up over the warps of a block."""
    if tile.group:
        return 0
    copies = tile.segment * tile.per_pack // tile.width if tile.layout == "ragged" else 1
    parts = 2 * tile.parts if tile.parts > 1 else 0
    warps = ceil(tile.width * tile.ways / WARP)  # each column by so many lanes
    return tile.slabs * warps * (ceil(tile.state_rows * copies / tile.ways) + ceil(parts / tile.ways))


def of_device(device: DeviceProperties) -> dict[str, float]:
    """The quantities that are the same for all candidates."""
    return {
        "peak_bytes_per_s": device.peak_bytes_per_s,
        "clock_hz": device.max_clock_hz or USUAL_CLOCK_HZ,
        "multiprocessors": device.multiprocessors,
    }
