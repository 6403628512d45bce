"""The peers of torch and CuPy without their libraries' GPU code: what they call, on which stream, into what."""

import sys
from contextlib import contextmanager, nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from kernelbench.core.errors import MissingLibrary, Unsupported
from kernelbench.core.records import Case
from tests.catalog import catalog
from tests.kernels.fakes import Tensor, log_softmax, softmax

STREAM = 1234
CATALOG = catalog()
EXACT = [Case(name, (5,), -1, dtype) for name in ("multiply", "relu", "copy") for dtype in ("float32", "float16")]
REDUCING = [Case(name, (4, 6, 10), 1, "float32") for name in ("reduce_sum", "log_softmax")]
REDUCING += [Case("softmax", (4, 6, 10), axis, "float32") for axis in (-1, 0, 1)]
ALLOCATING = ("softmax", "log_softmax")  # CuPy's, which make an output of their own
OF_TORCH = [
    Case("dropout_add", (5, 7), -1, "float32", parameters=(("scale", 2.0),)),
    Case("relu_grad", (5, 7), -1, "float32"),
    Case("bias_add", (2, 3, 4), 1, "float32"),
    Case("bias_add", (6, 5), -1, "float32"),
    Case("permute", (2, 3, 4, 5), -1, "float32", parameters=(("permutation", "0231"),)),
    Case("permute", (3, 4), -1, "float32"),
]
CALLS = [
    *(pytest.param("torch", case, id=f"torch {case.operation} {case.key}") for case in EXACT + REDUCING + OF_TORCH),
    *(pytest.param("cupy", case, id=f"cupy {case.operation} {case.key}") for case in EXACT + REDUCING),
]


@pytest.fixture
def libraries(monkeypatch):
    """Both as NumPy; each function fails where another stream is current."""
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

    class OnStream(Tensor):
        def copy_(self, other):
            assert current == [STREAM]
            super().copy_(other)

    def checked(function):
        def call(*arguments, **named):
            assert current == [STREAM]
            return function(*arguments, **named)

        return call

    def into(function):
        """As torch has it: the result goes to `out`."""

        def call(*arguments, out, **named):
            out[...] = function(*arguments, **named)

        return checked(call)

    torch, cupy = ModuleType("torch"), ModuleType("cupy")
    torch.as_tensor = lambda array, device: array.view(OnStream)
    torch.cuda = SimpleNamespace(is_available=lambda: True, ExternalStream=lambda number: number, stream=on)
    torch.bfloat16, torch.float32, torch.no_grad, torch.__version__ = np.float16, np.float32, nullcontext, "2.9"
    torch.mul, torch.clamp_min, torch.add = checked(np.multiply), checked(np.maximum), checked(np.add)
    torch.sum = into(lambda x, dim, dtype: x.sum(axis=dim, dtype=dtype))
    torch.softmax = into(lambda x, dim: softmax(x, dim))
    torch.log_softmax = into(lambda x, dim: log_softmax(x, dim))
    torch.addcmul = into(lambda addend, x, mask, value: addend + value * x * mask)
    gradient = into(lambda dy, y, threshold: np.where(y > threshold, dy, 0))
    overloads = SimpleNamespace(grad_input=lambda *given, grad_input: gradient(*given, out=grad_input))
    torch.ops = SimpleNamespace(aten=SimpleNamespace(threshold_backward=overloads))
    cupy.asarray, cupy.cuda = np.asarray, SimpleNamespace(ExternalStream=Stream)
    for name in ("multiply", "maximum", "copyto", "sum", "exp", "log"):
        setattr(cupy, name, checked(getattr(np, name)))
    special = ModuleType("cupyx.scipy.special")
    special.softmax = checked(softmax)
    for module in (torch, cupy, ModuleType("cupyx"), ModuleType("cupyx.scipy"), special):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def filled(case):
    """Random inputs in storage type, and outputs of NaN."""
    generator, arrays = np.random.default_rng(1), {}
    for spec in CATALOG.operations[case.operation].arrays(case):
        values = generator.integers(0, 2, spec.shape) if spec.fill == "mask" else generator.normal(size=spec.shape)
        arrays[spec.name] = (values if spec.role == "input" else np.full(spec.shape, np.nan)).astype(spec.dtype)
    return arrays


def prepared(library, case, arrays):
    return CATALOG.implementations[case.operation][library].prepare(case, arrays, STREAM)


@pytest.mark.parametrize(("library", "case"), CALLS)
def test_computes_what_the_operation_says(libraries, library, case):
    operation, arrays = CATALOG.operations[case.operation], filled(case)
    (output,) = (spec.name for spec in operation.arrays(case) if spec.role == "output")
    wide = {name: array.astype(np.float64).reshape(1, -1) for name, array in arrays.items()}
    call = prepared(library, case, arrays)
    assert np.isnan(arrays[output]).all(), "prepare computes nothing"
    call()
    returned = call()
    allocates = library == "cupy" and case.operation in ALLOCATING
    assert (returned is None) != allocates, "into the case's own output"
    assert np.isnan(arrays[output]).all() == allocates
    got = {**arrays, **(returned or {})}[output]
    split = operation.split(case) if case.operation in ALLOCATING else 1
    inputs = {name: array.reshape(split, -1) for name, array in wide.items() if name != output}
    expected = operation.reference(np, case, inputs)[output].reshape(arrays[output].shape).astype(got.dtype)
    if case in EXACT:
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("operation", ["reduce_sum", "softmax", "log_softmax"])
def test_torch_sees_bfloat16_in_the_stored_bits(libraries, operation):
    x = np.full((4, 6, 10), np.float16(0.5).view(np.uint16))  # float16 stands for torch.bfloat16 here
    arrays = {"x": x, "y": np.zeros(1, np.float32) if operation == "reduce_sum" else np.zeros_like(x)}
    prepared("torch", Case(operation, (4, 6, 10), 1, "bfloat16"), arrays)()
    y = arrays["y"] if operation == "reduce_sum" else arrays["y"].view(np.float16)
    assert np.allclose(y, {"reduce_sum": 120, "softmax": 1 / 6, "log_softmax": -np.log(6)}[operation], rtol=1e-3)


def test_torch_without_a_gpu_counts_as_missing(libraries):
    sys.modules["torch"].cuda.is_available = lambda: False
    with pytest.raises(MissingLibrary, match=r"torch 2\.9 sees no GPU"):
        prepared("torch", Case("softmax", (4, 6, 10), -1, "float32"), {"x": None, "y": None})


@pytest.mark.parametrize(
    ("operation", "dtype", "text"),
    [
        *((operation, "bfloat16", "bfloat16") for operation in ("multiply", "relu")),
        *(
            (operation, "bfloat16", "dtype must be float32.*, got bfloat16")
            for operation in ("reduce_sum", *ALLOCATING)
        ),
        *((operation, "float16", "dtype must be float32.*, got float16") for operation in ALLOCATING),
    ],
)
def test_cupy_refuses_types_it_does_not_compute_in_float(libraries, operation, dtype, text):
    with pytest.raises(Unsupported, match=text):
        prepared("cupy", Case(operation, (4, 6, 10), 1, dtype), {})


@pytest.mark.parametrize(("parameters", "reason"), [({"mask": True}, "mask"), ({"scale": 0.5}, r"scale .* got 0\.5")])
@pytest.mark.parametrize("library", ["torch", "cupy", "torch_compile"])
def test_softmax_of_attention_is_refused(libraries, library, parameters, reason):
    case = Case("softmax", (4, 6, 10), -1, "float32", parameters=tuple(parameters.items()))
    with pytest.raises(Unsupported, match=reason):
        prepared(library, case, {})


def test_cupy_adds_up_half_in_float(libraries):
    x = np.linspace(-3, 4, 240, dtype=np.float32).reshape(4, 6, 10).astype(np.float16)
    arrays = {"x": x, "y": np.zeros(1, np.float32)}
    prepared("cupy", Case("reduce_sum", (4, 6, 10), 1, "float16"), arrays)()
    assert arrays["y"][0] == pytest.approx(x.astype(np.float64).sum(), rel=1e-5)


@pytest.mark.parametrize(("library", "case"), CALLS)
def test_a_missing_library_says_how_to_install_it(monkeypatch, library, case):
    monkeypatch.setitem(sys.modules, library, None)  # an import of it fails
    peer = CATALOG.implementations[case.operation][library]
    assert (peer.role, peer.source) == ("peer", None)
    with pytest.raises(MissingLibrary, match=f"{library} is not installed; try: pip install"):
        prepared(library, case, {})
