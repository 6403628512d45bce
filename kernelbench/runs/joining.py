"""One run out of several that measured different cases of one suite, each on a GPU of its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelbench.core.errors import ResultsError
from kernelbench.core.texts import from_cell
from kernelbench.runs.results import RESULTS_FILE, SAMPLES_FILE, Run, Store, read_run, result_cells, results_file
from kernelbench.runs.samples import read_samples

_MERGED = ("implementations", "calls", "code")  # by name; every part has those of its own cases
_OWN = ("uuid", "pci_bus_id", "name")  # of `device`


def join_runs(parts: Mapping[str, Path], folder: Path, cases: Sequence[str]) -> Run:
    """Write the rows and samples of `parts`, run folders by the label of their GPU, as one run into `folder`.

    Rows are in the order of `cases`, keys of the suite. The environment is that of the first part; its `shared` says
    which GPU measured which cases, with the limits of each. Floor and ceiling on screens are those of the first part;
    shares of the ceiling are each row's own. ResultsError if two parts hold the same case, or differ in suite or GPU.
    """
    runs = {label: read_run(path) for label, path in parts.items()}
    _check(runs)
    rows = [row for path in parts.values() for row in _rows(results_file(path))]
    place = {case: number for number, case in enumerate(cases)}
    rows.sort(key=lambda row: place.get(row["case"], len(place)))  # stable: implementations keep their order
    samples = [sample for path in parts.values() for sample in read_samples(path / SAMPLES_FILE)[0]]
    for name in (RESULTS_FILE, SAMPLES_FILE):  # of an earlier join: parts have everything
        (folder / name).unlink(missing_ok=True)
    store = Store(folder)
    store.write_environment(_environment(runs))
    store.append(rows, samples)
    return read_run(folder)


def _check(runs: Mapping[str, Run]) -> None:
    first = next(iter(runs.values()))
    owners: dict[str, str] = {}
    for label, run in runs.items():
        if (run.suite, run.device) != (first.suite, first.device):
            raise ResultsError(
                f"{run.folder}: is of {run.suite} on {run.device}, {first.folder} of {first.suite} on {first.device}; "
                "only runs of one suite on GPUs of one kind can be joined"
            )
        for case in {row.case for row in run.rows}:
            if owners.setdefault(case, label) != label:
                raise ResultsError(f"{run.folder}: '{case}' was measured on {owners[case]} too; leave one run out")


def _environment(runs: Mapping[str, Run]) -> dict[str, Any]:
    environments = [run.environment for run in runs.values()]
    first = environments[0]
    merged: dict[str, Any] = {}
    for name in _MERGED:
        found = {key: value for one in environments for key, value in one.get(name, {}).items()}
        merged |= {name: found} if found else {}
    stopped = any(run.stopped for run in runs.values())
    ended = [str(one["finished"]) for one in environments if one.get("finished")]
    device = dict(first.get("device", {}))
    if "uuid" in device and len(runs) > 1:
        device["uuid"] = "several"  # so that no GPU goes on with this run alone
    return {
        **first,
        **merged,
        "device": device,
        "started": min((str(one["started"]) for one in environments if one.get("started")), default=None),
        "finished": None if stopped or not ended else max(ended),
        "wall_s": max(float(one.get("wall_s") or 0) for one in environments),
        "shared": {label: _share(run) for label, run in runs.items()},
    }


def _share(run: Run) -> dict[str, Any]:
    """What one GPU did."""
    device = run.environment.get("device", {})
    return {
        **{name: device[name] for name in _OWN if name in device},
        "cases": list(dict.fromkeys(row.case for row in run.rows)),
        "limits": run.environment.get("limits", {}),
        **{name: run.environment.get(name) for name in ("started", "finished", "wall_s", "host", "versions")},
    }


def _rows(path: Path) -> list[dict[str, str]]:
    """Rows by column; the reader has checked them."""
    (header, *lines), _ = result_cells(path)
    return [dict(zip(header, map(from_cell, line), strict=True)) for line in lines]
