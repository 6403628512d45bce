"""Every kind of claim, both ways, on runs with known times."""

import json

import pytest

from kernelbench.compare import compare_within, judge, write_comparison
from kernelbench.core.errors import InputError

PUBLISHED_SIZES = (16, 32, 64, 128, 512)


def verdict(build, ledger, id_):
    (answer,) = judge(build.write(), ledger, [id_])
    assert answer.id == id_
    assert answer.sentence.endswith(".")
    assert "\n" not in answer.sentence
    return answer


def test_faster_holds_with_measured_and_published_ratios(build, ledger, published_case):
    for seq, ratio in zip(PUBLISHED_SIZES, (1.9, 2.1, 2.2, 2.5, 2.7), strict=True):
        build.time(published_case(seq), "ft", 100 * ratio)
        build.time(published_case(seq), "oneflow", 100)
    answer = verdict(build, ledger, "softmax-ft-oneflow")
    assert answer.verdict == "holds"
    assert answer.sentence == (
        "OneFlow is 1.90 to 2.70 times as fast as FasterTransformer on all 5 measured cases (published 1.96 to 2.74 "
        "at 5 of them, A100 PCIe 40 GB; the published FasterTransformer kernel never read its input)."
    )
    assert [case.label for case in answer.cases] == [f"seq={seq}" for seq in PUBLISHED_SIZES]
    assert answer.cases[0].published == pytest.approx(26.43 / 9.66)
    assert answer.cases[0].holds is True


@pytest.mark.parametrize(
    ("ft", "spread", "outcome", "words"),
    [
        ((200, 90), 0.001, "holds in part", "holds at seq=16; does not at seq=32"),
        ((80, 90), 0.001, "does not hold", "0.800 to 0.900 times as fast"),
        ((100, 100), 0.001, "does not hold", "1.00 times as fast"),
        ((200, 101), 0.2, "holds in part", "holds at seq=16; unsure at seq=32"),
        ((101, 101), 0.2, "not measured", "unsure at seq=16, seq=32"),
    ],
)
def test_faster_otherwise(build, ledger, published_case, ft, spread, outcome, words):
    for seq, median in zip((16, 32), ft, strict=True):
        build.time(published_case(seq), "ft", median, spread)
        build.time(published_case(seq), "oneflow", 100, spread)
    answer = verdict(build, ledger, "softmax-ft-oneflow")
    assert answer.verdict == outcome
    assert words in answer.sentence


def test_cases_missing_on_one_side_are_named_and_do_not_count(build, ledger, published_case):
    build.time(published_case(16), "ft", 200)
    build.time(published_case(16), "oneflow", 100)
    build.time(published_case(2048), "oneflow", 100)
    build.refuse(published_case(2048), "ft", "unsupported", "columns must be at most 1024, got 2048")
    answer = verdict(build, ledger, "softmax-ft-oneflow")
    assert answer.verdict == "holds"
    missing = answer.cases[1]
    assert (missing.measured, missing.holds) == (None, None)
    assert missing.text == "ft: unsupported (columns must be at most 1024, got 2048)"


def test_other_dtypes_and_warm_times_are_not_judged(build, ledger, published_case):
    build.time(published_case(16), "ft", 200, cache="warm")
    build.time(published_case(16), "oneflow", 100, cache="warm")
    half = build.case(32, 64, 16, 16, dtype="float16")
    build.time(half, "ft", 200)
    build.time(half, "oneflow", 100)
    answer = verdict(build, ledger, "softmax-ft-oneflow")
    assert answer.verdict == "not measured"
    assert answer.sentence == "Not measured: oneflow: not timed with a cold cache; ft: not timed with a cold cache."


def test_run_of_other_kernels_says_that_they_are_not_in_it(build, ledger, published_case):
    build.time(published_case(16), "naive", 200)
    answer = verdict(build, ledger, "softmax-ft-oneflow")
    assert answer.verdict == "not measured"
    assert "not in this run" in answer.sentence


def test_run_without_a_case_of_the_claim_says_so(build, ledger):
    build.time(build.case(32, 64, 16, 16, dtype="float16"), "ft", 200)
    assert verdict(build, ledger, "softmax-ft-oneflow").sentence == (
        "Not measured: the run has no case that this claim is about."
    )
    assert verdict(build, ledger, "softmax-four-kernels").verdict == "not measured"


@pytest.mark.parametrize(
    ("dispatched", "spread", "outcome"),
    [(100, 0.001, "holds"), (104, 0.001, "holds"), (130, 0.001, "does not hold"), (105, 0.2, "not measured")],
)
def test_near_best_compares_with_the_best_alternative(build, ledger, dispatched, spread, outcome):
    case = build.case(2, 12, 128, 128)
    build.time(case, "ft", dispatched, spread)
    build.time(case, "ft_v1", 300, spread)
    build.time(case, "ft_v2", 100, spread)
    answer = verdict(build, ledger, "ft-dispatch")
    assert answer.verdict == outcome
    assert answer.cases[0].measured == pytest.approx(dispatched / 100)
    assert "the best of 2" in answer.cases[0].text
    assert "ft_v2" in answer.cases[0].text


def test_near_best_uses_the_alternatives_that_can_run(build, ledger):
    case = build.case(4096, 32768)
    build.time(case, "oneflow", 100)
    build.time(case, "oneflow_uncached", 100)
    build.refuse(case, "oneflow_warp", "unsupported", "columns must be at most 1024, got 32768")
    build.refuse(case, "oneflow_shared", "unsupported", "a row must fit 48 KB")
    answer = verdict(build, ledger, "oneflow-regimes")
    assert answer.verdict == "holds"
    assert "the best of 1" in answer.cases[0].text


def test_near_best_in_part_says_where(build, ledger):
    for columns, dispatched in ((1024, 100), (2048, 150)):
        case = build.case(4096, columns, axes={"columns": columns})
        build.time(case, "oneflow_shared", dispatched)
        for size in (128, 256, 512, 1024):
            build.time(case, f"oneflow_shared_{size}", 100 + size / 1024)
    answer = verdict(build, ledger, "block-size-occupancy")
    assert answer.verdict == "holds in part"
    assert answer.sentence.endswith("holds at columns=1024; does not at columns=2048.")


@pytest.mark.parametrize(
    ("conflicted", "spread", "outcome"),
    [(150, 0.001, "holds"), (100, 0.001, "holds"), (99, 0.001, "holds"), (80, 0.001, "does not hold"), (98, 0.2, None)],
)
def test_not_faster_allows_level(build, ledger, conflicted, spread, outcome):
    case = build.case(4096, 2048)
    build.time(case, "oneflow_shared", 100, spread)
    build.time(case, "oneflow_shared_conflicted", conflicted, spread)
    answer = verdict(build, ledger, "smem-layout")
    assert answer.verdict == (outcome or "not measured")
    assert answer.cases[0].holds is {"holds": True, "does not hold": False}.get(outcome)


@pytest.mark.parametrize(
    ("uncached", "spread", "outcome"),
    [(150, 0.001, "holds"), (199, 0.001, "holds"), (210, 0.001, "does not hold"), (200, 0.2, "not measured")],
)
def test_three_reads_keep_half_the_bandwidth(build, ledger, uncached, spread, outcome):
    case = build.case(4096, 2048)
    build.time(case, "oneflow_shared", 100, spread)
    build.time(case, "oneflow_uncached", uncached, spread)
    answer = verdict(build, ledger, "uncached-cache-hits")
    assert answer.verdict == outcome
    assert answer.cases[0].measured == pytest.approx(100 / uncached)


def test_rows_too_short_for_the_kernel_and_rows_that_one_side_refuses_are_left_out(build, ledger):
    short, long = build.case(4096, 512), build.case(4096, 65536)
    for case in (short, long):
        build.time(case, "oneflow_uncached", 500)
    build.time(short, "oneflow_shared", 100)
    build.refuse(long, "oneflow_shared", "unsupported", "a row must fit 48 KB")
    answer = verdict(build, ledger, "uncached-cache-hits")
    assert answer.verdict == "not measured"
    assert [case.case for case in answer.cases] == [long.key]
    assert "a row must fit 48 KB" in answer.sentence


@pytest.mark.parametrize(
    ("unfused", "outcome"), [(350, "holds"), (400, "holds"), (250, "does not hold"), (600, "does not hold")]
)
def test_proportion_to_traffic_on_cases_that_no_cache_holds(build, ledger, published_case, unfused, outcome):
    for seq in (16, 512):
        build.time(published_case(seq), "five_kernels", unfused if seq == 512 else 900)
        build.time(published_case(seq), "oneflow", 100)
    answer = verdict(build, ledger, "softmax-fusion")
    assert answer.verdict == outcome
    assert [case.label for case in answer.cases] == ["seq=512"]
    assert answer.cases[0].published == pytest.approx((7 * 512 + 4) / (2 * 512))
    assert "for 4.00 times the traffic as its launches count (3.50 as published)" in answer.sentence


def test_proportion_needs_large_cases_and_the_size_of_the_cache(build, ledger, published_case):
    build.time(published_case(16), "five_kernels", 400)
    build.time(published_case(16), "oneflow", 100)
    answer = verdict(build, ledger, "softmax-fusion")
    assert answer.verdict == "not measured"
    assert answer.sentence == "Not measured: no case moves more than 240 MB, 4 times the L2, so caches decide."
    build.l2_bytes = 0
    assert "size of the L2" in verdict(build, ledger, "softmax-fusion").sentence


def test_specimen_must_be_rejected_and_the_right_one_measured(build, ledger, published_case):
    case = published_case(16)
    build.time(case, "four_kernels", 20)
    build.refuse(case, "four_kernels_as_published", "wrong", "y[0, 0]: got 0.1, expected 0.2", role="specimen")
    answer = verdict(build, ledger, "softmax-four-kernels")
    assert answer.verdict == "holds"
    assert answer.sentence == (
        "Verification rejects four_kernels_as_published on the one measured case; "
        "the variant that subtracts, which is right, takes 20.00 us."
    )


def test_specimen_that_passes_breaks_the_claim(build, ledger, published_case):
    build.time(published_case(16), "four_kernels", 20)
    build.time(published_case(16), "four_kernels_as_published", 20)
    answer = verdict(build, ledger, "softmax-four-kernels")
    assert answer.verdict == "does not hold"
    assert "accepts four_kernels_as_published" in answer.sentence


@pytest.mark.parametrize("missing", ["specimen", "correct"])
def test_specimen_without_both_sides_is_not_measured(build, ledger, published_case, missing):
    case = published_case(16)
    if missing == "correct":
        build.refuse(case, "four_kernels_as_published", "wrong", "", role="specimen")
    else:
        build.time(case, "four_kernels", 20)
    answer = verdict(build, ledger, "softmax-four-kernels")
    assert answer.verdict == "not measured"
    assert "not in this run" in answer.sentence


def test_specimen_that_was_not_checked_counts_as_missing(build, ledger, published_case):
    build.time(published_case(16), "four_kernels", 20)
    build.refuse(published_case(16), "four_kernels_as_published", "failed", "nvcc", role="specimen")
    assert verdict(build, ledger, "softmax-four-kernels").verdict == "not measured"


def test_explanation_is_never_decided_by_times(build, ledger, published_case):
    build.time(published_case(16), "tree_modulo", 20)
    answer = verdict(build, ledger, "reduce-tree-counters")
    assert answer.verdict == "not measured"
    assert answer.sentence.startswith("Not measured: it explains by counting")


def test_claims_are_those_of_the_run_else_those_of_its_suite(build, ledger, published_case):
    build.time(published_case(16), "ft", 20)
    assert {answer.id for answer in judge(build.write(), ledger)} == {
        "softmax-ft-oneflow",
        "softmax-four-kernels",
        "reduce-tree-counters",
        "softmax-fusion",
    }
    build.claims = ["ft-dispatch", "quack-softmax"]
    answers = judge(build.write(), ledger)
    assert [answer.id for answer in answers] == ["ft-dispatch", "quack-softmax"]
    assert answers[1].sentence.startswith("Published figures only")


def test_unknown_claim_names_the_nearest(build, ledger, published_case):
    build.time(published_case(16), "ft", 20)
    with pytest.raises(InputError, match="claim 'softmax-ft-onefow' is not in the ledger; did you mean 'softmax-ft-on"):
        judge(build.write(), ledger, ["softmax-ft-onefow"])


def test_verdicts_are_deterministic_and_written_beside_the_comparison(build, ledger, published_case):
    for seq in (16, 32):
        build.time(published_case(seq), "ft", 101, spread=0.1)
        build.time(published_case(seq), "oneflow", 100, spread=0.1)
    run = build.write()
    answers = judge(run, ledger, ["softmax-ft-oneflow", "softmax-fusion"])
    assert answers == judge(run, ledger, ["softmax-ft-oneflow", "softmax-fusion"])
    _, path = write_comparison(run, compare_within(run, "ft", ledger), answers)
    assert path == run.folder / "claims.json"
    read = json.loads(path.read_text())
    assert [entry["id"] for entry in read] == [answer.id for answer in answers]
    assert read[0]["cases"][0].keys() == {"case", "label", "measured", "published", "holds", "text"}
