"""A project of its own for tests of the whole walk: kernels, suites and runs in a temporary folder, a GPU
with a set clock, and a compiler that costs nothing."""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernelbench import build, devices
from kernelbench.build import Compiler, find_compiler
from kernelbench.compare import recorded
from kernelbench.compare.recorded import Standing, ledger_standings
from kernelbench.core import places
from kernelbench.core.errors import NoCompiler
from kernelbench.core.records import Limits
from kernelbench.measure import gpu_process
from kernelbench.measure.bench import InProcessBench
from kernelbench.planning.catalog import load_catalog
from kernelbench.walks import run as run_walk
from tests.build.conftest import fake_compiler
from tests.fake_gpu import FakeDevice, softmax

KERNELS = Path(__file__).with_name("kernels")
Command = Callable[..., tuple[int, str, str]]
LIMITS = Limits(floor_s=3e-6, graph_floor_s=1e-6, dram_bytes_per_s=4.2e12, dram_copy="copy_4")
CALLS = """\
from kernelbench import Implementation, Origin
IMPLEMENTATIONS = tuple(
    Implementation(name, "a call", Origin("test"), prepare=lambda case, arrays, stream: None, role="{role}")
    for name in {names})
"""
KERNEL = """\
from kernelbench import Unsupported
from kernelbench import Implementation, Launch, LaunchPlan, Origin

def plan(case, device):
    if case.shape[-1] > {most}:
        raise Unsupported(f"columns must be at most {most}, got {{case.shape[-1]}}")
    return LaunchPlan((Launch("k", (1, 1, 1), (32, 1, 1), {arguments}),), reasons=("one block",))

IMPLEMENTATIONS = (Implementation("{name}", "a kernel", Origin("test"), plan=plan),)
"""
SUITE = """\
title: A small suite
operation: softmax
shape: [4, columns]
axes: {{columns: {columns}}}
implementations: [{names}]
baseline: good
"""


def pytest_configure() -> None:
    """A shell has its jobs in the background ignore Ctrl-C, nohup has them ignore SIGHUP, and so all that they start:
    tests send both. Python's readline sets COLUMNS for all that is started, and a pipe has no window."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ.pop("COLUMNS", None)
    os.unsetenv("COLUMNS")  # where readline set it past os.environ


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """With `-n auto`: some of the exhaustive tests wait for processes that they stop, so that a core would idle."""
    cores = len(os.sched_getaffinity(0))
    return cores + 1 if config.option.markexpr == "exhaustive" else None


def pytest_collection() -> None:
    """What is collected stays to the end: to look for garbage in it, time and again, costs seconds."""
    gc.disable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("nvcc") and (reason := why_no_compiler()):
        pytest.skip(reason)


@cache
def why_no_compiler() -> str:
    try:
        find_compiler()
    except NoCompiler as missing:
        return str(missing).splitlines()[0]
    return ""


@pytest.hookimpl(tryfirst=True)  # before -m takes its choice
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """tests/kernels/ plans in the quick core and compiles beyond it: what runs each kernel there is
    tests/simt/test_project_kernels.py. Tests that may take long are first, lest one is left alone at the end."""
    for item in items:
        if item.get_closest_marker("nvcc") and KERNELS in item.path.parents:
            item.add_marker("exhaustive")
    items.sort(key=lambda item: not item.get_closest_marker("timeout"))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000)  # at the 700 of Python, looking through what tests make takes 7 % of their time
    gc.enable()


@dataclass
class Project:
    """`kernels`: calls `good`, `other`, `third`; kernels `compiled` (to 16 columns), `broken`, `misfit`; the
    specimen `zeros`. `device.kernels` says what they do and how long it takes."""

    root: Path
    device: FakeDevice
    compiler: Compiler

    def suite(self, names: str, columns: str = "[8, 16, 32]", name: str = "small") -> Path:
        path = self.root / "suites" / f"{name}.yaml"
        path.write_text(SUITE.format(names=names, columns=columns))
        return path

    @property
    def runs(self) -> list[Path]:
        folder = self.root / "results" / "runs"
        return sorted(folder.iterdir()) if folder.is_dir() else []


def write_kernels(root: Path) -> None:
    softmax_folder, specimens = root / "kernels" / "softmax", root / "specimens" / "softmax"
    for folder in (softmax_folder, specimens, root / "suites"):
        folder.mkdir(parents=True)
    shutil.copy(places.KERNELS / "softmax" / "operation.py", softmax_folder)
    (softmax_folder / "calls.py").write_text(CALLS.format(role="kernel", names=("good", "other", "third")))
    (specimens / "zeros.py").write_text(CALLS.format(role="specimen", names=("zeros",)))
    for name, most, arguments, text in (
        ("compiled", 16, ("x", "y"), "// fine"),
        ("broken", 64, ("x", "y"), "REFUSE"),
        ("misfit", 64, ("x", "y", "x"), "// fine"),
    ):
        (softmax_folder / f"{name}.cu").write_text(f"// {name}\n{text}\n")
        (softmax_folder / f"{name}.py").write_text(KERNEL.format(name=name, most=most, arguments=arguments))


def move_places(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, caches and recorded runs below `root`; the project's own stay as they are."""
    monkeypatch.setattr(places, "runs", lambda: root / "results" / "runs")
    monkeypatch.setattr(places, "RECORDED", root / "results")
    monkeypatch.setattr(places, "cache", lambda: root / "cache")
    monkeypatch.setattr(places, "locks", lambda: root)
    monkeypatch.setattr(places, "own_tuned", lambda: root / "tuned")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    # Tests edit a kernel within a second of its reading; Python would take its bytecode for current.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    root = tmp_path
    write_kernels(root)
    device = FakeDevice(dict.fromkeys(("good", "other", "third", "compiled"), (softmax, 50e-6, 5e-6)))
    device.kernels["zeros"] = (lambda arrays: arrays["y"].fill(0), 50e-6, 5e-6)
    compiler = fake_compiler(root, root / "nvcc.log")
    move_places(root, monkeypatch)
    ledger = root / "published"
    ledger.mkdir()
    shutil.copy(places.LEDGER / "softmax-fusion.yaml", ledger)
    for name, place in (
        ("KERNELS", "kernels"),
        ("SPECIMENS", "specimens"),
        ("SUITES", "suites"),
        ("LEDGER", "published"),
    ):
        monkeypatch.setattr(places, name, root / place)
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    monkeypatch.setattr(
        gpu_process,
        "WorkerBench",
        lambda opener, own, _: InProcessBench(opener(), load_catalog(specimens=True, own=own)),
    )
    monkeypatch.setattr(build, "find_compiler", lambda nvcc=None: compiler)
    monkeypatch.setattr(run_walk, "measured_limits", lambda *arguments: LIMITS)
    monkeypatch.chdir(root)
    return Project(root, device, compiler)


@pytest.fixture(scope="session")
def judged() -> list[Standing]:
    """Every published comparison on the recorded runs, which takes seconds."""
    return ledger_standings()


@pytest.fixture
def judged_once(judged: list[Standing], monkeypatch: pytest.MonkeyPatch) -> None:
    """`list claims` lists those."""
    monkeypatch.setattr(recorded, "ledger_standings", lambda progress: judged)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """command("list", "runs"): exit code, stdout and stderr of that command line."""
    from kernelbench.cli import commands

    def run(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["kernelbench", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            commands.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run
