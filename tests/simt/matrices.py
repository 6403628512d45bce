"""Products of matrices by tensor cores: CUDA source for each form of mma.sync, fragments as the PTX ISA draws them, and
what NumPy makes of the same numbers. For the simulator and for a GPU alike."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.simt.bfloats import widened

Array = NDArray[Any]
Place = tuple[int, int]

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4,
        "b1": 1, "f32": 32, "s32": 32}  # fmt: skip
INTEGERS = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2), "s32": (-(2**31), 2**31)}
LANES = 32


@dataclass(frozen=True)
class Form:
    """One form of mma.sync: m, n, k; types; "satfinite", "xor" or "and"."""

    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str
    word: str = ""
    layouts: str = "row.col"

    @property
    def name(self) -> str:
        words = (
            f"mma_m{self.m}n{self.n}k{self.k}",
            *self.layouts.split("."),
            self.d,
            self.a,
            self.b,
            self.c,
            self.word,
        )
        return "_".join(filter(None, words))

    @property
    def opcode(self) -> str:
        saturated = ".satfinite" if self.word == "satfinite" else ""
        bits = f".{self.word}.popc" if self.a == "b1" else ""
        shape = f"m{self.m}n{self.n}k{self.k}"
        types = f"{self.d}.{self.a}.{self.b}.{self.c}"
        return f"mma.sync.aligned.{shape}.{self.layouts}{saturated}.{types}{bits}"

    @property
    def quads(self) -> bool:
        return self.k == 4 and self.a == "f16"

    def elements(self, operand: str) -> int:
        """Elements of a lane."""
        rows, columns = self.shape(operand)
        return rows * columns * (4 if self.quads else 1) // LANES

    def shape(self, operand: str) -> Place:
        return {"a": (self.m, self.k), "b": (self.k, self.n)}.get(operand, (self.m, self.n))

    def kind(self, operand: str) -> str:
        return str(getattr(self, operand))

    def registers(self, operand: str) -> int:
        return self.elements(operand) * BITS[self.kind(operand)] // (64 if self.a == "f64" else 32)


def _forms() -> Iterator[Form]:
    for layouts in ("row.col", "row.row", "col.col", "col.row"):
        yield Form(8, 8, 4, "f32", "f16", "f16", "f32", layouts=layouts)
    yield Form(8, 8, 4, "f16", "f16", "f16", "f16")
    for k in (8, 16):
        yield Form(16, 8, k, "f32", "f16", "f16", "f32")
        yield Form(16, 8, k, "f16", "f16", "f16", "f16")
        yield Form(16, 8, k, "f32", "bf16", "bf16", "f32")
    for k in (4, 8):
        yield Form(16, 8, k, "f32", "tf32", "tf32", "f32")
    yield Form(8, 8, 4, "f64", "f64", "f64", "f64")
    for m, k, kinds in ((8, 16, "88"), (16, 16, "88"), (16, 32, "88"), (8, 32, "44"), (16, 32, "44"), (16, 64, "44")):
        for a, b in (("s", "s"), ("u", "u"), ("s", "u"), ("u", "s")):
            form = Form(m, 8, k, "s32", a + kinds[0], b + kinds[1], "s32")
            yield form
        yield replace(form, word="satfinite")
    for m, k in ((8, 128), (16, 128), (16, 256)):
        for word in ("xor", "and"):
            yield Form(m, 8, k, "s32", "b1", "b1", "s32", word)


def _newer() -> Iterator[Form]:
    for k in (4, 8, 16):
        yield Form(16, 8, k, "f64", "f64", "f64", "f64")
    for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("e5m2", "e4m3")):
        yield Form(16, 8, 32, "f32", a, b, "f32")


FORMS = (*_forms(), *_newer())  # those of sm_80, then those of sm_90


def source(forms: tuple[Form, ...] = FORMS) -> str:
    """A kernel per form: register r of lane l is element [r, l] of the arrays a, b, c, d."""
    return "".join(map(_kernel, forms))


def _kernel(form: Form) -> str:
    kind, constraint = ("double", "d") if form.a == "f64" else ("unsigned", "r")
    counts = [form.registers(operand) for operand in "dabc"]
    places, first = [], 0
    for count in counts:
        places.append("{" + ", ".join(f"%{first + k}" for k in range(count)) + "}")
        first += count
    sources = [(x, k) for x, count in zip("abc", counts[1:], strict=True) for k in range(count)]
    given = [f'"{constraint}"({x}[{k} * 32 + i])' for x, k in sources]
    taken = [f'"={constraint}"(d{k})' for k in range(counts[0])]
    arrays = ", ".join(f"const {kind}* {x}" for x in "abc")
    return f"""
extern "C" __global__ void {form.name}({arrays}, {kind}* d) {{
    const int i = threadIdx.x;
    {kind} {", ".join(f"d{k}" for k in range(counts[0]))};
    asm volatile("{form.opcode} {", ".join(places)};" : {", ".join(taken)} : {", ".join(given)});
    {" ".join(f"d[{k} * 32 + i] = d{k};" for k in range(counts[0]))}
}}
"""


# ---- Fragments, as the PTX ISA states them for each shape --------------------------------------------


def place(form: Form, operand: str, lane: int, i: int) -> Place:
    """(row, column) of element i of a lane."""
    group, thread = lane >> 2, lane % 4
    if form.quads:
        return _quad_place(form, operand, lane, i)
    if operand in "cd":
        return group + (8 if i >= 2 else 0), thread * 2 + (i & 1)
    per = max(1, 32 // BITS[form.a])  # elements of a register
    if operand == "b":
        return thread * per + i % per + i // per * 4 * per, group
    register = i // per
    if form.m == 8:
        return group, thread * per + i
    return group + (8 if register % 2 else 0), thread * per + i % per + (4 * per if register >= 2 else 0) + (
        4 * per * (register // 2 - 1) if register >= 4 else 0
    )


def _quad_place(form: Form, operand: str, lane: int, i: int) -> Place:
    upper = 0 if lane < 16 else 4
    a_layout, b_layout = form.layouts.split(".")
    if operand == "a":
        return (lane % 4 + upper, i) if a_layout == "row" else (i % 4 + upper, lane % 4)
    if operand == "b":
        return (lane % 4, i + upper) if b_layout == "row" else (i, lane % 4 + upper)
    if form.kind(operand) == "f16":
        return lane % 4 + upper, i
    return (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)


@cache
def _places(form: Form, operand: str) -> Array:
    """[3, elements, lanes]: which product, row, column."""
    count = form.elements(operand)
    found = np.zeros((3, count, LANES), np.intp)
    for lane in range(LANES):
        for i in range(count):
            found[:, i, lane] = (lane % 16 // 4 if form.quads else 0, *place(form, operand, lane, i))
    return found


def fragments(form: Form, operand: str, codes: Array) -> Array:
    """Registers [registers, lanes] of matrices of bit patterns [products, rows, columns]."""
    which, row, column = _places(form, operand)
    parts = codes[which, row, column]
    bits = BITS[form.kind(operand)]
    if bits == 64:
        return parts.view(np.float64)
    per = 32 // bits
    grouped = parts.reshape(-1, per, LANES).astype(np.uint64)
    shifts = (np.arange(per, dtype=np.uint64) * bits)[None, :, None]
    return (grouped << shifts).sum(1).astype(np.uint32)


def matrices(form: Form, operand: str, registers: Array) -> Array:
    """Bit patterns [products, rows, columns] that registers hold."""
    bits = BITS[form.kind(operand)]
    which, row, column = _places(form, operand)
    found = np.zeros((4 if form.quads else 1, *form.shape(operand)), np.uint64)
    if bits == 64:
        parts = registers.view(np.uint64)
    else:
        per = 32 // bits
        shifts = (np.arange(per, dtype=np.uint64) * bits)[None, :, None]
        parts = ((registers[:, None, :].astype(np.uint64) >> shifts) & (2**bits - 1)).reshape(-1, LANES)
    found[which, row, column] = parts
    return found


# ---- Numbers -----------------------------------------------------------------------------------------


def codes(kind: str, values: Array) -> Array:
    """The bit patterns of values that the type has."""
    bits = BITS[kind]
    if kind in INTEGERS:
        return (values.astype(np.int64) & (2**bits - 1)).astype(np.uint64)
    if kind in ("f16", "f64", "f32", "tf32"):
        dtype = {"f16": np.float16, "f64": np.float64}.get(kind, np.float32)
        whole = {"f16": np.uint16, "f64": np.uint64}.get(kind, np.uint32)
        return values.astype(dtype).view(whole).astype(np.uint64)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64)
    table = np.array([decoded(kind, code) for code in range(256)])
    table[np.isnan(table)] = np.inf
    return np.abs(table - values[..., None]).argmin(-1).astype(np.uint64)


def decoded(kind: str, code: int) -> float:
    """An 8-bit float, by its definition."""
    fraction_bits, bias = (3, 7) if kind == "e4m3" else (2, 15)
    sign, exponent, fraction = -1 if code & 128 else 1, (code & 127) >> fraction_bits, code & (2**fraction_bits - 1)
    if (kind == "e4m3" and code & 127 == 127) or (kind == "e5m2" and exponent == 31):
        return np.nan if fraction or kind == "e4m3" else sign * np.inf
    scaled = fraction / 2**fraction_bits + (exponent > 0)
    return float(sign * scaled * 2.0 ** (max(exponent, 1) - bias))


def values(kind: str, found: Array) -> Array:
    """Numbers of bit patterns, as float64 or int64."""
    if kind in INTEGERS:
        low, _ = INTEGERS[kind]
        signed = found.astype(np.int64)
        return np.where((low < 0) & (signed >= -low), signed + 2 * low, signed)
    if kind == "f64":
        return found.view(np.float64)
    if kind == "f16":
        return found.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "bf16":
        return widened(found).astype(np.float64)
    if kind == "tf32":
        return (found.astype(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)
    if kind == "f32":
        return found.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.array([decoded(kind, code) for code in range(256)])[found.astype(np.intp)]


def draw(form: Form, operand: str, random: np.random.Generator, exact: bool) -> Array:
    """Bit patterns [products, rows, columns]. `exact`: small whole numbers, whose sums every type here has."""
    kind, shape = form.kind(operand), (4 if form.quads else 1, *form.shape(operand))
    if kind == "s32":
        limits = (-(2**20), 2**20) if exact else INTEGERS[kind]
        return codes(kind, random.integers(*limits, shape))
    if kind in INTEGERS:
        return codes(kind, random.integers(*INTEGERS[kind], shape))
    if exact:
        return codes(kind, random.integers(-4, 5, shape).astype(np.float64))
    return codes(kind, random.standard_normal(shape))


def product(form: Form, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """(A B + C, sum of magnitudes), in int64 or float64."""
    left, right, add = (values(form.kind(x), found) for x, found in zip("abc", (a, b, c), strict=True))
    terms = (left[:, :, :, None] ^ right[:, None, :, :]).sum(2) if form.word == "xor" else left @ right
    found = terms + add
    if form.word == "satfinite":
        found = found.clip(-(2**31), 2**31 - 1)
    return found, np.abs(left) @ np.abs(right) + np.abs(add)


def run_arrays(form: Form, seed: int, exact: bool) -> tuple[dict[str, Array], Array, Array]:
    """Arguments a, b, c, d of the form's kernel, the expected product, and the sum of magnitudes."""
    random = np.random.default_rng(seed)
    drawn = {x: draw(form, x, random, exact) for x in "abc"}
    arrays = {x: fragments(form, x, drawn[x]) for x in "abc"}
    dtype = np.float64 if form.a == "f64" else np.uint32
    arrays["d"] = np.zeros((form.registers("d"), LANES), dtype)
    return arrays, *product(form, *drawn.values())
