"""mov in all its forms, and addresses between state spaces: cvta, isspacep, mapa, getctarank."""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import Lowering, bytes_of, emit_operation, operands, result_register, take_apart
from kernelbench.simt.lower.logic import predicates

# Clocks: the number of instructions executed so far instead of cycles or nanoseconds.
CLOCKS = {"%clock": 4, "%clock64": 8, "%globaltimer": 8, "%globaltimer_lo": 4}
UPPER_CLOCKS = ("%clock_hi", "%globaltimer_hi")
FLAT = frozenset({"global", "const", "param", "param::entry"})  # spaces whose addresses are generic ones
SHARED = frozenset({"shared", "shared::cta", "shared::cluster"})
RANK = ir.Special("%cluster_ctarank")


def move(context: Context, one: ir.Instruction) -> None:
    form = take_apart(context, ())
    target, source = operands(context, 2)
    width = bytes_of(form.type)
    if form.type == "pred":
        predicates(context, "mov", 2)
    elif isinstance(source, ir.Vector):
        pieces = _pieces(context, source, width)
        slots = [context.source_of(item, width // len(pieces)) for item in pieces]
        context.emit(_pieces_name("join", width, pieces), d=context.destination(target, width), x=slots)
    elif isinstance(target, ir.Vector):
        pieces = _pieces(context, target, width)
        slots = [result_register(context, item, width // len(pieces)) for item in pieces]
        context.emit(_pieces_name("split", width, pieces), a=context.source_of(source, width), x=slots)
    elif isinstance(source, ir.Special) and CLOCKS.get(source.name) == width:
        context.emit(f"clock_{8 * width}", d=context.destination(target, width))
    elif isinstance(source, ir.Special) and source.name in UPPER_CLOCKS and width == 4:
        context.emit("clock_upper", d=context.destination(target, width))
    elif isinstance(source, ir.Symbol) and width == 8 and context.is_framed(source.name):
        frame, offset, _ = context.address(source)
        context.emit("add_u64", d=context.destination(target, 8), a=frame, b=context.constant(offset, 8))
    else:
        emit_operation(context, f"mov_b{8 * width}", (form.type, form.type))


def _pieces(context: Context, vector: ir.Vector, width: int) -> tuple[ir.Operand, ...]:
    count = len(vector.items)
    if count not in (2, 4) or width // count < 2:
        context.refuse(f"not supported: {8 * width} bits as {count} pieces")
    return vector.items


def _pieces_name(name: str, width: int, pieces: tuple[ir.Operand, ...]) -> str:
    return f"{name}_{8 * width // len(pieces)}_{len(pieces)}"


def to_space(context: Context, one: ir.Instruction) -> None:
    """cvta, cvta.to: generic addresses equal global ones, with windows for shared and local memory."""
    parts = one.opcode[1:]
    if parts[-1:] != ("u64",):
        context.refuse("not supported: addresses of 32 bits")
    direction = "_to" if parts[:1] == ("to",) else ""
    space = ".".join(parts[len(direction) // 3 : -1])
    if space in FLAT:
        emit_operation(context, "mov_b64", ("u64", "u64"))
    elif space == "local":
        emit_operation(context, f"cvta{direction}_local", ("u64", "u64"))
    elif space in SHARED:
        _with_rank(context, f"cvta{direction}_shared", 8, 8)
    else:
        context.refuse(f"not supported: addresses of .{space}")


def _with_rank(context: Context, operation: str, width: int, source_width: int) -> None:
    """d = operation(a, rank of the block in its cluster)."""
    target, source = operands(context, 2)
    context.emit(
        operation,
        d=context.destination(target, width),
        a=context.source_of(source, source_width),
        b=context.source(RANK, "u32"),
    )


def is_space(context: Context, one: ir.Instruction) -> None:
    """isspacep.space p, a. Constant and global memory share one space here, so .const is refused."""
    space = {"shared::cta": "shared", "shared::cluster": "shared"}.get(one.opcode[-1], one.opcode[-1])
    if len(one.opcode) != 2 or space not in ("global", "shared", "local"):
        context.refuse("not supported: this state space")
    target, source = operands(context, 2)
    context.emit(f"isspacep_{space}", d=context.predicate(target)[0], a=context.source(source, "u64"))


def other_block(context: Context, one: ir.Instruction) -> None:
    """mapa{.shared::cluster}.type d, a, b: address a in the shared memory of block b of the cluster."""
    form = take_apart(context, {"shared::cluster"})
    name = {("u64", False): "mapa_b64", ("u32", True): "mapa_shared_b32"}.get((form.type, bool(form.words)))
    if name is None:
        context.refuse("not supported: this form of mapa")
    emit_operation(context, name, (form.type, form.type, "u32"))


def rank(context: Context, one: ir.Instruction) -> None:
    """getctarank{.shared::cluster}.type d, a."""
    form = take_apart(context, {"shared::cluster"})
    if (form.type, bool(form.words)) == ("u64", False):
        emit_operation(context, "getctarank_b64", ("u32", "u64"))
    elif (form.type, bool(form.words)) == ("u32", True):
        _with_rank(context, "getctarank_shared_b32", 4, 4)
    else:
        context.refuse("not supported: this form of getctarank")


def policy(context: Context, one: ir.Instruction) -> None:
    """createpolicy: cache policies have no effect here."""
    found = operands(context, 1, 2, 3, 4)
    context.emit("mov_b64", d=context.destination(found[0], 8), a=context.constant(0, 8))


TABLE: dict[str, Lowering] = {
    "mov": move,
    "cvta": to_space,
    "isspacep": is_space,
    "mapa": other_block,
    "getctarank": rank,
    "createpolicy": policy,
}
