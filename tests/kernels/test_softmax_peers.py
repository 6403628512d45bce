"""The library peers without their libraries' GPU code, and the plan of the copy they stand beside."""

import sys
from contextlib import contextmanager, nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from kernelbench.core.errors import MissingLibrary, Unsupported
from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog

PEERS = ("torch", "cupy")
STREAM = 1234


def case(dtype="float32", axis=-1, **parameters):
    return Case("softmax", (4, 6, 10), axis, dtype, parameters=tuple(parameters.items()))


class FakeLibrary:
    """Stands for torch or cupy: computes with NumPy, and logs on which stream."""

    def __init__(self) -> None:
        self.stream: int | None = None
        self.log: list[tuple[int | None, str, int]] = []

    @contextmanager
    def on(self, stream):
        self.stream, before = stream, self.stream
        yield
        self.stream = before

    def softmax(self, x, axis):
        self.log.append((self.stream, str(x.dtype), axis))
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)


@pytest.fixture
def torch(monkeypatch):
    fake = FakeLibrary()
    module = ModuleType("torch")

    def softmax(x, dim, out):
        if x.dtype == np.float16 and out.dtype == np.float16:  # what stands for torch.bfloat16 here
            fake.log.append((fake.stream, "viewed", dim))
        else:
            out[...] = fake.softmax(x, dim)

    module.softmax = softmax
    module.as_tensor = lambda array, device: array
    module.bfloat16 = np.float16  # another type of the same size, seen through `view`
    module.no_grad = nullcontext
    module.__version__ = "2.9"
    module.cuda = SimpleNamespace(is_available=lambda: True, ExternalStream=int, stream=fake.on)
    monkeypatch.setitem(sys.modules, "torch", module)
    fake.module = module
    return fake


@pytest.fixture
def cupy(monkeypatch):
    fake = FakeLibrary()
    module = ModuleType("cupy")
    module.asarray = lambda array: array
    module.cuda = SimpleNamespace(ExternalStream=lambda stream: Reentrant(fake, stream))
    special = ModuleType("cupyx.scipy.special")
    special.softmax = fake.softmax
    for name, value in {
        "cupy": module,
        "cupyx": ModuleType("cupyx"),
        "cupyx.scipy": ModuleType("cupyx.scipy"),
        "cupyx.scipy.special": special,
    }.items():
        monkeypatch.setitem(sys.modules, name, value)
    return fake


class Reentrant:
    """A stream that, like CuPy's, can be entered again and again."""

    def __init__(self, fake: FakeLibrary, stream: int) -> None:
        self.fake, self.stream = fake, stream

    def __enter__(self):
        self.fake.stream = self.stream

    def __exit__(self, *exception):
        self.fake.stream = None


def arrays(dtype=np.float32):
    x = np.linspace(-3, 3, 240, dtype=np.float32).reshape(4, 6, 10).astype(dtype)
    return {"x": x, "y": np.zeros_like(x)}


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_torch_writes_into_y_on_the_stream(softmax, torch, axis):
    held = arrays()
    call = softmax["torch"].prepare(case(axis=axis), held, STREAM)
    assert torch.log == []
    assert call() is None
    assert torch.log == [(STREAM, "float32", axis)]
    assert np.allclose(held["y"].sum(axis=axis), 1)


def test_torch_sees_bfloat16_in_the_stored_bits(softmax, torch):
    softmax["torch"].prepare(case("bfloat16"), arrays(np.uint16), STREAM)()
    assert torch.log == [(STREAM, "viewed", -1)]


def test_torch_without_a_gpu_counts_as_missing(softmax, torch):
    torch.module.cuda.is_available = lambda: False
    with pytest.raises(MissingLibrary, match=r"torch 2\.9 sees no GPU"):
        softmax["torch"].prepare(case(), arrays(), STREAM)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_cupy_returns_its_own_output_made_on_the_stream(softmax, cupy, axis):
    held = arrays()
    call = softmax["cupy"].prepare(case(axis=axis), held, STREAM)
    for _ in range(2):
        assert np.allclose(call()["y"].sum(axis=axis), 1)
    assert cupy.log == [(STREAM, "float32", axis)] * 2
    assert not held["y"].any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cupy_refuses_types_it_does_not_compute_in_float(softmax, cupy, dtype):
    with pytest.raises(Unsupported, match=f"dtype must be float32, got {dtype}"):
        softmax["cupy"].prepare(case(dtype), arrays(), STREAM)


@pytest.mark.parametrize("name", PEERS)
def test_a_missing_library_says_how_to_install_it(softmax, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
    with pytest.raises(MissingLibrary, match=rf"{name} is not installed; try: pip install"):
        softmax[name].prepare(case(), arrays(), STREAM)


@pytest.mark.parametrize(("parameters", "reason"), [({"mask": True}, "mask"), ({"scale": 0.5}, r"scale .* got 0\.5")])
@pytest.mark.parametrize("name", PEERS)
def test_refuses_mask_and_scale(softmax, torch, cupy, name, parameters, reason):
    with pytest.raises(Unsupported, match=reason):
        softmax[name].prepare(case(**parameters), arrays(), STREAM)


@pytest.mark.parametrize("name", PEERS)
def test_is_a_peer(softmax, name):
    assert (softmax[name].role, softmax[name].source) == ("peer", None)


@pytest.mark.parametrize(
    ("elements", "dtype", "blocks"),
    [
        (1, "float32", 1),
        (3, "float32", 1),
        (4096, "float32", 1),
        (4099, "float32", 1),
        (4100, "float32", 2),
        (8192, "float16", 1),
        (8200, "bfloat16", 2),
    ],
)
def test_copy_covers_every_whole_pack(softmax, h200, elements, dtype, blocks):
    plan = softmax["copy"].plan(Case("softmax", (elements,), 0, dtype), h200)
    (launch,) = plan.launches
    assert (launch.grid, launch.block) == ((blocks, 1, 1), (256, 1, 1))
    assert launch.arguments == ("x", "y", Scalar("int64", elements))
    assert dict(plan.defines) == {"BLOCK": 256, "PACKS": 4, "STREAMED": 0}


@pytest.mark.parametrize(("name", "packs", "streamed"), [("copy_1", 1, 0), ("copy_streamed", 2, 1)])
def test_further_copies_have_other_packs_in_flight(softmax, h200, name, packs, streamed):
    one = Case("softmax", (10_000,), 0, "float32")
    plan = softmax[name].plan(one, h200)
    assert plan.launches[0].grid == (-(-2500 // (256 * packs)), 1, 1)
    assert dict(plan.defines) == {"BLOCK": 256, "PACKS": packs, "STREAMED": streamed}
    assert (softmax[name].role, softmax[name].source) == ("yardstick", softmax["copy"].source)


def test_memcpy_copies_as_many_bytes_on_the_stream(monkeypatch):
    calls = []
    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(
        runtime=SimpleNamespace(memcpyAsync=lambda *given: calls.append(given), memcpyDeviceToDevice=3)
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for operation, (source, target) in {"softmax": ("x", "y"), "relu_grad": ("dy", "dx")}.items():
        one = Case(operation, (3, 5), -1, "bfloat16")
        memcpy = catalog().implementations[operation]["copy_memcpy"]
        arrays = {name: SimpleNamespace(data=SimpleNamespace(ptr=ptr)) for name, ptr in ((source, 7), (target, 8))}
        call = memcpy.prepare(one, arrays, STREAM)
        assert calls == [], "not before it is asked"
        assert call() is None
        assert calls == [(8, 7, 30, 3, STREAM)]
        assert memcpy.role == "yardstick"
        assert memcpy.reference(np, one, {source: "there"}) == {target: "there"}
        calls.clear()


def test_copy_takes_any_axis_and_is_checked_against_x(softmax, h200):
    copy = softmax["copy"]
    assert copy.role == "yardstick"
    assert copy.plan(case(axis=0), h200) == copy.plan(case(), h200)
    x = arrays()["x"]
    assert copy.reference(np, case(), {"x": x})["y"] is x
