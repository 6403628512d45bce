"""What a good suite becomes."""

import dataclasses
from itertools import product

import pytest


def shapes(suite):
    return [case.shape for case in suite.cases]


def test_every_field_arrives(read):
    suite = read(
        """\
        title: A title
        description: |
          Two
          lines.
        operation: softmax
        shape: [2, n]
        axis: 0
        axes: {n: [3]}
        dtype: bfloat16
        parameters: {scale: 2, mask: true}
        implementations: [ft, naive]
        baseline: naive
        claims: [ft-dispatch, softmax-ft-oneflow]
        caches: cold
        """
    )
    case = suite.cases[0]
    assert (suite.name, suite.path.name) == ("test", "test.yaml")
    assert (suite.title, suite.description) == ("A title", "Two\nlines.")
    assert (suite.operation, suite.implementations, suite.baseline) == ("softmax", ("ft", "naive"), "naive")
    assert (suite.claims, suite.caches) == (("ft-dispatch", "softmax-ft-oneflow"), ("cold",))
    assert dataclasses.astuple(case) == (
        "softmax", (2, 3), 0, "bfloat16", (("n", 3),), (("scale", 2.0), ("mask", True)), "normal",
    )  # fmt: skip
    assert type(case.parameters[0][1]) is float


def test_defaults(read):
    suite = read("title: t\noperation: softmax\nshape: [4, 5]\nimplementations: ft\n")
    assert (suite.cases[0].axis, suite.cases[0].dtype, suite.caches) == (-1, "float32", ("cold", "warm"))
    assert (suite.baseline, suite.claims, suite.description) == (None, (), "")


def test_dtype_varies_slowest_then_axes_as_written_then_parameters(read, changed):
    text = changed("axes:\n  seq: [16, 32]", "dtype: [float32, float16]\naxes: {b: [1, 2], seq: [3, 4]}")
    suite = read(text.replace("[32, 64, seq, seq]", "[b, seq]") + "parameters: {window: [7, 8]}\n")
    found = [(case.dtype, *dict(case.axes).values(), dict(case.parameters)["window"]) for case in suite.cases]
    assert found == list(product(("float32", "float16"), (1, 2), (3, 4), (7, 8)))


def test_tied_axes_step_together(read, changed):
    text = changed("seq: [16, 32]", "(rows, columns): [[1, 20], [2, 10]]").replace(
        "[32, 64, seq, seq]", "[rows, columns]"
    )
    suite = read(text)
    assert shapes(suite) == [(1, 20), (2, 10)]
    assert suite.cases[0].axes == (("rows", 1), ("columns", 20))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("(32, 64, seq, seq)", [(32, 64, 16, 16), (32, 64, 32, 32)]),
        ("[1000 // seq, seq]", [(62, 16), (31, 32)]),
        ("[2 * (seq - 1) + 3, +seq]", [(33, 16), (65, 32)]),
        ("(seq,)", [(16,), (32,)]),
        ("[1_024, seq]", [(1024, 16), (1024, 32)]),
    ],
)
def test_shapes_are_arithmetic_of_axes(read, changed, shape, expected):
    assert shapes(read(changed("[32, 64, seq, seq]", shape))) == expected


def test_listed_cases_take_from_the_suite_what_they_do_not_say(read):
    suite = read(
        """\
        title: t
        operation: softmax
        axis: 0
        dtype: float16
        parameters: {scale: 0.5, window: 2}
        cases:
          - {shape: [2, 3]}
          - {shape: [2, n], axes: {n: [4, 5]}, axis: 1, dtype: float32, parameters: {window: 3}}
        implementations: ft
        """
    )
    assert [(case.shape, case.axis, case.dtype, dict(case.parameters)) for case in suite.cases] == [
        ((2, 3), 0, "float16", {"scale": 0.5, "window": 2}),
        ((2, 4), 1, "float32", {"scale": 0.5, "window": 3}),
        ((2, 5), 1, "float32", {"scale": 0.5, "window": 3}),
    ]
    assert len({case.key for case in suite.cases}) == 3


def test_numbers_follow_yaml_1_2(read, changed):
    text = changed("baseline: ft", "parameters: {scale: [1e-5, 2, 3.], mode: [on, '1']}")
    values = [dict(case.parameters) for case in read(text).cases[:6]]
    assert values[0] == {"scale": 1e-5, "mode": "on"}
    assert values[1]["mode"] == "1"


def test_claims_are_not_checked_without_a_ledger(read, changed):
    assert read(changed("softmax-ft-oneflow", "no-such-claim"), claim_ids=None).claims == ("no-such-claim",)


def test_byte_order_mark_is_no_mistake(read, changed):
    assert read(b"\xef\xbb\xbf" + changed("A title", "Other").encode()).title == "Other"
