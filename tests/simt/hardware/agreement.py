"""What a GPU counted and computed against what the simulator counts and computes, launch by launch."""

import csv
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelbench.build import BuildRequest, machine_lines
from kernelbench.build.code_notes import may_share
from kernelbench.build.sass import cross_check, disassemble, disassemble_together
from kernelbench.core.counters import Counters
from kernelbench.core.hardware_counters import COMPARED, HARDWARE_METRICS
from kernelbench.core.records import Binary
from tests.simt.hardware.trials import ARCHITECTURE, EXACT, Trial

GLOBAL, LOCAL = "_pipe_lsu_mem_global_op_", "_pipe_lsu_mem_local_op_"

# Name -> metrics of Nsight Compute, whose sum (those that a GPU has) is to be what the simulator counts.
METRICS: Mapping[str, tuple[tuple[str, ...], Callable[[Counters], int]]] = {
    name.replace("_", " "): (
        tuple(source.removesuffix(".sum") for source in HARDWARE_METRICS[name].sources),
        attrgetter(name),
    )
    for name in COMPARED
}
ATOMICS = "global atomic sectors"
# Recorded for a reader who looks into a difference.
ALSO = (
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st",
    f"l1tex__t_requests{GLOBAL}red", f"l1tex__t_requests{GLOBAL}atom",
    f"l1tex__t_requests{LOCAL}ld", f"l1tex__t_requests{LOCAL}st", "smsp__inst_executed", "smsp__thread_inst_executed",
)  # fmt: skip

Hardware = Mapping[tuple[str, int], Mapping[str, str]]  # by trial and number of its launch: a row of hardware.csv
Row = dict[str, Any]


def hardware_metrics() -> tuple[str, ...]:
    """All that is asked of Nsight Compute, as far as the GPU at hand has it; without the suffix `.sum`."""
    return tuple(dict.fromkeys([*(name for names, _ in METRICS.values() for name in names), *ALSO]))


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file that write() wrote; once docs/pack_runs.py has packed it, of `path`.gz."""
    packed = path.with_name(f"{path.name}.gz")
    text = path.read_text() if path.is_file() else gzip.decompress(packed.read_bytes()).decode()
    return list(csv.DictReader(text.splitlines()))


def read_hardware(path: Path) -> Hardware:
    return {(row["trial"], int(row["launch"])): row for row in read(path)}


def compare(
    trials: Sequence[Trial],
    binaries: Mapping[BuildRequest, Binary],
    hardware: Hardware,
    outputs: Mapping[str, NDArray[Any]],
) -> tuple[list[Row], list[Row]]:
    """Rows of agreement.csv and of outputs.csv, of trials that were measured. Figures that are 0 on both sides are left
    out. ValueError for a trial that launches something else than what was measured under its name."""
    from tests.simt.hardware.simulate import simulate  # measuring needs no simulator

    together = disassemble_together([binary.path for binary in binaries.values()], ARCHITECTURE) or {}
    machine_code = {one.key: together.get(one.path) or disassemble(one.path) for one in binaries.values()}
    lines = {binary.key: machine_lines(binary.path) if may_share(binary) else {} for binary in binaries.values()}
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in hardware))}
    rows, results = [], []
    for trial in trials:
        if trial.name not in numbers:
            continue
        binary = binaries[trial.request]
        ptx = binary.ptx_path.read_text()
        counted, computed = simulate(trial, ptx, lines[binary.key])
        for launch, counters in enumerate(counted):
            check = cross_check(ptx, trial.launches[launch].entry, machine_code[binary.key])
            note = check.note or (check.copies if counters.divergent_branches else "")
            rows += _launch_rows(trial, launch, counters, hardware[trial.name, launch], note)
        for name in trial.outputs:
            if (key := f"{numbers[trial.name]} {name}") in outputs:
                results.append(_output_row(trial, name, outputs[key], computed[name]))
    return rows, results


def _launch_rows(
    trial: Trial, launch: int, counters: Counters, measured: Mapping[str, str], note: str
) -> Iterator[Row]:
    one = trial.launches[launch]
    identity = {"trial": trial.name, "launch": str(launch), "entry": one.entry, "grid": extent(one.grid),
                "block": extent(one.block)}  # fmt: skip
    if any(value != measured[name] for name, value in identity.items()):
        raise ValueError(f"{trial.name}: measured was {measured}, now it launches {identity}")
    for metric, (names, figure) in METRICS.items():
        known = [int(measured[name]) for name in names if measured.get(name, "") != ""]
        if not known:
            continue
        real, simulated = sum(known), figure(counters)
        if real or simulated:
            equal = real == simulated
            counts = {"metric": metric, "hardware": real, "simulator": simulated, "equal": equal}
            yield identity | counts | {"note": "" if equal else note}


def _output_row(trial: Trial, name: str, real: NDArray[Any], simulated: NDArray[Any]) -> Row:
    distance = ulps_apart(real, simulated, trial.dtype)
    return {
        "trial": trial.name,
        "output": name,
        "elements": real.size,
        "different": int(np.count_nonzero(distance)),
        "largest_ulps": int(distance.max(initial=0)),
        "allowed_ulps": trial.ulps,
        "agrees": bool(distance.max(initial=0) <= trial.ulps),
    }


def ulps_apart(a: NDArray[Any], b: NDArray[Any], dtype: str = "") -> NDArray[np.int64]:
    """Numbers of the type from one to the other, elementwise; for integers 0 or 1, for differing NaNs the largest."""
    width = f"i{a.dtype.itemsize}"
    bits, other = (np.ascontiguousarray(one).reshape(-1).view(width).astype(np.int64) for one in (a, b))
    if a.dtype.kind != "f" and dtype != "bfloat16":
        return (bits != other).astype(np.int64)
    lowest = -(1 << (8 * a.dtype.itemsize - 1))
    ordered, ordered_other = (np.where(one < 0, lowest - one, one) for one in (bits, other))
    return np.abs(ordered - ordered_other)


def write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def summary(trials: Sequence[Trial], rows: Sequence[Row], results: Sequence[Row]) -> str:
    """A line a metric, then every difference, and every trial that is newer than the measurement."""
    measured = {row["trial"] for row in rows}
    lines = [f"{trial.name}: not measured" for trial in trials if trial.name not in measured]
    for metric in METRICS:
        own = [row for row in rows if row["metric"] == metric]
        lines.append(f"{metric}: {sum(row['equal'] for row in own)} of {len(own)} equal")
    for row in rows:
        if not row["equal"]:
            place = f"{row['trial']} [{row['launch']}] {row['metric']}"
            lines.append(f"  {place}: {row['hardware']}, simulator {row['simulator']}; {row['note']}")
    if results:
        exact = [row for row in results if row["allowed_ulps"] == EXACT]
        equal = sum(not row["different"] for row in exact)
        lines.append(f"outputs: {sum(row['agrees'] for row in results)} of {len(results)} agree, "
                     f"{equal} of {len(exact)} bit for bit where they must")  # fmt: skip
    for row in results:
        if not row["agrees"]:
            lines.append(f"  {row['trial']} {row['output']}: {row['different']} of {row['elements']} differ, "
                         f"by up to {row['largest_ulps']} ulp")  # fmt: skip
    return "\n".join(lines)


def extent(size: tuple[int, int, int]) -> str:
    return "x".join(map(str, size))
