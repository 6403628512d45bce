"""`kernelbench tune` on a GPU with a set clock: the fastest right candidate wins, and nothing else does."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core import places
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Arrays
from kernelbench.measure import gpu_process
from kernelbench.measure import search as candidate_search
from kernelbench.measure.gpu_process import WorkerBench
from kernelbench.planning import tuned
from tests.conftest import Command, Project, softmax
from tests.endings import ended, refused
from tests.walks.candidate_device import device

pytest.importorskip("kernel_tuner", reason="needs the extra tune")

KERNEL = """\
from kernelbench import Unsupported
from kernelbench import Case, Implementation, Launch, LaunchPlan, Origin, Tunable

def plan(case, device, block=128, packs=1):
    if block == 96:
        raise Unsupported(f"block must be a power of two, got {block}")
    if case.shape[-1] > 32:
        raise Unsupported(f"columns must be at most 32, got {case.shape[-1]}")
    defines = (("PACKS", packs),) if block > 32 else ()
    return LaunchPlan((Launch("k", (1, 1, 1), (block, 1, 1), ("x", "y")),), defines=defines)

CASES = tuple(Case("softmax", (4, columns), -1, "float32") for columns in (8, 16, 64))
TUNABLE = Tunable(
    {"block": (32, 64, 96, 128, 256), "packs": (1, 2)},
    restrictions=("block * packs <= 256",),
    layout=lambda case: f"{case.shape[-1]} columns",
    cases=CASES,
)
IMPLEMENTATIONS = (Implementation("held", "a kernel", Origin("test"), plan=plan, tunable=TUNABLE),)
"""
RULE_S = 50e-6
CASE_8 = "shape=4x8 axis=-1 dtype=float32"


@pytest.fixture
def tunable(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """`held`: all candidates take as long as the rule, until a test says otherwise."""
    folder = places.KERNELS / "softmax"
    (folder / "held.cu").write_text("// fine\n")
    (folder / "held.py").write_text(KERNEL)
    tuned.source_hash.cache_clear()
    monkeypatch.setattr(places, "TUNED", project.root / "shipped")
    for block, packs in product((32, 64, 128, 256), (1, 2)):
        takes(project, block, packs, RULE_S)
    project.device.kernels["held"] = (softmax, RULE_S, 5e-6)
    return project


def takes(project: Project, block: int, packs: int, seconds: float, kernel: Any = softmax) -> None:
    project.device.kernels[f"held.block{block}_packs{packs}"] = (kernel, seconds, 5e-6)


def zeros(arrays: Arrays) -> None:
    arrays["y"][...] = 0


def refuses(arrays: Arrays) -> None:
    raise DeviceError("launching k: too many resources requested for launch")


def tune(command: Command, *options: str) -> tuple[int, str, str]:
    return command("tune", "softmax", "--filter", "shape=4x8", *options)


def table(project: Project) -> tuple[tuned.TunedEntry, ...]:
    path = project.root / "tuned" / "nvidia-h200.yaml"
    return tuned.read_table(path, "NVIDIA H200").entries if path.exists() else ()


def test_the_fastest_right_candidate_is_kept_and_plans_take_it(tunable: Project, command: Command) -> None:
    takes(tunable, 64, 2, 40e-6)
    takes(tunable, 64, 1, 45e-6)
    takes(tunable, 256, 1, 1e-6, zeros)  # faster than all, and wrong
    code, out, _ = tune(command)
    assert code == 1, "a kernel that is wrong is an error of its own"
    (entry,) = table(tunable)
    assert entry.values == {"block": 64, "packs": 2}
    assert entry.seconds / entry.rule_seconds == pytest.approx(0.8, abs=0.02)
    assert (entry.layout, entry.bytes, entry.case) == ("8 columns", 128, CASE_8)
    assert re.search(r"block 64, packs 2 .* 0\.80\d .* kept", out)
    assert re.search(r"block 256, packs 1 .* wrong: 32 of 32", out)
    assert "kept: block 64, packs 2, 0.80" in out
    shown = [line for line in out.splitlines() if "written to" not in line]  # a path is folded by nobody
    assert max(map(len, shown)) <= 100

    code, out, _ = command("plan", tunable.suite("good, held", "[8, 16]"))
    assert re.search(r"block 64, packs 2 as tuned", " ".join(out.split()))
    assert "k<<<1, 64>>>" in out
    assert "by the plan itself" in out, "of the case that was not tuned"


def test_a_run_takes_what_was_tuned_and_keeps_it_with_the_run(tunable: Project, command: Command) -> None:
    takes(tunable, 64, 2, 40e-6)
    assert tune(command)[0] == 0
    code, _, _ = command("run", tunable.suite("good, held", "[8]"), "--no-report")
    (run,) = tunable.runs
    assert code == 0
    assert "k<<<1, 64>>>" in (run / "results.csv").read_text()
    assert list(json.loads((run / "environment.json").read_text())["tuned"].values()) == [
        {f"columns=8 {CASE_8}": {"block": 64, "packs": 2}}
    ]


def test_a_run_gone_on_with_measures_anew_what_another_table_launches_otherwise(
    tunable: Project, command: Command
) -> None:
    for each in (32, 64, 256):  # one binary serves all
        takes(tunable, each, 1, RULE_S if each != 64 else 40e-6)
    (places.KERNELS / "softmax" / "held.py").write_text(KERNEL.replace("defines = ", "defines = () and "))
    assert command("tune", "softmax")[0] == 0
    suite, run = tunable.suite("good, held", "[8, 16]"), tunable.root / "run"
    assert command("run", suite, "--no-report", "--out", run)[0] == 0
    table_file = tunable.root / "tuned" / "nvidia-h200.yaml"
    entry = next(one for one in table(tunable) if one.layout == "8 columns")
    table_file.unlink()
    tuned.write_table(table_file, "NVIDIA H200", [entry])
    _, err = ended(0, command("run", suite, "--no-report", "--out", run, "--resume"))
    assert "1 of 2 cases are finished" in err
    assert "1 case is measured again: held is launched as k<<<1, 128>>> now, instead of k<<<1, 64>>>" in err
    assert json.loads((run / "environment.json").read_text())["tuned"] == {
        "held": {f"columns=8 {CASE_8}": {"block": 64, "packs": 1}}
    }


def test_what_is_as_fast_as_the_rule_leaves_the_rule_which_is_written_down(tunable: Project, command: Command) -> None:
    takes(tunable, 64, 2, RULE_S * 0.995)  # less than a hundredth faster
    code, out, _ = tune(command)
    (entry,) = table(tunable)
    assert (code, entry.values) == (0, None)
    assert entry.seconds == entry.rule_seconds
    assert "the rule is kept: none was faster by 1 % and by more than noise" in " ".join(out.split())
    _, out, _ = command("plan", tunable.suite("good, held", "[8]"))
    assert "by the plan itself: nothing tried on NVIDIA H200 was faster" in " ".join(out.split())


def test_each_reason_why_a_candidate_has_no_time_is_shown(tunable: Project, command: Command) -> None:
    takes(tunable, 64, 1, RULE_S, refuses)
    code, out, _ = tune(command)
    said = " ".join(out.split())
    assert code == 0, "not all that may be tried need work"
    assert re.search(r"block 96, packs [12] and 1 +unsupported: block must be", said), said
    assert re.search(r"block 64, packs 1 +failed: launching k: too", said)
    # 10 pairs, 256 x 2 is restricted; 128 x 1 is the rule, 32 is launched alike with 1 and with 2 packs.
    assert "4 of 9 candidates timed, 2 launch the same as others" in said


def test_what_does_not_compile_has_the_compilers_reason(
    tunable: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = places.KERNELS / "softmax"
    (folder / "held.py").write_text(KERNEL.replace('("PACKS", packs)', '("PACKS", packs if block < 256 else "int x")'))
    out, _ = ended(0, tune(command))
    assert re.search(r"block 256, packs 1 +failed: its plan cannot be", " ".join(out.split()))


def test_the_best_are_measured_again_and_luck_does_not_win(
    tunable: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A candidate that was fast in the search and is not in the last comparison."""
    takes(tunable, 64, 2, 40e-6)
    final = candidate_search.Search._final

    def slower_from_now_on(self: Any) -> Any:
        takes(tunable, 64, 2, 60e-6)
        return final(self)

    monkeypatch.setattr(candidate_search.Search, "_final", slower_from_now_on)
    _, out, _ = tune(command)
    assert re.search(r"block 64, packs 2 .* 1\.\d\d\d .* measured again", out)
    assert table(tunable)[0].values is None


def test_when_time_is_up_the_rest_is_left_out_and_the_rule_is_not_called_best(
    tunable: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_search, "BATCH", 2)
    out, _ = ended(0, tune(command, "--budget", "0.001s"))
    assert "2 of 9 candidates timed" in out
    assert re.search(r"[345] left out", out)
    assert "nothing kept: none was faster than the rule, and not all were tried (--budget)" in " ".join(out.split())
    assert table(tunable) == ()
    assert "Nothing was written" in out


def test_when_time_is_up_cases_that_have_not_begun_are_left_out(tunable: Project, command: Command) -> None:
    out, err = ended(0, command("tune", "softmax", "--budget", "0.001s"))
    assert "The time is up: 2 of 3 cases are left out (--budget)" in err
    assert "shape=4x16" not in out


def test_a_case_that_the_rule_refuses_is_passed_over_with_its_reason(tunable: Project, command: Command) -> None:
    out, _ = ended(0, command("tune", "softmax", "--filter", "shape=4x64"))
    said = " ".join(out.split())
    assert "not tuned, for its own rule is unsupported: columns must be at most 32, got 64" in said


def test_a_rule_that_is_wrong_is_an_error(tunable: Project, command: Command) -> None:
    tunable.device.kernels["held"] = (zeros, RULE_S, 5e-6)
    out, _ = ended(1, tune(command))
    assert "not tuned, for its own rule is wrong: 32 of 32 elements wrong, first y[0, 0]" in " ".join(out.split())
    assert table(tunable) == ()


def test_finished_cases_are_kept_where_ctrl_c_ends_a_later_one(
    tunable: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes(tunable, 64, 2, 40e-6)
    search, seen = candidate_search.Search.run, []

    def second_is_interrupted(self: Any, *arguments: Any) -> Any:
        seen.append(self.case.key)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return search(self, *arguments)

    monkeypatch.setattr(candidate_search.Search, "run", second_is_interrupted)
    code, _, err = command("tune", "softmax")
    assert code == 130
    assert "Stopped. Entries of finished cases are kept." in err
    assert [entry.layout for entry in table(tunable)] == ["8 columns"]


def test_a_table_named_by_out_is_written_and_added_to(tunable: Project, command: Command, tmp_path: Path) -> None:
    takes(tunable, 64, 2, 40e-6)
    path = tmp_path / "mine" / "table.yaml"
    assert tune(command, "--out", str(path))[0] == 0
    assert command("tune", "softmax", "--filter", "shape=4x16", "--out", path)[0] == 0
    assert [entry.layout for entry in tuned.read_table(path, "NVIDIA H200").entries] == ["16 columns", "8 columns"]
    assert table(tunable) == ()


def test_the_cases_of_a_suite_are_taken_where_one_is_named(tunable: Project, command: Command) -> None:
    suite = tunable.suite("good, held", "[8, 16]")
    ended(0, command("tune", "softmax", "--suite", suite, "--filter", "columns=16"))
    assert [entry.layout for entry in table(tunable)] == ["16 columns"]


def test_a_candidate_that_hangs_costs_its_process_and_itself(
    tunable: Project, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a worker as on a GPU, to which a candidate is its implementation by another name and plan."""
    own = tmp_path / "own"
    (own / "softmax").mkdir(parents=True)
    for ending in ("py", "cu"):
        (places.KERNELS / "softmax" / f"held.{ending}").rename(own / "softmax" / f"held.{ending}")
    monkeypatch.setattr(
        gpu_process, "WorkerBench", lambda _, folders, patience_s: WorkerBench(device, folders, patience_s)
    )
    out, _ = ended(0, tune(command, "--kernels", str(own), "--timeout", "1"))
    assert re.search(r"block 256, packs 1 +failed: no sign of life for", " ".join(out.split()))
    assert table(tunable)[0].values == {"block": 64, "packs": 2}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("sofmax", "no operation 'sofmax'; did you mean 'softmax'?"),
        ("softmax --implementation compiled", "softmax has held that can be tuned"),
        ("softmax --device simulated", "tune times candidates, and the simulator times nothing"),
        ("softmax --budget soon", "--budget soon: expected a time, as in 90s, 5m or 1h"),
        ("softmax --budget 0s", "--budget 0s: expected a time"),
        ("softmax --filter shape=1", "no case of suite 'softmax/held' has shape=1"),
        ("softmax --suite nothing", "no suite 'nothing'"),
    ],
)
def test_errors_name_what_to_do(tunable: Project, command: Command, arguments: str, said: str) -> None:
    err = refused(command("tune", *arguments.split()))
    assert said in err


def test_a_tunable_that_its_plan_does_not_have_is_a_mistake_of_the_file(tunable: Project, command: Command) -> None:
    (places.KERNELS / "softmax" / "held.py").write_text(KERNEL.replace('"packs": (1, 2)', '"pack": (1, 2)'))
    _, err = ended(2, command("tune", "softmax"))
    assert re.search(
        r"held\.py: implementation 'held' cannot be tuned: its plan has no argument 'pack'; it has case, device", err
    )
