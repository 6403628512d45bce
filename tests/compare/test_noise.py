"""The noise band of a row: from A/A rows, from a run's own samples, from what environment.json states."""

from pathlib import Path

import numpy as np
import pytest

from kernelbench.compare import noise
from kernelbench.runs.results import Run


def run(**environment) -> Run:
    return Run(Path("run"), environment, ())


def key(number: int, name: str = "kernel", method: str = "events") -> noise.Key:
    return (f"n={number}", name, "cold", method)


def test_the_floor_is_from_the_runs_own_aa_rows() -> None:
    samples = {key(number): np.full(20, 1e-4) for number in range(40)}
    samples |= {key(number, "again"): np.full(20, 1e-4 * (1.01 if number % 2 else 1 / 1.01)) for number in range(40)}
    floor = noise.floor_of(run(self_test={"twins": {"again": "kernel"}}), samples)
    assert floor.source == "40 pairs of twins of its self-test"
    assert floor.at(key(0), 1e-4) == pytest.approx(noise.WITHIN_95 * np.log(1.01))


def test_without_aa_rows_it_is_from_the_halves_of_each_rows_samples() -> None:
    samples = {key(number): np.repeat([1e-4, 1.01e-4], 10) for number in range(40)}
    floor = noise.floor_of(run(), samples)
    assert "first half of each row's samples against the second (40 rows" in floor.source
    assert floor.at(key(0), 1e-4) == pytest.approx(noise.WITHIN_95 * np.log(1.01))


def test_without_samples_it_is_assumed_and_said() -> None:
    floor = noise.floor_of(run(), {key(1): np.full(5, 1e-4)})
    assert floor.source.startswith("assumed")
    assert floor.at(key(1), 1e-4) == noise.LEAST


def test_the_floor_is_that_of_rows_of_like_length() -> None:
    short = {key(n): np.repeat([5e-6, 5.1e-6], 10) * (1 + n * 1e-3) for n in range(40)}
    long = {key(n): np.full(20, 5e-4) * (1 + (n - 40) * 1e-3) for n in range(40, 80)}
    floor = noise.floor_of(run(), {**short, **long})
    assert floor.at(key(99), 5e-6) > 0.04
    assert floor.at(key(99), 5e-4) == noise.LEAST


def test_an_unsteady_row_widens_its_own_band_and_no_other() -> None:
    samples = {key(n): np.full(20, 1e-4) for n in range(30)} | {key(30): np.repeat([1e-4, 1.05e-4], 10)}
    floor = noise.floor_of(run(), samples)
    assert floor.at(key(30), 1e-4) == pytest.approx(np.log(1.05))
    assert floor.at(key(5), 1e-4) == noise.LEAST


def test_the_clocks_step_is_stated_or_read_from_the_samples() -> None:
    samples = {key(1): np.array([100, 103, 101, 102]) * 32e-9}
    read = noise.clock_of("events", [run(), run()], [samples, samples])
    assert (read.step_s, read.stated) == (pytest.approx(32e-9), False)
    states = run(device={"resolution_s": 5e-7})
    told = noise.clock_of("events", [states, states], [samples, samples])
    assert (told.step_s, told.stated) == (5e-7, True)


def test_floors_and_chains_that_differ_cost_by_launch() -> None:
    runs = [run(limits={"floor_s": 2.8e-6}, device={"launch_chain_s": 9.0e-6}),
            run(limits={"floor_s": 2.9e-6}, device={"launch_chain_s": 10.2e-6})]  # fmt: skip
    clock = noise.clock_of("events", runs, [{}, {}])
    assert clock.seconds(1) == pytest.approx(0.1e-6)
    assert clock.seconds(5) == pytest.approx(0.1e-6 + 4 * 0.2e-6)


def test_a_graphs_floor_is_its_own() -> None:
    runs = [
        run(limits={"floor_s": 2.8e-6, "graph_floor_s": 6e-7}),
        run(limits={"floor_s": 9e-6, "graph_floor_s": 7e-7}),
    ]
    assert noise.clock_of("graph", runs, [{}, {}]).seconds(1) == pytest.approx(1e-7)


def test_launches_of_unchanged_code_differ_by_case_and_method() -> None:
    def controls(*more: float, method: str = "graph") -> dict:
        return {("a", f"copy_{number}", "cold", method): (3e-6, 3e-6 + one) for number, one in enumerate(more)}

    apart = noise.launches_apart({**controls(0.3e-6, 0.4e-6, 5e-6), **controls(0.1e-6, 0.1e-6, method="events")})
    assert apart == {("a", "cold", "graph"): pytest.approx(0.4e-6)}, "the middle of enough rows"
    assert noise.launches_apart(controls(-0.3e-6, -0.3e-6, -0.4e-6)).popitem()[1] == pytest.approx(0.3e-6)
    assert noise.launches_apart(controls(*[2e-6] * 3)).popitem()[1] == noise.MOST_LAUNCH_S, "no launch takes that"


@pytest.mark.parametrize(
    ("ceilings", "controls", "drift"),
    [
        ((4e12, 4e12), [], 0.0),
        ((4e12, 3.98e12), [], 0.005),
        ((4e12, 4e12), [0.004, 0.004, 0.005, 0.004, 0.2], 0.004),  # the middle: one row that changed is no drift
        ((4e12, 4e12), [0.004] * 4, 0.0),  # too few rows
        ((None, 4e12), [-0.003] * 5, 0.003),
        ((4e12, 3e12), [], noise.MOST_DRIFT),
    ],
)
def test_drift(ceilings: tuple, controls: list[float], drift: float) -> None:
    assert noise.drift_of(ceilings, controls) == pytest.approx(drift, rel=0.01, abs=1e-12)
