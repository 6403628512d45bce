"""A suite of a step: parts of several operations, each one case."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kernelbench.core.errors import InputError
from kernelbench.suite import select_cases, select_implementations
from tests.suite.conftest import OPERATIONS

TWO = {**OPERATIONS, "relu": replace(OPERATIONS["softmax"], name="relu", parameters={})}
CALLS = "8: 'calls' must be an integer from 1 to 2^63 - 1, or arithmetic such as '12 * 2', got"
KNOWN = {"softmax": ["ft", "oneflow"], "relu": ["packed", "bits"]}
STEP = """\
title: A step
dtype: float16
step:
  - part: scores
    operation: softmax
    shape: [4, 8]
    parameters: {scale: 0.5}
    calls: 12 * 2 + 1
    unfused: ft
    fused: oneflow
  - part: forward
    operation: relu
    shape: [4, 8]
    calls: 3
    unfused: packed
  - part: forward_with_bits
    operation: relu
    dtype: float32
    shape: [4, 8]
    calls: 3
    fused: bits
leaves_out: >
  matrix
  products
caches: cold
"""


@pytest.fixture(scope="module")
def catalog():
    return SimpleNamespace(operations=TWO, implementations=KNOWN)


def changed(old, new):
    assert STEP.count(old) == 1
    return STEP.replace(old, new)


def test_each_part_is_one_case_with_who_computes_it(read):
    suite = read(STEP)
    assert [case.key for case in suite.cases] == [
        "part=scores shape=4x8 axis=-1 dtype=float16 scale=0.5",
        "part=forward shape=4x8 axis=-1 dtype=float16",
        "part=forward_with_bits shape=4x8 axis=-1 dtype=float32",
    ]
    assert [case.operation for case in suite.cases] == ["softmax", "relu", "relu"]
    assert [(part.name, part.calls, part.unfused, part.fused) for part in suite.step.parts] == [
        ("scores", 25, "ft", "oneflow"), ("forward", 3, "packed", ""), ("forward_with_bits", 3, "", "bits"),
    ]  # fmt: skip
    assert [part.case for part in suite.step.parts] == [case.key for case in suite.cases]
    assert [suite.names_for(case) for case in suite.cases] == [("ft", "oneflow"), ("packed",), ("bits",)]
    assert (suite.operation, suite.baseline, suite.implementations) == ("", None, ("ft", "oneflow", "packed", "bits"))
    assert suite.step.leaves_out == "matrix products"


def test_a_suite_of_one_operation_has_no_step(read):
    suite = read("title: t\noperation: relu\nshape: [4]\nimplementations: [packed, bits]\n")
    assert suite.step is None
    assert suite.names_for(suite.cases[0]) == ("packed", "bits")


def test_filter_takes_parts_and_only_keeps_the_cases_of_who_is_left(read):
    suite = read(STEP)
    assert [case.operation for case in select_cases(suite, ["part=scores"]).cases] == ["softmax"]
    with pytest.raises(InputError, match="part is scores, forward, forward_with_bits"):
        select_cases(suite, ["part=backward"])
    chosen = select_implementations(suite, ["oneflow,bits"])
    assert [chosen.names_for(case) for case in chosen.cases] == [("oneflow",), ("bits",)]
    assert chosen.step == suite.step, "the sum must still know what it would take"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("leaves_out: >\n  matrix\n  products\n", "", ["1: missing key 'leaves_out'"]),
        ("caches: cold", "shape: [3]", ["25: 'shape' cannot stand beside 'step'; write it inside its parts"]),
        ("caches: cold", "baseline: ft", ["25: 'baseline' cannot stand beside 'step'; write it inside its parts"]),
        ("part: forward_with_bits", "part: scores", ["16: part 'scores' is given twice"]),
        ("    calls: 12 * 2 + 1\n", "", ["4: missing key 'calls'"]),
        ("12 * 2 + 1", "12 * layers", [f"{CALLS} '12 * layers'"]),
        ("12 * 2 + 1", "0", [f"{CALLS} 0"]),
        ("12 * 2 + 1", "1.5", [f"{CALLS} 1.5"]),
        ("    unfused: packed\n", "", ["11: a part needs 'unfused', 'fused' or both: its implementations"]),
        ("fused: bits", "fused: oneflow", ["21: unknown implementation 'oneflow'; expected one of packed, bits"]),
        ("dtype: float32", "dtype: [float32, float16]",
         ["19: a part is one case, but this makes 2; write a part for each"]),
        ("dtype: float32", "axes: {n: 3}",
         ["18: unknown key 'axes' under 'step'; did you mean 'axis'?",
          "18: unknown key 'n' under 'axes'; the shape names none"]),
        ("operation: softmax", "operation: softmx", ["5: unknown operation 'softmx'; did you mean 'softmax'?"]),
    ],
)  # fmt: skip
def test_mistakes_in_a_step_are_told_with_their_lines(problems, old, new, expected):
    assert problems(changed(old, new)) == expected


@pytest.mark.parametrize("step", ["[]", "softmax", "[softmax]"])
def test_a_step_is_a_list_of_mappings(problems, step):
    (found,) = problems(f"title: t\nleaves_out: all\nstep: {step}\n")
    assert found.startswith("3: 'step' must be a list of mappings")
