"""Instructions on this GPU and on the simulator, from one source: bits compared, sums of tensor cores by a bound."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.core.records import Binary
from kernelbench.simt import Texture, simulate
from tests.gpu.conftest import Compiled
from tests.simt.matrices import FORMS, Form, codes, matrices, run_arrays, source, values
from tests.simt.operations import video_inputs

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]

Arrays = Sequence[NDArray[Any]]
KERNELS = Path(__file__).parent.parent / "simt" / "kernels"
# Error of a tensor core's sum per term, relative to the sum of magnitudes: sums of 8-bit floats keep about 13 bits.
PER_TERM = {"f16": 2.0**-22, "bf16": 2.0**-22, "tf32": 2.0**-22, "e4m3": 2.0**-13, "e5m2": 2.0**-13, "f64": 2.0**-52}
ROUNDING = {"f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}
VIDEO = [
    *(f"v{name}.{types}{sat}.{more}" for name in ("add", "sub", "absdiff", "min", "max") for sat in ("", ".sat")
      for types in ("s32.s32.s32", "u32.s32.u32", "s32.u32.u32", "u32.u32.u32") for more in ("add", "max")),
    *(f"v{name}{count}.{types}{more}" for name in ("add", "sub", "avrg", "absdiff", "min", "max") for count in "24"
      for types in ("s32.s32.s32", "u32.s32.u32", "u32.u32.u32") for more in ("", ".sat", ".add")),
    *(f"vset{count}.{types}.{word}.add" for count in ("", "2", "4") for types in ("s32.u32", "u32.u32") for word in
      ("eq", "lt", "ge")),
    *(f"v{name}.{types}.u32{sat}.{mode}.add" for name in ("shl", "shr") for types in ("s32.s32", "u32.u32")
      for sat in ("", ".sat") for mode in ("clamp", "wrap")),
    *(f"vmad.{types}{more}" for types in ("s32.s32.s32", "u32.u32.u32", "s32.u32.s32") for more in
      ("", ".po", ".sat", ".shr7", ".shr15")),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _hopper(device: Any) -> None:
    if int(device.properties.architecture.removeprefix("sm_").rstrip("af")) < 90:
        pytest.skip("these instructions need sm_90")


def on_both(binary: Binary, entry: str, block: int, arrays: Arrays, grid: int = 1) -> list[tuple[Any, Any]]:
    """Each array after the launch: (of the GPU, of the simulator)."""
    import cupy

    given = [cupy.asarray(array) for array in arrays]
    cupy.RawModule(path=str(binary.path)).get_function(entry)((grid,), (block,), tuple(given))
    named = {f"array{number}": array for number, array in enumerate(arrays)}
    run = simulate(binary.ptx_path.read_text(), entry, grid, block, named)
    assert not run.faults
    return [(cupy.asnumpy(one), run.outputs[name]) for one, name in zip(given, named, strict=True)]


def same_bits(binary: Binary, entry: str, block: int, arrays: Arrays, grid: int = 1) -> None:
    for of_gpu, of_simulator in on_both(binary, entry, block, arrays, grid):
        np.testing.assert_array_equal(of_gpu.view(np.uint8), of_simulator.view(np.uint8), err_msg=entry)


@pytest.mark.timeout(300)
def test_matrix_products(compiled: Compiled) -> None:
    """Exact products in every bit; others within a bound of each other, integers in every bit again."""
    binary = compiled(source())
    for form in FORMS:
        arrays, expected, _ = run_arrays(form, 5, exact=True)
        of_gpu, of_simulator = on_both(binary, form.name, 32, list(arrays.values()))[-1]
        np.testing.assert_array_equal(of_gpu, of_simulator, err_msg=form.name)
        np.testing.assert_array_equal(matrices(form, "d", of_gpu), codes(form.d, expected), err_msg=form.name)
        check_any_numbers(binary, form)


def check_any_numbers(binary: Binary, form: Form) -> None:
    arrays, expected, magnitudes = run_arrays(form, 6, exact=False)
    of_gpu, of_simulator = on_both(binary, form.name, 32, list(arrays.values()))[-1]
    if form.d == "s32":
        np.testing.assert_array_equal(of_gpu, of_simulator, err_msg=form.name)
        return
    found, simulated = (values(form.d, matrices(form, "d", one)) for one in (of_gpu, of_simulator))
    bound = (form.k + 1) * PER_TERM[form.a] * magnitudes + 2 * ROUNDING[form.d] * np.abs(expected)
    assert (np.abs(found - simulated) <= bound).all(), form.name


def test_rows_of_matrices(compiled: Compiled) -> None:
    binary = compiled((KERNELS / "matrix.cu").read_text())
    x = np.random.default_rng(1).integers(0, 2**16, (4, 8, 8)).astype(np.uint16)
    for count in (1, 2, 4):
        for suffix in ("", "_trans"):
            same_bits(binary, f"rows_x{count}{suffix}", 32, [x, np.zeros((4, 32), np.uint32), np.zeros_like(x)])
    same_bits(binary, "moved", 32, [x[0], np.zeros_like(x[0])])


@pytest.mark.parametrize(
    ("entry", "given", "sums"),
    [("half_16_16", np.float16, np.float32), ("half_32_8", np.float16, np.float32), ("signed_16_16", np.int8, np.int32),
     ("tf32_16_16", np.float32, np.float32)],
)  # fmt: skip
def test_wmma(compiled: Compiled, entry: str, given: Any, sums: Any) -> None:
    """Small whole numbers in arrays that are large enough for every shape, so that sums are exact."""
    binary = compiled((KERNELS / "matrix.cu").read_text())
    random = np.random.default_rng(2)
    for layouts in ("row_row", "row_col", "col_row", "col_col"):
        for space in ("global", "shared"):
            arrays = [random.integers(-4, 5, 2048).astype(kind) for kind in (given, given, sums)]
            same_bits(binary, f"wmma_{entry}_{layouts}_row_{space}", 32, arrays)


def test_video_instructions(compiled: Compiled) -> None:
    lines = [_video(number, opcode) for number, opcode in enumerate(VIDEO)]
    binary = compiled("\n".join(lines))
    x = video_inputs()
    other = {}
    for number, opcode in enumerate(VIDEO):
        for of_gpu, of_simulator in on_both(binary, f"video{number}", 1024, [*x, np.zeros(1024, np.uint32)]):
            places = np.flatnonzero(of_gpu != of_simulator)
            if places.size:
                given = [hex(one[places[0]]) for one in (*x, of_gpu, of_simulator)]
                other[opcode] = f"{places.size} other, first of {given[:3]}: {given[3]} here, {given[4]} simulated"
    assert other == {}


def _video(number: int, opcode: str) -> str:
    arrays = "const unsigned* a, const unsigned* b, const unsigned* c, unsigned* d"
    return f"""extern "C" __global__ void video{number}({arrays}) {{
    const int i = threadIdx.x;
    unsigned result;
    asm volatile("{opcode} %0, %1, %2, %3;" : "=r"(result) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
    d[i] = result;
}}"""


def test_vector_atomics_and_large_tiles(compiled: Compiled) -> None:
    """Sums of small whole numbers, which are the same in any order."""
    binary = compiled((KERNELS / "vectors.cu").read_text())
    random = np.random.default_rng(4)
    same_bits(binary, "add_float4", 100, [np.zeros((5, 4), np.float32)], grid=2)
    x = random.integers(-20, 20, (32, 8)).astype(np.float16)
    for name in ("add", "min", "max"):
        same_bits(binary, f"{name}_f16x2", 32, [np.zeros((2, 8), np.float16), x])
    same_bits(binary, "large_tiles", 256, [random.integers(0, 99, 256).astype(np.int32), np.zeros(256, np.int32)])


def test_calls_through_pointers(compiled: Compiled) -> None:
    binary = compiled((KERNELS / "pointers.cu").read_text())
    which = np.array([0, 1, 1, 0] * 12, np.int32)
    for entry in ("from_a_table", "methods"):
        same_bits(binary, entry, 48, [which, np.zeros(48, np.float32)])


@pytest.mark.parametrize("filter", ["point", "linear"])
@pytest.mark.parametrize(
    ("address", "normalized"), [("clamp", False), ("border", False), ("wrap", True), ("mirror", True)]
)
def test_textures(compiled: Compiled, filter: str, address: str, normalized: bool) -> None:
    """Point fetches in every bit; linear ones within a step of a weight, which has 8 bits behind the point."""
    import cupy
    from cupy.cuda import runtime, texture

    binary = compiled((KERNELS / "textures.cu").read_text())
    image = np.random.default_rng(5).integers(-64, 64, (4, 8)).astype(np.float32)
    normalized = address in ("wrap", "mirror")
    texels = (np.random.default_rng(6).integers(-128, 256, (64, 2)) + 0.5) / 16  # never at an edge of a texel
    at = (texels / ((8, 4) if normalized else 1)).astype(np.float32)
    kind = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    held = texture.CUDAarray(kind, image.shape[1], image.shape[0])
    held.copy_from(image)
    mode = getattr(runtime, f"cudaAddressMode{address.capitalize()}")
    form = texture.TextureDescriptor(
        (mode, mode),
        getattr(runtime, f"cudaFilterMode{filter.capitalize()}"),
        runtime.cudaReadModeElementType,
        normalizedCoords=int(normalized),
    )
    handle = texture.TextureObject(texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=held), form)
    found = cupy.zeros(64, cupy.float32)
    cupy.RawModule(path=str(binary.path)).get_function("sample_2d")((1,), (64,), (handle, cupy.asarray(at), found))
    ours = Texture(image, filter=filter, address=address, normalized=normalized)
    run = simulate(
        binary.ptx_path.read_text(), "sample_2d", 1, 64, {"t": ours, "at": at, "y": np.zeros(64, np.float32)}
    )
    error = np.abs(cupy.asnumpy(found) - run.outputs["y"])
    assert error.max() <= (0 if filter == "point" else 2 * np.ptp(image) / 256)
