"""How large a difference of two runs must be to mean something: the noise band of each row.

A band is the sum of what is known to move a time without the kernel having changed, each in natural logarithms:
the noise floor of the runs, the drift from one to the other, and what the clock and launches add to a short kernel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelbench.core.statistics import PRECISION
from kernelbench.runs.results import Run, twins_of
from kernelbench.runs.samples import RowKey

Key = RowKey
Samples = Mapping[Key, np.ndarray]

LEAST = PRECISION  # medians are not known better
MOST_DRIFT = 0.01  # two runs on two days may differ by a per cent; what is beyond that, no drift excuses
WITHIN_95 = 1.96 / 0.6745  # 95 % of a normal distribution over the median of its absolute values
NEAREST = 30  # rows of a like length that a floor is read from
LEAST_SAMPLES = 12  # of a row whose halves are compared
LEAST_CONTROLS = 5
LEAST_CASE_CONTROLS = 3  # of one case, for what its launches differ by
MOST_LAUNCH_S = 0.5e-6  # two processes differed by up to 0.45 us per launch; a larger difference has another cause
LONG_S = 20e-6  # from here on launches matter little, and drift shows; below, launches show
CHAINED = 6  # empty kernels in the chain whose time environment.json states


@dataclass(frozen=True)
class Floor:
    """What one run shows of its own noise: pairs of medians of the same thing, and how far apart they are."""

    source: str  # a sentence's end: "40 pairs of twins of its self-test"
    seconds: np.ndarray  # row by row
    apart: np.ndarray  # |ln ratio|
    own: Mapping[Key, float]  # the same, by row

    def at(self, key: Key, seconds: float) -> float:
        """What 95 % of the rows of like length stay within, or what this row itself shows, if that is more; never
        below LEAST. By the median and a normal distribution: a few unsteady rows do not widen the bands of others."""
        if not len(self.seconds):
            return LEAST
        nearest = np.argsort(np.abs(np.log(self.seconds) - np.log(seconds)), kind="stable")[:NEAREST]
        usual = WITHIN_95 * float(np.median(self.apart[nearest]))
        return max(LEAST, usual, self.own.get(key, 0.0))


def floor_of(run: Run, samples: Samples) -> Floor:
    """From the twins of a self-test; without such, from the first half of each row's samples against the second."""
    pairs = _aa_pairs(samples, twins_of(run))
    if pairs:
        return _floor(f"{len(pairs)} pairs of twins of its self-test", pairs)
    halves = {
        key: (taken[: len(taken) // 2], taken[len(taken) // 2 :])
        for key, taken in samples.items()
        if len(taken) >= LEAST_SAMPLES
    }
    if halves:
        rows = f"{len(halves)} rows, without a self-test"
        return _floor(f"the first half of each row's samples against the second ({rows})", halves)
    return Floor("assumed, without a self-test or enough raw samples", np.empty(0), np.empty(0), {})


Pairs = Mapping[Key, tuple[np.ndarray, np.ndarray]]


def _aa_pairs(samples: Samples, twins: Mapping[str, str]) -> Pairs:
    """Samples of an implementation and of its twin, the same under another name. `twins`: original by twin."""
    found = {}
    for (case, name, cache, method), taken in samples.items():
        original = (case, twins.get(name, ""), cache, method)
        if original in samples:
            found[original] = (samples[original], taken)
    return found


def _floor(source: str, pairs: Pairs) -> Floor:
    medians = np.array([(np.median(one), np.median(other)) for one, other in pairs.values()])
    seconds, apart = medians.mean(axis=1), np.abs(np.log(medians[:, 1]) - np.log(medians[:, 0]))
    return Floor(source, seconds, apart, dict(zip(pairs, apart.tolist(), strict=True)))


@dataclass(frozen=True)
class AddedTime:
    """What two runs add to a time by one method, in seconds."""

    step_s: float  # in which the clock counts
    stated: bool  # by environment.json; else read from the samples
    launch_s: float  # by which an empty kernel differs between the runs
    chained_s: float  # and each further one behind it

    def seconds(self, launches: int) -> float:
        return self.step_s + self.launch_s + (launches - 1) * max(self.chained_s, self.launch_s)


def clock_of(method: str, runs: Sequence[Run], samples: Sequence[Samples]) -> AddedTime:
    """The clock of the times that both runs took by this method."""
    known = [positive_entry(run, "device", "resolution_s") for run in runs]
    steps = [_step(one, method) for one in samples] if method == "graph" or None in known else known
    floor = "graph_floor_s" if method == "graph" else "floor_s"
    chain = 0.0 if method == "graph" else _apart([positive_entry(run, "device", "launch_chain_s") for run in runs])
    return AddedTime(
        step_s=max(step or 0.0 for step in steps),
        stated=steps is known,
        launch_s=_apart([positive_entry(run, "limits", floor) for run in runs]),
        chained_s=chain / CHAINED,
    )


def _step(samples: Samples, method: str) -> float:
    """The least distance of two different samples of a row, as short rows have it; 0 where there are none."""
    kept = sorted((one for key, one in samples.items() if key[3] == method), key=lambda one: float(one[0]))
    gaps = [np.diff(np.unique(one)) for one in kept[:NEAREST]]  # long times are kept with fewer decimals than a step
    least = [gap.min() for gap in gaps if len(gap)]
    return float(np.median(least)) if least else 0.0


def drift_of(ceilings: Sequence[float | None], controls: Sequence[float]) -> float:
    """What moved with no kernel changed: the ceiling, and the middle of the `controls`, ln ratios of rows that run the
    same code in both runs. At most MOST_DRIFT."""
    known = [one for one in ceilings if one]
    ceiling = abs(float(np.log(known[1]) - np.log(known[0]))) if len(known) == 2 else 0.0
    rows = abs(float(np.median(controls))) if len(controls) >= LEAST_CONTROLS else 0.0
    return min(max(ceiling, rows), MOST_DRIFT)


def launches_apart(controls: Mapping[Key, Sequence[float]]) -> dict[tuple[str, str, str], float]:
    """Seconds by which a launch of unchanged code differs between two runs, by case, cache and method.

    `controls`: seconds of short rows that run the same code in both. In some processes every launch of a graph takes
    about 0.36 us more than in others, whatever the kernel, while the floor, which is measured first, is the same.
    """
    found: dict[tuple[str, str, str], list[float]] = {}
    for (case, _, cache, method), (first, second) in controls.items():
        found.setdefault((case, cache, method), []).append(second - first)
    return {
        place: min(abs(float(np.median(own))), MOST_LAUNCH_S)
        for place, own in found.items()
        if len(own) >= LEAST_CASE_CONTROLS
    }


def _apart(values: Sequence[float | None]) -> float:
    known = [one for one in values if one is not None]
    return abs(known[1] - known[0]) if len(known) == 2 else 0.0


def positive_entry(run: Run, part: str, name: str) -> float | None:
    """A number above 0 of environment.json; None where it has none."""
    value = (run.environment.get(part) or {}).get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else None
