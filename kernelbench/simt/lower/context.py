"""The kernel as lowering functions see it: the slots of operands, and `emit`.

A family of instructions is a module with `TABLE`, from a prefix of the opcode ("add", "bar.warp"; the longest match
wins) to a function `f(context, instruction) -> None` that calls `context.emit` exactly once. Operands are byte offsets
into a warp's register file, which holds 32 lanes of every register, constant and special register. 8-bit registers
take 16 bits. Predicates are indices of 32-bit masks.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from kernelbench.core.errors import PtxError
from kernelbench.simt import ir
from kernelbench.simt.cfg import ControlFlow
from kernelbench.simt.interface import LANES, NONE, SPECIALS, Kind
from kernelbench.simt.lower.layout import RESERVED, RESERVED_BYTES, VariableLayout
from kernelbench.simt.lower.memory_order import access_orders
from kernelbench.simt.lower.program import Lowered, Patch, SpecialSlot
from kernelbench.simt.lower.registers import allocate_registers, slot_bytes
from kernelbench.simt.pointers import function_address
from kernelbench.simt.usage import registers_read

LANE_CONSTANTS: Mapping[str, Callable[[int], int]] = {  # special registers that depend only on the lane
    "%laneid": lambda lane: lane,
    "%lanemask_eq": lambda lane: 1 << lane,
    "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_le": lambda lane: (2 << lane) - 1,
    "%lanemask_gt": lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1),
    "%lanemask_ge": lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1),
    "WARP_SZ": lambda lane: LANES,
    "%smid": lambda lane: 0,
    "%nsmid": lambda lane: 1,
    "%gridid": lambda lane: 1,
    # Special registers of the driver; 1 and 2 are the workspace of cooperative launches. Nobody states the others.
    **{f"%envreg{number}": lambda lane: 0 for number in range(32) if number not in (1, 2)},
}
# Counter of arrived blocks of a cooperative launch; the driver passes its address in two halves.
WORKSPACE = ir.Variable("%grid_workspace", "global", "b8", bytes=64, alignment=8)
WORKSPACE_HALVES = {"%envreg1": 32, "%envreg2": 0}  # right shift of the address
# Offsets in the reserved part; cooperative groups keep the barriers of their large tiles at the last one.
RESERVED_OFFSETS = {
    f"{RESERVED}_begin": 0,
    f"{RESERVED}_0": 0,
    f"{RESERVED}_1": RESERVED_BYTES // 2,
    f"{RESERVED}_end": RESERVED_BYTES,
    f"{RESERVED}_cap": RESERVED_BYTES,
}


class Context:
    """A kernel while it is lowered. `instruction` is the current one."""

    def __init__(self, function: ir.Function, module: ir.Module, flow: ControlFlow) -> None:
        self.function = function
        self.module = module
        self.layout = VariableLayout(function, module)
        self.instruction: ir.Instruction = function.instructions[0]
        self.code: list[Lowered] = []
        self.table: list[int] = []
        self.flow = flow
        self.ordered = False
        self.patches: dict[int, Patch] = {}
        self.specials: dict[str, SpecialSlot] = {}
        self.variables: set[str] = set()
        slots = allocate_registers(function.instructions, flow)
        self._orders = access_orders(function)
        self.read = frozenset(register.name for one in function.instructions for register in registers_read(one))
        self._registers = slots.offsets
        self.spans = slots.spans
        self.image_offset = slots.bytes
        self.image = bytearray()
        self._constants: dict[tuple[object, int], int] = {}
        self._predicates: dict[str, int] = {}

    # ---- Operands --------------------------------------------------------------------------------

    def width(self, operand: ir.Operand) -> int | None:
        """Bytes of a register's slot; None for an operand that takes any width (immediate, symbol, `_`)."""
        return slot_bytes(operand.type) if isinstance(operand, ir.Register) else None

    def register(self, operand: ir.Operand, width: int | None = None) -> int:
        """Offset of a register; `width`: bytes that its slot must have, if given."""
        if not isinstance(operand, ir.Register) or operand.type == "pred":
            self.refuse(f"a register was expected, not {operand}")
        if width is not None and slot_bytes(operand.type) != width:
            self.refuse(f"{operand.name} has {8 * slot_bytes(operand.type)} bits, expected {8 * width}")
        return self._registers[operand.name]

    def source(self, operand: ir.Operand, type_name: str) -> int:
        """Offset of an operand that is read as `type_name`: a register of that width, or the slot of a constant."""
        return self.source_of(operand, slot_bytes(type_name))

    def source_of(self, operand: ir.Operand, width: int) -> int:
        """Offset of an operand that is read as `width` bytes (2, 4, 8, 16)."""
        if isinstance(operand, ir.Register):
            return self.register(operand, width)
        if isinstance(operand, ir.Immediate):
            return self.constant(self.bits(operand, width), width)
        if isinstance(operand, ir.Special):
            return self._special(operand.name, width)
        if not isinstance(operand, ir.Symbol):
            self.refuse(f"a value was expected, not {operand}")
        return self.symbol(operand, width)

    def destination(self, operand: ir.Operand, width: int) -> int:
        """Offset of a register that is written; for `_` a slot that is never read."""
        if isinstance(operand, ir.Discard):
            return self.discard(width)
        return self.register(operand, width)

    def discard(self, width: int, owner: object = None) -> int:
        """A slot of `width` bytes that is written, and that no instruction but its `owner` reads."""
        return self._constant_slot(("discard", owner), width, [0] * LANES)

    def predicate(self, operand: ir.Operand) -> tuple[int, bool]:
        """Index of a predicate, and whether it is negated; `_` is a predicate that is never read."""
        if isinstance(operand, ir.Not):
            index, negated = self.predicate(operand.register)
            return index, not negated
        if isinstance(operand, ir.Discard):
            return self._predicate_index("_"), False
        if isinstance(operand, ir.Immediate):  # a predicate that is never written is false
            return self._predicate_index("0"), operand.value != 0
        if not isinstance(operand, ir.Register) or operand.type != "pred":
            self.refuse(f"a predicate was expected, not {operand}")
        return self._predicate_index(operand.name), False

    def items(self, operand: ir.Operand) -> tuple[ir.Operand, ...]:
        """The elements of a vector operand, or the operand itself as the only one."""
        return operand.items if isinstance(operand, ir.Vector) else (operand,)

    def bits(self, operand: ir.Immediate, width: int) -> int:
        """The constant as an unsigned integer of `width` bytes; floating-point constants are converted."""
        value = operand.value
        if operand.kind == "f32" and width == 8:
            value = _bits("<d", "<Q", _float("<f", "<I", value))
        elif operand.kind == "f64" and width == 4:
            value = _bits("<f", "<I", _float("<d", "<Q", value))
        return value & ((1 << (8 * width)) - 1)

    def constant(self, value: int, width: int) -> int:
        """Slot that holds `value` (modulo its width) in every lane."""
        value &= (1 << (8 * width)) - 1
        return self._constant_slot(value, width, [value] * LANES)

    def table_of(self, slots: Sequence[int]) -> int:
        """Slot that holds up to 32 numbers, one per lane: the operands of an instruction with more than `x` holds."""
        return self._constant_slot(("table", *slots), 4, (*slots, *(NONE,) * (LANES - len(slots))))

    def symbol(self, operand: ir.Symbol, width: int) -> int:
        """Slot that holds a variable's address in its state space; addresses of module variables are patched in."""
        place = self.layout.place(operand.name)
        if self.is_framed(operand.name):
            self.refuse("not supported: this use of the address of a variable in a function that may call itself")
        if place is None:
            function = function_address(self.module, operand.name)
            if function is None:
                self.refuse(f"{operand.name} has no address")
            return self.constant(function + operand.offset, width)
        if place.space not in ("global", "const"):
            return self.constant(place.offset + operand.offset, width)
        self.variables.add(operand.name)
        slot = self._constant_slot((operand.name, operand.offset), width, [0] * LANES)
        self.patches[slot] = Patch(slot, width, operand.name, operand.offset)
        return slot

    def address(self, operand: ir.Operand) -> tuple[int, int, int]:
        """(slot, displacement, bytes of the slot's elements: 4 or 8) of a memory operand."""
        if isinstance(operand, (ir.Register, ir.Symbol)):
            operand = ir.Address(operand)
        if not isinstance(operand, ir.Address):
            self.refuse(f"an address was expected, not {operand}")
        if isinstance(operand.base, ir.Register):
            width = slot_bytes(operand.base.type)
            if width not in (4, 8):
                self.refuse(f"an address of {8 * width} bits")
            return self.register(operand.base), operand.offset, width
        if operand.base is None:
            return self.constant(0, 8), operand.offset, 8
        place = self.layout.place(operand.base.name)
        if place is not None and place.framed:
            return self.frame, place.offset + operand.base.offset + operand.offset, 8
        return self.symbol(operand.base, 8), operand.offset, 8

    @property
    def frame(self) -> int:
        """Slot with the offset of the running routine's frame in local memory; 0 in the kernel."""
        return self._constant_slot(("frame",), 8, [0] * LANES)

    def is_framed(self, name: str) -> bool:
        """Whether the variable lies in a routine's frame."""
        place = self.layout.place(name)
        return place is not None and place.framed

    def numbers(self, values: Sequence[int]) -> int:
        """Slot with numbers of 32 bits, padded to whole registers, so that what follows is aligned."""
        return self._constant_slot(("numbers", *values), 4, [*values, *[0] * (-len(values) % LANES)])

    # ---- Code ------------------------------------------------------------------------------------

    @property
    def architecture(self) -> int:
        """90 for sm_90a; 0 if unknown."""
        digits = re.match(r"sm_(\d+)", self.module.target)
        return int(digits[1]) if digits else 0

    @property
    def order(self) -> int:
        """Order of the current memory access."""
        return self._orders[len(self.code)]

    def emit(
        self,
        operation: str,
        *,
        at: tuple[int, int, int] | None = None,
        d: int = NONE,
        a: int = NONE,
        b: int = NONE,
        c: int = NONE,
        e: int = NONE,
        f: int = NONE,
        x: Sequence[int] = (),
        immediate: int = 0,
        kind: Kind = Kind.COMPUTE,
        target: int = NONE,
        reconverge: int = NONE,
    ) -> None:
        """Lower the current instruction to `operation` ("add_u32": the runtime's op_add_u32). Call it once each.

        `at`: of a memory operand, as `address` has it; the runtime finds it in a, immediate and b."""
        if at is not None:
            a, immediate, b = at
        if len(x) > 8:
            self.refuse(f"a vector of {len(x)} elements")
        guard = self.instruction.guard
        index = NONE if guard is None else self.predicate(guard.register)[0]
        self.code.append(
            Lowered(
                *(operation, d, a, b, c, e, f, (*x, *(NONE,) * (8 - len(x))), immediate),
                *(index, guard is not None and guard.negated, kind, target, reconverge),
            )
        )

    def refuse(self, reason: str) -> NoReturn:
        """Raise PtxError with `reason` and the place of the current instruction."""
        one = self.instruction
        source = f"{one.source.file}:{one.source.line}: " if one.source else ""
        raise PtxError(f"kernel {self.function.name}: {source}ptx line {one.ptx_line}: {reason}: '{one.text}'")

    # ---- Slots -----------------------------------------------------------------------------------

    @property
    def predicates(self) -> int:
        return len(self._predicates)

    def register_slot(self, name: str) -> tuple[int, int] | None:
        """(offset, bytes) of a register that an instruction uses."""
        if name not in self._registers:
            return None
        return self._registers[name], LANES * slot_bytes(self.function.registers[name].type)

    def _predicate_index(self, name: str) -> int:
        return self._predicates.setdefault(name, len(self._predicates))

    def _special(self, name: str, width: int) -> int:
        if name in LANE_CONSTANTS:
            values = [LANE_CONSTANTS[name](lane) for lane in range(LANES)]
            return self._constant_slot((name,), width, values)
        if name in RESERVED_OFFSETS:
            return self.constant(self.layout.reserved[0] + RESERVED_OFFSETS[name], width)
        if name in WORKSPACE_HALVES and width == 4:
            slot = self._constant_slot((name,), width, [0] * LANES)
            self.variables.add(WORKSPACE.name)
            self.patches[slot] = Patch(slot, width, WORKSPACE.name, 0, WORKSPACE_HALVES[name])
            return slot
        if name not in SPECIALS or width != 4:
            self.refuse(f"not supported: {name}")
        slot = self._constant_slot((name,), width, [0] * LANES)
        self.specials[name] = SpecialSlot(name, slot)
        return slot

    def _constant_slot(self, key: object, width: int, values: Sequence[int]) -> int:
        if (key, width) not in self._constants:
            self._constants[key, width] = self.image_offset + len(self.image)
            self.image += b"".join((value & ((1 << (8 * width)) - 1)).to_bytes(width, "little") for value in values)
        return self._constants[key, width]


def _float(floating: str, integer: str, bits: int) -> float:
    return float(struct.unpack(floating, struct.pack(integer, bits))[0])


def _bits(floating: str, integer: str, value: float) -> int:
    return int(struct.unpack(integer, struct.pack(floating, value))[0])
