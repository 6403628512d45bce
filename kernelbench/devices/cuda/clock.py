"""The GPU's own clock: events, flushes of the L2, and graphs, on one stream."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from kernelbench.core.contracts import Event, Executable, Graph
from kernelbench.devices.cuda.failures import cuda_errors


class CudaClock:
    """Events, flushes and graphs; see contracts.Clock."""

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
        """Seconds of one flush, the median of ten; `flush(seconds)` needs it."""
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
        with cuda_errors("running"):
            self._stream.synchronize()
        self._stream.use()  # a peer's library may have made another stream the current one

    def elapsed(self, start: Event, stop: Event) -> float:
        assert isinstance(start, _CudaEvent)
        assert isinstance(stop, _CudaEvent)
        return float(cupy.cuda.get_elapsed_time(start.event, stop.event)) * 1e-3

    def capture(self, executables: Sequence[Executable], repeats: int) -> Graph:
        # Each launch of a graph writes to the same memory, also to what was allocated and freed during capture. A pool
        # of its own keeps that memory from others.
        pool = cupy.cuda.MemoryPool()
        with cupy.cuda.using_allocator(pool.malloc), cuda_errors("capturing a graph"):
            for executable in executables:
                executable()  # fills the pool, so that nothing is allocated while capturing
            self.wait()
            self._stream.begin_capture(runtime.streamCaptureModeRelaxed)
            try:
                for repeat in range(repeats):
                    self._clear(1)
                    if executables:
                        executables[repeat % len(executables)]()
            finally:
                graph = self._stream.end_capture()
        return _CudaGraph(graph, self._stream, pool)


class _CudaEvent:
    def __init__(self) -> None:
        self.event = cupy.cuda.Event()

    def done(self) -> bool:
        return bool(self.event.done)


class _CudaGraph:
    """A graph with the pool of the memory that it uses."""

    def __init__(self, graph: Any, stream: Any, pool: Any) -> None:
        self._graph, self._stream, self._pool = graph, stream, pool

    def launch(self) -> None:
        with cuda_errors("launching a graph"):
            self._graph.launch(self._stream)
