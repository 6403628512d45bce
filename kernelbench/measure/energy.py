"""Energy per call, by NVML's counter of the whole board, while one kernel runs back to back.

The power that samples are taken under is no kernel's own: all implementations of a case take turns within milliseconds,
with a flush of the L2 before each sample, and NVML averages power over longer than that.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from kernelbench.core.contracts import Device, Executable
from kernelbench.core.errors import EVERYBODYS, DeviceLost, reason_of
from kernelbench.core.units import bytes_text, share_text
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.rounds import WARM_UP_TO_L2
from kernelbench.measure.tracks import Contender

WINDOW_S = 4.0  # the counter moves in steps of up to 0.1 s: 5 % of this, at both ends together
BATCH_S = 0.1  # of calls between two waits
MOST_BATCH = 10_000  # calls
BUSY = 0.9  # least share of the window in which the kernel runs; the rest is power of an idle GPU


def add_energy(
    data: CaseData,
    contenders: Sequence[Contender],
    heartbeat: Callable[[str], None],
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Add the energy to each contender's cold measurements, or a note that says why there is none."""
    held = sum({id(array): array.nbytes for arrays in data.placements for array in arrays.values()}.values())
    least = WARM_UP_TO_L2 * data.device.properties.l2_bytes
    for contender in contenders:
        cold = [one.median_s for one in contender.measurements if one.cache == "cold"]
        if contender.failure or not cold:
            continue
        if held < least:
            reason = f"{bytes_text(held)} in all places; back to back only {bytes_text(least)} are cold"
        else:
            beat = lambda name=contender.implementation.name: heartbeat(name)  # noqa: E731
            reason = _add(data.device, contender, min(cold), beat, now)
        if reason:
            contender.notes.append(f"no energy: {reason}")


def _add(
    device: Device, contender: Contender, median_s: float, beat: Callable[[], None], now: Callable[[], float]
) -> str:
    """Why there is none, or ''."""
    try:
        found = _per_call(device, contender.executables, median_s, beat, now)
    except (DeviceLost, *EVERYBODYS):
        raise
    except Exception as error:
        return reason_of(error)
    if isinstance(found, str):
        return found
    contender.measurements = [
        replace(one, energy_j=found) if one.cache == "cold" else one for one in contender.measurements
    ]
    return ""


def _per_call(
    device: Device,
    executables: Sequence[Executable],
    median_s: float,
    beat: Callable[[], None],
    now: Callable[[], float],
) -> float | str:
    """Joules, or why they cannot be told."""
    batch = min(max(1, ceil(BATCH_S / median_s)), MOST_BATCH)
    calls = 0

    def run_batch() -> None:
        nonlocal calls
        beat()
        for _ in range(batch):
            executables[calls % len(executables)]()
            calls += 1
        device.clock.wait()

    run_batch()  # clocks rise
    calls, before, began = 0, device.conditions().get("energy_j"), now()
    if before is None:
        return "the driver counts none"
    while now() - began < WINDOW_S:
        run_batch()
    seconds, after = now() - began, device.conditions().get("energy_j")
    busy = calls * median_s / seconds
    if busy < BUSY:
        return f"it ran {share_text(busy)} of the time back to back; expected at least {share_text(BUSY)}"
    return "the driver counts none" if after is None else float(after - before) / calls
