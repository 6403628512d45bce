"""Layer norm's choices, judged on recorded times of candidates."""

from functools import cache

import pytest

from kernelbench.core import places
from kernelbench.core.tunable import values_text
from kernelbench.devices.known import KNOWN
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.cost_fit import shares_with
from kernelbench.planning.timed_candidates import candidates_with_quantities
from kernelbench.runs.candidate_times import read_times
from kernelbench.suite import read_suite
from kernels.layer_norm._choices import MODEL, VALUES
from kernels.softmax_family.cost import CONSTANTS as SHARED_CONSTANTS

CATALOG = load_catalog()


@cache
def timed(gpu, suite):
    """Candidates of each case, but where the choice itself was never timed: on the H100, rows in turn and long rows."""
    (path,) = (places.RECORDED / gpu / "model").glob("*.layer_norm.csv.gz")
    listed = read_suite(places.SUITES / f"{suite}.yaml", CATALOG.operations, CATALOG.implementations)
    tunable = CATALOG.implementations["layer_norm"]["one_read_rows"].tunable
    choices = {case.key: values_text(tunable.ranked(case, KNOWN[gpu], VALUES)[0]) for case in listed.cases}
    found = candidates_with_quantities([one for one in read_times(path) if one.case in choices], KNOWN[gpu], CATALOG)
    judged = {one.case for one, _ in found if one.values == choices[one.case]}
    return [(one, quantities) for one, quantities in found if one.case in judged]


@pytest.mark.parametrize(
    ("gpu", "suite", "cases", "near", "far", "mean"),
    [
        ("h100", "model_layer_norm", 44, 0.82, 0.91, 0.019),
        ("h200", "model_layer_norm", 60, 0.83, 0.93, 0.019),
        ("h100", "peers_layer_norm", 34, 0.89, 0.99, 0.01),
        ("h200", "peers_layer_norm", 45, 0.92, 0.99, 0.006),
        ("h200", "layer_norm", 57, 0.88, 0.99, 0.0095),
    ],
)
def test_the_choice_is_near_the_fastest_of_the_timed_candidates(gpu, suite, cases, near, far, mean):
    found = shares_with(MODEL, timed(gpu, suite), VALUES)
    assert len({one.case for one, _ in timed(gpu, suite)}) == cases
    assert found.within_3_percent >= near
    assert found.within_10_percent >= far
    assert found.mean_loss <= mean


@pytest.mark.parametrize("gpu", ["h100", "h200"])
@pytest.mark.parametrize("suite", ["model_layer_norm", "peers_layer_norm"])
def test_with_the_constants_of_softmax_alone_choices_lose_twice_as_much(gpu, suite):
    constants = {name: one.value for name, one in SHARED_CONSTANTS.items()}
    with_own, without = (shares_with(MODEL, timed(gpu, suite), each).mean_loss for each in (VALUES, constants))
    assert without > 2 * with_own


def gains(technique, suite):
    """By how much its candidates were faster than all others on an H200, of each case that has both."""
    best = {}
    for one, _ in timed("h200", suite):
        own, seconds = one.values.startswith(technique), one.seconds
        if seconds is not None:
            times = best.setdefault(one.case, {})
            times[own] = min(seconds, times.get(own, seconds))
    return [times[False] / times[True] for times in best.values() if len(times) == 2]


@pytest.mark.parametrize(("technique", "most"), [("longrows", 1.6), ("inturn", 1.4)])
def test_rows_in_turn_are_the_fastest_on_a_tenth_of_random_cases(technique, most):
    found = gains(technique, "model_layer_norm")
    assert sum(gain > 1.03 for gain in found) >= 6
    assert max(found) > most


def test_a_pipeline_takes_rows_of_a_million_columns_in_little_more_than_half_the_time():
    assert max(gains("longrows", "peers_layer_norm")) > 1.8
