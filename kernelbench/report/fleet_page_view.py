"""What the runs of several GPUs say together: verdicts side by side, times, counts and bounds, versions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelbench.compare.between import environment_entry
from kernelbench.compare.counted_runs import counted_of_run
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimVerdict
from kernelbench.core.records import Claim
from kernelbench.core.units import number_of, time_text
from kernelbench.devices.known import gpu_of_run
from kernelbench.explain.bounds import tightest_bound
from kernelbench.explain.counted import METRICS, Counted
from kernelbench.report import view
from kernelbench.report.fleet_page_times import MeanLine, Spread, SuiteAnswer, gpu_spreads, mean_lines, spread_sentences

_VERSIONS = (
    ("kernelbench", ("kernelbench",)), ("commit", ("git_commit",)), ("GPU", ("device", "name")),
    ("UUID", ("device", "uuid")), ("driver", ("device", "driver")), ("compiler flags", ("flags",)),
    ("seed", ("seed",)), ("system", ("host", "release")),
)  # fmt: skip
_EACH_OTHER = ("GPU", "UUID", "system")  # may differ without a remark
_MOST_SENTENCES = 4  # versions that differ, each in a sentence; more are only named


@dataclass(frozen=True)
class ClaimLine:
    """A claim of one suite: where it was published, and its verdict by GPU (None: the GPU has no run of the suite)."""

    suite: str
    claim: Claim
    verdicts: Mapping[str, ClaimVerdict | None]
    flip: str  # a sentence where decided verdicts differ, else ''


@dataclass(frozen=True)
class CountLine:
    """A count or a bound of the simulator that differs between GPUs: values and texts by label."""

    suite: str
    case: str
    implementation: str
    name: str
    values: Mapping[str, float | None]
    texts: Mapping[str, str]


@dataclass(frozen=True)
class FleetView:
    """All that the page, the CSV files and the JSON show."""

    labels: Sequence[str]
    suites: Sequence[str]
    claims: Sequence[ClaimLine]
    means: Sequence[MeanLine]
    spreads: Sequence[Spread]
    counts: Sequence[CountLine]
    bounds: Sequence[CountLine]
    versions: Mapping[str, Mapping[str, str]]  # by what, then GPU
    uncounted: Mapping[str, str]  # by simulated GPU without counts: why
    simulated: bool

    @property
    def judged(self) -> Sequence[ClaimLine]:
        """Claims that are shown: all, but none where the simulator can decide nothing."""
        nothing = self.simulated and not any(_decided(one) for line in self.claims for one in line.verdicts.values())
        return [] if nothing else self.claims

    @property
    def differing(self) -> list[str]:
        """Versions that should agree and do not."""
        return [name for name, own in self.versions.items() if name not in _EACH_OTHER and len(set(own.values())) > 1]

    @property
    def sentences(self) -> list[str]:
        """The answer: what simulated GPUs can say, how many claims have one verdict everywhere, each flip, what
        differs."""
        found = self._counted() if self.simulated else []
        flips = [f"{line.suite}, {line.claim.id}: {line.flip}" for line in self.claims if line.flip]
        if self.judged:
            decided = {line.claim.id for line in self.claims if any(map(_decided, line.verdicts.values()))}
            claims = {line.claim.id for line in self.claims}  # one that two suites judge is one claim
            if len(self.labels) == 1 and not self.simulated:
                verdicts = {line.claim.id: one for line in self.claims for one in line.verdicts.values() if one}
                found.append(view.claims_answer(list(verdicts.values()), self.labels[0]))
            else:
                found.append(_decided_text(len(decided), len(claims), len(flips), len(self.labels)))
        elif not self.simulated:
            found.append(f"No published claim belongs to {', '.join(self.suites)}.")
        return [*found, *flips, *spread_sentences(self.spreads), *_version_sentences(self)]

    def _counted(self) -> list[str]:
        nothing = [f"{label} counted nothing: {why}." for label, why in self.uncounted.items()]
        if len(nothing) == len(self.labels):
            return nothing
        gpus = number_of(len(self.labels) - len(nothing), "simulated GPU")
        counted = f"{gpus} counted what kernels do and timed nothing"
        if len(self.labels) - len(nothing) == 1:
            return [f"{counted}.", *nothing]
        differing = f"{number_of(len(self.counts), 'count')} and {number_of(len(self.bounds), 'lower bound')} differ"
        return [f"{counted}: {differing}.", *nothing]


def _decided_text(decided: int, claims: int, flips: int, gpus: int) -> str:
    of_all, on = number_of(claims, "published claim"), number_of(gpus, "GPU")
    if not decided:
        return f"None of {of_all} is decided on {on}."
    differing = f"{number_of(flips, 'verdict')} {'differs' if flips == 1 else 'differ'} between GPUs"
    agreed = "" if gpus == 1 else f"; {differing}" if flips else "; all GPUs agree"
    return f"{decided} of {of_all} {'is' if decided == 1 else 'are'} decided on {on}{agreed}."


def fleet_view(members: Sequence[SuiteAnswer], ledger: Mapping[str, Claim]) -> FleetView:
    """The view of all runs of a fleet; `members` in the order in which GPUs are shown."""
    suites = list(dict.fromkeys(one.run.suite for one in members))
    labels = list(dict.fromkeys(one.label for one in members))
    by_suite = {suite: {one.label: one for one in members if one.run.suite == suite} for suite in suites}
    timed = {suite: of for suite, of in by_suite.items() if not any(one.run.simulated for one in of.values())}
    counted = {suite: of for suite, of in by_suite.items() if suite not in timed}
    return FleetView(
        labels,
        suites,
        [line for suite, of in by_suite.items() for line in _claims(suite, labels, of, ledger)],
        [line for suite, of in timed.items() for line in mean_lines(suite, of)],
        [line for suite, of in timed.items() for line in gpu_spreads(suite, of)],
        [line for suite, of in counted.items() for line in _count_lines(suite, of)],
        [line for suite, of in counted.items() for line in _bound_lines(suite, of)],
        _versions(labels, members),
        _uncounted(labels, members) if counted else {},
        simulated=bool(counted),
    )


# ---- Claims --------------------------------------------------------------------------------------


def _claims(
    suite: str, labels: Sequence[str], of: Mapping[str, SuiteAnswer], ledger: Mapping[str, Claim]
) -> Iterator[ClaimLine]:
    found = {label: {one.id: one for one in member.verdicts} for label, member in of.items()}
    for id_ in dict.fromkeys(id_ for own in found.values() for id_ in own):
        if id_ in ledger:
            own = {label: found.get(label, {}).get(id_) for label in labels}
            yield ClaimLine(suite, ledger[id_], own, _flip(own))


def _decided(one: ClaimVerdict | None) -> bool:
    return one is not None and one.verdict != NOT_DECIDED


def _flip(verdicts: Mapping[str, ClaimVerdict | None]) -> str:
    """`holds on a100, h200; does not hold on t4.`; '' where all that is decided agrees."""
    by_verdict: dict[str, list[str]] = {}
    for label, one in verdicts.items():
        if one is not None and _decided(one):
            by_verdict.setdefault(view.VERBS[one.verdict][0], []).append(label)
    if len(by_verdict) < 2:
        return ""
    return "; ".join(f"{verb} on {', '.join(own)}" for verb, own in by_verdict.items()) + "."


# ---- Counts --------------------------------------------------------------------------------------


def _places(of: Mapping[str, SuiteAnswer]) -> dict[tuple[str, str], dict[str, Counted]]:
    """What each GPU counted, by case and implementation."""
    found: dict[tuple[str, str], dict[str, Counted]] = {}
    for label, member in of.items():
        for case, own in counted_of_run(member.run).items():
            for name, one in own.items():
                found.setdefault((case, name), {})[label] = one
    return found


def _count_lines(suite: str, of: Mapping[str, SuiteAnswer]) -> Iterator[CountLine]:
    """Counts of one case and implementation that differ; those that agree on all GPUs are left out."""
    for (case, name), counted in _places(of).items():
        for metric in METRICS.values():
            values = {label: metric.value(one) for label, one in counted.items()}
            if len(values) > 1 and len(set(values.values())) > 1:
                texts = {label: "" if value is None else metric.text(value) for label, value in values.items()}
                yield CountLine(suite, case, name, metric.header.replace("\n", " "), values, texts)


def _uncounted(labels: Sequence[str], members: Sequence[SuiteAnswer]) -> dict[str, str]:
    """Why a GPU has no count of any suite, by label; those that have some are left out."""
    reasons = {label: [view.nothing_counted(one.run) for one in members if one.label == label] for label in labels}
    return {label: own[0] for label, own in reasons.items() if own and all(own)}


def _bound_lines(suite: str, of: Mapping[str, SuiteAnswer]) -> Iterator[CountLine]:
    """Per case and implementation, what no run can be faster than on each GPU, and which resource says so."""
    gpus = {label: gpu_of_run(member.run.device) for label, member in of.items()}
    for (case, name), counted in _places(of).items():
        found = {label: tightest_bound(one, gpus[label]) for label, one in counted.items()}
        values = {label: one.seconds if one else None for label, one in found.items()}
        texts = {label: f"{time_text(one.seconds)}, {one.resource}" if one else "" for label, one in found.items()}
        if len(set(values.values())) > 1:
            yield CountLine(suite, case, name, "bound", values, texts)


# ---- Versions ------------------------------------------------------------------------------------


def _versions(labels: Sequence[str], members: Sequence[SuiteAnswer]) -> dict[str, dict[str, str]]:
    """Versions by name, then GPU; those of all its runs, where they differ."""
    found: dict[str, dict[str, list[str]]] = {}
    for member in members:
        own = {name: environment_entry(member.run, path) for name, path in _VERSIONS}
        for name, value in (own | member.run.environment.get("versions", {})).items():
            text = " ".join(map(str, value)) if isinstance(value, list) else view.text_or_empty(value)
            found.setdefault(name, {}).setdefault(member.label, []).append(text)
    return {
        name: {label: ", ".join(dict.fromkeys(own.get(label, [""]))) for label in labels}
        for name, own in found.items()
        if any(any(values) for values in own.values())
    }


def _version_sentences(shown: FleetView) -> Iterator[str]:
    if len(shown.differing) > _MOST_SENTENCES:
        yield f"{len(shown.differing)} versions differ between GPUs: {', '.join(shown.differing)}."
        return
    for name in shown.differing:
        by_value: dict[str, list[str]] = {}
        for label, value in shown.versions[name].items():
            by_value.setdefault(value or "none", []).append(label)
        yield f"{name} differs: " + "; ".join(f"{value} on {', '.join(own)}" for value, own in by_value.items()) + "."
