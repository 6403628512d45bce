"""Runs for comparing two of them: recorded ones changed in memory or as copies, and synthetic ones with known drift."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas

from kernelbench.core import columns
from kernelbench.runs.results import PACKED_RESULTS_FILE, RESULTS_FILE, SAMPLES_FILE, Run, results_file
from kernelbench.runs.row_records import Row
from kernelbench.runs.samples import NAMES, pack_samples, samples_file

TIMES = ("median_s", "low_s", "high_s")
STEP_S = 32e-9


def with_samples(run: Run, samples: pandas.DataFrame) -> Run:
    """The run with other samples; nothing is written."""
    changed = replace(run)
    changed.__dict__["samples"] = samples  # where the cached property keeps them
    return changed


def with_rows(run: Run, change: Callable[[Row], Row]) -> Run:
    """The run with each row changed, and its own samples; nothing is written."""
    return with_samples(replace(run, rows=tuple(map(change, run.rows))), run.samples)


def slowed(run: Run, factor: float, chosen: Callable[[Row], bool]) -> Run:
    """The run with the samples of the chosen rows made longer."""

    def slow(row: Row) -> Row:
        seconds = {name: getattr(row, name) for name in TIMES}
        if not chosen(row):
            return row
        return replace(row, **{name: value and value * factor for name, value in seconds.items()})

    samples = run.samples.copy()
    slower = {(row.case, row.implementation, row.cache, row.method) for row in run.rows if chosen(row)}
    keys = samples[["case", "implementation", "cache", "method"]].to_numpy()
    samples.loc[[key in slower for key in map(tuple, keys)], "seconds"] *= factor
    return with_samples(with_rows(run, slow), samples)


def write_copy(run: Run, folder: Path) -> Path:
    """The run, with its times and samples as they are now, as a folder."""
    shutil.copytree(run.folder, folder)
    table = pandas.read_csv(results_file(folder), dtype=str, keep_default_na=False)
    table = table.drop(columns=[name for name in columns.column_names(columns.COUNTERS) if name in table])
    for name in TIMES:
        table[name] = [getattr(row, name) for row in run.rows]
    (folder / PACKED_RESULTS_FILE).unlink(missing_ok=True)
    table.to_csv(folder / RESULTS_FILE, index=False)
    samples = ((*one[:5], repr(one[5])) for one in run.samples.itertuples(index=False))
    (folder / SAMPLES_FILE).write_bytes(samples_file(pack_samples(samples)))
    return folder


@dataclass(frozen=True)
class World:
    """What moves times on a GPU, as recorded repeats on an H200 show it."""

    drift: float = 0.003  # of a whole run, about
    launch_s: float = 100e-9  # by which launches differ from run to run, about
    row: float = 0.001  # of a row from run to run: where its arrays lie
    sample: float = 0.004  # of a sample
    wander: float = 0.001  # within a run, from its first sample to its last


def synthetic(seconds: Sequence[float], seed: int, world: World, factor: float = 1.0, taken: int = 60) -> Run:
    """A run of rows of these lengths; `factor` is planted in the rows of implementation `kernel`."""
    rng = np.random.default_rng(seed)
    drift, launch = rng.normal(0, world.drift), rng.normal(0, world.launch_s)
    rows, samples = [], []
    for number, length in enumerate(seconds):
        for name, role in (("kernel", "kernel"), ("copy", "yardstick")):
            true = length * (factor if name == "kernel" else 1.0) * np.exp(drift + rng.normal(0, world.row)) + launch
            moved = true * np.exp(
                rng.normal(0, world.sample, taken) + np.linspace(0, rng.normal(0, world.wander), taken)
            )
            values = np.round(moved / STEP_S) * STEP_S
            case = f"n={number}"
            median = float(np.median(values))
            rows.append(
                Row(
                    suite="synthetic", case=case, operation="copy", shape=(4,), axis=0, dtype="float32", axes=case,
                    implementation=name, role=role, arithmetic="accurate", status="ok", cache="cold", method="events",
                    samples=taken, median_s=median, low_s=float(values.min()), high_s=float(values.max()),
                    bytes_moved=4, share_of_ceiling=1e-6 / median, launch_texts=("k<<<1, 32>>>",), binary=name,
                    sm_clock_hz=1.98e9,
                )
            )  # fmt: skip
            samples += [(case, name, "cold", "events", place, value) for place, value in enumerate(values)]
    environment = {
        "suite": "synthetic",
        "device": {"name": "Test GPU"},
        "limits": {"floor_s": 2.8e-6 + launch, "dram_bytes_per_s": 4e12 * np.exp(-drift)},
    }
    run = Run(Path(f"synthetic-{seed}"), environment, tuple(rows))
    table = pandas.DataFrame(samples, columns=list(NAMES))
    return with_samples(run, table)
