"""One PTX instruction over arrays: how the operations of the simulator are tested.

`apply("add.s32 %d, %a, %b;", "s32", a, b)` gives the result for each element. The last warp has few lanes, so that
every operation runs on whole warps and on parts of one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.simt.bfloats import widened
from tests.simt.harness import Kernels

Array = NDArray[Any]

DTYPES = {
    **{f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"b{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(np.uint16),
    "tf32": np.dtype(np.uint32),
    "pair": np.dtype(np.uint32),  # two numbers of 16 bits
    "pred": np.dtype(np.uint32),  # 0 or 1
}
BLOCK = 96
NAMES = "abce"


def video_inputs() -> Array:
    """Three arrays of u32: all triples of edges, then random ones. An H200's results of them are recorded."""
    random = np.random.default_rng(3)
    edges = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 0x7F80FF01, 0x80007FFF, 31], np.uint32)
    triples = np.stack(np.meshgrid(edges, edges, edges)).reshape(3, -1)
    return np.concatenate([triples, random.integers(0, 2**32, (3, 512)).astype(np.uint32)], 1)


def kernel(
    instructions: str, result: str, sources: Sequence[str], declarations: str = "", target: str = "sm_100"
) -> str:
    """A module whose kernel `k` reads %a, %b, .. of thread i from arrays, runs the instructions, stores %d (%p, if the
    result is a predicate)."""
    pointers = [f".param .u64 p{number}" for number in range(len(sources) + 1)]
    parameters = ", ".join([*pointers, ".param .u32 count"])
    lines = [_load(name, kind, number + 1) for number, (name, kind) in enumerate(zip(NAMES, sources, strict=False))]
    width = _bits(result)
    stored = "selp.u32 %d, 1, 0, %p;" if result == "pred" else ""
    return f"""
.version {8.1 if target == "sm_90" else 8.7}
.target {target}
.address_size 64
.visible .entry k({parameters})
{{
    .reg .pred %p, %q, %r, %past;
    .reg .b32 %thread, %threads, %block, %index, %count;
    .reg .b64 %wide, %base, %address;
    .reg .b{max(width, 16)} %d;
    {declarations}
    {" ".join(f".reg .b{max(_bits(kind), 16)} %{name};" for name, kind in zip(NAMES, sources, strict=False))}
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %block, %ctaid.x;
    mad.lo.s32 %index, %block, %threads, %thread;
    ld.param.u32 %count, [count];
    setp.ge.u32 %past, %index, %count;
    @%past ret;
    cvt.u64.u32 %wide, %index;
    {chr(10).join(lines)}
    {instructions}
    {stored}
    ld.param.u64 %base, [p0];
    mad.lo.u64 %address, %wide, {width // 8}, %base;
    st.global.b{width} [%address], %d;
    ret;
}}
"""


def _bits(kind: str) -> int:
    return 8 * DTYPES[kind].itemsize


def _load(name: str, kind: str, parameter: int) -> str:
    bits = _bits(kind)
    load = f"ld.global.b{bits}" if kind not in ("s8", "u8", "b8") else f"ld.global.{kind.replace('b', 'u')}"
    return f"""
    ld.param.u64 %base, [p{parameter}];
    mad.lo.u64 %address, %wide, {bits // 8}, %base;
    {load} %{name}, [%address];"""


def apply(
    instructions: str,
    result: str,
    *sources: tuple[str, Array],
    declarations: str = "",
    count: int | None = None,
    faulty: bool = False,
) -> Array:
    """The result for each element of the sources (pairs of a type and an array)."""
    elements = len(sources[0][1]) if sources else count or 0
    text = kernel(instructions, result, [kind for kind, _ in sources], declarations)
    target = np.zeros(elements, DTYPES[result])
    arrays = [np.ascontiguousarray(array, DTYPES[kind]) for kind, array in sources]
    assert all(len(array) == elements for array in arrays)
    grid = -(-elements // BLOCK)
    arguments = [target, *arrays, np.uint32(elements)]
    Kernels(text).run("k", grid, BLOCK, *arguments, strict=False, faulty=faulty)
    return target


def integers(kind: str, count: int = 331, seed: int = 1, *, also: Sequence[int] = ()) -> Array:
    """Random numbers of every size, the ends of the range, and `also`."""
    info = np.iinfo(DTYPES[kind])
    generator = np.random.default_rng([seed, info.bits])
    bits = generator.integers(0, 1 << 64, count, dtype=np.uint64) >> generator.integers(0, 64, count, dtype=np.uint64)
    values = [*also, 0, 1, 2, info.max, info.max - 1, info.min, info.min + 1, info.max // 2 + 1]
    numbers = bits.astype(DTYPES[kind])
    if info.min < 0:
        numbers[::2] = -numbers[::2]
        values += [-1, -2]
    edges = np.array([value for value in values if info.min <= value <= info.max], dtype=object)
    numbers[: min(len(edges) * 7, count)] = generator.permutation(np.tile(edges, 7)).astype(DTYPES[kind])[:count]
    return generator.permutation(numbers)


EDGES = {
    "f16": (0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00,
            0x3C01, 0x6400),
    "bf16": (0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0,
             0x3F81, 0x4B00),
    "f32": (0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000,
            0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800001, 0x4B800000),
    "f64": (0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52, 0x3FF0000000000000, 0xBFF0000000000000,
            0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
            0x3FF0000000000001, 0x4340000000000000),
}  # fmt: skip
FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def floats(kind: str, count: int = 331, seed: int = 1) -> Array:
    """Numbers of all sizes, half of them near 1, many with few bits (so that sums and products are halfway between
    two numbers), and every edge: zeros, subnormals, infinities, NaN."""
    dtype = DTYPES[kind]
    width = 8 * dtype.itemsize
    generator = np.random.default_rng([seed, width, FRACTION[kind]])
    unsigned = np.dtype(f"uint{width}")
    bits = generator.integers(0, 1 << 64, count, dtype=np.uint64).astype(unsigned)
    one = EDGES[kind][6]
    near = (bits & unsigned.type((1 << (width - 1)) | ((4 << FRACTION[kind]) - 1))) + unsigned.type(
        one - (2 << FRACTION[kind])
    )
    bits = np.where(generator.random(count) < 0.5, near, bits)
    short = generator.random(count) < 0.4
    mask = unsigned.type(((1 << width) - 1) ^ ((1 << (FRACTION[kind] // 2 + 1)) - 1))
    bits = np.where(short, bits & mask, bits)
    edges = generator.permutation(np.tile(np.array(EDGES[kind], unsigned), 8))
    bits[: len(edges)] = edges[: len(bits)]
    bits = generator.permutation(bits)
    return bits if kind == "bf16" else bits.view(dtype)


def numbers(kind: str, array: Array) -> NDArray[np.float64]:
    """The values of floating-point numbers of a format, as float64."""
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        if kind == "bf16":
            return widened(array).astype(np.float64)
        return array.astype(np.float64)


def as_type(value: int, kind: str, bits: int = 32) -> int:
    """The lowest bits as a number, with a sign if `kind` is s32."""
    value %= 1 << bits
    return value - (1 << bits) if kind == "s32" and value >> (bits - 1) else value


def encode(kind: str, values: NDArray[np.float64]) -> Array:
    """The way back, for values that the format has."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "bf16":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(DTYPES[kind])


def pairs(lower: Array, upper: Array) -> NDArray[np.uint32]:
    """Two arrays of 16-bit elements in one of 32."""
    return lower.view(np.uint16).astype(np.uint32) | upper.view(np.uint16).astype(np.uint32) << 16


def halves(array: Array, dtype: np.dtype[np.generic]) -> tuple[Array, Array]:
    words = array.view(np.uint16)
    return words[0::2].copy().view(dtype), words[1::2].copy().view(dtype)


def assert_same_numbers(kind: str, found: Array, expected: Array) -> None:
    """Bit for bit, except that a NaN is a NaN."""
    unsigned = np.dtype(f"uint{8 * DTYPES[kind].itemsize}")
    a, b = found.view(unsigned), expected.view(unsigned)
    both_nan = np.isnan(numbers(kind, found)) & np.isnan(numbers(kind, expected))
    wrong = np.flatnonzero((a != b) & ~both_nan)
    assert not wrong.size, [(int(i), hex(int(a[i])), hex(int(b[i]))) for i in wrong[:5]]
