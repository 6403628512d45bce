"""Launches of a plan as text and back, and the inputs that their kernels load."""

from collections.abc import Iterator, Mapping, Sequence

from kernelbench.core.errors import InputError
from kernelbench.core.records import EntryFacts, Launch, LaunchPlan, TensorMap

_COOPERATIVE, _GROUPS = (
    " cooperative",
    " in gangs of ",
)  # suffixes where blocks wait for each other, as in recorded runs
MOST_DIGITS = 18  # of a number in a launch, or of loads; a file may have longer ones


def launches_text(plan: LaunchPlan) -> list[str]:
    """Each launch of a plan, or its call of host code, as text."""
    if plan.host is not None:
        return [f"{plan.host.entry}(..) launches by itself"]
    return [launch_text(launch) for launch in plan.launches]


def launch_text(launch: Launch) -> str:
    """`softmax_naive_f32<<<128, 256>>>`; 3-D extents as 4x2x1, dynamic shared bytes third, and a suffix where blocks
    wait for each other."""
    sizes = [extent_text(launch.grid), extent_text(launch.block)]
    if launch.shared_bytes:
        sizes.append(str(launch.shared_bytes))
    groups = f"{_GROUPS}{launch.co_resident}" if launch.co_resident > 1 else ""
    waiting = _COOPERATIVE if launch.cooperative else groups
    return f"{launch.entry}<<<{', '.join(sizes)}>>>{waiting}"


def extent_text(extent: tuple[int, int, int]) -> str:
    """`4x2` of (4, 2, 1)."""
    kept = list(extent)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return "x".join(map(str, kept))


def read_launch(text: str) -> Launch | None:
    """The launch that `launch_text` shows as this text, without its arguments; None for any other text, such as a call
    of host code."""
    entry, _, rest = text.partition("<<<")
    sizes, closed, waiting = rest.partition(">>>")
    try:
        grid, block, *shared = sizes.split(", ")
        together = _count(waiting.removeprefix(_GROUPS)) if waiting not in ("", _COOPERATIVE) else 1
        shared_bytes = _count(*shared or "0")
        launch = Launch(entry, _extent(grid), _extent(block), (), shared_bytes, waiting == _COOPERATIVE, together)
    except (TypeError, ValueError):
        return None
    return launch if entry and closed else None


def _extent(text: str) -> tuple[int, int, int]:
    """ValueError for more than three numbers, or for a text that is not a number."""
    x, y, z = (*map(_count, text.split("x")), *(1, 1)[text.count("x") :])
    return x, y, z


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        raise ValueError(f"{text:.20} is no number of blocks, threads or bytes")
    return int(text)


def input_loads(plan: LaunchPlan, facts: Mapping[str, EntryFacts], inputs: Sequence[str]) -> dict[str, int]:
    """Global load instructions of all launches together, by the input from which their address comes.

    Raises InputError where the plan launches an entry that the binary lacks, or gives it a wrong number of arguments.
    """
    if plan.host is not None:
        return {}  # the kernels that it launches are not known
    loads = dict.fromkeys(inputs, 0)
    for launch, entry in _launched(plan, facts):
        for argument, count in zip(launch.arguments, entry.parameter_loads, strict=True):
            if isinstance(argument, str) and argument in loads:
                loads[argument] += count
            if isinstance(argument, TensorMap) and argument.array in loads:
                loads[argument.array] += 1  # bulk copies are no loads
    return loads


def unread_inputs(plan: LaunchPlan, facts: Mapping[str, EntryFacts], inputs: Sequence[str]) -> list[str]:
    """Inputs that no launch of the plan ever loads: such a plan cannot compute the operation."""
    return [name for name, count in input_loads(plan, facts, inputs).items() if count == 0]


def _launched(plan: LaunchPlan, facts: Mapping[str, EntryFacts]) -> Iterator[tuple[Launch, EntryFacts]]:
    for launch in plan.launches:
        entry = facts.get(launch.entry)
        if entry is None:
            raise InputError(
                f"the plan launches '{launch.entry}', which its source does not define; expected one of {sorted(facts)}"
            )
        if len(launch.arguments) != len(entry.parameter_loads):
            raise InputError(
                f"'{launch.entry}' takes {len(entry.parameter_loads)} arguments, but the plan gives it "
                f"{len(launch.arguments)}"
            )
        yield launch, entry
