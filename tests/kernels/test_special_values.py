"""What each operation's reference gives for infinities and NaN, and for some ordinary numbers, against values known by
definition; and the bytes that it has to move."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from kernelbench.core.records import Case
from tests.catalog import catalog

INF, NAN = float("inf"), float("nan")
CATALOG = catalog()

# (operation, inputs by name, expected outputs by name); arrays are of two dimensions, parameters those that matter.
# Further operations have examples of their own.
Values = Mapping[str, Any]
KNOWN: list[tuple[str, Values, Values]] = [
    ("softmax", {"x": [[-INF, -INF]]}, {"y": [[NAN, NAN]]}),
    ("softmax", {"x": [[-INF, 3.0, -INF]]}, {"y": [[0.0, 1.0, 0.0]]}),
    ("softmax", {"x": [[-INF, 1.0, 1.0]]}, {"y": [[0.0, 0.5, 0.5]]}),
    ("softmax", {"x": [[1.0, INF, 2.0], [0.0, 0.0, -INF]]}, {"y": [[NAN, NAN, NAN], [0.5, 0.5, 0.0]]}),
    ("softmax", {"x": [[1.0, NAN], [1.0, 1.0]]}, {"y": [[NAN, NAN], [0.5, 0.5]]}),
    ("softmax", {"x": [[1e4, 1e4, -1e4]]}, {"y": [[0.5, 0.5, 0.0]]}),
    ("log_softmax", {"x": [[-INF, -INF]]}, {"y": [[NAN, NAN]]}),
    ("log_softmax", {"x": [[-INF, 3.0]]}, {"y": [[-INF, 0.0]]}),
    ("log_softmax", {"x": [[1.0, INF], [2.0, -INF]]}, {"y": [[NAN, NAN], [0.0, -INF]]}),
    ("log_softmax", {"x": [[1.0, NAN]]}, {"y": [[NAN, NAN]]}),
    ("log_softmax", {"x": [[1e4, -1e4]]}, {"y": [[0.0, -2e4]]}),
    ("reduce_sum", {"x": [[1.0, -INF]]}, {"y": [-INF]}),
    ("reduce_sum", {"x": [[1.0, INF]]}, {"y": [INF]}),
    ("reduce_sum", {"x": [[INF, -INF]]}, {"y": [NAN]}),
    ("reduce_sum", {"x": [[1.0, NAN]]}, {"y": [NAN]}),
    ("relu", {"x": [[NAN, INF, -INF, -1.0, 2.0]]}, {"y": [[NAN, INF, 0.0, 0.0, 2.0]]}),
    ("relu_bitset", {"x": [[NAN, INF, -INF, 1.0]]}, {"y": [[0.0, INF, 0.0, 1.0]], "mask": [2.0 + 8.0]}),
    (
        "relu_grad",
        {"dy": [[5.0, 5.0, 5.0, NAN, INF, NAN]], "y": [[NAN, INF, -INF, 1.0, 1.0, 0.0]], "mask": [[0.0]]},
        {"dx": [[0.0, 5.0, 0.0, NAN, INF, 0.0]]},
    ),
    ("multiply", {"x": [[INF, INF, -INF, NAN]], "y": [[0.0, -2.0, INF, 0.0]]}, {"z": [[NAN, -INF, -INF, NAN]]}),
    ("bias_add", {"x": [[INF, INF, NAN]], "bias": [-INF, 1.0, 1.0]}, {"y": [[NAN, INF, NAN]]}),
    (
        "dropout_add",
        {"x": [[INF, INF, NAN, 1.0]], "mask": [[1.0, 0.0, 0.0, 1.0]], "addend": [[1.0, 1.0, 1.0, -INF]]},
        {"y": [[INF, NAN, NAN, -INF]]},
    ),
    ("indexing", {"x": [[INF, -INF, NAN]], "by_row": [0.0], "by_column": [1.0, 2.0, 3.0]}, {"y": [[NAN, -INF, NAN]]}),
    ("copy", {"x": [[NAN, INF, -INF, 1.0]]}, {"y": [[NAN, INF, -INF, 1.0]]}),
    ("latency_hiding", {"x": [[NAN, INF, -INF, 2.0]]}, {"y": [[NAN, INF, -INF, 2.0]]}),
    ("memory_access", {"x": [[NAN, INF, -INF]]}, {"y": [[NAN, INF, -INF]]}),
    ("permute", {"x": [[NAN, INF, -INF]]}, {"y": [[NAN], [INF], [-INF]]}),
]

KNOWN += [
    (name, *example)
    for name, operation in CATALOG.operations.items()
    if operation.special
    for example in operation.special.examples
]


def test_every_operation_that_says_what_special_values_give_shows_it() -> None:
    assert {operation for operation, _, _ in KNOWN} == {
        name for name, operation in CATALOG.operations.items() if operation.special
    }


def case(operation: str, *shape: int, dtype: str = "float32", **parameters: Any) -> Case:
    return Case(operation, shape, -1, dtype, parameters=tuple(parameters.items()))


DROPPED = {"x": [1.0, 2.0], "mask": [1.0, 0.0], "addend": [10.0, 20.0]}
ORDINARY: list[tuple[Case, Values, Values]] = [
    (case("multiply", 2), {"x": [2.0, -3.0], "y": [0.5, 7.0]}, {"z": [1.0, -21.0]}),
    (case("dropout_add", 2), DROPPED, {"y": [11.25, 20.0]}),
    (case("dropout_add", 2, scale=2.0), DROPPED, {"y": [12.0, 20.0]}),
    (case("reduce_sum", 2, 3, 4), {"x": np.arange(24.0).reshape(2, 3, 4)}, {"y": [276.0]}),
    (case("memory_access", 3, side="load", offset=2, stride=3), {"x": np.arange(9.0)}, {"y": [2.0, 5.0, 8.0]}),
    (case("memory_access", 3, side="store", offset=1, stride=2), {"x": [0.0, 1.0, 2.0]},
     {"y": [NAN, 0.0, NAN, 1.0, NAN, 2.0]}),
    (case("indexing", 2, 3),
     {"x": [1.0, -2.0, 0.0, -1.0, 2.0, NAN], "by_row": [10.0, 20.0], "by_column": [3.0, 4.0, 5.0]},
     {"y": [[10.0, -8.0, 0.0], [-3.0, 40.0, NAN]]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "inputs", "expected"),
    [*ORDINARY, *((case(name, *np.shape(next(iter(given.values())))), given, wanted) for name, given, wanted in KNOWN)],
)
def test_the_reference_gives_what_is_known(case: Case, inputs: Values, expected: Values) -> None:
    arrays = {key: np.array(values) for key, values in inputs.items()}
    with np.errstate(all="ignore"):
        found = CATALOG.operations[case.operation].reference(np, case, arrays)
    assert set(found) == set(expected)
    for key, values in expected.items():
        wanted = np.array(values)
        np.testing.assert_array_equal(found[key].reshape(wanted.shape), wanted)


@pytest.mark.parametrize(
    ("case", "nbytes"),
    [
        (case("copy", 5, 2), 80),
        (case("relu", 5), 40),
        (case("multiply", 5, 3, dtype="float16"), 3 * 15 * 2),
        (case("latency_hiding", 3, dtype="float16"), 12),
        (case("reduce_sum", 2, 3, 4, dtype="float16"), 24 * 2 + 4),
        (case("indexing", 2, 3), 4 * (6 + 2 + 3 + 6)),
        # As published: in arrays of x.
        (case("dropout_add", 1024), 3.25 * 4 * 1024),
        (case("dropout_add", 1024, dtype="float16"), 3.5 * 2 * 1024),
        (case("dropout_add", 1024, dtype="bfloat16"), 3.5 * 2 * 1024),
        (case("relu_grad", 4096), (2 + 1 / 32) * 4 * 4096),
        (case("relu_bitset", 4096), (2 + 1 / 32) * 4 * 4096),
    ],
)
def test_the_least_bytes_to_be_moved(case: Case, nbytes: float) -> None:
    assert CATALOG.operations[case.operation].bytes_moved(case) == nbytes


@pytest.mark.parametrize(("case", "flops"), [(case("copy", 5, 2), 0), (case("latency_hiding", 3, chain=7), 42)])
def test_operations_on_numbers(case: Case, flops: int) -> None:
    assert CATALOG.operations[case.operation].flops(case) == flops
