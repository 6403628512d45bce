"""Textures and surfaces by handle, of 1 to 3 dimensions or in layers: tex, suld.b, sust.b. Operands: texture.cpp."""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import operands, result_register
from kernelbench.simt.lower.memory import VECTORS

RESULTS = ("f32", "s32", "u32")
LAYERED = 16
DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": LAYERED + 1, "a2d": LAYERED + 2}
BOUNDARIES = ("trap", "clamp", "zero")
ELEMENTS = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


def fetch(context: Context, one: ir.Instruction) -> None:
    """tex{.level}.geometry.v4.type.type {results}, [handle, {coordinates}]{, level}. A texture has one level here."""
    levels = int(one.opcode[1] == "level")
    geometry, *words = one.opcode[1 + levels :]
    if geometry not in DIMENSIONS or len(words) != 3 or words[0] != "v4" or words[1] not in RESULTS:
        context.refuse("not supported: this form of tex")
    if words[2] not in ("s32", "f32"):
        context.refuse("not supported: these coordinates")
    target, place, *_ = operands(context, 2 + levels)
    handle, coordinates = _place(context, place, DIMENSIONS[geometry])
    results = [result_register(context, item, 4) for item in context.items(target)]
    if len(results) != 4:
        context.refuse(f"{len(results)} registers for 4 results")
    context.emit(
        "tex",
        a=handle,
        b=coordinates[0],
        c=coordinates[1],
        f=int(words[2] == "s32"),
        x=(*results, coordinates[2], DIMENSIONS[geometry]),
        immediate=RESULTS.index(words[1]),
    )


def move(context: Context, one: ir.Instruction) -> None:
    """suld.b.geometry{.vector}.type.boundary {results}, [handle, {byte in a row, row}]; of sust the place comes
    first."""
    registers, place = operands(context, 2)
    take = context.destination
    if one.opcode[0] == "sust":
        registers, place, take = place, registers, context.source_of
        context.ordered = True
    items = context.items(registers)
    words = list(one.opcode[1:])
    vector = next((word for word in words if word in VECTORS), "")
    form = [word for word in words if word != vector]
    known = (
        len(form) == 4 and form[0] == "b" and form[1] in DIMENSIONS and form[2] in ELEMENTS and form[3] in BOUNDARIES
    )
    if not known or len(items) != VECTORS.get(vector, 1) or len(items) > 4:
        context.refuse(f"not supported: this form of {one.opcode[0]}")
    handle, coordinates = _place(context, place, DIMENSIONS[form[1]])
    unused = (NONE,) * (4 - len(items))
    width = max(ELEMENTS[form[2]], 2)
    context.emit(
        one.opcode[0],
        a=handle,
        b=coordinates[0],
        c=coordinates[1],
        f=ELEMENTS[form[2]] * len(items),
        x=(*(take(item, width) for item in items), *unused, coordinates[2], DIMENSIONS[form[1]]),
        immediate=BOUNDARIES.index(form[3]),
    )


def _place(context: Context, place: ir.Operand, dimensions: int) -> tuple[int, tuple[int, int, int]]:
    """Slot of the handle, and slots of x, y, and z or the layer, which comes first; NONE for those that are not."""
    items = place.items if isinstance(place, ir.Group) else ()
    if len(items) != 2 or not isinstance(items[0], ir.Register):
        context.refuse("not supported: a texture or surface that is no handle in a register")
    layered, axes = divmod(dimensions, LAYERED)
    given = context.items(items[1])
    if len(given) < layered + axes:
        context.refuse(f"{len(given)} coordinates, expected {layered + axes}")
    found = [context.source(item, "b32") for item in given[: layered + axes]]
    x, y, z = (*found[layered:], NONE, NONE)[:3]
    return context.source(items[0], "u64"), (x, y, found[0] if layered else z)


TABLE = {"tex": fetch, "suld": move, "sust": move}
