"""Puts the launches that Nsight Compute recorded beside those of the simulator: how their counters agree, and what
explains a difference.

Both count the same accesses: the simulator those of the PTX, joined as ptxas did in shared memory where that is clear,
the hardware those of the machine code. So a difference is explained where the machine code has other accesses of that
kind than the PTX, or where the simulator ran a sample of the blocks, these differ in what is counted, and by enough for
the difference. All others are unexplained.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from kernelbench.core.counters import GROUPED, JOINED, LaunchCounters
from kernelbench.core.hardware_counters import COMPARED, Agreement, CountedLaunch, ProfiledLaunch, simulated_values
from kernelbench.core.units import digits
from kernelbench.explain.counted import Counted

# Accesses by the names that notes on machine code have for them, see build/sass.py, by metric. A load whose space
# the compiler does not know is `ld` or LD.
_LOADS, _STORES = (" ld ", " LD "), (" st ", " ST ")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "global_load": ("ld.global", "cp.async", "LDG", *_LOADS),
    "global_store": ("st.global", "STG", *_STORES),
    "global_atomic": ("atom.global", "ATOMG", "RED", "atomics", " ATOM"),
    "shared_load": ("ld.shared", "LDS", "ldmatrix", *_LOADS),
    "shared_store": ("st.shared", "STS", "stmatrix", *_STORES),
    "shared_atomic": ("atom.shared", "ATOMS", "atomics", " ATOM"),
    "local_load": ("ld.local", "LDL", *_LOADS),
    "local_store": ("st.local", "STL", *_STORES),
}


@dataclass(frozen=True)
class LaunchAgreement:
    """The result for one launch, see CountedLaunch."""

    agreement: Agreement
    differences: str = ""
    explanation: str = ""
    unexplained: tuple[str, ...] = ()


def compare_launch(hardware: Mapping[str, float], launch: LaunchCounters, machine_code: str) -> LaunchAgreement:
    """Compare a launch. `hardware`: by metric, without those that have no value; `machine_code`: see EntryFacts."""
    simulated = simulated_values(launch.counters)
    metrics = [name for name in COMPARED if name in hardware]
    apart = [name for name in metrics if round(hardware[name]) != simulated[name]]
    if not apart:
        return LaunchAgreement("equal" if metrics else "")
    by_reason: dict[str, list[str]] = {}
    for name in apart:
        reason = _reason(name, hardware[name], simulated[name], launch, machine_code)
        by_reason.setdefault(reason, []).append(name)
    unexplained = tuple(by_reason.pop("", ()))
    return LaunchAgreement(
        "unexplained" if unexplained else "explained",
        "; ".join(f"{name} {_against(hardware[name], simulated[name])}" for name in apart),
        "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()),
        unexplained,
    )


def _reason(name: str, real: float, simulated: int, launch: LaunchCounters, machine_code: str) -> str:
    """What explains a difference; '' for nothing."""
    if not machine_code.startswith("not available"):
        access = name.rpartition("_")[0]
        clauses = [one for one in machine_code.split("; ") if any(word in f" {one} " for word in _NAMES[access])]
        if launch.grouping == GROUPED and access in ("shared_load", "shared_store"):
            clauses = [one for one in clauses if not one.startswith(JOINED)]
        if clauses:
            return "; ".join(clauses)
    most = launch.may_be_off.get(name, 0.0) if launch.sampled else 0.0
    if not most or abs(real - simulated) > most:
        return ""
    scaled = f"scaled from {launch.sampled.removeprefix('sampled ')}"
    return f"{scaled}, which differ: it may be off by {digits(100 * most / simulated, 2)} %"


def _against(real: float, simulated: int) -> str:
    """`98304 / 131072 (0.75)`."""
    ratio = f" ({digits(real / simulated, 3)})" if simulated else ""
    return f"{real:.0f} / {simulated}{ratio}"


def side_by_side(
    case: str, implementation: str, profiled: Sequence[ProfiledLaunch] | str, counted: Counted | str
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
    stalls = {name: value for name, value in real.stalls.items() if value} if real else {}
    result = compare_launch(real.values, simulated, machine_code or "") if real and simulated else LaunchAgreement("")
    return CountedLaunch(
        case=case,
        implementation=implementation,
        launch=number,
        kernel=simulated.entry if simulated else real.kernel if real else "",
        grid=real.grid if real else None,
        block=real.block if real else None,
        hardware=real.values if real else {},
        stalls=dict(sorted(stalls.items(), key=lambda item: -item[1])),
        simulated=simulated_values(simulated.counters) if simulated else {},
        sampled=simulated.sampled.removeprefix("sampled ") if simulated else "",
        reason="; ".join([*why, *(_missing(real) if real else ())]),
        **vars(result),
    )


def _missing(real: ProfiledLaunch) -> Iterator[str]:
    """Reasons for metrics without a value, each with its metrics."""
    for reason in dict.fromkeys(real.missing.values()):
        yield f"{', '.join(name for name, own in real.missing.items() if own == reason)}: {reason}"


def _apart(real: Sequence[ProfiledLaunch], simulated: Sequence[LaunchCounters]) -> str:
    """Why the two sides are not the same launches; '' if they are."""
    ran, counted = [one.symbol for one in real], [one.entry for one in simulated]
    return "" if ran == counted else f"it ran {', '.join(counted)} where the GPU ran {', '.join(ran)}"
