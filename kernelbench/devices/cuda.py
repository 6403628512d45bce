"""A CUDA GPU through CuPy: memory with red zones, modules, launches, events and graphs.

The only module of the package that imports cupy. All work goes to one non-blocking stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.memory import OutOfMemoryError
from cupy_backends.cuda.api.driver import CUDADriverError
from cupy_backends.cuda.api.runtime import CUDARuntimeError

from kernelbench import dtypes
from kernelbench.contracts import Event, Executable, Graph
from kernelbench.devices.nvml import Nvml
from kernelbench.errors import DeviceError, DeviceLost, NoDevice
from kernelbench.records import (
    Arrays,
    ArraySpec,
    Binary,
    Case,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Scalar,
)

RED_ZONE_BYTES = 4096  # on each side of every array; keeps the array itself aligned like cudaMalloc's
RED_ZONE_BYTE = 0xA5
POISON_BYTE = 0xFF  # NaN in every float type, -1 in every signed integer
FILL_ELEMENTS = 2**26  # inputs are drawn in pieces of this size, each with a seed of its own
FLUSH_LEAST_BYTES = 64 * 2**20
# After these the context answers every further call with the same error (CUDA runtime API, "Error handling").
_STICKY = ("IllegalAddress", "LaunchFail", "LAUNCH_FAILED", "ILLEGAL", "Misaligned", "MISALIGNED", "IllegalInstruction",
           "HardwareStack", "InvalidPc", "INVALID_PC", "Assert", "ASSERT", "LaunchTimeout", "LAUNCH_TIMEOUT",
           "illegal memory access", "unspecified launch failure", "misaligned address")  # fmt: skip


@contextmanager
def _cuda_errors(doing: str) -> Iterator[None]:
    """CUDA's own errors as DeviceError or DeviceLost, with what was being done."""
    try:
        yield
    except OutOfMemoryError as error:
        raise DeviceError(f"out of GPU memory while {doing}: {error}") from error
    except (CUDADriverError, CUDARuntimeError) as error:
        text = str(error)
        lost = any(word in text for word in _STICKY)
        raise (DeviceLost if lost else DeviceError)(f"{text} while {doing}") from error


class CudaDevice:
    """One GPU; see contracts.Device."""

    def __init__(self, number: int) -> None:
        self._device = cupy.cuda.Device(_existing(number))
        self._device.use()
        self.properties = _properties(number)
        self.name = self.properties.name
        self.xp = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()
        self._nvml = _nvml(self._device.pci_bus_id)
        self._modules: dict[str, Any] = {}
        self._scratch: Any = None
        self._zones: dict[str, tuple[Any, Any]] = {}
        self.clock = CudaClock(self.stream, max(2 * self.properties.l2_bytes, FLUSH_LEAST_BYTES))

    # ---- Memory ----

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        arrays = {}
        self._zones = {}
        for spec in specs:
            with _cuda_errors(f"allocating {spec.nbytes} bytes for {spec.name}"):
                room = -(-spec.nbytes // 512) * 512
                memory = cupy.cuda.alloc(room + 2 * RED_ZONE_BYTES)
                memory.memset(RED_ZONE_BYTE, room + 2 * RED_ZONE_BYTES)
            arrays[spec.name] = cupy.ndarray(spec.shape, dtypes.storage(spec.dtype), memory + RED_ZONE_BYTES)
            before = cupy.ndarray((RED_ZONE_BYTES,), np.uint8, memory)
            after_bytes = room - spec.nbytes + RED_ZONE_BYTES
            after = cupy.ndarray((after_bytes,), np.uint8, memory + RED_ZONE_BYTES + spec.nbytes)
            self._zones[spec.name] = (before, after)
        return arrays

    def fill(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> None:
        for position, spec in enumerate(specs):
            if spec.role != "input":
                continue
            flat = arrays[spec.name].reshape(-1)
            for start in range(0, flat.size, FILL_ELEMENTS):
                piece = flat[start : start + FILL_ELEMENTS]
                with _cuda_errors(f"filling {spec.name}"):
                    piece[...] = _random(spec, piece.size, (seed, position, start // FILL_ELEMENTS))
        self.stream.synchronize()

    def poison(self, arrays: Arrays, specs: Sequence[ArraySpec]) -> None:
        for spec in specs:
            if spec.role == "output":
                arrays[spec.name].data.memset_async(POISON_BYTE, spec.nbytes, self.stream)

    def red_zone_damage(self, arrays: Arrays) -> str:
        for name, zones in self._zones.items():
            if any(bool((zone != RED_ZONE_BYTE).any()) for zone in zones):
                for zone in zones:
                    zone.fill(RED_ZONE_BYTE)
                return name
        return ""

    def free_bytes(self) -> int:
        free, _ = runtime.memGetInfo()
        return int(free + cupy.get_default_memory_pool().free_bytes())

    def release(self) -> None:
        self._scratch = None
        self._zones = {}
        cupy.get_default_memory_pool().free_all_blocks()

    # ---- Launching ----

    def executable(
        self,
        implementation: Implementation,
        case: Case,
        plan: LaunchPlan | None,
        binary: Binary | None,
        arrays: Arrays,
    ) -> Executable:
        if implementation.prepare is not None:
            with _cuda_errors(f"preparing {implementation.name}"):
                call = implementation.prepare(case, arrays, self.stream.ptr)
            return _guarded(call, implementation.name)
        assert plan is not None
        assert binary is not None
        buffers = {**arrays, **self._scratch_buffers(plan)}
        with _cuda_errors(f"loading {implementation.name}"):
            module = self._module(binary)
            calls = [self._bind(module, launch, buffers) for launch in plan.launches]

        def submit() -> None:
            for call in calls:
                call()

        return _guarded(submit, implementation.name)

    def _module(self, binary: Binary) -> Any:
        if binary.key not in self._modules:
            self._modules[binary.key] = cupy.RawModule(path=str(binary.path))
        return self._modules[binary.key]

    def _bind(self, module: Any, launch: Launch, buffers: Mapping[str, Any]) -> Callable[[], None]:
        raw = module.get_function(launch.entry)
        if launch.shared_bytes > self.properties.shared_per_block:
            raw.max_dynamic_shared_size_bytes = launch.shared_bytes
        kernel, stream = raw.kernel, self.stream  # RawKernel itself would take whichever stream is current
        arguments = tuple(
            dtypes.storage(argument.dtype)(argument.value) if isinstance(argument, Scalar) else buffers[argument]
            for argument in launch.arguments
        )

        def call() -> None:
            kernel(launch.grid, launch.block, arguments, launch.shared_bytes, stream)

        return call

    def _scratch_buffers(self, plan: LaunchPlan) -> Mapping[str, Any]:
        """Implementations of one case share one block of scratch: they never run at the same time."""
        sizes = {name: -(-nbytes // 256) * 256 for name, nbytes in plan.scratch}
        total = sum(sizes.values())
        if total and (self._scratch is None or self._scratch.mem.size < total):
            self._scratch = None
            with _cuda_errors(f"allocating {total} bytes of scratch"):
                self._scratch = cupy.cuda.alloc(total)
        buffers, offset = {}, 0
        for name, size in sizes.items():
            buffers[name] = cupy.ndarray((size,), np.uint8, self._scratch + offset)
            offset += size
        return buffers

    # ---- State ----

    def conditions(self) -> Mapping[str, Any]:
        return self._nvml.conditions() if self._nvml else {}

    def environment(self) -> Mapping[str, Any]:
        own = self.properties
        return {
            "name": own.name,
            "compute_capability": ".".join(map(str, own.compute_capability)),
            "multiprocessors": own.multiprocessors,
            "l2_bytes": own.l2_bytes,
            "memory_bytes": own.memory_bytes,
            "peak_bytes_per_s": own.peak_bytes_per_s,
            "cuda_driver": _version_text(runtime.driverGetVersion()),
            "cuda_runtime": _version_text(runtime.runtimeGetVersion()),
            **(self._nvml.environment() if self._nvml else {}),
        }


class CudaClock:
    """Events, flushes and graphs on one stream; see contracts.Clock."""

    def __init__(self, stream: Any, flush_bytes: int) -> None:
        self._stream = stream
        self._flush_bytes = flush_bytes
        self._buffer = cupy.cuda.alloc(flush_bytes)
        self._flush_s = self._time_flush()
        self.resolution_s = self._smallest_step()

    def _smallest_step(self) -> float:
        """Seconds between neighbouring readings of the event clock: 32 ns on an H100 or H200."""
        readings = set()
        for _ in range(50):
            start = self.record()
            self._clear(1)
            stop = self.record()
            self.wait()
            readings.add(self.elapsed(start, stop))
        steps = np.diff(sorted(readings))
        return float(steps[steps > 1e-10].min(initial=1e-6))

    def _time_flush(self) -> float:
        """Seconds of one flush: the median of ten, so that `flush(seconds)` knows how often to repeat it."""
        times = []
        for _ in range(10):
            start = self.record()
            self._clear(4)
            stop = self.record()
            self.wait()
            times.append(self.elapsed(start, stop) / 4)
        return float(np.median(times))

    def _clear(self, times: int) -> None:
        for turn in range(times):
            self._buffer.memset_async(turn & 0xFF, self._flush_bytes, self._stream)

    def flush(self, seconds: float) -> None:
        self._clear(max(1, ceil(seconds / self._flush_s)))

    def record(self) -> Event:
        event = _CudaEvent()
        event.event.record(self._stream)
        return event

    def wait(self) -> None:
        with _cuda_errors("running"):
            self._stream.synchronize()
        self._stream.use()  # a peer's library may have made another stream the current one

    def elapsed(self, start: Event, stop: Event) -> float:
        assert isinstance(start, _CudaEvent)
        assert isinstance(stop, _CudaEvent)
        return float(cupy.cuda.get_elapsed_time(start.event, stop.event)) * 1e-3

    def capture(self, executable: Executable | None, repeats: int) -> Graph:
        self.wait()
        with _cuda_errors("capturing a graph"):
            self._stream.begin_capture(runtime.streamCaptureModeRelaxed)
            try:
                for _ in range(repeats):
                    self._clear(1)
                    if executable is not None:
                        executable()
            finally:
                graph = self._stream.end_capture()
            return _CudaGraph(graph, self._stream)


class _CudaEvent:
    def __init__(self) -> None:
        self.event = cupy.cuda.Event()

    def done(self) -> bool:
        return bool(self.event.done)


class _CudaGraph:
    def __init__(self, graph: Any, stream: Any) -> None:
        self._graph, self._stream = graph, stream

    def launch(self) -> None:
        with _cuda_errors("launching a graph"):
            self._graph.launch(self._stream)


def _guarded(call: Callable[[], Any], name: str) -> Executable:
    """`call` with CUDA's errors named; any error of a peer's library becomes a DeviceError too."""

    def submit() -> Arrays | None:
        with _cuda_errors(f"launching {name}"):
            outputs: Arrays | None = call()
            return outputs

    return submit


def _existing(number: int) -> int:
    try:
        count = runtime.getDeviceCount()
    except CUDARuntimeError as error:
        raise NoDevice(f"the CUDA runtime answers '{error}'.") from error
    if number >= count:
        raise NoDevice(f"cuda:{number} was asked for, but there {'is' if count == 1 else 'are'} {count}.")
    return number


def _properties(number: int) -> DeviceProperties:
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
    )


def _nvml(pci_bus_id: str) -> Nvml | None:
    import pynvml

    try:
        return Nvml(pci_bus_id)
    except pynvml.NVMLError:
        return None  # conditions stay empty; the GPU can be measured all the same


def _random(spec: ArraySpec, size: int, seed: tuple[int, int, int]) -> Any:
    """`size` random elements in storage type. NumPy spreads the three seeds into one 64-bit number."""
    mixed = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)
    generator = cupy.random.Generator(cupy.random.XORWOW(mixed))
    if spec.fill == "normal":
        values = generator.standard_normal(size, dtype=np.float32)
    else:
        values = generator.random(size, dtype=np.float32)
        if spec.fill == "mask":
            values = (values < 0.5).astype(np.float32)
    return dtypes.narrow(cupy, values, spec.dtype)


def _version_text(version: int) -> str:
    """13000 -> 13.0, as CUDA numbers its versions."""
    return f"{version // 1000}.{version % 1000 // 10}"
