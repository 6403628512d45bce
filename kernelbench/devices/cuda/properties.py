"""The properties of a GPU as CUDA reports them."""

from __future__ import annotations

import cupy
from cupy.cuda import runtime
from cupy_backends.cuda.api.runtime import CUDARuntimeError

from kernelbench.core.errors import NoDevice
from kernelbench.core.records import DeviceProperties


def existing_device(number: int) -> int:
    try:
        count = runtime.getDeviceCount()
    except CUDARuntimeError as error:
        raise NoDevice(f"no GPU, or no driver for it; the CUDA runtime answers '{error}'.") from error
    if number >= count:
        raise NoDevice(f"cuda:{number} was asked for, but there {'is' if count == 1 else 'are'} only {count} here.")
    return number


def properties_of(number: int) -> DeviceProperties:
    values = runtime.getDeviceProperties(number)
    attributes = cupy.cuda.Device(number).attributes
    bus_bytes = attributes["GlobalMemoryBusWidth"] / 8
    return DeviceProperties(
        name=values["name"].decode(),
        compute_capability=(values["major"], values["minor"]),
        multiprocessors=values["multiProcessorCount"],
        l2_bytes=values["l2CacheSize"],
        memory_bytes=values["totalGlobalMem"],
        peak_bytes_per_s=2.0 * attributes["MemoryClockRate"] * 1e3 * bus_bytes,
        max_threads_per_multiprocessor=values["maxThreadsPerMultiProcessor"],
        max_blocks_per_multiprocessor=attributes["MaxBlocksPerMultiprocessor"],
        registers_per_multiprocessor=values["regsPerMultiprocessor"],
        shared_per_multiprocessor=values["sharedMemPerMultiprocessor"],
        shared_per_block=values["sharedMemPerBlock"],
        shared_per_block_optin=values["sharedMemPerBlockOptin"],
        shared_reserved_per_block=attributes["ReservedSharedMemoryPerBlock"],
        max_grid=tuple(values["maxGridSize"]),
        max_threads_per_block=values["maxThreadsPerBlock"],
        warp_size=values["warpSize"],
        max_clock_hz=1e3 * attributes.get("ClockRate", 0),
    )
