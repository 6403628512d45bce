"""Plans come from kernel folders: whatever they raise or return costs their row, with a reason."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core.errors import InputError
from kernelbench.core.launch_texts import input_loads, launch_text, launches_text, read_launch, unread_inputs
from kernelbench.core.records import (
    Case,
    EntryFacts,
    HostCall,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Suite,
)
from kernelbench.devices.known import KNOWN
from kernelbench.planning.case_plans import plan_case, plan_problem, plan_suite
from kernelbench.planning.catalog import Catalog
from tests.fake_gpu import raising
from tests.planning.test_plan_faults import CASE, GOOD, H200, OPERATION, with_launch


def kernel(plan: Callable[..., Any], name: str = "one") -> Implementation:
    return Implementation(name, "", Origin("test"), plan=plan)


def test_a_library_call_needs_no_plan() -> None:
    peer = Implementation("peer", "", Origin("test"), prepare=lambda case, arrays, stream: lambda: None)
    planned = plan_case(CASE, OPERATION, peer, H200)
    assert (planned.status, planned.plan) == ("ok", None)


def test_ctrl_c_is_no_mistake_of_a_plan() -> None:
    with pytest.raises(KeyboardInterrupt):
        plan_case(CASE, OPERATION, kernel(raising(KeyboardInterrupt())), H200)


def test_a_case_without_meaning_is_refused_for_everybody() -> None:
    planned = plan_case(Case("softmax", (4,), -1, "int8"), OPERATION, kernel(lambda case, device: LaunchPlan(())), H200)
    assert (planned.status, planned.reason) == (
        "unsupported", "dtype must be float32, float16 or bfloat16, got int8",
    )  # fmt: skip


def test_the_limits_themselves_will_do() -> None:
    most = with_launch(grid=(2**31 - 1, 65535, 65535), block=(16, 16, 4), shared_bytes=227 * 1024)
    assert plan_problem(most, ["x", "y"], H200) == ""
    assert "over the limit" in plan_problem(most, ["x", "y"], KNOWN["v100"])


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
    assert input_loads(plan, found, ["x", "mask", "bias"]) == {"x": 5, "mask": 0, "bias": 0}
    assert unread_inputs(plan, found, ["x", "mask", "bias"]) == ["mask", "bias"]


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
