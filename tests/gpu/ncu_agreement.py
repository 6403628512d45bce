"""Does the simulator count and compute what this GPU does? Nsight Compute says what the hardware counted.

    python tests/gpu/ncu_agreement.py measure OUT   hardware.csv, outputs.npz, environment.json: needs a GPU, ncu, nvcc
    python tests/gpu/ncu_agreement.py compare OUT   agreement.csv, outputs.csv: needs nvcc and g++, no GPU
    python tests/gpu/ncu_agreement.py OUT           both

The launches are those of tests/simt/hardware/trials.py. One process launches them all, in order, under ncu, with
clocks and caches left as they are.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # to run as a program from anywhere

import numpy as np  # noqa: E402

from kernelbench.build import BuildRequest, find_compiler  # noqa: E402
from kernelbench.core import dtypes  # noqa: E402
from kernelbench.core.records import Binary, Scalar  # noqa: E402
from tests.build.binaries import all_built  # noqa: E402
from tests.simt.hardware import agreement  # noqa: E402
from tests.simt.hardware.trials import Trial, trials  # noqa: E402

ALIGNMENT = 4096  # bytes

# What ncu adds to the figures of the L1: counts of the instructions themselves, one more replay of each kernel.
PATCHED = (
    "smsp__sass_inst_executed_op_shared_ld", "smsp__sass_inst_executed_op_shared_st",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st",
    "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ld",
    "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_st",
)  # fmt: skip
FIRST_S, SECOND_S = 240.0, 100.0  # the longest that each of the two profiles may take
IDENTITY = ("trial", "launch", "entry", "grid", "block")


def main(arguments: Sequence[str]) -> int:
    known = {"measure": (measure,), "compare": (compare,), "launch": (launch_all,)}
    if len(arguments) not in (1, 2) or (len(arguments) == 2 and arguments[0] not in known):
        print(__doc__)
        return 2
    out = Path(arguments[-1])
    out.mkdir(parents=True, exist_ok=True)
    for step in known[arguments[0]] if len(arguments) == 2 else (measure, compare):
        step(out)
    return 0


def built() -> dict[BuildRequest, Binary]:
    return all_built({one.request for one in trials()})


def measure(out: Path) -> None:
    began = time.monotonic()
    profiler = shutil.which("ncu")
    if profiler is None:
        raise SystemExit("ncu (Nsight Compute) is not on PATH")
    built()  # so that the profiled process finds all of it compiled
    compiled_s = time.monotonic() - began
    metrics, patched = known_metrics(profiler, agreement.hardware_metrics()), known_metrics(profiler, PATCHED)
    rows = profile(profiler, out, metrics, FIRST_S)
    profiled_s = time.monotonic() - began - compiled_s
    if patched and profiled_s < SECOND_S:
        try:
            for row, more in zip(rows, profile(profiler, out, patched, SECOND_S), strict=True):
                row |= {name: value for name, value in more.items() if name not in IDENTITY}
        except (subprocess.SubprocessError, ValueError) as error:
            print(f"without the counts of instructions: {error}")
    names = [*IDENTITY, *sorted({name for row in rows for name in row} - set(IDENTITY))]
    with (out / "hardware.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    times = {"compile_s": compiled_s, "profile_s": profiled_s, "all_s": time.monotonic() - began}
    state = environment(profiler) | {"seconds": {name: round(value, 1) for name, value in times.items()}}
    state["launches"] = len(rows)
    (out / "environment.json").write_text(json.dumps(state, indent=1) + "\n")
    print(f"{len(rows)} launches, {len(metrics)} metrics, {times}")


def known_metrics(profiler: str, names: Sequence[str]) -> list[str]:
    """Those that the profiler has for this GPU; all of them if it does not say."""
    done = subprocess.run([profiler, "--query-metrics"], capture_output=True, text=True, check=False)
    known = set(done.stdout.split())
    return [name for name in names if name in known] if done.returncode == 0 and known else list(names)


def profile(profiler: str, out: Path, metrics: Sequence[str], timeout_s: float) -> list[dict[str, Any]]:
    """A row a launch. SubprocessError if the profiler fails, ValueError if what it wrote does not fit the trials."""
    log = out / "ncu.log"
    command = [profiler, "--csv", "--log-file", str(log), "--force-overwrite", "--target-processes", "application-only",
               "--clock-control", "none", "--cache-control", "none", "--print-units", "base", "--kernel-name-base",
               "function", "--metrics", ",".join(f"{name}.sum" for name in metrics),
               sys.executable, __file__, "launch", str(out)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    written = log.read_text(errors="replace") if log.is_file() else ""
    if done.returncode != 0:
        said = f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}\n{written[-2000:]}"
        raise subprocess.SubprocessError(f"ncu ended with {done.returncode}:\n{said}")
    log.unlink()
    return table(written)


def table(log: str) -> list[dict[str, Any]]:
    """ncu writes a line a metric; here a row a launch, in the order of the trials."""
    counted: dict[str, dict[str, Any]] = {}
    for line in csv.DictReader([line for line in log.splitlines() if line.startswith('"')]):
        one = counted.setdefault(line["ID"], {"entry": line["Kernel Name"]})
        value = line["Metric Value"].replace(",", "")
        one[line["Metric Name"].removesuffix(".sum")] = int(float(value)) if value not in ("", "n/a") else ""
    rows = []
    expected = [(trial, number) for trial in trials() for number in range(len(trial.launches))]
    for (trial, number), values in zip(expected, counted.values(), strict=True):
        launch = trial.launches[number]
        if values["entry"].split("(")[0] != launch.entry:
            raise ValueError(f"{trial.name}: ncu saw {values['entry']}, expected {launch.entry}")
        identity = {"trial": trial.name, "launch": number, "entry": launch.entry}
        extents = {"grid": agreement.extent(launch.grid), "block": agreement.extent(launch.block)}
        rows.append(identity | extents | {name: value for name, value in values.items() if name != "entry"})
    return rows


def launch_all(out: Path) -> None:
    """What runs under ncu: every launch, in order, and nothing else; then all outputs are written to a file."""
    import cupy

    binaries = built()
    modules: dict[Path, Any] = {}
    outputs = {}
    for number, trial in enumerate(trials()):
        arrays = {name: aligned(cupy, host) for name, host in trial.arrays.items()}
        path = binaries[trial.request].path
        if path not in modules:
            modules[path] = cupy.RawModule(path=str(path))
        for one in trial.launches:
            kernel = modules[path].get_function(one.entry)
            if one.shared_bytes > 48 * 1024:
                kernel.max_dynamic_shared_size_bytes = one.shared_bytes
            kernel(one.grid, one.block, tuple(arguments(trial, one.arguments, arrays)), shared_mem=one.shared_bytes)
        cupy.cuda.runtime.deviceSynchronize()
        outputs |= {f"{number} {name}": cupy.asnumpy(arrays[name]) for name in trial.outputs}
    np.savez_compressed(out / "outputs.npz", **outputs)


def aligned(cupy: Any, host: Any) -> Any:
    """The array on the GPU, from a multiple of ALIGNMENT bytes on, as the simulator has it: scattered atomics count by
    bits 7 to 11 of the address."""
    room = cupy.empty(host.nbytes + ALIGNMENT, np.uint8)
    start = -room.data.ptr % ALIGNMENT
    array = room[start : start + host.nbytes].view(host.dtype).reshape(host.shape)
    array.set(np.ascontiguousarray(host))  # a copy, no kernel that would be counted
    return array


def arguments(trial: Trial, given: Sequence[Any], arrays: Mapping[str, Any]) -> Iterator[Any]:
    for one in given:
        yield dtypes.storage(one.dtype)(one.value) if isinstance(one, Scalar) else arrays[one]


def environment(profiler: str) -> dict[str, Any]:
    import cupy

    said = subprocess.run([profiler, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"Version ([\d.]+)", said)
    device = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "gpu": device["name"].decode(),
        "compute_capability": f"{device['major']}.{device['minor']}",
        "driver": driver_version(),
        "nvcc": find_compiler().version,
        "ncu": version[1] if version else "",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def driver_version() -> str:
    done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                          text=True, check=False)  # fmt: skip
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def compare(out: Path) -> None:
    began = time.monotonic()
    hardware = agreement.read_hardware(out / "hardware.csv")
    outputs = dict(np.load(out / "outputs.npz")) if (out / "outputs.npz").is_file() else {}
    chosen = trials()
    rows, results = agreement.compare(chosen, built(), hardware, outputs)
    agreement.write(out / "agreement.csv", rows)
    if outputs:
        agreement.write(out / "outputs.csv", results)
    print(agreement.summary(chosen, rows, results))
    print(f"compared in {time.monotonic() - began:.1f} s on {os.cpu_count()} CPUs")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
