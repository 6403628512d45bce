"""Two runs on disk against each other: a verdict for each row that both have, and what it rests on."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log, log1p

import numpy as np

from kernelbench.compare import noise
from kernelbench.compare.between import gpu_name_of, libraries_alike, run_title, same_gpu, what_differs
from kernelbench.compare.changes import Change, Changes, JudgedRow, more_samples, open_text, verdict_of
from kernelbench.compare.pairing import Pair, Side, all_keys, match_rows, side_of
from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.units import time_text
from kernelbench.runs.folders import recorded_run
from kernelbench.runs.results import Run

CONTROLS = ("peer", "yardstick")  # roles whose code is not what a comparison of two runs is about
LARGEST = 300.0  # ln; no run measured a larger ratio, but a file may hold one: it is cut to this
SLOWER_CLOCK = 0.01  # of the SM clock, that is worth a remark


def compare_runs(first: Run, second: Run, caches: Sequence[str] = (), only: Sequence[str] = ()) -> Changes:
    """Every row of either run, each once. `caches`, `only`: show these cache states and implementations; empty: all.

    InputError where the two cannot be compared at all: other suites, no times, no row in common.
    """
    for run in (first, second):
        _check_times(run)
    if first.suite != second.suite:
        raise InputError(
            f"{first.folder} is a run of suite '{first.suite}', {second.folder} of '{second.suite}'; "
            "expected two runs of one suite"
        )
    sides = (side_of(first), side_of(second))
    by_share = not same_gpu(first, second)
    pairs, rest = match_rows(*sides, by_share)
    if not pairs:
        first_one = f"{rest[0].implementation} on {rest[0].case}: {rest[0].reason}" if rest else ""
        raise InputError(
            f"{first.folder} and {second.folder}: no row with a time in common; expected at least one case that one "
            f"implementation was timed on in both. {first_one}"
        )
    controls = _controls(sides, pairs, by_share)
    drift, told = _allowed_drift(sides, [pair for pair in controls if min(pair.seconds) >= noise.LONG_S], by_share)
    launches = noise.launches_apart({pair.key: pair.seconds for pair in controls if min(pair.seconds) < noise.LONG_S})
    methods = dict.fromkeys(pair.key[3] for pair in pairs)
    samples = [side.samples for side in sides]
    clocks = {method: noise.clock_of(method, (first, second), samples) for method in methods}
    found = [*(_judged(pair, _band(pair, sides, drift, clocks, launches)) for pair in pairs), *rest]
    places = {key: place for place, key in enumerate(all_keys(*sides))}
    found.sort(key=lambda row: places[row.case, row.implementation])
    notes = [
        *_unknown_told(first, second),
        *_floors_told(sides),
        told,
        *_clock_sentences(clocks),
        *_launches_told(launches, clocks),
    ]
    rows = _chosen(found, caches, only)
    return Changes(
        run_title(first), run_title(second), by_share, what_differs(first, second, _codes(pairs)), notes, rows,
        [name for name, role in _roles(first, second).items() if role in CONTROLS],
        str(second.environment.get("baseline") or ""),
    )  # fmt: skip


def _roles(*runs: Run) -> dict[str, str]:
    return {row.implementation: row.role for run in runs for row in run.rows}


def _chosen(rows: Sequence[Change], caches: Sequence[str], only: Sequence[str]) -> list[Change]:
    if only and (unknown := [name for name in only if all(row.implementation != name for row in rows)]):
        names = ", ".join(dict.fromkeys(row.implementation for row in rows))
        raise InputError(f"--only {','.join(only)}: neither run has '{unknown[0]}'; they have {names}")
    return [
        row for row in rows if (not caches or row.cache in (*caches, "")) and (not only or row.implementation in only)
    ]


def _check_times(run: Run) -> None:
    if run.simulated:
        recorded = recorded_run(run.suite)
        such = f", such as the recorded one in {recorded.relative_to(places.ROOT)}" if recorded else ""
        raise InputError(
            f"{run.folder}: a run of the simulator, which has no times; expected two runs of a GPU{such}. "
            f"`kernelbench compare {run.folder} --all` compares the counts within it"
        )
    if all(row.median_s is None for row in run.rows):
        raise InputError(f"{run.folder}: no row has a time; expected a run that measured something")


# ---- Judging -------------------------------------------------------------------------------------


def _controls(sides: Sequence[Side], pairs: Sequence[Pair], by_share: bool) -> list[Pair]:
    """Libraries and copies whose code is the same in both runs; none for two kinds of GPUs."""
    if by_share:
        return []
    runs = (sides[0].run, sides[1].run)
    alike = {name: libraries_alike(name, *runs) for name in {pair.key[1] for pair in pairs}}
    return [
        pair
        for pair in pairs
        if pair.first.role in CONTROLS and (pair.code == "same" or (alike[pair.key[1]] and not pair.first.binary))
    ]


def _unknown_told(*runs: Run) -> Iterator[str]:
    for run in runs:
        if not gpu_name_of(run):
            yield (
                f"{run.folder}: environment.json does not name the GPU, so the runs count as runs of two GPUs, whose "
                "times are not divided"
            )


def _allowed_drift(sides: Sequence[Side], controls: Sequence[Pair], by_share: bool) -> tuple[float, str]:
    """ln, and how it was found."""
    most = f"{100 * noise.MOST_DRIFT:g} %"
    if by_share:
        return noise.MOST_DRIFT, f"Drift: {most}, assumed between two GPUs."
    ceilings = [noise.positive_entry(side.run, "limits", "dram_bytes_per_s") for side in sides]
    drift = noise.drift_of(ceilings, [pair.value for pair in controls])
    parts = []
    if ceilings[0] and ceilings[1]:
        parts.append(f"the ceiling moved by {100 * (ceilings[1] / ceilings[0] - 1):+.2f} %")
    if len(controls) >= noise.LEAST_CONTROLS:
        names = ", ".join(dict.fromkeys(pair.key[1] for pair in controls))
        moved = 100 * (exp(float(np.median([pair.value for pair in controls]))) - 1)
        parts.append(f"the times of code that is the same in both ({names}; {len(controls)} rows) by {moved:+.2f} %")
    if not parts:
        return drift, "Drift: not known, because the runs share neither a ceiling nor five rows of the same code."
    return drift, f"Drift: {' and '.join(parts)}; {100 * drift:.2f} % is allowed for it, {most} at most."


def _band(
    pair: Pair,
    sides: Sequence[Side],
    drift: float,
    clocks: Mapping[str, noise.AddedTime],
    apart: Mapping[tuple[str, str, str], float],
) -> float:
    """Half the band's width, as ln. `apart`: by how much launches differ, by case, cache and method."""
    own = max(side.floor.at(pair.key, seconds) for side, seconds in zip(sides, pair.seconds, strict=True))
    launches = max(1, len(pair.first.launch_texts), len(pair.second.launch_texts))
    case, _, cache, method = pair.key
    clock = clocks[method]
    added = max(clock.seconds(launches), clock.step_s + launches * apart.get((case, cache, method), 0.0))
    return own + drift + log1p(added / min(pair.seconds))  # it weighs more on the shorter time


def _judged(pair: Pair, band: float) -> JudgedRow:
    verdict, factor = verdict_of(pair.value, pair.low, pair.high, band)
    taken = max(*pair.sizes, pair.first.samples or 0)
    more = more_samples(factor, taken) if verdict == "UNSURE" else None
    remarks = list(_remarks(pair))
    if verdict == "UNSURE" and more is None:
        remarks.insert(0, open_text(more))
    return JudgedRow(
        *pair.key,
        first_s=pair.seconds[0],
        second_s=pair.seconds[1],
        first_share=pair.first.share_of_ceiling,
        second_share=pair.second.share_of_ceiling,
        ratio=_ratio(pair.value),
        ratio_low=_ratio(pair.low),
        ratio_high=_ratio(pair.high),
        band=_ratio(band) - 1,
        verdict=verdict,
        more_samples=more,
        first_samples=pair.sizes[0],
        second_samples=pair.sizes[1],
        code=pair.code,
        first_status="ok",
        second_status="ok",
        reason="; ".join(remarks),
    )


def _ratio(logarithm: float) -> float:
    return exp(min(max(logarithm, -LARGEST), LARGEST))


def _remarks(pair: Pair) -> Iterator[str]:
    """What was not alike while both were measured."""
    for side, row in (("first", pair.first), ("second", pair.second)):
        if row.throttle:
            yield f"{side} run: throttled ({row.throttle})"
        if row.disturbed:
            yield f"{side} run: {row.disturbed}"
    first, second = pair.first.sm_clock_hz, pair.second.sm_clock_hz
    if first and second and abs(log(second) - log(first)) > SLOWER_CLOCK:
        yield f"SM clock {first / 1e6:.0f} MHz in the first run, {second / 1e6:.0f} MHz in the second"
    moved = pair.first.bytes_moved, pair.second.bytes_moved
    if moved[0] != moved[1] and None not in moved:
        yield f"least traffic differs: {moved[0]} B in the first run, {moved[1]} B in the second"


# ---- What is told of it --------------------------------------------------------------------------


def _floors_told(sides: Sequence[Side]) -> Iterator[str]:
    least = f"at least {100 * noise.LEAST:g} %"
    first, second = (side.floor.source for side in sides)
    if first == second:
        yield f"Noise floor of both runs: {first}; {least}."
    else:
        yield f"Noise floor of the first run: {first}; of the second: {second}; {least}."


def _clock_sentences(clocks: Mapping[str, noise.AddedTime]) -> Iterator[str]:
    for method, clock in clocks.items():
        source = "as environment.json states it" if clock.stated else "as the samples show it"
        further = 1e9 * (clock.seconds(2) - clock.seconds(1))
        yield (
            f"Clock by {method}: a step of {1e9 * clock.step_s:.0f} ns, {source}; an empty kernel differs by "
            f"{1e9 * clock.launch_s:.0f} ns, each further launch by {further:.0f} ns."
        )


def _launches_told(apart: Mapping[tuple[str, str, str], float], clocks: Mapping[str, noise.AddedTime]) -> Iterator[str]:
    """Where launches of unchanged code differ by more than empty kernels do."""
    beyond = {place: seconds for place, seconds in apart.items() if seconds > clocks[place[2]].seconds(1)}
    if beyond:
        changed, all_cases = ({case for case, _, _ in places} for places in (beyond, apart))
        yield (
            f"Launches: each one of unchanged code (libraries, copies) took up to {time_text(max(beyond.values()))} "
            f"more or less in {len(changed)} of {len(all_cases)} short cases; the bands there allow for it."
        )


def _codes(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """How many rows are of each state of the code, by implementation."""
    found: dict[str, dict[str, int]] = {}
    for pair in pairs:
        states = found.setdefault(pair.code, {})
        states[pair.key[1]] = states.get(pair.key[1], 0) + 1
    return found
