"""What the rooms promise each other: the device that runs kernels, and the times it takes.

`devices/cuda` is the one that measures, `devices/simulated.py` the one that counts; tests use a fake that keeps
a log and a set clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from kernelbench.core.counters import LaunchCounters
from kernelbench.core.differences import Differences
from kernelbench.core.records import (
    Array,
    Arrays,
    ArraySpec,
    Binary,
    Case,
    DeviceProperties,
    Implementation,
    LaunchPlan,
    Tolerance,
)

LARGE_SCRATCH_BYTES = 2**28  # scratch above this is one for all places in memory, below it each place has its own


class Executable(Protocol):
    """One implementation, ready for one case: calling it submits all its launches, waiting for none."""

    def __call__(self) -> Arrays | None: ...


class Event(Protocol):
    """A point in the device's stream of work."""

    def done(self) -> bool:
        """True once the device has passed this point; never waits."""


class Graph(Protocol):
    """Captured work that one call submits as a whole."""

    def launch(self) -> None: ...


class Clock(Protocol):
    """The device's own clock and what is needed to take a clean sample. All calls but `wait` only submit."""

    resolution_s: float  # the step in which `elapsed` counts

    def flush(self, seconds: float) -> None:
        """Clear the L2 by overwriting twice its size, and go on for at least `seconds`."""

    def record(self) -> Event: ...

    def wait(self) -> None:
        """Block until all submitted work is done. Raises DeviceLost when the context is poisoned."""

    def elapsed(self, start: Event, stop: Event) -> float:
        """Seconds between two passed events."""

    def capture(self, executables: Sequence[Executable], repeats: int) -> Graph:
        """A graph of `repeats` times (flush, executable), taking the executables in turn; for none of them
        a graph of the flushes alone.

        Raises DeviceError where the work cannot be captured.
        """


class Device(Protocol):
    """Memory, modules and launches of one GPU (or of what stands in for it)."""

    name: str
    properties: DeviceProperties
    xp: Any  # the array module of its arrays: cupy, numpy

    @property
    def clock(self) -> Clock: ...

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        """Uninitialised arrays inside red zones. DeviceError when the memory does not suffice."""

    def fill(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> None:
        """Fresh random inputs, the same for the same seed."""

    def poison(self, arrays: Arrays, specs: Sequence[ArraySpec]) -> None:
        """Outputs overwritten with a pattern that no kernel writes (all bits set: NaN in every float)."""

    def swap_contents(self, first: Array, second: Array, dtype: str) -> None:
        """Exchange what two flat arrays of `dtype` and one size hold, where neither has -inf; only submits."""

    def digest(self, array: Array) -> Any:
        """A number that every bit of the array counts in, of what it holds at this point of the stream; only submits,
        and int() of it waits. Salted in each process, so that no kernel can aim at one."""

    def changed(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> str:
        """The first element of an input that is not as `fill` makes it with that seed: `x[3, 17]`; '' for none."""

    def compare(self, got: Array, dtype: str, expected: Array, tolerance: Tolerance) -> Differences:
        """A flat stored array of `dtype` against a flat float64 array; see differences.differences."""

    def red_zone_damage(self) -> str:
        """Names of arrays whose surroundings were written since the last look, else ''."""

    def executable(
        self,
        implementation: Implementation,
        case: Case,
        plan: LaunchPlan | None,
        binary: Binary | None,
        arrays: Arrays,
    ) -> Executable:
        """Load, allocate scratch, bind arguments. Raises DeviceError, MissingLibrary or Unsupported."""

    def conditions(self) -> Mapping[str, Any]:
        """sm_clock_hz, power_w, temperature_c, throttle ('' or reasons, separated by ", ") and others (how many other
        processes may be using it), as NVML says now; missing where it does not."""

    def environment(self) -> Mapping[str, Any]:
        """Driver, CUDA, CuPy, clocks and so on for environment.json."""

    def free_bytes(self) -> int: ...

    def release(self) -> None:
        """Give back memory that cached pools hold."""


@runtime_checkable
class CountingDevice(Device, Protocol):
    """A device that has no time: it counts what kernels do. Nobody may ask its clock for more than `wait`.

    Of large grids it may run a sample of the blocks. What those wrote, and nothing else, is then verified.
    """

    full: bool  # run every block, whatever it costs
    strict: bool  # look for what is wrong even where outputs are right: races, uninitialised reads, ..
    slice_elements: int  # of the largest array, to be verified at a time

    def prepare(self) -> None:
        """Make ready what every launch needs, which can take seconds. NoCompiler where it cannot be made."""

    def counts(self, executable: Executable) -> tuple[LaunchCounters, ...]:
        """What each launch of the executable's last run did."""

    def materialise(self, part: Array) -> Array:
        """A part of an input, its values made now where that was put off."""

    def written(self, output: Array) -> Array | None:
        """Ranges [start, stop) of the flat output, int64 [n, 2] in order, that the last run wrote and that depend on
        nothing that was left out of its sample. None: every block was run, so all of it counts."""
