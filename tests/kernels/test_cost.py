"""The cost function of softmax and log-softmax: its limits, and how near it is to the recorded times of the rule."""

import csv
import gzip
import json
from functools import cache

import numpy as np
import pytest

from kernelbench.core import places
from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernels.softmax_family.axis_candidates import axis_candidates
from kernels.softmax_family.cost import CONSTANTS, seconds
from kernels.softmax_family.quantities import axis_quantities, rows_quantities
from kernels.softmax_family.row_candidates import row_candidates
from kernels.softmax_family.row_choices import Held
from tests.catalog import catalog

CATALOG = catalog()
H200 = KNOWN["h200"]
KNOWN_CONSTANTS = {name: one.value for name, one in CONSTANTS.items()}


def rows(shape, dtype="float32"):
    return rows_quantities(Case("softmax", shape, -1, dtype), H200, True)


def cost(quantities, **changes):
    return float(seconds(quantities, {**KNOWN_CONSTANTS, **changes}))


def test_there_are_few_constants_each_with_its_unit():
    assert len(CONSTANTS) <= 25
    assert all(one.unit and one.what and one.value > 0 for one in CONSTANTS.values())


def test_long_arrays_take_the_time_of_their_bytes():
    best = min(cost(each) for each in rows((131072, 4096)))
    copied = 2 * 131072 * 4096 * 4 / (H200.peak_bytes_per_s * CONSTANTS["bandwidth"].value)
    assert copied < best < 1.03 * copied


@pytest.mark.parametrize("name", [name for name in CONSTANTS if name not in ("cache",)])
def test_every_constant_counts_for_some_candidate(name):
    """More of it takes longer, but for rates and the exponent."""
    candidates = [
        *rows((131072, 1000)), *rows((33, 100_000)), *rows((64, 1_000_000), "bfloat16"), *rows((10**6, 33)),
        *rows((4096, 2500)), *axis_quantities(Case("softmax", (16, 5000, 40), 1, "float32"), H200),
    ]  # fmt: skip
    changes = [cost(each, **{name: 2 * KNOWN_CONSTANTS[name]}) / cost(each) for each in candidates]
    if name in ("bandwidth", "port", "sharpness"):
        assert min(changes) < 0.999
        assert max(changes) <= 1
    else:
        assert max(changes) > 1.001
        assert min(changes) >= 1


def test_a_second_reading_is_cheaper_from_the_cache():
    split = [each for each in rows((1, 2**20)) if each["read_again_bytes"]]
    assert split
    for each in split:
        assert cost(each) < cost({**each, "in_cache": 0.0})
        assert cost(each, cache=1.0) == cost({**each, "in_cache": 0.0})


def test_exponentials_computed_twice_cost_instructions():
    once = max(rows((131072, 1024), "bfloat16"), key=lambda each: each["elements"])
    assert cost({**once, "again": 1.0}, half=50.0) > cost({**once, "again": 0.0}, half=50.0)


def test_many_masked_packs_of_a_thread_spill_in_a_block_alone_but_not_in_a_cluster():
    """4841 floats by 13 packs of a thread take 1.6 times as long as by 3, see results/h200/model."""
    choices = row_candidates(Case("softmax", (19514, 4841), -1, "float32"), H200, True)
    found = {
        (one.blocks, one.packs): each["spilled"]
        for one, each in zip(choices, rows((19514, 4841)), strict=True) if isinstance(one, Held)
    }  # fmt: skip
    assert found[1, 3] < 1
    assert found[1, 13] > 10
    assert found[2, 5] < 1


def test_blocks_that_share_columns_exchange_more_the_more_they_are():
    """62 blocks of 64 columns are 1.4 times as fast as 184 blocks of 128."""
    case = Case("log_softmax", (2, 35294, 128), 1, "bfloat16")
    pairs = {
        (one.parts, one.width): each["pairs"] / each["blocks"]
        for one, each in zip(axis_candidates(case, H200), axis_quantities(case, H200), strict=True)
    }
    assert pairs[184, 128] > 5 * pairs[62, 64]


def test_arrays_of_candidates_cost_what_each_does_alone():
    found = rows((8192, 4096))
    stacked = {name: np.array([each[name] for each in found]) for name in found[0]}
    assert seconds(stacked, KNOWN_CONSTANTS) == pytest.approx([cost(each) for each in found])


@cache
def recorded(kernel):
    """(Case, seconds beyond an empty kernel) of all recorded cold times on an H200 of a kernel as its rule launched it:
    drawn cases were launched by the cost function."""
    found = {}
    for path in sorted((places.RECORDED / "h200").rglob("results.csv.gz")):
        if path.parent.name.startswith("draw_"):
            continue
        limits = json.loads(path.with_name("environment.json").read_text()).get("limits") or {}
        with gzip.open(path, "rt", newline="") as file:
            for row in csv.DictReader(file):
                if row["operation"] == "layer_norm":  # which has no cost function
                    continue
                if (row["implementation"], row["status"], row["cache"]) == (kernel, "ok", "cold") and row["median_s"]:
                    case = Case(
                        row["operation"], tuple(map(int, row["shape"].split("x"))), int(row["axis"]), row["dtype"]
                    )
                    floor = limits["graph_floor_s" if row["method"] == "graph" else "floor_s"]
                    found[case] = float(row["median_s"]) - floor
    return found


@pytest.mark.parametrize(("kernel", "least", "same", "near"), [
    ("one_read_rows", 120, 0.2, 0.95), ("one_read_axis", 20, 0.35, 0.8),
])  # fmt: skip
def test_the_rule_is_near_the_best_that_the_model_expects_and_takes_as_long(kernel, least, same, near):
    """The rules were tuned on these cases, so what they choose is near the best."""
    found = recorded(kernel)
    assert len(found) >= least
    shares, errors = [], []
    for case, measured in found.items():
        tunable = CATALOG.implementations[case.operation][kernel].tunable
        times = [cost(each) for each in tunable.model.quantities(case, H200)]  # the rule's choice is the first
        shares.append(times[0] / min(times))
        errors.append(abs(np.log(times[0] / measured)))
    assert np.mean(np.array(shares) == 1) >= same
    assert np.mean(np.array(shares) <= 1.03) >= near
    assert np.median(errors) < 0.02
