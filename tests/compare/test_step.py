"""The kind `step`: judged on the sums of whole steps."""

import json
from dataclasses import asdict, replace

import pytest

from kernelbench.compare import judge_claims
from kernelbench.compare.step_sums import traffic_ratio
from kernelbench.core.counters import Counters
from kernelbench.core.parts import Part
from kernelbench.explain.counted import Counted
from kernelbench.runs.results import read_run


@pytest.fixture
def judged(build, ledger):
    """Judges `dlperf` on two parts: 10 calls of a, and 1 of b, which the fused step does not have."""
    a, b = build.case(4, 8, axes={"part": "a"}), build.case(4, 8, axes={"part": "b"})

    def judged(unfused_us=30.0, fused_us=20.0, b_us=50.0, spread=0.001):
        build.claims = ["dlperf"]
        build.time(a, "slow", unfused_us, spread)
        build.time(a, "quick", fused_us, spread)
        if b_us:
            build.time(b, "slow", b_us, spread)
        else:
            build.refuse(b, "slow", "unsupported", "columns must be odd, got 8")
        build.write()
        path = build.folder / "environment.json"
        parts = Part("a", "softmax", a.key, 10, "slow", "quick"), Part("b", "softmax", b.key, 1, "slow")
        step = {"parts": [asdict(part) for part in parts], "leaves_out": "the rest"}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"step": step}))
        (found,) = judge_claims(read_run(build.folder), ledger)
        return found

    return judged


def test_the_sums_decide_and_the_published_figures_are_only_quoted(judged):
    found = judged()
    assert found.verdict == "holds"
    (case,) = found.cases
    assert case.measured == pytest.approx((10 * 30 + 50) / (10 * 20))
    assert case.published is None, "whole training steps are another quantity"
    assert found.sentence.startswith(
        "The 11 calls of 2 parts of a step take 350.0 µs unfused and 200.0 µs fused, 1.75 [1.75, 1.75] times as fast"
    )
    assert "which a sum over memory-bound operations cannot reproduce" in found.sentence


def test_a_slower_sum_does_not_hold_though_one_part_is_faster(judged):
    assert judged(unfused_us=20.0, fused_us=30.0).verdict == "does not hold"


def test_the_interval_has_every_part_at_its_end(judged):
    found = judged(unfused_us=20.0, fused_us=25.2, spread=0.2)
    assert found.verdict == "not decided"
    assert "; it is open at a step" in found.sentence


def test_without_a_part_nothing_is_judged(judged):
    found = judged(b_us=None)
    assert found.verdict == "not decided"
    assert not found.cases
    assert "without all of its parts a step has no sum: b: slow: unsupported (columns must be odd, got 8)" in (
        found.sentence
    )


def test_a_run_that_is_of_no_step_is_not_judged(build, ledger):
    build.time(build.case(4, 8), "slow", 30.0)
    (found,) = judge_claims(build.write(), {"dlperf": ledger["dlperf"]}, ["dlperf"])
    assert found.sentence == "Not decided: the run is not of a step."


def test_a_run_of_the_simulator_is_not_judged(build, ledger):
    build.simulated = True
    build.count(build.case(4, 8), "slow")
    (found,) = judge_claims(build.write(), ledger, ["dlperf"])
    assert "the simulator has no times" in found.sentence


def test_parts_are_kept_whole(build):
    part = Part("a", "softmax", "key", 1, "one", "one")
    assert part.names == ("one",)
    assert replace(part, unfused="").names == ("one",)


def test_the_estimate_by_bytes_stands_beside_the_time(judged, build):
    found = judged()
    assert "by the bytes counted" not in found.sentence, "nothing was counted"
    run = read_run(build.folder)
    (a, b), sectors = dict.fromkeys(row.case for row in run.rows), {"slow": 30, "quick": 10}
    counted = {
        case: {name: Counted(case, name, Counters(global_load_sectors=count)) for name, count in sectors.items()}
        for case in (a, b)
    }
    assert traffic_ratio(run, counted) == (10 * 30 + 30) / (10 * 10)
    assert traffic_ratio(run, {a: counted[a]}) is None, "a part is missing"
