"""Video instructions, scalar (vadd) and on two halves or four bytes (vadd2, vadd4), without selections of parts.

`video`: a, b, c; immediate packed as in Form of video.cpp.
"""

from __future__ import annotations

import re

from kernelbench.simt import ir
from kernelbench.simt.interface import COMPARISONS
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import operands
from kernelbench.simt.lower.matrix import packed

STEPS = ("add", "sub", "avrg", "absdiff", "min", "max", "shl", "shr", "mad", "set")
SECONDS = ("", "add", "min", "max")
SHIFTS = {"shr7": 7, "shr15": 15}
TYPES = ("u32", "s32")
IN_PARTS = frozenset({"add", "sub", "avrg", "absdiff", "min", "max", "set"})
NAMES = (*(f"v{step}" for step in STEPS if step != "avrg"), *(f"v{step}{count}" for step in IN_PARTS for count in "24"))
_NAME = re.compile(r"v([a-z]+)([24]?)")


def video(context: Context, one: ir.Instruction) -> None:
    """vop.dtype.atype.btype{.sat}{.op2} d, a, b{, c}; vset has no dtype, because its result is unsigned."""
    found = _NAME.fullmatch(one.opcode[0])
    assert found is not None
    step, parts = found[1], found[2]
    types = [word for word in one.opcode[1:] if word in TYPES]
    words = [word for word in one.opcode[1:] if word not in TYPES]
    allowed = {"set": {*COMPARISONS[:6]}, "shl": {"clamp", "wrap"}, "shr": {"clamp", "wrap"}, "mad": {*SHIFTS, "po"}}
    second = next((word for word in words if word in SECONDS and step != "mad"), "")
    rest = set(words) - {"sat", second}
    if step == "set":
        types.insert(0, "u32")
    needs_word = step in ("set", "shl", "shr")
    if len(types) != 3 or rest - allowed.get(step, set()) or (needs_word and len(rest) != 1):
        context.refuse("not supported: this form of a video instruction")
    if parts and (second not in ("", "add") or (second and "sat" in words)):
        context.refuse("not supported: this form of a video instruction")
    is_signed = [kind == "s32" for kind in types]
    if step == "mad":
        is_signed[0] = is_signed[1] or is_signed[2]
    number = next((COMPARISONS.index(word) for word in rest if step == "set"), 0)
    number += next((SHIFTS[word] for word in rest if word in SHIFTS), 0) + int("wrap" in rest)
    width = {"": 2, "2": 1, "4": 0}[parts]
    fields = (
        *((STEPS.index(step), 4), (width, 2), *((one_signed, 1) for one_signed in is_signed), ("sat" in words, 1)),
        *((SECONDS.index(second), 2), (number, 4), ("po" in rest, 1)),
    )
    given = operands(context, 4 if parts or second or step == "mad" else 3)
    slots = [context.source(operand, "u32") for operand in given[1:]]
    c = slots[2] if len(slots) > 2 else context.constant(0, 4)
    target = context.destination(given[0], 4)
    context.emit("video", d=target, a=slots[0], b=slots[1], c=c, immediate=packed(fields))


TABLE = dict.fromkeys(NAMES, video)
