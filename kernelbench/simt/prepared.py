"""Converts programs into the runtime's structures, and checks a launch's configuration, arguments and blocks."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.errors import DeviceError
from kernelbench.core.launching import too_many_threads
from kernelbench.simt import interface, ir, native
from kernelbench.simt.device_memory import Allocation
from kernelbench.simt.faults import access_bytes
from kernelbench.simt.interface import LANES
from kernelbench.simt.lower.program import Program

ACCESSES = {"ld", "ldu", "st", "atom", "red", "cp", "mbarrier", "ldmatrix", "stmatrix"}
OTHER_SPACES = {"local", "const", "param", "param::func", "param::entry"}
LARGEST_GRANULE = 8  # bytes; an mbarrier has as many
LARGEST_GRID = (2**31 - 1, 65535, 65535)
LARGEST_BLOCK = (1024, 1024, 64)
LARGEST_THREADS = 1024
LARGEST_CLUSTER = 16
LARGEST_SHARED = 232448  # 227 KiB, the most that a block gets on any GPU that nvcc supports


@dataclass(frozen=True)
class LaunchConfiguration:
    """A checked launch configuration. `shared_bytes`: static and dynamic."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    dynamic_bytes: int


class PreparedProgram:
    """The runtime's arrays for a program, which all its launches share. The code serves all machines: the runtime
    only reads it, and no address of a machine's memory is in it."""

    def __init__(self, program: Program, sanitize: bool = False) -> None:
        self.program = program
        self._code = program.made.get(sanitize) or program.made.setdefault(sanitize, _code(program, sanitize))
        self._image = np.zeros(max(program.register_bytes, 1), np.uint8)
        self._image[program.image_offset : program.image_offset + len(program.image)] = np.frombuffer(
            program.image, np.uint8
        )
        self._zeroed = np.array(list(program.zeroed), interface.RANGES)
        self._specials = np.array(
            [(interface.SPECIALS.index(one.name), one.offset) for one in program.specials], interface.SPECIAL_SLOTS
        )
        self._table = np.array(program.table, np.uint32)
        self.prints, self.allocates = (
            any(one.operation == name for one in program.code) for name in ("printf", "malloc")
        )
        self._granule_shift = _granule(program.sources).bit_length() - 1

    def patch(self, addresses: Mapping[str, int]) -> None:
        """Write the addresses of module variables into their constants."""
        for one in self.program.patches:
            value = (addresses[one.symbol] + one.addend) >> one.shift & ((1 << (8 * one.bytes)) - 1)
            lane = np.frombuffer(value.to_bytes(one.bytes, "little"), np.uint8)
            self._image[one.offset : one.offset + LANES * one.bytes] = np.tile(lane, LANES)

    def launch(self) -> interface.Launch:
        """A Launch with the fields that depend only on the program."""
        program = self.program
        return interface.Launch(
            code=ctypes.addressof(self._code),
            image=self._image.ctypes.data,
            zeroed=self._zeroed.ctypes.data,
            specials=self._specials.ctypes.data,
            table=self._table.ctypes.data,
            code_count=len(program.code),
            source_count=len(program.sources),
            register_bytes=program.register_bytes,
            predicate_count=program.predicates,
            zeroed_count=len(program.zeroed),
            special_count=len(program.specials),
            table_count=len(program.table),
            ordered=program.ordered,
            granule_shift=self._granule_shift,
            reserved_offset=program.reserved[0],
            reserved_bytes=program.reserved[1],
        )


def _code(program: Program, sanitize: bool) -> ctypes.Array[interface.Instruction]:
    addresses = {name: native.operation(name, sanitize) for name in {one.operation for one in program.code} if name}
    return (interface.Instruction * len(program.code))(
        *(
            interface.Instruction(
                addresses.get(one.operation),
                *(one.d, one.a, one.b, one.c, one.e, one.f, (interface.u32 * 8)(*one.x), one.immediate),
                *(one.guard, one.negated, one.kind, one.target, one.reconverge, index),
            )
            for index, one in enumerate(program.code)
        )
    )


def _granule(sources: Sequence[ir.Instruction]) -> int:
    """Bytes of the smallest access that may be to shared memory."""
    accesses = [one for one in sources if one.opcode[0] in ACCESSES and not OTHER_SPACES & set(one.opcode)]
    if any(one.opcode[:2] in (("wmma", "load"), ("wmma", "store")) for one in sources):
        return 1  # elements of a fragment may not be adjacent
    return min([LARGEST_GRANULE, *map(access_bytes, accesses)])


def launch_configuration(
    program: Program,
    grid: Sequence[int],
    block: Sequence[int],
    cluster: Sequence[int] | None,
    shared_bytes: int,
    most_shared: int = LARGEST_SHARED,
) -> LaunchConfiguration:
    """The configuration; DeviceError names a limit that it exceeds. `most_shared`: bytes that a block gets at most."""
    asked = tuple(cluster) if cluster is not None else program.cluster or (1, 1, 1)
    found = LaunchConfiguration(
        _axes("grid", grid, LARGEST_GRID),
        _axes("block", block, LARGEST_BLOCK),
        _axes("cluster", asked, (LARGEST_CLUSTER,) * 3),
        program.dynamic_offset + shared_bytes if shared_bytes else program.static_shared_bytes,
        shared_bytes,
    )
    threads = prod(found.block)
    if threads > LARGEST_THREADS:
        raise DeviceError(f"kernel {program.name}: expected at most {LARGEST_THREADS} threads per block, got {threads}")
    if program.max_threads and threads > prod(program.max_threads):
        raise DeviceError(too_many_threads(program.name, prod(program.max_threads), threads))
    required = (*program.required_threads, 1, 1, 1)[:3]
    if program.required_threads and found.block != required:  # a GPU compares axis by axis
        raise DeviceError(f"kernel {program.name}: expected exactly {required} threads per block, got {found.block}")
    if not 0 <= found.shared_bytes <= most_shared or shared_bytes < 0:
        raise DeviceError(
            f"kernel {program.name}: expected 0 to {most_shared} bytes of shared memory per block, got "
            f"{found.shared_bytes - shared_bytes} of the kernel's own and {shared_bytes} of the launch"
        )
    uneven = [axis for axis in range(3) if found.grid[axis] % found.cluster[axis]]
    if uneven or prod(found.cluster) > LARGEST_CLUSTER:
        raise DeviceError(
            f"kernel {program.name}: grid {found.grid} in clusters of {found.cluster}; expected whole clusters, "
            f"of at most {LARGEST_CLUSTER} blocks each"
        )
    return found


def _axes(name: str, given: Sequence[int], largest: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*(int(one) for one in given), 1, 1, 1)[:3]
    if len(given) > 3 or not all(1 <= one <= most for one, most in zip((x, y, z), largest, strict=True)):
        raise DeviceError(f"{name} {tuple(given)}: expected {axis_limits(largest)}")
    return x, y, z


def axis_limits(largest: Sequence[int]) -> str:
    """What each axis may be, in words."""
    return ", ".join(f"1 to {most} along {axis}" for axis, most in zip("xyz", largest, strict=True))


def parameter_block(program: Program, arguments: Sequence[Any]) -> bytes:
    """The parameter block; DeviceError if the number or the sizes of the arguments are wrong."""
    if len(arguments) != len(program.parameters):
        raise DeviceError(f"kernel {program.name}: {len(arguments)} arguments for {len(program.parameters)} parameters")
    packed = bytearray(program.parameter_bytes)
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        value = _bytes_of(argument, parameter)
        if value is None or len(value) != parameter.bytes:
            raise DeviceError(
                f"kernel {program.name}: parameter {parameter.name} takes {parameter.bytes} bytes, got {argument!r}"
            )
        packed[parameter.offset : parameter.offset + parameter.bytes] = value
    return bytes(packed)


def _bytes_of(argument: Any, parameter: ir.Parameter) -> bytes | None:
    if isinstance(argument, Allocation):
        argument = argument.address
    if isinstance(argument, (bytes, bytearray, memoryview)):
        return bytes(argument)
    if isinstance(argument, np.generic):
        return argument.tobytes()
    if isinstance(argument, bool) or not isinstance(argument, (int, float)):
        return None
    if isinstance(argument, float):
        return struct.pack("<d" if parameter.bytes == 8 else "<f", argument)
    return (argument & ((1 << (8 * parameter.bytes)) - 1)).to_bytes(parameter.bytes, "little")


def together_of(extent: LaunchConfiguration, group: int) -> int:
    """Number of co-resident blocks. DeviceError if the grid is not a multiple of it."""
    total, cluster = prod(extent.grid), prod(extent.cluster)
    if group < 1 or total % group:
        raise DeviceError(f"{total} blocks cannot run in groups of {group}: expected a grid of whole groups")
    if 1 < group < total and cluster > 1:
        raise DeviceError(f"groups of {group} blocks in clusters of {cluster}: expected either groups or clusters")
    return max(group, cluster)


def chosen_blocks(
    extent: LaunchConfiguration, blocks: Sequence[int] | npt.NDArray[Any] | None, together: int
) -> npt.NDArray[np.uint64]:
    """The blocks to run in ascending order, with those of a cluster next to each other."""
    total, cluster = prod(extent.grid), prod(extent.cluster)
    if blocks is None:
        every = np.arange(total, dtype=np.uint64)
    else:
        every = np.unique(np.asarray(blocks, np.int64))
        if every.size and not 0 <= every[0] <= every[-1] < total:
            raise DeviceError(f"no block {every[-1] if every[0] >= 0 else every[0]}: expected 0 to {total - 1}")
        if together > cluster and (np.unique(every // together, return_counts=True)[1] != together).any():
            raise DeviceError(f"{together} blocks wait for each other: all of them must run, or none")
        every = every.astype(np.uint64)
    if cluster == 1:
        return every
    return _by_cluster(extent, every)


def _by_cluster(extent: LaunchConfiguration, blocks: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """All blocks of the clusters that contain a chosen block, ordered by rank within each cluster."""
    grid, cluster = extent.grid[::-1], extent.cluster[::-1]  # z slowest
    places = np.stack(np.unravel_index(blocks.astype(np.int64), grid), axis=1)
    first = np.unique(places // cluster, axis=0) * cluster  # [clusters, zyx]
    inside = np.stack(np.unravel_index(np.arange(prod(cluster)), cluster), axis=1)
    zyx = (first[:, None, :] + inside).reshape(-1, 3).T
    return np.asarray(np.ravel_multi_index(tuple(zyx), grid), np.uint64)
