"""Layer norm's choices, judged on recorded times of candidates."""

from functools import cache

import pytest

from kernelbench.core import places
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
def timed(suite, gpu="h200"):
    """Candidates of each case, with their times on that GPU."""
    (path,) = (places.RECORDED / gpu / "model").glob("*.layer_norm.csv.gz")
    listed = read_suite(places.SUITES / f"{suite}.yaml", CATALOG.operations, CATALOG.implementations)
    cases = {case.key for case in listed.cases}
    return candidates_with_quantities([one for one in read_times(path) if one.case in cases], KNOWN[gpu], CATALOG)


@pytest.mark.parametrize(
    ("gpu", "suite", "cases", "near", "far", "mean"),
    [
        ("h200", "model_layer_norm", 60, 0.89, 0.99, 0.01),
        ("h200", "peers_layer_norm", 45, 0.94, 0.99, 0.005),
        ("h200", "layer_norm", 57, 0.93, 0.99, 0.006),
        ("h200", "model_layer_norm_unseen", 90, 0.80, 0.95, 0.020),
        ("h100", "model_layer_norm", 60, 0.79, 0.95, 0.021),
        ("h100", "peers_layer_norm", 45, 0.97, 0.99, 0.007),
        ("h100", "layer_norm", 57, 0.96, 0.99, 0.009),
        ("h100", "model_layer_norm_unseen", 90, 0.77, 0.91, 0.028),
    ],
)
def test_the_choice_is_near_the_fastest_of_the_timed_candidates(gpu, suite, cases, near, far, mean):
    found = shares_with(MODEL, timed(suite, gpu), VALUES)
    assert len({one.case for one, _ in timed(suite, gpu)}) == cases
    assert found.within_3_percent >= near
    assert found.within_10_percent >= far
    assert found.mean_loss <= mean


@pytest.mark.parametrize("suite", ["model_layer_norm", "peers_layer_norm"])
def test_with_the_constants_of_softmax_alone_choices_lose_thrice_as_much(suite):
    constants = {name: one.value for name, one in SHARED_CONSTANTS.items()}
    with_own, without = (shares_with(MODEL, timed(suite), each).mean_loss for each in (VALUES, constants))
    assert without > 3 * with_own


def gains(technique, suite):
    """By how much its candidates were faster than all others on an H200, of each case that has both."""
    best = {}
    for one, _ in timed(suite):
        own, seconds = one.values.startswith(technique), one.seconds
        if seconds is not None:
            times = best.setdefault(one.case, {})
            times[own] = min(seconds, times.get(own, seconds))
    return [times[False] / times[True] for times in best.values() if len(times) == 2]


@pytest.mark.parametrize(
    ("technique", "cases", "most"), [("longrows", 7, 2.0), ("weightsfirst", 5, 1.3), ("inturn", 3, 1.15)]
)
def test_a_technique_is_the_fastest_on_a_twentieth_of_random_cases_or_more(technique, cases, most):
    found = gains(technique, "model_layer_norm")
    assert sum(gain > 1.03 for gain in found) >= cases
    assert max(found) > most


def test_a_pipeline_takes_rows_of_a_million_columns_in_half_the_time():
    assert max(gains("longrows", "peers_layer_norm")) > 2
