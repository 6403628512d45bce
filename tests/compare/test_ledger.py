"""The shipped ledger says what it must, and its numbers and flags follow from what was published."""

from dataclasses import replace
from math import prod

import pytest
import yaml

from kernelbench.compare import FLAGS, computed_flags, figures, read_ledger
from kernelbench.compare.ledger import find
from kernelbench.core import dtypes, places
from kernelbench.core.errors import InputError, ProblemsError

COMPUTED = {"above-peak", "metric-mismatch", "units-mislabelled"}
CLAIMED = {
    "softmax-ft-oneflow": "faster",
    "ft-dispatch": "near_best",
    "oneflow-regimes": "near_best",
    "smem-layout": "not_faster",
    "block-size-occupancy": "near_best",
    "uncached-cache-hits": "bandwidth_share",
    "softmax-four-kernels": "specimen",
    "softmax-fusion": "proportion",
    "reduce-tree-counters": "explanation",
    "reduce-tree": "order",
    "reduce-tree-two-loads": "level",
    "harris-reduce-sum": "order",
    "bbuf-reduce-sum": "order",
    "paddle-log-softmax": "faster",
    "paddle-log-softmax-2022": "faster",
    "paddle-grid-sweep": "level",
    "paddle-grid-xy": "faster",
    "paddle-launch-rule": "launch",
    "paddle-three-reads": "faster",
    "relu-naive-packed": "order",
    "mul-half-kernels": "level",
    "mul-half-same-code": "same_code",
    "mul-half-element-by-element": "faster",
    "mul-half-element-index": "longer_code",
    "mul-debug-build": "order",
    "bbuf-elementwise-multiply": "faster",
    "copy-vector-width": "order",
    "grid-waves": "near_best",
    "effective-bandwidth": "under_ceiling",
    "access-offset": "curve",
    "access-stride": "curve",
    "access-stride-store": "curve",
    "latency-hiding": "curve",
    "latency-hiding-arithmetic": "curve",
    "index-width": "order",
    "index-width-code": "longer_code",
    "div-mod": "order",
    "div-mod-code": "longer_code",
    "local-array-index": "faster",
    "read-order": "explanation",
    "branch-access": "order",
    "dropout-add-fusion": "proportion",
    "relu-grad-bitset": "proportion",
    "bitset-schemes": "order",
    "transpose-widen": "faster",
    "bias-add-shapes": "faster",
    "random-mask-pack": "faster",
    "dlperf": "step",
}


def shipped(entry: str) -> dict:
    return yaml.safe_load((places.LEDGER / f"{entry}.yaml").read_text())


def written(tmp_path, document) -> None:
    (tmp_path / f"{document['id']}.yaml").write_text(yaml.safe_dump(document))


def message(tmp_path) -> str:
    with pytest.raises(ProblemsError) as error:
        read_ledger(tmp_path)
    return str(error.value)


def test_every_claimed_comparison_is_there_with_its_kind_and_suite(ledger):
    kinds = {claim.id: claim.kind for claim in ledger.values() if claim.kind != "figures"}
    assert kinds == CLAIMED
    for id_ in CLAIMED:
        assert ledger[id_].suites, id_
    assert len(ledger) > len(CLAIMED), "the entries of figures only are missing"


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
    times = {(figure.shape[-1], figure.implementation): figure for figure in figures(claim)}
    expected = {16: (26.43, 9.66), 32: (46.40, 18.91), 64: (120.16, 59.65), 128: (430.18, 208.93), 512: (6090, 3100)}
    for seq, (ft, oneflow) in expected.items():
        assert times[seq, "ft"].seconds == pytest.approx(ft * 1e-6)
        assert times[seq, "oneflow"].seconds == pytest.approx(oneflow * 1e-6)
        assert 2 * times[seq, "ft"].moved_bytes == times[seq, "oneflow"].moved_bytes == 8 * 32 * 64 * seq * seq
    assert times[512, "oneflow"].share_of_peak == pytest.approx(0.891, abs=5e-4)
    assert times[512, "ft"].bytes_per_s == pytest.approx(353e9, rel=2e-3)


def test_times_follow_from_bandwidths_where_only_those_are_published(ledger):
    figure = next(figure for figure in figures(ledger["quack-softmax"]) if figure.implementation == "quack")
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
    assert {one.bytes_per_s for one in figures(ledger["oneflow-pr3496"])} == {None}
    assert None not in {one.bytes_per_s for one in figures(ledger["quack-softmax"])}


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


@pytest.mark.parametrize(("key", "value"), [("within", 2), ("alternatives", "ft_v1"), ("dispatched", None)])
def test_parameters_of_a_claim_are_checked(tmp_path, key, value):
    document = shipped("ft-dispatch")
    document["claim"][key] = value
    written(tmp_path, document)
    assert f"claim.{key}: expected" in message(tmp_path)


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


def test_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no ledger here"):
        read_ledger(tmp_path)


def test_every_flag_is_explained_and_used(ledger):
    used = {flag for claim in ledger.values() for flag in claim.document["flags"]}
    assert used == set(FLAGS)


def test_documentation_names_every_flag_kind_and_claim(ledger):
    text = (places.ROOT / "docs" / "claims-and-ledger.md").read_text()
    for name in (*FLAGS, *CLAIMED, *CLAIMED.values()):
        assert f"`{name}`" in text, name
