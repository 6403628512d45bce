"""References of some slices of a case give what the reference of all of it gives: arrays are cut where they may be."""

import numpy as np
import pytest

from kernelbench.core.records import Arrays, Case
from tests.catalog import catalog
from tests.gpu import shapes
from tests.kernels.simulated import all_slices

CATALOG = catalog()
MOST_ELEMENTS = 2**16
CASES = [
    case
    for case in (*shapes.small_cases(), *shapes.unaligned_cases(), Case("relu_bitset", (6144,), -1, "float32"))
    if case.dtype == "float32" and case.elements <= MOST_ELEMENTS and CATALOG.operations[case.operation].split(case) > 1
]


def test_most_operations_are_cut() -> None:
    uncut = {"memory_access", "random_mask", "reduce_sum"}
    assert {case.operation for case in CASES} >= set(shapes.UNALIGNED) - uncut


def drawn(case: Case) -> Arrays:
    generator, specs = np.random.default_rng(1), CATALOG.operations[case.operation].arrays(case)
    ranges = {"mask": 2, "bits": 256}
    return {
        spec.name: generator.integers(0, ranges[spec.fill], spec.shape).astype(float)
        if spec.fill in ranges
        else generator.normal(size=spec.shape)
        for spec in specs
        if spec.role == "input"
    }


@pytest.mark.parametrize("operation", sorted({case.operation for case in CASES}))
def test_slices_give_what_the_whole_gives(operation: str) -> None:
    defined = CATALOG.operations[operation]
    for case in (one for one in CASES if one.operation == operation):
        inputs, split = drawn(case), defined.split(case)
        specs = {spec.name: spec for spec in defined.arrays(case)}
        whole = defined.reference(np, case, all_slices(defined, case, inputs))
        cut = split // 3 or 1
        parts = [
            defined.reference(np, case, {name: specs[name].part(inputs[name], *span) for name in inputs})
            for span in ((0, cut), (cut, split))
        ]
        for name, values in whole.items():
            joined = np.concatenate([part[name].reshape(-1) for part in parts])
            np.testing.assert_allclose(joined, values.reshape(-1), rtol=1e-14, err_msg=f"{case.key}: {name}")
