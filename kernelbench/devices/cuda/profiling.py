"""The part of a process that a profiler records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cupy.cuda import nvtx, profiler


@contextmanager
def nvtx_range(name: str) -> Iterator[None]:
    """Record what this thread launches inside, under an NVTX range of that name."""
    profiler.start()
    nvtx.RangePush(name)
    try:
        yield
    finally:
        nvtx.RangePop()
        profiler.stop()
