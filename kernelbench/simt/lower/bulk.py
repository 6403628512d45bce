"""Bulk copies and reductions, of bytes and of boxes of tensors. They complete when they are issued.

`bulk_<to>_<from>`: a, b, immediate the target; c slot of the source, x[0] its bytes, x[1] and x[2] its displacement;
e slot with the number of bytes; x[3] slot of the mbarrier, x[4] its bytes, x[5] its displacement as 32 bits; x[6] slot
of the blocks of the cluster that get the bytes, or NONE; x[7], f: Reduction and Reduced of bulk_reductions.hpp, if any.
`red_async`: a, b, immediate the target, c slot of the value, d Reduction, f Reduced, x the mbarrier.
`tensor_<name>`: a slot of the tensor map's address, b axes, x[0..4] coordinates; c, e, immediate the place in shared
memory; x[5..7] the mbarrier; d as x[6] above; f a Reduction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE
from kernelbench.simt.lower.asynchronous import COMPLETION, short_address
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.memory import lower_nothing
from kernelbench.simt.lower.memory import operands_without_policy as _operands

GROUP = "bulk_group"
BULK: dict[tuple[str, ...], str] = {  # operation, by the words after cp.async.bulk
    ("shared::cluster", "global", COMPLETION): "bulk_shared_global",
    ("shared::cta", "global", COMPLETION): "bulk_shared_global",
    ("shared::cluster", "shared::cta", COMPLETION): "bulk_shared_shared",
    ("global", "shared::cta", GROUP): "bulk_global_shared",
}
MULTICAST = "multicast::cluster"
REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
REDUCED = ("u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64")
BITS = {"b32": "u32", "b64": "u64"}
INTEGERS = frozenset({"u32", "s32", "u64", "s64"})
# Types of each reduction, to global memory and within the cluster.
TO_GLOBAL: dict[str, frozenset[str]] = {
    "add": frozenset({"u32", "s32", "u64", "f16", "bf16", "f32", "f64"}),
    **dict.fromkeys(("min", "max"), INTEGERS | {"f16", "bf16"}),
    **dict.fromkeys(("inc", "dec"), frozenset({"u32"})),
    **dict.fromkeys(("and", "or", "xor"), frozenset({"b32", "b64"})),
}
TO_SHARED: dict[str, frozenset[str]] = {
    "add": frozenset({"u32", "s32", "u64"}),
    **dict.fromkeys(("min", "max"), frozenset({"u32", "s32"})),
    **dict.fromkeys(("inc", "dec"), frozenset({"u32"})),
    **dict.fromkeys(("and", "or", "xor"), frozenset({"b32"})),
}
_AXES = re.compile(r"([1-5])d")


def copy(context: Context, one: ir.Instruction) -> None:
    """cp.async.bulk.to.from.completion{.multicast::cluster} [to], [from], bytes{, [mbarrier]{, blocks}}{, policy}."""
    parts = tuple(part for part in one.opcode[3:] if part not in ("L2::cache_hint", MULTICAST))
    name = BULK.get(parts)
    several = MULTICAST in one.opcode
    if name is None or (several and (name != "bulk_shared_global" or parts[0] != "shared::cluster")):
        context.refuse("not supported: this form of cp.async.bulk")
    _emit_bytes(context, name, counted=parts[-1] == COMPLETION, several=several)


def reduce(context: Context, one: ir.Instruction) -> None:
    """cp.reduce.async.bulk.to.from.completion.op{.noftz}.type [to], [from], bytes{, [mbarrier]}{, policy}."""
    parts = tuple(part for part in one.opcode[4:] if part not in ("L2::cache_hint", "noftz"))
    name = BULK.get(parts[:3], "")
    allowed = TO_GLOBAL if name == "bulk_global_shared" else TO_SHARED
    known = name in ("bulk_global_shared", "bulk_shared_shared") and len(parts) == 5
    if not known or parts[4] not in allowed.get(parts[3], ()):
        context.refuse("not supported: this form of cp.reduce.async.bulk")
    step, kind = REDUCTIONS.index(parts[3]), REDUCED.index(BITS.get(parts[4], parts[4]))
    _emit_bytes(context, name, counted=parts[2] == COMPLETION, several=False, reduction=(step, kind))
    context.ordered = context.ordered or parts[0] == "global"


def reduce_async(context: Context, one: ir.Instruction) -> None:
    """red.async{.relaxed.cluster}.shared::cluster.completion.op.type [address], value, [mbarrier]."""
    words = [word for word in one.opcode[2:] if word not in ("relaxed", "cluster")]
    if words[:2] != ["shared::cluster", COMPLETION] or len(words) != 4 or words[3] not in TO_SHARED.get(words[2], ()):
        context.refuse("not supported: this form of red.async")
    target, value, mbarrier = _operands(context, 3)
    kind = BITS.get(words[3], words[3])
    context.emit(
        "red_async",
        at=context.address(target),
        c=context.source(value, kind),
        d=REDUCTIONS.index(words[2]),
        f=REDUCED.index(kind),
        x=_counter(context, (mbarrier,)),
    )


def _emit_bytes(
    context: Context, name: str, counted: bool, several: bool, reduction: tuple[int, int] = (NONE, NONE)
) -> None:
    target, source, size, *rest = _operands(context, 3 + counted + several)
    to = context.address(target)
    from_slot, from_displacement, from_width = context.address(source)
    wide = from_displacement & (2**64 - 1)
    context.emit(
        name,
        at=to,
        c=from_slot,
        e=context.source(size, "u32"),
        f=reduction[1],
        x=(
            *(from_width, wide & 0xFFFFFFFF, wide >> 32),
            *(*_counter(context, rest[:counted]), _blocks(context, rest[1:]), reduction[0]),
        ),
    )


def _counter(context: Context, mbarrier: Sequence[ir.Operand]) -> tuple[int, int, int]:
    return short_address(context, mbarrier[0]) if mbarrier else (NONE, NONE, NONE)


def _blocks(context: Context, mask: Sequence[ir.Operand]) -> int:
    return context.source(mask[0], "u16") if mask else NONE


# ---- Tensors -------------------------------------------------------------------------------------


def tensor_copy(context: Context, one: ir.Instruction) -> None:
    """cp.async.bulk.tensor.axes.shared.global{.tile}.completion{.multicast::cluster} [to], [map, {coordinates}],
    [mbarrier]{, blocks}{, policy} and .axes.global.shared::cta{.tile}.bulk_group [map, {coordinates}], [from]."""
    words = [word for word in one.opcode[5:] if word not in ("tile", MULTICAST, "L2::cache_hint")]
    several = MULTICAST in one.opcode
    if words in (["shared::cluster", "global", COMPLETION], ["shared::cta", "global", COMPLETION]):
        target, box, mbarrier, *mask = _operands(context, 3 + several)
        _emit_box(context, one, "tensor_load", box, target, counter=(mbarrier,), blocks=_blocks(context, mask))
    elif words == ["global", "shared::cta", GROUP] and not several:
        box, source = _operands(context, 2)
        _emit_box(context, one, "tensor_store", box, source)
    else:
        context.refuse("not supported: this form of cp.async.bulk.tensor")


def tensor_reduce(context: Context, one: ir.Instruction) -> None:
    """cp.reduce.async.bulk.tensor.axes.global.shared::cta.op{.tile}.bulk_group [map, {coordinates}], [from]."""
    words = [word for word in one.opcode[6:] if word not in ("tile", "L2::cache_hint")]
    if len(words) != 4 or words[:2] != ["global", "shared::cta"] or words[3] != GROUP or words[2] not in REDUCTIONS:
        context.refuse("not supported: this form of cp.reduce.async.bulk.tensor")
    box, source = _operands(context, 2)
    _emit_box(context, one, "tensor_reduce", box, source, reduction=REDUCTIONS.index(words[2]))
    context.ordered = True


def tensor_prefetch(context: Context, one: ir.Instruction) -> None:
    """cp.async.bulk.prefetch.tensor.axes.L2.global{.tile} [map, {coordinates}]{, policy}."""
    words = [word for word in one.opcode[6:] if word not in ("tile", "L2::cache_hint")]
    if words != ["L2", "global"]:
        context.refuse("not supported: this form of cp.async.bulk.prefetch.tensor")
    (box,) = _operands(context, 1)
    _emit_box(context, one, "tensor_prefetch", box, None)


def _emit_box(
    context: Context,
    one: ir.Instruction,
    name: str,
    box: ir.Operand,
    place: ir.Operand | None,
    *,
    counter: Sequence[ir.Operand] = (),
    blocks: int = NONE,
    reduction: int = NONE,
) -> None:
    axes = next((int(found[1]) for found in map(_AXES.fullmatch, one.opcode) if found), 0)
    items = box.items if isinstance(box, ir.Group) else ()
    coordinates = context.items(items[1]) if len(items) == 2 else ()
    if not axes or len(coordinates) != axes:
        context.refuse(f"{len(coordinates)} coordinates, expected {axes}")
    map_slot, map_displacement, map_width = context.address(items[0])
    if map_displacement or map_width != 8:
        context.refuse("not supported: a tensor map that is not at the address in a register of 64 bits")
    slots = [context.source(item, "u32") for item in coordinates]
    slot, displacement, width = context.address(place) if place is not None else (NONE, 0, 8)
    context.emit(
        name,
        a=map_slot,
        b=axes,
        c=slot,
        d=blocks,
        e=width,
        f=reduction,
        immediate=displacement,
        x=(*slots, *(NONE,) * (5 - axes), *_counter(context, counter)),
    )


TABLE = {
    "cp.async.bulk": copy,
    "cp.async.bulk.prefetch.L2": lower_nothing,
    "cp.async.bulk.commit_group": lower_nothing,
    "cp.async.bulk.wait_group": lower_nothing,
    "cp.reduce.async.bulk": reduce,
    "red.async": reduce_async,
    "cp.async.bulk.tensor": tensor_copy,
    "cp.reduce.async.bulk.tensor": tensor_reduce,
    "cp.async.bulk.prefetch.tensor": tensor_prefetch,
}
