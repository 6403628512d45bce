"""Loads, stores and atomics; asynchronous ones: lower/asynchronous.py.

`ld_<space>_<element>_<register bits>` and `st_..`: a address slot (NONE: only the displacement), b its bytes,
immediate displacement, f number of elements, x their registers (NONE: unused); <space> as in PTX, or generic, or
argument: local memory for arguments of an inlined call. c, e: of a shared access that the machine code joins with
others, Joined.bytes and .first (grouping.py). d: of a load in chosen_loads.py, slot for its addresses.
`atom_<space>_<op>_<type>`: d result or NONE, a, b, immediate the address, c operand, e new value of cas, f 1 if the
machine code counts lanes, see _counts_lanes.
"""

from __future__ import annotations

from collections.abc import Set

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, Kind
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import operands, result_register
from kernelbench.simt.lower.registers import slot_bytes
from kernelbench.simt.usage import registers_written

SPACES = ("global", "shared", "local", "const", "param")
VECTORS = {"v2": 2, "v4": 4, "v8": 8}
# Memory orders that blocks use to communicate.
TALKING = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
POLLING = {"volatile", "relaxed", "acquire", "mmio"}
ATOMICS = {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"}
MODIFIERS = {
    *SPACES,
    *TALKING,
    *VECTORS,
    *("cta", "cluster", "gpu", "sys", "weak", "noftz", "nc", "unified", "entry", "func"),
    *("ca", "cg", "cs", "lu", "cv", "wb", "wt"),
    *("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"),
    *("L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"),
}
COUNTING_LANES = 80  # the first architecture with ATOMS.POPC.INC
# The upper bits of an address identify another block of the cluster at run time.
ALIASES = {"shared::cta": "shared", "shared::cluster": "shared", "param::entry": "param", "param::func": "param"}


def load(context: Context, one: ir.Instruction) -> None:
    """ld, ldu."""
    _transfer(context, one, loads=True)


def store(context: Context, one: ir.Instruction) -> None:
    """st."""
    _transfer(context, one, loads=False)


def _transfer(context: Context, one: ir.Instruction, *, loads: bool) -> None:
    element, space, count = _access(context, one)
    found = operands_without_policy(context, 2)
    values, address = found if loads else reversed(found)
    items = context.items(values)
    width = _register_width(context, items, element)
    at, space = _address(context, address, space)
    registers = [result_register(context, item, width) if loads else context.source_of(item, width) for item in items]
    _check_count(context, len(items), count)
    size = ir.TYPE_BYTES[element]
    sign = "s" if loads and element.startswith("s") and size < width else "u"
    # A load that may poll for a write of another thread: another warp runs after it.
    polls = loads and space in ("global", "generic") and POLLING & set(one.opcode)
    context.emit(
        f"{'ld' if loads else 'st'}_{space}_{sign}{8 * size}_{8 * width}",
        at=at,
        f=len(registers),
        x=registers,
        kind=Kind.YIELD if polls else Kind.COMPUTE,
        target=context.order,
    )


def atomic(context: Context, one: ir.Instruction) -> None:
    """atom; red is the same without a result."""
    element, space, count = _access(context, one, ATOMICS)
    name = next((part for part in one.opcode[1:] if part in ATOMICS), None)
    if name is None:
        context.refuse("not supported: this atomic operation")
    if count != 1:
        _vector_atomic(context, one, name, element, space, count)
        return
    returns = one.opcode[0] == "atom"
    found = operands_without_policy(context, 2 + returns + (name == "cas"))
    result = result_register(context, found[0], slot_bytes(element)) if returns else NONE
    address, *values = found[returns:]
    at, space = _address(context, address, space)
    slots = [context.source(value, element) for value in values]
    kind = element if name in ("min", "max") else element.replace("s", "u", 1)
    context.emit(
        f"atom_{space}_{name}_{kind.replace('b', 'u', 1) if kind in ('b16', 'b32', 'b64', 'b128') else kind}",
        at=at,
        d=result,
        c=slots[0],
        e=slots[1] if name == "cas" else NONE,
        f=1 if space == "shared" and _counts_lanes(context, one, name, values[0]) else NONE,
        target=context.order,
    )
    if space in ("global", "generic"):
        context.ordered = True


def _vector_atomic(context: Context, one: ir.Instruction, name: str, element: str, space: str, count: int) -> None:
    """`atom_<space>_vector_<op>_<type>`: f elements, x their values, d the slot of a table of results or NONE."""
    halves = element in ("f16", "bf16", "f16x2", "bf16x2") and name in ("add", "min", "max")
    if space not in ("global", "generic") or not (halves or (name, element) == ("add", "f32")):
        context.refuse("not supported: a vector in this atomic operation")
    returns = one.opcode[0] == "atom"
    found = operands_without_policy(context, 2 + returns)
    width = slot_bytes(element)
    target = NONE
    if returns and not isinstance(found[0], ir.Discard):
        _check_count(context, len(context.items(found[0])), count)
        target = context.table_of([result_register(context, item, width) for item in context.items(found[0])])
    address, values = found[returns:]
    items = context.items(values)
    _check_count(context, len(items), count)
    at, space = _address(context, address, space)
    context.emit(
        f"atom_{space}_vector_{name}_{element}",
        at=at,
        d=target,
        f=count,
        x=[context.source_of(item, width) for item in items],
        target=context.order,
    )
    context.ordered = True


def _counts_lanes(context: Context, one: ir.Instruction, name: str, value: ir.Operand) -> bool:
    """Whether ptxas compiles it to ATOMS.POPC.INC, which counts all lanes on one word at once.

    From sm_80 on it does so if the old value is not read, for add.u32 of the constant 1 and for inc.u32 without a
    limit, but not for add.s32.
    """
    if not isinstance(value, ir.Immediate) or "u32" not in one.opcode or context.architecture < COUNTING_LANES:
        return False
    every_value = 0xFFFFFFFF
    counts = (name == "add" and value.value == 1) or (name == "inc" and value.value & every_value == every_value)
    return counts and all(register.name not in context.read for register in registers_written(one))


def fence(context: Context, one: ir.Instruction) -> None:
    """membar, fence."""
    context.emit("fence")


def lower_nothing(context: Context, one: ir.Instruction) -> None:
    """A hint, or an order that always holds here: every access completes with its instruction."""
    context.emit("", kind=Kind.NOTHING)


# ---- Parts ---------------------------------------------------------------------------------------


def operands_without_policy(context: Context, *counts: int) -> tuple[ir.Operand, ...]:
    """Operands of the current instruction without its cache policy; their number must be one of `counts`."""
    policies = int("L2::cache_hint" in context.instruction.opcode)
    found = operands(context, *(count + policies for count in counts))
    return found[: len(found) - policies]


def _access(context: Context, one: ir.Instruction, also: Set[str] = frozenset()) -> tuple[str, str, int]:
    """(type, space or "generic", number of elements) of a memory instruction; `also`: further words allowed."""
    parts = [ALIASES.get(part, part) for part in one.opcode[1:]]
    unknown = [part for part in parts[:-1] if part not in MODIFIERS and part not in also]
    if unknown or not parts or parts[-1] not in ir.TYPE_BYTES:
        context.refuse(f"not supported: .{(unknown or parts or ['?'])[0]}")
    space = next((part for part in parts if part in SPACES), "generic")
    if space in ("global", "generic") and TALKING & set(parts):
        context.ordered = True
    return parts[-1], space, next((VECTORS[part] for part in parts if part in VECTORS), 1)


def _address(context: Context, operand: ir.Operand, space: str) -> tuple[tuple[int, int, int], str]:
    """context.address, and the space, in which a parameter is stored.

    A kernel parameter's address in a register is its offset in the parameter block."""
    if space != "param" or not isinstance(operand, ir.Address) or not isinstance(operand.base, ir.Symbol):
        return context.address(operand), space
    place = context.layout.place(operand.base.name)
    if place is None:
        context.refuse(f"unknown parameter {operand.base.name}")
    if place.space != "param":  # of a call that was inlined
        return context.address(operand), "argument"
    offset = operand.base.offset + operand.offset
    if not 0 <= offset < max(place.bytes, 1):
        context.refuse(f"offset {offset} is outside the {place.bytes} bytes of {operand.base.name}")
    return (NONE, place.offset + offset, 8), "param"


def _register_width(context: Context, items: tuple[ir.Operand, ...], element: str) -> int:
    """Bytes of an access's registers, which have the same width, at least that of the element."""
    widths = {width for width in map(context.width, items) if width is not None} or {slot_bytes(element)}
    if len(widths) != 1:
        context.refuse("not supported: registers of different widths")
    width = widths.pop()
    if width < ir.TYPE_BYTES[element]:
        context.refuse(f"registers of {8 * width} bits are narrower than {element}")
    return width


def _check_count(context: Context, found: int, expected: int) -> None:
    if found != expected:
        context.refuse(f"{found} registers for {expected} elements")


TABLE = {
    "ld": load,
    "ldu": load,
    "st": store,
    "atom": atomic,
    "red": atomic,
    "membar": fence,
    "fence": fence,
    **dict.fromkeys(("prefetch", "prefetchu", "applypriority", "discard"), lower_nothing),
}
