"""What progress calls a case."""

import pytest

from kernelbench.core.records import Case
from kernelbench.measure.bench import short_labels


def case(columns: int, *, axes: bool) -> Case:
    return Case("softmax", (4, columns), -1, "float32", (("seq", columns),) if axes else ())


@pytest.mark.parametrize(
    ("cases", "labels"),
    [
        ([], []),
        ([case(8, axes=True)], ["seq=8"]),
        ([case(8, axes=False)], ["shape=4x8"]),
        ([case(8, axes=True), case(16, axes=True)], ["seq=8", "seq=16"]),
        ([case(8, axes=False), case(16, axes=False)], ["shape=4x8", "shape=4x16"]),
    ],
)
def test_a_case_is_named_by_what_tells_it_from_others(cases: list[Case], labels: list[str]) -> None:
    assert list(short_labels(cases).values()) == labels
