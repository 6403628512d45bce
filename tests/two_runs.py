"""Runs for comparing two of them: recorded ones changed in memory or as copies, and synthetic ones with known drift."""

import gzip
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from kernelbench.core import columns
from kernelbench.runs.records import Row, row_of
from kernelbench.runs.results import RESULTS_FILE, SAMPLES_FILE, Run

TIMES = ("median_s", "low_s", "high_s")
STEP_S = 32e-9


def rows_of(table: pandas.DataFrame) -> tuple[Row, ...]:
    """Rows with these cells, by columns of results.csv; those that are not there are empty."""
    empty = {name: "" if name in columns.TEXTS else None for name in columns.names(columns.RESULTS)}
    empty |= {"shape": "1", "axis": 0}
    cells = table.astype(object).where(table.notna(), None).to_dict("records")
    return tuple(row_of({**empty, **row}) for row in cells)


def with_rows(run: Run, table: pandas.DataFrame) -> Run:
    """The run with other rows, and its own samples; nothing is written."""
    return with_samples(run, table, run.samples)


def with_samples(run: Run, rows: pandas.DataFrame, samples: pandas.DataFrame) -> Run:
    """The run with other rows and samples; nothing is written."""
    changed = replace(run, rows=rows_of(rows))
    changed.__dict__["samples"] = samples  # where the cached property keeps them
    return changed


def slowed(run: Run, factor: float, chosen: Callable[[pandas.DataFrame], Any]) -> Run:
    """The run with the samples of the chosen rows made longer."""
    rows, samples = run.table.copy(), run.samples.copy()
    mask = chosen(rows)
    rows.loc[mask, list(TIMES)] *= factor
    keys = ["case", "implementation", "cache", "method"]
    slow = set(map(tuple, rows.loc[mask, keys].to_numpy()))
    samples.loc[[key in slow for key in map(tuple, samples[keys].to_numpy())], "seconds"] *= factor
    return with_samples(run, rows, samples)


def write_copy(run: Run, folder: Path) -> Path:
    """The run, with its tables as they are now, as a folder."""
    shutil.copytree(run.folder, folder)
    rows = run.table.drop(columns=[name for name in columns.names(columns.COUNTERS) if name in run.table])
    rows.to_csv(folder / RESULTS_FILE, index=False)
    (folder / SAMPLES_FILE).write_bytes(gzip.compress(run.samples.to_csv(index=False).encode()))
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
                {"case": case, "implementation": name, "role": role, "status": "ok", "reason": "", "binary": name}
                | {
                    "cache": "cold",
                    "method": "events",
                    "launches": "k<<<1, 32>>>",
                    "samples": taken,
                    "throttle": "",
                    "disturbed": "",
                }
                | {"median_s": median, "low_s": values.min(), "high_s": values.max(), "sm_clock_hz": 1.98e9}
                | {"share_of_ceiling": 1e-6 / median, "bytes_moved": 4.0}
            )
            samples += [(case, name, "cold", "events", place, value) for place, value in enumerate(values)]
    environment = {
        "suite": "synthetic",
        "device": {"name": "Test GPU"},
        "limits": {"floor_s": 2.8e-6 + launch, "dram_bytes_per_s": 4e12 * np.exp(-drift)},
    }
    run = Run(Path(f"synthetic-{seed}"), environment, rows_of(pandas.DataFrame(rows)))
    table = pandas.DataFrame(samples, columns=["case", "implementation", "cache", "method", "round", "seconds"])
    return with_samples(run, run.table, table)
