"""Claims about an order, about a level field and about a launch, both ways, on runs with known times."""

from itertools import pairwise

import pytest

from kernelbench.compare import judge, ledger_schema
from kernelbench.core.records import Case

STEPS = ("tree_modulo", "tree_strided", "tree_sequential", "tree_two_loads", "tree_unrolled")
BOUNDS = ("paddle_occupancy", "paddle_bound_1", "paddle", "paddle_bound_4", "paddle_bound_8")


def sums(n):
    return Case("reduce_sum", (n,), -1, "float32", (("n", n),))


def verdict(build, ledger, id_):
    for row in build.rows:
        row["operation"] = ledger[id_].document["operation"]
    (answer,) = judge(build.write(), ledger, [id_])
    assert answer.sentence.endswith(".")
    return answer


@pytest.mark.parametrize(
    ("times", "spread", "outcome"),
    [
        ((56, 43, 38, 38, 28), 0.001, "holds"),
        ((56, 43, 38, 38.5, 28), 0.001, "holds"),  # 1.3 % slower counts as level
        ((56, 43, 38, 40, 28), 0.001, "does not hold"),
        ((56, 60, 61, 62, 63), 0.001, "does not hold"),
        ((56, 56, 56, 56, 56), 0.2, "not measured"),
    ],
)
def test_no_step_is_slower_than_the_one_before(build, ledger, times, spread, outcome):
    for name, time in zip(STEPS, times, strict=True):
        build.time(sums(256), name, time, spread)
    answer = verdict(build, ledger, "reduce-tree")
    assert answer.verdict == outcome
    worst = max(later / earlier for earlier, later in pairwise(times))
    assert answer.cases[0].measured == pytest.approx(worst, rel=1e-3)
    assert f"tree_strided takes {times[1] / times[0]:.3g}" in answer.cases[0].text


def test_the_sentence_says_the_worst_step_and_where_it_holds(build, ledger):
    for n, last in ((256, 30), (65536, 60)):
        for name, time in zip(STEPS, (56, 43, 38, 38, last), strict=True):
            build.time(sums(n), name, time)
    answer = verdict(build, ledger, "reduce-tree")
    assert answer.verdict == "holds in part"
    assert answer.sentence == (
        "In the order tree_modulo, tree_strided, tree_sequential, tree_two_loads, tree_unrolled, the worst step takes "
        "1.00 to 1.58 times the time of the one before on all 2 measured cases, allowed 1.02: holds at n=256; does not "
        "at n=65536."
    )


def test_a_step_that_was_not_timed_leaves_the_case_out(build, ledger):
    for name in STEPS[:-1]:
        build.time(sums(256), name, 10)
    build.refuse(sums(256), STEPS[-1], "failed", "nvcc")
    answer = verdict(build, ledger, "reduce-tree")
    assert answer.verdict == "not measured"
    assert "tree_unrolled: failed (nvcc)" in answer.sentence


def test_small_sizes_and_published_steps_of_an_order(build, ledger):
    names = ledger["bbuf-reduce-sum"].document["claim"]["order"]
    for n in (256, 33554432):
        for place, name in enumerate(names):
            build.time(sums(n), name, 1000 - place)
    answer = verdict(build, ledger, "bbuf-reduce-sum")
    assert [case.label for case in answer.cases] == ["n=33554432"]
    assert answer.cases[0].published == pytest.approx(99.71 / 101.7)
    assert "of the first launch alone" in answer.sentence


@pytest.mark.parametrize(("slowest", "outcome"), [(101, "holds"), (104.5, "holds"), (110, "does not hold")])
def test_the_slowest_is_near_the_fastest(build, ledger, slowest, outcome):
    case = Case("log_softmax", (512, 896, 4, 12), 1, "float32")
    for name in BOUNDS:
        build.time(case, name, slowest if name == "paddle_bound_1" else 100)
    answer = verdict(build, ledger, "paddle-grid-sweep")
    assert answer.verdict == outcome
    assert answer.cases[0].measured == pytest.approx(slowest / 100)
    assert answer.cases[0].published == pytest.approx(14.9447 / 14.9239)
    assert answer.cases[0].text.startswith("paddle_bound_1 takes")


def test_all_must_be_timed_to_be_level(build, ledger):
    case = Case("log_softmax", (512, 896, 4, 12), 1, "float32")
    for name in BOUNDS[1:]:
        build.time(case, name, 100)
    answer = verdict(build, ledger, "paddle-grid-sweep")
    assert answer.verdict == "not measured"
    assert "paddle_occupancy: not in this run" in answer.sentence


@pytest.mark.parametrize(
    ("launches", "outcome"),
    [
        ("log_softmax_paddle_f32<<<2, 1x4>>>", "holds"),
        ("log_softmax_paddle_f32<<<2x1x1, 1x4x1, 32>>>", "holds"),
        ("log_softmax_paddle_f32<<<2, 2x4, 32>>>", "does not hold"),
        ("log_softmax_paddle_f32<<<1x2, 1x4>>>", "does not hold"),
        ("", "not measured"),
    ],
)
def test_grid_and_block_are_compared_with_the_published_ones(build, ledger, launches, outcome):
    build.time(Case("log_softmax", (2, 3, 4), 1, "float32"), "paddle", 3)
    build.time(Case("log_softmax", (3, 7, 5), 1, "float32"), "paddle", 3)  # of which nothing was published
    build.rows[0]["launches"] = launches
    answer = verdict(build, ledger, "paddle-launch-rule")
    assert answer.verdict == outcome
    if launches:
        assert len(answer.cases) == 1
        assert "published grid (2, 1), block (1, 4)" in answer.sentence


@pytest.mark.parametrize(
    "launches",
    [[], "2x1", [{"shape": [2]}], [{"shape": [2], "axis": 0, "grid": "2", "block": [1]}],
     [{"shape": [2], "axis": "0", "grid": [2], "block": [1]}]],
)  # fmt: skip
def test_launches_of_an_entry_are_checked(ledger, launches):
    claim = {**ledger["paddle-launch-rule"].document["claim"], "launches": launches}
    document = {**ledger["paddle-launch-rule"].document, "claim": claim}
    (problem,) = ledger_schema.problems(document, "paddle-launch-rule")
    assert problem.startswith("claim.launches: expected a list of mappings of shape, axis, grid and block")


def test_a_launch_can_be_judged_without_times(build, ledger):
    build.refuse(Case("log_softmax", (2, 3, 4), 1, "float32"), "paddle", "ok", "")
    build.rows[0]["launches"] = "log_softmax_paddle_f32<<<2, 1x4>>>"
    assert verdict(build, ledger, "paddle-launch-rule").verdict == "holds"
