"""Asynchronous operations: cp.async, st.async, and mbarriers; bulk copies: lower/bulk.py.

Copies complete when they are issued, so an mbarrier counts bytes that have already arrived.

`cpasync_<bytes>`: a, b, immediate the shared address, c global address, x[0] its displacement as 32 bits,
f slot with the number of bytes to read or NONE, x[1] predicate that selects zeros instead or NONE, x[2] its negation.
`st_async_<type>`: as st; c slot of the mbarrier, e its bytes, d its displacement as 32 bits.
`mbarrier_<name>`: a, b, immediate the mbarrier; mbarriers.cpp lists the rest. BARRIER with f MBARRIER_WAIT: the same
address, d predicate for the result, c slot of the parity or (e 1) of the state.
"""

from __future__ import annotations

from collections.abc import Collection

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, ArriveForm, BarrierForm, Kind
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import operands, result_register
from kernelbench.simt.lower.memory import ALIASES, MODIFIERS, VECTORS, lower_nothing
from kernelbench.simt.lower.memory import operands_without_policy as _operands

COMPLETION = "mbarrier::complete_tx::bytes"
SHARED = {"shared", "shared::cta", "shared::cluster"}
ORDERS = {"release", "acquire", "relaxed", "cta", "cluster"}
ARRIVE_FORMS = {"arrive": ArriveForm.ARRIVAL, "arrive_drop": ArriveForm.DROP, "noComplete": ArriveForm.NO_COMPLETE}
STORED = {f"{kind}{bits}": f"u{bits}" for bits in (32, 64) for kind in "busf"}


def copy_async(context: Context, one: ir.Instruction) -> None:
    """cp.async.ca/cg.shared.global [shared], [global], bytes{, bytes to read | ignore}{, cache policy}.

    The copy completes at once, so a read before the wait is not detected.
    """
    parts = [ALIASES.get(part, part) for part in one.opcode[3:]]
    if parts[:2] != ["shared", "global"] or not MODIFIERS.issuperset(parts):
        context.refuse("not supported: this form of cp.async")
    target, origin, count, *rest = _operands(context, 3, 4)
    shared = context.address(target)
    source, displacement, source_bytes = context.address(origin)
    if source_bytes != 8 or not isinstance(count, ir.Immediate) or not -(2**31) <= displacement < 2**31:
        context.refuse("not supported: this form of cp.async")
    size, ignore, negated = NONE, NONE, False
    for limit in rest:
        if isinstance(limit, ir.Not) or (isinstance(limit, ir.Register) and limit.type == "pred"):
            ignore, negated = context.predicate(limit)
        else:
            size = context.source(limit, "u32")
    context.emit(
        f"cpasync_{count.value}",
        at=shared,
        c=source,
        f=size,
        x=(displacement & 0xFFFFFFFF, ignore, int(negated)),
    )


def store_async(context: Context, one: ir.Instruction) -> None:
    """st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.vec}.type [address], value, [mbarrier]."""
    *words, kind = one.opcode[2:]
    count = next((VECTORS[word] for word in words if word in VECTORS), 1)
    needed = {"shared::cluster", COMPLETION}
    if kind not in STORED or not needed <= set(words) <= needed | {"weak", "v2", "v4"}:
        context.refuse("not supported: this form of st.async")
    target, source, mbarrier = operands(context, 3)
    items = context.items(source)
    if len(items) != count:
        context.refuse(f"{len(items)} registers for {count} elements")
    at = context.address(target)
    counter, counter_width, counter_displacement = short_address(context, mbarrier)
    context.emit(
        f"st_async_{STORED[kind]}",
        at=at,
        c=counter,
        e=counter_width,
        d=counter_displacement,
        f=count,
        x=[context.source(item, kind) for item in items],
    )


# ---- mbarrier ------------------------------------------------------------------------------------


def mbarrier_init(context: Context, one: ir.Instruction) -> None:
    """mbarrier.init [mbarrier], arrivals."""
    _words(context, ())
    target, count = operands(context, 2)
    context.emit("mbarrier_init", at=context.address(target), c=context.source(count, "u32"))


def mbarrier_inval(context: Context, one: ir.Instruction) -> None:
    _words(context, ())
    context.emit("mbarrier_inval", at=context.address(operands(context, 1)[0]))


def mbarrier_arrive(context: Context, one: ir.Instruction) -> None:
    """mbarrier.arrive and arrive_drop{.expect_tx|.noComplete} {state|_}, [mbarrier]{, arrivals or bytes}."""
    words = _words(context, {"expect_tx", "noComplete"})
    found = list(operands(context, 1, 2, 3))
    state = NONE if isinstance(found[0], ir.Address) else result_register(context, found.pop(0), 8)
    target, *numbers = found
    slots = [context.source(number, "u32") for number in numbers]
    expects = "expect_tx" in words
    if len(slots) > 1 or (words & {"expect_tx", "noComplete"} and not slots):
        context.refuse("not supported: this form of mbarrier.arrive")
    form = ARRIVE_FORMS["noComplete" if "noComplete" in words else one.opcode[1]]
    count, transactions = (NONE, slots[0]) if expects else (slots[0] if slots else NONE, NONE)
    context.emit("mbarrier_arrive", at=context.address(target), d=state, c=count, e=transactions, f=form)


def mbarrier_transactions(context: Context, one: ir.Instruction) -> None:
    """mbarrier.expect_tx and complete_tx [mbarrier], bytes."""
    _words(context, ())
    target, size = operands(context, 2)
    done = int(one.opcode[1] == "complete_tx")
    context.emit("mbarrier_transactions", at=context.address(target), c=context.source(size, "u32"), f=done)


def mbarrier_wait(context: Context, one: ir.Instruction) -> None:
    """mbarrier.test_wait and try_wait{.parity} p, [mbarrier], state or parity{, time limit}."""
    by_parity = "parity" in _words(context, {"parity"})
    result, target, awaited, *_ = operands(context, 3, 4)
    awaited_slot = context.source(awaited, "u32" if by_parity else "b64")
    index, _ = context.predicate(result)
    context.emit(
        "",
        at=context.address(target),
        kind=Kind.BARRIER,
        f=BarrierForm.MBARRIER_WAIT,
        d=index,
        c=awaited_slot,
        e=int(not by_parity),
    )


def mbarrier_pending(context: Context, one: ir.Instruction) -> None:
    """mbarrier.pending_count count, state."""
    _words(context, ())
    count, state = operands(context, 2)
    context.emit("mbarrier_pending", d=context.destination(count, 4), a=context.source(state, "b64"))


def copies_arrive(context: Context, one: ir.Instruction) -> None:
    """cp.async.mbarrier.arrive{.noinc} [mbarrier]: arrives at once, as all copies are complete. Without .noinc it also
    expects one more arrival, so nothing changes."""
    words = set(one.opcode[4:])
    if not words <= {"noinc", *SHARED, "b64"}:
        context.refuse("not supported: this form of cp.async.mbarrier.arrive")
    (target,) = operands(context, 1)
    arrivals = context.constant(int("noinc" in words), 4)
    context.emit("mbarrier_arrive", at=context.address(target), f=ArriveForm.ARRIVAL, c=arrivals)


# ---- Parts ---------------------------------------------------------------------------------------


def _words(context: Context, also: Collection[str]) -> set[str]:
    """The words of an mbarrier instruction after its name; unknown ones are refused."""
    words = set(context.instruction.opcode[2:])
    unknown = sorted(words - SHARED - ORDERS - {"b64", *also})
    if unknown:
        context.refuse(f"not supported: .{unknown[0]}")
    return words


def short_address(context: Context, operand: ir.Operand) -> tuple[int, int, int]:
    """(slot, bytes, displacement as 32 bits)."""
    slot, displacement, width = context.address(operand)
    if not -(2**31) <= displacement < 2**31:
        context.refuse(f"an mbarrier {displacement} bytes from its register")
    return slot, width, displacement & 0xFFFFFFFF


TABLE = {
    "cp.async.ca": copy_async,
    "cp.async.cg": copy_async,
    "cp.async.commit_group": lower_nothing,
    "cp.async.wait_group": lower_nothing,
    "cp.async.wait_all": lower_nothing,
    "cp.async.mbarrier.arrive": copies_arrive,
    "st.async": store_async,
    "mbarrier.init": mbarrier_init,
    "mbarrier.inval": mbarrier_inval,
    "mbarrier.arrive": mbarrier_arrive,
    "mbarrier.arrive_drop": mbarrier_arrive,
    "mbarrier.expect_tx": mbarrier_transactions,
    "mbarrier.complete_tx": mbarrier_transactions,
    "mbarrier.test_wait": mbarrier_wait,
    "mbarrier.try_wait": mbarrier_wait,
    "mbarrier.pending_count": mbarrier_pending,
}
