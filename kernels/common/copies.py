"""The yardsticks of an operation: copies of the bytes that it moves, in several shapes. The fastest of them counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kernelbench import (
    Arrays,
    Case,
    DeviceProperties,
    Implementation,
    LaunchPlan,
    Origin,
    dtypes,
    import_library,
)
from .launch_helpers import COPY_PACKS, copy_plan

# Packs of 16 bytes that a thread has in flight, and whether loads and stores are marked as used once.
SHAPES = {
    "copy": {"packs": COPY_PACKS, "streamed": 0},
    "copy_1": {"packs": 1, "streamed": 0},
    "copy_streamed": {"packs": 2, "streamed": 1},
}


def copy_kernels(
    what: str,
    plan: Callable[..., LaunchPlan],
    reference: Callable[[Any, Case, Arrays], Arrays],
    kernel: Path | None = None,
) -> tuple[Implementation, ...]:
    """One per shape. `plan` takes what SHAPES name; `reference`: what a copy leaves in the outputs; `kernel`: the .cu,
    if it is not beside the caller's module."""
    return tuple(
        Implementation(
            name,
            f"{what}: a yardstick; {shape['packs']} packs in flight per thread{', streamed' * shape['streamed']}",
            Origin("written here"),
            plan=partial(plan, **shape),
            role="yardstick",
            reference=reference,
            source=kernel,
        )
        for name, shape in SHAPES.items()
    )


def copies_of(
    source: str = "x",
    target: str = "y",
    reference: Callable[[Any, Case, Arrays], Arrays] | None = None,
) -> tuple[Implementation, ...]:
    """The yardsticks of an operation that reads one array and writes another of as many bytes: the kernels of copy.cu
    here, and cudaMemcpyAsync."""

    def plan(case: Case, device: DeviceProperties, **shape: int) -> LaunchPlan:
        entry = f"copy_{dtypes.suffix(case.dtype)}"
        return copy_plan(entry, (source, target), case.elements, dtypes.itemsize(case.dtype), device, **shape)

    def as_it_is(xp: Any, case: Case, inputs: Arrays) -> Arrays:
        return {target: inputs[source]}

    what, known = f"copies {source} to {target}", reference or as_it_is
    memcpy = Implementation(
        "copy_memcpy",
        f"{what}: a yardstick; cudaMemcpyAsync",
        Origin("NVIDIA CUDA runtime", "https://docs.nvidia.com/cuda/cuda-runtime-api"),
        prepare=partial(_memcpy, source, target),
        role="yardstick",
        reference=known,
    )
    return (*copy_kernels(what, plan, known, Path(__file__).with_name("copy.cu")), memcpy)


def _memcpy(source: str, target: str, case: Case, arrays: Arrays, stream: int) -> Callable[[], None]:
    runtime = import_library("cupy").cuda.runtime
    nbytes = case.elements * dtypes.itemsize(case.dtype)
    arguments = (arrays[target].data.ptr, arrays[source].data.ptr, nbytes, runtime.memcpyDeviceToDevice, stream)

    def call() -> None:
        runtime.memcpyAsync(*arguments)

    return call
