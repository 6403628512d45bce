"""All that may be tried for softmax and log-softmax of rows [rows, columns]: every technique, in the sizes that fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product

from kernelbench import Case, DeviceProperties, dtypes
from ..common.launch_helpers import power_of_two_from
from .hardware import LINE, PACK, WARP
from .row_techniques import (
    THREAD_PACKS,
    Choice,
    Held,
    Split,
    StagedLanes,
    blocks_by_registers,
    hinted,
    in_staged_lanes,
    many_warps,
    most_packs,
    staged,
)
from .words import Words, lane_words, with_room, word_bytes

PACKS = (1, 2, 3, 4, 6, 8)  # per thread, where a row has several warps
CLUSTER_WARPS = (4, 8)
# (blocks, most packs per thread) by masked or not.
CLUSTERS = {False: ((2, 4), (4, 8), (8, 12), (16, 16)), True: ((2, 4), (4, 8), (8, 9), (16, 9))}
# (most packs per thread, blocks of 256 threads that registers leave room for) likewise.
CLUSTER_RESIDENT = {False: ((5, 6), (7, 5), (12, 4), (16, 3)), True: ((5, 6), (6, 5), (9, 4))}
# Longer rows: (warps, packs in registers, blocks that registers leave room for, most packs). Shared memory holds
# further packs. Masked packs take more registers, so registers hold at most eight.
LONG_ROWS = {
    False: ((8, 14, 3, 29), (8, 24, 2, 51), (16, 24, 1, 51)),
    True: ((8, 8, 4, 19), (16, 8, 2, 21), (32, 8, 1, 21)),
}
RECOMPUTE_RESIDENT = 3  # resident blocks per multiprocessor at which floats are kept, their exponentials computed twice
RESERVED_BYTES = 4096  # of shared memory per block: the system's and the warps' parts
STAGED_COLUMNS = {2: 64, 4: 72}  # longest rows, by itemsize, that one thread takes whole
ROW_LOADS = 17  # of 4 bytes per lane
# Registers of a lane: most for the words of its rows; for all else of one row; and of a second, or for log-softmax the
# compiler would delay its loads.
WORD_REGISTERS, BESIDE_WORDS, SECOND_ROW = 40, 24, 8

AnyChoice = Choice | Words


@lru_cache(maxsize=16)  # each candidate's plan looks it up
def row_candidates(case: Case, device: DeviceProperties, keeps_exponentials: bool) -> tuple[AnyChoice, ...]:
    """Choices that the device can launch for x [rows, columns], at most 40."""
    rows, columns = case.rows_columns()
    itemsize = dtypes.itemsize(case.dtype)
    found: dict[Choice, Choice] = {}
    for plain in _all(rows, columns, itemsize, keeps_exponentials, device):
        one = hinted(plain, rows * columns * itemsize, device)
        found.setdefault(replace(one, resident=0), one)  # others differ in what the compiler is told only
    return (*found.values(), *_in_words(rows, columns, itemsize, device))


def _all(
    rows: int, columns: int, itemsize: int, keeps_exponentials: bool, device: DeviceProperties
) -> Iterator[Choice]:
    masked = columns * itemsize % PACK != 0
    whole = staged(columns, itemsize) if masked and columns <= STAGED_COLUMNS[itemsize] else None
    if whole is not None:
        yield whole
    # Packs masked at both ends of short rows are slower by 2 to 165 %, unless there are too few rows for whole ones.
    if whole is None or rows < whole.block * whole.group * device.multiprocessors:
        yield from _by_lanes(columns, itemsize)
    if masked and itemsize < 4:
        yield from _by_staged_lanes(columns)
    packs = most_packs(columns, itemsize)
    if packs >= WARP:
        yield from _by_warps(packs, masked, itemsize, keeps_exponentials, device)
        yield from _by_clusters(packs, masked, itemsize, keeps_exponentials, device)
        yield Split()


def _by_lanes(columns: int, itemsize: int) -> Iterator[Held]:
    """A row by lanes of one warp, which have a pack of it each, or some."""
    per_pack = PACK // itemsize
    masked = columns % per_pack != 0
    least, most = -(-columns // per_pack), most_packs(columns, itemsize)
    if masked and least == 1:
        return  # masked rows are longer than a pack
    for log_lanes, rows in product(range(6), (1, 2, 4)):
        lanes = 1 << log_lanes
        packs = -(-most // lanes)
        held = rows * packs
        # All but the last pack of every lane exist, wherever the row begins.
        if held > THREAD_PACKS or lanes > power_of_two_from(most) or lanes * (packs - 1) > least:
            continue
        if lanes * PACK < LINE and packs > min(lanes, 2):
            continue  # the lanes of a row would read parts of lines, again and again: never faster by more than 2 %
        block = (256 if lanes == WARP else 128) if held == 1 else 64
        resident = blocks_by_registers(24 + 8 * masked + held * per_pack, block)
        yield Held(lanes, 1, 1, packs, 0, rows, masked, block, resident)


def _by_staged_lanes(columns: int) -> Iterator[StagedLanes]:
    for log_lanes in range(6):
        choice = in_staged_lanes(columns, 1 << log_lanes)
        whole = choice.lanes * (choice.loads - 1) <= columns // 2  # only the last loads of a row are masked
        if whole and 2 <= choice.loads <= ROW_LOADS:
            yield choice


def _by_warps(
    packs: int, masked: bool, itemsize: int, keeps_exponentials: bool, device: DeviceProperties
) -> Iterator[Held]:
    """A row by the warps of one block, with packs in shared memory where registers do not suffice."""
    for per_thread in PACKS:
        choice = many_warps(packs, per_thread, masked, 8 if keeps_exponentials and itemsize < 4 else 4)
        if choice.shared_packs * choice.block * PACK + RESERVED_BYTES <= device.shared_per_block_optin:
            yield choice


def _by_clusters(
    packs: int, masked: bool, itemsize: int, keeps_exponentials: bool, device: DeviceProperties
) -> Iterator[Held]:
    most_own = max(own for _, own in CLUSTERS[masked])
    for (blocks, _), warps in product(CLUSTERS[masked], CLUSTER_WARPS):
        own, block = -(-packs // (WARP * warps * blocks)), WARP * warps
        idle = block * blocks > 2 * packs  # of the threads, more than half
        if blocks > device.max_cluster or idle or own > most_own:
            continue
        threads = next(count for most, count in CLUSTER_RESIDENT[masked] if own <= most) * WARP * 8
        yield _computed(Held(WARP, warps, blocks, own, 0, 1, masked, block, threads // block), itemsize,
                        keeps_exponentials)  # fmt: skip
    for blocks, (warps, kept, resident, most) in product((8, 16), LONG_ROWS[masked]):
        own, block = -(-packs // (WARP * warps * blocks)), WARP * warps
        shared = own - kept
        fits = shared * block * PACK + RESERVED_BYTES <= device.shared_per_block_optin
        if blocks <= device.max_cluster and shared > 0 and own <= most and fits:
            yield _computed(
                Held(WARP, warps, blocks, kept, shared, 1, masked, block, resident), itemsize, keeps_exponentials
            )


def _computed(choice: Held, itemsize: int, keeps_exponentials: bool) -> Held:
    """The candidate with exponentials computed twice, where keeping them would take too many registers."""
    recompute = keeps_exponentials and (itemsize < 4 or choice.resident <= RECOMPUTE_RESIDENT)
    return replace(choice, recompute=recompute)


def _in_words(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[Words]:
    """A row that is no whole packs, in words by lanes of one warp, which keep an exponential for each element."""
    word = word_bytes(columns, itemsize)
    if word is None:
        return
    per_register = 4 // itemsize if word > 2 else 1  # elements

    def registers(one: Words) -> int:
        return BESIDE_WORDS + SECOND_ROW * (one.rows - 1) + one.rows * one.registers * per_register

    found = lane_words(columns * itemsize // word, word, WORD_REGISTERS)
    yield from with_room(found, rows * columns * itemsize, device, registers)
