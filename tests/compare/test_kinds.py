"""Each kind of claim, both ways: direction and size, on runs with known times."""

from math import inf

import pytest

from kernelbench.core.records import Case
from tests.compare.conftest import claim_of, judged

SIZE = {"factor": 2, "stated": "twice as fast"}
WITHIN = {"within": 0.05, "set": "nobody would tune for less"}
SURE, UNSURE = 0.001, 0.2  # spread of the samples


def timed(build, times, spread=SURE, case=None):
    """Each implementation's time in us on one case."""
    for name, time in times.items():
        build.time(case or build.case(4096, 2048), name, time, spread)


# ---- faster --------------------------------------------------------------------------------------

FASTER = {"kind": "faster", "faster": "new", "slower": "old"}


@pytest.mark.parametrize(
    ("old", "spread", "size", "outcome", "parts"),
    [
        (300, SURE, None, "holds", ("yes", None)),
        (90, SURE, None, "does not hold", ("no", None)),
        (100, SURE, None, "does not hold", ("no", None)),
        (101, UNSURE, None, "not decided", ("open", None)),
        (200, SURE, SIZE, "holds", ("yes", "yes")),
        (161, SURE, SIZE, "holds", ("yes", "yes")),  # 1.6 to 2.5 is 2, give or take a factor of 1.25
        (159, SURE, SIZE, "direction only", ("yes", "no")),
        (249, SURE, SIZE, "holds", ("yes", "yes")),
        (252, SURE, SIZE, "direction only", ("yes", "no")),
        (250, UNSURE, SIZE, "direction only", ("yes", "open")),
        (90, SURE, SIZE, "does not hold", ("no", "no")),
        (220, SURE, {**SIZE, "tolerance": 1.05, "tolerance_set": "x"}, "direction only", ("yes", "no")),
        (130, SURE, {**SIZE, "factor": [1.4, 2.7]}, "holds", ("yes", "yes")),
        (350, SURE, {**SIZE, "factor": [1.4, 2.7]}, "direction only", ("yes", "no")),
    ],
)
def test_faster_and_by_how_much(build, old, spread, size, outcome, parts):
    timed(build, {"new": 100, "old": old}, spread)
    answer = judged(build, claim_of(**FASTER, size=size))
    assert answer.verdict == outcome
    assert tuple(part and part.answer for part in (answer.direction, answer.size)) == parts
    assert answer.cases[0].measured == pytest.approx(old / 100)


def test_what_was_required_and_who_asked_stand_beside_it(build):
    timed(build, {"new": 100, "old": 300})
    answer = judged(build, claim_of(**FASTER, size=SIZE, labels={"new": "the new one"}))
    assert answer.direction.required == "the new one is faster than old"
    assert (answer.direction.by, answer.direction.words) == ("stated", "it is")
    assert answer.size.required == "2 times (1.60 to 2.50)"
    assert (answer.size.by, answer.size.words) == ("stated", "twice as fast")
    assert answer.cases[0].required == pytest.approx((1.6, 2.5))
    said = "the new one is 3.00 times as fast as old on the only case; stated: 2 times (1.60 to 2.50)."
    assert answer.sentence == said


def test_a_size_by_the_figures_is_asked_of_the_cases_that_have_one(build):
    figure = {"shape": [4096, 2048], "axis": -1, "dtype": "float32", "us": {"new": 10, "old": 40}}
    claim = claim_of(**FASTER, size={"factor": "figures", "stated": "10, 40"}, figures=[figure])
    timed(build, {"new": 100, "old": 380})
    timed(build, {"new": 100, "old": 110}, case=build.case(8, 2048))
    answer = judged(build, claim)
    assert answer.verdict == "holds"
    assert [case.required for case in answer.cases] == [pytest.approx((3.2, 5.0)), None]
    assert "(published 4.00 at 1 of them, on V100)" in answer.sentence
    assert [answer.met(case) for case in answer.cases] == [True, True]


@pytest.mark.parametrize(
    ("second", "outcome", "said"),
    [
        (90, "holds in part", "; the direction holds at seq=16, but not at seq=32; the size"),
        (300, "holds in part", "; the size holds at seq=16, but not at seq=32."),
        (190, "holds", "on both cases; stated: 2 times (1.60 to 2.50)."),
    ],
)
def test_the_sentence_names_the_cases_on_each_side(build, second, outcome, said):
    for seq, old in ((16, 200), (32, second)):
        timed(build, {"new": 100, "old": old}, case=build.case(4, 8, seq, seq, axes={"seq": seq}))
    answer = judged(build, claim_of(**FASTER, size=SIZE))
    assert answer.verdict == outcome
    assert said in answer.sentence


def test_what_is_said_of_some_cases_needs_one(build):
    for seq, old in ((16, 90), (32, 200)):
        timed(build, {"new": 100, "old": old}, case=build.case(4, 8, seq, seq, axes={"seq": seq}))
    some = judged(build, claim_of(**FASTER, some=True))
    assert (some.verdict, judged(build, claim_of(**FASTER)).verdict) == ("holds", "holds in part")
    assert some.direction.required.endswith(" on some case")
    assert some.sentence.endswith("; it holds at seq=32, but not at seq=16.")
    assert judged(build, claim_of(**{**FASTER, "faster": "old", "slower": "new"}, some=True)).verdict == "holds"


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ({"float32": (90, 90), "float16": (200, 200)}, "it holds at float16, but not at float32."),
        ({"float32": (90, 200), "float16": (90, 200)}, "it holds at seq=32, but not at seq=16."),
        ({"float32": (90, 90), "float16": (90, 200)}, "it holds at seq=32 float16, but not at seq=16 float32, "),
    ],
)
def test_sides_are_named_as_shortly_as_they_differ(build, old, said):
    for dtype, times in old.items():
        for seq, time in zip((16, 32), times, strict=True):
            case = build.case(4, 8, seq, seq, axes={"seq": seq}, dtype=dtype)
            timed(build, {"new": 100, "old": time}, case=case)
    assert said in judged(build, claim_of(**FASTER)).sentence


def test_a_case_near_the_floor_does_not_count_and_is_named(build):
    build.floor_s = 2e-6
    timed(build, {"new": 5.9, "old": 1}, case=build.case(1, 8, axes={"n": 8}))
    timed(build, {"new": 100, "old": 200}, case=build.case(1, 800, axes={"n": 800}))
    answer = judged(build, claim_of(**FASTER))
    assert answer.verdict == "holds"
    assert [case.counts for case in answer.cases] == [False, True]
    assert answer.sentence == "new is 2.00 times as fast as old on 1 of 2 cases; 1 case too short to count."


def test_a_case_is_too_short_by_the_method_of_its_ratio(build):
    build.floor_s = 2e-6
    case = build.case(1, 8, axes={"n": 8})
    build.time(case, "old", 390, method="events")
    build.time(case, "new", 5.9, method="events")
    build.time(case, "new", 60)  # by graph, which the other side has not
    assert judged(build, claim_of(**FASTER)).verdict == "not decided"


def test_a_case_is_too_short_where_one_of_its_ratios_is(build):
    build.floor_s = 2e-6
    case = build.case(1, 8, axes={"n": 8})
    for name in ("a", "b"):
        build.time(case, name, 5.9)
        build.time(case, name, 9, method="events")
    build.time(case, "c", 30, method="events")
    assert judged(build, claim_of("level", names=["a", "b", "c"], direction=None, size=WITHIN)).verdict == "not decided"


def test_a_slow_side_near_nothing_but_a_fast_side_near_the_floor_does_not_count(build):
    build.floor_s = 2e-6
    timed(build, {"new": 5, "old": 100})
    assert judged(build, claim_of(**FASTER)).verdict == "not decided"


# ---- Kinds that compare times --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suspect", "spread", "outcome"),
    [(150, SURE, "holds"), (99, SURE, "holds"), (80, SURE, "does not hold"), (98, UNSURE, "not decided")],
)
def test_not_faster_allows_level(build, suspect, spread, outcome):
    timed(build, {"suspect": suspect, "than": 100}, spread)
    assert judged(build, claim_of("not_faster", suspect="suspect", than="than")).verdict == outcome


ORDER = {"kind": "order", "order": ["first", "second", "third"]}


@pytest.mark.parametrize(
    ("times", "spread", "size", "outcome"),
    [
        ((60, 40, 20), SURE, None, "holds"),
        ((60, 40, 40.5), SURE, None, "holds"),  # 1.3 % slower counts as level
        ((60, 40, 42), SURE, None, "does not hold"),
        ((60, 60, 60), UNSURE, None, "not decided"),
        ((60, 40, 20), SURE, {**SIZE, "factor": 3}, "holds"),
        ((60, 40, 20), SURE, {**SIZE, "factor": 6}, "direction only"),
    ],
)
def test_no_step_of_an_order_is_slower_than_the_one_before(build, times, spread, size, outcome):
    timed(build, dict(zip(ORDER["order"], times, strict=True)), spread)
    answer = judged(build, claim_of(**ORDER, size=size))
    assert answer.verdict == outcome
    assert answer.cases[0].measured == pytest.approx(times[0] / times[2])
    assert f"third takes {times[2] / times[1]:.3g}" in answer.cases[0].text


def test_a_step_that_was_not_timed_leaves_the_case_out(build):
    timed(build, {"first": 3, "second": 2})
    build.refuse(build.case(4096, 2048), "third", "failed", "nvcc")
    assert judged(build, claim_of(**ORDER)).sentence == "Not decided: third: failed (nvcc)."


NEAR_BEST = {"kind": "near_best", "dispatched": "chosen", "alternatives": ["a", "b"], "direction": None, "size": WITHIN}


@pytest.mark.parametrize(
    ("chosen", "spread", "outcome"),
    [(100, SURE, "holds"), (104, SURE, "holds"), (130, SURE, "does not hold"), (105, UNSURE, "not decided")],
)
def test_near_best_compares_with_the_best_alternative(build, chosen, spread, outcome):
    timed(build, {"chosen": chosen, "a": 300, "b": 100}, spread)
    answer = judged(build, claim_of(**NEAR_BEST))
    assert answer.verdict == outcome
    assert answer.direction is None
    assert answer.cases[0].measured == pytest.approx(chosen / 100)
    assert "the time of b, the best of 2" in answer.cases[0].text


def test_where_one_alternative_can_run_nothing_is_chosen(build):
    timed(build, {"chosen": 100, "a": 100})
    build.refuse(build.case(4096, 2048), "b", "unsupported", "a row must fit 48 KB")
    answer = judged(build, claim_of(**NEAR_BEST))
    assert answer.verdict == "not decided"
    assert "a is the only one that can run, so nothing is chosen" in answer.sentence


@pytest.mark.parametrize("status", ["failed", "wrong", "skipped", ""])
def test_the_best_is_not_known_where_an_alternative_could_have_run(build, status):
    timed(build, {"chosen": 100, "a": 100})
    if status:
        build.refuse(build.case(4096, 2048), "b", status, "why")
    answer = judged(build, claim_of(**NEAR_BEST))
    assert answer.sentence == f"Not decided: b: {f'{status} (why)' if status else 'not in this run'}."


@pytest.mark.parametrize(("columns", "outcome"), [(1024, "does not hold"), (1025, "holds")])
def test_up_to_so_many_columns_another_one_is_chosen(build, columns, outcome):
    timed(build, {"a": 300, "b": 100}, case=build.case(4, columns))
    claim = claim_of(**{**NEAR_BEST, "dispatched": "b", "up_to": {1024: "a"}})
    assert judged(build, claim).verdict == outcome


@pytest.mark.parametrize(
    ("thrice", "spread", "outcome"), [(199, SURE, "holds"), (210, SURE, "does not hold"), (200, UNSURE, "not decided")]
)
def test_three_reads_keep_more_than_a_share_of_the_bandwidth(build, thrice, spread, outcome):
    timed(build, {"thrice": thrice, "once": 100}, spread)
    names = {"reads_thrice": "thrice", "reads_once": "once", "direction": None}
    answer = judged(build, claim_of("bandwidth_share", **names, size={"share": 0.5, "stated": "half"}))
    assert answer.verdict == outcome
    assert answer.cases[0].required == (0.5, inf)


@pytest.mark.parametrize(("slowest", "outcome"), [(104.5, "holds"), (110, "does not hold")])
def test_level_is_the_slowest_near_the_fastest(build, slowest, outcome):
    timed(build, {"a": 100, "b": slowest, "c": 101})
    answer = judged(build, claim_of("level", names=["a", "b", "c"], direction=None, size=WITHIN))
    assert answer.verdict == outcome
    assert answer.cases[0].text.startswith("b takes")


def test_all_must_be_timed_to_be_level(build):
    timed(build, {"a": 100, "b": 100})
    answer = judged(build, claim_of("level", names=["a", "b", "c"], direction=None, size=WITHIN))
    assert answer.sentence == "Not decided: c: not in this run."


PROPORTION = {
    **{"kind": "proportion", "unfused": "five", "fused": "one", "size": {"within": 0.15, "set": "as they are made"}},
    **{"published_unfused": [7, 4], "counted_unfused": [8, 4], "counted_fused": [2, 0]},
}


@pytest.mark.parametrize(
    ("unfused", "outcome"),
    [(350, "holds"), (400, "holds"), (250, "direction only"), (600, "direction only"), (90, "does not hold")],
)
def test_proportion_to_traffic_on_cases_that_no_cache_holds(build, published_case, unfused, outcome):
    timed(build, {"five": 900, "one": 100}, case=published_case(16))
    timed(build, {"five": unfused, "one": 100}, case=published_case(512))
    answer = judged(build, claim_of(**PROPORTION))
    assert answer.verdict == outcome
    assert [case.label for case in answer.cases] == ["seq=512"]
    assert answer.cases[0].published == pytest.approx((7 * 512 + 4) / (2 * 512))
    assert "; its launches move 4.00 times as much (3.50 times as published)" in answer.sentence


def test_proportion_needs_large_cases_and_the_size_of_the_cache(build, published_case):
    timed(build, {"five": 400, "one": 100}, case=published_case(16))
    said = "Not decided: no case moves more than 240 MB, 4 times the L2, so caches decide."
    assert judged(build, claim_of(**PROPORTION)).sentence == said
    build.l2_bytes = 0
    assert "size of the L2" in judged(build, claim_of(**PROPORTION)).sentence


@pytest.mark.parametrize(
    ("shares", "outcome"),
    [
        ({"copy": 0.99, "other": 1.01}, "holds"),
        ({"copy": 0.99, "other": 1.05}, "does not hold"),  # more than can be
        ({"copy": 0.90, "other": 0.9}, "does not hold"),  # the yardstick is no yardstick
    ],
)
def test_nobody_is_above_the_ceiling_and_the_copy_is_near_it(build, shares, outcome):
    for name, share in shares.items():
        timed(build, {name: 500}, case=build.case(2**28))
        build.rows[-1]["share_of_ceiling"] = share
    answer = judged(build, claim_of("under_ceiling", yardstick="copy", direction=None, size=WITHIN))
    assert answer.verdict == outcome
    assert f"no kernel more than {100 * max(shares.values()):.0f} %" in answer.sentence


# ---- Curves --------------------------------------------------------------------------------------

CURVE = {
    **{"kind": "curve", "of": "copy", "along": "warps", "base": 64, "trend": "rises"},
    "size": {"bands": {10: [0.9, 1.02], 4: [0, 0.75]}, "set": "the knee"},
}


def point(warps, n=1000):
    return Case("softmax", (n,), -1, "float32", (("n", n),), (("warps", warps),))


@pytest.mark.parametrize(
    ("times", "spread", "outcome"),
    [
        ({4: 200, 10: 105, 64: 100}, SURE, "holds"),
        ({4: 200, 10: 105, 32: 99, 64: 100}, SURE, "holds"),  # 1 % faster than at 64 counts as level
        ({4: 200, 10: 120, 64: 100}, SURE, "direction only"),  # not there yet at 10
        ({4: 120, 10: 105, 64: 100}, SURE, "direction only"),  # there before
        ({4: 200, 10: 105, 32: 130, 64: 100}, SURE, "does not hold"),  # falls in between
        ({4: 200, 10: 105, 64: 100}, UNSURE, "not decided"),
    ],
)
def test_bands_and_trend_of_a_curve(build, times, spread, outcome):
    for warps, time in times.items():
        build.time(point(warps), "copy", time, spread)
    answer = judged(build, claim_of(**CURVE))
    assert answer.verdict == outcome
    assert answer.size is None or answer.size.required == "0.900 to 1.02 at warps 10; 0 to 0.750 at warps 4"


def test_a_curve_without_a_trend_asks_for_a_size_alone(build):
    for warps, time in {4: 200, 10: 105, 32: 130, 64: 100}.items():
        build.time(point(warps), "copy", time)
    answer = judged(build, claim_of(**{**CURVE, "trend": "any", "direction": None}))
    assert (answer.verdict, answer.direction) == ("holds", None)


def test_each_size_is_a_curve_of_its_own(build):
    for n, at_10 in ((1000, 105), (2000, 200)):
        for warps, time in {4: 300, 10: at_10, 64: 100}.items():
            build.time(point(warps, n), "copy", time)
    answer = judged(build, claim_of(**CURVE))
    assert answer.verdict == "holds in part"
    assert [(case.label, case.size) for case in answer.cases] == [
        ("n=1000 dtype=float32", True),
        ("n=2000 dtype=float32", False),
    ]


def test_a_falling_curve(build):
    claim = claim_of(**{**CURVE, "base": 1, "trend": "falls", "size": {"bands": {2: [0, 0.9]}, "set": "x"}})
    for stride, time in {1: 100, 2: 150, 8: 300, 32: 300}.items():
        build.time(point(stride), "copy", time)
    assert judged(build, claim).verdict == "holds"
    build.time(point(16), "copy", 200)
    assert judged(build, claim).verdict == "does not hold"


def test_a_curve_with_a_point_near_the_floor_does_not_count(build):
    build.floor_s = 20e-6
    for warps, time in {4: 200, 10: 105, 64: 100}.items():
        build.time(point(warps), "copy", time)
    assert judged(build, claim_of(**CURVE)).verdict == "holds"
    build.floor_s = 40e-6
    build.time(point(32), "copy", 101)
    assert judged(build, claim_of(**CURVE)).verdict == "not decided"


def test_the_slowest_and_the_fastest_of_a_level_are_so_by_one_method(build):
    case = build.case(1, 8, axes={"n": 8})
    for name, time in {"a": 130, "b": 108, "c": 110}.items():
        build.time(case, name, time, method="events")
    for name in ("a", "b"):
        build.time(case, name, 100)  # by graph, which the third has not
    answer = judged(build, claim_of("level", names=["a", "b", "c"], direction=None, size=WITHIN))
    assert answer.cases[0].measured == pytest.approx(130 / 108, rel=1e-3)


def test_a_curve_is_of_one_method_although_some_points_have_a_better_one(build):
    for warps, time in {4: 200, 10: 105, 64: 100}.items():
        build.time(point(warps), "copy", time, method="events")
    build.time(point(64), "copy", 90)  # by graph
    (case,) = judged(build, claim_of(**CURVE)).cases
    assert case.measured == pytest.approx(100 / 105, rel=1e-3)


def test_a_point_that_the_claim_does_not_ask_for_takes_no_other_away(build):
    for warps, time in {4: 200, 10: 105, 64: 100}.items():
        build.time(point(warps), "copy", time)
    build.time(point(32), "copy", 99, method="events")
    assert judged(build, claim_of(**CURVE)).verdict == "holds"
    build.time(point(64), "copy", 100, method="events")
    build.rows = [row for row in build.rows if (row["case"], row["method"]) != (point(64).key, "graph")]
    build.samples = [one for one in build.samples if one[0] != point(64).key or one[2] == "events"]
    assert "copy: not timed by one method at warps 64, 10, 4" in judged(build, claim_of(**CURVE)).sentence


def test_points_that_are_missing_are_named(build):
    for warps in (4, 64):
        build.time(point(warps), "copy", 100)
    assert "no case with warps 10" in judged(build, claim_of(**CURVE)).sentence
    build.refuse(point(10), "copy", "failed", "no such luck")
    assert judged(build, claim_of(**CURVE)).sentence == "Not decided: copy: failed (no such luck)."


# ---- Kinds that need no times --------------------------------------------------------------------

SPECIMEN = {"kind": "specimen", "specimens": ["bad"], "correct": "good"}


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize(
    ("bad", "good", "outcome"),
    [("wrong", "ok", "holds"), ("ok", "ok", "does not hold"), ("wrong", "wrong", "does not hold")],
)
def test_a_specimen_is_wrong_and_the_correct_one_right(build, simulated, bad, good, outcome):
    build.simulated = simulated
    for name, status in (("bad", bad), ("good", good)):
        build.refuse(build.case(4, 8), name, status, "", role="kernel")
    assert judged(build, claim_of(**SPECIMEN)).verdict == outcome


@pytest.mark.parametrize("missing", ["bad", "good"])
def test_a_specimen_needs_both_sides(build, missing):
    build.refuse(build.case(4, 8), {"bad": "good", "good": "bad"}[missing], "wrong", "")
    build.refuse(build.case(4, 8), missing, "failed", "nvcc")
    answer = judged(build, claim_of(**SPECIMEN))
    assert answer.verdict == "not decided"
    assert f"{missing}: failed (nvcc)" in answer.sentence


@pytest.mark.parametrize(("fused", "outcome"), [(50, "holds"), (120, "does not hold")])
def test_the_correct_one_may_have_to_be_slower_than_another(build, fused, outcome):
    build.refuse(build.case(4096, 2048), "bad", "wrong", "")
    timed(build, {"good": 100, "fused": fused})
    answer = judged(build, claim_of(**SPECIMEN, slower_than="fused"))
    assert answer.verdict == outcome
    assert answer.direction.required == "bad is wrong; good is right, and slower than fused"


def test_a_run_without_times_does_not_say_which_is_slower(build):
    build.simulated = True
    for name, status in (("bad", "wrong"), ("good", "ok"), ("fused", "ok")):
        build.refuse(build.case(4096, 2048), name, status, "")
    answer = judged(build, claim_of(**SPECIMEN, slower_than="fused"))
    assert answer.sentence == "Not decided: whether good is slower than fused takes times, and this run has none."
    assert judged(build, claim_of(**SPECIMEN)).verdict == "holds"


def test_where_times_play_a_part_a_case_near_the_floor_does_not_count(build):
    build.floor_s = 20e-6
    for n, good, fused in ((8, 100, 59), (800, 200, 100)):
        build.refuse(build.case(1, n, axes={"n": n}), "bad", "wrong", "")
        timed(build, {"good": good, "fused": fused}, case=build.case(1, n, axes={"n": n}))
    answer = judged(build, claim_of(**SPECIMEN, slower_than="fused"))
    assert [case.counts for case in answer.cases] == [False, True]
    assert "takes 2.00 times the time of fused; 1 case too short to count." in answer.sentence
    assert judged(build, claim_of(**SPECIMEN)).cases[0].counts


LAUNCHES = [{"shape": [2, 3, 4], "axis": 1, "grid": [2, 1], "block": [1, 4]}]


@pytest.mark.parametrize(
    ("launches", "outcome"),
    [
        ("f32<<<2, 1x4>>>", "holds"),
        ("f32<<<2x1x1, 1x4x1, 32>>>", "holds"),
        ("f32<<<2, 2x4, 32>>>", "does not hold"),
        ("f32<<<1x2, 1x4>>>", "does not hold"),
        ("", "not decided"),
    ],
)
def test_grid_and_block_are_compared_with_the_published_ones(build, launches, outcome):
    for shape in ((2, 3, 4), (3, 7, 5)):  # of the second nothing was published
        build.refuse(Case("softmax", shape, 1, "float32"), "kernel", "ok", "")
    build.rows[0]["launches"] = launches
    size = {"launches": LAUNCHES, "stated": "grid (2, 1), block (1, 4)"}
    answer = judged(build, claim_of("launch", of="kernel", direction=None, size=size))
    assert answer.verdict == outcome
    assert len(answer.cases) == 1
    if launches:
        assert answer.size.required == "grid (2, 1) and block (1, 4) for shape (2, 3, 4) along axis 1"


@pytest.mark.parametrize(
    ("registers", "outcome"), [((30, 32, 32), "holds"), ((30, 32, 30), "does not hold"), ((30, None, 34), None)]
)
def test_all_others_need_more_registers_than_the_first(build, registers, outcome):
    names = ("by_4", "by_8", "by_16")
    for name, count in zip(names, registers, strict=True):
        build.refuse(build.case(4, 8), name, "ok", "")
        build.rows[-1]["registers"] = count
    answer = judged(build, claim_of("more_registers", order=list(names)))
    assert answer.verdict == (outcome or "not decided")
    assert outcome is None or "by_4 30 registers, by_8 32 registers" in answer.sentence
