"""Names of cases, the method shown, reasons, the answer."""

from dataclasses import replace

import pytest

from kernelbench.report import view
from tests.report.conftest import cases_of


def test_case_labels_drop_what_is_shared_and_the_shape_that_follows_from_the_axes():
    keys = [f"seq={n} shape=32x64x{n}x{n} axis=-1 dtype=float32" for n in (16, 32)]
    assert view.case_labels(cases_of(keys)) == {keys[0]: "seq=16", keys[1]: "seq=32"}
    assert view.shared_words(cases_of(keys)) == "axis=-1 dtype=float32"


def test_case_labels_keep_the_shape_where_only_it_tells_cases_apart():
    keys = ["shape=128x128 axis=0 dtype=float32", "shape=512x896 axis=0 dtype=float32"]
    assert list(view.case_labels(cases_of(keys)).values()) == ["128x128", "512x896"]
    both = ["seq=16 shape=8x16 axis=-1 dtype=float32", "seq=16 shape=9x16 axis=-1 dtype=float32"]
    assert list(view.case_labels(cases_of(both)).values()) == ["8x16", "9x16"]


def test_case_labels_leave_out_a_shape_only_where_all_cases_with_the_same_axes_can_do_without():
    sized = [f"n={n} shape={n} axis=-1 dtype=float32" for n in (7, 8)]
    permuted = [
        f"shape={shape} axis=-1 dtype=float32 permutation={p}" for shape, p in (("2x3", 10), ("4x5", 10), ("6", 0))
    ]
    labels = view.case_labels(cases_of([*sized, *permuted, "shape=3x5 axis=-1 dtype=float32"]))
    assert list(labels.values()) == [
        "n=7", "n=8", "2x3 permutation=10", "4x5 permutation=10", "6 permutation=0", "3x5",
    ]  # fmt: skip


def test_case_labels_keep_the_shape_beside_inputs_which_do_not_tell_it():
    same = ["shape=8x16 axis=-1 dtype=float32", "shape=8x16 axis=-1 dtype=float32 inputs=masked"]
    assert list(view.case_labels(cases_of(same)).values()) == ["inputs=normal", "inputs=masked"]
    assert list(view.case_labels(cases_of(same[1:])).values()) == ["8x16 inputs=masked"]
    keys = ["shape=8x16 axis=-1 dtype=float32", "shape=8x16 axis=-1 dtype=float32 inputs=masked",
            "shape=9x16 axis=-1 dtype=float32 inputs=masked"]  # fmt: skip
    assert list(view.case_labels(cases_of(keys)).values()) == [
        "8x16 inputs=normal",
        "8x16 inputs=masked",
        "9x16 inputs=masked",
    ]


def test_case_labels_of_a_single_case():
    assert view.case_labels(cases_of(["seq=16 shape=8x16 axis=-1 dtype=float32"])) == {
        "seq=16 shape=8x16 axis=-1 dtype=float32": "8x16"
    }


def test_a_single_extent_is_named_since_a_bare_number_reads_as_a_count():
    sized, plain = "n=1000 shape=1000 axis=-1 dtype=float32", "shape=1000 axis=-1 dtype=float32"
    halves = ["half=500 shape=1000 axis=-1 dtype=float32", "half=500 shape=1001 axis=-1 dtype=float32"]
    assert list(view.case_labels(cases_of([sized])).values()) == ["n=1000"]
    assert list(view.case_labels(cases_of([plain])).values()) == ["shape=1000"]
    assert list(view.case_labels(cases_of(halves)).values()) == ["shape=1000", "shape=1001"]
    large = {"a": {"n": "65536", "shape": "65536", "axis": "-1"}}
    assert view.case_labels(large, view.number_text) == {"a": "n=2¹⁶"}


def test_shown_method_is_graph_only_where_every_implementation_has_it(synthetic_run):
    case = synthetic_run.rows[0].case
    assert view.shown_methods(synthetic_run.rows)[case, "cold"] == "graph"
    partly = [row for row in synthetic_run.rows if (row.implementation, row.method) != ("ft", "graph")]
    assert view.shown_methods(partly)[case, "cold"] == "events"


def test_shown_method_follows_the_comparison(example):
    methods = view.shown_methods(example.run.rows, example.comparison)
    assert set(methods.values()) == {"events"}
    shown = [(row.case, row.cache, row.implementation) for row in view.shown_rows(example.run, example.comparison)]
    assert shown
    assert len(shown) == len(set(shown))


def test_reasons_that_differ_in_numbers_only_and_those_of_a_specimen_are_gathered(example):
    rows = [
        replace(
            example.run.rows[0], implementation=name, status=status, case=case, reason=reason,
            role="specimen" if name == "bad" else "kernel",
        )
        for name, status, case, reason in (
            ("ft", "unsupported", "a", "columns must be at most 1024, got 2048"),
            ("ft", "unsupported", "b", "columns must be at most 1024, got 4096"),
            ("x", "wrong", "a", "y[0]: got 1, expected 2"),
            ("x", "wrong", "b", "y[7]: got -0.5, expected 4e-05"),
            ("x", "wrong", "d", "y[0]: got nan, expected 2"),
            ("x", "failed", "e", "expected at most 128 threads per block, got 256"),
            ("x", "failed", "f", "expected at most 128 threads per block, got 512"),
            ("y", "failed", "e", "expected at most 128 threads per block, got 256"),
            ("x", "ok", "c", ""),
            ("bad", "wrong", "a", "y[0]: got 1, expected 2"),
            ("bad", "wrong", "b", "y[7]: got 3, expected 4"),
        )
    ]  # fmt: skip
    groups = [(one.implementation, one.status, one.cases, one.reason) for one in view.reason_groups(rows)]
    assert groups == [
        ("ft", "unsupported", ["a", "b"], "columns must be at most 1024, got 2048"),
        ("x", "wrong", ["a", "b"], "y[0]: got 1, expected 2"),
        ("x", "wrong", ["d"], "y[0]: got nan, expected 2"),
        ("x", "failed", ["e", "f"], "expected at most 128 threads per block, got 256"),
        ("y", "failed", ["e"], "expected at most 128 threads per block, got 256"),
        ("bad", "wrong, as expected", ["a", "b"], "y[0]: got 1, expected 2"),
    ]


def test_inputs_never_read():
    assert view.never_read({"x": 0, "mask": 2}) == "never reads x"
    assert view.never_read({"x": 4}) == view.never_read({}) == ""


def test_answer_counts_verdicts(example):
    assert view.claims_answer(example.verdicts, "Fake GPU") == (
        "1 of 3 published claims holds on Fake GPU; 1 holds in part, 1 is not decided."
    )
    first = example.verdicts[0]
    assert view.claims_answer([first], "Fake GPU") == "The published claim holds on Fake GPU."
    twice = [replace(first, verdict="does not hold")] * 2
    assert view.claims_answer(twice, "Fake GPU") == "2 of 2 published claims do not hold on Fake GPU."
    assert "No published claim" in view.claims_answer([], "Fake GPU")


@pytest.mark.parametrize(
    ("value", "expected"), [(2.0512, "2.05"), (9.999, "10.0"), (19.31, "19.3"), (123.4, "123"), (0.0523, "0.052")]
)
def test_ratio_text(value, expected):
    assert view.shown_ratio(value) == expected


@pytest.mark.parametrize(
    ("broken", "total", "said"), [(1, 1, "1 of 1 row is"), (1, 12, "1 of 12 rows is"), (2, 2, "2 of 2 rows are")]
)
def test_one_broken_row_is_no_plural(broken, total, said):
    assert view.broken_text(broken, total) == f"{said} wrong or failed"


def test_highlights_begin_with_the_baseline_and_published_sides(example):
    names = view.highlights(example.run, example.comparison)
    assert names[:2] == ["ft", "oneflow"]
    assert len(names) == 6
    assert "copy" not in names
