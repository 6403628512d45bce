"""One GPU: memory with red zones, modules and launches, on one non-blocking stream."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy
import numpy as np
from cupy.cuda import driver, runtime

from kernelbench.core import dtypes
from kernelbench.core.contracts import LARGE_SCRATCH_BYTES, POISON_BYTE, Executable
from kernelbench.core.differences import Differences
from kernelbench.core.records import (
    Arrays,
    ArraySpec,
    Binary,
    Case,
    Implementation,
    Launch,
    LaunchPlan,
    Tolerance,
)
from kernelbench.devices.cuda import array_kernels
from kernelbench.devices.cuda.clock import CudaClock
from kernelbench.devices.cuda.failures import cuda_errors, library_call
from kernelbench.devices.cuda.host import host_call
from kernelbench.devices.cuda.properties import existing_device, properties_of
from kernelbench.devices.cuda.tensor_maps import argument_of
from kernelbench.devices.cuda_context import STREAMS, Chain, choose_context
from kernelbench.devices.nvml import open_nvml

RED_ZONE_BYTES = 4096  # on each side of every array; keeps arrays aligned like those of cudaMalloc
RED_ZONE_BYTE = 0xA5
FILL_ELEMENTS = 2**26  # inputs are drawn in pieces of this size, each with a seed of its own
NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14  # the driver's attribute that allows clusters of 16 blocks instead of 8
FLUSH_LEAST_BYTES = 64 * 2**20
# Large arrays begin at different multiples of LEAD_STEP_BYTES. With input and output at multiples of hundreds of
# megabytes, a kernel with one thread per row took 120 to 131 ms over 8.6 GB; with different places 117 to 122 ms.
LEAD_STEP_BYTES, LEAD_STEPS = 2 * 2**20, 127
LEAD_FROM_BYTES = 2**30


class CudaDevice:
    """One GPU; see contracts.Device."""

    def __init__(self, number: int) -> None:
        self._nvml = open_nvml(runtime.deviceGetPCIBusId(existing_device(number)))
        self._contexts = choose_context(number)
        self._device = cupy.cuda.Device(number)
        self._device.use()
        self.properties = properties_of(number)
        self.name = self.properties.name
        self.xp = cupy
        self.stream, self._chain_s = _cheapest_stream()
        self.stream.use()
        self._modules: dict[str, Any] = {}
        self._pools: dict[int, Any] = {}  # by id of their arrays
        self._scratch: dict[int, Any] = {}  # by id of its arrays
        self._zones: list[tuple[str, Any, Any]] = []
        self._allocated = 0  # large arrays so far
        self.clock = CudaClock(self.stream, max(2 * self.properties.l2_bytes, FLUSH_LEAST_BYTES))

    # ---- Memory ----

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        arrays: dict[str, Any] = {}
        for spec in specs:
            with cuda_errors(f"allocating {spec.nbytes} bytes for {spec.name}"):
                room = -(-spec.nbytes // 512) * 512
                lead = self._lead_bytes(spec.nbytes)
                memory = cupy.cuda.alloc(lead + room + 2 * RED_ZONE_BYTES) + lead
                memory.memset_async(RED_ZONE_BYTE, room + 2 * RED_ZONE_BYTES, cupy.cuda.get_current_stream())
            arrays[spec.name] = cupy.ndarray(spec.shape, dtypes.storage(spec.dtype), memory + RED_ZONE_BYTES)
            before = cupy.ndarray((RED_ZONE_BYTES,), np.uint8, memory)
            after_bytes = room - spec.nbytes + RED_ZONE_BYTES
            after = cupy.ndarray((after_bytes,), np.uint8, memory + RED_ZONE_BYTES + spec.nbytes)
            self._zones.append((spec.name, before, after))
        return arrays

    def _lead_bytes(self, nbytes: int) -> int:
        """Bytes left free in front of an array, different for each large one."""
        if nbytes < LEAD_FROM_BYTES:
            return 0
        self._allocated += 1
        return 37 * self._allocated % LEAD_STEPS * LEAD_STEP_BYTES

    def fill(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> None:
        for position, spec in enumerate(specs):
            if spec.role != "input":
                continue
            flat = arrays[spec.name].reshape(-1)
            for start in range(0, flat.size, FILL_ELEMENTS):
                piece = flat[start : start + FILL_ELEMENTS]
                with cuda_errors(f"filling {spec.name}"):
                    piece[...] = _piece_of(spec, position, start, piece.size, seed)
        cupy.cuda.get_current_stream().synchronize()

    def poison(self, arrays: Arrays, specs: Sequence[ArraySpec]) -> None:
        for spec in specs:
            if spec.role == "output":
                arrays[spec.name].data.memset_async(POISON_BYTE, spec.nbytes, self.stream)

    def swap_contents(self, first: Any, second: Any, dtype: str) -> None:
        self.stream.use()  # not as a context: leaving one makes the default stream the current one
        with cuda_errors("changing inputs"):
            array_kernels.swap_contents(first, second, dtype)

    def digest(self, array: Any) -> Any:
        self.stream.use()
        with cuda_errors("reading arrays"):
            return array_kernels.Digest(array, self.stream)

    def changed(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> str:
        for position, spec in enumerate(specs):
            flat = arrays[spec.name].reshape(-1)
            for start in range(0, flat.size if spec.role == "input" else 0, FILL_ELEMENTS):
                piece = flat[start : start + FILL_ELEMENTS]
                made = _piece_of(spec, position, start, piece.size, seed)
                if (first := array_kernels.first_difference(piece, made)) is not None:
                    return spec.element(start + first)
        return ""

    def compare(self, got: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
        return array_kernels.compare(got, dtype, expected, tolerance)

    def red_zone_damage(self) -> str:
        zones = [zone for _, before, after in self._zones for zone in (before, after)]
        if not zones or bool((cupy.concatenate(zones) == RED_ZONE_BYTE).all()):
            return ""
        damaged = [
            name
            for name, before, after in self._zones
            if (before != RED_ZONE_BYTE).any() or (after != RED_ZONE_BYTE).any()
        ]
        for zone in zones:
            zone.fill(RED_ZONE_BYTE)
        return ", ".join(dict.fromkeys(damaged))

    def free_bytes(self) -> int:
        free, _ = runtime.memGetInfo()
        return int(free + cupy.get_default_memory_pool().free_bytes())

    def release(self) -> None:
        self._scratch.clear()
        self._zones.clear()
        with cuda_errors("giving memory back"):
            for pool in (*self._pools.values(), cupy.get_default_memory_pool()):
                pool.free_all_blocks()
            if "torch" in sys.modules:  # PyTorch keeps memory that it has freed
                sys.modules["torch"].cuda.empty_cache()
        self._pools.clear()

    # ---- Launching ----

    def executable(
        self,
        implementation: Implementation,
        case: Case,
        plan: LaunchPlan | None,
        binary: Binary | None,
        arrays: Arrays,
    ) -> Executable:
        stream = self.stream
        if implementation.prepare is not None:
            prepare = implementation.prepare
            with self._own_memory(arrays):
                call = library_call(lambda: prepare(case, arrays, stream.ptr), f"preparing {implementation.name}")()

            def run() -> Any:
                with self._own_memory(arrays):
                    return call()

            return library_call(run, f"launching {implementation.name}")
        assert plan is not None
        assert binary is not None
        plan.check_alignment({name: array.data.ptr for name, array in arrays.items()})
        buffers = {**arrays, **self._scratch_buffers(plan, id(arrays))}
        if plan.host is not None:
            return host_call(plan.host, binary, buffers, stream.ptr, f"launching {implementation.name}")
        with cuda_errors(f"loading {implementation.name}"):
            module = self._module(binary)
            calls = [self._bind(module, launch, buffers, stream) for launch in plan.launches]

        def submit() -> None:
            with cuda_errors(f"launching {implementation.name}"):
                for call in calls:
                    call()

        return submit

    def _own_memory(self, arrays: Arrays) -> AbstractContextManager[None]:
        """Let CuPy allocate from a pool for these arrays, unless they are large: each copy of a case's arrays then has
        its own work arrays, as it has its own scratch."""
        if sum(array.nbytes for array in arrays.values()) > LARGE_SCRATCH_BYTES:
            return nullcontext()
        pool = self._pools.setdefault(id(arrays), cupy.cuda.MemoryPool())
        allocator: AbstractContextManager[None] = cupy.cuda.using_allocator(pool.malloc)
        return allocator

    def _module(self, binary: Binary) -> Any:
        if binary.key not in self._modules:
            self._modules[binary.key] = cupy.RawModule(path=str(binary.path))
        return self._modules[binary.key]

    def _bind(self, module: Any, launch: Launch, buffers: Mapping[str, Any], stream: Any) -> Callable[[], None]:
        raw = module.get_function(launch.entry)
        launch.check_threads(raw.max_threads_per_block)
        if raw.shared_size_bytes + launch.shared_bytes > self.properties.shared_per_block:
            raw.max_dynamic_shared_size_bytes = launch.shared_bytes
        kernel = raw.kernel  # RawKernel itself would take whichever stream is current
        if self.properties.compute_capability >= (9, 0):
            driver.funcSetAttribute(kernel.ptr, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        arguments = tuple(argument_of(one, buffers) for one in launch.arguments)

        if launch.together > 1:
            each = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.ptr, launch.threads, launch.shared_bytes)
            launch.check_resident(each * self.properties.multiprocessors)

        def call() -> None:
            kernel(launch.grid, launch.block, arguments, launch.shared_bytes, stream, launch.cooperative)

        return call

    def _scratch_buffers(self, plan: LaunchPlan, owner: int) -> Mapping[str, Any]:
        """Scratch, shared by implementations on the same arrays; large scratch is shared by all copies of the arrays.
        No two implementations run at the same time."""
        sizes = {name: -(-nbytes // 256) * 256 for name, nbytes in plan.scratch}
        total = sum(sizes.values())
        owner = 0 if total > LARGE_SCRATCH_BYTES else owner
        if total and (owner not in self._scratch or self._scratch[owner].mem.size < total):
            self._scratch.pop(owner, None)
            with cuda_errors(f"allocating {total} bytes of scratch"):
                self._scratch[owner] = cupy.cuda.alloc(total)
        if total:  # no kernel may use what another one left there
            self._scratch[owner].memset_async(POISON_BYTE, total, self.stream)
        buffers, offset = {}, 0
        for name, size in sizes.items():
            buffers[name] = cupy.ndarray((size,), np.uint8, self._scratch[owner] + offset)
            offset += size
        return buffers

    # ---- State ----

    def conditions(self) -> Mapping[str, Any]:
        return self._nvml.conditions() if self._nvml else {}

    def environment(self) -> Mapping[str, Any]:
        own = self.properties
        return {
            "name": own.name,
            "pci_bus_id": self._device.pci_bus_id,
            "compute_capability": ".".join(map(str, own.compute_capability)),
            "multiprocessors": own.multiprocessors,
            "l2_bytes": own.l2_bytes,
            "memory_bytes": own.memory_bytes,
            "peak_bytes_per_s": own.peak_bytes_per_s,
            "cuda_driver": _version_text(runtime.driverGetVersion()),
            "cuda_runtime": _version_text(runtime.runtimeGetVersion()),
            "resolution_s": self.clock.resolution_s,
            "launch_chain_s": self._chain_s,
            "launch_chains_tried_s": self._contexts or (),
            **(self._nvml.environment() if self._nvml else {}),
        }


def _piece_of(spec: ArraySpec, position: int, start: int, size: int, seed: int) -> Any:
    """Elements [start, start + size) of the input at `position` among the case's arrays."""
    return array_kernels.random_values(spec, start, size, (seed, position, start // FILL_ELEMENTS))


def _cheapest_stream() -> tuple[Any, float]:
    """The one of several new non-blocking streams with the cheapest launches, and their seconds."""
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(STREAMS)]
    chain = Chain()
    costs = [chain.cost(ctypes.c_void_p(stream.ptr)) for stream in streams]
    best = min(range(STREAMS), key=costs.__getitem__)
    return streams[best], costs[best]


def _version_text(version: int) -> str:
    """13000 -> 13.0, as CUDA numbers its versions."""
    return f"{version // 1000}.{version % 1000 // 10}"
