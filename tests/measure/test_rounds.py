"""Rounds: who is measured when, when sampling ends, and what one bad implementation costs the others."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError, DeviceLost
from kernelbench.core.records import Arrays, Case, Result
from kernelbench.measure import rounds
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.measure.placements import PLACEMENTS
from kernelbench.measure.tracks import MORE_SAMPLES, QUICK, Precision
from kernelbench.planning.case_plans import CasePlan, Planned
from tests.catalog import catalog
from tests.fake_gpu import EVENT_S, FakeDevice, implementation, raising, softmax

OPERATION = catalog().operations["softmax"]
CASE = Case("softmax", (4, 3, 32), -1, "float32")


def run(device: FakeDevice, names: list[str], settings: Settings) -> dict[str, Result]:
    plan = CasePlan(CASE, tuple(Planned(implementation(name)) for name in names))
    return {result.implementation.name: result for result in CaseRun(device, OPERATION, plan).run(settings)}


def cold(result: Result, method: str = "events") -> Any:
    return next(one for one in result.measurements if one.cache == "cold" and one.method == method)


def watched(seen: Callable[[Arrays], object]) -> FakeDevice:
    """A device whose kernel `a` shows its arrays in each run."""

    def kernel(arrays: Arrays) -> None:
        seen(arrays)
        softmax(arrays)

    return FakeDevice({"a": (kernel, 50e-6, 5e-6)})


@pytest.fixture
def unrehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run is a sample."""
    monkeypatch.setattr(rounds, "REHEARSED_BELOW_S", 0.0)


@pytest.mark.usefixtures("unrehearsed")
def test_every_round_takes_everybody_once_in_changing_order() -> None:
    names = ["a", "b", "c"]
    device = FakeDevice(dict.fromkeys(names, (softmax, 5e-05, 5e-06)))
    run(device, names, Settings(1, ("cold",), Precision(least_samples=20)))
    launches = [name for name in device.clock.log if name in names][3 + 12 :]  # after verification and pilot
    rounds = [tuple(launches[i : i + 3]) for i in range(0, len(launches), 3)]
    assert all(sorted(one) == names for one in rounds)
    assert len(set(rounds)) > 2, "the order must change from round to round"


def test_steady_kernels_stop_after_one_sample_at_each_place() -> None:
    device = FakeDevice({"a": (softmax, 50e-6, 5e-6)})
    measured = cold(run(device, ["a"], Settings(1, ("cold",), Precision()))["a"])
    assert len(measured.samples_s) == PLACEMENTS, "times of verified samples are not kept"
    assert measured.rounds == tuple(range(PLACEMENTS))
    assert measured.stopped == "precise"
    assert measured.median_s == pytest.approx(50e-6 + EVENT_S)


def let_be_noisy(device: FakeDevice, name: str, *times: float) -> None:
    """The kernel takes these times in turn, the first in its first sample."""
    noise = itertools.cycle(times)

    def noisy(arrays: Arrays) -> None:
        device.kernels[name] = (noisy, next(noise), 5e-6)
        softmax(arrays)

    device.kernels[name] = (noisy, times[0], 5e-6)


@pytest.mark.usefixtures("unrehearsed")
def test_a_kernel_goes_on_to_the_sample_limit_and_a_noisy_one_beyond_it_while_a_steady_one_stops() -> None:
    device = FakeDevice({"steady": (softmax, 50e-6, 5e-6)})
    let_be_noisy(device, "uneven", 50e-6, 50.4e-6)
    let_be_noisy(device, "noisy", 40e-6, 60e-6)
    precision = Precision(most_samples=60, seconds_per_case=60)
    results = run(device, ["steady", "uneven", "noisy"], Settings(1, ("cold",), precision))
    assert len(cold(results["steady"]).samples_s) == PLACEMENTS
    assert len(cold(results["uneven"]).samples_s) == 60
    assert len(cold(results["noisy"]).samples_s) == MORE_SAMPLES * 60
    assert {cold(results[name]).stopped for name in ("uneven", "noisy")} == {"sample limit"}


def test_a_short_noisy_kernel_does_not_go_on_beyond_the_sample_limit() -> None:
    device = FakeDevice({})
    let_be_noisy(device, "short", *np.random.default_rng(1).uniform(5e-6, 10e-6, 997))
    results = run(device, ["short"], Settings(1, ("cold",), Precision(most_samples=60, seconds_per_case=60)))
    assert {len(one.samples_s) for one in results["short"].measurements} == {60}


def test_events_beside_a_graph_need_less_precision_than_the_graph() -> None:
    device = FakeDevice({})
    let_be_noisy(device, "short", *np.random.default_rng(1).uniform(9.8e-6, 10.2e-6, 997).repeat(16))
    found = run(device, ["short"], Settings(1, ("cold", "warm"), Precision(most_samples=200, seconds_per_case=60)))
    samples = {(one.cache, one.method): len(one.samples_s) for one in found["short"].measurements}
    assert samples["cold", "events"] < min(samples["warm", "events"], samples["cold", "graph"]) / 2


@pytest.mark.usefixtures("unrehearsed")
def test_out_of_time_is_said_so() -> None:
    device = FakeDevice({})
    let_be_noisy(device, "a", 40e-6, 60e-6)
    results = run(device, ["a"], Settings(1, ("cold",), Precision(seconds_per_case=0.0)))
    assert cold(results["a"]).stopped == "time limit"


@pytest.mark.usefixtures("unrehearsed")
def test_a_long_kernel_is_out_of_time_once_it_has_the_few_samples_that_it_needs() -> None:
    device = FakeDevice({})
    let_be_noisy(device, "long", 5e-3, 5.03e-3)
    results = run(device, ["long"], Settings(1, ("cold",), Precision(seconds_per_case=0.0)))
    assert cold(results["long"]).stopped == "time limit"
    assert len(cold(results["long"]).samples_s) == Precision().long_samples


def test_short_kernels_are_measured_by_graph_too_without_the_events_overhead() -> None:
    device = FakeDevice(
        {"short": (softmax, 4e-6, 0.0), "long": (softmax, 100e-6, 0.0), "endless": (softmax, 1e-3, 0.0)}
    )
    results = run(device, ["short", "long", "endless"], Settings(1, ("cold",), Precision()))
    assert cold(results["short"], "graph").median_s == pytest.approx(4e-6)
    assert cold(results["long"], "graph").median_s == pytest.approx(100e-6)
    assert cold(results["short"]).median_s == pytest.approx(4e-6 + EVENT_S)
    assert [one.method for one in results["endless"].measurements] == ["events"]


def test_timed_inputs_are_not_those_of_the_verification() -> None:
    device = FakeDevice({"a": (softmax, 50e-6, 5e-6)})
    result = run(device, ["a"], Settings(41, ("cold",), Precision()))["a"]
    assert device.fills == [41, 42, 44, 43], (
        "verified, timed, what touched elements are changed to, verified at the end"
    )
    assert result.check.seed == 42


@pytest.mark.usefixtures("unrehearsed")
def test_rounds_go_through_all_placements_in_turn() -> None:
    places: list[int] = []
    device = watched(lambda arrays: places.append(id(arrays["y"])))
    run(device, ["a"], Settings(1, ("cold",), Precision(least_samples=PLACEMENTS + 4)))
    timed = [place for place, _ in itertools.groupby(places)]  # the verified round among them is at one of their places
    timed = timed[-PLACEMENTS - 5 :]
    assert len(set(timed)) == PLACEMENTS
    assert timed[:5] == timed[PLACEMENTS:], "after the last place the first comes again"


@pytest.mark.usefixtures("unrehearsed")
def test_few_placements_where_memory_is_short() -> None:
    seen: list[tuple[int, int, bytes]] = []
    device = watched(lambda arrays: seen.append((id(arrays["x"]), id(arrays["y"]), arrays["x"].tobytes())))
    case_bytes = sum(spec.nbytes for spec in OPERATION.arrays(CASE))
    device.free_bytes = lambda: 7 * case_bytes  # type: ignore[method-assign]
    result = run(device, ["a"], Settings(1, ("cold",), Precision()))["a"]
    *timed, inputs = zip(*seen[-22:], strict=True)
    assert len(cold(result).samples_s) == 20, "the least samples go beyond so few places"
    assert [len(set(side)) for side in timed] == [4, 4], "three more sets, and room for four that libraries make"
    assert len(set(zip(*timed, strict=True))) == 16, "the inputs of each with the outputs of each"
    assert len(set(inputs)) == 22, "no two samples have the same inputs"


@pytest.mark.usefixtures("unrehearsed")
def test_a_long_kernel_stops_early_if_its_few_samples_agree_and_is_verified_twice() -> None:
    device = FakeDevice({"long": (softmax, 5e-3, 5e-6)})
    let_be_noisy(device, "uneven", *[5e-3] * 6, 5.1e-3)
    long = run(device, ["long", "uneven"], Settings(1, ("cold",), Precision()))
    assert len(cold(long["long"]).samples_s) == Precision().long_samples
    assert len(cold(long["uneven"]).samples_s) > Precision().long_samples, "its range is 2 % wide"
    verified_before, pilot, verified = 1, 1, 2
    for seed in range(1, 9):  # the round that is verified in between is a random one
        alone = FakeDevice({"long": (softmax, 5e-3, 5e-6)})
        run(alone, ["long"], Settings(seed, ("cold",), Precision()))
        assert alone.clock.log.count("long") == verified_before + pilot + Precision().long_samples + verified


def test_a_quick_run_need_not_see_every_place() -> None:
    device = FakeDevice({"a": (softmax, 50e-6, 5e-6)})
    assert len(cold(run(device, ["a"], Settings(1, ("cold",), QUICK))["a"]).samples_s) == QUICK.least_samples


@pytest.mark.parametrize(
    ("error", "reason"),
    [(DeviceError("out of resources"), "out of resources"), (ZeroDivisionError("no"), "ZeroDivisionError: no")],
)
@pytest.mark.parametrize(("seconds", "after"), [(50e-6, 10), (15e-6, 3), (15e-6, 9)])
def test_a_kernel_that_fails_while_timed_costs_only_its_own_row(
    seconds: float, after: int, error: Exception, reason: str
) -> None:
    device = FakeDevice({"good": (softmax, seconds, 5e-6)})
    runs = itertools.count()

    def failing(arrays: Arrays) -> None:
        if next(runs) >= after:
            raise error
        softmax(arrays)

    device.kernels["bad"] = (failing, seconds, 5e-6)
    results = run(device, ["bad", "good"], Settings(1, ("cold",), Precision()))
    assert (results["bad"].status, results["bad"].reason) == ("failed", reason)
    assert results["bad"].measurements == ()
    assert results["good"].status == "ok"


def test_a_lost_context_ends_the_case_and_says_so_in_every_row_left() -> None:
    lost = raising(DeviceLost("an illegal memory access"))
    device = FakeDevice({"good": (softmax, 50e-6, 5e-6), "bad": (lost, 50e-6, 5e-6)})
    plan = CasePlan(CASE, (Planned(implementation("good")), Planned(implementation("bad"))))
    case_run = CaseRun(device, OPERATION, plan)
    with pytest.raises(DeviceLost):
        case_run.run(Settings(1, ("cold",), Precision()))
    good, bad = case_run.ordered()
    assert (bad.status, bad.reason) == ("failed", "an illegal memory access")
    assert good.status == "failed"
    assert "context was lost" in good.reason


def test_memory_that_ends_while_places_are_made_leaves_those_that_there_are() -> None:
    device = FakeDevice({"a": (softmax, 50e-6, 5e-6)})
    allocate, sets = device.allocate, itertools.count(1)

    def scarce(specs: Any) -> Arrays:
        if next(sets) == 4:
            raise DeviceError("out of GPU memory")
        return allocate(specs)

    device.allocate = scarce  # type: ignore[method-assign]
    assert run(device, ["a"], Settings(1, ("cold",), Precision()))["a"].status == "ok"
    assert next(sets) == 6, "nobody asks again for a place, only for the values that elements are changed to"


def test_a_graph_time_that_is_no_time_is_left_out_with_the_reason() -> None:
    device = FakeDevice({"a": (softmax, 0.0, 0.0)})
    result = run(device, ["a"], Settings(1, ("cold",), Precision()))["a"]
    assert [one.method for one in result.measurements] == ["events"]
    assert result.reason == "no graph timing: too short to be told from the flushes"


def test_a_lost_context_is_named_even_where_its_memory_cannot_be_given_back() -> None:
    device = FakeDevice({"bad": (raising(DeviceLost("an illegal memory access")), 50e-6, 5e-6)})
    device.release = raising(DeviceLost("giving memory back"))  # type: ignore[method-assign]
    with pytest.raises(DeviceLost, match="an illegal memory access"):
        CaseRun(device, OPERATION, CasePlan(CASE, (Planned(implementation("bad")),))).run(Settings(1))


def test_memory_that_does_not_suffice_for_the_comparison_costs_one_row() -> None:
    device = FakeDevice({"a": (softmax, 50e-6, 5e-6), "b": (softmax, 50e-6, 5e-6)})
    compare, calls = device.compare, itertools.count(1)

    def scarce(*arguments: Any) -> Any:
        if next(calls) == 3:  # the first after a timed run
            raise MemoryError("3 GB")
        return compare(*arguments)

    device.compare = scarce  # type: ignore[method-assign]
    results = run(device, ["a", "b"], Settings(1, ("cold",), Precision()))
    (failed,) = [one for one in results.values() if one.status == "failed"]
    assert failed.reason == "out of memory while its output was compared: 3 GB"
    assert sorted(one.status for one in results.values()) == ["failed", "ok"]


@pytest.mark.parametrize(("seconds", "before"), [(50e-6, ["a"]), (500e-6, ["wait"])])
def test_short_kernels_are_run_before_the_flush_of_a_sample(seconds: float, before: list[str]) -> None:
    device = FakeDevice({"a": (softmax, seconds, 5e-6)})
    run(device, ["a"], Settings(1, ("cold",), Precision(least_samples=20)))
    log, sample = device.clock.log, ["poison", "flush", "event", "a", "event"]
    starts = [at for at in range(len(log)) if log[at : at + len(sample)] == sample]
    assert len(starts) >= PLACEMENTS
    assert log[starts[-1] - 1 : starts[-1]] == before


def test_a_rehearsal_is_on_arrays_at_another_place() -> None:
    places: list[int] = []
    device = watched(lambda arrays: places.append(id(arrays["y"])))
    run(device, ["a"], Settings(1, ("cold",), Precision(least_samples=20)))
    rehearsed, sampled = places[-2:]
    assert rehearsed != sampled
