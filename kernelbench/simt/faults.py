"""Describes each fault of a kernel in one sentence with its source line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy.typing as npt

from kernelbench.simt import ir
from kernelbench.simt.device_memory import DeviceMemory
from kernelbench.simt.interface import (
    BULK_UNIT,
    COUNT_BITS,
    FAULT_KINDS,
    LOCAL_WINDOW,
    PARAMETER_WINDOW,
    SHARED_WINDOW,
    TRANSACTION_BITS,
    WINDOW_RANK_SHIFT,
    WINDOW_SHIFT,
)

# Races that programs rely on: reported, but no errors.
NOTES = frozenset(("same_value_race", "checked_race", "volatile_race"))

TENSOR_ALIGNMENT = 128  # bytes, of a box in shared memory
TEXTS = {
    "uninitialised_global": "read of uninitialised memory: {place}",
    "uninitialised_shared": "read of uninitialised shared memory: {place}",
    "uninitialised_local": "read of uninitialised local memory: {place}",
    "shared_race": "two warps access shared memory with no barrier between them, one of them writes: {place}",
    "warp_race": "two lanes of a warp access shared memory, no __syncwarp between them, one of them writes: {place}",
    "divergent_barrier": "a barrier that only some of the warp's threads reach",
    "inactive_lane": "a shuffle, vote or match names or reads a lane that does not participate",
    "endless": "the block does not end: its budget of instructions is used up",
    "deadlock": "deadlock: all remaining warps wait or loop, and nothing changes",
    "trapped": "trap",
    "assertion": "an assertion failed",
    "invalid_operand": "operand out of range: {number}",
    "unwritten_window": "access to the shared memory of block {rank}, which the cluster does not have: {place}",
    "no_mbarrier": "not an mbarrier: it was not initialised, or it was overwritten: {place}",
    "mbarrier_count": "more arrivals or bytes than the mbarrier expects or can count: {place}",
    "mbarrier_elsewhere": "the mbarrier is in the shared memory of the wrong block: {place}",
    "mbarrier_deadlock": "deadlock: no remaining warp will complete the phase of this mbarrier: {missing}",
    "input_write": "write to an input: {place}",
    "same_value_race": "note: several threads store the same value with no barrier between them, which is a race in "
    "C++ but has one result: {place}",
    "checked_race": "note: a plain read races with atomics, and a compare-and-swap checks its value: {place}",
    "volatile_race": "note: a volatile read races with the write that it waits for, which works on a GPU but is "
    "undefined in C++; use cuda::atomic_ref: {place}",
    "bad_free": "free of memory that malloc did not give, or that is free already: {place}",
    "stack_overflow": "stack overflow: the call of {function} is nested {number} deep, which takes more than the "
    "thread's stack (cudaLimitStackSize)",
    "matrix_descriptor": "a matrix descriptor with a base offset, or whose swizzled pattern does not start at a "
    "multiple of 256 (32B), 512 (64B) or 1024 bytes (128B): 0x{number:x}",
    "no_tensor_map": "no tensor map for this number of axes at a multiple of 64 bytes: 0x{number:x}",
    "bulk_size": "a bulk copy of {number} bytes, which is not a multiple of 16",
}


@dataclass(frozen=True)
class Fault:
    """The first occurrence by block index; `count`: lanes with this fault at this instruction, and at others of its
    line of which the same is said."""

    kind: str
    instruction: ir.Instruction
    index: int  # of the instruction in the kernel
    block: int  # linear
    warp: int
    lane: int
    address: int
    count: int
    text: str

    def __str__(self) -> str:
        return self.text


def describe_faults(
    records: npt.NDArray[Any], sources: Sequence[ir.Instruction], memory: DeviceMemory, shared_bytes: int
) -> tuple[Fault, ...]:
    """Converts records of the runtime (interface.FAULTS), which are sorted by block."""
    found: dict[str, Fault] = {}
    for record in records:
        one = _fault(record, sources, memory, shared_bytes)
        before = found.get(one.text)
        found[one.text] = replace(before, count=before.count + one.count) if before else one
    return tuple(
        replace(one, text=f"{one.text}; {one.count} times") if one.count > 1 else one for one in found.values()
    )


def _fault(record: Any, sources: Sequence[ir.Instruction], memory: DeviceMemory, shared_bytes: int) -> Fault:
    kind = FAULT_KINDS[int(record["kind"])]
    index = min(int(record["source"]), len(sources) - 1)
    one = sources[index]
    block, warp, lane, address, count = (int(record[name]) for name in ("block", "warp", "lane", "address", "count"))
    what = _what(kind, one, address, memory, shared_bytes)
    text = f"{_where(one)}: {what}; block {block} warp {warp} lane {lane}"
    return Fault(kind, one, index, block, warp, lane, address, count, text)


def _where(one: ir.Instruction) -> str:
    if one.source is not None:
        return f"{PurePath(one.source.file).name}:{one.source.line}"
    return f"ptx line {one.ptx_line} '{one.text}'"


def _what(kind: str, one: ir.Instruction, address: int, memory: DeviceMemory, shared_bytes: int) -> str:
    if kind in ("out_of_bounds_read", "out_of_bounds_write", "misaligned"):
        bulk = one.opcode[0] == "cp" and "bulk" in one.opcode
        access = f"bulk {_verb(kind, one)}" if bulk else f"{_verb(kind, one)} of {access_bytes(one)} bytes"
        place = _place(address, memory, shared_bytes)
        if kind == "misaligned":
            return f"{access} at an address that is not a multiple of {access_bytes(one)}: {place}"
        return f"{access} outside every array: {place}"
    if kind == "deadlock" and one.opcode[0] in ("bar", "barrier"):
        return "deadlock: all remaining warps wait at a barrier that no other warp will reach"
    if kind == "mbarrier_deadlock":
        return TEXTS[kind].format(missing=_missing(address))
    if kind == "stack_overflow":
        called = next((operand.name for operand in one.operands if isinstance(operand, ir.Symbol)), "")
        return TEXTS[kind].format(function=called, number=address)
    rank = (address >> WINDOW_RANK_SHIFT) % (1 << WINDOW_SHIFT - WINDOW_RANK_SHIFT)
    return TEXTS[kind].format(place=_place(address, memory, shared_bytes), number=address, rank=rank)


def _missing(bits: int) -> str:
    """What an mbarrier still waits for. Surplus bytes are stored as a negative number."""
    arrivals = bits >> COUNT_BITS & ((1 << COUNT_BITS) - 1)
    outstanding = bits >> 2 * COUNT_BITS & ((1 << TRANSACTION_BITS) - 1)
    outstanding -= (outstanding >> (TRANSACTION_BITS - 1)) << TRANSACTION_BITS
    surplus = f"{-outstanding} unexpected bytes arrived"
    return f"{arrivals} arrivals missing, {surplus if outstanding < 0 else f'{outstanding} bytes missing'}"


def _verb(kind: str, one: ir.Instruction) -> str:
    if one.opcode[0] in ("atom", "red"):
        return "atomic update"
    return "write" if kind == "out_of_bounds_write" or one.opcode[0] in ("st", "stmatrix") else "read"


def access_bytes(one: ir.Instruction) -> int:
    """Bytes per lane of a memory instruction."""
    if one.opcode[0] == "mbarrier":
        return 8
    if one.opcode[0] == "cp" and "tensor" in one.opcode:
        return TENSOR_ALIGNMENT
    if (one.opcode[0] == "cp" and "bulk" in one.opcode) or one.opcode[0] in ("ldmatrix", "stmatrix", "wgmma"):
        return BULK_UNIT
    if one.opcode[0] == "wmma":
        return max(4, ir.TYPE_BYTES.get(one.opcode[-1], 1))
    if one.opcode[:2] == ("cp", "async"):
        sizes = [operand.value for operand in one.operands[2:3] if isinstance(operand, ir.Immediate)]
        return sizes[0] if sizes else 1
    elements = next((int(part[1:]) for part in one.opcode if part in ("v2", "v4", "v8")), 1)
    return elements * ir.TYPE_BYTES.get(one.opcode[-1], 1)


def _place(address: int, memory: DeviceMemory, shared_bytes: int) -> str:
    window, offset = address >> WINDOW_SHIFT << WINDOW_SHIFT, address & 0xFFFFFFFF
    if window == SHARED_WINDOW:
        return f"byte {offset} of {shared_bytes} of shared memory"
    if window == LOCAL_WINDOW:
        return f"byte {offset} of the thread's local memory"
    if window == PARAMETER_WINDOW:
        return f"byte {offset} of the kernel's parameters"
    if address < 1 << 16:
        return f"0x{address:x}, a null pointer or nearly"
    near, distance = memory.nearest(address)
    if near is None:
        return f"0x{address:x}"
    if distance == 0:
        return f"0x{address:x}, byte {address - near.address} of {near.name} ({near.nbytes} bytes)"
    if distance < 0:
        return f"0x{address:x} is {-distance} bytes before {near.name}"
    after = distance - 1
    return f"0x{address:x} is {f'{after} bytes' if after else 'right'} after the end of {near.name}"
