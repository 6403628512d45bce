"""What is said of a claim. A verdict has two parts: the direction (who is faster) and the size (by how much).

A claim asks for one of them or for both. On each case a part is met, not met, or open: its interval is too wide to say.

verdict          over the cases that count
holds            everything that the claim asks for is met on every case
direction only   the direction is met on every case, the size on none
holds in part    some cases meet what is asked for, others do not
does not hold    no case meets the direction; of a claim that asks for a size alone: no case meets the size
not decided      nothing was measured, or every case is open

Where the source speaks of some cases, one that meets the direction is enough.
An open case counts as one that does not meet the part, but a part that is open on every case is not decided. A case
does not count where a side has no time, or where its fastest side takes less than 3 times an empty kernel.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from kernelbench.core import units

Outcome = Literal["holds", "direction only", "holds in part", "does not hold", "not decided"]
Answer = Literal["yes", "in part", "no", "open"]  # of one part, over all cases

VERDICTS: tuple[Outcome, ...] = get_args(Outcome)
DECIDED: tuple[Outcome, ...] = VERDICTS[:-1]
NOT_DECIDED: Outcome = "not decided"
BELOW_FLOOR = "below the floor: it takes less than 3 times an empty kernel"

_NAMED = 4  # most cases that a sentence lists by name


@dataclass(frozen=True)
class ClaimPart:
    """What a claim asks for, direction or size: `required` in words, who asks for it, and whether it is met."""

    required: str  # "2 times (1.6 to 2.5)"
    by: Literal["stated", "set here"]
    words: str  # the quotation, or the reason
    answer: Answer = "open"


@dataclass(frozen=True)
class CaseVerdict:
    """A claim on one case. `measured` is what the claim's kind compares, most often a ratio."""

    case: str  # key of the case
    label: str  # short form for sentences: "seq=512"
    measured: float | None  # None: not measured, `text` says why
    text: str
    direction: bool | None = None  # met? None: open, or not asked for
    size: bool | None = None
    published: float | None = None  # the same quantity from the published figures, where they have this case
    interval: tuple[float, float] | None = None  # of `measured`, 95 %
    required: tuple[float, float] | None = None  # where the size asks `measured` to lie; None: no size asked for
    below_floor: bool = False

    @property
    def counts(self) -> bool:
        return self.measured is not None and not self.below_floor


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim on a whole run."""

    id: str
    title: str
    verdict: Outcome
    sentence: str  # plain English, one line, with the numbers
    cases: tuple[CaseVerdict, ...] = ()
    direction: ClaimPart | None = None  # None: not asked for
    size: ClaimPart | None = None

    def met(self, case: CaseVerdict) -> bool | None:
        """Whether this case meets all that the claim asks of it; None: open, or it does not count."""
        asked = [case.direction] if self.direction else []
        asked += [case.size] if self.size and case.required else []
        return None if not case.counts or (None in asked and False not in asked) else False not in asked


def part_answer(met: Sequence[bool | None], *, some: bool = False) -> Answer:
    """The answer of one part over the cases that count. `some`: one that is met is enough."""
    if all(one is None for one in met):
        return "open"
    if all(met) or (some and any(met)):
        return "yes"
    return "in part" if any(met) else "no"


def overall_verdict(direction: ClaimPart | None, size: ClaimPart | None) -> Outcome:
    """The verdict from the parts that are asked for; see the table above."""
    if direction is None or (direction.answer == "yes" and size is not None):
        if direction and size and size.answer in ("no", "open"):
            return "direction only"
        direction = size
    words: dict[str, Outcome] = {"yes": "holds", "in part": "holds in part", "no": "does not hold"}
    return words.get(direction.answer if direction else "", NOT_DECIDED)


def where(labels: Sequence[str], met: Sequence[bool | None]) -> str:
    """Where a part is met and where not: "holds at s=16, s=32, but not at s=64, and is open at s=128".

    If one word of the labels tells both sides apart, such as the type, cases are named by it alone.
    """
    words = [label.split() for label in labels]
    alike = len({len(own) for own in words}) == 1  # else words at one place are not of one kind
    single = sorted(zip(*words, strict=True), key=lambda names: "=" in names[0]) if alike else []  # types first
    labels = next((names for names in single if _tells_apart(names, met)), labels)
    said = ""
    for wanted, first, then in (
        (True, "holds at", ""),
        (False, "does not hold at", ", but not at"),
        (None, "is open at", ", and is open at"),
    ):
        side = [label for label, one in zip(labels, met, strict=True) if one is wanted]
        if side:
            said += f"{then if said else first} {some_labels(side)}"
    return said


def _tells_apart(names: Sequence[str], met: Sequence[bool | None]) -> bool:
    """Whether each name is on one side alone, and there are several."""
    return len(set(names)) > 1 and len(set(zip(names, met, strict=True))) == len(set(names))


def some_labels(labels: Iterable[str], most: int = _NAMED) -> str:
    """The first few by name, each once: "a, b, c, d and 3 more"."""
    distinct = list(dict.fromkeys(labels))
    more = f" and {len(distinct) - most} more" if len(distinct) > most else ""
    return ", ".join(distinct[:most]) + more


def how_many_cases(cases: Sequence[CaseVerdict]) -> str:
    """ "all 5 cases", "5 of 7 cases", "both cases", "the only case"."""
    number = sum(case.counts for case in cases)
    if number == len(cases):
        return {1: "the only case", 2: "both cases"}.get(number, f"all {number} cases")
    return f"{number} of {len(cases)} cases"


def range_text(values: Sequence[float], text: Callable[[float], str] = lambda value: units.digits(value, 3)) -> str:
    """ "1.91 to 2.74", or the one number."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def unmeasured_reasons(cases: Sequence[CaseVerdict]) -> str:
    """Why nothing could be judged, each reason once."""
    if not cases:
        return "the run has no case that this claim is about"
    reasons = list(dict.fromkeys(case.text for case in cases))
    return "; ".join(reasons[:2]) + (f"; and {len(reasons) - 2} more" if len(reasons) > 2 else "")
