"""The empirical arguments of a launch plan, which `kernelbench tune` may search.

Part of the records; files under kernels/ import it from `kernelbench`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelbench.core.operations import Case


def one_layout(case: Case) -> str:
    """The layout for a kernel that treats all shapes of the same size alike."""
    return ""


@dataclass(frozen=True, eq=False)
class Tunable:
    """Arguments of a `plan` beside case and device, each with the values to try.

    Without them, the plan follows its own rule, which needs neither a table nor a GPU.
    """

    values: Mapping[str, tuple[int, ...]]
    restrictions: tuple[str, ...] = ()  # conditions on these names: "across * down <= 1024"
    layout: Callable[[Case], str] = one_layout  # cases of one layout and of similar size take the same values
    cases: tuple[Case, ...] = ()  # cases to tune if no suite is named

    def problem(self, plan: Callable[..., object] | None) -> str:
        """Why `plan` cannot take these arguments; '' if it can."""
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
