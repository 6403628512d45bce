"""Cold times of kernels by NVBench and by kernelbench, in one process, on the same arrays and the same stream.

    python nvbench_script.py '[["oneflow", [32, 64, 16, 16]], ..]' FOLDER

Writes FOLDER/times.json: for each pair its median in seconds by both, and the number of samples; and FOLDER/wall.json:
its median by NVBench as it comes and by the rounds of `kernelbench run`, and the seconds that each took for it.
"""

import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelbench.build import BuildRequest, build, find_compiler
from kernelbench.core import places
from kernelbench.core.records import Binary, Case
from kernelbench.devices import open_device
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.placements import PLACEMENTS
from kernelbench.measure.rounds import CaseMeasurement
from kernelbench.measure.timing import EventTimer
from kernelbench.measure.tracks import Contender, Precision
from kernelbench.planning.case_plans import plan_case
from kernelbench.planning.catalog import load_catalog

SAMPLES = 300  # of each; ours half before and half after NVBench's, so that a drift meets both alike
SEED = 1
OPERATION = "softmax"


class Stream:
    """A stream as NVBench takes it."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


class Bench:
    """What NVBench calls for each pair; `own` collects our samples by the pair's number, `wall` what took how long."""

    def __init__(self, pairs: list[tuple[str, list[int]]]) -> None:
        self.pairs = pairs
        self.device: Any = open_device("cuda")
        self.own: dict[int, list[float]] = {}
        self.wall: dict[int, dict[str, float]] = {}
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
            BuildRequest.of(one.implementation.source, one.plan, architecture)  # type: ignore[arg-type]
            for one in self.planned
        ]
        self.binaries = build(set(self.requests), find_compiler(), places.cache())

    def agree(self, state: Any) -> None:
        """As many samples by both, one by one."""
        number, _, run = self._ready(state)
        timer = EventTimer(self.device.clock, [run], "cold")
        self.own[number] = [timer.sample() for _ in range(SAMPLES // 2)]
        state.exec(lambda launch: run(), batched=False)
        self.own[number] += [timer.sample() for _ in range(SAMPLES - SAMPLES // 2)]

    def race(self, state: Any) -> None:
        """Each as it comes: NVBench's cold measurement by its own criterion, ours by the rounds of a case with one
        implementation, as many as 32 places in memory ask for, and the verification after the last."""
        number, arrays, run = self._ready(state)
        data = CaseData(self.device, self.operation, self.cases[number], [arrays] * PLACEMENTS)
        contender = Contender(self.planned[number].implementation, [run] * PLACEMENTS)
        began = time.perf_counter()
        CaseMeasurement(data, ("cold",), Precision(), SEED).run([contender])
        ours_s = time.perf_counter() - began
        if contender.failure:
            raise SystemExit(contender.failure)
        (ours,) = [one for one in contender.measurements if one.method == "events"]
        began = time.perf_counter()
        state.exec(lambda launch: run(), batched=False)
        self.wall[number] = {
            "nvbench_wall_s": time.perf_counter() - began,
            "ours_wall_s": ours_s,
            "ours_s": ours.median_s,
            "ours_samples": len(ours.samples_s),
        }

    def _ready(self, state: Any) -> tuple[int, Any, Any]:
        """The pair's number, its arrays filled, and its kernel, loaded already: behind NVBench's blocking kernel,
        loading would wait for ever."""
        number = state.get_int64("pair")
        state.set_stream(Stream(self.device.stream.ptr))
        specs = self.operation.arrays(self.cases[number])
        arrays = self.device.allocate(specs)
        self.device.fill(arrays, specs, SEED)
        run = self._executable(number, arrays)
        run()
        self.device.clock.wait()
        return number, arrays, run

    def _executable(self, number: int, arrays: Any) -> Any:
        one, binary = self.planned[number], self.binaries[self.requests[number]]
        if not isinstance(binary, Binary):
            raise binary
        return self.device.executable(one.implementation, self.cases[number], one.plan, binary, arrays)


def medians(states: Any, count: int) -> list[dict[str, Any]]:
    """NVBench's median and number of samples by the pair's number."""
    found: list[dict[str, Any]] = [{} for _ in range(count)]
    for state in states:
        if state.is_skipped or not state.samples:
            raise SystemExit(f"NVBench has no samples of {state.name()}: {state.skip_reason}")
        found[int(state.point["pair"])] = {
            "nvbench_s": statistics.median(state.samples),
            "nvbench_samples": len(state.samples),
        }
    return found


def write(path: Path, pairs: Sequence[tuple[str, list[int]]], *cells: Sequence[dict[str, Any]]) -> None:
    rows = [{"implementation": name, "shape": shape} for name, shape in pairs]
    for row, *found in zip(rows, *cells, strict=True):
        for one in found:
            row.update(one)
    path.write_text(json.dumps(rows, indent=1))


def main() -> None:
    import cuda.bench
    from cuda.bench.results import BenchmarkResult

    pairs, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
    bench, numbers = Bench(pairs), list(range(len(pairs)))

    def agree(state: Any) -> None:
        bench.agree(state)
        bench.device.release()

    def race(state: Any) -> None:
        bench.race(state)
        bench.device.release()

    agreement = cuda.bench.register(agree)
    agreement.set_name("agree").add_int64_axis("pair", numbers).set_min_samples(SAMPLES)
    agreement.set_stopping_criterion("sample-count").set_criterion_param_int64("target-samples", SAMPLES)
    cuda.bench.register(race).set_name("race").add_int64_axis("pair", numbers)
    output = folder / "nvbench.json"
    cuda.bench.run_all_benchmarks(["kernelbench", "--devices", "0", "--jsonbin", str(output)])

    results = BenchmarkResult.from_json(output)
    own = [{"ours_s": statistics.median(bench.own[at]), "ours_samples": len(bench.own[at])} for at in numbers]
    write(folder / "times.json", pairs, medians(results["agree"], len(pairs)), own)
    write(folder / "wall.json", pairs, medians(results["race"], len(pairs)), [bench.wall[at] for at in numbers])


if __name__ == "__main__":
    main()
