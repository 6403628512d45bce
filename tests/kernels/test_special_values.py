"""What each operation's reference gives for infinities and NaN, against values known by definition."""

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
    ("relu", {"x": [[NAN, INF, -INF, -1.0]]}, {"y": [[NAN, INF, 0.0, 0.0]]}),
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
    ("copy", {"x": [[NAN, INF, -INF]]}, {"y": [[NAN, INF, -INF]]}),
    ("latency_hiding", {"x": [[NAN, INF, -INF]]}, {"y": [[NAN, INF, -INF]]}),
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


@pytest.mark.parametrize(("name", "inputs", "expected"), KNOWN)
def test_the_reference_gives_what_is_known(name: str, inputs: Values, expected: Values) -> None:
    arrays = {key: np.array(values) for key, values in inputs.items()}
    case = Case(name, next(iter(arrays.values())).shape, -1, "float32")
    with np.errstate(all="ignore"):
        found = CATALOG.operations[name].reference(np, case, arrays)
    assert set(found) == set(expected)
    for key, values in expected.items():
        wanted = np.array(values)
        np.testing.assert_array_equal(found[key].reshape(wanted.shape), wanted)
