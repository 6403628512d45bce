"""Plans come from kernel folders: whatever they raise or return costs their row, with a reason."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core.errors import InputError, MissingLibrary, Unsupported
from kernelbench.core.launch_texts import input_loads, launch_text, launches_text, read_launch, unread_inputs
from kernelbench.core.records import (
    Case,
    EntryFacts,
    HostCall,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    Suite,
)
from kernelbench.devices.known import KNOWN
from kernelbench.planning.case_plans import plan_case, plan_problem, plan_suite
from kernelbench.planning.catalog import Catalog
from tests.catalog import catalog

OPERATION = catalog().operations["softmax"]
CASE = Case("softmax", (4, 3, 32), -1, "float32")
H200 = KNOWN["h200"]
GOOD = Launch("k", (1, 1, 1), (32, 1, 1), ("x", "y", Scalar("int64", 12)))


def kernel(plan: Callable[..., Any], name: str = "one") -> Implementation:
    return Implementation(name, "", Origin("test"), plan=plan)


def raising(error: Exception) -> Implementation:
    def plan(case: Case, device: Any) -> LaunchPlan:
        raise error

    return kernel(plan)


def launch(**changes: Any) -> LaunchPlan:
    fields = {"entry": "k", "grid": (1, 1, 1), "block": (32, 1, 1), "arguments": ("x", "y"), "shared_bytes": 0}
    return LaunchPlan((Launch(**{**fields, **changes}),))


def test_a_good_plan_is_kept() -> None:
    plan = LaunchPlan((GOOD,))
    planned = plan_case(CASE, OPERATION, kernel(lambda case, device: plan), H200)
    assert (planned.status, planned.reason, planned.plan) == ("ok", "", plan)


def test_a_library_call_needs_no_plan() -> None:
    peer = Implementation("peer", "", Origin("test"), prepare=lambda case, arrays, stream: lambda: None)
    planned = plan_case(CASE, OPERATION, peer, H200)
    assert (planned.status, planned.plan) == ("ok", None)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (Unsupported("columns must be odd, got 32"), "unsupported", "columns must be odd, got 32"),
        (MissingLibrary("install it"), "skipped", "install it"),
        (ZeroDivisionError("division by zero"), "failed", "its plan raised ZeroDivisionError: division by zero"),
        (KeyError("seq"), "failed", "its plan raised KeyError: 'seq'"),
        (StopIteration(), "failed", "its plan raised StopIteration: "),
        (RecursionError("too deep"), "failed", "its plan raised RecursionError: too deep"),
    ],
)
def test_a_plan_that_raises_costs_its_row(error: Exception, status: str, reason: str) -> None:
    planned = plan_case(CASE, OPERATION, raising(error), H200)
    assert (planned.status, planned.reason, planned.plan) == (status, reason, None)


def test_ctrl_c_is_no_mistake_of_a_plan() -> None:
    def plan(case: Case, device: Any) -> LaunchPlan:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_case(CASE, OPERATION, kernel(plan), H200)


def test_a_case_without_meaning_is_refused_for_everybody() -> None:
    planned = plan_case(Case("softmax", (4,), -1, "int8"), OPERATION, kernel(lambda case, device: LaunchPlan(())), H200)
    assert (planned.status, planned.reason) == (
        "unsupported", "dtype must be float32, float16 or bfloat16, got int8",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (LaunchPlan(()), "its plan has no launch"),
        (launch(arguments=("x", "z")), "k: argument 'z' is neither an array nor scratch; there are x, y"),
        (launch(grid=(0, 1, 1)), "k: grid (0, 1, 1) and block (32, 1, 1) must be at least 1"),
        (launch(block=(32, -1, 1)), "k: grid (1, 1, 1) and block (32, -1, 1) must be at least 1"),
        (launch(grid=(2**31, 1, 1)), "k: grid (2147483648, 1, 1) is over the limit (2147483647, 65535, 65535)"),
        (launch(grid=(1, 65536, 1)), "k: grid (1, 65536, 1) is over the limit (2147483647, 65535, 65535)"),
        (launch(block=(32, 33, 1)), "k: block (32, 33, 1) has 1056 threads, the limit is 1024"),
        (
            launch(grid=(7, 6, 1), co_resident=5),
            "k: grid (7, 6, 1) has 42 blocks, expected a multiple of co_resident=5",
        ),
        (launch(co_resident=0), "k: grid (1, 1, 1) has 1 blocks, expected a multiple of co_resident=0"),
        (launch(shared_bytes=227 * 1024 + 1), "k: 232449 bytes of shared memory are over the limit 232448"),
    ],
)
def test_a_plan_that_cannot_be_launched_is_told_why(plan: LaunchPlan, said: str) -> None:
    planned = plan_case(CASE, OPERATION, kernel(lambda case, device: plan), H200)
    assert planned.status == "failed"
    assert planned.reason.removeprefix("its plan cannot be launched: ") == said


@pytest.mark.parametrize(
    "plan",
    [
        launch(arguments=["x", "y"]),
        launch(arguments=(["x"], "y")),
        launch(arguments=None),
        launch(shared_bytes=None),
        launch(entry=["k"]),
        LaunchPlan([GOOD]),  # type: ignore[arg-type]
        LaunchPlan(("k<<<1, 32>>>",)),  # type: ignore[arg-type]
        LaunchPlan((GOOD,), defines={"N": 1}),  # type: ignore[arg-type]
        LaunchPlan((GOOD,), defines=[("N", 1)]),  # type: ignore[arg-type]
        LaunchPlan((GOOD,), scratch={"t": 64}),  # type: ignore[arg-type]
        LaunchPlan((GOOD,), reasons=["why"]),  # type: ignore[arg-type]
        LaunchPlan(host=HostCall("f", ["x"])),  # type: ignore[arg-type]
    ],
)
def test_a_plan_of_other_types_costs_its_row(plan: LaunchPlan) -> None:
    planned = plan_case(CASE, OPERATION, kernel(lambda case, device: plan), H200)
    assert (planned.status, planned.plan) == ("failed", None)
    assert re.fullmatch(r"its plan cannot be read: [a-z0-9_.\[\]]+ must be .+, got .+", planned.reason)


def test_the_limits_themselves_will_do() -> None:
    most = launch(grid=(2**31 - 1, 65535, 65535), block=(16, 16, 4), shared_bytes=227 * 1024)
    assert plan_problem(most, ["x", "y"], H200) == ""
    assert "over the limit" in plan_problem(most, ["x", "y"], KNOWN["v100"])


def test_scratch_can_be_an_argument() -> None:
    plan = LaunchPlan((Launch("k", (1, 1, 1), (32, 1, 1), ("x", "t", "y")),), scratch=(("t", 64),))
    assert plan_problem(plan, ["x", "y"], H200) == ""


def test_every_launch_is_looked_at() -> None:
    plan = LaunchPlan((GOOD, Launch("second", (1, 1, 1), (2048, 1, 1), ("x",))))
    assert plan_problem(plan, ["x", "y"], H200).startswith("its plan cannot be launched: second: block")


def test_a_suite_is_planned_in_its_own_order() -> None:
    kernels = {name: kernel(lambda case, device: LaunchPlan((GOOD,)), name) for name in ("a", "b", "c")}
    cases = (CASE, Case("softmax", (1, 2), -1, "float32"))
    suite = Suite("s", Path("s.yaml"), "", "softmax", cases, ("c", "a"))
    plans = plan_suite(suite, Catalog({"softmax": OPERATION}, {"softmax": kernels}), H200)
    assert [plan.case for plan in plans] == list(cases)
    assert [[one.implementation.name for one in plan.planned] for plan in plans] == [["c", "a"]] * 2


@pytest.mark.parametrize(
    ("grid", "block", "shared", "text"),
    [
        ((128, 1, 1), (256, 1, 1), 0, "k<<<128, 256>>>"),
        ((1, 1, 1), (1, 1, 1), 0, "k<<<1, 1>>>"),
        ((4, 2, 1), (32, 1, 4), 4096, "k<<<4x2, 32x1x4, 4096>>>"),
    ],
)
def test_launches_read_as_in_cuda(grid: Any, block: Any, shared: int, text: str) -> None:
    plain = Launch("k", grid, block, (), shared)
    together = replace(plain, co_resident=4)
    for waiting, launch in {
        "": plain,
        " cooperative": replace(plain, cooperative=True),
        " in gangs of 4": together,
    }.items():
        assert launch_text(launch) == text + waiting
        assert read_launch(text + waiting) == launch


@pytest.mark.parametrize(
    "text",
    ["", "k(..) launches by itself", "k<<<>>>", "k<<<1>>>", "k<<<1, 2", "k<<<1, 2>>", "k<<<x, 2>>>", "k<<<1x, 2>>>",
     "k<<<1, 2, >>>", "k<<<1, 2, 3, 4>>>", "k<<<1x2x3x4, 5>>>", "k<<<1_0, 2>>>",
     "<<<1, 2>>>", "k<<<-1, 2>>>", "k<<<1, 2>>> in gangs of x", "k<<<1, 2>>> and more",
     f"k<<<{'9' * 5000}, 1>>>"],
)  # fmt: skip
def test_a_text_that_is_no_launch_is_read_as_none(text: str) -> None:
    assert read_launch(text) is None


def facts(entry: str, *loads: int) -> dict[str, EntryFacts]:
    return {entry: EntryFacts(entry, 32, 0, 0, 0, 0, loads, tuple(0 for _ in loads))}


def test_loads_are_summed_over_launches_by_input() -> None:
    plan = LaunchPlan((GOOD, Launch("k2", (1, 1, 1), (32, 1, 1), ("t", "x", "mask"))), scratch=(("t", 4),))
    found = {**facts("k", 4, 0, 0), **facts("k2", 7, 1, 0)}
    assert input_loads(plan, found, ["x", "mask"]) == {"x": 5, "mask": 0}
    assert unread_inputs(plan, found, ["x", "mask"]) == ["mask"]


def test_an_entry_that_the_source_lacks_is_told_with_those_it_has() -> None:
    with pytest.raises(InputError, match=r"the plan launches 'k', which its source does not define; .*\['other'\]"):
        input_loads(LaunchPlan((GOOD,)), facts("other", 1), ["x"])


def test_a_wrong_number_of_arguments_is_told() -> None:
    with pytest.raises(InputError, match="'k' takes 2 arguments, but the plan gives it 3"):
        input_loads(LaunchPlan((GOOD,)), facts("k", 1, 0), ["x"])


def host_plan(*arguments: str, launches: tuple[Launch, ...] = ()) -> LaunchPlan:
    return LaunchPlan(launches, host=HostCall("sum", arguments))


def test_host_code_is_planned_by_its_call_alone() -> None:
    assert plan_problem(host_plan("x", "y"), ["x", "y"], H200) == ""
    assert "argument 'z' is neither" in plan_problem(host_plan("x", "z"), ["x", "y"], H200)
    both = host_plan("x", launches=(Launch("k", (1, 1, 1), (1, 1, 1), ("x",)),))
    assert "beside a call of host code" in plan_problem(both, ["x"], H200)
    assert launches_text(host_plan("x")) == ["sum(..) launches by itself"]
    assert input_loads(host_plan("x"), {}, ["x"]) == {}, "unknown is not 0"
    assert unread_inputs(host_plan("x"), {}, ["x"]) == []
