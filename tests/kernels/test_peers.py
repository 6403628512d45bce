"""Peers of reduce_sum and log_softmax without their libraries' GPU code: what they call, on which stream, into what."""

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
OPERATIONS = ("reduce_sum", "log_softmax")
PEERS = ("torch", "cupy")


class Streams:
    """Knows which stream is current, as torch and cupy do."""

    def __init__(self) -> None:
        self.current: int | None = None

    @contextmanager
    def on(self, stream):
        self.current, before = stream, self.current
        yield
        self.current = before


def log_softmax_of(x, axis):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


@pytest.fixture
def implementations():
    return load_catalog().implementations


@pytest.fixture
def torch(monkeypatch):
    module, streams = ModuleType("torch"), Streams()

    class Tensor(np.ndarray):
        def view(self, what):
            # torch's view takes a shape or a type
            return self.reshape(what) if isinstance(what, (int, tuple)) else np.ndarray.view(self, what)

    def checked(function):
        def call(*arguments, **named):
            assert streams.current == STREAM
            return function(*arguments, **named)

        return call

    def total(x, dim, dtype, out):
        out[...] = x.sum(axis=dim, dtype=dtype)

    def log_softmax(x, dim, out):
        out[...] = log_softmax_of(x, dim)

    module.sum, module.log_softmax = checked(total), checked(log_softmax)
    module.as_tensor = lambda array, device: array.view(Tensor)
    module.bfloat16, module.float32, module.no_grad, module.__version__ = np.float16, np.float32, nullcontext, "2.9"
    module.cuda = SimpleNamespace(is_available=lambda: True, ExternalStream=int, stream=streams.on)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def cupy(monkeypatch):
    module, streams = ModuleType("cupy"), Streams()

    def total(x, dtype, out):
        assert streams.current == STREAM
        np.sum(x, dtype=dtype, out=out)

    def on_stream(function):
        return lambda x: function(x) if streams.current == STREAM else None

    class Stream:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            streams.current = self.stream

        def __exit__(self, *exception):
            streams.current = None

    module.sum, module.asarray, module.cuda = total, lambda array: array, SimpleNamespace(ExternalStream=Stream)
    module.exp, module.log = on_stream(np.exp), on_stream(np.log)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def case(operation, dtype="float32", axis=1):
    return Case(operation, (4, 6, 10), axis, dtype)


def held(operation, dtype=np.float32):
    x = np.linspace(-3, 4, 240, dtype=np.float32).reshape(4, 6, 10).astype(dtype)
    return {"x": x, "y": np.zeros(1, np.float32) if operation == "reduce_sum" else np.zeros_like(x)}


def expected(operation, x):
    return [x.sum()] if operation == "reduce_sum" else log_softmax_of(x, 1)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", PEERS)
def test_computes_on_the_stream(request, implementations, operation, name):
    request.getfixturevalue(name)
    arrays = held(operation)
    call = implementations[operation][name].prepare(case(operation), arrays, STREAM)
    assert not arrays["y"].any(), "prepare computes nothing"
    got = {**arrays, **(call() or {})}["y"]
    assert got.shape == arrays["y"].shape
    assert np.allclose(got, expected(operation, arrays["x"]), atol=1e-4)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_torch_sees_bfloat16_in_the_stored_bits(implementations, torch, operation):
    arrays = held(operation, np.uint16)
    arrays["x"][...] = np.float16(0.5).view(np.uint16)  # float16 stands for torch.bfloat16 here
    implementations[operation]["torch"].prepare(case(operation, "bfloat16"), arrays, STREAM)()
    y = arrays["y"] if operation == "reduce_sum" else arrays["y"].view(np.float16)
    assert np.allclose(y, 120 if operation == "reduce_sum" else -np.log(6), rtol=1e-3)


@pytest.mark.parametrize(
    ("operation", "dtype"), [("reduce_sum", "bfloat16"), ("log_softmax", "bfloat16"), ("log_softmax", "float16")]
)
def test_cupy_refuses_types_it_does_not_compute_in_float(implementations, cupy, operation, dtype):
    with pytest.raises(Unsupported, match=f"dtype must be float32.*, got {dtype}"):
        implementations[operation]["cupy"].prepare(case(operation, dtype), held(operation), STREAM)


def test_cupy_adds_up_half_in_float(implementations, cupy):
    arrays = held("reduce_sum", np.float16)
    implementations["reduce_sum"]["cupy"].prepare(case("reduce_sum", "float16"), arrays, STREAM)()
    assert arrays["y"][0] == pytest.approx(arrays["x"].astype(np.float64).sum(), rel=1e-5)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", PEERS)
def test_a_missing_library_says_how_to_install_it(implementations, monkeypatch, operation, name):
    monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
    assert implementations[operation][name].role == "peer"
    with pytest.raises(MissingLibrary, match=rf"{name} is not installed; try: pip install"):
        implementations[operation][name].prepare(case(operation), held(operation), STREAM)
