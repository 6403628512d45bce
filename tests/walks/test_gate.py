"""`kernelbench gate` with a GPU that has a set clock: pairs in the same rounds, equal code left out, verdicts."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernelbench import devices
from kernelbench.core import places
from kernelbench.core.records import Arrays
from kernelbench.planning.twins import AGAIN
from kernelbench.runs.results import read_run
from kernelbench.walks import gate as gate_walk
from tests.conftest import CALLS, KERNEL, LIMITS, Command, Project
from tests.endings import ended, refused
from tests.fake_gpu import softmax
from tests.fake_simulator import FakeSimulator
from tests.self_test_devices import NoisyDevice

NOISY = 50e-6  # seconds of 8 columns; more columns take as much longer
Versions = Callable[..., tuple[Path, Path]]


def write_version(folder: Path, text: str, names: tuple[str, ...] = ("mine",), most: int = 64) -> Path:
    for name in names:
        kernels = folder / "kernels" / "softmax"
        kernels.mkdir(parents=True, exist_ok=True)
        (kernels / f"{name}.cu").write_text(f"// {name}\n{text}\n")
        (kernels / f"{name}.py").write_text(KERNEL.format(name=name, most=most, arguments=("x", "y")))
    return folder


@pytest.fixture
def versions(project: Project, monkeypatch: pytest.MonkeyPatch) -> Versions:
    """versions(head="// other", factor=1.0): BASE and HEAD with a kernel `mine`, HEAD's `factor` times as slow."""
    monkeypatch.setattr(gate_walk, "measured_limits", lambda *arguments: LIMITS)
    project.suite("good", "[8, 16]", name="softmax")

    def make(head: str = "// other", factor: float = 1.0, wrong: str = "", **options: Any) -> tuple[Path, Path]:
        seconds = {"mine": factor * NOISY, "mine.base": NOISY, "fine": NOISY, "fine.base": NOISY}
        device = NoisyDevice(seconds)
        for name in filter(None, [wrong]):
            device.kernels[name] = (lambda arrays: arrays["y"].fill(0), NOISY, 5e-6)
        monkeypatch.setattr(devices, "open_device", lambda name: device)
        return write_version(project.root / "base", "// fine"), write_version(project.root / "head", head, **options)

    return make


def test_a_slower_kernel_is_found_and_ends_with_3(versions: Versions, command: Command) -> None:
    base, head = versions(factor=1.03)
    out, _ = ended(3, command("gate", base, head, "--cache", "cold", "--markdown", "gate.md"))
    told = " ".join(out.split())
    assert told.startswith("softmax: REGRESSION from BASE to HEAD on Fake GPU. 2 timed rows: 2 SLOWER, 0 FASTER")
    assert "REGRESSION: mine, columns=8, cold, by events: +3." in told
    page = Path("gate.md").read_text()
    assert page.startswith("### softmax\n\n**softmax: REGRESSION from BASE to HEAD")
    assert "- REGRESSION: mine, columns=8, cold" in page
    assert page.count("SLOWER") >= 3
    assert "<details><summary>How it was judged" in page


def test_a_faster_and_an_unchanged_time_pass(versions: Versions, command: Command) -> None:
    for factor, said in ((0.97, "0 SLOWER, 2 FASTER"), (1.0, "0 SLOWER, 0 FASTER, 0 UNSURE, 2 SAME")):
        base, head = versions(factor=factor)
        out, _ = ended(0, command("gate", base, head, "--cache", "cold"))
        assert said in " ".join(out.split())
        assert "no regression from BASE to HEAD" in " ".join(out.split())
        assert "would have been found on 95 % of the timed rows" in " ".join(out.split())


def test_both_versions_and_a_twin_of_base_are_timed_in_the_same_rounds(versions: Versions, command: Command) -> None:
    base, head = versions(factor=1.03)
    ended(3, command("gate", base, head, "--cache", "cold", "--out", "kept"))
    run = read_run(Path("kept") / "softmax")
    assert {row.implementation for row in run.rows} == {"mine", "mine.base", f"mine.base{AGAIN}"}
    rounds = run.samples.groupby(["case", "implementation"])["round"].agg(set)
    for case in {row.case for row in run.rows}:
        assert len(rounds[case, "mine"] & rounds[case, "mine.base"] & rounds[case, f"mine.base{AGAIN}"]) >= 20
    state = json.loads((run.folder / "environment.json").read_text())
    assert state["gate"] == {"base": str(base), "head": str(head)}
    assert state["self_test"]["twins"] == {f"mine.base{AGAIN}": "mine.base"}
    ended(0, command("compare", run.folder))


def test_a_noisy_machine_has_a_wide_band(
    versions: Versions, command: Command, monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    """The same 3 % are no regression where a twin differs by as much."""
    base, head = versions()
    device = NoisyDevice({"mine": 1.03 * NOISY, "mine.base": NOISY}, twin_factor=1.04)
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    out, _ = ended(0, command("gate", base, head, "--cache", "cold"))
    assert "0 SLOWER" in out


def test_equal_code_is_not_measured(versions: Versions, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    base, head = versions(head="// fine")
    monkeypatch.setattr(gate_walk, "measured_limits", lambda *arguments: pytest.fail("nothing is to be measured"))
    out, _ = ended(0, command("gate", base, head, "--markdown", "gate.md"))
    assert out.startswith("softmax: no regression. BASE and HEAD run the same machine code, so nothing was measured.")
    assert "same machine code" in Path("gate.md").read_text()


def test_only_the_kernel_that_changed_is_measured(versions: Versions, command: Command) -> None:
    base, head = versions(factor=1.03)
    for folder in (base, head):
        write_version(folder, "// the same", names=("fine",))
    out, _ = ended(3, command("gate", base, head, "--cache", "cold", "--out", "kept"))
    said = " ".join(out.split())
    assert "Not measured, because both run the same machine code: 2 of 4 rows (a kernel on a case)." in said
    assert {row.implementation for row in read_run(Path("kept") / "softmax").rows} == {
        "mine",
        "mine.base",
        f"mine.base{AGAIN}",
    }


def test_a_kernel_that_no_longer_works_is_a_regression(versions: Versions, command: Command) -> None:
    base, head = versions(wrong="mine")
    out, _ = ended(3, command("gate", base, head, "--cache", "cold"))
    assert "2 rows no longer work" in " ".join(out.split())
    assert "REGRESSION: mine, columns=8: HEAD: wrong" in " ".join(out.split())
    base, head = versions(head="REFUSE")
    out, _ = ended(3, command("gate", base, head, "--cache", "cold"))
    assert "HEAD: failed" in " ".join(out.split())


def test_a_kernel_that_never_worked_is_a_failure_but_no_regression(versions: Versions, command: Command) -> None:
    base, head = versions(head="REFUSE")
    write_version(base, "REFUSE // too")
    out, _ = ended(1, command("gate", base, head, "--cache", "cold"))
    assert "no regression from BASE to HEAD" in " ".join(out.split())


def test_what_cannot_be_compared_is_named(versions: Versions, command: Command) -> None:
    base, head = versions()
    write_version(base, "// gone", names=("gone",))
    write_version(head, "// new", names=("new",))
    for folder in (base, head):
        path = folder / "kernels" / "softmax" / "calls.py"
        path.write_text(CALLS.format(names=("call", "ring"), role="kernel"))
    told = " ".join(ended(0, command("gate", base, head, "--cache", "cold"))[0].split())
    for said in ("gone: only in BASE", "new: only in HEAD", "call, ring: a library call, which has no machine code"):
        assert f"softmax: {said}" in told


def test_a_case_that_neither_version_takes_is_no_pair(versions: Versions, command: Command, project: Project) -> None:
    base, head = versions(factor=1.03, most=8)
    write_version(base, "// fine", most=8)
    out, _ = ended(3, command("gate", base, head, "--cache", "cold", "--out", "kept"))
    assert "1 timed row: 1 SLOWER" in " ".join(out.split())
    assert {row.words["columns"] for row in read_run(Path("kept") / "softmax").rows} == {"8"}
    write_version(head, "// fine", most=8)
    assert "nothing was measured" in ended(0, command("gate", base, head))[0]
    for folder in (base, head):
        write_version(folder, "// fine", most=-1)
    assert "no verdict. Neither version has a kernel that takes" in ended(0, command("gate", base, head))[0]


def test_two_files_are_a_pair(versions: Versions, command: Command, project: Project) -> None:
    base, head = versions(factor=1.03)
    text = '// grid: rows\n// block: 32\n// {}\nextern "C" __global__ void k(const float* x, float* y) {{}}\n'
    for folder, word in ((base, "one"), (head, "two")):
        (folder / "mine.cu").write_text(text.format(word))
    err = refused(command("gate", base / "mine.cu", head / "mine.cu"))
    assert err.endswith(f"Name a suite: kernelbench gate {base / 'mine.cu'} {head / 'mine.cu'} softmax\n")
    ended(3, command("gate", base / "mine.cu", head / "mine.cu", "softmax", "--cache", "cold"))


def test_a_checkout_of_kernelbench_is_compared_with_the_installed_one(
    versions: Versions, command: Command, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions()
    project.suite("good, compiled", "[8, 16]", name="softmax")
    device = NoisyDevice({"compiled": 1.03 * NOISY, "compiled.base": NOISY})
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    earlier = project.root / "earlier"
    shutil.copytree(places.KERNELS, earlier / "kernels")
    (earlier / "kernels" / "softmax" / "compiled.cu").write_text("// as it was\n")
    out, _ = ended(3, command("gate", earlier, project.root, "--cache", "cold"))
    assert "REGRESSION: compiled, columns=8" in " ".join(out.split())
    assert "pip install -e HEAD" in refused(command("gate", project.root, earlier))


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        ("nowhere", "head", "nowhere: no such folder; expected a checkout, a folder of kernels or a .cu"),
        ("base", "empty", "no kernels here; expected <operation>/<name>.py"),
    ],
)
def test_a_version_that_is_none_is_refused(
    base: str, head: str, said: str, versions: Versions, command: Command, project: Project
) -> None:
    versions()
    (project.root / "empty").mkdir()
    assert said in refused(command("gate", project.root / base if base == "base" else base, head))


def test_the_simulator_names_counts_and_calls_nothing_slower(
    versions: Versions, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, head = versions()
    device = FakeSimulator(dict.fromkeys(("mine", "mine.base"), (softmax, 0.0, 0.0)))
    device.price["mine"] = 125
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    told = " ".join(ended(0, command("gate", base, head, "--markdown", "gate.md"))[0].split())
    assert told.startswith(
        "softmax: HEAD changes the machine code or launches of 2 of 2 rows (a kernel on a case), and the counts of 2."
    )
    assert "times nothing: it calls none faster or slower" in told
    assert "columns=8 mine warp instructions 100 125 +25.0" in told
    assert "| columns=8 | mine | warp instructions | 100 | 125 | +25.0 |" in Path("gate.md").read_text()


def test_a_wrong_kernel_is_a_regression_on_the_simulator_too(
    versions: Versions, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(arrays: Arrays) -> None:
        arrays["y"].fill(0)

    base, head = versions()
    device = FakeSimulator({"mine": (wrong, 0.0, 0.0), "mine.base": (softmax, 0.0, 0.0)})
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    told = " ".join(ended(3, command("gate", base, head))[0].split())
    assert told.startswith("softmax: REGRESSION: 2 rows no longer work")


@pytest.mark.nvcc
def test_equal_code_is_that_of_the_compiler(tmp_path: Path) -> None:
    """Comments are no change; another constant, another array in shared memory and another launch are."""
    from kernelbench.build import find_compiler
    from kernelbench.core.records import Case, CasePlan, Implementation, Launch, LaunchPlan, Origin, Planned
    from kernelbench.measure.binaries import build_plans
    from kernelbench.measure.versions import launches_same_code
    from tests.gpu.conftest import Silent

    text = """
    __device__ __noinline__ float helped(float x) {{ return x * {helper}; }}
    __constant__ float table[4] = {{1, 2, 3, {entry}}};
    extern "C" __global__ void k(const float* x, float* y, int n) {{
      __shared__ volatile float kept[{shared}];
      kept[threadIdx.x] = x[threadIdx.x];
      y[threadIdx.x] = helped(kept[threadIdx.x]) + table[n];
    }}
    """
    usual = {"helper": "2.0f", "entry": 4, "shared": 64}

    def planned(name: str, block: int = 32, comment: str = "", **changes: Any) -> Planned:
        source = tmp_path / name / "softmax" / "k.cu"
        source.parent.mkdir(parents=True)
        source.write_text(comment + text.format(**{**usual, **changes}))
        plan = LaunchPlan((Launch("k", (1, 1, 1), (block, 1, 1), ("x", "y", "n")),), reasons=(name,))
        return Planned(Implementation(name, name, Origin("test"), plan=lambda *_: plan, source=source), plan)

    ones = [
        planned("first"),
        planned("comment", comment="// other words\n"),
        planned("helper", helper="3.0f"),
        planned("entry", entry=5),
        planned("shared", shared=128),
        planned("block", block=64),
    ]
    case = Case("softmax", (4, 8), -1, "float32")
    (plan,), _ = build_plans([CasePlan(case, tuple(ones), ("x",))], find_compiler(), "sm_90", Silent())
    first, *others = plan.planned
    assert all(one.binary for one in plan.planned), [one.reason for one in plan.planned]
    assert [launches_same_code(first, one) for one in others] == [True, False, False, False, False]
