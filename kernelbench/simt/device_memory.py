"""The simulated device's global memory: a reserved range of addresses with allocations and red zones.

Untouched pages take no memory, so a sample of blocks can run on arrays larger than the host's memory. The runtime
records accesses per 32-byte sector of each allocation and, on request, per byte.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.errors import DeviceError
from kernelbench.simt import interface, native
from kernelbench.simt.interface import CHUNK, GENERATOR_KINDS, GENERATOR_TYPES, PAGE, SECTOR, ByteState

ALIGNMENT = 4096  # of allocations; cudaMalloc guarantees 256
RED_ZONE = 1 << 20  # bytes around each allocation
RESERVED = 1 << 42  # bytes of addresses; less if the system refuses
LEAST_RESERVED = 1 << 28  # enough for small cases

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Generator:
    """How an input computes element i from (seed, i) alone. `kind` and its parameters: "normal" (mean, deviation),
    "uniform" (low, high; high excluded), "mask" (probability of 1, unused), "masked" (elements per row, step between
    them): normal, with -inf by the rule of distributions.hidden. Integers are rounded down."""

    kind: str
    dtype: str
    seed: int
    first: float = 0.0
    second: float = 1.0

    def mirror(self) -> interface.Generator:
        seed = self.seed & (2**64 - 1)
        kind, dtype = GENERATOR_KINDS.index(self.kind), GENERATOR_TYPES.index(self.dtype)
        return interface.Generator(kind, dtype, seed, self.first, self.second)


class Allocation:
    """`nbytes` of device memory at `address`.

    `role`: "input" and "variable" are initialised; others ("output", "scratch") are uninitialised until a kernel or
    `define` writes them. `read_only`: a kernel's write is a fault and has no effect. `read`, `written`: one byte per
    sector; `read` is 1 if the current launch read it, `written` is 0 if no kernel wrote it yet. `states`: one ByteState
    per byte, None until `track`. SOUND: the value is that of a whole run; UNSOUND: it depends on blocks that did not
    run.
    """

    def __init__(self, name: str, memory: Bytes, address: int, role: str, generator: Generator | None) -> None:
        self.name = name
        self.address = address
        self.nbytes = memory.size
        self.role = role
        self.read_only = False
        self.generator = generator
        self._memory = memory
        self.defined = role in ("input", "variable")
        self._unmark()
        self.states: Bytes | None = None
        self._chunks = np.zeros(-(-self.nbytes // CHUNK), np.uint8) if generator is not None else None

    def view(self, dtype: npt.DTypeLike = np.uint8, shape: Sequence[int] | None = None) -> npt.NDArray[Any]:
        """A view of the bytes. Elements of a generated input are valid only after `materialise`."""
        found = self._memory[: self.nbytes // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize].view(dtype)
        return found if shape is None else found.reshape(tuple(shape))

    def materialise(self, start: int = 0, stop: int | None = None) -> None:
        """Generate the elements in bytes [start, stop) of a generated input."""
        if self.generator is not None and self.nbytes:
            mirror = self.mirror()
            stop = self.nbytes if stop is None else min(stop, self.nbytes)
            native.runtime().simt_generate(ctypes.byref(mirror), self.address + start, self.address + stop)

    def generate(self, generator: Generator) -> None:
        """Take contents from `generator`, each chunk when it is touched first."""
        self.generator = generator
        self._chunks = np.zeros(-(-self.nbytes // CHUNK), np.uint8)

    def define(self) -> None:
        """Mark every byte as initialised and sound: the host wrote them."""
        self.defined = True
        self._unmark()
        self.states = None

    def _unmark(self) -> None:
        """Mark no sector, in new maps: clearing the old ones would touch all their memory."""
        sectors = -(-self.nbytes // SECTOR)
        pages = -(-sectors // PAGE)
        self._maps = _zeros(2 * pages * PAGE).reshape(2, -1)
        self._pages = np.zeros((2, pages), np.uint8)  # 1: the page of the map may have marks
        self.read, self.written = (one[:sectors] for one in self._maps)

    def written_sectors(self) -> npt.NDArray[np.int64]:
        """Indices of the sectors that kernels wrote."""
        pages = np.flatnonzero(self._pages[1])
        rows, columns = np.nonzero(self._maps[1].reshape(-1, PAGE)[pages])
        return pages[rows] * PAGE + columns

    def undefine(self) -> None:
        """Mark every byte as unwritten."""
        self.define()
        self.defined = self.role in ("input", "variable")

    def track(self) -> None:
        """Track the state of each byte from now on. Bytes written before count as sound."""
        if self.states is None:
            self.states = _zeros(self.written.size * SECTOR)
            before = self.written_sectors()
            if before.size:
                self.states.reshape(-1, SECTOR)[before] = ByteState.SOUND

    def take_marks(self) -> tuple[int, int]:
        """(sectors read, sectors written) since the last call."""
        take = native.runtime().simt_take_marks
        read, written = (
            take(marks.ctypes.data, pages.ctypes.data, pages.size, keep)
            for keep, (marks, pages) in enumerate(zip(self._maps, self._pages, strict=True))
        )
        return read, written

    def mirror(self) -> interface.Allocation:
        return interface.Allocation(
            begin=self.address,
            end=self.address + self.nbytes,
            read=self._maps[0].ctypes.data,
            written=self._maps[1].ctypes.data,
            read_pages=self._pages[0].ctypes.data,
            written_pages=self._pages[1].ctypes.data,
            states=None if self.states is None else self.states.ctypes.data,
            chunks=None if self._chunks is None else self._chunks.ctypes.data,
            defined=self.defined,
            read_only=self.read_only,
            generator=interface.Generator() if self.generator is None else self.generator.mirror(),
        )


class DeviceMemory:
    """Global memory of the simulated device. `allocations` are sorted by address."""

    def __init__(self) -> None:
        self._map, self._size = _reserve()
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._base = self._bytes.ctypes.data
        self.allocations: list[Allocation] = []

    @property
    def limited(self) -> bool:
        """Whether the system has fewer addresses for it than are asked for."""
        return self._size < RESERVED

    def allocate(self, name: str, nbytes: int, role: str, generator: Generator | None = None) -> Allocation:
        """Zeroed memory. Raises DeviceError if no addresses are left."""
        nbytes = max(nbytes, 0)
        index, offset = self._gap(nbytes)
        memory = self._bytes[offset : offset + nbytes]
        found = Allocation(name, memory, self._base + offset, role, generator)
        self.allocations.insert(index, found)
        return found

    def free(self, allocation: Allocation) -> None:
        """Return the memory to the system; views of it read zeros."""
        index = self._index(allocation)
        del self.allocations[index]
        self.discard(allocation)

    def discard(self, allocation: Allocation) -> None:
        """Zero an allocation by returning its pages to the system."""
        start = allocation.address - self._base
        if allocation.nbytes:
            self._map.madvise(mmap.MADV_DONTNEED, start, -(-allocation.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)

    def nearest(self, address: int) -> tuple[Allocation | None, int]:
        """The allocation nearest to an address, and the distance in bytes: negative before it, 0 inside, 1 for the
        first byte after it."""

        def distance(one: Allocation) -> int:
            if address < one.address:
                return address - one.address
            return max(0, address - (one.address + one.nbytes) + 1)

        best = min(self.allocations, key=lambda one: abs(distance(one)), default=None)
        return (None, 0) if best is None else (best, distance(best))

    def _index(self, allocation: Allocation) -> int:
        index = bisect_left(self.allocations, allocation.address, key=lambda one: one.address)
        if index == len(self.allocations) or self.allocations[index] is not allocation:
            raise DeviceError(f"{allocation.name} is not allocated any more")
        return index

    def _gap(self, nbytes: int) -> tuple[int, int]:
        """(index in `allocations`, offset) of the first gap that is large enough."""
        start = RED_ZONE
        for index, one in enumerate(self.allocations):
            if start + nbytes + RED_ZONE <= one.address - self._base:
                return index, start
            end = one.address - self._base + one.nbytes
            start = -(-(end + RED_ZONE) // ALIGNMENT) * ALIGNMENT
        if start + nbytes + RED_ZONE > self._size:
            raise DeviceError(f"the simulator cannot give {nbytes} bytes more of its {self._size} bytes of addresses")
        return len(self.allocations), start


def _zeros(nbytes: int) -> Bytes:
    """Zeros that take memory only when written, in small pages. NumPy would use large pages, of which a sample
    touches many."""
    if nbytes < mmap.PAGESIZE:
        return np.zeros(nbytes, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return np.frombuffer(mmap.mmap(-1, nbytes, flags=flags), np.uint8)


def _reserve() -> tuple[mmap.mmap, int]:
    """A reserved range of addresses, and its size. If a limit forbids RESERVED, half of what it allows stays free for
    libraries, threads and compilers."""
    size = RESERVED
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    while True:
        try:
            found = mmap.mmap(-1, size, flags=flags)
        except OSError:
            size //= 2
            if size < LEAST_RESERVED:
                raise DeviceError(
                    f"the simulator cannot reserve {LEAST_RESERVED >> 20} MiB of addresses; raise the limit on the "
                    "memory of a process (`ulimit -v`)"
                ) from None
            continue
        if size in (RESERVED, LEAST_RESERVED):
            return found, size
        found.close()
        return mmap.mmap(-1, size // 2, flags=flags), size // 2


def free_memory() -> int:
    """Memory that new arrays may take: free, or used by the system for caching only."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
