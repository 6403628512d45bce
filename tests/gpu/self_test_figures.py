"""How far this machine's verdicts can be trusted, as figures in DIR/self_test.json; test_self_test.py asserts them.

    python tests/gpu/self_test_figures.py DIR

Three self-tests of the softmax suite, one more while another process loads the GPU on and off, a suite of copies that
do 1 % or 2 % of their work twice, and such a copy against itself without that, as two runs. Under 5 minutes on an H200.
DIR keeps the runs.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from kernelbench.compare import compare_within, read_ledger
from kernelbench.core import places
from kernelbench.planning.twins import AGAIN
from kernelbench.runs.results import Run, read_run

SLOWED = Path(__file__).parent / "slowed"
SHORTEST_S, LONGEST_S = 3e-6, 5e-3  # of the rows that a self-test is to have 100 of
FROM_S = 20e-6  # from here on planted slowdowns are to be found
# Of every kind: one launch and several, a block a row and a warp a row, short and long, kernels and peers.
NAMES = (
    "naive", "five_kernels", "four_kernels", "tree_modulo", "tree_strided", "tree_sequential", "tree_two_loads",
    "tree_unrolled", "tree_shuffle", "ft_v2", "ft", "oneflow_warp", "oneflow_shared", "oneflow_uncached", "oneflow",
    "cupy", "copy",
)  # fmt: skip
SELF_TEST = ("softmax", "--self-test", "--cache", "cold", "--filter", "seq<=512", "--only", ",".join(NAMES))
LOADED = ("softmax", "--self-test", "--cache", "cold", "--filter", "seq<=128", "--only", "naive,ft,oneflow,copy")
PAIR = (str(SLOWED / "slowed.yaml"), "--only", "steady,copy", "--filter", "n>=11342848", "--filter", "n<=317053952")
# What keeps a GPU busy for 0.3 of every second, until it is ended.
LOAD = """
import time
import cupy
data = cupy.ones(2**28, cupy.float32)
while True:
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        for _ in range(20):
            data *= 1.0
        cupy.cuda.runtime.deviceSynchronize()
    time.sleep(0.7)
"""


def kernelbench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernelbench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run(out: Path, *arguments: str, kernels: Path | None = None) -> tuple[Run, float]:
    """A run of these suites and options into `out`, and its seconds."""
    own = ["--kernels", str(kernels)] if kernels else []
    started = time.monotonic()
    done = kernelbench("run", *arguments, *own, "--device", "cuda", "--no-report", "--out", str(out))
    if not (out / "results.csv").exists():
        raise SystemExit(f"kernelbench run {' '.join(arguments)}:\n{done.stdout}{done.stderr}")
    print(done.stdout, flush=True)
    return read_run(out), round(time.monotonic() - started, 1)


def self_test(out: Path, *arguments: str) -> dict[str, Any]:
    """What environment.json says, with the rows of the lengths asked for, and those that are marked."""
    made, wall_s = run(out, *arguments)
    own = [row for row in made.rows if not row.implementation.endswith(AGAIN)]
    timed = [row for row in own if row.times and SHORTEST_S <= row.times[1] <= LONGEST_S]
    kept = {name: value for name, value in made.environment["self_test"].items() if name != "twins"}
    beside = sum("another process" in row.disturbed for row in made.rows)
    return {
        **kept,
        "rows_3us_to_5ms": len(timed),
        "rows_beside_another_process": beside,
        "other_processes": made.environment["device"].get("other_processes"),
        "wall_s": wall_s,
    }


def planted(out: Path) -> dict[str, Any]:
    """What share of the rows of FROM_S and more, and of all, are SLOWER than the copy that does its work once."""
    made, wall_s = run(out, str(SLOWED / "slowed.yaml"), kernels=SLOWED)
    timed = [row for row in compare_within(made, "steady", read_ledger(places.LEDGER)) if row.median_s is not None]
    found: dict[str, Any] = {"rows": len(timed), "wall_s": wall_s}
    for name in ("one_per_cent", "two_per_cent"):
        own = [row for row in timed if row.implementation == name]
        long = [row for row in own if (row.baseline_s or 0) >= FROM_S]
        verdicts = Counter(row.verdict for row in long)
        found[name] = {
            "rows": len(long),
            "found": verdicts["SLOWER"] / len(long),
            "verdicts": dict(verdicts),
            "median_slowdown": 1 / median(row.speedup for row in long if row.speedup) - 1,
            "shorter_rows": len(own) - len(long),
            "shorter_rows_found": sum(row.verdict == "SLOWER" for row in own) - verdicts["SLOWER"],
        }
    return found


def before_and_after(out: Path) -> dict[str, Any]:
    """A kernel that became 2 % slower, as two runs: what `compare RUN RUN --fail-on 1%` ends with and says."""
    before, _ = run(out / "before", *PAIR, kernels=SLOWED)
    changed = out / "kernels" / "copy"
    changed.mkdir(parents=True, exist_ok=True)
    for name in ("slowed.cu", "slowed.py"):
        (changed / name).write_text((SLOWED / "copy" / name).read_text().replace('"steady": 0', '"steady": 20'))
    after, _ = run(out / "after", *PAIR, kernels=out / "kernels")
    changes = kernelbench("compare", str(before.folder), str(after.folder), "--fail-on", "1%", "--format", "json")
    itself = kernelbench("compare", str(before.folder), str(before.folder), "--fail-on", "1%", "--format", "json")
    rows = json.loads(changes.stdout)["rows"]
    slower = [row for row in rows if row["verdict"] == "SLOWER"]
    return {
        "exit_code": changes.returncode,
        "slowed_rows": sum(row["implementation"] == "steady" for row in rows),
        "slower": [f"{row['implementation']} on {row['case']}, {row['method']}" for row in slower],
        "named": changes.stderr.strip().splitlines(),
        "itself_exit_code": itself.returncode,
        "itself_counts": json.loads(itself.stdout)["counts"],
    }


@contextmanager
def loaded() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", LOAD])
    try:
        time.sleep(5)  # until it is at work
        if process.poll() is not None:
            raise SystemExit("the process that loads the GPU did not start")
        yield
    finally:
        process.kill()
        process.wait()


def main(arguments: Sequence[str]) -> None:
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    out = Path(arguments[0])
    started = time.monotonic()
    tests = [self_test(out / f"self_test_{number}", *SELF_TEST) for number in (1, 2, 3)]
    found = {
        "device": read_run(out / "self_test_1").environment["device"],
        "self_tests": tests,
        "planted": planted(out / "slowed"),
        "before_and_after": before_and_after(out),
    }
    with loaded():
        found["beside_another_process"] = self_test(out / "self_test_loaded", *LOADED)
    found["wall_s"] = round(time.monotonic() - started, 1)
    (out / "self_test.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps({name: value for name, value in found.items() if name != "device"}, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
