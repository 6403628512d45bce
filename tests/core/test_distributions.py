"""What each distribution is like, whoever draws it, and which elements `masked` hides."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernelbench.compare import read_ledger
from kernelbench.core import distributions, dtypes, places
from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.errors import Unsupported
from kernelbench.core.operations import FLOATS, NORMAL
from kernelbench.core.records import ArraySpec, Case, Operation
from kernelbench.devices.simulated import SimulatedDevice
from tests.catalog import catalog
from tests.fake_gpu import FakeDevice

CATALOG = catalog()
CASE = Case("softmax", (500, 400), -1, "float32")
LARGEST = 1e4
# Those of the ledger, which pages list; a further operation may leave out what it need not say.
PUBLISHED = sorted({one.document["operation"] for one in read_ledger(places.LEDGER).values()} & set(CATALOG.operations))


def fake() -> Any:
    return FakeDevice({})


def simulated() -> Any:
    device = SimulatedDevice("h200")
    device.prepare()
    return device


DEVICES = {"numpy": fake, "simulator": simulated}


def drawn(device: Any, case: Case, seed: int = 5) -> np.ndarray:
    """x of softmax as a device fills it, in float64."""
    specs = CATALOG.operations["softmax"].filled(case)
    arrays = device.allocate(specs)
    device.fill(arrays, specs, seed)
    x = device.materialise(arrays["x"]) if isinstance(device, SimulatedDevice) else arrays["x"]
    x = x.get() if device.xp is not np else x
    values: np.ndarray = dtypes.widen(np, x, case.dtype).copy()
    return values


def with_inputs(inputs: str, dtype: str = "float32") -> Case:
    return Case("softmax", CASE.shape, -1, dtype, inputs=inputs)


each_device = pytest.mark.parametrize("device", DEVICES)
each_dtype = pytest.mark.parametrize("dtype", FLOATS)


@each_device
@each_dtype
def test_normal_uniform_large(device: str, dtype: str) -> None:
    made = DEVICES[device]()
    normal, uniform, large = (drawn(made, with_inputs(name, dtype)) for name in ("normal", "uniform", "large"))
    assert abs(normal.mean()) < 0.01
    assert normal.std() == pytest.approx(1, abs=0.01)
    assert 0 <= uniform.min() < 0.001
    assert 0.99 < uniform.max() <= 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.005)
    assert abs(large.mean()) < 0.02 * LARGEST
    assert large.std() == pytest.approx(LARGEST / 3**0.5, rel=0.01)
    assert 0.99 * LARGEST < np.abs(large).max() <= LARGEST * (1 + dtypes.unit_roundoff(dtype))


@each_device
@each_dtype
def test_constants(device: str, dtype: str) -> None:
    made = DEVICES[device]()
    assert (drawn(made, with_inputs("zeros", dtype)) == 0).all()
    assert (drawn(made, with_inputs("ones", dtype)) == 1).all()


@each_device
@each_dtype
def test_masked_rows(device: str, dtype: str) -> None:
    x = drawn(DEVICES[device](), with_inputs("masked", dtype))
    there = np.isfinite(x)
    assert (x[~there] == -np.inf).all()
    kinds = np.arange(len(x)) % distributions.ROW_CYCLE
    assert not there[kinds == distributions.HIDDEN_ROW].any()
    assert (there[kinds == distributions.SINGLE_ROW].sum(axis=1) == 1).all()
    others = there[~np.isin(kinds, (distributions.HIDDEN_ROW, distributions.SINGLE_ROW))]
    assert others.mean() == pytest.approx(0.5, abs=0.01)
    lone = (kinds == distributions.SINGLE_ROW)[:, None]
    assert x[there & ~lone].std() == pytest.approx(1, abs=0.01)
    assert x[there & lone].mean() == pytest.approx(-distributions.LOW, abs=1)
    assert (x[there & lone] < -104).all(), "exp of it is 0: a maximum that starts at 0 is found"
    places = np.argmax(there[kinds == distributions.SINGLE_ROW], axis=1)
    assert len(set(places.tolist())) > 50, "a single element is anywhere in its row"


@each_device
@pytest.mark.parametrize("inputs", ["normal", "uniform", "large", "masked"])
def test_the_same_seed_gives_the_same_values_and_another_does_not(device: str, inputs: str) -> None:
    made, case = DEVICES[device](), with_inputs(inputs)
    first = drawn(made, case)
    assert np.array_equal(drawn(made, case), first)
    assert not np.array_equal(drawn(made, case, seed=6), first)


@pytest.mark.parametrize(("shape", "axis"), [((7, 11, 5), 1), ((7, 11), 0), ((3, 40), -1), ((6,), 0)])
def test_rows_go_along_the_axis_of_the_case(shape: tuple[int, ...], axis: int) -> None:
    case = Case("log_softmax", shape, axis, "float32", inputs="masked")
    columns, inner = case.outer_dim_inner[1:]
    found = distributions.hidden(np, 0, case.elements, (columns, inner), 3).reshape(shape)
    rows = np.moveaxis(found, axis, -1).reshape(-1, columns)
    for number, row in enumerate(rows):
        if number % distributions.ROW_CYCLE == distributions.HIDDEN_ROW:
            assert row.all()
        if number % distributions.ROW_CYCLE == distributions.SINGLE_ROW:
            assert (~row).sum() == 1


def test_pieces_of_an_array_are_hidden_as_the_whole_is() -> None:
    whole = distributions.hidden(np, 0, 1000, (13, 4), 2**70 + 9)
    pieces = [
        distributions.hidden(np, start, min(300, 1000 - start), (13, 4), 2**70 + 9) for start in (0, 300, 600, 900)
    ]
    assert np.array_equal(np.concatenate(pieces), whole)


def test_a_draw_hides_by_pieces_what_it_hides_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ArraySpec("x", (1000,), "float32", "input", "masked", row=(13, 4))
    whole = distributions.draw_input(np, np.random.default_rng(1), spec, 0, 1000, 9)
    monkeypatch.setattr(distributions, "PIECE", 64)
    assert np.array_equal(distributions.draw_input(np, np.random.default_rng(1), spec, 0, 1000, 9), whole)
    assert np.array_equal(np.isinf(whole), distributions.hidden(np, 0, 1000, (13, 4), 9))


@pytest.mark.parametrize(("shape", "axis"), [((23, 64), -1), ((9, 10, 7), 1)])
def test_the_simulator_hides_the_same_elements(shape: tuple[int, ...], axis: int) -> None:
    case = Case("log_softmax", shape, axis, "float32", inputs="masked")
    specs = CATALOG.operations["log_softmax"].filled(case)
    device = simulated()
    arrays = device.allocate(specs)
    device.fill(arrays, specs, 5)
    x = device.materialise(arrays["x"])
    seed = int(np.random.SeedSequence((5, 0)).generate_state(1, np.uint64)[0])
    assert np.array_equal(np.isinf(x.reshape(-1)), distributions.hidden(np, 0, x.size, specs[0].row, seed))


def test_masks_and_bits_stay_as_they_are() -> None:
    case = Case("relu_grad", (64,), -1, "float32", inputs="ones")
    fills = {spec.name: spec.fill for spec in CATALOG.operations["relu_grad"].filled(case)}
    assert fills == {"dy": "ones", "y": "ones", "mask": "bits", "dx": "case"}


def test_without_inputs_nothing_changes() -> None:
    for operation in ("softmax", "multiply"):
        case = Case(operation, (4, 8), -1, "float16")
        assert CATALOG.operations[operation].filled(case) == tuple(
            replace(spec, fill="normal", row=(8, 1)) if spec.role == "input" else spec
            for spec in CATALOG.operations[operation].arrays(case)
        )


@pytest.mark.parametrize("name", sorted(CATALOG.operations))
def test_what_an_operation_refuses_is_a_distribution(name: str) -> None:
    assert set(CATALOG.operations[name].refused) < set(DISTRIBUTIONS)
    assert NORMAL not in CATALOG.operations[name].refused


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_operation_of_the_pages_says_what_its_inputs_may_be(name: str) -> None:
    operation = CATALOG.operations[name]
    assert operation.large is not None or "large" in operation.refused
    assert operation.special is not None or set(operation.refused) == set(DISTRIBUTIONS) - {NORMAL}


def test_operations_of_the_pages_were_found() -> None:
    assert len(PUBLISHED) == 15


def test_a_distribution_that_it_does_not_have_is_unsupported_with_the_reason() -> None:
    with pytest.raises(Unsupported, match="relu has no masked inputs: -inf stands for what a row leaves out"):
        CATALOG.operations["relu"].filled(Case("relu", (4,), -1, "float32", inputs="masked"))
    own = Operation("own", "", lambda case: (), lambda xp, case, inputs: {})
    assert own.refusal("large") == "it does not say how large its inputs may be"
    assert own.refusal("ones") == ""


@pytest.mark.parametrize("name", sorted(CATALOG.operations))
@each_dtype
def test_large_inputs_fit_their_type(name: str, dtype: str) -> None:
    operation = CATALOG.operations[name]
    if operation.refusal("large"):
        return
    largest = operation.large(Case(name, (64, 64), -1, dtype, inputs="large")) if operation.large else 0.0
    stored = dtypes.narrow(np, np.array([largest], np.float32), dtype)
    assert np.isfinite(dtypes.widen(np, stored, dtype)).all()
    assert np.isfinite(np.float32(2 * largest)), "both ends of the range apart"


def test_what_an_operation_leaves_out() -> None:
    case = Case("own", (3, 5), -1, "float32")
    specs = (ArraySpec("x", (3, 5), "float32", "input"), ArraySpec("y", (3,), "float16", "output"))
    own = Operation("own", "", lambda case: specs, lambda xp, case, inputs: {})
    assert own.bytes_moved(case) == 60 + 6
    assert own.flops(case) == 15
    assert (own.tolerance(case).relative, own.tolerance(case).absolute) == (0.0, 0.0)
