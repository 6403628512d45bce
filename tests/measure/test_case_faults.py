"""Whatever one implementation raises while it is prepared, run, verified or counted costs its own row."""

from typing import Any

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError, InputError, KernelbenchError, NoCompiler, PtxError, Unsupported
from kernelbench.core.records import Case, Limits
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.measure.tracks import QUICK
from kernelbench.planning.case_plans import CasePlan, Planned
from tests.catalog import catalog
from tests.fake_gpu import FakeDevice, implementation, raising, softmax
from tests.fake_simulator import FakeSimulator

OPERATION = catalog().operations["softmax"]
CASE = Case("softmax", (4, 32), -1, "float32")
NAMES = ("good", "bad", "other")
LIMITS = Limits(1e-6, 1e-6, 4e12, "copy")
ERRORS: list[tuple[Exception, str, str]] = [
    (ValueError("bad"), "failed", "ValueError: bad"),
    (KeyError("z"), "failed", "KeyError: 'z'"),
    (AssertionError(), "failed", "AssertionError: "),
    (MemoryError("Unable to allocate 16.0 GiB"), "failed", "out of memory: Unable to allocate 16.0 GiB"),
    (RecursionError("too deep"), "failed", "RecursionError: too deep"),
    (OSError(12, "Cannot allocate memory"), "failed", "OSError: [Errno 12] Cannot allocate memory"),
    (PtxError("line 3: no"), "failed", "line 3: no"),
    (DeviceError("no"), "failed", "no"),
    (Unsupported("odd"), "unsupported", "odd"),
]


def results(device: Any, **settings: Any) -> dict[str, tuple[str, str]]:
    plan = CasePlan(CASE, tuple(Planned(implementation(name)) for name in NAMES), ("x",))
    found = CaseRun(device, OPERATION, plan).run(Settings(1, ("cold",), **settings))
    assert [one.implementation.name for one in found] == list(NAMES)
    return {one.implementation.name: (one.status, one.reason) for one in found}


def only_of_bad(device: Any, method: str, error: Exception, *, after: int = 0) -> None:
    """Let a method of the device raise for the second implementation, from its call number `after` on."""
    real, calls = getattr(device, method), [0]

    def call(first: Any, *others: Any) -> Any:
        if getattr(first, "name", "") == "bad":
            calls[0] += 1
            if calls[0] > after:
                raise error
        return real(first, *others)

    setattr(device, method, call)


@pytest.mark.parametrize(("error", "status", "reason"), ERRORS)
@pytest.mark.parametrize("where", ["prepared", "run", "counted"])
def test_an_error_costs_its_own_row(where: str, error: Exception, status: str, reason: str) -> None:
    kernels = dict.fromkeys(NAMES, (softmax, 1e-5, 1e-6))
    if where == "run":
        kernels["bad"] = (raising(error), 1e-5, 1e-6)
    device = FakeSimulator(kernels)
    if where != "run":
        only_of_bad(device, "executable" if where == "prepared" else "counts", error)
    found = results(device)
    assert found["bad"] == (status, reason)
    assert [found[name][0] for name in ("good", "other")] == ["ok", "ok"]


@pytest.mark.parametrize(("error", "_", "reason"), ERRORS)
def test_an_error_at_a_further_place_costs_its_own_row(error: Exception, _: str, reason: str) -> None:
    device = FakeDevice(dict.fromkeys(NAMES, (softmax, 1e-5, 1e-6)))
    only_of_bad(device, "executable", error, after=1)
    found = results(device, precision=QUICK, limits=LIMITS)
    assert found["bad"] == ("failed", reason)
    assert [found[name][0] for name in ("good", "other")] == ["ok", "ok"]


def test_an_output_that_no_reference_fits_costs_its_own_row() -> None:
    def wide(arrays: Any) -> Any:
        return {"y": np.empty((4, 33), np.float32)}

    kernels = dict.fromkeys(NAMES, (softmax, 1e-5, 1e-6)) | {"bad": (lambda arrays: 5, 1e-5, 1e-6)}
    found = results(FakeDevice(kernels))
    assert found["bad"] == ("failed", "TypeError: 'int' object is not a mapping")
    found = results(FakeDevice(kernels | {"bad": (wide, 1e-5, 1e-6)}))
    assert found["bad"][0] == "wrong"


@pytest.mark.parametrize("error", [MemoryError("no room"), DeviceError("no room")])
def test_memory_that_lacks_for_a_case_costs_that_case(error: Exception) -> None:
    device = FakeDevice(dict.fromkeys(NAMES, (softmax, 1e-5, 1e-6)))
    device.allocate = raising(error)  # type: ignore[method-assign]
    found = results(device)
    assert {status for status, _ in found.values()} == {"failed"}
    assert all(reason.endswith("no room") for _, reason in found.values())


@pytest.mark.parametrize("error", [InputError("operation.py: wrong"), NoCompiler("no g++")])
def test_what_is_everybodys_ends_the_run(error: KernelbenchError) -> None:
    device = FakeDevice(dict.fromkeys(NAMES, (softmax, 1e-5, 1e-6)))
    only_of_bad(device, "executable", error)
    with pytest.raises(type(error)):
        results(device)
