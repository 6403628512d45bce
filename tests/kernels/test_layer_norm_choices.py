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
def timed(gpu, suite):
    (path,) = (places.RECORDED / gpu / "model").glob("*.layer_norm.csv.gz")
    listed = read_suite(places.SUITES / f"{suite}.yaml", CATALOG.operations, CATALOG.implementations)
    keys = {case.key for case in listed.cases}
    return candidates_with_quantities([one for one in read_times(path) if one.case in keys], KNOWN[gpu], CATALOG)


@pytest.mark.parametrize(
    ("gpu", "suite", "cases", "near", "far", "mean"),
    [
        ("h100", "model_layer_norm", 60, 0.78, 0.9, 0.026),
        ("h200", "model_layer_norm", 60, 0.8, 0.92, 0.0205),
        ("h100", "peers_layer_norm", 45, 0.88, 0.99, 0.011),
        ("h200", "peers_layer_norm", 45, 0.9, 0.99, 0.007),
        ("h200", "layer_norm", 57, 0.83, 0.99, 0.0125),
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


def test_groups_of_blocks_are_the_fastest_for_some_long_rows():
    assert max(gains("longrows", "peers_layer_norm")) > 1.3


def test_rows_in_turn_are_the_fastest_on_a_tenth_of_random_cases():
    assert sum(gain > 1.03 for gain in gains("inturn", "model_layer_norm")) >= 6
    assert max(gains("inturn", "peers_layer_norm")) > 1.2
