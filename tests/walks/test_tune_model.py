"""`kernelbench tune --model` on a GPU with a set clock: all candidates are recorded, and the fit finds what set it."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kernelbench.core import places
from kernelbench.measure import search as candidate_search
from kernelbench.planning import tuned
from kernelbench.planning.cost_constants import read_fitted
from kernelbench.runs.candidate_times import read_times
from kernelbench.walks import record_times
from tests.conftest import LIMITS, Command, Project, softmax
from tests.endings import ended, refused

KERNEL = """\
from kernelbench import Case, Constant, CostModel, Implementation, Launch, LaunchPlan, Origin, Tunable

BLOCKS = (64, 32, 128, 256)  # the first is the rule's

def plan(case, device, **values):
    block = values.get("block", BLOCKS[0])
    return LaunchPlan((Launch("k", (1, 1, 1), (block, 1, 1), ("x", "y")),))

def candidates(case, device):
    return [{"block": block} for block in BLOCKS]

def quantities(case, device):
    return [{"elements": float(case.elements), "threads": float(block)} for block in BLOCKS]

def seconds(q, k):
    return k["wait"] * q["elements"] / q["threads"] + k["start"] * q["threads"]

MODEL = CostModel(
    "held_model",
    {"wait": Constant(5e-6, "s", "an element of a thread"), "start": Constant(1e-7, "s", "a thread")},
    quantities,
    seconds,
)
CASES = tuple(Case("softmax", (4, columns), -1, "float32") for columns in range(8, 128, 8))
TUNABLE = Tunable(candidates=candidates, model=MODEL, layout=lambda case: f"{case.shape[-1]} columns", cases=CASES)
IMPLEMENTATIONS = (Implementation("held", "a kernel", Origin("test"), plan=plan, tunable=TUNABLE),)
"""
TRUTH = {"wait": 3e-5, "start": 4e-7}
ROWS = 15 * 4


class Clock:
    """Kernels whose time is that of TRUTH for the arrays they are given."""

    def __init__(self, project: Project) -> None:
        self.device, self.noise = project.device, 0.0
        for block in (32, 64, 128, 256):
            name = "held" if block == 64 else f"held.block{block}"
            self.device.kernels[name] = (self.kernel(block), 0.0, 5e-6)
        self.device.kernels["held.block64"] = self.device.kernels["held"]

    def kernel(self, block: int) -> Any:
        def run(arrays: Any) -> None:
            elements = arrays["x"].size
            self.device.clock.submit("held", TRUTH["wait"] * elements / block + TRUTH["start"] * block, 0.0)
            softmax(arrays)

        return run


@pytest.fixture
def held(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    folder = places.KERNELS / "softmax"
    (folder / "held.cu").write_text("// fine\n")
    (folder / "held.py").write_text(KERNEL)
    tuned.source_hash.cache_clear()
    monkeypatch.setattr(places, "TUNED", project.root / "shipped")
    monkeypatch.setattr(record_times, "measured_limits", lambda *arguments: LIMITS)
    Clock(project)
    return project


@pytest.fixture
def times(held: Project) -> Path:
    return held.root / "times"


def model(command: Command, times: Path, *options: str) -> tuple[int, str, str]:
    return command("tune", "softmax", "--model", "--times", times, "--within", "1000", *options)


def recorded(times: Path) -> Any:
    return read_times(times / "nvidia-h200.held_model.csv")


def test_all_candidates_are_recorded_and_the_fit_finds_the_constants_that_set_the_clock(
    held: Project, command: Command, times: Path
) -> None:
    out, _ = ended(0, model(command, times))
    found = recorded(times)
    assert len(found) == ROWS
    assert {one.status for one in found} == {"ok"}
    assert [one.values for one in found if one.is_rule] == ["block 64"] * 15
    (first,) = (one for one in found if one.case.startswith("shape=4x8 ") and one.values == "block 32")
    assert first.gpu == "NVIDIA H200"
    assert first.net_s == pytest.approx(TRUTH["wait"] + 32 * TRUTH["start"], rel=0.2), "events add to what they enclose"
    fitted = read_fitted(times / "nvidia-h200.held_model.model.yaml", "NVIDIA H200")
    assert {name: pytest.approx(value, rel=0.1) for name, value in fitted.constants.items()} == TRUTH
    assert (fitted.run, fitted.cases, fitted.candidates) == ("nvidia-h200.held_model.csv", 15, ROWS)
    assert fitted.within_3_percent == 1
    said = " ".join(out.split())
    assert "held_model on NVIDIA H200: fitted to 60 candidates of 15 cases" in said
    assert re.search(r"with constants from other cases within 3 % of the fastest on 100 % of the cases", said)


def test_constants_keep_their_units_and_plans_take_the_first_choice(
    held: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = held.suite("good, held", "[8, 120]")
    _, out, _ = command("plan", suite)
    assert out.count("k<<<1, 64>>>") == 2
    assert "by the plan itself" in out
    assert command("tune", "softmax", "--model")[0] == 0, "into the folder that plans read"
    path = held.root / "tuned" / "nvidia-h200.held_model.model.yaml"
    assert yaml.safe_load(path.read_text())["constants"]["wait"]["unit"] == "s"
    _, out, _ = command("plan", suite)
    # The time is least at threads of sqrt(wait / start * elements): 49 and 190.
    assert "k<<<1, 64>>>" in out
    assert "k<<<1, 128>>>" in out or "k<<<1, 256>>>" in out
    assert "by the cost function fitted on NVIDIA H200" in " ".join(out.split())
    monkeypatch.setattr(places, "own_tuned", lambda: None)
    _, out, _ = command("plan", suite)
    assert out.count("k<<<1, 64>>>") == 2


def test_a_wrong_constant_chooses_worse_and_is_fitted_away(held: Project, command: Command, times: Path) -> None:
    source = places.KERNELS / "softmax" / "held.py"
    source.write_text(KERNEL.replace('"start": Constant(1e-7', '"start": Constant(4e-6'))
    out, _ = ended(0, model(command, times))
    (before,) = re.findall(r"with the default constants +within 3 % of the fastest on (\d+) %", out)
    (after,) = re.findall(r"other cases +within 3 % of the fastest on (\d+) %", out)
    assert int(before) < 50
    assert int(after) == 100


def test_constants_that_gain_nothing_are_not_kept(held: Project, command: Command, times: Path) -> None:
    ended(0, model(command, times))
    path = times / "nvidia-h200.held_model.model.yaml"
    assert path.exists()
    source = places.KERNELS / "softmax" / "held.py"
    source.write_text(KERNEL.replace("Constant(5e-6", "Constant(3e-5").replace("Constant(1e-7", "Constant(4e-7"))
    out, _ = ended(0, model(command, times, "--refit"))
    assert "No constants kept: those that ship choose as well as the fitted ones" in " ".join(out.split())
    assert not path.exists(), "else plans would go on reading what an earlier fit wrote"


def test_what_is_recorded_is_not_measured_again_and_a_torn_row_is_dropped(
    held: Project, command: Command, times: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_times, "SLICE", 4)
    _, err = ended(2, model(command, times, "--budget", "0.000001s"))
    assert "14 of 15 cases are left; run it again to go on" in err
    assert "1 cases have two timed candidates; a fit needs 10" in err
    path = times / "nvidia-h200.held_model.csv"
    assert len(recorded(times)) == 4
    with path.open("a") as file:
        file.write("NVIDIA H200,softmax/held")
    assert len(recorded(times)) == 4
    seen, measure = [], candidate_search.Search.measure_all

    def noted(self: Any, advance: Any) -> Any:
        seen.append(self.case.key)
        return measure(self, advance)

    monkeypatch.setattr(candidate_search.Search, "measure_all", noted)
    ended(0, model(command, times))
    assert len(seen) == 14
    assert len(recorded(times)) == ROWS


def test_times_of_another_source_are_not_added_to(held: Project, command: Command, times: Path) -> None:
    assert model(command, times)[0] == 0
    (places.KERNELS / "softmax" / "held.cu").write_text("// fine\nint more;\n")
    tuned.source_hash.cache_clear()
    assert "softmax/held has changed since its times were recorded" in refused(model(command, times))
    ended(0, model(command, times, "--refit"))


def test_times_bear_the_hash_of_the_source_that_the_candidate_is_built_from(
    held: Project, command: Command, times: Path
) -> None:
    own, other = (places.KERNELS / "softmax" / name for name in ("held.cu", "wide.cu"))
    other.write_text("int wide;\n")
    module = own.with_suffix(".py")
    text = module.read_text().replace('("x", "y")),))', '("x", "y")),), source="wide.cu" if block == 256 else "")')
    module.write_text(text.replace("tunable=TUNABLE)", 'tunable=TUNABLE, other_sources=("wide.cu",))'))
    ended(0, model(command, times))
    sources = {(one.values == "block 256", one.source) for one in recorded(times)}
    assert sources == {(False, tuned.source_hash(own)), (True, tuned.source_hash(other))}
    assert "wide.cu" in held.compiler.path.parent.parent.parent.joinpath("nvcc.log").read_text()
    ended(0, model(command, times))
    other.write_text("int wider;\n")
    tuned.source_hash.cache_clear()
    assert "softmax/held has changed since its times were recorded" in refused(model(command, times))


def test_a_candidate_that_fails_is_recorded_with_its_reason_and_not_fitted(
    held: Project, command: Command, times: Path
) -> None:
    held.device.kernels["held.block256"] = (lambda arrays: arrays["y"].fill(0), 1e-6, 5e-6)
    ended(0, model(command, times))
    wrong = [one for one in recorded(times) if one.status != "ok"]
    assert len(wrong) == 15
    assert {(one.values, one.status, one.seconds) for one in wrong} == {("block 256", "wrong", None)}
    fitted = read_fitted(times / "nvidia-h200.held_model.model.yaml", "NVIDIA H200")
    assert fitted.candidates == 45


def test_candidates_are_built_ahead_for_a_gpu_that_is_not_here(held: Project, command: Command) -> None:
    out, _ = ended(0, command("tune", "softmax", "--model", "--prepare", "a100", "--filter", "shape=4x8"))
    assert "1 cases: 1 binaries, 1 compiled, 0 failed" in out
    assert "arch=sm_80" in held.compiler.path.parent.parent.parent.joinpath("nvcc.log").read_text()


def test_candidates_that_are_expected_to_be_slow_are_left_out_but_not_the_rules(
    held: Project, command: Command, times: Path
) -> None:
    ended(0, command("tune", "softmax", "--model", "--times", times, "--within", "1"))
    found = [one.values for one in recorded(times)]
    assert found.count("block 64") == 15
    assert 15 < len(found) <= 30, "the rule's choice, and the first of the cost function before it is fitted"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "--refit", "--times", "nothing"], "nothing: no times of candidates of held_model"),
        (["--model", "--device", "simulated"], "tune times candidates, and the simulator times nothing"),
        (["--refit"], "--refit: belongs to --model"),
        (["--times", "there"], "--times: belongs to --model"),
        (["--model", "--refit", "--prepare", "h200"], "--refit --prepare: one fits"),
        (["--model", "--prepare", "h2000"], "--gpu h2000: unknown GPU"),
    ],
)
def test_errors_name_what_to_do(held: Project, command: Command, options: list[str], said: str) -> None:
    assert said in refused(command("tune", "softmax", *options))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "def plan(case, device, **values)",
            "def plan(case, device, block=64)",
            "does not take the values of candidates",
        ),
        ("Tunable(candidates", 'Tunable({"block": (64,)}, candidates', "it has both values and candidates"),
        ("model=MODEL", "model=seconds", "tunable must be a Tunable"),
    ],
)
def test_a_tunable_that_cannot_be_used_is_a_mistake_of_the_file(
    held: Project, command: Command, old: str, new: str, said: str
) -> None:
    path = places.KERNELS / "softmax" / "held.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new).replace('values.get("block", BLOCKS[0])', "64"))
    assert said in " ".join(refused(command("tune", "softmax", "--model")).split())


def test_a_candidate_that_is_no_mapping_of_integers_is_named(held: Project, command: Command) -> None:
    path = places.KERNELS / "softmax" / "held.py"
    path.write_text(path.read_text().replace('return [{"block": block}', 'return [{"block": float(block)}'))
    code, _, err = command("tune", "softmax", "--model", "--prepare", "h200")
    assert code != 0
    assert "its candidates: expected integers by name, got {'block': 64.0}" in err
