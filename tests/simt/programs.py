"""Programs made by hand, for tests of the machine that need neither PTX nor nvcc."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelbench.simt import ir
from kernelbench.simt.interface import LANES, NONE, Kind
from kernelbench.simt.lower.program import Lowered, Program, SpecialSlot


class Builder:
    """Instructions in order; `label()` is the index of the next one. Line n of k.cu is instruction n - 1."""

    def __init__(self) -> None:
        self.code: list[Lowered] = []
        self.sources: list[ir.Instruction] = []
        self._registers = 0
        self._constants: list[tuple[int, bytes]] = []
        self._specials: list[SpecialSlot] = []
        self._constant_bytes = 0
        self.predicates = 0
        self.image_offset = 1 << 14

    def register(self, width: int = 4, count: int = 1) -> int:
        found = self._registers
        self._registers += width * LANES * count
        assert self._registers <= self.image_offset
        return found

    def constant(self, values: Any, dtype: Any = np.uint32) -> int:
        """Slot of a value, or of a value for each lane."""
        data = np.broadcast_to(np.asarray(values, dtype), (LANES,)).tobytes()
        found = self.image_offset + self._constant_bytes
        self._constants.append((found, data))
        self._constant_bytes += len(data)
        return found

    def special(self, name: str) -> int:
        slot = self.constant(0)
        self._specials.append(SpecialSlot(name, slot))
        return slot

    def predicate(self) -> int:
        self.predicates += 1
        return self.predicates - 1

    def only(self, chosen: Any) -> int:
        """A predicate that holds in these lanes of each warp."""
        found = self.predicate()
        self.emit("testp_notanumber_f32", d=found, a=self.constant(np.where(chosen, np.nan, 0), np.float32))
        return found

    def label(self) -> int:
        return len(self.code)

    def emit(
        self,
        operation: str = "",
        *,
        text: str | None = None,
        x: Sequence[int] = (),
        kind: Kind = Kind.COMPUTE,
        **fields: Any,
    ) -> int:
        """Appends an instruction, written `text` ("ld.global.u32"); its index."""
        opcode = tuple((text or operation or kind.name.lower()).split("."))
        values = {name: fields.pop(name, NONE) for name in "dabcef"}
        guard, negated = fields.pop("guard", NONE), fields.pop("negated", False)
        self.code.append(
            Lowered(
                operation=operation,
                **values,
                x=(*x, *(NONE,) * (8 - len(x))),
                immediate=fields.pop("immediate", 0),
                guard=guard,
                negated=negated,
                kind=kind,
                target=fields.pop("target", NONE),
                reconverge=fields.pop("reconverge", NONE),
            )
        )
        assert not fields, fields
        index = len(self.code) - 1
        place = ir.SourceLine("src/k.cu", index + 1)
        self.sources.append(ir.Instruction(opcode, (), None, ".".join(opcode), index + 1, place))
        return index

    def load(
        self, space: str, address: int, to: Sequence[int], element: str = "u32", bits: int = 32, **more: Any
    ) -> int:
        text = f"ld.{space}" + (f".v{len(to)}" if len(to) > 1 else "") + f".{element}"
        more.setdefault("b", 4 if space == "shared" else 8)
        return self.emit(f"ld_{space}_{element}_{bits}", text=text, a=address, f=len(to), x=to, **more)

    def store(
        self, space: str, address: int, values: Sequence[int], element: str = "u32", bits: int = 32, **more: Any
    ) -> int:
        text = f"st.{space}" + (f".v{len(values)}" if len(values) > 1 else "") + f".{element}"
        more.setdefault("b", 4 if space == "shared" else 8)
        return self.emit(f"st_{space}_{element}_{bits}", text=text, a=address, f=len(values), x=values, **more)

    def atomic(self, space: str, name: str, kind: str, address: int, c: int, **more: Any) -> int:
        more.setdefault("b", 4 if space == "shared" else 8)
        text = f"{'red' if 'd' not in more else 'atom'}.{space}.{name}.{kind}"
        return self.emit(f"atom_{space}_{name}_{kind}", text=text, a=address, c=c, **more)

    def barrier(self, number: int = 0, form: int = 0, **more: Any) -> int:
        return self.emit(text="bar.sync", kind=Kind.BARRIER, a=self.constant(number), f=form, **more)

    def branch(self, target: int, reconverge: int = NONE, **more: Any) -> int:
        return self.emit(text="bra", kind=Kind.BRANCH, target=target, reconverge=reconverge, **more)

    def exit(self, **more: Any) -> int:
        return self.emit(text="exit", kind=Kind.EXIT, **more)

    def build(
        self,
        *,
        shared: int = 0,
        local: int = 0,
        parameters: Sequence[int] = (),
        ordered: bool = False,
        table: Sequence[int] = (),
        zeroed: Sequence[tuple[int, int]] = (),
    ) -> Program:
        """`parameters`: their sizes."""
        if not self.code or self.code[-1].kind is not Kind.EXIT or self.code[-1].guard != NONE:
            self.exit()
        offsets = np.concatenate([[0], np.cumsum(parameters)]).astype(int)
        return Program(
            name="k",
            code=tuple(self.code),
            sources=tuple(self.sources),
            register_bytes=self.image_offset + self._constant_bytes,
            image_offset=self.image_offset,
            image=b"".join(data for _, data in self._constants),
            specials=tuple(self._specials),
            patches=(),
            zeroed=tuple(zeroed),
            predicates=self.predicates,
            static_shared_bytes=shared,
            dynamic_offset=shared,
            local_bytes=local,
            parameters=tuple(
                ir.Parameter(f"p{i}", "b8", int(offsets[i]), size, size) for i, size in enumerate(parameters)
            ),
            parameter_bytes=int(offsets[-1]),
            table=tuple(table),
            variables={},
            ordered=ordered,
            max_threads=(),
            required_threads=(),
            cluster=(),
        )


def lanes(values: Any, dtype: Any = np.int64) -> NDArray[Any]:
    """`values` of each lane, as an array of 32."""
    return np.broadcast_to(np.asarray(values, dtype), (LANES,)).copy()
