"""A step of a larger computation, as a suite describes it: different operations, each called several times."""

from dataclasses import dataclass

PART = "part"  # the axis of a step's cases, with the names of its parts as values


@dataclass(frozen=True)
class Part:
    """A case that a step calls `calls` times, and its implementations in the unfused step and in the fused one."""

    name: str
    operation: str
    case: str  # its key
    calls: int
    unfused: str = ""  # '' where that step does not have this part
    fused: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Implementations that run its case."""
        return tuple(dict.fromkeys(name for name in (self.unfused, self.fused) if name))


@dataclass(frozen=True)
class Step:
    """One step of a larger computation, as far as operations of the catalog cover it."""

    parts: tuple[Part, ...]
    leaves_out: str  # what the parts do not cover, in words
