"""What runs can hold, be mixed with, and lie beside."""

import os
import shutil
from pathlib import Path

from kernelbench.runs.results import ENVIRONMENT_FILE
from tests.reliability.faults import HALF, Outcome, fault, readable, said, told
from tests.reliability.stage import COLUMNS, FAKE, SIMULATOR, SUITE, Stage, cases, lost, rows, written

PLAN = """\
from kernelbench import Implementation, Launch, LaunchPlan, Origin

def plan(case, device):
    {first}
    return LaunchPlan((Launch("infinite_f32", (case.elements // 256, 1, 1), (256, 1, 1), ("x", "y")),))

IMPLEMENTATIONS = (Implementation("{name}", "a kernel", Origin("test"), plan=plan),)
"""
INFINITE = """\
// Infinity everywhere.   x, y: float [elements]   launch: a thread an element, blocks of 256
extern "C" __global__ void infinite_f32(const float* x, float* y) {
  y[blockIdx.x * 256 + threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x] * 0.0f + __int_as_float(0x7f800000);
}
"""
ODD = 'raise ValueError("\\r\\f\\v\\x1c\\x85\\u2028\\0\\ud800=" + "x" * 29_401)'


def _kernel(folder: Path, name: str, source: str, first: str = "pass") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.cu").write_text(source)
    (folder / f"{name}.py").write_text(PLAN.format(name=name, first=first))


@fault("a reason of 29,401 characters and odd line ends, and an output of infinity", FAKE, SIMULATOR)
def unreadable_rows(stage: Stage) -> Outcome:
    own = stage.root / "own"
    _kernel(own / "softmax", "wordy", "// nothing", ODD)
    if stage.kind == SIMULATOR:
        _kernel(own / "softmax", "infinite", INFINITE)
    options = ("--kernels", own)
    done = stage.run(*options, "--filter", HALF)
    assert done.code == 1, done.err
    before = rows(stage.out)
    reasons = {row["implementation"]: row["reason"] for row in written(stage)}
    assert reasons["wordy"].endswith(" more characters)")
    errors = {row["max_absolute_error"] for row in written(stage) if row["implementation"] == "infinite"}
    assert errors == ({"inf"} if stage.kind == SIMULATOR else set())
    readable(stage)
    again = stage.run("--resume", *options)
    after = rows(stage.out)
    assert (again.code, cases(after)) == (1, len(COLUMNS)), again.err
    return Outcome(reasons["wordy"].splitlines()[0][:60] + "..", done.code, len(before), lost(before, after))


@fault("another suite of the same name before --resume", FAKE, SIMULATOR)
def another_suite(stage: Stage) -> Outcome:
    assert stage.run("--filter", HALF).code == 0
    before = rows(stage.out)
    other = stage.root / "other" / "small.yaml"
    other.parent.mkdir()
    names, columns = ", ".join(stage.names), list(COLUMNS)
    text = SUITE.format(rows=8, columns=columns, names=names, baseline=stage.names[0])
    if stage.kind == SIMULATOR:
        text = SUITE.format(rows=64, columns=columns, names="packed, streamed", baseline="packed")
        text = text.replace("operation: softmax", "operation: relu")
    other.write_text(text)
    device = "cuda" if stage.kind == FAKE else "simulated"
    command = ("run", other, "--device", device, "--quick", "--no-report", "--resume", "--out", stage.out)
    done = stage.command(*command).wait()
    assert "its suite 'small' has changed: " in done.err
    return told(stage, done, before, 2, goes_on=True)


@fault("another run's environment.json is a pipe", FAKE)
def pipe_beside(stage: Stage) -> Outcome:
    command = ("run", stage.suite(), "--device", "cuda", "--quick", "--no-report")
    done = stage.command(*command, "--filter", HALF).wait()
    assert done.code == 0, done.err
    (mine,) = (stage.root / "runs").iterdir()
    bad = mine.with_name("29991231-235959-x-bad")
    shutil.copytree(mine, bad)
    (bad / ENVIRONMENT_FILE).unlink()
    os.mkfifo(bad / ENVIRONMENT_FILE)
    before = rows(mine)
    listed = stage.command("list", "runs").wait()
    assert (listed.code, "cannot be read" in listed.out) == (0, True), listed
    done = stage.command(*command, "--resume").wait()
    assert cases(rows(mine)) == len(COLUMNS), "and is the one that is gone on with"
    return Outcome(said(done, mine, line=0), done.code, len(before), lost(before, rows(mine)))


@fault("results/runs/ is on a disk that is not mounted", FAKE)
def not_mounted(stage: Stage) -> Outcome:
    (stage.root / "runs").symlink_to("/not/mounted")
    done = stage.command("run", stage.suite(), "--device", "cuda", "--quick", "--no-report").wait()
    assert done.code == 2
    assert "is a link to /not/mounted, which is not there" in done.err
    return Outcome(said(done, stage.root / "runs"), done.code, 0)
