"""Distributions of the inputs as an axis of a suite, and in place of what it says."""

import pytest

from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.errors import InputError
from kernelbench.suite import select_cases, with_inputs


def test_cases_without_inputs_keep_their_keys(read, changed):
    keys = [case.key for case in read(changed("A title", "t")).cases]
    assert keys[0] == "seq=16 shape=32x64x16x16 axis=-1 dtype=float32"
    assert [case.key for case in read(changed("baseline: ft", "inputs: normal")).cases] == keys


def test_inputs_vary_after_the_dtype_and_before_the_axes(read, changed):
    suite = read(changed("baseline: ft", "inputs: [normal, masked]\ndtype: [float32, float16]"))
    found = [(case.dtype, case.inputs, dict(case.axes)["seq"]) for case in suite.cases]
    kinds = [(dtype, inputs) for dtype in ("float32", "float16") for inputs in ("normal", "masked")]
    assert found == [(*kind, seq) for kind in kinds for seq in (16, 32)]
    assert suite.cases[2].key == "seq=16 shape=32x64x16x16 axis=-1 dtype=float32 inputs=masked"


def test_an_entry_of_cases_has_its_own(read):
    cases = "cases: [{shape: [2, 3]}, {shape: [2, 4], inputs: [zeros, normal]}]"
    suite = read(f"title: t\noperation: softmax\nimplementations: ft\ninputs: ones\n{cases}\n")
    assert [case.inputs for case in suite.cases] == ["ones", "zeros", "normal"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maskd", "unknown distribution 'maskd'; did you mean 'masked'?"),
        ("gaussian", f"unknown distribution 'gaussian'; expected one of {', '.join(DISTRIBUTIONS)}"),
        ("3", "'inputs' must be a name or a list of names, got 3"),
        ("{a: b}", "'inputs' must be a name or a list of names, got a mapping"),
        ("[ones, ones]", "'ones' is given twice under 'inputs'"),
        ("[]", "'inputs' is an empty list; expected at least one name"),
    ],
)
def test_mistakes_are_told_with_their_line(problems, changed, text, message):
    assert problems(changed("baseline: ft", f"inputs: {text}")) == [f"7: {message}"]


def test_what_the_operation_has_no_meaning_for_is_refused_with_the_reason(problems, changed):
    text = changed("baseline: ft", "inputs: [masked, large]")
    assert problems(text.replace("operation: softmax", "operation: relu").replace("ft, oneflow", "naive")) == [
        "7: relu has no masked inputs: it has no rows",
        "7: relu has no large inputs: it does not say how large its inputs may be",
    ]


def test_no_axis_is_called_inputs(problems, changed):
    text = changed("seq: [16, 32]", "seq: [16, 32]\n  inputs: [1, 2]")
    assert problems(text) == ["6: 'inputs' cannot name an axis; expected a word that is not in use"]


def test_filters_know_them(read, changed):
    suite = read(changed("baseline: ft", "inputs: [normal, masked]"))
    assert [case.inputs for case in select_cases(suite, ["inputs=masked,seq=16"]).cases] == ["masked"]
    with pytest.raises(InputError, match=r"no case of suite 'test' has inputs=ones; inputs is normal, masked$"):
        select_cases(suite, ["inputs=ones"])


def step(first="", operation="relu", head=""):
    """A suite of two parts, with these words in the first one and before it."""
    return f"""\
title: t
{head}
step:
- {{part: a, operation: softmax, shape: [2, 3], calls: 2, fused: ft{first}}}
- {{part: b, operation: {operation}, shape: [2, 3], calls: 2, fused: naive}}
leaves_out: nothing
"""


def test_a_part_of_a_step_has_its_own(read):
    suite = read(step(", inputs: masked", "softmax"))
    assert [case.inputs for case in suite.cases] == ["masked", "normal"]
    assert [suite.names_for(case) for case in suite.cases] == [("ft",), ("naive",)]


def test_what_a_part_takes_from_its_suite_is_checked_too(problems):
    assert problems(step(head="inputs: masked")) == [
        "5: relu cannot compute case 'shape=2x3 axis=-1 dtype=float32 inputs=masked': relu has no masked inputs: "
        "it has no rows"
    ]


def test_each_case_on_every_distribution(read, changed, catalog):
    suite = with_inputs(read(changed("baseline: ft", "inputs: [ones, masked]")), catalog.operations, ())
    assert [case.inputs for case in suite.cases] == [name for name in DISTRIBUTIONS for _ in range(2)]
    assert len({case.key for case in suite.cases}) == 12


def test_on_those_that_are_named(read, changed, catalog):
    suite = with_inputs(read(changed("A title", "t")), catalog.operations, ["masked", "ones"])
    assert [case.inputs for case in suite.cases] == ["masked", "masked", "ones", "ones"]


def test_an_operation_that_lacks_some_is_checked_on_the_others(read, changed, catalog):
    text = changed("operation: softmax", "operation: relu").replace("ft, oneflow", "naive").replace("baseline: ft", "")
    suite = read(text)
    every = with_inputs(suite, catalog.operations, ())
    assert [case.inputs for case in every.cases[::2]] == ["normal", "uniform", "zeros", "ones"]
    with pytest.raises(InputError, match=r"^test: relu has no masked inputs: it has no rows$"):
        with_inputs(suite, catalog.operations, ["masked"])


def test_parts_of_a_step_keep_who_runs_them(read, catalog):
    found = with_inputs(read(step()), catalog.operations, ["normal", "masked"])
    assert [(case.operation, case.inputs) for case in found.cases] == [
        ("softmax", "normal"), ("relu", "normal"), ("softmax", "masked"),
    ]  # fmt: skip
    assert [found.names_for(case) for case in found.cases] == [("ft",), ("naive",), ("ft",)]


def test_an_unknown_one_is_told_with_the_nearest(read, changed, catalog):
    with pytest.raises(InputError, match=r"^unknown distribution 'mask'; did you mean 'masked'\?$"):
        with_inputs(read(changed("A title", "t")), catalog.operations, ["mask"])
