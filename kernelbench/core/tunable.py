"""Which choices of a launch plan are empirical: what `kernelbench tune` may search, as a kernel's twin file says.

Part of the records; files under kernels/ import it from `kernelbench`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelbench.core.operations import Case


def one_layout(case: Case) -> str:
    """The layout of a kernel to which all shapes of as many bytes are alike."""
    return ""


@dataclass(frozen=True, eq=False)
class Tunable:
    """Arguments of a `plan` beside case and device, each with the values to try.

    Left out of a call they are what the plan's own rule says; so the rule needs no table and no GPU.
    """

    values: Mapping[str, tuple[int, ...]]
    restrictions: tuple[str, ...] = ()  # what must hold, over these names: "across * down <= 1024"
    # Cases of one layout take the same values where they have about as many bytes.
    layout: Callable[[Case], str] = one_layout
    cases: tuple[Case, ...] = ()  # what is tuned where no suite is named

    def problem(self, plan: Callable[..., object] | None) -> str:
        """Why `plan` cannot be given these arguments, or ''."""
        if plan is None:
            return "a library has no plan"
        if not self.values:
            return "there is nothing to try: values is empty"
        known = inspect.signature(plan).parameters
        for name, values in self.values.items():
            if name not in known:
                return f"its plan has no argument '{name}'; it has {', '.join(known)}"
            if not values or not all(type(one) is int for one in values):
                return f"values of '{name}' must be integers, at least one, got {values!r}"
        return ""


def values_text(values: Mapping[str, int]) -> str:
    """`block 256, packs 2`."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
