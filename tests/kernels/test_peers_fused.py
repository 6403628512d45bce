"""Peers of dropout_add, relu_grad, bias_add and permute without torch's GPU code: what they call, on which stream."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from kernelbench.core.errors import MissingLibrary
from kernelbench.core.records import Case
from kernelbench.planning.catalog import load_catalog

STREAM = 1234
CATALOG = load_catalog()
CASES = (
    Case("dropout_add", (5, 7), -1, "float32", parameters=(("scale", 2.0),)),
    Case("relu_grad", (5, 7), -1, "float32"),
    Case("bias_add", (2, 3, 4), 1, "float32"),
    Case("bias_add", (6, 5), -1, "float32"),
    Case("permute", (2, 3, 4, 5), -1, "float32", parameters=(("permutation", "0231"),)),
    Case("permute", (3, 4), -1, "float32"),
)
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operation} {case.key}")


@pytest.fixture
def torch(monkeypatch):
    module, current = ModuleType("torch"), []

    @contextmanager
    def on(stream):
        current.append(stream)
        yield
        current.pop()

    def expect_stream():
        assert current == [STREAM]

    class Tensor(np.ndarray):
        def view(self, what):
            return self.reshape(what) if isinstance(what, tuple) else np.ndarray.view(self, what)

        def permute(self, axes):
            return self.transpose(axes)

        def copy_(self, source):
            expect_stream()
            self[...] = source

    def add(x, bias, out):
        expect_stream()
        np.add(x, bias, out=out)

    def addcmul(addend, x, mask, value, out):
        expect_stream()
        out[...] = addend + value * x * mask

    def threshold_backward(dy, y, threshold, grad_input):
        expect_stream()
        grad_input[...] = np.where(y > threshold, dy, 0)

    module.add, module.addcmul = add, addcmul
    overloads = SimpleNamespace(grad_input=threshold_backward)
    module.ops = SimpleNamespace(aten=SimpleNamespace(threshold_backward=overloads))
    module.as_tensor = lambda array, device: array.view(Tensor)
    module.no_grad, module.__version__ = nullcontext, "2.9"
    module.cuda = SimpleNamespace(is_available=lambda: True, ExternalStream=int, stream=on)
    monkeypatch.setitem(sys.modules, "torch", module)


@each_case
def test_computes_what_the_operation_says(torch, case):
    operation, generator = CATALOG.operations[case.operation], np.random.default_rng(1)
    arrays = {spec.name: np.zeros(spec.shape, spec.dtype) for spec in operation.arrays(case)}
    for spec in operation.arrays(case):
        if spec.role == "input":
            random = generator.integers(0, 2, spec.shape) if spec.fill == "mask" else generator.normal(size=spec.shape)
            arrays[spec.name][...] = random
    (output,) = (spec.name for spec in operation.arrays(case) if spec.role == "output")
    call = CATALOG.implementations[case.operation]["torch"].prepare(case, arrays, STREAM)
    assert not arrays[output].any(), "prepare computes nothing"
    call()
    wide = {name: array.astype(np.float64).reshape(1, -1) for name, array in arrays.items()}
    expected = operation.reference(np, case, wide)[output]
    assert np.allclose(arrays[output].reshape(-1), expected.reshape(-1), atol=1e-5)


@each_case
def test_a_missing_library_says_how_to_install_it(monkeypatch, case):
    monkeypatch.setitem(sys.modules, "torch", None)  # an import of it fails
    implementation = CATALOG.implementations[case.operation]["torch"]
    assert implementation.role == "peer"
    with pytest.raises(MissingLibrary, match="torch is not installed; try: pip install"):
        implementation.prepare(case, {}, STREAM)
