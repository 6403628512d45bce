"""The fit of a cost function: it finds the constants that made the times, and its shares say how well it chooses."""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core import places
from kernelbench.core.cost_model import CandidateTime, Constant, CostModel, Sample
from kernelbench.core.errors import InputError, ResultsError, RunWarning
from kernelbench.core.records import Case
from kernelbench.core.tunable import values_text
from kernelbench.devices.known import KNOWN
from kernelbench.planning import tuned
from kernelbench.planning.case_plans import plan_case
from kernelbench.planning.cost_constants import Fitted, read_fitted, write_fitted
from kernelbench.planning.cost_fit import Fit, fit, loss_shares, shares_with
from kernelbench.planning.cost_fit import fitted_constants as constants_of
from kernelbench.planning.timed_candidates import candidates_with_quantities, tuned_entries
from kernelbench.runs.candidate_times import append_times, read_times
from kernelbench.suite import find_suite, read_suite
from tests.catalog import catalog

CATALOG = catalog()
GPU = KNOWN["h200"]
ROWS = CATALOG.implementations["softmax"]["one_read_rows"]
MODEL: CostModel = ROWS.tunable.model
# Another GPU's: a longer latency, expensive barriers, cheap halves, warps that start slowly.
TRUTH = {**MODEL.known, "latency": 1.3e-6, "half": 10.0, "barrier": 5e-7, "warp": 2.5e-8}
NOISE = 0.005
BANDWIDTH = MODEL.known["bandwidth"]


@cache
def samples(count: int = 40) -> tuple[Sample, ...]:
    """Candidates of drawn cases, as long as TRUTH and noise have it."""
    generator, found = np.random.default_rng(7), []
    cases = read_suite(find_suite("model_rows", places.SUITES), CATALOG.operations, CATALOG.implementations).cases
    for case in cases[:: len(cases) // count]:
        listed = ROWS.tunable.listed(case, GPU)
        for number, (values, quantities) in enumerate(zip(listed, MODEL.quantities(case, GPU), strict=True)):
            seconds = float(MODEL.seconds(quantities, TRUTH)) * float(np.exp(NOISE * generator.normal())) + 1e-6
            time = CandidateTime(
                GPU.name, "softmax/one_read_rows", "hash", case.key, values_text(values), number == 0, "ok", "",
                "graph", seconds, 1e-6, NOISE,
            )  # fmt: skip
            found.append((time, quantities))
    return tuple(found)


def times() -> tuple[CandidateTime, ...]:
    return tuple(one for one, _ in samples())


@pytest.mark.exhaustive  # seconds; tests/walks/test_tune_model.py fits two constants
def test_constants_that_made_the_times_are_found_and_choose_better_than_those_before() -> None:
    found = fit(MODEL, samples())
    for name in ("bandwidth", "latency", "barrier", "warp", "half", "float"):
        assert found.constants[name] == pytest.approx(TRUTH[name], rel=0.25), name
    assert found.validated.within_3_percent >= 0.9
    assert found.validated.mean_loss < found.start.mean_loss / 2
    of_cases = Counter(one.case for one in times())
    assert found.candidates == sum(count for count in of_cases.values() if count > 1), "one alone ranks nothing"
    for loss, case, chosen, fastest in found.worst:
        assert loss > 0
        assert chosen != fastest
        assert case.startswith("softmax/one_read_rows")


def test_a_planted_wrong_constant_chooses_worse() -> None:
    right, wrong = (shares_with(MODEL, samples(), each) for each in (TRUTH, {**TRUTH, "barrier": 1e-9, "warp": 1e-6}))
    assert right.within_3_percent == 1
    assert wrong.within_10_percent < 0.9
    assert wrong.mean_loss > right.mean_loss + 0.02


def test_shares_are_of_losses() -> None:
    found = loss_shares(np.array([0.0, 0.02, 0.05, 0.5]))
    assert (found.within_3_percent, found.within_10_percent) == (0.5, 0.75)
    assert found.mean_loss == pytest.approx(0.1425)


def test_too_few_cases_are_refused() -> None:
    with pytest.raises(InputError, match="softmax: 6 cases have two timed candidates; a fit needs 10"):
        fit(MODEL, samples(5))


# ---- Files ----


FITTED = Fitted(GPU.name, "softmax", "times.csv", "2026-11-23", "0.2.0", 40, 500, 0.9, 1.0, MODEL.known)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "own_tuned", lambda: tmp_path)
    monkeypatch.setattr(places, "TUNED", tmp_path / "none")
    return tmp_path


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "nvidia-h200.softmax.model.yaml"
    write_fitted(path, replace(FITTED, **changes), MODEL)
    return path


def test_constants_are_read_as_they_were_written(folder: Path) -> None:
    path = written(folder)
    assert replace(read_fitted(path, GPU.name), path=None) == FITTED
    assert f"bandwidth: {{value: {BANDWIDTH}, unit: share of the peak" in path.read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (f"value: {BANDWIDTH}", "value: -1", "constants: 'bandwidth' must have a value above 0"),
        (f"value: {BANDWIDTH}", "value: none", "constants: 'bandwidth' must have a value above 0"),
        ("gpu: NVIDIA H200", "gpu: Tesla T4", "constants of Tesla T4, expected those of NVIDIA H200"),
        ("cases: 40", "cases: many", "cases: expected a number from 0 on"),
        ("run: times.csv", "run: 1", "run: expected text"),
    ],
)
def test_a_wrong_file_is_named(folder: Path, old: str, new: str, said: str) -> None:
    path = written(folder)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as error:
        read_fitted(path, GPU.name)
    assert str(error.value).startswith(f"{path}: {said}")
    with pytest.warns(RunWarning, match="it is left out"):
        assert tuned.tables_for(GPU.name).models == ()


@pytest.mark.parametrize("kernel", ["one_read_rows", "one_read_axis"])
def test_constants_of_this_gpu_come_before_those_that_ship(folder: Path, kernel: str) -> None:
    shape, axis = ((33, 100_000), -1) if kernel == "one_read_rows" else ((64, 1000, 196), 1)
    case, one = Case("softmax", shape, axis, "bfloat16"), CATALOG.implementations["softmax"][kernel]

    def planned() -> Any:
        return plan_case(case, CATALOG.operations["softmax"], one, GPU, tuned.tables_for(GPU.name))

    before = planned()
    assert "chosen by the plan itself: nothing near this case is tuned" in before.plan.reasons[-1]
    model = one.tunable.model
    dear = {**model.known, "barrier": 1e-3, "float": 1e4, "warp": 1e-3, "sector": 1e4}
    path = folder / f"nvidia-h200.{model.name}.model.yaml"
    write_fitted(path, replace(FITTED, model=model.name, constants=dear), model)
    chosen = planned()
    assert "by the cost function fitted on NVIDIA H200" in chosen.plan.reasons[-1]
    assert chosen.tuned == one.tunable.ranked(case, GPU, dear)[0]
    assert chosen.plan.launches != before.plan.launches
    assert (
        "chosen by the plan itself: nothing"
        in plan_case(
            case, CATALOG.operations["softmax"], one, KNOWN["h100"], tuned.tables_for("NVIDIA H100 80GB HBM3")
        ).plan.reasons[-1]
    )


@pytest.mark.parametrize(
    ("constants", "said"),
    [
        ({"bandwidth": 0.8}, "has no 'again'"),
        ({**MODEL.known, "luck": 1.0}, "has an unknown 'luck'"),
    ],
)
def test_constants_of_another_version_are_passed_over(folder: Path, constants: dict[str, float], said: str) -> None:
    path, units = folder / "nvidia-h200.softmax.model.yaml", MODEL
    units = replace(MODEL, constants={**MODEL.constants, "luck": MODEL.constants["edge"]})
    write_fitted(path, replace(FITTED, constants=constants), units)
    with pytest.warns(RunWarning, match=said):
        planned = plan_case(
            Case("softmax", (64, 512), -1, "float32"), CATALOG.operations["softmax"], ROWS, GPU,
            tuned.tables_for(GPU.name),
        )  # fmt: skip
    assert "chosen by the plan itself: nothing" in planned.plan.reasons[-1]


def test_times_are_read_as_they_were_written_and_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    wrong = replace(times()[0], status="wrong", reason="1 of 2, first y[0]", method="", seconds=None, floor_s=None)
    append_times(path, [wrong])
    append_times(path, times()[:20])
    found = read_times(path)
    assert found[0].reason == wrong.reason
    assert found[0].seconds is None
    for one, other in zip(found[1:], times()[:20], strict=True):
        assert one.seconds == pytest.approx(other.seconds)
        assert (one.values, one.case, one.is_rule) == (other.values, other.case, other.is_rule)
    text = path.read_text()
    path.write_text(text.replace("0.005", "nan", 1))
    with pytest.raises(ResultsError, match=r"times.csv:2: 'noise' must be a number, got 'nan'"):
        read_times(path)
    path.write_text(text.replace(",noise", ",blocks", 1))
    with pytest.raises(ResultsError, match=r"times.csv:1: expected the columns gpu, .*, noise; name another --times"):
        append_times(path, [wrong])


def test_quantities_are_those_of_the_listed_candidate_and_times_of_others_are_left_out() -> None:
    gone = replace(times()[1], values="held 1, lanes 3")
    strange = replace(times()[1], kernel="softmax/gone")
    found = candidates_with_quantities([*times()[:3], gone, strange], GPU, CATALOG)
    assert found == list(samples()[:3])


def test_a_fit_stays_within_the_bounds_of_a_constant() -> None:
    constants = {**MODEL.constants, "latency": replace(MODEL.constants["latency"], least=3e-7, most=1.3e-6)}
    found = constants_of(replace(MODEL, constants=constants), samples())
    assert 1.2e-6 < found["latency"] <= 1.3001e-6


def reversed_in_one_case(share: float, noise: float, timed: int = 1) -> list[Sample]:
    """Candidates of 1 and 2 units in each case; of one case, the second takes `share` less than the first. `timed`: the
    choice when they were timed."""
    found: list[Sample] = []
    for case in range(12):
        for number in (1, 2):
            seconds = 1e-4 * (number if case != 5 else 1.0 - share * (number - 1))
            time = CandidateTime(
                GPU.name, "softmax/one_read_rows", "hash", f"case {case}", str(number), number == timed, "ok", "",
                "events", seconds, 0.0, noise,
            )  # fmt: skip
            found.append((time, {"units": float(number)}))
    return found


@pytest.mark.parametrize("timed", [1, 2])
@pytest.mark.parametrize(("share", "noise", "found"), [(0.1, 0.01, 1), (0.02, 0.0, 0), (0.1, 0.06, 0)])
def test_only_a_sure_loss_of_3_per_cent_by_todays_choice_is_overridden(
    share: float, noise: float, found: int, timed: int
) -> None:
    model = CostModel(
        "units",
        {"unit": Constant(1.1e-4, "s", "a unit", 1e-5, 1e-3)},
        lambda case, gpu: (),
        lambda quantities, constants: quantities["units"] * constants["unit"],
    )
    lost = fit(model, reversed_in_one_case(share, noise, timed)).lost
    assert [(choice.values, fastest.values, fastest.case) for choice, fastest in lost] == [("1", "2", "case 5")] * found


def test_a_table_names_the_faster_candidate_until_its_kernel_changes(folder: Path) -> None:
    case = Case("softmax", (4096, 16384), -1, "float32")
    listed = [values_text(each) for each in ROWS.tunable.listed(case, GPU)]
    one = replace(times()[0], case=case.key, source=tuned.source_hash(ROWS.source))
    rule, fastest = replace(one, values=listed[0], seconds=1.1e-4), replace(one, values=listed[-1], seconds=1e-4)
    shares_ = loss_shares(np.zeros(1))
    found = Fit({}, 1, 2, shares_, shares_, shares_, (), ((rule, fastest),))
    entries = list(tuned_entries(found, GPU, CATALOG, "times.csv", "2026-11-23"))
    path = folder / tuned.table_file_name(GPU.name)
    tuned.write_table(path, GPU.name, entries)
    tables = tuned.TunedTables(GPU.name, (tuned.read_table(path, GPU.name),))
    assert values_text(tables.choice(case, ROWS, GPU).values) == listed[-1]
    fewer_rows = Case("softmax", (2100, 16384), -1, "float32")
    assert tables.choice(fewer_rows, ROWS, GPU).values in ({}, ROWS.tunable.listed(case, GPU)[-1])
    stale = replace(found, lost=((rule, replace(fastest, source="another")),))
    assert list(tuned_entries(stale, GPU, CATALOG, "times.csv", "2026-11-23")) == []
