"""Tunable steps away from the choice of row_choices, for softmax and log-softmax along the last axis."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelbench import FLOATS, Case, DeviceProperties, Tunable, Unsupported, dtypes
from .row_choices import WARP, Choice, Held, StagedLanes, in_staged_lanes, most_packs

MAX_PACKS = 16  # per thread in registers
MAX_LOADS = 34  # of 4 bytes per thread, with twice as many floats in registers
REGISTERS = 65536  # per multiprocessor

# Rows by a few lanes, a warp, several warps and a cluster; rows of the last three lengths begin within packs.
COLUMNS = (128, 512, 1024, 4096, 16384, 129, 1000, 4097)
ELEMENTS = 2**26


@dataclass(frozen=True)
class Step:
    """Arguments of a plan beside case and device; None and 0 keep the choice of the rule."""

    threads: int = 0  # per row in a block: doubled so many times, halved below 0
    blocks: int = 0  # per row, likewise
    rows: int | None = None  # that lanes of a warp work on at once
    block: int | None = None  # threads, where a row has at most a warp
    hint: int | None = None

    def taken(self, choice: Choice, case: Case, device: DeviceProperties, keeps_exponentials: bool) -> Choice:
        """The choice, changed. Unsupported where it then does not fit rows of this length."""
        choice = choice if self.hint is None else replace(choice, hint=self.hint)
        if isinstance(choice, StagedLanes):
            return self._of_staged_lanes(choice, case.outer_dim_inner[1])
        if not isinstance(choice, Held):
            return self._of_others(choice)
        packs = most_packs(case.outer_dim_inner[1], dtypes.itemsize(case.dtype))
        registers = 8 if keeps_exponentials and dtypes.itemsize(case.dtype) < 4 and not choice.recompute else 4
        found = self._in_warp(choice, packs) if choice.warps == 1 else self._of_warps(choice, packs, device)
        if (found.packs, found.rows, found.block) == (choice.packs, choice.rows, choice.block):
            return found
        more = (found.packs * found.rows - choice.packs * choice.rows) * registers
        return replace(found, resident=_resident(choice.resident * choice.block, more, found.block))

    def _of_others(self, choice: Choice) -> Choice:
        if self.threads or self.blocks:
            raise Unsupported("threads and blocks per row can only be changed where lanes hold a row")
        if self.block is None:
            return choice
        return replace(choice, block=self.block, resident=_resident(choice.resident * choice.block, 0, self.block))

    def _of_staged_lanes(self, choice: StagedLanes, columns: int) -> Choice:
        if self.blocks:
            raise Unsupported("a row of one warp has one block")
        lanes, rows, block = _doubled(choice.lanes, self.threads, WARP), self.rows or choice.rows, self.block
        found = replace(in_staged_lanes(columns, lanes, rows, block or choice.block), hint=choice.hint)
        if found.group % rows or found.loads * rows > MAX_LOADS:
            raise Unsupported(
                f"rows at once must divide {found.group}, with {MAX_LOADS} loads per thread at most, "
                f"got {rows} with {found.loads * rows}"
            )
        return found

    def _in_warp(self, choice: Held, packs: int) -> Held:
        if self.blocks:
            raise Unsupported("a row of one warp has one block")
        lanes = _doubled(choice.lanes, self.threads, WARP)
        own, rows, block = -(-packs // lanes), self.rows or choice.rows, self.block or choice.block
        if own * rows > MAX_PACKS:
            raise Unsupported(f"packs of a thread must be at most {MAX_PACKS}, got {own * rows}")
        return replace(choice, lanes=lanes, packs=own, rows=rows, block=block)

    def _of_warps(self, choice: Held, packs: int, device: DeviceProperties) -> Held:
        if choice.shared_packs and (self.threads or self.blocks):
            raise Unsupported("a row with packs in shared memory already has all threads")
        if choice.shared_packs:
            return choice
        warps = _doubled(choice.warps, self.threads, 32)
        blocks = _doubled(choice.blocks, self.blocks, device.max_cluster)
        own = -(-packs // (WARP * warps * blocks))
        if warps < 2 or own > MAX_PACKS:
            raise Unsupported(
                f"a row of {packs} packs has 2 warps and {MAX_PACKS} packs per thread, got {warps} and {own}"
            )
        return replace(choice, warps=warps, blocks=blocks, packs=own, block=WARP * warps)


def _doubled(number: int, times: int, most: int) -> int:
    found = number << times if times >= 0 else number >> -times
    if not 1 <= found <= most:
        raise Unsupported(f"threads and blocks of a row must be at least 1 and at most {most}, got {found}")
    return found


def _resident(threads: int, more_registers: int, block: int) -> int:
    """Blocks per multiprocessor, where `threads` threads had room and each now takes `more_registers` more."""
    left = REGISTERS // max(24, REGISTERS // threads + more_registers)
    return max(1, min(32, min(2048, left) // block))


def layout(case: Case) -> str:
    return f"{case.outer_dim_inner[1]} columns"


def tunable(operation: str) -> Tunable:
    """What a search may try for `operation`, whose plan takes the fields of Step as arguments."""
    values = {"threads": (-1, 0, 1), "blocks": (-1, 0, 1), "rows": (1, 2), "block": (32, 64, 128, 256), "hint": (0, 1)}
    cases = tuple(Case(operation, (ELEMENTS // columns, columns), -1, dtype) for dtype in FLOATS for columns in COLUMNS)
    return Tunable(values, layout=layout, cases=cases)
