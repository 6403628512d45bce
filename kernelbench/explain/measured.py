"""Puts the launches that Nsight Compute recorded beside those of the simulator."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from kernelbench.core.counters import LaunchCounters
from kernelbench.core.hardware_counters import CountedLaunch, ProfiledLaunch, simulated_values
from kernelbench.explain.agreement import Comparison, compare_launch
from kernelbench.explain.counted import Counted


def side_by_side(
    case: str,
    implementation: str,
    profiled: Sequence[ProfiledLaunch] | str,
    counted: Counted | str,
) -> tuple[CountedLaunch, ...]:
    """The launches of one implementation, or a single record with the reasons if neither side has any.

    `profiled` and `counted`: what each side has, or the reason why it has nothing.
    """
    real = () if isinstance(profiled, str) else tuple(profiled)
    simulated = () if isinstance(counted, str) else counted.launches
    why = [f"hardware: {profiled}"] if isinstance(profiled, str) else []
    why += [f"simulator: {counted}"] if isinstance(counted, str) else []
    if not why and (apart := _apart(real, simulated)):
        why, simulated = [f"simulator: {apart}"], ()
    if not (real or simulated):
        return (CountedLaunch(case, implementation, 0, "", None, None, reason="; ".join(why)),)
    codes = [shape.machine_code for shape in counted.shapes] if not isinstance(counted, str) and simulated else []
    return tuple(
        _launch(case, implementation, number, one, other, code, why)
        for number, (one, other, code) in enumerate(zip_longest(real, simulated, codes), start=1)
    )


def _launch(
    case: str,
    implementation: str,
    number: int,
    real: ProfiledLaunch | None,
    simulated: LaunchCounters | None,
    machine_code: str | None,
    why: Sequence[str],
) -> CountedLaunch:
    result = compare_launch(real.values, simulated, machine_code or "") if real and simulated else Comparison("")
    return CountedLaunch(
        case=case,
        implementation=implementation,
        launch=number,
        kernel=simulated.entry if simulated else real.kernel if real else "",
        grid=real.grid if real else None,
        block=real.block if real else None,
        hardware=real.values if real else {},
        stalls=_by_size(real.stalls) if real else {},
        simulated=simulated_values(simulated.counters) if simulated else {},
        sampled=simulated.sampled.removeprefix("sampled ") if simulated else "",
        reason="; ".join([*why, *(_missing(real) if real else ())]),
        **vars(result),
    )


def _by_size(stalls: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(((name, value) for name, value in stalls.items() if value), key=lambda item: -item[1]))


def _missing(real: ProfiledLaunch) -> Iterator[str]:
    """Reasons for metrics without a value, each with its metrics."""
    for reason in dict.fromkeys(real.missing.values()):
        yield f"{', '.join(name for name, own in real.missing.items() if own == reason)}: {reason}"


def _apart(real: Sequence[ProfiledLaunch], simulated: Sequence[LaunchCounters]) -> str:
    """Why the two sides are not the same launches; '' if they are."""
    ran, counted = [one.symbol for one in real], [one.entry for one in simulated]
    return "" if ran == counted else f"it ran {', '.join(counted)} where the GPU ran {', '.join(ran)}"
