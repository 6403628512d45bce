"""Peers through torch.compile and CUB: what torch.compile is given, and what CUB's calls are handed."""

from contextlib import nullcontext
from dataclasses import replace
from inspect import unwrap
from types import SimpleNamespace

import numpy as np
import pytest

from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog
from tests.kernels.fakes import Tensor, layer_norm, log_softmax, softmax

CATALOG = catalog()
CUB = ("multiply", "relu", "copy")
COMPILED = {
    "multiply": (7,),
    "relu": (7,),
    "bias_add": (2, 3, 5),
    "dropout_add": (4, 5),
    "reduce_sum": (6,),
    "softmax": (2, 3, 5),
    "log_softmax": (2, 3, 5),
    "layer_norm": (2, 3, 5),
}
INNER = ("bias_add", "log_softmax")  # along an axis that is not the last


@pytest.fixture
def torch(monkeypatch):
    """PyTorch that compiles nothing; remembers what it was asked to compile, and how."""
    code = CATALOG.implementations["relu"]["torch_compile"].prepare.func.__globals__  # of common/torch_code.py
    modes = []

    def compile_(function, mode, **options):
        modes.append(mode)
        return function

    module = SimpleNamespace(
        compile=compile_,
        float32=np.float32,
        relu=lambda x: np.maximum(x, 0),
        softmax=lambda x, dim: softmax(x, dim),
        log_softmax=lambda x, dim: log_softmax(x, dim),
        nn=SimpleNamespace(functional=SimpleNamespace(layer_norm=layer_norm)),
        _dynamo=SimpleNamespace(config=SimpleNamespace()),
        cuda=SimpleNamespace(ExternalStream=lambda stream: stream, stream=nullcontext),
        no_grad=nullcontext,
    )
    types = []

    def tensor(_, array, dtype):
        types.append(dtype)
        return np.ndarray.view(array, Tensor)

    code["_compiled"].cache_clear()
    monkeypatch.setitem(code, "torch_with_gpu", lambda: module)
    monkeypatch.setitem(code, "torch_tensor", tensor)
    yield SimpleNamespace(modes=modes, types=types)
    code["_compiled"].cache_clear()


@pytest.mark.parametrize("name", ["torch_compile", "torch_compile_autotuned"])
@pytest.mark.parametrize("operation", COMPILED)
def test_what_is_compiled_is_the_operation(torch, operation, name):
    case = Case(operation, COMPILED[operation], 1 if operation in INNER else -1, "float32")
    defined = CATALOG.operations[operation]
    rng, arrays = np.random.default_rng(5), {}
    for spec in defined.arrays(case):
        values = rng.integers(0, 2, spec.shape) if spec.dtype == "int8" else rng.normal(size=spec.shape)
        arrays[spec.name] = values.astype(spec.dtype)
    expected = unwrap(defined.reference)(np, case, arrays)  # in float32, as what is compiled
    CATALOG.implementations[operation][name].prepare(case, arrays, 1234)()
    for output, values in expected.items():
        np.testing.assert_allclose(arrays[output].reshape(-1), np.asarray(values).reshape(-1), rtol=1e-6)
    assert torch.modes == ["default" if name == "torch_compile" else "max-autotune-no-cudagraphs"]
    assert set(torch.types) == {spec.dtype for spec in defined.arrays(case)}


def test_other_inputs_of_a_shape_are_no_reason_to_compile_again(torch):
    case = Case("relu", (7,), -1, "float32", axes=(("n", 7),))
    prepare = CATALOG.implementations["relu"]["torch_compile"].prepare
    for one in (case, replace(case, inputs="large"), replace(case, axes=()), replace(case, shape=(8,))):
        arrays = {name: np.ones(one.shape, np.float32) for name in ("x", "y")}
        prepare(one, arrays, 1234)
    assert torch.modes == ["default"] * 2


@pytest.mark.parametrize("operation", CUB)
def test_cub_is_handed_the_arrays_and_their_number(h200, dtype, operation):
    case = Case(operation, (2**31 + 5,), -1, dtype)
    plan = CATALOG.implementations[operation]["cub_transform"].plan(case, h200)
    names = [spec.name for spec in CATALOG.operations[operation].arrays(case)]
    assert plan.host.arguments == (*names, Scalar("int64", 2**31 + 5))
    assert not plan.launches


@pytest.mark.nvcc
@pytest.mark.parametrize("operation", CUB)
def test_cub_compiles(h200, binaries, operation):
    implementation = CATALOG.implementations[operation]["cub_transform"]
    plan = implementation.plan(Case(operation, (5,), -1, "float32"), h200)
    (binary,) = binaries(implementation, [plan], "sm_90")
    assert plan.host.entry.encode() in binary.path.read_bytes()
