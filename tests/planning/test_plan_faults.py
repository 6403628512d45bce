"""Bad values of plans, each beside a kernel that is right: the bad one costs its own row, with a reason that says
what was expected; see tests/reliability/plan_faults.py for some of them through a whole run."""

import pickle
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError, InputError, MissingLibrary, NoDevice, Unsupported
from kernelbench.core.launch_texts import launches_text
from kernelbench.core.records import (
    Case,
    HostCall,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    Suite,
    TensorMap,
    Tiling,
    Tunable,
)
from kernelbench.devices.known import KNOWN
from kernelbench.planning.case_plans import Planned, plan_suite
from kernelbench.planning.catalog import Catalog
from kernelbench.planning.tuned import TunedTables
from tests.catalog import catalog
from tests.fake_gpu import raising

OPERATION = catalog().operations["softmax"]
CASE = Case("softmax", (4, 3, 32), -1, "float32")
H200 = KNOWN["h200"]
ARGUMENTS = "launches[0].arguments must be a tuple of names, Scalars and TensorMaps"
GOOD = Launch("k", (1, 1, 1), (32, 1, 1), ("x", "y", Scalar("int64", 12)))
HUGE = 10**5000  # which Python refuses to show


class Word(str):
    pass


class Size(IntEnum):
    WARP = 32


class Bare:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@dataclass(frozen=True)
class Raising(LaunchPlan):
    @property
    def launches(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no launches")

    def __init__(self) -> None:
        pass


Extent = namedtuple("Extent", "x y z")


def planned(*plans: Callable[..., Any], tables: TunedTables | None = None, **options: Any) -> list[Planned]:
    """What becomes of implementations with these plans, and of one that is right, which is always."""
    kernels = {
        f"bad{number}": Implementation(f"bad{number}", "", Origin("test"), plan=plan, **options)
        for number, plan in enumerate(plans)
    }
    kernels["good"] = Implementation("good", "", Origin("test"), plan=lambda case, device: LaunchPlan((GOOD,)))
    suite = Suite("s", Path("s.yaml"), "", "softmax", (CASE,), tuple(kernels))
    (found,) = plan_suite(suite, Catalog({"softmax": OPERATION}, {"softmax": kernels}), H200, tables)
    *bad, good = found.planned
    assert (good.status, good.plan) == ("ok", LaunchPlan((GOOD,)))
    assert all(one.plan is None for one in bad if one.status != "ok")
    return bad


def with_plan(**fields: Any) -> LaunchPlan:
    return LaunchPlan(**{"launches": (GOOD,), **fields})


def with_launch(**fields: Any) -> LaunchPlan:
    own = {"entry": "k", "grid": (1, 1, 1), "block": (32, 1, 1), "arguments": ("x", "y")}
    return LaunchPlan((Launch(**{**own, **fields}),))


def with_map(array: Any, shape: Any, box: Any) -> LaunchPlan:
    return with_launch(arguments=("x", "y", TensorMap(array, Tiling("float32", shape, box))))


def with_scalar(dtype: Any, value: Any) -> LaunchPlan:
    return with_launch(arguments=("x", "y", Scalar(dtype, value)))


READ = "its plan cannot be read: "
LAUNCHED = "its plan cannot be launched: "
BUILT = "its plan cannot be built: "
PAIRS = "must be a tuple of pairs"
THREE = "must be three whole numbers in a tuple, got"
IDENTIFIER = ": expected a C identifier, each one once"
INTEGER = ": expected an integer of 64 bits, or letters, digits, '_' and '.'"
BYTES = ": expected an int of bytes, from 1 on, got"
FREE = ": expected a name that no array and no other scratch has"
BAD: list[tuple[Any, str]] = [
    # The plan itself
    (None, "its plan returned NoneType, expected LaunchPlan((Launch(..),)) or LaunchPlan(host=..)"),
    (GOOD, "its plan returned Launch, expected LaunchPlan("),
    ((GOOD,), "its plan returned tuple, expected LaunchPlan("),
    (LaunchPlan, "its plan returned type, expected LaunchPlan("),
    (Raising(), "its plan returned Raising, expected LaunchPlan("),
    (LaunchPlan(), "its plan has no launch"),
    # Launches
    (LaunchPlan((GOOD, Launch("second", (1, 1, 1), (2048, 1, 1), ("x",)))), f"{LAUNCHED}second: block"),
    (with_plan(launches=[GOOD]), f"{READ}launches must be a tuple of Launch, got list [Launch("),
    (with_plan(launches=(one for one in (GOOD,))), f"{READ}launches must be a tuple of Launch, got generator"),
    (with_plan(launches=(GOOD, None)), f"{READ}launches must be a tuple of Launch, got tuple"),
    (with_plan(launches=GOOD), f"{READ}launches must be a tuple of Launch, got Launch"),
    (with_plan(launches=None), f"{READ}launches must be a tuple of Launch, got None"),
    (with_plan(launches=Bare()), f"{READ}launches must be a tuple of Launch, got Bare that cannot be shown"),
    (with_launch(entry=None), f"{READ}launches[0].entry must be the name of a function, got None"),
    (with_launch(entry=7), f"{READ}launches[0].entry must be the name of a function, got 7"),
    (with_launch(entry=""), f"{READ}launches[0].entry must be the name of a function, got ''"),
    (with_launch(entry="k\n"), f"{READ}launches[0].entry must be the name of a function, got 'k\\n'"),
    (with_launch(entry=Word("k")), f"{READ}launches[0].entry must be the name of a function, got Word 'k'"),
    (with_launch(grid=1), f"{READ}launches[0].grid {THREE} 1"),
    (with_launch(grid=[1, 1, 1]), f"{READ}launches[0].grid {THREE} list [1, 1, 1]"),
    (with_launch(grid=(1, 1.0, 1)), f"{READ}launches[0].grid {THREE} tuple (1, 1.0, 1)"),
    (with_launch(grid=Extent(1, 1, 1)), f"{READ}launches[0].grid {THREE} Extent"),
    (with_launch(block=(32, 1)), f"{READ}launches[0].block {THREE} tuple (32, 1)"),
    (with_launch(block=(32, 1, 1, 1)), f"{READ}launches[0].block {THREE} tuple (32, 1, 1, 1)"),
    (with_launch(block=(np.int64(32), 1, 1)), f"{READ}launches[0].block {THREE} tuple ("),
    (with_launch(block=(True, True, True)), f"{READ}launches[0].block {THREE} tuple (True, True, True)"),
    (with_launch(block=(Size.WARP, 1, 1)), f"{READ}launches[0].block {THREE} tuple (<Size.WARP: 32>, 1, 1)"),
    (with_launch(block=("32", 1, 1)), f"{READ}launches[0].block {THREE} tuple ('32', 1, 1)"),
    (with_launch(block=None), f"{READ}launches[0].block {THREE} None"),
    (with_launch(grid=(HUGE, 1, 1)), f"{READ}launches[0].grid {THREE} tuple that cannot be shown"),
    (with_launch(grid=(0, 1, 1)), f"{LAUNCHED}k: grid (0, 1, 1) and block (32, 1, 1) must be at least 1"),
    (with_launch(grid=(2**31, 1, 1)), f"{LAUNCHED}k: grid (2147483648, 1, 1) is over the limit"),
    (with_launch(grid=(1, 65536, 1)), f"{LAUNCHED}k: grid (1, 65536, 1) is over the limit (2147483647, 65535, 65535)"),
    (with_launch(block=(-1, -32, 1)), f"{LAUNCHED}k: grid (1, 1, 1) and block (-1, -32, 1) must be at least 1"),
    (with_launch(block=(32, 33, 1)), f"{LAUNCHED}k: block (32, 33, 1) has 1056 threads, the limit is 1024"),
    (with_launch(shared_bytes=1.5), f"{READ}launches[0].shared_bytes must be an int from 0 on, got 1.5"),
    (with_launch(shared_bytes="1k"), f"{READ}launches[0].shared_bytes must be an int from 0 on, got '1k'"),
    (with_launch(shared_bytes=-1), f"{READ}launches[0].shared_bytes must be an int from 0 on, got -1"),
    (with_launch(shared_bytes=True), f"{READ}launches[0].shared_bytes must be an int from 0 on, got True"),
    (with_launch(shared_bytes=float("nan")), f"{READ}launches[0].shared_bytes must be an int from 0 on, got nan"),
    (with_launch(shared_bytes=HUGE), f"{READ}launches[0].shared_bytes must be an int from 0 on, got int that"),
    (with_launch(shared_bytes=232449), f"{LAUNCHED}k: 232449 bytes of shared memory are over the limit 232448"),
    (with_launch(cooperative="yes"), f"{READ}launches[0].cooperative must be True or False, got 'yes'"),
    (with_launch(cooperative=1), f"{READ}launches[0].cooperative must be True or False, got 1"),
    (with_launch(co_resident=1.5), f"{READ}launches[0].co_resident must be an int, got 1.5"),
    (with_launch(co_resident=None), f"{READ}launches[0].co_resident must be an int, got None"),
    (with_launch(co_resident=-1), f"{LAUNCHED}k: grid (1, 1, 1) has 1 blocks, expected a multiple of co_resident=-1"),
    (with_launch(co_resident=0), f"{LAUNCHED}k: grid (1, 1, 1) has 1 blocks, expected a multiple of co_resident=0"),
    (with_launch(grid=(7, 6, 1), co_resident=5), f"{LAUNCHED}k: grid (7, 6, 1) has 42 blocks, expected a multiple of"),
    (with_launch(co_resident=HUGE), f"{READ}launches[0].co_resident must be an int, got int that cannot be shown"),
    (with_launch(arguments=None), f"{READ}{ARGUMENTS}, got None"),
    (with_launch(arguments="xy"), f"{READ}{ARGUMENTS}, got 'xy'"),
    (with_launch(arguments=["x"]), f"{READ}{ARGUMENTS}, got list"),
    (with_launch(arguments=("x", "z")), f"{LAUNCHED}k: argument 'z' is neither an array nor scratch; there are x, y"),
    (with_launch(arguments=("x", 3)), f"{READ}{ARGUMENTS}, got tuple"),
    (with_launch(arguments=(Word("x"),)), f"{READ}{ARGUMENTS}, got"),
    (with_launch(arguments=("x", "\x1b")), f"{LAUNCHED}k: argument '\\x1b' is neither an array nor scratch"),
    # Tensor maps
    (with_map("z", (12, 12), (4, 4)), f"{LAUNCHED}k: argument 'z' is neither an array nor scratch; there are x, y"),
    (with_map("x", (12, 12), (4, 3)), f"{LAUNCHED}k: TensorMap of x: a row of the box has 12 bytes"),
    (with_map("x", (12, 12), [4, 4]), f"{LAUNCHED}k: TensorMap of x: expected shape, box, strides and steps as tuples"),
    (with_map(3, (12, 12), (4, 4)), f"{LAUNCHED}k: TensorMap(3, Tiling"),
    # Scalars
    (with_scalar("float32", 1e40), f"{LAUNCHED}k: Scalar('float32', 1e+40): more than float32 holds"),
    (with_scalar("float32", -(10**400)), f"{LAUNCHED}k: Scalar('float32', -1"),
    (with_scalar("float16", 65520.0), f"{LAUNCHED}k: Scalar('float16', 65520.0): more than float16 holds"),
    (with_scalar("float64", 2**1024), f"{LAUNCHED}k: Scalar('float64', 1"),
    (with_scalar("float32", "1"), f"{LAUNCHED}k: Scalar('float32', '1'): expected a number, an int or a float"),
    (with_scalar("float32", True), f"{LAUNCHED}k: Scalar('float32', True): expected a number, an int or a float"),
    (with_scalar("float32", np.float32(1)), f"{LAUNCHED}k: Scalar('float32', float32 "),
    (with_scalar("float32", 1j), f"{LAUNCHED}k: Scalar('float32', complex 1j): expected a number, an int or a float"),
    (with_scalar("bfloat16", -1.5), f"{LAUNCHED}k: Scalar('bfloat16', -1.5): expected a type of float64"),
    (with_scalar("bfloat16", 1.5), f"{LAUNCHED}k: Scalar('bfloat16', 1.5): expected a type of float64, float32"),
    (with_scalar("int", 1), f"{LAUNCHED}k: Scalar('int', 1): expected a type of float64, float32"),
    (with_scalar(np.int32, 1), f"{LAUNCHED}k: Scalar(type <class 'numpy.int32'>, 1): expected a type of"),
    (with_scalar(["int32"], 1), f"{LAUNCHED}k: Scalar(list ['int32'], 1): expected a type of"),
    (with_scalar("int32", 2**31), f"{LAUNCHED}k: Scalar('int32', 2147483648): expected -2147483648 to 2147483647"),
    (with_scalar("int32", 1.0), f"{LAUNCHED}k: Scalar('int32', 1.0): expected -2147483648 to 2147483647"),
    (with_scalar("uint8", -1), f"{LAUNCHED}k: Scalar('uint8', -1): expected 0 to 255"),
    (with_scalar("int64", HUGE), f"{LAUNCHED}k: Scalar('int64', int that cannot be shown): expected -"),
    # Sources
    (with_plan(source=None), f"{READ}source must be a text, got None"),
    (with_plan(source="../k.cu"), "its plan names the source '../k.cu', which is none of its other_sources"),
    # Defines
    (with_plan(defines=None), f"{READ}defines {PAIRS} (name, value), got None"),
    (with_plan(defines={"N": 1}), f"{READ}defines {PAIRS} (name, value), got dict"),
    (with_plan(defines=[("N", 1)]), f"{READ}defines {PAIRS} (name, value), got list"),
    (with_plan(defines=(1, 2)), f"{READ}defines {PAIRS} (name, value), got tuple (1, 2)"),
    (with_plan(defines=("N", 1)), f"{READ}defines {PAIRS} (name, value), got tuple ('N', 1)"),
    (with_plan(defines=(("N",),)), f"{READ}defines {PAIRS} (name, value), got tuple (('N',),)"),
    (with_plan(defines=(("N", 1, 2),)), f"{READ}defines {PAIRS} (name, value), got tuple"),
    (with_plan(defines=((5, 1),)), f"{BUILT}define 5{IDENTIFIER}"),
    (with_plan(defines=((None, 1),)), f"{BUILT}define None{IDENTIFIER}"),
    (with_plan(defines=(("N", 1), ("N", 2))), f"{BUILT}define 'N'{IDENTIFIER}"),
    (with_plan(defines=(("-I/", 1),)), f"{BUILT}define '-I/'{IDENTIFIER}"),
    (with_plan(defines=((["N"], 1),)), f"{BUILT}define list ['N']{IDENTIFIER}"),
    (with_plan(defines=(("N", 1.5),)), f"{BUILT}define N=1.5{INTEGER}"),
    (with_plan(defines=(("N", None),)), f"{BUILT}define N=None{INTEGER}"),
    (with_plan(defines=(("N", HUGE),)), f"{BUILT}define N=int that cannot be shown{INTEGER}"),
    (with_plan(defines=(("N", 2**64),)), f"{BUILT}define N=18446744073709551616{INTEGER}"),
    (with_plan(defines=(("N", "a b"),)), f"{BUILT}define N='a b'{INTEGER}"),
    (with_plan(defines=(("N", ""),)), f"{BUILT}define N=''{INTEGER}"),
    # Scratch
    (with_plan(scratch=(("t", 1.5),)), f"{LAUNCHED}scratch 't'{BYTES} 1.5"),
    (with_plan(scratch=(("t", -4),)), f"{LAUNCHED}scratch 't'{BYTES} -4"),
    (with_plan(scratch=(("t", 0),)), f"{LAUNCHED}scratch 't'{BYTES} 0"),
    (with_plan(scratch=(("t", True),)), f"{LAUNCHED}scratch 't'{BYTES} True"),
    (with_plan(scratch=(("t", "64"),)), f"{LAUNCHED}scratch 't'{BYTES} '64'"),
    (with_plan(scratch=(("t", np.int64(64)),)), f"{LAUNCHED}scratch 't'{BYTES} int64"),
    (with_plan(scratch=(("t", HUGE),)), f"{LAUNCHED}scratch 't'{BYTES} int that cannot"),
    (with_plan(scratch=(("t", 2**38), ("u", 1))), f"{LAUNCHED}its scratch is more than 274877906944 bytes"),
    (with_plan(scratch=(("t", 64), ("t", 64))), f"{LAUNCHED}scratch 't'{FREE}"),
    (with_plan(scratch=(("x", 64),)), f"{LAUNCHED}scratch 'x'{FREE}"),
    (with_plan(scratch=((3, 64),)), f"{LAUNCHED}scratch 3{FREE}"),
    (with_plan(scratch=(("a b", 64),)), f"{LAUNCHED}scratch 'a b'{FREE}"),
    (with_plan(scratch=(("t", 64, 4),)), f"{READ}scratch {PAIRS} (name, bytes), got tuple"),
    (with_plan(scratch=(64,)), f"{READ}scratch {PAIRS} (name, bytes), got tuple (64,)"),
    (with_plan(scratch=None), f"{READ}scratch {PAIRS} (name, bytes), got None"),
    (with_plan(scratch={"t": 64}), f"{READ}scratch {PAIRS} (name, bytes), got dict"),
    # The rest
    (with_plan(reasons=(5,)), f"{READ}reasons must be a tuple of texts, got tuple (5,)"),
    (with_plan(reasons=5), f"{READ}reasons must be a tuple of texts, got 5"),
    (with_plan(reasons="why"), f"{READ}reasons must be a tuple of texts, got 'why'"),
    (with_plan(reasons=["why"]), f"{READ}reasons must be a tuple of texts, got list"),
    (with_plan(reasons=("why", None)), f"{READ}reasons must be a tuple of texts, got tuple ('why', None)"),
    (with_plan(debug="no"), f"{READ}debug must be True or False, got 'no'"),
    (with_plan(debug=0), f"{READ}debug must be True or False, got 0"),
    (with_plan(alignment=0), f"{READ}alignment must be an int from 1 on, of bytes, got 0"),
    (with_plan(alignment=-16), f"{READ}alignment must be an int from 1 on, of bytes, got -16"),
    (with_plan(alignment=16.0), f"{READ}alignment must be an int from 1 on, of bytes, got 16.0"),
    (with_plan(alignment=None), f"{READ}alignment must be an int from 1 on, of bytes, got None"),
    (LaunchPlan(host="f"), f"{READ}host must be a HostCall or None, got 'f'"),  # type: ignore[arg-type]
    (LaunchPlan(host=GOOD), f"{READ}host must be a HostCall or None, got Launch"),  # type: ignore[arg-type]
    (LaunchPlan(host=HostCall(5, ())), f"{READ}host.entry must be the name of a function, got 5"),  # type: ignore[arg-type]
    (LaunchPlan(host=HostCall("f", None)), f"{READ}host.arguments must be a tuple of names and Scalars, got None"),  # type: ignore[arg-type]
    (LaunchPlan(host=HostCall("f", ("z",))), f"{LAUNCHED}f: argument 'z' is neither an array nor scratch"),
    (with_plan(host=HostCall("f", ("x",))), "its plan has launches beside a call of host code"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "reason"), BAD, ids=range(len(BAD)))
def test_a_bad_value_costs_its_own_row(plan: Any, reason: str) -> None:
    (bad,) = planned(lambda case, device: plan)
    assert (bad.status, bad.reason[: len(reason)]) == ("failed", reason)


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Silent(Unsupported):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307


def endless(case: Case, device: Any) -> LaunchPlan:
    return endless(case, device)


def yielding(case: Case, device: Any) -> Iterator[LaunchPlan]:
    yield LaunchPlan((GOOD,))


def fieldless(case: Case, device: Any) -> LaunchPlan:
    plan = with_launch()
    object.__delattr__(plan.launches[0], "entry")
    return plan


ERRORS: list[tuple[Any, str, str]] = [
    (raising(Unsupported()), "unsupported", "its plan does not say why"),
    (raising(Unsupported(5)), "unsupported", "5"),
    (raising(Silent()), "unsupported", "its plan does not say why"),
    (raising(MissingLibrary("install it")), "skipped", "install it"),
    (raising(DeviceError("out of order")), "failed", "out of order"),
    (raising(StopIteration()), "failed", "its plan raised StopIteration: "),
    (raising(InputError("mine")), "failed", "its plan raised InputError: mine"),
    (raising(NoDevice("none")), "failed", "its plan raised NoDevice: none"),
    (raising(Wordless()), "failed", "its plan raised Wordless: "),
    (raising(SystemExit(0)), "failed", "its plan raised SystemExit: 0"),
    (raising(GeneratorExit()), "failed", "its plan raised GeneratorExit: "),
    (raising(BaseException("base")), "failed", "its plan raised BaseException: base"),
    (raising(MemoryError()), "failed", "its plan raised MemoryError: "),
    (endless, "failed", "its plan raised RecursionError: maximum recursion depth exceeded"),
    (yielding, "failed", "its plan returned generator, expected LaunchPlan"),
    (fieldless, "failed", "its plan cannot be read: "),
    (lambda case: LaunchPlan((GOOD,)), "failed", "its plan raised TypeError: "),
    (5, "failed", "its plan raised TypeError: 'int' object is not callable"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "status", "reason"), ERRORS, ids=range(len(ERRORS)))
def test_whatever_a_plan_raises_costs_its_own_row(plan: Any, status: str, reason: str) -> None:
    (bad,) = planned(plan)
    assert (bad.status, bad.reason[: len(reason)]) == (status, reason)


def test_a_layout_that_raises_costs_its_own_row() -> None:
    def plan(case: Case, device: Any, block: int = 32) -> LaunchPlan:
        return LaunchPlan((GOOD,))

    tunable = Tunable({"block": (32, 64)}, layout=raising(KeyError("layout")))
    (bad,) = planned(plan, tables=TunedTables("NVIDIA H200"), tunable=tunable)
    assert (bad.status, bad.reason) == ("failed", "its plan raised KeyError: 'layout'")


def test_a_plan_that_changes_each_time_is_asked_once() -> None:
    grids = iter(range(1, 100))
    found = planned(*[lambda case, device: with_launch(grid=(next(grids), 1, 1))] * 3)
    assert [one.plan.launches[0].grid[0] for one in found if one.plan] == [1, 2, 3]


def test_what_is_kept_can_be_shown_hashed_and_sent() -> None:
    values = (-(2**63), 2**64 - 1, True, "half", "1.5f")
    scalars = (
        Scalar("float32", float("-inf")),
        Scalar("float64", 1e300),
        Scalar("float16", 65504),
        Scalar("int8", -128),
    )
    plan = LaunchPlan(
        (Launch("k", (2**31 - 1, 65535, 65535), (1024, 1, 1), ("x", "t", *scalars), 1, True),),
        defines=tuple((f"N{number}", value) for number, value in enumerate(values)),
        scratch=(("t", 1), ("u", 2**38 - 1)),
        reasons=("", "why\n"),
        debug=True,
        alignment=256,
    )
    (one,) = planned(lambda case, device: plan)
    assert (one.status, one.reason) == ("ok", "")
    assert pickle.loads(pickle.dumps(one.plan)) == one.plan
    assert hash(one.plan) == hash(plan)
    assert launches_text(plan)[0].endswith("cooperative")
