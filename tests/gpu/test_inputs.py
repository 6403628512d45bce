"""Distributions on a GPU: what they are like, that every implementation is right on them, libraries too, and what
operations give for infinities and NaN beside what PyTorch gives.

    pytest tests/gpu/test_inputs.py -k pytorch        the references alone, which need PyTorch and no GPU
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernelbench.core import distributions
from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.records import Case, Implementation, Result
from tests.catalog import catalog
from tests.core import test_distributions as anywhere
from tests.gpu import shapes
from tests.kernels import test_inputs as simulated

pytestmark = pytest.mark.gpu

CATALOG = catalog()
DTYPES = shapes.DTYPES


@pytest.fixture
def cuda(device: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(anywhere.DEVICES, "cuda", lambda: device)
    return "cuda"


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_distribution_is_what_it_is_elsewhere(cuda: str, dtype: str) -> None:
    anywhere.test_normal_uniform_large(cuda, dtype)
    anywhere.test_constants(cuda, dtype)
    anywhere.test_masked_rows(cuda, dtype)


@pytest.mark.parametrize("inputs", ["normal", "uniform", "large", "masked"])
def test_the_same_seed_gives_the_same_values(cuda: str, inputs: str) -> None:
    anywhere.test_the_same_seed_gives_the_same_values_and_another_does_not(cuda, inputs)


@pytest.mark.parametrize("row", [(400, 1), (13, 7), (1, 1)])
def test_the_gpu_hides_what_the_host_hides(device: Any, row: tuple[int, int]) -> None:
    for start, size in ((0, 100_003), (2**33 + 5, 70_000)):
        found = distributions.hidden(device.xp, start, size, row, 2**63 - 5).get()
        np.testing.assert_array_equal(found, distributions.hidden(np, start, size, row, 2**63 - 5))


def test_pieces_of_an_array_have_the_rows_of_the_whole(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelbench.devices.cuda import device as module

    monkeypatch.setattr(module, "FILL_ELEMENTS", 1000)
    case = Case("softmax", (50, 77), -1, "float32", inputs="masked")
    anywhere_else = np.isfinite(anywhere.drawn(device, case))
    assert not anywhere_else[distributions.HIDDEN_ROW :: distributions.ROW_CYCLE].any()
    assert (anywhere_else[distributions.SINGLE_ROW :: distributions.ROW_CYCLE].sum(axis=1) == 1).all()


def wrong_ones(results: Sequence[Result]) -> list[str]:
    """`skipped` is a library that is not installed."""
    assert any(one.status == "ok" for one in results)
    return [
        f"{one.implementation.name} on {one.case.key}: {one.status}: {one.reason}"
        for one in results
        if one.status not in ("ok", "unsupported", "skipped")
    ]


@pytest.mark.nvcc
@pytest.mark.timeout(600)  # all kernels of an operation are compiled, and what libraries compile for its shapes
@pytest.mark.parametrize("operation", simulated.OPERATIONS)
def test_right_on_every_distribution_and_where_an_element_is_no_number_or_the_deviation_is_stated(
    device: Any, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One test an operation: what was compiled for a shape serves all that is put into it."""
    everybody = list(CATALOG.implementations[operation].values())
    assert wrong_ones(list(simulated.ran(device, operation, tuple(DISTRIBUTIONS), everybody))) == []
    for value in simulated.SPECIAL if CATALOG.operations[operation].special else ():
        with monkeypatch.context() as patch:
            patch.setattr(device, "fill", simulated.planting(device, simulated.SPECIAL[value]))
            chosen = [one for one in everybody if not one.deviation(value)]
            found = wrong_ones(list(simulated.ran(device, operation, ("normal",), chosen)))
        assert (value, found) == (value, [])


@pytest.mark.nvcc
@pytest.mark.parametrize(("implementation", "inputs"), simulated.BY_LIBRARIES)
def test_a_library_of_which_a_deviation_is_stated_deviates(
    device: Any, implementation: Implementation, inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = (inputs if inputs in DISTRIBUTIONS else "normal",)
    if inputs in simulated.SPECIAL:
        monkeypatch.setattr(device, "fill", simulated.planting(device, simulated.SPECIAL[inputs]))
    plain = replace(implementation, deviations=())
    found = list(simulated.ran(device, implementation.operation, drawn, [plain]))
    statuses = {one.status for one in found}
    if "skipped" in statuses and statuses <= {"skipped", "unsupported"}:  # the library is not there
        pytest.skip(next(one.reason for one in found if one.status == "skipped"))
    assert "wrong" in statuses


Call = Callable[[Any, Case, Mapping[str, Any]], Mapping[str, Any]]
INF, NAN = float("inf"), float("nan")
CASES = {
    "softmax": [Case("softmax", (40, 9), -1, "float32"), Case("softmax", (4, 9, 6), 1, "float32")],
    "log_softmax": [Case("log_softmax", (40, 9), -1, "float32"), Case("log_softmax", (4, 9, 6), 1, "float32")],
    "bias_add": [Case("bias_add", (40, 9), -1, "float32")],
}


def _along_axis(name: str) -> Call:
    return lambda torch, case, given: {"y": getattr(torch, name)(given["x"], dim=case.axis)}


PYTORCH: dict[str, Call] = {
    "softmax": _along_axis("softmax"),
    "log_softmax": _along_axis("log_softmax"),
    "reduce_sum": lambda torch, case, given: {"y": torch.sum(given["x"]).reshape(1)},
    "relu": lambda torch, case, given: {"y": torch.relu(given["x"])},
    "relu_bitset": lambda torch, case, given: {"y": torch.relu(given["x"])},
    "relu_grad": lambda torch, case, given: {"dx": torch.ops.aten.threshold_backward(given["dy"], given["y"], 0)},
    "multiply": lambda torch, case, given: {"z": torch.mul(given["x"], given["y"])},
    "bias_add": lambda torch, case, given: {"y": torch.add(given["x"], given["bias"])},
    "dropout_add": lambda torch, case, given: {"y": given["x"] * given["mask"] * 1.25 + given["addend"]},
    "indexing": lambda torch, case, given: {
        "y": torch.where(
            given["x"] > 0, given["x"] * given["by_row"].reshape(-1, 1), given["x"] * given["by_column"].reshape(1, -1)
        )
    },
    "copy": lambda torch, case, given: {"y": torch.clone(given["x"])},
    "latency_hiding": lambda torch, case, given: {"y": torch.clone(given["x"])},
    "memory_access": lambda torch, case, given: {"y": torch.clone(given["x"])},
    "permute": lambda torch, case, given: {"y": torch.permute(given["x"], (1, 0))},
}


PYTORCH |= {
    name: operation.special.by_pytorch
    for name, operation in CATALOG.operations.items()
    if operation.special and operation.special.by_pytorch
}


def inputs_with(case: Case, value: float | None) -> dict[str, np.ndarray]:
    """Normal numbers, masked rows where the operation has them, and a value planted here and there."""
    operation = CATALOG.operations[case.operation]
    inputs = "normal" if operation.refusal("masked") else "masked"
    found = {}
    for position, spec in enumerate(operation.filled(replace(case, inputs=inputs))):
        if spec.role == "input":
            size = int(np.prod(spec.shape))
            generator = np.random.default_rng(position)
            values = distributions.draw_input(np, generator, spec, 0, size, position)
            values = np.floor(values) if spec.fill == "bits" else values
            if value is not None and spec.fill not in ("mask", "bits"):
                values[position :: 17 + position] = value
            found[spec.name] = values.astype(np.float64).reshape(spec.shape)
    return found


def differing(name: str, value: float | None) -> int:
    """Elements in which the reference is not what PyTorch gives, NaN being NaN."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    total = 0
    for case in CASES.get(name, [Case(name, (40, 9), -1, "float32")]):
        inputs = inputs_with(case, value)
        with np.errstate(all="ignore"):
            ours = CATALOG.operations[name].reference(np, case, inputs)
        theirs = PYTORCH[name](torch, case, {key: torch.from_numpy(array) for key, array in inputs.items()})
        for key, result in theirs.items():
            expected = result.numpy().reshape(-1)
            total += int((~np.isclose(ours[key].reshape(-1), expected, rtol=1e-12, atol=1e-15, equal_nan=True)).sum())
    return total


def test_every_operation_that_names_a_function_is_compared_with_pytorch() -> None:
    assert set(PYTORCH) == {name for name, one in CATALOG.operations.items() if one.special and one.special.pytorch}


@pytest.mark.parametrize("value", [None, INF, -INF, NAN], ids=str)
@pytest.mark.parametrize("name", PYTORCH)
def test_references_give_what_pytorch_gives_or_the_difference_is_stated(name: str, value: float | None) -> None:
    special = CATALOG.operations[name].special
    found = differing(name, value)
    if special.differs and value is not None and np.isnan(value):
        assert found > 0, "said to differ where there are NaN"
    else:
        assert found == 0
