"""A step of a larger computation, as a suite asks for it: operations that differ, each so many times."""

from __future__ import annotations

from dataclasses import dataclass

PART = "part"  # the axis of a step's cases, along which the names of its parts lie


@dataclass(frozen=True)
class Part:
    """What a step calls so many times: one case, and who computes it in the unfused step and in the fused one."""

    name: str
    operation: str
    case: str  # its key
    calls: int
    unfused: str = ""  # '' where that step does not have this part
    fused: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Who runs its case."""
        return tuple(dict.fromkeys(name for name in (self.unfused, self.fused) if name))


@dataclass(frozen=True)
class Step:
    """One step of a larger computation, as far as operations of the catalog make it up."""

    parts: tuple[Part, ...]
    leaves_out: str  # what else a step does, in words
