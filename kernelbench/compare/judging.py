"""What the kinds of claims share: the cases that one is about, what it asks for, and the verdict with its sentence."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

from kernelbench.compare import verdicts
from kernelbench.compare.ledger import published_figures, published_of
from kernelbench.compare.ledger_values import FIGURES_OF_CASE, NOT_STATED
from kernelbench.compare.measured import SAME, MeasuredCase, MeasuredRun, Ratio, Timed
from kernelbench.compare.verdicts import NOT_DECIDED, CaseVerdict, ClaimPart, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim, shared_method
from kernelbench.explain import evidence

CACHE = "cold"  # the L2 is cleared before every sample
CACHE_MULTIPLE = 4  # a case that moves more times the size of the L2 is memory-bound: the L2 keeps a quarter at most

# A stated factor is rounded to a digit or two and was measured on another GPU. 1.25 either way takes 1.6 to 2.5 for
# "twice as fast": what still rounds to 2.
TOLERANCE = 1.25

Band = tuple[float, float]
Key = TypeVar("Key")


@dataclass(frozen=True)
class ClaimQuery:
    """What a claim asks of a run."""

    measured: MeasuredRun
    claim: Claim

    @property
    def stated(self) -> Mapping[str, Any]:
        """The claim as its file has it."""
        stated: Mapping[str, Any] = self.claim.document["claim"]
        return stated

    def timed(self, case: MeasuredCase, name: str) -> Timed | None:
        """The cold times of an implementation, by its best method."""
        return self.measured.best_method(case.key, name, CACHE)

    def timed_alike(
        self, wanted: Mapping[Key, tuple[MeasuredCase, str]], needed: Collection[Key] | None = None
    ) -> dict[Key, Timed]:
        """The cold times of implementations on cases, all by one method: the best that all of `needed` have, by
        default all of `wanted`. Those without a time by it are left out."""
        found = {key: self.measured.times(case.key, name, CACHE) for key, (case, name) in wanted.items()}
        method = shared_method(*(times for key, times in found.items() if times and (not needed or key in needed)))
        return {key: times[method] for key, times in found.items() if method in times} if method else {}

    def _is_short(self, case: MeasuredCase, names: Sequence[str]) -> bool:
        """Whether a side of a ratio of these is near the floor, by the method of that ratio."""
        pairs: list[tuple[str, ...]] = [*combinations(names, 2)] or [(name,) for name in names]
        sides = (self.timed_alike({name: (case, name) for name in pair}).values() for pair in pairs)
        return any(side.floor_limited for pair in sides for side in pair)

    def speedup(self, case: MeasuredCase, baseline: str, name: str) -> Ratio | None:
        """Time of `baseline` over that of `name`, both cold; None where one has none."""
        return self.measured.speedup(case.key, CACHE, baseline, name)

    def parameters(self, *names: str) -> tuple[str, ...]:
        return tuple(self.stated[name] for name in names)

    def label(self, name: str) -> str:
        return str(self.stated.get("labels", {}).get(name, name))

    def cases(self) -> Iterator[MeasuredCase]:
        """Cases that the claim is about: of its operation, dtypes and parameters, and not narrower than it says. An
        explanation may be about several operations."""
        limits = self.stated
        for case in self.measured.cases:
            if case.operation != self.claim.document["operation"] and self.claim.kind != "explanation":
                continue
            if case.dtype not in limits.get("dtypes", [case.dtype]) or case.columns < limits.get("from_columns", 0):
                continue
            if not evidence.has_published_inputs(evidence.inputs_of(case.words), self.claim):
                continue
            if evidence.has_parameters(case.words, limits.get("parameters", {})):
                yield case

    def timed_cases(
        self,
        names: Sequence[str],
        one: Callable[[MeasuredCase], CaseVerdict | None],
        cases: Iterable[MeasuredCase] | None = None,
        timed: Sequence[str] | None = None,
    ) -> list[CaseVerdict]:
        """The verdict of `one` on each case; if it is None, one of `names` is missing. A case does not count if one of
        `timed`, by default of `names`, is near the floor."""
        found, timed = [], names if timed is None else timed
        for case in self.cases() if cases is None else cases:
            verdict = one(case)
            if verdict is None:
                found.append(self.missing(case, *names))
            elif self._is_short(case, timed):
                found.append(replace(verdict, below_floor=True, text=f"{verdict.text}; {verdicts.BELOW_FLOOR}"))
            else:
                found.append(verdict)
        return found

    def beyond_caches(self) -> tuple[list[MeasuredCase], str]:
        """Cases that count as memory-bound, which move more than 4 times what the L2 holds; where none, why."""
        l2_bytes = self.measured.run.environment.get("device", {}).get("l2_bytes")
        if not l2_bytes:
            return [], "environment.json of the run does not give the size of the L2"
        large = [case for case in self.cases() if (case.bytes_moved or 0) > CACHE_MULTIPLE * l2_bytes]
        limit = units.bytes_text(CACHE_MULTIPLE * l2_bytes)
        return large, f"no case moves more than {limit}, {CACHE_MULTIPLE} times the L2, so caches decide"

    def published_times(self, case: MeasuredCase, *names: str) -> list[float]:
        """Times of all these implementations on that case; empty where one of them has none."""
        found = published_of({self.claim.id: self.claim}, case).get(self.claim.id, {})
        times = [found[name].seconds for name in names if name in found]
        known = [time for time in times if time]
        return known if len(known) == len(names) else []

    def published_speedup(self, case: MeasuredCase, baseline: str, name: str) -> float | None:
        times = self.published_times(case, baseline, name)
        return times[0] / times[1] if times else None

    def missing(self, case: MeasuredCase, *names: str) -> CaseVerdict:
        return CaseVerdict(case.key, case.label, None, self.measured.why_not(case.key, CACHE, *names))

    def direction(self, required: str) -> ClaimPart | None:
        """The direction that the claim asks for, in the words of its kind."""
        return _part(self.stated.get("direction"), required)

    def size(self, required: str) -> ClaimPart | None:
        return _part(self.stated.get("size"), required)

    def size_of(self, name: str) -> Any:
        """The number of the claim's size: `within`, `bands`, .."""
        return self.stated["size"][name]

    def factor(self, published: float | None) -> Band | None:
        """Where a ratio must lie, by the stated factor and its tolerance; None where none is stated for this case."""
        size = self.stated.get("size")
        if size is None:
            return None
        stated = published if size["factor"] == FIGURES_OF_CASE else size["factor"]
        if stated is None:
            return None
        low, high = stated if isinstance(stated, list) else (stated, stated)
        tolerance = size.get("tolerance", TOLERANCE)
        return low / tolerance, high * tolerance

    def factor_size(self, unit: str = "times") -> ClaimPart | None:
        """The size of a stated factor: "2 times (1.6 to 2.5)"."""
        size = self.stated.get("size")
        if size is None:
            return None
        tolerance, stated = size.get("tolerance", TOLERANCE), size["factor"]
        if stated == FIGURES_OF_CASE:
            within = f"within a factor of {units.digits(tolerance, 3)} either way"
            return self.size(f"the published ratio of the case, {within}")
        said = " to ".join(f"{number:g}" for number in stated) if isinstance(stated, list) else f"{stated:g}"
        band = self.factor(None)
        assert band is not None
        return self.size(f"{said} {unit} ({' to '.join(units.digits(end, 3) for end in band)})")

    def unmeasured(self, reason: str, cases: Sequence[CaseVerdict] = ()) -> ClaimVerdict:
        return ClaimVerdict(self.claim.id, self.claim.title, NOT_DECIDED, f"Not decided: {reason}.", tuple(cases))

    def concluded(
        self,
        cases: Sequence[CaseVerdict],
        told: Callable[[str], str],
        direction: ClaimPart | None,
        size: ClaimPart | None,
        *,
        with_published: bool = True,
    ) -> ClaimVerdict:
        """The verdict from the cases that count. `told` makes the sentence, given on how many cases."""
        counted = [case for case in cases if case.counts]
        if not counted:
            return self.unmeasured(verdicts.unmeasured_reasons(cases), cases)
        sized = [case for case in counted if case.required]
        some = bool(self.stated.get("some"))
        met = [case.direction for case in counted]
        direction = direction and replace(direction, answer=verdicts.part_answer(met, some=some))
        size = replace(size, answer=verdicts.part_answer([case.size for case in sized])) if size and sized else None
        outcome = verdicts.overall_verdict(direction, size)
        sentence = told(verdicts.how_many_cases(cases))
        if with_published:
            published = self._published_text(counted)
            sentence += published or (f"; {size.by}: {size.required}" if size else "")
        sentence += _where(counted, sized, direction, size)
        if small := [case for case in cases if case.below_floor]:
            sentence += f"; {units.number_of(len(small), 'case')} too short to count"
        return ClaimVerdict(self.claim.id, self.claim.title, outcome, sentence + ".", tuple(cases), direction, size)

    def _published_text(self, cases: Sequence[CaseVerdict]) -> str:
        published = [case.published for case in cases if case.published is not None]
        if not published:
            return ""
        device = published_figures(self.claim)[0].device
        at = f"at {len(published)} of them, " + ("GPU not stated" if device == NOT_STATED else f"on {device}")
        caution = self.stated.get("caution", "")
        return f" (published {verdicts.range_text(published)} {at}{'; ' if caution else ''}{caution})"


Judge = Callable[[ClaimQuery], ClaimVerdict]


def _part(wanted: Mapping[str, Any] | None, required: str) -> ClaimPart | None:
    if wanted is None:
        return None
    return (
        ClaimPart(required, "stated", wanted["stated"])
        if "stated" in wanted
        else ClaimPart(required, "set here", wanted["set"])
    )


def all_met(met: Collection[bool | None]) -> bool | None:
    return False if False in met else None if None in met else True


def at_most(ratio: Ratio, limit: float) -> bool | None:
    return True if ratio.high <= limit else False if ratio.low > limit else None


def interval_in_band(ratio: Ratio, band: Band | None) -> bool | None:
    """Whether the whole interval lies in the band; None: open, or there is no band."""
    if band is None:
        return None
    low, high = band
    if low <= ratio.low and ratio.high <= high:
        return True
    return False if ratio.high < low or ratio.low > high else None


def is_faster(ratio: Ratio) -> bool | None:
    """True: faster by more than the noise band. False: within the interval it is at most the same. None: open."""
    return True if ratio.verdict == "FASTER" else False if ratio.high <= 1 + SAME else None


def value_with_interval(ratio: Ratio) -> str:
    low, value, high = (units.digits(number, 3) for number in (ratio.low, ratio.value, ratio.high))
    return f"{value} [{low}, {high}]"


def case_verdict(
    case: MeasuredCase,
    ratio: Ratio,
    text: str,
    *,
    direction: bool | None = None,
    band: Band | None = None,
    published: float | None = None,
) -> CaseVerdict:
    """The verdict on a case whose measured quantity is a ratio, which must lie in `band` where a size is asked for."""
    return CaseVerdict(
        case.key,
        case.label,
        ratio.value,
        text,
        direction=direction,
        size=interval_in_band(ratio, band),
        published=published,
        interval=(ratio.low, ratio.high),
        required=band,
    )


def _where(
    counted: Sequence[CaseVerdict], sized: Sequence[CaseVerdict], direction: ClaimPart | None, size: ClaimPart | None
) -> str:
    """Which cases are on which side, of each part that is neither met everywhere nor missed everywhere."""
    said = ""
    for name, part, cases in (("direction", direction, counted), ("size", size, sized)):
        met = [case.direction if name == "direction" else case.size for case in cases]
        if part is not None and part.answer != "no" and not all(met):
            subject = f"the {name}" if direction and size else "it"
            said += f"; {subject} {verdicts.where([case.label for case in cases], met)}"
    return said


def spread_of(cases: Iterable[CaseVerdict]) -> str:
    """The measured numbers of the cases that count, from least to most."""
    values = [case.measured for case in cases if case.counts and case.measured is not None]
    return verdicts.range_text(values) if values else ""
