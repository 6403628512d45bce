"""Protocols of the device that runs kernels, and of its clock.

`devices/cuda` measures, `devices/simulated.py` counts; tests use a fake with a log and a clock that they set.
"""

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

LARGE_SCRATCH_BYTES = 2**28  # larger scratch is shared by all copies of a case's arrays; below, each has its own
POISON_BYTE = 0xFF  # NaN in every float type, -1 in every signed integer


class Executable(Protocol):
    """One implementation, ready for one case: calling it submits all launches and waits for none."""

    def __call__(self) -> Arrays | None: ...


class Event(Protocol):
    """A point in the device's stream of work."""

    def done(self) -> bool:
        """True once the device has passed this point; never waits."""


class Graph(Protocol):
    """Captured work that one call submits as a whole."""

    def launch(self) -> None: ...


class Clock(Protocol):
    """The device's own clock, and the calls that a clean sample needs. All calls but `wait` only submit."""

    resolution_s: float  # the step of `elapsed`

    def flush(self, seconds: float) -> None:
        """Clear the L2 by overwriting twice its size, and go on for at least `seconds`."""

    def record(self) -> Event: ...

    def wait(self) -> None:
        """Block until all submitted work is done. Raises DeviceLost when the context is poisoned."""

    def elapsed(self, start: Event, stop: Event) -> float:
        """Seconds between two passed events."""

    def capture(self, executables: Sequence[Executable], repeats: int) -> Graph:
        """A graph of `repeats` times (flush, executable), taking the executables in turn; without executables, of
        flushes alone.

        Raises DeviceError where the work cannot be captured.
        """


class Device(Protocol):
    """Memory, modules and launches of one GPU, or of its simulator."""

    name: str
    properties: DeviceProperties
    xp: Any  # the array module of its arrays: cupy, numpy

    @property
    def clock(self) -> Clock: ...

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        """Uninitialised arrays between red zones. DeviceError when memory does not suffice."""

    def fill(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> None:
        """Fresh random inputs, the same for the same seed."""

    def poison(self, arrays: Arrays, specs: Sequence[ArraySpec]) -> None:
        """Outputs overwritten with a pattern that no kernel writes (all bits set: NaN in every float)."""

    def swap_contents(self, first: Array, second: Array, dtype: str) -> None:
        """Exchange the elements of two flat arrays of one size, except where either is -inf; only submits."""

    def digest(self, array: Array) -> Any:
        """A hash of the array at this point of the stream; only submits, and int() of it waits. Each process has its
        own salt, so that no kernel can aim at a value."""

    def changed(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> str:
        """The first element of an input that differs from what `fill` makes with that seed: `x[3, 17]`; '' if none."""

    def compare(self, got: Array, dtype: str, expected: Array, tolerance: Tolerance) -> Differences:
        """Compare a flat stored array of `dtype` with a flat float64 array; see differences.differences."""

    def red_zone_damage(self) -> str:
        """Names of the arrays whose red zones were written since the last call, else ''."""

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
        """What NVML says now: sm_clock_hz, power_w, energy_j (a counter of the whole board), temperature_c, throttle
        ('' or reasons, separated by ", ") and others (how many other processes may be using the GPU). Readings that
        fail are left out."""

    def environment(self) -> Mapping[str, Any]:
        """The device as environment.json describes it: driver, CUDA, clocks and so on."""

    def free_bytes(self) -> int: ...

    def release(self) -> None:
        """Give back memory that cached pools hold."""


@runtime_checkable
class CountingDevice(Device, Protocol):
    """A device that counts what kernels do, and takes no times: of its clock only `wait` may be called.

    It may run a sample of the blocks of a large grid. Then only what these blocks wrote is verified.
    """

    full: bool  # run every block, whatever it costs
    strict: bool  # look for errors even where outputs are right: races, uninitialised reads, ..
    slice_elements: int  # elements of the largest array that are verified at a time

    def prepare(self) -> None:
        """Build what every launch needs, which can take seconds. NoCompiler where there is no C++ compiler."""

    def beside(self) -> "CountingDevice | None":
        """The same device with memory of its own, for another case at the same time. None where one case may need all
        of the memory."""

    def stop(self) -> None:
        """End the launches that another thread is running."""

    def counts(self, executable: Executable) -> tuple[LaunchCounters, ...]:
        """Counters of each launch of the executable's last run."""

    def materialise(self, part: Array) -> Array:
        """A part of an input, with its values made now if that was put off."""

    def written(self, output: Array) -> Array | None:
        """Ranges [start, stop) of the flat output, int64 [n, 2] in order, that the last run wrote and that depend only
        on blocks of its sample. None: every block was run, so the whole output counts."""


class Heartbeat(Protocol):
    """Told before each run of an implementation; see measure/gpu_process.py."""

    def __call__(self, name: str, preparing: bool = False) -> None:
        """`name`: of the implementation, '' for none. `preparing`: its library is being prepared, and may compile."""


def no_heartbeat(name: str, preparing: bool = False) -> None:
    """The heartbeat of a run that nobody watches."""
