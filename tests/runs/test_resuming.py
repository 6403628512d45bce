"""When an earlier session of a run can be gone on with, and which of its cases are measured again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core.errors import ResultsError
from kernelbench.core.parts import Part, Step
from kernelbench.core.records import Binary, Case, Launch, LaunchPlan, Suite
from kernelbench.planning.case_plans import CasePlan, Planned
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs.environment import call_hashes
from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE, Store
from kernelbench.runs.resuming import earlier_session, resumed_environment, unfinished_plans
from kernelbench.runs.rows import launches_cell
from kernelbench.runs.suite_contents import contents_of
from tests.fake_gpu import implementation
from tests.runs.test_runs import Said

CASES = [Case("softmax", (4, columns), -1, "float32", (("columns", columns),)) for columns in (8, 16)]
MORE = replace(CASES[0], shape=(4, 32), axes=(("columns", 32),))
CALL = """\
from kernelbench import Implementation, Origin

def prepare(case, arrays, stream):
    return lambda: None

IMPLEMENTATIONS = (Implementation("mine", "a call", Origin("test"), prepare=prepare),)
"""
SUITE = Suite("softmax", Path("softmax.yaml"), "", "softmax", tuple(CASES), ("naive",), "naive")
BINARY = Binary("a" * 64, Path("a.cubin"), Path("a.ptx"), "sm_90", (), {}, cached=True)
STATE: dict[str, Any] = {
    "suite": "softmax",
    "seed": 7,
    "kernelbench": "0.1.0",
    "started": "now",
    "device": {"name": "NVIDIA H200", "uuid": "GPU-1"},
    "implementations": {"naive": {"summary": "now"}},
    "contents": contents_of(SUITE),
}


ANOTHER_H200 = {"name": "NVIDIA H200", "uuid": "GPU-2"}


def row(case: Case, name: str = "naive", **cells: Any) -> dict[str, Any]:
    found = {"suite": "softmax", "case": case.key, "operation": "softmax", "shape": "x".join(map(str, case.shape))}
    found |= {"axis": -1, "dtype": "float32", "implementation": name, "status": "ok", "binary": BINARY.short_key}
    return found | {"cache": "cold", "method": "events", "median_s": 1e-5, "low_s": 1e-5, "high_s": 1e-5} | cells


def make(folder: Path, *rows: dict[str, Any], **changes: Any) -> Path:
    store = Store(folder)
    store.write_environment({**STATE, "started": "earlier", **changes})
    found = rows or (row(CASES[0]), row(CASES[1]))
    store.append(
        found, [(one["case"], one["implementation"], one["cache"], one["method"], 0, "1e-05") for one in found]
    )
    return folder


def plans(*names: str, binary: Binary | None = BINARY) -> tuple[CasePlan, ...]:
    planned = tuple(Planned(implementation(name), binary=binary) for name in names or ("naive",))
    return tuple(CasePlan(case, planned) for case in CASES)


def left(
    folder: Path, names: tuple[str, ...] = (), caches: tuple[str, ...] = ("cold",), binary: Binary | None = BINARY
) -> Any:
    """Which of the two cases are to be measured, and what is said."""
    said = Said()
    earlier = earlier_session(folder, STATE, resume=True)
    found = unfinished_plans(earlier, plans(*names, binary=binary), caches, said)
    return [CASES.index(plan.case) for plan in found], said.lines


def test_a_new_folder_has_nothing_finished(tmp_path: Path) -> None:
    for resume in (False, True):
        assert earlier_session(tmp_path, STATE, resume=resume) is None
    said, whole = Said(), plans()
    assert unfinished_plans(None, whole, ("cold",), said) == whole
    assert said.lines == []


def test_a_run_killed_before_its_first_row_is_begun_anew(tmp_path: Path) -> None:
    Store(tmp_path)  # rows, and no environment yet
    assert earlier_session(tmp_path, STATE, resume=True) is None
    (tmp_path / RESULTS_FILE).write_text("")
    with pytest.warns(UserWarning, match="cut off"):
        assert earlier_session(tmp_path, STATE, resume=True) is None


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    folder = make(tmp_path)
    with pytest.raises(ResultsError) as caught:
        earlier_session(folder, STATE, resume=False)
    assert str(caught.value) == (
        f"{folder}: already holds a run; add --resume to go on with it, or choose another --out"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"suite": "softmax_half"}, "its suite is 'softmax', now it is 'softmax_half'"),
        ({"seed": 8}, "its seed is 7, now it is 8"),
        ({"kernelbench": "9.0"}, "its kernelbench is '0.1.0', now it is '9.0'"),
        ({"device": {"name": "Tesla T4"}}, "it was measured on NVIDIA H200, this is Tesla T4"),
        ({"device": ANOTHER_H200}, "it was measured on another NVIDIA H200, GPU-1; this is GPU-2"),
    ],
)
def test_rows_of_another_kind_are_not_gone_on_with(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    refused(make(tmp_path), change, said)


def refused(folder: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ResultsError) as caught:
        earlier_session(folder, {**STATE, **change}, resume=True)
    assert str(caught.value) == f"{folder}: --resume: {said}; start a new run without --resume"


STEP = Step((Part("one", "softmax", CASES[0].key, 4, "naive", "ft"),), "much")
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "an operation": (
        {"cases": tuple(replace(case, operation="relu") for case in CASES)},
        "its operation was softmax, now it is relu",
    ),
    "the operation of one case": (
        {"cases": (CASES[0], replace(CASES[1], operation="relu"))},
        f"case '{CASES[1].key}' was of softmax, now it is of relu",
    ),
    "a case more": ({"cases": (*CASES, MORE)}, f"case '{MORE.key}' was added"),
    "a case fewer": ({"cases": (CASES[0],)}, f"case '{CASES[1].key}' was removed"),
    "other inputs": (
        {"cases": tuple(replace(case, inputs="zeros") for case in CASES)},
        f"case '{CASES[0].key} inputs=zeros' was added, as well as 1 more; "
        f"case '{CASES[0].key}' was removed, as well as 1 more",
    ),
    "an implementation more": ({"implementations": ("naive", "ft")}, "implementation 'ft' was added"),
    "an implementation fewer": ({"implementations": ()}, "implementation 'naive' was removed"),
    "a baseline": ({"baseline": None}, "its baseline was naive, now it is none"),
    "calls of a step": ({"step": STEP}, "the parts of its step have other calls or other implementations"),
}


@pytest.mark.parametrize(("change", "said"), OTHERS.values(), ids=OTHERS.keys())
def test_rows_of_another_suite_of_that_name_are_not_gone_on_with(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    changed = {"contents": contents_of(replace(SUITE, **change))}
    refused(make(tmp_path), changed, f"its suite 'softmax' has changed: {said}")


def test_a_part_of_the_same_suite_is_gone_on_with(tmp_path: Path) -> None:
    part = replace(SUITE, cases=SUITE.cases[:1], implementations=("naive", "mine"), whole=SUITE)
    assert contents_of(part) == contents_of(SUITE)
    assert earlier_session(make(tmp_path), {**STATE, "contents": contents_of(part)}, resume=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (OTHERS["an operation"][0], "its operation was softmax, now it is relu"),
        ({"cases": (CASES[1], MORE)}, f"case '{CASES[0].key}' is not in it"),
        ({"cases": (*CASES, MORE)}, ""),
        ({"implementations": ("ft",)}, ""),
    ],
)
def test_a_run_that_does_not_hold_its_suite_is_judged_by_its_rows(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    folder = make(tmp_path, contents=None)
    state = {**STATE, "contents": contents_of(replace(SUITE, **change))}
    if not said:
        assert earlier_session(folder, state, resume=True)
        return
    with pytest.raises(ResultsError, match="has changed: ") as caught:
        earlier_session(folder, state, resume=True)
    assert said in str(caught.value)


def test_a_gpu_that_is_known_by_name_only_is_taken_by_its_name(tmp_path: Path) -> None:
    assert earlier_session(make(tmp_path / "a", device={"name": "NVIDIA H200"}), STATE, resume=True)
    state = {**STATE, "device": {"name": "NVIDIA H200"}}
    assert earlier_session(make(tmp_path / "b"), state, resume=True)


def test_rows_of_nobody_knows_which_gpu_are_not_gone_on_with(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (folder / ENVIRONMENT_FILE).unlink()
    with (
        pytest.warns(UserWarning, match="missing"),
        pytest.raises(ResultsError, match="the GPU of its 2"),
    ):
        earlier_session(folder, STATE, resume=True)


def test_rows_of_a_users_call_whose_file_is_another_one_are_not_gone_on_with(tmp_path: Path) -> None:
    own, found = tmp_path / "own" / "softmax" / "mine.py", []
    own.parent.mkdir(parents=True)
    for text in (CALL, CALL, CALL + "# changed\n"):
        own.write_text(text)
        catalog = load_catalog(own=[tmp_path / "own"])
        found.append(call_hashes(catalog.implementations["softmax"].values(), catalog.own))
    assert found[0] == found[1] != found[2]
    assert list(found[0]) == ["softmax/mine"], "no call of kernelbench's own"
    folder = make(tmp_path / "run", calls=found[0])
    assert earlier_session(folder, {**STATE, "calls": found[1]}, resume=True)
    earlier = earlier_session(folder, STATE, resume=True)
    assert earlier is not None
    assert resumed_environment(earlier, STATE)["calls"] == found[0], "and is kept where it is not asked for"
    with pytest.raises(ResultsError, match="the file of softmax/mine has changed"):
        earlier_session(folder, {**STATE, "calls": found[2]}, resume=True)


def test_the_environment_keeps_what_the_earlier_session_began_with(tmp_path: Path) -> None:
    code = {"a": {"k": {"hash": "h", "instructions": 3}}}
    folder = make(tmp_path, code=code, implementations={"ft": {"summary": "then"}, "naive": {"summary": "then"}})
    earlier = earlier_session(folder, STATE, resume=True)
    assert earlier is not None
    state = resumed_environment(earlier, STATE)
    assert (state["started"], state["resumed"], state["code"]) == ("earlier", ["now"], code)
    assert state["implementations"] == {"ft": {"summary": "then"}, "naive": {"summary": "now"}}


def test_launches_too_long_to_be_kept_whole_are_known_again(tmp_path: Path) -> None:
    plan = LaunchPlan(tuple(Launch(f"an_entry_{number}", (1, 1, 1), (32, 1, 1), ("x",)) for number in range(1000)))
    folder = make(tmp_path, *(row(case, launches=launches_cell(plan)) for case in CASES))
    planned = (Planned(implementation("naive"), plan, BINARY),)
    earlier = earlier_session(folder, STATE, resume=True)
    assert unfinished_plans(earlier, [CasePlan(case, planned) for case in CASES], ("cold",), Said()) == ()


FIRST, SECOND = row(CASES[0]), row(CASES[1])
NOT_BUILT = {"status": "failed", "cache": "", "method": "", "binary": ""}
NOT_WARM = {"reason": "not timed warm: the data is 9 times the L2, which holds none of it"}
FINISHED: dict[str, tuple[tuple[Any, ...], dict[str, Any], list[int], list[str]]] = {
    "all rows": ((FIRST, SECOND), {}, [], []),
    "no rows, which needs no reason": ((FIRST,), {}, [1], []),
    "another binary": (
        (FIRST, row(CASES[1], binary="b" * 16)), {}, [1],
        [f"naive is another binary now, {'a' * 16} instead of {'b' * 16}"],
    ),
    "not built then": ((FIRST, row(CASES[1], **NOT_BUILT)), {}, [1], ["naive had no binary, now it has"]),
    "not built now": ((FIRST, SECOND), {"binary": None}, [], []),
    "a row fewer": ((FIRST, row(CASES[0], "ft"), SECOND), {"names": ("naive", "ft")}, [1], ["there is no row of ft"]),
    "who is not asked for": ((FIRST, row(CASES[0], "ft"), SECOND), {}, [], []),
    "a cache state fewer": (
        (FIRST, row(CASES[1], **NOT_WARM)), {"caches": ("cold", "warm")}, [0], ["naive was not timed warm"],
    ),
    "the simulator, which times nothing": ((FIRST, SECOND), {"caches": ()}, [], []),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "asked", "measured", "why"), FINISHED.values(), ids=FINISHED.keys())
def test_cases_without_the_rows_that_are_asked_for_are_measured(
    tmp_path: Path, rows: Any, asked: dict[str, Any], measured: list[int], why: list[str]
) -> None:
    found, (first, *reasons) = left(make(tmp_path, *rows), **asked)
    assert found == measured
    assert first == f"Going on with {tmp_path}: {2 - len(measured)} of 2 cases are finished"
    assert [line.split("measured again: ")[1] for line in reasons] == why


def test_the_earlier_command_is_said_which_may_have_asked_for_less(tmp_path: Path) -> None:
    _, (_, second) = left(make(tmp_path, command="kernelbench run softmax --only naive"))
    assert second == "The command before this one: kernelbench run softmax --only naive"


@pytest.mark.parametrize("full", [False, True])
def test_a_sample_of_the_blocks_is_not_mixed_with_all(tmp_path: Path, full: bool) -> None:
    def state(full: bool) -> dict[str, Any]:
        return {"device": {"name": "simulated", "simulator": {"threads": 2} | ({"full": True} if full else {})}}

    folder = make(tmp_path, **state(full))
    assert earlier_session(folder, STATE | state(full), resume=True)
    with pytest.raises(ResultsError, match="--resume: one of the two runs every block"):
        earlier_session(folder, STATE | state(not full), resume=True)


def test_a_case_whose_rows_are_not_all_there_is_measured_again(tmp_path: Path) -> None:
    folder = make(tmp_path, row(CASES[0]), row(CASES[1]), row(CASES[1], method="graph"))
    path = folder / RESULTS_FILE
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    found, (_, why) = left(folder)
    assert found == [1]
    assert why.endswith("measured again: there are samples of naive, cold, by graph, but no row")
