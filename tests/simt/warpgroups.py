"""PTX kernels with one wgmma.mma_async each, and matrices laid out for its descriptors as the PTX ISA draws them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelbench.simt import Simulation, simulate

ROWS, THREADS, SHARED = 64, 128, 65536
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1, "f32": 32, "s32": 32}
MODES = {0: 0, 128: 1, 64: 2, 32: 3}  # of a descriptor, by bytes of the swizzle
Codes = NDArray[Any]  # of elements, as unsigned numbers of their width; bits as bytes of 0 and 1


@dataclass(frozen=True)
class Form:
    """One form of wgmma. `swizzle`: bytes, of both matrices. `across_a`, `across_b`: M or N is contiguous, not K."""

    n: int
    d: str
    a: str
    b: str
    swizzle: int = 0
    across_a: bool = False
    across_b: bool = False
    a_in_registers: bool = False
    signs: tuple[int, int] = (1, 1)
    satfinite: bool = False

    @property
    def k(self) -> int:
        return 256 // BITS[self.a]

    @property
    def registers(self) -> int:
        return ROWS * self.n * BITS[self.d] // (32 * THREADS)

    @property
    def instruction(self) -> str:
        words = [f"wgmma.mma_async.sync.aligned.m64n{self.n}k{self.k}.{self.d}.{self.a}.{self.b}"]
        words += ["satfinite"] if self.satfinite else []
        words += ["and.popc"] if self.a == "b1" else []
        sums = ", ".join(f"%d{i}" for i in range(self.registers))
        a = "{%a0, %a1, %a2, %a3}" if self.a_in_registers else "%rda"
        constants = [str(sign) for sign in self.signs] if self.a not in ("s8", "u8", "b1") else []
        if self.a in ("f16", "bf16"):
            constants += [] if self.a_in_registers else [str(int(self.across_a))]
            constants += [str(int(self.across_b))]
        return f"{'.'.join(words)} {{{sums}}}, {', '.join([a, '%rdb', '%keeps', *constants])};"


def ptx(form: Form) -> str:
    """y = A B + x, where `image` is all of shared memory and `a` A's registers."""
    n = form.registers
    stride = 4 * THREADS
    return f"""
.version 8.5
.target sm_90a
.address_size 64
.visible .entry product(.param .u64 image, .param .u64 x, .param .u64 a, .param .u64 y,
                        .param .u64 at_a, .param .u64 at_b, .param .u32 keeps)
{{
    .reg .pred %p, %keeps; .reg .b32 %r<8>, %d<{n}>, %a<4>; .reg .b64 %rd<10>, %rda, %rdb;
    .shared .align 1024 .b8 memory[{SHARED}];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, memory;
    ld.param.u64 %rd0, [image];
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd0, %rd0, %rd1;
    shl.b32 %r2, %r0, 2;
    add.u32 %r3, %r1, %r2;
    mov.u32 %r4, {SHARED // stride};
COPY:
    ld.global.b32 %r5, [%rd0];
    st.shared.b32 [%r3], %r5;
    add.u64 %rd0, %rd0, {stride};
    add.u32 %r3, %r3, {stride};
    sub.u32 %r4, %r4, 1;
    setp.ne.u32 %p, %r4, 0;
    @%p bra COPY;
    bar.sync 0;
    shr.u32 %r1, %r1, 4;
    cvt.u64.u32 %rd2, %r1;
    ld.param.u64 %rda, [at_a];
    ld.param.u64 %rdb, [at_b];
    add.u64 %rda, %rda, %rd2;
    add.u64 %rdb, %rdb, %rd2;
    ld.param.u32 %r5, [keeps];
    setp.ne.u32 %keeps, %r5, 0;
    ld.param.u64 %rd3, [x];
    ld.param.u64 %rd4, [y];
    ld.param.u64 %rd5, [a];
    add.u64 %rd3, %rd3, %rd1;
    add.u64 %rd4, %rd4, %rd1;
    add.u64 %rd5, %rd5, %rd1;
    {chr(10).join(f"ld.global.b32 %a{i}, [%rd5 + {i * stride}];" for i in range(4))}
    {chr(10).join(f"ld.global.b32 %d{i}, [%rd3 + {i * stride}];" for i in range(n))}
    wgmma.fence.sync.aligned;
    {form.instruction}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    {chr(10).join(f"st.global.b32 [%rd4 + {i * stride}], %d{i};" for i in range(n))}
    ret;
}}
"""


def run(form: Form, a: Codes, b: Codes, x: Codes, keeps: bool = True, **descriptors: int) -> tuple[Codes, Simulation]:
    """(D, the simulation) of A [64, k], B [n, k] and sums x [64, n]; `descriptors`: at_a, at_b in place of the right
    ones."""
    image = np.zeros(SHARED, np.uint8)
    at = {}
    for name, matrix, across, begin in (("at_a", a, form.across_a, 0), ("at_b", b, form.across_b, 16384)):
        at[name] = placed(image, matrix, BITS[form.a], across, form.swizzle, begin)
    arrays = {
        "image": image,
        "x": into_registers(x, sums_at(form)),
        "a": into_registers(a, factors_at(form)) if form.a_in_registers else np.zeros((4, THREADS), np.uint32),
        "y": np.zeros((form.registers, THREADS), np.uint32),
        **{name: np.uint64(value) for name, value in (at | descriptors).items()},
        "keeps": np.uint32(keeps),
    }
    done = simulate(ptx(form), "product", 1, THREADS, arrays, strict=True)
    return from_registers(done.outputs["y"], sums_at(form), x), done


# ---- Registers -----------------------------------------------------------------------------------


def sums_at(form: Form) -> NDArray[np.int64]:
    """(row, column) of each element of D: [registers, threads, elements of a register, 2]."""
    per_register = 32 // BITS[form.d]
    register, thread, element = np.indices((form.registers, THREADS, per_register))
    number = register * per_register + element
    row = thread // 32 * 16 + thread % 32 // 4 + number // 2 % 2 * 8
    return np.stack([row, thread % 4 * 2 + number % 2 + number // 4 * 8], -1)


def factors_at(form: Form) -> NDArray[np.int64]:
    """(row, k) of each element of A."""
    per_register = 32 // BITS[form.a]
    register, thread, element = np.indices((4, THREADS, per_register))
    row = thread // 32 * 16 + thread % 32 // 4 + register % 2 * 8
    return np.stack([row, thread % 4 * per_register + element + register // 2 * 4 * per_register], -1)


def into_registers(matrix: Codes, at: NDArray[np.int64]) -> NDArray[np.uint32]:
    elements = matrix[at[..., 0], at[..., 1]]
    return as_bytes(elements, 32 // at.shape[2]).view(np.uint32).reshape(at.shape[:2])


def from_registers(registers: NDArray[np.uint32], at: NDArray[np.int64], like: Codes) -> Codes:
    found = np.zeros_like(like)
    found[at[..., 0], at[..., 1]] = registers.view(like.dtype).reshape(at.shape[:-1])
    return found


# ---- Shared memory -------------------------------------------------------------------------------


def as_bytes(lines: Codes, bits: int) -> NDArray[np.uint8]:
    if bits == 1:
        return np.packbits(lines, -1, bitorder="little")
    return np.ascontiguousarray(lines).view(np.uint8)


def placed(image: NDArray[np.uint8], matrix: Codes, bits: int, across: bool, swizzle: int, begin: int) -> int:
    """Lays a matrix [rows, k] out from `begin` on; its descriptor. Lines of 16 bytes (no swizzle) or `swizzle` bytes
    lie in groups of 8; `across`: a line is one k of many rows."""
    lines = as_bytes(matrix.T if across else matrix, bits)  # [lines, bytes]
    width = swizzle or 16
    group = 8 * width
    across_groups, down_groups = -(-lines.shape[1] // width), -(-lines.shape[0] // 8)
    down, along = group, group * down_groups + (0 if swizzle else 128)  # a gap, so that the strides differ
    if not across and swizzle:
        assert across_groups == 1
    for line, row in enumerate(lines):
        for column in range(0, row.size, 16):
            part, inside = divmod(column, width)
            offset = begin + line // 8 * down + part * along + line % 8 * width + inside
            lines_down = offset // 128
            target = offset ^ ((lines_down % (swizzle // 16)) * 16 if swizzle else 0)
            image[target : target + 16] = row[column : column + 16]
    leading, stride = (down, along) if across and not swizzle else (along, down)
    return begin >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | MODES[swizzle] << 62
