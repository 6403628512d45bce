"""Memory of the simulated device: one reserved range of addresses, allocations apart from each other in it.

Pages that nobody touches cost nothing, so that arrays larger than memory can be sampled. Each allocation has maps
of its 32-byte sectors and, where asked, of its bytes; the runtime writes them.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.errors import DeviceError
from kernelbench.simt import interface, native
from kernelbench.simt.interface import CHUNK, GENERATOR_KINDS, GENERATOR_TYPES, SECTOR, ByteState

ALIGNMENT = 4096  # of the first byte; cudaMalloc gives at least 256
RED_ZONE = 1 << 20  # bytes before and after an allocation that belong to nobody
RESERVED = 1 << 42  # bytes of addresses asked for; less where the system refuses
LEAST_RESERVED = 1 << 28  # with which small cases can be run

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Generator:
    """How an input makes element i from (seed, i) alone. `kind` and its parameters: "normal" (mean, deviation),
    "uniform" (low, high; high is not reached), "mask" (probability of 1, unused), "masked" (elements of a row, step
    between them): normal, with -inf as distributions.hidden has it. Integers are rounded down."""

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

    `role`: "input" and "variable" hold values from the start; any other ("output", "scratch") is undefined where
    no kernel and no `define` wrote. `read_only`: a kernel that writes to it commits a fault, and nothing is written.
    `read`, `written`: one byte per sector; 1 in `read` during a launch; `written` is 0 where no kernel ever wrote.
    `states`: one per byte, or None until `track`: SOUND where a kernel wrote what a whole run would have written,
    UNSOUND where it depends on blocks that did not run.
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
        sectors = -(-self.nbytes // SECTOR)
        self._maps = _zeros(2 * -(-sectors // 8) * 8).reshape(2, -1)
        self.read, self.written = (one[:sectors] for one in self._maps)
        self.states: Bytes | None = None
        self._chunks = np.zeros(-(-self.nbytes // CHUNK), np.uint8) if generator is not None else None

    def view(self, dtype: npt.DTypeLike = np.uint8, shape: Sequence[int] | None = None) -> npt.NDArray[Any]:
        """The bytes themselves. Elements of a generated input are there only after `materialise`."""
        found = self._memory[: self.nbytes // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize].view(dtype)
        return found if shape is None else found.reshape(tuple(shape))

    def materialise(self, start: int = 0, stop: int | None = None) -> None:
        """Make sure that bytes [start, stop) of a generated input hold their elements."""
        if self.generator is not None and self.nbytes:
            mirror = self.mirror()
            stop = self.nbytes if stop is None else min(stop, self.nbytes)
            native.runtime().simt_generate(ctypes.byref(mirror), self.address + start, self.address + stop)

    def generate(self, generator: Generator) -> None:
        """Hold from here on what `generator` makes, each chunk at its first touch."""
        self.generator = generator
        self._chunks = np.zeros(-(-self.nbytes // CHUNK), np.uint8)

    def define(self) -> None:
        """The host wrote all of it: every byte counts as defined and sound."""
        self.defined = True
        self._maps = _zeros(self._maps.size).reshape(2, -1)  # fresh pages: clearing the old ones would touch them all
        self.read, self.written = (one[: self.read.size] for one in self._maps)
        self.states = None

    def undefine(self) -> None:
        """What it holds no longer means anything: no byte counts as written."""
        self.define()
        self.defined = self.role in ("input", "variable")

    def track(self) -> None:
        """Keep the state of each byte from here on. Bytes written before count as sound."""
        if self.states is None:
            self.states = _zeros(self.written.size * SECTOR)
            before = np.flatnonzero(self.written)
            if before.size:
                self.states.reshape(-1, SECTOR)[before] = ByteState.SOUND

    def take_marks(self) -> tuple[int, int]:
        """(sectors read, sectors written) since the last call."""
        take = native.runtime().simt_take_marks
        read, written = (one.ctypes.data for one in self._maps)
        return take(read, self._maps.shape[1], 0), take(written, self._maps.shape[1], 1)

    def mirror(self) -> interface.Allocation:
        return interface.Allocation(
            begin=self.address,
            end=self.address + self.nbytes,
            read=self._maps[0].ctypes.data,
            written=self._maps[1].ctypes.data,
            states=None if self.states is None else self.states.ctypes.data,
            chunks=None if self._chunks is None else self._chunks.ctypes.data,
            defined=self.defined,
            read_only=self.read_only,
            generator=interface.Generator() if self.generator is None else self.generator.mirror(),
        )


class DeviceMemory:
    """Hands out allocations, in the order of their addresses in `allocations`."""

    def __init__(self) -> None:
        self._map, self._size = _reserve()
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._base = self._bytes.ctypes.data
        self.allocations: list[Allocation] = []

    def allocate(self, name: str, nbytes: int, role: str, generator: Generator | None = None) -> Allocation:
        """Zeroed memory. Raises DeviceError where there are no addresses left."""
        nbytes = max(nbytes, 0)
        index, offset = self._gap(nbytes)
        memory = self._bytes[offset : offset + nbytes]
        found = Allocation(name, memory, self._base + offset, role, generator)
        self.allocations.insert(index, found)
        return found

    def free(self, allocation: Allocation) -> None:
        """Its memory goes back to the system; views of it read zeros."""
        index = self._index(allocation)
        del self.allocations[index]
        self.discard(allocation)

    def discard(self, allocation: Allocation) -> None:
        """Its bytes are zeros again, and its pages the system's, until somebody touches them."""
        start = allocation.address - self._base
        if allocation.nbytes:
            self._map.madvise(mmap.MADV_DONTNEED, start, -(-allocation.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)

    def clear(self) -> None:
        for allocation in list(self.allocations):
            self.free(allocation)

    def find(self, address: int) -> Allocation | None:
        """The allocation that holds `address`."""
        near, distance = self.nearest(address)
        return near if near is not None and distance == 0 else None

    def nearest(self, address: int) -> tuple[Allocation | None, int]:
        """The allocation nearest to an address, and how far: bytes before it (negative) or after its end (from 1
        for the byte right behind it), 0 inside."""

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
        """(place in the list, offset) of the first hole that is large enough."""
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
    """Zeros that take memory only where they are written, in small pages: NumPy asks for large ones, and a sample
    touches a little of many."""
    if nbytes < mmap.PAGESIZE:
        return np.zeros(nbytes, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return np.frombuffer(mmap.mmap(-1, nbytes, flags=flags), np.uint8)


def _reserve() -> tuple[mmap.mmap, int]:
    """Addresses, and how many. Where not all can be had there is a limit, and half of what fits is left to others:
    to libraries, threads and compilers."""
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
