"""The shipped ledger says what it must, and its numbers and flags follow from what was published."""

import os
import shutil
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
import yaml

from kernelbench.compare import FLAGS, published_figures, read_ledger
from kernelbench.compare.entry_checks import check_entry
from kernelbench.compare.ledger import find
from kernelbench.compare.ledger_schema import KINDS, schema_problems
from kernelbench.core import dtypes, places
from kernelbench.core.errors import InputError, ProblemsError
from kernelbench.core.records import Claim
from kernelbench.planning.catalog import load_catalog
from kernelbench.suite import read_suite

COMPUTED = {"above-peak", "metric-mismatch", "units-mislabelled"}
GIBI = 2.0**30 / 1e9
BANDWIDTH_TOLERANCE = 0.02  # published times have 3 digits as a rule
SHARE_TOLERANCE = 0.05  # profilers count traffic that the operation's definition does not, up to 4 points seen


def computed_flags(claim: Claim) -> frozenset[str]:
    """The flags that follow from an entry's own numbers: above-peak, metric-mismatch, units-mislabelled."""
    flags = set()
    for figure in published_figures(claim):
        share = figure.share_of_peak
        if share is not None and share > 1:
            flags.add("above-peak")
        stated = figure.published_share
        if share is not None and stated is not None and abs(share - stated) > SHARE_TOLERANCE:
            flags.add("metric-mismatch")
        if figure.published_s is not None and figure.published_bytes_per_s is not None and figure.bytes_per_s:
            ratio = figure.bytes_per_s / figure.published_bytes_per_s
            if abs(ratio / GIBI - 1) <= BANDWIDTH_TOLERANCE / 4:
                flags.add("units-mislabelled")
            elif abs(ratio - 1) > BANDWIDTH_TOLERANCE:
                flags.add("metric-mismatch")
    return frozenset(flags)


def shipped(entry: str) -> dict:
    return yaml.safe_load((places.LEDGER / f"{entry}.yaml").read_text())


def written(tmp_path, document) -> None:
    (tmp_path / f"{document['id']}.yaml").write_text(yaml.safe_dump(document))


def message(tmp_path) -> str:
    with pytest.raises(ProblemsError) as error:
        read_ledger(tmp_path)
    return str(error.value)


@pytest.fixture(scope="module")
def known():
    """Implementations by operation, and who each suite measures."""
    catalog = load_catalog(specimens=True)
    suites = {
        path.stem: read_suite(path, catalog.operations, catalog.implementations).implementations
        for path in sorted(places.SUITES.glob("*.yaml"))
    }
    return catalog.implementations, suites


@pytest.mark.parametrize("path", sorted(places.LEDGER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_entry_is_right_and_its_suites_measure_whom_it_names(known, path):
    check_entry(path, *known)


def test_every_mistake_of_an_entry_is_told_with_its_line(known, tmp_path):
    """Of names that are nowhere, of a kernel that the suite does not measure, and of places that nothing fills."""
    text = (places.LEDGER / "bias-add-shapes.yaml").read_text()
    mistakes = (
        ("suites: [bias_add]", "suites: [bias_add, bias_ad]", "claim.suites[1]: unknown suite 'bias_ad'; did you"),
        ("faster: by_shape", "faster: by_shap", "claim.faster: no implementation of bias_add: 'by_shap'; did you"),
        ("of: by_shape", "of: by_shapes", "explanation[0].of: no implementation: 'by_shapes'; did you mean 'by_shape'"),
        (
            "text: >",
            "text: >\n      {by_shape.tmie}",
            "why[0].text: {by_shape.tmie}: unknown value 'tmie'; did you mean",
        ),
    )
    for right, wrong, _ in mistakes:
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    path = tmp_path / "bias-add-shapes.yaml"
    path.write_text(text)
    with pytest.raises(ProblemsError) as error:
        check_entry(path, *known)
    found = error.value.problems
    assert len(found) == len(mistakes)
    lines = text.splitlines()
    for one, (_, wrong, said) in zip(found, mistakes, strict=True):
        assert one.text.startswith(said)
        assert wrong.splitlines()[0] in lines[one.line - 1]


def test_who_a_suite_does_not_measure_is_told(known, tmp_path):
    path = tmp_path / "bias-add-shapes.yaml"
    path.write_text((places.LEDGER / path.name).read_text().replace("suites: [bias_add]", "suites: [copy]"))
    with pytest.raises(ProblemsError, match=r"claim\.faster: none of the claim's suites measures by_shape; they have"):
        check_entry(path, *known)


def test_bytes_of_every_figure_are_those_of_its_shape(ledger):
    seen = 0
    for claim in ledger.values():
        for row in claim.document.get("figures", ()):
            if "bytes" in row:
                known = {"reduce_sum": 1, "multiply": 3}
                arrays = known.get(claim.document["operation"], 3 if row.get("what") == "backward" else 2)
                assert row["bytes"] == arrays * prod(row["shape"]) * dtypes.itemsize(row["dtype"]), (claim.id, row)
                seen += 1
    assert seen > 50


@pytest.mark.parametrize("entry", sorted(path.stem for path in places.LEDGER.glob("*.yaml")))
def test_flags_that_follow_from_the_numbers_are_set_and_no_others(ledger, entry):
    assert computed_flags(ledger[entry]) == COMPUTED & set(ledger[entry].document["flags"])


def test_each_computed_flag_occurs(ledger):
    assert {flag for claim in ledger.values() for flag in computed_flags(claim)} == COMPUTED


def test_flag_above_peak_falls_when_the_published_times_grow(ledger):
    claim = ledger["leetcuda-softmax"]
    slower = dict(claim.document)
    slower["figures"] = [{**row, "us": {k: 10 * v for k, v in row["us"].items()}} for row in slower["figures"]]
    assert computed_flags(claim) == {"above-peak"}
    assert computed_flags(replace(claim, document=slower)) == frozenset()


def test_a_wrong_bandwidth_is_a_mismatch_unless_it_is_right_in_gib(ledger):
    claim = ledger["oneflow-pr4058"]
    row = {"shape": [1000, 1000], "axis": -1, "dtype": "float32", "bytes": 8_000_000, "us": {"cudnn": 20}}
    for stated, expected in ((400.0, set()), (372.5, {"units-mislabelled"}), (300.0, {"metric-mismatch"})):
        document = {**claim.document, "figures": [{**row, "gb_per_s": {"cudnn": stated}}]}
        assert computed_flags(replace(claim, document=document)) == expected


def test_published_table_is_exact_and_half_the_bytes_count_for_the_kernel_that_reads_nothing(ledger):
    claim = ledger["softmax-ft-oneflow"]
    assert {"kernel-not-as-described", "input-constant"} <= set(claim.document["flags"])
    times = {(figure.shape[-1], figure.implementation): figure for figure in published_figures(claim)}
    expected = {16: (26.43, 9.66), 32: (46.40, 18.91), 64: (120.16, 59.65), 128: (430.18, 208.93), 512: (6090, 3100)}
    for seq, (ft, oneflow) in expected.items():
        assert times[seq, "ft"].seconds == pytest.approx(ft * 1e-6)
        assert times[seq, "oneflow"].seconds == pytest.approx(oneflow * 1e-6)
        assert 2 * times[seq, "ft"].moved_bytes == times[seq, "oneflow"].moved_bytes == 8 * 32 * 64 * seq * seq
    assert times[512, "oneflow"].share_of_peak == pytest.approx(0.891, abs=5e-4)
    assert times[512, "ft"].bytes_per_s == pytest.approx(353e9, rel=2e-3)


def test_times_follow_from_bandwidths_where_only_those_are_published(ledger):
    figure = next(figure for figure in published_figures(ledger["quack-softmax"]) if figure.implementation == "quack")
    assert figure.seconds == pytest.approx(2 * 32768 * 256 * 2 / 1900e9)
    assert figure.share_of_peak == pytest.approx(0.567, abs=1e-3)


def test_find_matches_shape_axis_and_dtype_and_no_backward_rows(ledger):
    assert "softmax-ft-oneflow" in find(ledger, "softmax", (32, 64, 16, 16), 3, "float32")
    assert not find(ledger, "softmax", (32, 64, 16, 16), 2, "float32")
    assert not find(ledger, "softmax", (32, 64, 16, 16), -1, "float16")
    assert not find(ledger, "softmax", (64, 32, 16, 16), -1, "float32")
    both = find(ledger, "softmax", (49152, 32), -1, "float16")["oneflow-pr4058"]
    assert both["oneflow_warp"].seconds == pytest.approx(18e-6)


def test_a_figure_has_no_rate_where_bytes_are_unknown(ledger):
    assert {one.bytes_per_s for one in published_figures(ledger["oneflow-pr3496"])} == {None}
    assert None not in {one.bytes_per_s for one in published_figures(ledger["quack-softmax"])}


def test_all_problems_of_all_files_are_reported_at_once(tmp_path):
    document = shipped("softmax-ft-oneflow")
    document["citatoin"] = document.pop("citation")
    document["flags"].append("abov-peak")
    document["claim"]["kind"] = "fastest"
    document["figures"][0]["us"]["ft"] = -1
    document["figures"][1]["us"]["oneflwo"] = 3
    del document["figures"][2]["bytes"]
    written(tmp_path, document)
    written(tmp_path, {"id": "other"})
    text = message(tmp_path)
    for part in (
        "softmax-ft-oneflow.yaml: citation: missing",
        "citatoin: unknown key; did you mean 'citation'?",
        "unknown flag 'abov-peak'; did you mean 'above-peak'?",
        "claim.kind: expected one of",
        "figures[0].us.ft: expected a positive number, got -1",
        "figures[1].us.oneflwo: not among 'implementations'; did you mean 'oneflow'?",
        "figures[2].bytes",
        "other.yaml: title: missing",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("entry", "place", "value", "said"),
    [
        ("ft-dispatch", "alternatives", "ft_v1", "expected a list of words"),
        ("ft-dispatch", "dispatched", None, "expected text"),
        ("ft-dispatch", "up_to", {9: "a", 8: "b"}, "expected a mapping of whole numbers to names, in rising order"),
        ("ft-dispatch", "size.within", 2, "expected a share of at most 1"),
        ("ft-dispatch", "direction", {"set": "x"}, "unknown key"),
        ("bias-add-shapes", "size.factor", "two", "expected a positive number, a range [low, high] or 'figures'"),
        ("bias-add-shapes", "size.set", "and this", "expected either 'stated', a quotation of the source, or 'set'"),
        ("bias-add-shapes", "size.tolerance", 1.1, "expected either tolerance_stated, a quotation, or tolerance_set"),
        ("bias-add-shapes", "direction.stated", "word " * 16, "expected a quotation of at most 15 words"),
        ("access-stride", "size.bands", {}, "expected a mapping of whole numbers to [low, high]"),
        ("access-stride", "size.bands", {10: [1.0, 0.9]}, "expected a mapping of whole numbers to [low, high]"),
        ("access-stride", "base", -1, "expected a whole number from 0 on"),
        ("access-stride", "trend", "fall", "did you mean 'falls'?"),
        ("paddle-launch-rule", "size.launches", [], "expected a list of mappings of shape, axis, grid and block"),
        ("paddle-launch-rule", "size.launches", [{"shape": [2]}], "expected a list of mappings of shape, axis"),
    ],
)
def test_parameters_of_a_claim_are_checked(entry, place, value, said):
    document = shipped(entry)
    *parts, key = place.split(".")
    target = document["claim"][parts[0]] if parts else document["claim"]
    target[key] = value
    (problem,) = schema_problems(document, entry)
    assert problem.startswith("claim.")
    assert said in problem


def test_a_claim_needs_a_quotation(ledger):
    document = shipped("ft-dispatch")
    del document["said"]
    (problem,) = schema_problems(document, "ft-dispatch")
    assert problem == "said: missing; expected a quotation, as neither direction nor size is stated"
    document["said"] = "word " * 16
    (problem,) = schema_problems(document, "ft-dispatch")
    assert problem.startswith("said: expected a quotation of at most 15 words")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: &x 1\nb: *x\n", ":1: anchor '&x'"),
        ("a: 1\nb: !!python/object/apply:os.getcwd []\n", ":2: tag"),
        ("a: 1\nb: 2\na: 3\n", ":3: key 'a' is given twice, first in line 1"),
        ("a: [1\nb: 2\n", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("[" * 30 + "]" * 30, "nested more than 20 deep"),
        ("a: " + "x" * 300_000, "larger than 64 KB, the limit of a ledger file"),
        ("- 1\n", "expected a mapping"),
        ("", "expected a mapping"),
        ("a: 2020-13-45\n", ":1: a: unknown key"),
        ("a: \x00\n", "not valid YAML"),
        ("? [1]\n: 2\n", "a key must be a word"),
    ],
)
def test_dangerous_and_broken_files_are_refused_with_their_place(tmp_path, text, part):
    (tmp_path / "bad.yaml").write_text(text)
    answer = message(tmp_path)
    assert "bad.yaml" in answer
    assert part in answer


def test_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "bad.yaml").write_bytes(b"a: \xff\xfe\n")
    assert "not UTF-8" in message(tmp_path)


def test_a_file_is_parsed_again_once_its_content_is_other(tmp_path: Path) -> None:
    path = tmp_path / "softmax-fusion.yaml"
    shutil.copy(places.LEDGER / path.name, path)
    times = os.stat(path)
    (first,) = read_ledger(tmp_path).values()
    assert read_ledger(tmp_path)["softmax-fusion"] is first
    text = path.read_text()
    path.write_text(text.replace(first.title, first.title[::-1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert read_ledger(tmp_path)["softmax-fusion"].title == first.title[::-1], "of the same size and time"
    path.write_text("-\n")
    for _ in range(2):
        with pytest.raises(ProblemsError):
            read_ledger(tmp_path)


def test_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no ledger here"):
        read_ledger(tmp_path)


def test_every_flag_is_explained_and_used(ledger):
    used = {flag for claim in ledger.values() for flag in claim.document["flags"]}
    assert used == set(FLAGS)


def test_documentation_names_every_flag_and_kind():
    text = (places.ROOT / "docs" / "claims-and-ledger.md").read_text()
    for name in (*FLAGS, *KINDS):
        assert f"`{name}`" in text, name
