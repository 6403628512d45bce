"""The script that plants slowdowns on a GPU, on one that is not there: its copies take as long as their work."""

import importlib.util
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kernelbench import devices
from kernelbench.core.records import Arrays, Binary, Case, Implementation, LaunchPlan, Scalar
from kernelbench.measure import gpu_process
from kernelbench.measure.bench import InProcessBench
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.twins import AGAIN
from kernelbench.walks import run as run_walk
from tests.conftest import LIMITS, move_places
from tests.fake_gpu import FakeDevice
from tests.self_test_devices import NOISE, STEP_S, SteppedClock

pytestmark = pytest.mark.nvcc
SCRIPT = Path(__file__).parents[1] / "gpu" / "self_test_figures.py"
PACK_S = 30e-9  # a pack of a copy


class Copying(FakeDevice):
    """A copy takes as long as the work that its plan gives it, and the yardstick as long as its packs."""

    def __init__(self) -> None:
        super().__init__({})
        self.clock, self.random = SteppedClock(), np.random.default_rng(2)

    def executable(
        self, implementation: Implementation, case: Case, plan: LaunchPlan | None, binary: Binary | None, arrays: Arrays
    ) -> Callable[[], Any]:
        packs = case.elements / 4
        if implementation.name.removesuffix(AGAIN) != "copy":
            *_, work = (one.value for one in plan.launches[0].arguments if isinstance(one, Scalar))
            packs = float(work)

        def run() -> None:
            self.clock.submit(implementation.name, packs * PACK_S * np.exp(self.random.normal(0, NOISE)), 5e-6)
            arrays["y"][...] = arrays["x"]

        return run

    def environment(self) -> Mapping[str, Any]:
        return {**super().environment(), "resolution_s": STEP_S}


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., tuple[int, str, str]]) -> ModuleType:
    """The script, its command line run in this process, over few and small copies."""
    move_places(tmp_path, monkeypatch)
    monkeypatch.setattr(devices, "open_device", lambda name: Copying())
    monkeypatch.setattr(
        gpu_process,
        "WorkerBench",
        lambda opener, own, _: InProcessBench(opener(), load_catalog(specimens=True, own=own)),
    )
    monkeypatch.setattr(run_walk, "measured_limits", lambda *arguments: LIMITS)
    spec = importlib.util.spec_from_file_location("self_test_figures", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    slowed = tmp_path / "slowed"
    shutil.copytree(module.SLOWED, slowed)
    text = (slowed / "slowed.yaml").read_text()
    head, _, rest = text.partition("[\n")
    (slowed / "slowed.yaml").write_text(f"{head}[1024, 4096, 16384, 65536]{rest.partition(']')[2]}")
    monkeypatch.setattr(module, "SLOWED", slowed)
    monkeypatch.setattr(module, "PAIR", (str(slowed / "slowed.yaml"), "--only", "steady,copy"))

    def in_this_process(*arguments: str) -> CompletedProcess[str]:
        return CompletedProcess(arguments, *command(*arguments))

    monkeypatch.setattr(module, "kernelbench", in_this_process)
    return module


def test_it_finds_what_it_plants(script: ModuleType, tmp_path: Path) -> None:
    found = script.planted(tmp_path / "planted")
    assert found["rows"] == 4 * 4
    for name in ("one_per_cent", "two_per_cent"):
        assert (found[name]["rows"], found[name]["shorter_rows"]) == (3, 1)
    assert found["two_per_cent"]["found"] == 1
    assert found["two_per_cent"]["verdicts"] == {"SLOWER": 3}
    assert found["two_per_cent"]["median_slowdown"] == pytest.approx(0.02, abs=0.002)
    assert found["one_per_cent"]["median_slowdown"] == pytest.approx(0.01, abs=0.002)
    json.dumps(found)


def test_the_slower_kernel_is_named_and_a_run_is_the_same_as_itself(script: ModuleType, tmp_path: Path) -> None:
    found = script.before_and_after(tmp_path / "pair")
    assert found["exit_code"] == 3
    assert found["slower"]
    assert all(row.startswith("steady on n=") for row in found["slower"])
    assert any("steady" in line for line in found["named"])
    assert (found["itself_exit_code"], found["itself_counts"]["SAME"]) == (0, 10)  # two of them by graph as well
    json.dumps(found)


def test_it_reads_a_self_test(script: ModuleType, tmp_path: Path) -> None:
    suite, own = str(script.SLOWED / "slowed.yaml"), str(script.SLOWED)
    found = script.self_test(tmp_path / "run", suite, "--self-test", "--kernels", own, "--only", "steady,copy")
    assert (found["rows"], found["false_verdicts"]) == (10, 0)
    assert found["rows_3us_to_5ms"] == 10
    assert found["rows_beside_another_process"] == 0
    assert "twins" not in found
    json.dumps(found)
