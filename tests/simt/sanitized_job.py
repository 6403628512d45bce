"""Runs in a process of its own, with libasan: kernels of recorded PTX on arguments that mean nothing, and programs
made at random. Whatever they do, the runtime must neither leave its memory nor do what C++ leaves undefined."""

import random
import sys
from pathlib import Path

import numpy as np

from kernelbench.core.errors import KernelbenchError
from kernelbench.core.tensor_maps import Tiling
from kernelbench.simt import native
from kernelbench.simt.device_memory import ALIGNMENT, RED_ZONE
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.interface import LANES, NONE, Kind
from kernelbench.simt.lower import lower
from kernelbench.simt.lower.program import Program
from kernelbench.simt.machine import Machine
from kernelbench.simt.parse import parse
from kernelbench.simt.tensor_maps import tensor_map_bytes
from tests.simt.programs import Builder

CHECKS = (*native.SANITIZE, "-O0")  # g++ takes half as long, and what is run is little
PTX = Path(__file__).parent / "ptx"
COUNT = 2  # form of a barrier whose result is a register
MBARRIER_WAIT = 7  # form of one that lies in shared memory
BUDGET = 3000  # warp instructions a block
RANDOM_PROGRAMS = 2000
SHARED, LOCAL = 0x50 << 56, 0x60 << 56
ELEMENTS = [("u8", 16), ("s8", 64), ("u16", 32), ("s16", 16), ("u32", 32), ("s32", 64), ("u64", 64)]
ATOMICS = [("add", "u32"), ("add", "f16"), ("min", "s64"), ("inc", "u32"), ("add", "bf16x2"), ("exch", "u64")]
SPACES = ("global", "shared", "local", "generic", "const", "param")


def recorded(machine: Machine, memory: int) -> int:
    """Each kernel of the recorded PTX, once with addresses of a small array, once with wild ones."""
    launches = 0
    for path in sorted(PTX.glob("*.ptx")):
        module = parse(path.read_text())
        for name in [name for name, one in module.functions.items() if one.entry]:
            try:
                program = lower(inline_calls(module, name), module, native.has_operation)
            except KernelbenchError:
                continue
            for strict in (False, True):
                launches += run(machine, program, memory, strict)
    return launches


def run(machine: Machine, program: Program, memory: int, strict: bool) -> int:
    chance = random.Random(program.name + str(strict))
    arguments = []
    for parameter in program.parameters:
        wild = chance.randbytes(parameter.bytes)
        small = chance.choice([1, 7, 64, 1000]).to_bytes(8, "little")[: parameter.bytes]
        known = memory.to_bytes(8, "little") if parameter.bytes == 8 else small.ljust(parameter.bytes, b"\0")
        arguments.append(wild if strict and chance.random() < 0.3 else known)
    try:
        machine.launch(program, (3,), (48,), arguments, 256, strict=strict, budget=BUDGET, threads=2)
    except KernelbenchError:
        return 0
    return 1


def maps_after(memory: int) -> int:
    """The address of the tensor maps, which are allocated after `memory`."""
    return memory + (4096 + RED_ZONE + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def address(build: Builder, chance: random.Random, memory: int) -> tuple[int, int]:
    """(slot, its bytes) of addresses near and far from what there is."""
    base = chance.choice([memory, 0, SHARED, LOCAL, SHARED + (1 << 32), 2**64 - 8, memory + 4090, maps_after(memory)])
    step = chance.choice([0, 1, 2, 4, 8, 16, 129, 1 << 20])
    values = [(base + chance.choice([0, lane * step]) + chance.choice([0, 0, 1, -4])) % 2**64 for lane in range(LANES)]
    if chance.random() < 0.4:
        return build.constant(np.array([value % 2**32 for value in values], np.uint32), np.uint32), 4
    return build.constant(np.array(values, np.uint64), np.uint64), 8


def asynchronous(
    build: Builder, chance: random.Random, place: tuple[int, int], registers: list[int], more: dict[str, int]
) -> None:
    """An operation of an mbarrier, or a copy that one counts, at addresses that are often those of shared memory."""
    (slot, width), counter = place, build.constant(chance.choice([0, 8, 8, 12, 1 << 24, 2**32 - 4]))
    number = build.constant(chance.choice([0, 1, 32, 33, 512, 2**20, 2**32 - 16]))
    source = build.constant(chance.choice([0, 8, 16, 4000, SHARED, SHARED + 16]), np.uint64)
    low, wide = {"a": counter, "b": 4, "immediate": 0}, {"x": [8, 0, 0, counter, 4, 0]}
    match chance.randrange(8):
        case 0:
            build.emit("mbarrier_init", **low, c=number, **more)
        case 1:
            name, count = chance.choice(["arrive", "transactions"]), chance.choice([registers[0], number])
            build.emit(f"mbarrier_{name}", **low, d=registers[1], c=count, f=chance.randrange(3), **more)
        case 2:
            build.emit(kind=Kind.BARRIER, **low, f=MBARRIER_WAIT, d=0, c=registers[0], e=chance.randrange(2), **more)
        case 3:
            build.emit(f"st_async_u{chance.choice([32, 64])}", a=slot, b=width, c=counter, e=4, d=0,
                       f=chance.choice([1, 2, 4]), x=registers[:4], **more)  # fmt: skip
        case 4:
            build.emit("mbarrier_inval", **low, **more)
        case 5:
            name, start = chance.choice(["load", "store", "reduce", "prefetch"]), [registers[0], number, number]
            build.emit(f"tensor_{name}", a=slot, b=chance.choice([1, 2, 3]), c=counter, e=4, immediate=0,
                       f=chance.randrange(8), x=[*start, NONE, NONE, counter, 4, 0], **more)  # fmt: skip
        case 6:
            table = build.constant([4, *registers[:4], 0, *[0] * (LANES - 6)])
            fields = 8 | 16 << 9 | chance.randrange(4) << 30  # of f16 to f32
            build.emit("wgmma", a=table, b=source, c=slot if width == 8 else source, d=0, f=0, immediate=fields, **more)
        case _:
            name = chance.choice(["shared_global", "shared_shared", "global_shared"])
            build.emit(f"bulk_{name}", a=slot, b=width, c=source, e=number, **wide, **more)


def tensor_maps(chance: random.Random, memory: int) -> bytes:
    """64 of them, of which every other one has bytes that Python does not write."""
    found = b""
    for number in range(64):
        shape = tuple(chance.choice([1, 3, 16, 40]) for _ in range(chance.randrange(3)))
        box, steps = tuple(chance.choice([1, 2, 9]) for _ in shape), tuple(chance.choice([1, 3]) for _ in shape)
        one = bytearray(
            tensor_map_bytes(Tiling("float32", (*shape, 16), (*box, 4), steps=(*steps, 1), swizzle="64B"), memory)
        )
        for _ in range(number % 2 * chance.randrange(1, 4)):
            one[chance.randrange(16, 88)] = chance.choice([0, 1, 5, 16, 255])
        found += bytes(one)
    return found


def made_up(chance: random.Random, memory: int) -> Program:
    build = Builder()
    registers = [build.register(8) for _ in range(8)]
    predicates = [build.predicate() for _ in range(3)]
    length = chance.randrange(5, 40)
    for _ in range(length):
        guard = chance.choice([NONE, *predicates])
        choice = chance.random()
        slot, width = address(build, chance, memory)
        if choice < 0.5:
            element, bits = chance.choice(ELEMENTS)
            space = chance.choice(SPACES)
            what = "ld" if space in ("const", "param") or chance.random() < 0.5 else "st"
            element = element if what == "ld" else element.replace("s", "u")
            build.emit(f"{what}_{space}_{element}_{bits}", a=slot, b=width, f=chance.choice([1, 2, 4]),
                       x=registers[:4], guard=guard, immediate=chance.choice([0, 4, -8, 1 << 40]))  # fmt: skip
        elif choice < 0.65:
            name, kind = chance.choice(ATOMICS)
            build.atomic(chance.choice(["global", "shared", "generic"]), name, kind, slot, registers[0],
                         b=width, d=chance.choice([NONE, registers[1]]), guard=guard)  # fmt: skip
        elif choice < 0.7:
            source = build.constant(memory + 16 * np.arange(LANES), np.uint64)
            build.emit(f"cpasync_{chance.choice([4, 8, 16])}", a=slot, b=width, c=source, x=[0],
                       f=chance.choice([NONE, registers[2]]), guard=guard)  # fmt: skip
        elif choice < 0.76:
            asynchronous(build, chance, (slot, width), registers, {"guard": guard})
        elif choice < 0.82:
            build.emit("testp_notanumber_f32", d=chance.choice(predicates), a=chance.choice(registers))
        elif choice < 0.9:
            build.branch(chance.randrange(length), chance.choice([NONE, chance.randrange(length)]), guard=guard)
        else:
            number = build.constant(chance.choice([0, 1, 15, 16, 2**32 - 1]))
            count = chance.choice([NONE, build.constant(chance.choice([0, 32, 64, 10**6]))])
            form = chance.randrange(7)
            result = registers[3] if form == COUNT else chance.choice(predicates)
            build.emit(kind=Kind.BARRIER, a=number, b=count, f=form, c=predicates[0], e=0, d=result, guard=guard)
    while build.label() < length:
        build.exit()
    return build.build(shared=chance.choice([0, 64, 4096]), local=chance.choice([0, 16, 100]), parameters=[8, 16])


def main() -> None:
    native.SANITIZE = CHECKS
    machine = Machine(sanitize=True)
    memory = machine.memory.allocate("x", 4096, "input").address
    maps = machine.memory.allocate("maps", 128 * 64, "input")
    assert maps.address == maps_after(memory)
    maps.view()[:] = np.frombuffer(tensor_maps(random.Random(1), memory), np.uint8)
    launches = recorded(machine, memory)
    assert launches > 10, launches
    for seed in range(RANDOM_PROGRAMS):
        chance = random.Random(seed)
        program = made_up(chance, memory)
        machine.launch(program, (chance.choice([1, 2, 5]),), (chance.choice([1, 32, 100]),), [memory, b"\1" * 16],
                       strict=chance.random() < 0.5, budget=BUDGET, threads=2)  # fmt: skip
        launches += 1
    sys.stdout.write(f"{launches} launches\n")


if __name__ == "__main__":
    main()
