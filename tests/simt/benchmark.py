"""How fast the simulator runs, counters on: softmax over 262,144 rows and sums of 2^22 elements.

    python tests/simt/benchmark.py            print a table
    python tests/simt/benchmark.py --record   also keep the figures that docs/simulator.md shows

Needs nvcc and g++, no GPU, and 600 MB of memory.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # to run as a program from anywhere

from kernelbench.core.records import Binary, Case  # noqa: E402
from kernelbench.devices.known import known_gpu  # noqa: E402
from kernelbench.planning.case_plans import plan_case  # noqa: E402
from kernelbench.planning.catalog import load_catalog  # noqa: E402
from tests.build.binaries import only_built  # noqa: E402
from tests.simt.hardware.simulate import Simulation  # noqa: E402
from tests.simt.hardware.trials import Trial, empty, floats, int32, trial, zeros  # noqa: E402

RECORD = ROOT / "docs" / "recorded" / "simulator_speed.json"
REPEATS = 3
THREADS = (1, 2)
SHAPE = (32, 64, 128, 128)
ELEMENTS = 2**22

# Seconds that the prototype took, one thread, for kernels of the same kind.
PROTOTYPE = {
    "softmax, a warp a row": "0.45 - 1.1",
    "softmax, a block a row": "3.2",
    "sum, modulo": "0.25",
    "sum, strided": "0.17",
    "sum, sequential": "0.12",
    "sum, unrolled": "0.08",
    "sum, shuffled": "0.03",
}


def cases() -> Iterator[Trial]:
    arrays = {"x": floats(*SHAPE), "y": empty(*SHAPE)}
    rows, columns = prod(SHAPE[:-1]), SHAPE[-1]
    yield trial("softmax, a warp a row", "softmax:warp_a_row", rows // 4, (32, 4, 1), arrays, int32(rows))
    yield trial("softmax, a block a row", "softmax:block_a_row", rows, 128, arrays, int32(columns), shared_bytes=512)
    catalog = load_catalog()
    for implementation in ("oneflow_warp", "oneflow_shared_128"):
        case = Case("softmax", SHAPE, -1, "float32")
        one = catalog.implementations["softmax"][implementation]
        plan = plan_case(case, catalog.operations["softmax"], one, known_gpu("h200")).plan
        assert one.source is not None
        yield Trial(f"softmax, {implementation}", one.source, plan.launches, arrays, ("y",), defines=plan.defines)
    x = floats(ELEMENTS)
    for tree in ("modulo", "strided", "sequential", "unrolled"):
        yield trial(f"sum, {tree}", f"trees:{tree}", ELEMENTS // 256, 256, {"x": x, "y": empty(ELEMENTS // 256)},
                    int32(ELEMENTS), shared_bytes=1024)  # fmt: skip
    yield trial("sum, shuffled", "trees:shuffled", 528, 256, {"x": x, "y": zeros(1, dtype="float32")}, int32(ELEMENTS))


def measured(one: Trial, binary: Binary) -> dict[str, Any]:
    seconds, instructions = {}, 0
    for threads in THREADS:
        simulation = Simulation(one, binary.ptx_path.read_text())
        taken = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            counted = simulation.run(threads=threads)
            taken.append(time.perf_counter() - began)
        instructions = sum(counters.warp_instructions for counters in counted)
        seconds[str(threads)] = round(min(taken), 4)
    return {"kernel": one.name, "warp_instructions": instructions, "seconds": seconds,
            "prototype_s": PROTOTYPE.get(one.name, "")}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    rows = []
    titles = "".join(f"{f'{threads} thr. (s)':>12}" for threads in THREADS)
    print(f"{'':30}{'M instr.':>9}{titles}  prototype (s)")
    for one in cases():
        row = measured(one, only_built(one.request))
        rows.append(row)
        figures = "".join(f"{row['seconds'][str(threads)]:12.3f}" for threads in THREADS)
        print(f"{row['kernel']:30}{row['warp_instructions'] / 1e6:9.1f}{figures}  {row['prototype_s']}", flush=True)
    if "--record" in arguments:
        RECORD.parent.mkdir(exist_ok=True)
        found = {"repeats": REPEATS, "cpu": cpu_name(), "cpus": os.cpu_count(), "rows": rows}
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def cpu_name() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
