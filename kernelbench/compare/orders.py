"""Kinds of claims about the times of several implementations at once."""

from collections.abc import Sequence
from itertools import pairwise

from kernelbench.compare import verdicts
from kernelbench.compare.judging import ClaimQuery, all_met, at_most, case_verdict, spread_of, value_with_interval
from kernelbench.compare.measured import SAME, MeasuredCase, speedup
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units


def judge_order(query: ClaimQuery) -> ClaimVerdict:
    names: Sequence[str] = query.stated["order"]

    def one(case: MeasuredCase) -> CaseVerdict | None:
        # The time of each step over that of the one before, and of the first over that of the last.
        steps = [query.speedup(case, later, earlier) for earlier, later in pairwise(names)]
        whole = query.speedup(case, names[0], names[-1])
        timed = [ratio for ratio in steps if ratio is not None]
        if whole is None or len(timed) < len(steps):
            return None
        met = [at_most(ratio, 1 + SAME) for ratio in timed]
        text = "; ".join(
            f"{later} takes {value_with_interval(ratio)} times the time of {earlier}"
            for (earlier, later), ratio in zip(pairwise(names), timed, strict=True)
        )
        published = query.published_speedup(case, names[0], names[-1])
        found = case_verdict(
            case, whole, text, direction=all_met(met), band=query.factor(published), published=published
        )
        worst[case.key] = max(ratio.value for ratio in timed)
        return found

    worst: dict[str, float] = {}
    cases = query.timed_cases(names, one)
    chain = ", ".join(query.label(name) for name in names)
    required = query.direction(f"each takes no longer than the one before, within {units.share_text(SAME)}: {chain}")

    def told(on: str) -> str:
        steps = verdicts.range_text([worst[case.case] for case in cases if case.counts])
        return (
            f"In the order {chain}, the worst step takes {steps} times the time of the one before on {on}; the last is "
            f"{spread_of(cases)} times as fast as the first"
        )

    return query.concluded(cases, told, required, query.factor_size())


def judge_level(query: ClaimQuery) -> ClaimVerdict:
    names: Sequence[str] = query.stated["names"]
    limit = 1 + query.size_of("within")

    def one(case: MeasuredCase) -> CaseVerdict | None:
        times = query.timed_alike({name: (case, name) for name in names})
        if len(times) < len(names):
            return None
        slowest, fastest = (choose(times, key=lambda name: times[name].median_s) for choose in (max, min))
        ratio = speedup(times[slowest], times[fastest])
        published = query.published_times(case, *names)
        spread = max(published) / min(published) if published else None
        text = f"{slowest} takes {value_with_interval(ratio)} times the time of {fastest}"
        return case_verdict(case, ratio, text, band=(0.0, limit), published=spread)

    cases = query.timed_cases(names, one)
    listed = ", ".join(query.label(name) for name in names)
    required = query.size(f"at most {units.digits(limit, 3)} times from the fastest to the slowest")
    return query.concluded(
        cases,
        lambda on: f"The slowest of {listed} takes {spread_of(cases)} times the time of the fastest on {on}",
        None,
        required,
    )
