"""Claims about a curve along a parameter, both ways, on runs with known times; statements about single points of it."""

import pytest

from kernelbench.compare import judge, ledger_schema
from kernelbench.core.counters import Counters
from kernelbench.core.records import Case
from kernelbench.explain import evidence
from kernelbench.explain.counted import Counted


def point(warps, chain=0, n=1000):
    return Case("latency_hiding", (n,), -1, "float32", (("n", n),), (("warps", warps), ("chain", chain)))


def verdict(build, ledger, id_):
    for row in build.rows:
        row["operation"] = ledger[id_].document["operation"]
    (answer,) = judge(build.write(), ledger, [id_])
    assert answer.sentence.endswith(".")
    return answer


# Of bytes_4: at most 0.75 of the bandwidth of 64 warps at 4, at least 0.9 at 10, nowhere falling by more than 2 %.
@pytest.mark.parametrize(
    ("times", "spread", "outcome"),
    [
        ({4: 200, 10: 105, 32: 100, 64: 100}, 0.001, "holds"),
        ({4: 200, 10: 105, 32: 99, 64: 100}, 0.001, "holds"),  # 1 % faster than at 64 counts as level
        ({4: 200, 10: 120, 32: 100, 64: 100}, 0.001, "does not hold"),  # not there yet at 10
        ({4: 120, 10: 105, 32: 100, 64: 100}, 0.001, "does not hold"),  # there before
        ({4: 200, 10: 105, 32: 130, 64: 100}, 0.001, "does not hold"),  # falls in between
        ({4: 200, 10: 111.1, 32: 100, 64: 100}, 0.05, "not measured"),  # cannot be told
    ],
)
def test_bands_and_trend_of_a_curve(build, ledger, times, spread, outcome):
    for warps, time in times.items():
        build.time(point(warps), "bytes_4", time, spread)
    answer = verdict(build, ledger, "latency-hiding")
    assert answer.verdict == outcome
    assert answer.cases[0].measured == pytest.approx(100 / times[10], rel=1e-3)


def test_the_sentence_names_point_base_and_bands(build, ledger):
    for warps, time in {64: 100, 10: 125, 4: 200}.items():
        build.time(point(warps), "bytes_4", time)
    answer = verdict(build, ledger, "latency-hiding")
    assert answer.sentence == (
        "The bandwidth of a copy by 4 bytes a thread at warps 10 is 0.800 times that at 64 on the one measured case, "
        "stated 0.900 to 1.02, at 4 0 to 0.750, rising with warps."
    )
    assert answer.cases[0].label == "n=1000 dtype=float32 chain=0"
    assert answer.cases[0].text.startswith("warps 4: 0.500 [0.500, 0.500], 10: 0.800")


def test_each_size_is_a_curve_and_other_parameters_are_left_out(build, ledger):
    for n, at_10 in ((1000, 105), (2000, 200)):
        for warps, time in {4: 300, 10: at_10, 64: 100}.items():
            build.time(point(warps, n=n), "bytes_4", time)
            build.time(point(warps, chain=1024, n=n), "bytes_4", 1)
    answer = verdict(build, ledger, "latency-hiding")
    assert answer.verdict == "holds in part"
    assert [(case.label, case.holds) for case in answer.cases] == [
        ("n=1000 dtype=float32 chain=0", True),
        ("n=2000 dtype=float32 chain=0", False),
    ]


def test_a_falling_curve(build, ledger):
    def strided(stride):
        words = (("side", "load"), ("offset", 0), ("stride", stride))
        return Case("memory_access", (1000,), -1, "float32", (), words)

    for stride, time in {1: 100, 2: 150, 8: 300, 32: 300}.items():
        build.time(strided(stride), "strided", time)
    assert verdict(build, ledger, "access-stride").verdict == "holds"
    build.time(strided(16), "strided", 200)
    assert verdict(build, ledger, "access-stride").verdict == "does not hold"


def test_points_that_are_missing_are_named(build, ledger):
    for warps in (4, 64):
        build.time(point(warps), "bytes_4", 100)
    assert "no case with warps 10" in verdict(build, ledger, "latency-hiding").sentence
    build.refuse(point(10), "bytes_4", "failed", "no such luck")
    answer = verdict(build, ledger, "latency-hiding")
    assert answer.verdict == "not measured"
    assert "bytes_4: failed (no such luck)" in answer.sentence


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("bands", {}, "expected a mapping of whole numbers to [low, high]"),
        ("bands", {10: [1.0, 0.9]}, "expected a mapping of whole numbers to [low, high]"),
        ("bands", {"ten": [0, 1]}, "expected a mapping of whole numbers to [low, high]"),
        ("base", -1, "expected a whole number"),
        ("trend", "fall", "did you mean 'falls'?"),
    ],
)
def test_parameters_of_a_curve_are_checked(ledger, key, value, words):
    document = {**ledger["latency-hiding"].document}
    document["claim"] = {**document["claim"], key: value}
    (problem,) = ledger_schema.problems(document, "latency-hiding")
    assert problem.startswith(f"claim.{key}: ")
    assert words in problem


@pytest.mark.parametrize(("offset", "stride", "seen"), [(1, 1, [1]), (0, 1, [0]), (8, 1, [2]), (1, 2, []), (2, 1, [])])
def test_a_statement_is_about_its_point_of_the_curve(ledger, offset, stride, seen):
    key = f"n=64 shape=64 axis=-1 dtype=float32 side=load offset={offset} stride={stride}"
    counters = Counters(global_load_requests=2, global_load_sectors=10, warp_instructions=1)
    counted = {"strided": Counted(key, "strided", counters)}
    said = [evidence.decide(one, counted) for one in evidence.statements(ledger["access-offset"])]
    assert [place for place, one in enumerate(said) if one.decision != "not visible here"] == seen
    assert [one.decision for one in said if one.decision != "not visible here"] == [
        "confirmed" if offset == 1 else "contradicted" for _ in seen
    ]
