"""Whether a sample of blocks wrote its share of every output. If not, the grid may be too small for the output, which
no sample of its blocks can show: each element that they wrote may be right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernelbench.core.units import bytes_text
from kernelbench.devices.written_elements import Integers
from kernelbench.simt.device_memory import Allocation, free_memory
from kernelbench.simt.interface import SECTOR, ByteState

LEAST_REACH = 0.75  # of an output, to which what a sample wrote is scaled; blocks at the ends may write less
MOST_WORK = 2**30  # warp instructions up to which such a plan is run whole: at most about a minute
ROOM = 0.4  # share of the free memory that its arrays may fill, because another case may run beside it
LOOKED_AT = 2**12  # sectors per output and launch, evenly spread, whose bytes are counted


@dataclass(frozen=True)
class LaunchWrites:
    """Bytes that one launch wrote of each output, by name. `share`: the part of its blocks that ran. `late`: where
    blocks run in order, what all would write at the rate of the last that ran, because the first may only read."""

    written: Mapping[str, int]
    share: float
    late: Mapping[str, float] = field(default_factory=dict)

    def reach(self, output: str) -> float:
        """Bytes of an output, if its other blocks wrote as much as those that ran."""
        return max(self.written.get(output, 0) / self.share, self.late.get(output, 0.0))


@dataclass(frozen=True)
class Shortfall:
    """An output of which too few bytes were written; `due` are those that so many blocks should write."""

    output: str
    written: int
    due: int

    def __str__(self) -> str:
        amounts = f"{bytes_text(self.written)} of the {bytes_text(self.due)} of {self.output}"
        return f"the blocks that were run wrote {amounts} that so many blocks should write"


def bytes_written(allocation: Allocation, sectors: Integers) -> int:
    """How many bytes in these sectors were written, judged by some of them; all bytes if it was not tracked."""
    nbytes = int(sectors.size) * SECTOR
    if allocation.states is None or not nbytes:
        return nbytes
    some = sectors[:: sectors.size // LOOKED_AT | 1]  # an odd step meets every sector of patterns that repeat
    states = allocation.states.reshape(-1, SECTOR)[some]
    return nbytes * int(np.count_nonzero(states != ByteState.UNTOUCHED)) // states.size


def shortfall(parts: Sequence[LaunchWrites], due: Mapping[str, int]) -> Shortfall | None:
    """The first output that the launches together would not fill, if their other blocks wrote as much as those that
    ran; None without any. `due`: bytes that kernels should write of each output."""
    for name, size in due.items():
        reach = sum(part.reach(name) for part in parts)
        if reach < LEAST_REACH * size:
            written = sum(part.written.get(name, 0) for part in parts)
            return Shortfall(name, written, round(written * size / reach) if reach else size)
    return None


def last_shortfall(parts: Sequence[LaunchWrites], due: Mapping[str, int]) -> Shortfall | None:
    """The same of the launch alone that wrote an output last: only what it wrote is verified."""
    for name, size in due.items():
        last = [part for part in parts if name in part.written][-1:]
        if found := shortfall(last, {name: size}):
            return found
    return None


def can_run_whole(instructions: int, nbytes: int) -> bool:
    """Whether a run of all blocks takes neither too long nor too much memory. `instructions`: of all warps; `nbytes`:
    of all arrays."""
    return instructions <= MOST_WORK and nbytes <= ROOM * free_memory()
