"""Softmax and layer norm of quack, Liger-Kernel, FlashInfer and Helion without these: what they are handed, and what is
refused by name."""

import multiprocessing
import os
import sys
from contextlib import contextmanager, nullcontext
from math import prod
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from kernelbench.core import libraries, places
from kernelbench.core.errors import MissingLibrary, Unsupported
from kernelbench.core.records import Case
from tests.catalog import catalog
from tests.kernels.fakes import Tensor, layer_norm, softmax

STREAM = 1234
PEERS = {"quack": "quack.softmax", "liger": "liger_kernel.transformers.functional", "flashinfer": "flashinfer.sampling",
         "helion": "helion", "helion_cute": "cutlass"}  # fmt: skip
SOFTMAX, LAYER_NORM = (catalog().implementations[name] for name in ("softmax", "layer_norm"))
each_peer = pytest.mark.parametrize("name", PEERS)


class NoBackEnd(Exception):
    """helion.exc.CuteBackendUnavailable."""


@pytest.fixture
def calls(monkeypatch):
    """The three libraries over NumPy; (peer, stream, shape, options) of each call."""
    seen, streams = [], []

    @contextmanager
    def on(stream):
        streams.append(stream)
        yield
        streams.pop()

    def noted(name, x, **options):
        seen.append((name, streams[-1], x.shape, options))
        return softmax(x)

    def quack(x, y):
        y[...] = noted("quack", x)

    def quack_norm(x, gamma, y, beta, eps, is_layernorm):
        assert is_layernorm
        seen.append(("quack", streams[-1], x.shape, {}))
        y[...] = layer_norm(x, x.shape[-1:], gamma, beta, eps)

    def liger_norm(x, gamma, beta, eps):
        seen.append(("liger", streams[-1], x.shape, {}))
        return layer_norm(x, x.shape[-1:], gamma, beta, eps)

    def helion_kernel(function, backend, **settings):
        name = {"triton": "helion", "cute": "helion_cute"}[backend]

        def run(x, *rest):
            if not seen:  # it tunes
                assert not multiprocessing.current_process().daemon, "Helion's tuner has child processes"
            into = rest[-2] if len(rest) > 1 else rest[-1]
            if len(rest) == 1:
                into[...] = noted(name, x)
            else:
                gamma, beta, _, eps = rest
                seen.append((name, streams[-1], x.shape, {}))
                into[...] = layer_norm(x, x.shape[-1:], gamma, beta, eps)

        return run

    torch, cupy = ModuleType("torch"), ModuleType("cupy")
    torch.as_tensor = lambda array, device: np.ndarray.view(array, Tensor)
    torch.no_grad, torch.__version__, torch.Tensor = nullcontext, "2.9", Tensor
    torch.cuda = SimpleNamespace(is_available=lambda: True, ExternalStream=int, stream=on)
    cupy.asarray = np.asarray
    modules = {
        "quack.softmax": {"_softmax_fwd": quack},
        "quack.rmsnorm": {"_rmsnorm_fwd": quack_norm},
        "liger_kernel.transformers.functional": {
            "liger_softmax": lambda x: noted("liger", x),
            "liger_layer_norm": liger_norm,
        },
        "helion.language": {},
        "helion": {"kernel": helion_kernel, "exc": SimpleNamespace(CuteBackendUnavailable=NoBackEnd)},
        "cutlass": {},
        "flashinfer.sampling": {"softmax": lambda x, **options: noted("flashinfer", x, **options)},
    }
    for path, functions in modules.items():
        for depth in range(1, path.count(".") + 2):
            part = ".".join(path.split(".")[:depth])
            monkeypatch.setitem(sys.modules, part, ModuleType(part))
        vars(sys.modules[path]).update(functions)
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # as a worker is
    for module in [name for name in sys.modules if name.endswith(".helion_tiles")]:  # over the fakes of an earlier test
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return seen


def held(shape):
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    return {"x": x, "y": np.zeros_like(x)}


@each_peer
def test_rows_are_handed_over_on_the_stream(calls, name):
    arrays = held((4, 6, 8))
    call = SOFTMAX[name].prepare(Case("softmax", (4, 6, 8), -1, "float32"), arrays, STREAM)
    assert len(calls) == 1, "has run once, which compiles it"
    arrays["y"][...] = 0
    got = {**arrays, **(call() or {})}["y"]
    np.testing.assert_allclose(got, softmax(arrays["x"].reshape(24, 8)).reshape(4, 6, 8), rtol=1e-6)
    options = {"enable_pdl": False} if name == "flashinfer" else {}
    assert calls == 2 * [(name, STREAM, (24, 8), options)]


@pytest.mark.parametrize(
    ("name", "case", "reason"),
    [
        ("quack", Case("softmax", (6, 8), 0, "float32"), "axis must be the last, got 0"),
        ("quack", Case("softmax", (6, 6), -1, "float32"), "columns must be a multiple of 4, got 6"),
        ("quack", Case("softmax", (6, 12), -1, "bfloat16"), "columns must be a multiple of 8, got 12"),
        ("liger", Case("softmax", (6, 8), 0, "float32"), "axis must be the last, got 0"),
        ("liger", Case("softmax", (6, 65537), -1, "float32"), "columns must be at most 65536, got 65537"),
        ("helion", Case("softmax", (6, 8), 0, "float32"), "axis must be the last, got 0"),
        ("flashinfer", Case("softmax", (6, 8), 0, "float32"), "axis must be the last, got 0"),
        ("flashinfer", Case("softmax", (6, 8), -1, "bfloat16"), "dtype must be float32, got bfloat16"),
        *((name, Case("softmax", (6, 8), -1, "float32", parameters=(("scale", 0.5),)), "scale") for name in PEERS),
    ],
)
def test_what_a_library_has_not_is_refused_by_name(calls, name, case, reason):
    with pytest.raises(Unsupported, match=reason):
        SOFTMAX[name].prepare(case, held(case.shape), STREAM)
    assert not calls


def beginning(beyond, shape):
    """An array that begins so many elements beyond a multiple of 16 bytes."""
    memory = np.zeros(prod(shape) + 8, np.float32)
    first = -(memory.ctypes.data // 4) % 4 + beyond
    return memory[first : first + prod(shape)].reshape(shape)


@pytest.mark.parametrize(
    ("name", "unaligned", "columns", "bytes_"),
    [("flashinfer", "x", 8, 16), ("flashinfer", "x", 6, 8), ("quack", "x", 8, 16), ("quack", "y", 8, 16)],
)
def test_an_array_that_begins_within_a_pack_is_refused(calls, name, unaligned, columns, bytes_):
    shape = (6, columns)
    arrays = {one: beginning(one == unaligned, shape) for one in "xy"}
    text = f"{unaligned} must begin at a multiple of {bytes_} bytes, got 4 bytes beyond one"
    with pytest.raises(Unsupported, match=text):
        SOFTMAX[name].prepare(Case("softmax", shape, -1, "float32"), arrays, STREAM)
    assert not calls


@pytest.mark.parametrize("unaligned", ["x", "y", "gamma", "beta"])
def test_quack_normalises_no_array_that_begins_within_a_pack(calls, unaligned):
    arrays = {one: beginning(one == unaligned, (8,) if len(one) > 1 else (6, 8)) for one in ("x", "y", "gamma", "beta")}
    with pytest.raises(Unsupported, match=f"{unaligned} must begin at a multiple of 16 bytes"):
        LAYER_NORM["quack"].prepare(Case("layer_norm", (6, 8), -1, "float32"), arrays, STREAM)
    assert not calls


@pytest.mark.parametrize(("columns", "beyond"), [(7, 1), (6, 2), (8, 0)])
def test_flashinfer_loads_no_more_at_once_than_a_row_holds_whole(calls, columns, beyond):
    arrays = {one: beginning(beyond, (6, columns)) for one in "xy"}
    SOFTMAX["flashinfer"].prepare(Case("softmax", (6, columns), -1, "float32"), arrays, STREAM)
    assert len(calls) == 1


@each_peer
def test_a_missing_library_names_the_extra_that_brings_it(calls, monkeypatch, name):
    monkeypatch.setitem(sys.modules, PEERS[name], None)  # an import of it fails
    assert SOFTMAX[name].role == "peer"
    extra = name.partition("_")[0]
    with pytest.raises(MissingLibrary, match=rf"is not installed; try: pip install -e '.*\[{extra}\]'"):
        SOFTMAX[name].prepare(Case("softmax", (6, 8), -1, "float32"), held((6, 8)), STREAM)


def test_versions_that_helions_back_end_refuses_are_said_in_a_line(calls, monkeypatch):
    def refuse(shape):
        raise NoBackEnd("the 'cute' backend cannot run in this environment: it is too old\nIt requires more.")

    SOFTMAX["helion_cute"].prepare(Case("softmax", (6, 8), -1, "float32"), held((6, 8)), STREAM)  # imports the tiles
    calls.clear()
    monkeypatch.setattr("tests.kernels.test_library_peers.softmax", refuse)
    with pytest.raises(MissingLibrary, match=r"^the 'cute' backend cannot run in this environment: it is too old$"):
        SOFTMAX["helion_cute"].prepare(Case("softmax", (6, 8), -1, "float32"), held((6, 8)), STREAM)
    assert multiprocessing.current_process()._config["daemon"], "as it was"


def test_fast_exponentials_are_said(calls):
    assert {name: SOFTMAX[name].arithmetic for name in PEERS} == {
        "quack": "fast", "liger": "accurate", "flashinfer": "fast", "helion": "accurate",
        "helion_cute": "accurate",
    }  # fmt: skip


def test_what_libraries_compile_is_kept_below_our_cache_unless_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.setattr(places, "cache", lambda: tmp_path)
    for variable in libraries.CACHES:
        monkeypatch.setenv(variable, "")  # so that it is put back afterwards
        monkeypatch.delenv(variable)
    monkeypatch.setenv("TRITON_CACHE_DIR", "/elsewhere")
    libraries.import_library("json")
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(tmp_path / "torch_compile")
    assert os.environ["TRITON_CACHE_DIR"] == "/elsewhere"


@pytest.mark.parametrize("name", ["quack", "liger", "helion", "helion_cute"])
def test_rows_and_weights_of_layer_norm_are_handed_over_on_the_stream(calls, name):
    rng = np.random.default_rng(4)
    arrays = held((4, 6, 8)) | {one: rng.normal(size=8).astype(np.float32) for one in ("gamma", "beta")}
    call = LAYER_NORM[name].prepare(Case("layer_norm", (4, 6, 8), -1, "float32"), arrays, STREAM)
    arrays["y"][...] = 0
    got = {**arrays, **(call() or {})}["y"]
    expected = layer_norm(arrays["x"], (8,), arrays["gamma"], arrays["beta"], 1e-5)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert calls == 2 * [(name, STREAM, (24, 8), {})]


@pytest.mark.parametrize(
    ("name", "case", "reason"),
    [
        ("quack", Case("layer_norm", (6, 6), -1, "float32"), "columns must be a multiple of 4, got 6"),
        ("liger", Case("layer_norm", (6, 65537), -1, "float32"), "columns must be at most 65536, got 65537"),
        ("triton", Case("layer_norm", (6, 32769), -1, "float32"), "columns must be at most 32768, got 32769"),
        *((name, Case("layer_norm", (6, 8), 0, "float32"), "axis must be the last")
          for name in ("quack", "liger", "helion", "triton", "torch_compile")),
    ],
)  # fmt: skip
def test_what_a_layer_norm_has_not_is_refused_by_name(calls, name, case, reason):
    with pytest.raises(Unsupported, match=reason):
        LAYER_NORM[name].prepare(case, held(case.shape), STREAM)
    assert not calls


def test_torch_is_asked_for_no_more_rows_than_a_grid_has_blocks():
    """Its layer_norm would raise a RuntimeError."""
    with pytest.raises(Unsupported, match="rows must be at most 2147483647, got 2147483648"):
        LAYER_NORM["torch"].prepare(Case("layer_norm", (2**31, 1), -1, "float16"), {}, STREAM)
