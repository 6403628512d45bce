"""Cold times of kernels by NVBench and by our own timer, in one process and on the same arrays.

    python nvbench_script.py '[["oneflow", [32, 64, 16, 16]], ..]' FOLDER

Writes FOLDER/times.json: for each pair its median in seconds by both, and the number of samples.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelbench import places
from kernelbench.build import BuildRequest, build, find_compiler
from kernelbench.catalog import load_catalog
from kernelbench.devices import open_device
from kernelbench.measure.timing import EventTimer
from kernelbench.planning import plan_case
from kernelbench.records import Binary, Case

SAMPLES = 300  # of each; ours half before and half after NVBench's, so that a drift meets both alike
OPERATION = "softmax"


class Bench:
    """What NVBench calls for each pair; `own` collects our samples by the pair's number."""

    def __init__(self, pairs: list[tuple[str, list[int]]]) -> None:
        self.pairs = pairs
        self.device: Any = open_device("cuda")
        self.own: dict[int, list[float]] = {}
        catalog = load_catalog()
        self.operation = catalog.operations[OPERATION]
        self.cases = [Case(OPERATION, tuple(shape), -1, "float32") for _, shape in pairs]
        known = catalog.implementations[OPERATION]
        self.planned = [
            plan_case(case, self.operation, known[name], self.device.properties)
            for case, (name, _) in zip(self.cases, pairs, strict=True)
        ]
        architecture = self.device.properties.architecture
        self.requests = [
            BuildRequest(one.implementation.source, one.plan.defines, architecture)  # type: ignore[arg-type, union-attr]
            for one in self.planned
        ]
        self.binaries = build(set(self.requests), find_compiler(), places.cache())

    def measure(self, state: Any) -> None:
        number = state.get_int64("pair")
        specs = self.operation.arrays(self.cases[number])
        arrays = self.device.allocate(specs)
        self.device.fill(arrays, specs, 1)
        timer = EventTimer(self.device.clock, [self._executable(number, arrays)], "cold")
        theirs = self._on_stream(state.get_stream().addressof(), lambda: self._executable(number, arrays))
        timer.sample()
        theirs()  # loaded before it is timed: behind NVBench's blocking kernel, loading would wait for ever
        self.device.xp.cuda.runtime.deviceSynchronize()
        self.own[number] = [timer.sample() for _ in range(SAMPLES // 2)]
        state.exec(lambda launch: theirs(), batched=False)
        self.own[number] += [timer.sample() for _ in range(SAMPLES - SAMPLES // 2)]

    def _executable(self, number: int, arrays: Any) -> Any:
        one, binary = self.planned[number], self.binaries[self.requests[number]]
        if not isinstance(binary, Binary):
            raise binary
        return self.device.executable(one.implementation, self.cases[number], one.plan, binary, arrays)

    def _on_stream(self, address: int, make: Callable[[], Any]) -> Any:
        """What `make` binds to the device's stream, bound to the one at that address instead."""
        own = self.device.stream
        self.device.stream = self.device.xp.cuda.ExternalStream(address)
        try:
            return make()
        finally:
            self.device.stream = own


def main() -> None:
    import cuda.bench
    from cuda.bench.results import BenchmarkResult

    pairs, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
    bench = Bench(pairs)

    def measure(state: Any) -> None:
        bench.measure(state)
        bench.device.release()

    benchmark = cuda.bench.register(measure)
    benchmark.set_name("pairs").add_int64_axis("pair", list(range(len(pairs))))
    samples = ["--min-samples", str(SAMPLES), "--stopping-criterion", "sample-count", "--target-samples", str(SAMPLES)]
    output = folder / "nvbench.json"
    cuda.bench.run_all_benchmarks(["kernelbench", "--devices", "0", "--jsonbin", str(output), *samples])

    rows: list[dict[str, Any]] = [{"implementation": name, "shape": shape} for name, shape in pairs]
    for state in BenchmarkResult.from_json(output)["pairs"]:
        if state.is_skipped or not state.samples:
            raise SystemExit(f"NVBench has no samples of {state.name()}: {state.skip_reason}")
        number = int(state.point["pair"])
        rows[number].update(
            nvbench_s=statistics.median(state.samples),
            ours_s=statistics.median(bench.own[number]),
            nvbench_samples=len(state.samples),
            ours_samples=len(bench.own[number]),
        )
    (folder / "times.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
