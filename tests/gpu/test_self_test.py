"""Verdicts that can be trusted: rows of the same code, planted slowdowns, and a GPU that is shared with somebody."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.timed, pytest.mark.nvcc, pytest.mark.large]

SCRIPT = Path(__file__).parent / "self_test_figures.py"


@pytest.fixture(scope="module")
def figures(_opened: object, compiler: object, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("self_test")
    done = subprocess.run([sys.executable, str(SCRIPT), str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    found: dict[str, Any] = json.loads((out / "self_test.json").read_text())
    return found


@pytest.mark.timeout(600)
def test_rows_of_the_same_code_are_not_told_apart(figures: dict[str, Any]) -> None:
    tests = figures["self_tests"]
    assert [one["rows_3us_to_5ms"] >= 100 for one in tests] == [True] * 3
    for one in tests:
        assert one["false_verdicts"] <= one["rows"] / 100, one["false_rows"]
        assert one["drift"] <= 0.003
        assert one["wall_s"] <= 60


@pytest.mark.timeout(600)
def test_planted_slowdowns_are_found(figures: dict[str, Any]) -> None:
    assert figures["planted"]["rows"] >= 100
    assert figures["planted"]["two_per_cent"]["found"] >= 0.95
    assert figures["planted"]["one_per_cent"]["found"] >= 0.6


@pytest.mark.timeout(600)
def test_a_slower_kernel_is_a_regression_of_the_later_run(figures: dict[str, Any]) -> None:
    found = figures["before_and_after"]
    assert found["exit_code"] == 3
    assert found["slower"]
    assert all(row.startswith("steady on ") for row in found["slower"]), "and nothing else"
    assert any("steady" in line for line in found["named"])
    assert found["itself_exit_code"] == 0
    assert {name for name, count in found["itself_counts"].items() if count} == {"SAME"}


@pytest.mark.timeout(600)
def test_another_process_on_the_gpu_makes_nobody_faster(figures: dict[str, Any]) -> None:
    found = figures["beside_another_process"]
    assert found["false_verdicts"] == 0, found["false_rows"]
    if found["other_processes"] == "not visible":
        pytest.skip("the driver does not name the processes of this machine, so no row can be marked")
    assert found["rows_beside_another_process"] > 0
