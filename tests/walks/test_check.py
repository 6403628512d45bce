"""`check` verifies on every distribution that the operation has, `run` on what the suite names."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kernelbench.cli.check import SAMPLED, WHOLE, _remarks
from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.records import Arrays, Result
from kernelbench.walks.check import check
from kernelbench.walks.request import Request
from tests.conftest import Project, softmax
from tests.endings import ended
from tests.fake_simulator import FakeSimulator
from tests.gpu.conftest import Silent

DEVIATES = """\
from kernelbench import Deviation, Implementation, Origin
IMPLEMENTATIONS = (Implementation("stated", "a call", Origin("test"), prepare=lambda case, arrays, stream: None,
                                  deviations=(Deviation("masked", "a row of -inf gives 0, as published"),)),)
"""


def zeros_for_hidden_rows(arrays: Arrays) -> None:
    """A softmax, but of rows that are -inf throughout."""
    softmax(arrays)
    arrays["y"][np.isneginf(arrays["x"]).all(axis=-1)] = 0


@pytest.fixture
def planted(project: Project) -> Project:
    project.device.kernels["third"] = project.device.kernels["stated"] = (zeros_for_hidden_rows, 50e-6, 5e-6)
    return project


def checked(suite: Path, inputs: Sequence[str] = ()) -> list[Result]:
    return check(Request(suites=[str(suite)], inputs=inputs), Silent())


def suite_with(project: Project, inputs: str, names: str = "good, third") -> Path:
    path = project.suite(names, "[8]")
    path.write_text(path.read_text() + f"inputs: {inputs}\n")
    return path


def test_a_kernel_that_is_wrong_on_masked_rows_only_is_found_and_its_row_named(planted: Project, command: Any) -> None:
    out, _ = ended(1, command("check", planted.suite("good, third", "[8]")))
    (wrong,) = [one for one in checked(planted.suite("good, third", "[8]")) if one.status == "wrong"]
    assert (wrong.implementation.name, wrong.case.inputs) == ("third", "masked")
    assert wrong.reason == "8 of 32 elements wrong, first y[1, 0]: got 0, expected nan"
    for name in DISTRIBUTIONS:
        verdict = "1 of 2 right; 1 wrong" if name == "masked" else "2 of 2 right"
        assert f"{name}: {verdict}\n" in out
    assert out.startswith("11 of 12 right; 1 wrong\n")


def test_only_the_distributions_named(planted: Project, command: Any) -> None:
    out, _ = ended(0, command("check", planted.suite("good, third", "[8, 16]"), "--inputs", "normal,large"))
    assert out.count("right") == 3
    assert "large: 4 of 4 right\n" in out
    out, _ = ended(0, command("check", planted.suite("good, third", "[8]"), "--inputs", "normal"))
    assert out.splitlines()[0] == "2 of 2 right"
    assert out.count("right") == 1, "one distribution, one line"


def test_of_many_rows_the_right_ones_are_counted_and_the_answer_is_said_again(planted: Project, command: Any) -> None:
    suite = planted.suite("good, third", "[8, 16, 24, 32]")
    out, _ = ended(1, command("check", suite))
    assert "44 right rows are not shown; --all shows them." in out
    assert out.partition("Not right, and why")[0].split().count("third") == 4
    assert not re.search(r" good .* ok ", out)
    assert out.splitlines()[0] == out.splitlines()[-1] == "44 of 48 right; 4 wrong"
    out, _ = ended(1, command("check", suite, "--all"))
    assert len(re.findall(r" good .* ok ", out)) == 24
    assert "not shown; --all" not in out
    out, _ = ended(1, command("check", suite, "--format", "csv"))
    assert len(out.splitlines()) == 49, "a line for the names of columns"
    out, _ = ended(0, command("check", planted.suite("good", "[8, 16, 24, 32, 40, 48, 56]")))
    assert "42 right rows are not shown; --all shows them." in out
    assert "implementation" not in out, "no empty table"


def test_strict_says_what_it_looked_for_where_all_is_right(
    project: Project, simulator: FakeSimulator, command: Any
) -> None:
    line = ("check", project.suite("good, third, compiled", "[8, 32]"), "--device", "simulated", "--inputs", "normal")
    said = "Strict: no races on shared memory and no reads of uninitialised memory in 5 rows, all blocks run."
    assert said in " ".join(ended(0, command(*line, "--strict"))[0].split()), "the sixth row is unsupported"
    assert "Strict:" not in command(*line)[1]
    simulator.kernels["third"] = (zeros_for_hidden_rows, 0.0, 0.0)
    assert "Strict:" not in ended(1, command(*line[:-1], "masked", "--strict"))[0]


def test_nothing_verified_is_no_success(project: Project, command: Any) -> None:
    out, err = ended(1, command("check", project.suite("good, compiled", "[32]"), "--only", "compiled"))
    assert out.startswith("0 of 6 right; 6 unsupported\n")
    assert "Nothing was verified: every row is unsupported, skipped or failed" in err
    reasons = out.partition("Not right, and why")[2].partition("\nnormal: ")[0]
    assert reasons.split().count("unsupported") == 1, "one reason, one row, however many inputs have it"
    assert "and 3 more" in reasons
    suite = project.suite("good, compiled", "[32]")
    _, err = ended(1, command("run", suite, "--only", "compiled", "--no-report", "--out", "none"))
    assert "Nothing was verified: every row is unsupported, skipped or failed" in err


def test_one_row_is_no_plural(project: Project, simulator: FakeSimulator, command: Any) -> None:
    simulator.ranges = np.array([[0, 8]])
    suite = project.suite("good", "[8]")
    out, _ = ended(0, command("check", suite, "--inputs", "normal", "--device", "simulated"))
    assert out.startswith("1 of 1 right, 1 of them in a sample of the blocks\n")
    assert "1 of 1 row: only a sample of the blocks was checked" in out


def test_an_unknown_distribution_ends_with_2(planted: Project, command: Any) -> None:
    code, _, err = command("check", planted.suite("good, third", "[8]"), "--inputs", "normal,maskd")
    assert (code, err.strip()) == (2, "unknown distribution 'maskd'; did you mean 'masked'?")


def test_run_verifies_what_it_times(planted: Project, command: Any) -> None:
    assert command("run", planted.suite("good, third", "[8]"), "--no-report", "--quick")[0] == 0
    ended(1, command("run", suite_with(planted, "[normal, masked]"), "--no-report", "--quick"))
    with (planted.runs[-1] / "results.csv").open() as file:
        rows = {(row["case"], row["implementation"]): row for row in csv.DictReader(file)}
    key = "columns=8 shape=4x8 axis=-1 dtype=float32"
    assert rows[key, "third"]["status"] == "ok"
    assert rows[f"{key} inputs=masked", "good"]["status"] == "ok"
    wrong = rows[f"{key} inputs=masked", "third"]
    assert (wrong["status"], wrong["median_s"]) == ("wrong", "")
    assert "y[1, 0]: got 0, expected nan" in wrong["reason"]


def test_every_timed_run_is_on_the_inputs_that_are_named(planted: Project, command: Any) -> None:
    seen = []

    def watching(arrays: Arrays) -> None:
        seen.append(bool(np.isneginf(arrays["x"][1]).all()))
        softmax(arrays)

    planted.device.kernels["good"] = (watching, 50e-6, 5e-6)
    assert command("run", suite_with(planted, "masked", "good"), "--no-report", "--quick")[0] == 0
    assert len(seen) > 10
    assert all(seen)


def test_a_stated_deviation_is_refused_with_its_reason(planted: Project, command: Any) -> None:
    (planted.root / "kernels" / "softmax" / "stated.py").write_text(DEVIATES)
    suite = planted.suite("good, stated", "[8]")
    out, _ = ended(0, command("check", suite))
    assert "masked: 1 of 2 right; 1 unsupported\n" in out
    assert "normal: 2 of 2 right\n" in out
    (refused,) = [one for one in checked(suite) if one.status == "unsupported"]
    assert refused.case.key.endswith("inputs=masked")
    assert refused.reason == "masked inputs: a row of -inf gives 0, as published"


def test_remarks_that_differ_in_their_numbers_are_one() -> None:
    reasons = [f"sampled {number} of 90 blocks; run whole, because {number}" for number in (1, 2)]
    rows: Any = [SimpleNamespace(status="ok", reason=reason) for reason in reasons]
    assert _remarks(rows) == {SAMPLED: 2, WHOLE: 2}
