"""The empirical arguments of a launch plan, which `kernelbench tune` may search.

Part of the records; files under kernels/ import it from `kernelbench`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kernelbench.core.cost_model import CostModel
from kernelbench.core.errors import DeviceError
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.operations import Case

Values = Mapping[str, int]


def one_layout(case: Case) -> str:
    """The layout for a kernel that treats all shapes of the same size alike."""
    return ""


@dataclass(frozen=True, eq=False)
class Tunable:
    """Arguments of a `plan` beside case and device: names with the values to try, or a function that lists candidates.

    Without them, the plan follows its own rule, which needs neither a table nor a GPU.
    """

    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    restrictions: tuple[str, ...] = ()  # conditions on these names: "across * down <= 1024"
    layout: Callable[[Case], str] = one_layout  # cases of one layout and of similar size take the same values
    cases: tuple[Case, ...] = ()  # cases to tune if no suite is named
    # In place of `values`; if the plan has a rule, its choice is the first.
    candidates: Callable[[Case, DeviceProperties], Sequence[Values]] | None = None
    model: CostModel | None = None  # ranks the candidates

    def listed(self, case: Case, device: DeviceProperties) -> list[dict[str, int]]:
        """What `candidates` returns, checked."""
        assert self.candidates is not None
        found = self.candidates(case, device)
        for each in found:
            if not isinstance(each, Mapping) or not all(type(one) is int for one in each.values()):
                raise DeviceError(f"its candidates: expected integers by name, got {each!r:.80}")
        return [dict(each) for each in found]

    def ranked(self, case: Case, device: DeviceProperties, constants: Mapping[str, float]) -> list[dict[str, int]]:
        """The candidates, from the one that the model expects to be the fastest on."""
        assert self.model is not None
        times = [float(self.model.seconds(each, constants)) for each in self.model.quantities(case, device)]
        pairs = zip(times, self.listed(case, device), strict=True)
        return [values for _, values in sorted(pairs, key=lambda pair: pair[0])]

    def problem(self, plan: Callable[..., object] | None) -> str:
        """Why `plan` cannot take these arguments; '' if it can."""
        if plan is None:
            return "a library has no plan"
        known = inspect.signature(plan).parameters
        if self.candidates is not None:
            if self.values:
                return "it has both values and candidates; expected one of them"
            if not any(one.kind is one.VAR_KEYWORD for one in known.values()):
                return "its plan does not take the values of candidates; expected **values"
            return ""
        if not self.values:
            return "there is nothing to try: values is empty"
        for name, values in self.values.items():
            if name not in known:
                return f"its plan has no argument '{name}'; it has {', '.join(known)}"
            if not values or not all(type(one) is int for one in values):
                return f"values of '{name}' must be integers, at least one, got {values!r}"
        return ""


def values_text(values: Values) -> str:
    """`block 256, packs 2`."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
