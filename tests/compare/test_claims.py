"""Judging the claims of a run: which claims, which cases, what is missing, what is written."""

import csv
import json
import warnings
from dataclasses import replace

import pytest

from kernelbench.compare import judge_claims, write_comparison
from kernelbench.compare.answer import judge_run
from kernelbench.core import columns
from kernelbench.core.errors import InputError, RunWarning
from tests.compare.conftest import claim_of, judged

FASTER = {"kind": "faster", "faster": "new", "slower": "old"}
SIZE = {"factor": 2, "set": "a round number"}


def test_cases_missing_on_one_side_are_named_and_do_not_count(build, published_case):
    build.time(published_case(16), "old", 200)
    build.time(published_case(16), "new", 100)
    build.time(published_case(2048), "new", 100)
    build.refuse(published_case(2048), "old", "unsupported", "columns must be at most 1024, got 2048")
    answer = judged(build, claim_of(**FASTER))
    assert answer.verdict == "holds"
    missing = answer.cases[1]
    assert (missing.measured, missing.counts, answer.met(missing)) == (None, False, None)
    assert missing.text == "old: unsupported (columns must be at most 1024, got 2048)"


def test_warm_times_are_not_judged(build, published_case):
    for name in ("old", "new"):
        build.time(published_case(16), name, 200, cache="warm")
    said = "Not decided: new: not timed with a cold cache; old: not timed with a cold cache."
    assert judged(build, claim_of(**FASTER)).sentence == said


@pytest.mark.parametrize(
    ("limits", "case"),
    [
        ({"dtypes": ["float16"]}, {}),
        ({"from_columns": 17}, {}),
        ({"parameters": {"debug": True}}, {}),
        ({"operation": "relu"}, {}),
    ],
)
def test_a_claim_is_about_the_cases_that_it_names(build, published_case, limits, case):
    for name in ("old", "new"):
        build.time(published_case(16), name, 200)
    said = "Not decided: the run has no case that this claim is about."
    assert judged(build, claim_of(**FASTER, **limits)).sentence == said


def test_a_run_of_other_kernels_says_that_they_are_not_in_it(build, published_case):
    build.time(published_case(16), "naive", 200)
    assert judged(build, claim_of(**FASTER)).sentence == "Not decided: new: not in this run; old: not in this run."


def test_an_explanation_is_never_decided_by_times(build, ledger, published_case):
    build.time(published_case(16), "tree_modulo", 20)
    (answer,) = judge_claims(build.write(), ledger, ["reduce-tree-counters"])
    assert answer.verdict == "not decided"
    assert answer.sentence.startswith("Not decided: it explains by counting")


def test_claims_are_those_of_the_run_else_those_of_its_suite(build, ledger, published_case):
    build.time(published_case(16), "ft", 20)
    of_suite = {claim.id for claim in ledger.values() if "softmax" in claim.suites}
    assert {answer.id for answer in judge_claims(build.write(), ledger)} == of_suite
    assert len(of_suite) > 2
    build.claims = ["ft-dispatch", "quack-softmax"]
    answers = judge_claims(build.write(), ledger)
    assert [answer.id for answer in answers] == ["ft-dispatch", "quack-softmax"]
    assert answers[1].sentence.startswith("Published figures only")


def test_unknown_claim_names_the_nearest(build, ledger, published_case):
    build.time(published_case(16), "ft", 20)
    with pytest.raises(InputError, match="claim 'softmax-ft-onefow' is not in the ledger; did you mean 'softmax-ft-on"):
        judge_claims(build.write(), ledger, ["softmax-ft-onefow"])


def test_a_claim_that_only_a_newer_ledger_has_is_left_out_with_a_warning(build, ledger, published_case):
    build.time(published_case(16), "ft", 20)
    build.claims = ["no-such-claim", "ft-dispatch"]
    run = build.write()
    with pytest.warns(
        RunWarning, match=r"environment\.json: claim 'no-such-claim' is not in this ledger and is left out"
    ):
        assert [answer.id for answer in judge_claims(run, ledger)] == ["ft-dispatch"]


def test_a_baseline_that_no_row_has_is_replaced_with_a_warning(build, ledger, published_case):
    build.time(published_case(16), "ft", 20)
    run = build.write()
    contents = {"cases": {}, "implementations": ["ft"], "baseline": "gone", "step": []}
    gone = replace(run, environment={**run.environment, "baseline": "gone", "contents": contents})
    with pytest.warns(
        RunWarning, match="no row is of the baseline 'gone'; 'ft' is taken, --baseline takes another one"
    ):
        judge_run(gone, ledger=ledger)
    only = replace(gone, environment={**gone.environment, "contents": {**contents, "implementations": ["gone", "ft"]}})
    none = replace(run, environment={**run.environment, "baseline": None, "contents": {**contents, "baseline": None}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge_run(only, ledger=ledger)  # as --only leaves it out
        judge_run(none, ledger=ledger)  # of a suite without a baseline


def test_both_parts_of_a_verdict_are_written_to_csv_and_json(build, published_case, tmp_path):
    for seq in (16, 32):
        build.time(published_case(seq), "old", 240 if seq == 16 else 300)
        build.time(published_case(seq), "new", 100)
    share = claim_of("bandwidth_share", reads_thrice="old", reads_once="new", direction=None,
                     size={"share": 0.3, "set": "x"})  # fmt: skip
    run = build.write()
    answers = [*judge_claims(run, {"claimed": claim_of(**FASTER, size=SIZE)}, ["claimed"]), judged(build, share)]
    folder = tmp_path / "out"
    write_comparison([], answers, folder)
    rows = list(csv.DictReader((folder / "claims.csv").open()))
    assert list(rows[0]) == columns.column_names(columns.CLAIMS)
    first = {name: rows[0][name] for name in ("verdict", "direction", "direction_by", "size", "size_by", "size_words")}
    assert first == {
        **{"verdict": "holds in part", "direction": "yes", "direction_by": "stated"},
        **{"size": "in part", "size_by": "set here", "size_words": "a round number"},
    }
    assert rows[1]["direction_required"] == ""
    read = json.loads((folder / "claims.json").read_text())
    assert [entry["size"]["answer"] for entry in read] == ["in part", "yes"]
    assert read[0]["cases"][1]["required"] == [1.6, 2.5]
    assert read[1]["cases"][0]["required"] == [0.3, None], "JSON has no infinity"
    assert judge_claims(run, {"claimed": share}, ["claimed"]) == [answers[1]], "the same every time"
