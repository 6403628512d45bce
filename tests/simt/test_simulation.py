"""The library interface `simulate`: arrays in, arrays, counters and faults out."""

import dataclasses

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError, PtxError
from kernelbench.simt import kernel_named, simulate
from kernelbench.simt.parse import parse
from tests.simt.harness import Load

pytestmark = pytest.mark.nvcc


@pytest.fixture(scope="module")
def ptx(load: Load) -> str:
    return load("scan").text


def arrays(rows: int = 3) -> dict[str, np.ndarray | np.generic]:
    x = np.random.default_rng(1).standard_normal((rows, 128), np.float32)
    return {"x": x, "y": np.zeros_like(x), "n": np.int32(128)}


def test_outputs_counters_and_no_faults(ptx: str) -> None:
    given = arrays()
    run = simulate(ptx, "scan", 3, 128, given, shared_bytes=1024, strict=True)
    np.testing.assert_allclose(run.outputs["y"], np.cumsum(given["x"], 1), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(run.outputs["x"], given["x"])
    assert not np.any(given["y"]), "the caller's array is never changed"
    assert run.ended
    assert not run.faults
    assert not run.notes
    assert run.counters.global_load_sectors == 3 * 128 * 4 // 32
    assert sum(line.barriers for line in run.lines.values()) == run.counters.barriers == 3 * 4 * 8


def test_a_race_is_a_fault_with_its_place(ptx: str) -> None:
    run = simulate(ptx, "scan_in_place", 3, 128, arrays(), shared_bytes=512, strict=True)
    assert {fault.kind for fault in run.faults} == {"shared_race", "warp_race"}
    assert all(str(fault).startswith("scan.cu:27: ") for fault in run.faults)
    assert not simulate(ptx, "scan_in_place", 3, 128, arrays(), shared_bytes=512).faults, (
        "only --strict looks for races"
    )


def test_the_result_is_frozen(ptx: str) -> None:
    run = simulate(ptx, "scan", 1, 128, arrays(1), shared_bytes=1024)
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.ended = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        run.outputs["y"] = np.zeros(1)  # type: ignore[index]


def test_an_array_that_is_passed_twice_is_one_array(ptx: str) -> None:
    x = np.ones((2, 128), np.float32)
    run = simulate(ptx, "scan", 2, 128, {"x": x, "y": x, "n": np.int32(128)}, shared_bytes=1024)
    np.testing.assert_array_equal(run.outputs["x"], np.tile(np.arange(1, 129), (2, 1)))
    np.testing.assert_array_equal(run.outputs["y"], run.outputs["x"])


@pytest.mark.parametrize("kind", [">f4", "O"])
def test_arrays_that_are_no_numbers_of_this_machine_are_refused(ptx: str, kind: str) -> None:
    x = np.ones((4, 256), kind)
    with pytest.raises(DeviceError, match="array x: expected numbers in this machine's byte order, got "):
        simulate(ptx, "scan", 4, 256, {"x": x, "y": np.zeros((4, 256), np.float32), "n": np.int32(256)}, 2048)


def test_what_a_gpu_would_refuse(ptx: str) -> None:
    with pytest.raises(DeviceError, match=r"block \(2048,\)"):
        simulate(ptx, "scan", 1, 2048, arrays(1))
    with pytest.raises(DeviceError, match="2 arguments for 3"):
        simulate(ptx, "scan", 1, 128, {"x": np.ones(4, np.float32), "n": np.int32(1)})


def test_names_of_kernels() -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    module = parse(
        text + "".join(f".visible .entry {name}() {{ ret; }}\n" for name in ("_Z4axpyIfEvv", "_Z4axpyIdEvv", "f"))
    )
    assert kernel_named(module, "f") == "f"
    assert kernel_named(module, "_Z4axpyIdEvv") == "_Z4axpyIdEvv"
    with pytest.raises(PtxError, match="2 kernels are called 'axpy'; it has _Z4axpyIfEvv, _Z4axpyIdEvv, f"):
        kernel_named(module, "axpy")
    with pytest.raises(PtxError, match="'xpy' is not in the PTX"):
        kernel_named(module, "xpy")
    with pytest.raises(PtxError, match="3 kernels; it has"):
        kernel_named(module)
