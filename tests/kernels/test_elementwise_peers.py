"""Peers of multiply, relu and copy without their libraries' GPU code: what they call, on which stream, into what."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from kernelbench.core.errors import MissingLibrary, Unsupported
from kernelbench.core.records import Case
from kernelbench.planning.catalog import load_catalog

STREAM = 1234
OUTPUTS = {"multiply": "z", "relu": "y", "copy": "y"}
EXPECTED = {"multiply": lambda x, y: x * y, "relu": lambda x, _: np.maximum(x, 0), "copy": lambda x, _: x}


@pytest.fixture(scope="module")
def implementations():
    return load_catalog().implementations


@pytest.fixture
def libraries(monkeypatch):
    """Both libraries as NumPy; each function fails where another stream is current."""
    current: list[int] = []

    @contextmanager
    def on(stream):
        current.append(stream)
        yield
        current.pop()

    class Stream:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            current.append(self.number)

        def __exit__(self, *_):
            current.pop()

    class Tensor(np.ndarray):
        def copy_(self, other):
            assert current == [STREAM]
            self[...] = other

    def checked(function):
        def call(*arguments, **named):
            assert current == [STREAM]
            return function(*arguments, **named)

        return call

    torch, cupy = ModuleType("torch"), ModuleType("cupy")
    torch.as_tensor = lambda array, device: array.view(Tensor)
    torch.cuda = SimpleNamespace(is_available=lambda: True, ExternalStream=lambda number: number, stream=on)
    torch.no_grad = nullcontext
    torch.mul, torch.clamp_min = checked(np.multiply), checked(np.maximum)
    cupy.asarray, cupy.cuda = np.asarray, SimpleNamespace(ExternalStream=Stream)
    cupy.multiply, cupy.maximum, cupy.copyto = (checked(one) for one in (np.multiply, np.maximum, np.copyto))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)


@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("operation", OUTPUTS)
@pytest.mark.parametrize("type_", [np.float32, np.float16])
def test_a_peer_writes_into_the_cases_own_output(implementations, libraries, operation, library, type_):
    x, y = np.random.default_rng(3).normal(size=(2, 5)).astype(type_)
    output = OUTPUTS[operation]
    arrays = {"x": x, "y": y, output: np.full(5, np.nan, type_)}
    case = Case(operation, (5,), -1, np.dtype(type_).name)
    expected = EXPECTED[operation](x, y)
    returned = implementations[operation][library].prepare(case, arrays, STREAM)()
    assert returned is None
    np.testing.assert_array_equal(arrays[output], expected)


@pytest.mark.parametrize("operation", ["multiply", "relu"])
def test_cupy_has_no_arithmetic_for_bfloat16(implementations, libraries, operation):
    with pytest.raises(Unsupported, match="bfloat16"):
        implementations[operation]["cupy"].prepare(Case(operation, (5,), -1, "bfloat16"), {}, STREAM)


@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("operation", OUTPUTS)
def test_a_library_that_is_absent_is_said_to_be(implementations, monkeypatch, operation, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingLibrary, match=f"{library} is not installed"):
        implementations[operation][library].prepare(Case(operation, (5,), -1, "float32"), {}, STREAM)
