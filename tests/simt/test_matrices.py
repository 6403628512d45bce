"""mma.sync, wmma, ldmatrix, stmatrix and movmatrix against NumPy."""

from typing import Any

import numpy as np
import pytest

from kernelbench.core.errors import PtxError
from tests.simt.harness import Compile, Kernels, Load
from tests.simt.matrices import FORMS, Form, codes, matrices, run_arrays, source, values

pytestmark = pytest.mark.nvcc
ROUNDING = {"f16": 2.0**-11, "f32": 2.0**-24}


@pytest.fixture(scope="module")
def products(compile_text: Compile) -> Kernels:
    return compile_text(source())


@pytest.fixture(scope="module")
def matrix(load: Load) -> Kernels:
    return load("matrix")


def run(kernels: Kernels, form: Form, exact: bool) -> tuple[Any, Any, Any]:
    arrays, expected, magnitudes = run_arrays(form, 3, exact)
    kernels.run(form.name, 1, 32, *arrays.values())
    return matrices(form, "d", arrays["d"]), expected, magnitudes


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_products_that_are_exact(products: Kernels, form: Form) -> None:
    """Integers, bits and small whole numbers as floats: every bit."""
    found, expected, _ = run(products, form, exact=True)
    np.testing.assert_array_equal(found, codes(form.d, expected))


@pytest.mark.parametrize("form", [form for form in FORMS if form.d != "f64"], ids=lambda form: form.name)
def test_products_of_any_numbers(products: Kernels, form: Form) -> None:
    """Integers wrap or saturate; floats are rounded once. The sum in float64 adds an error that is far smaller."""
    found, expected, magnitudes = run(products, form, exact=False)
    if form.d == "s32":
        np.testing.assert_array_equal(found, codes(form.d, expected))
    else:
        error = np.abs(values(form.d, found) - expected)
        assert (error <= ROUNDING[form.d] * np.abs(expected) + 2.0**-45 * magnitudes).all()


@pytest.mark.parametrize("form", [form for form in FORMS if form.d == "f64"], ids=lambda form: form.name)
def test_products_of_doubles(products: Kernels, form: Form) -> None:
    found, expected, magnitudes = run(products, form, exact=False)
    assert (np.abs(values("f64", found) - expected) <= form.k * 2.0**-52 * magnitudes).all()


def test_infinities_and_nan_pass(products: Kernels) -> None:
    form = next(form for form in FORMS if (form.d, form.a, form.k) == ("f32", "bf16", 8))
    arrays, _, _ = run_arrays(form, 1, exact=True)
    arrays["c"][0, :3] = np.array([np.inf, -np.inf, np.nan], np.float32).view(np.uint32)
    products.run(form.name, 1, 32, *arrays.values())
    found = arrays["d"][0, :3].view(np.float32)
    assert (found[0], found[1], np.isnan(found[2])) == (np.inf, -np.inf, True)


@pytest.mark.parametrize("trans", ["", "_trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_and_stmatrix(matrix: Kernels, count: int, trans: str) -> None:
    """Lane l holds elements 2 l and 2 l + 1 of each 8 x 8 matrix, whose rows lie in any order."""
    x = np.random.default_rng(count).integers(0, 2**16, (4, 8, 8)).astype(np.uint16)
    y, z = np.zeros((4, 32), np.uint32), np.zeros_like(x)
    report = matrix.run(f"rows_x{count}{trans}", 1, 32, x, y, z)
    fragments = y[:count].view(np.uint16).reshape(count, 8, 8)
    np.testing.assert_array_equal(fragments, x[:count].swapaxes(1, 2) if trans else x[:count])
    np.testing.assert_array_equal(z[:count], x[:count])
    rows = {"ldmatrix": "shared_load", "stmatrix": "shared_store"}
    one = {name: row for name, row in zip(report.names, report.report.counters, strict=True) if name in rows}
    assert {name: int(row["wavefronts"]) for name, row in one.items()} == {"ldmatrix": count, "stmatrix": count}


def test_movmatrix_transposes(matrix: Kernels) -> None:
    x = np.arange(64, dtype=np.uint16).reshape(8, 8)
    y = np.zeros_like(x)
    matrix.run("moved", 1, 32, x, y)
    np.testing.assert_array_equal(y, x.T)


WMMA = [f"wmma_{kind}_{a}_{b}_{c}" for kind in ("half_16_16", "half_32_8", "half_8_32", "bfloat_16_16", "signed_16_16",
        "unsigned_32_8", "tf32_16_16") for a in ("row", "col") for b in ("row", "col") for c in ("row",)]  # fmt: skip


@pytest.mark.parametrize("entry", [*WMMA, "wmma_half_16_16_row_col_col", "wmma_double_8_8_row_col_row"])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_wmma(matrix: Kernels, entry: str, space: str) -> None:
    """Small whole numbers, so that every bit is determined; leading dimensions are larger than the matrices."""
    _, kind, *sizes, a_layout, b_layout, c_layout = entry.split("_")
    m, n = map(int, sizes)
    k = {"tf32": 8, "double": 4}.get(kind, 16)
    dtype = {"half": np.float16, "signed": np.int8, "unsigned": np.uint8, "tf32": np.float32, "double": np.float64}
    sums = {"signed": np.int32, "unsigned": np.int32, "double": np.float64}.get(kind, np.float32)
    random = np.random.default_rng(5)
    a, b = (random.integers(0 if kind == "unsigned" else -4, 9, shape) for shape in ((m, k), (k, n)))
    c = random.integers(-99, 99, (m, n))
    given = [padded(x, layout, dtype.get(kind, np.float32)) for x, layout in ((a, a_layout), (b, b_layout))]
    if kind == "bfloat":
        given = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in given]
    d = padded(c, c_layout, sums)
    matrix.run(f"{entry}_{space}", 1, 32, *given, d)
    np.testing.assert_array_equal(d, padded(a @ b + c, c_layout, sums))


def padded(x: Any, layout: str, dtype: Any) -> Any:
    """The matrix in its layout, with 16 more elements after each row or column; 0 there."""
    lines = x if layout == "row" else x.T
    return np.pad(lines, ((0, 0), (0, 16))).astype(dtype)


@pytest.mark.parametrize(("entry", "step"), [("wmma_nibbles", 32), ("wmma_bits", 128)])
def test_wmma_of_less_than_a_byte(matrix: Kernels, entry: str, step: int) -> None:
    random = np.random.default_rng(6)
    kind = "b1" if step == 128 else "s4"
    a, b = (random.integers(0, 2, (8, step)) if kind == "b1" else random.integers(-8, 8, (8, step)) for _ in range(2))
    bits = 32 * 4 // step
    per = 32 // bits
    words = [(codes(kind, x).reshape(8, -1, per) << (np.arange(per, dtype=np.uint64) * bits)).sum(-1) for x in (a, b)]
    d = np.zeros((8, 8), np.int32)
    matrix.run(entry, 1, 32, *(x.astype(np.uint32) for x in words), d)
    expected = (a[:, None, :] ^ b[None, :, :]).sum(-1) if kind == "b1" else a @ b.T
    np.testing.assert_array_equal(d, expected)


def test_a_warp_that_is_not_whole(products: Kernels) -> None:
    form = FORMS[-1]
    arrays, _, _ = run_arrays(form, 1, exact=True)
    done = products.run(form.name, 1, 20, *arrays.values(), faulty=True)
    assert any("does not participate" in fault and "lane 20" in fault for fault in done.faults)


FOUR, TWO = "{%r1, %r2, %r3, %r4}", "{%r1, %r2}"
HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>; .reg .b64 %rd<3>;\n"


@pytest.mark.parametrize(
    "line",
    [
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 FOUR,FOUR,TWO,FOUR;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 FOUR,FOUR,TWO,FOUR;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 TWO,FOUR,TWO,FOUR;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 FOUR,TWO,TWO,FOUR,%r5,0;",
        "wmma.load.a.sync.aligned.row.m8n8k4.f16 {%r1}, [%rd1], %r2;",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r1}, [%r2];",
        "movmatrix.sync.aligned.m8n8.b16 %r1, %r2;",
    ],
)
def test_other_forms_are_refused_by_name(line: str) -> None:
    with pytest.raises(PtxError, match=line.split(maxsplit=1)[0].split("{", maxsplit=1)[0].replace(".", r"\.")):
        Kernels(f"{HEAD}{line.replace('FOUR', FOUR).replace('TWO', TWO)}\nret;\n}}").program("k")
