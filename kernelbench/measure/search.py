"""Searches for plan arguments that make one case faster than the plan's own rule does.

The kernel lists its candidates, or Kernel Tuner proposes them. Each is planned, built, verified and timed like an
implementation of a run, in the same rounds as the rule. The best are timed once more, with more samples. A candidate
that is refused, does not compile, hangs or gives wrong results gets a reason instead of a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import kernelbench
from kernelbench.core import dtypes
from kernelbench.core.progress import Advance
from kernelbench.core.records import (
    METHODS,
    Case,
    Implementation,
    LaunchPlan,
    Operation,
    Result,
    shared_method,
)
from kernelbench.core.statistics import paired_ratio_interval
from kernelbench.core.tunable import values_text
from kernelbench.measure import kernel_tuner
from kernelbench.measure.bench import Bench
from kernelbench.measure.binaries import build_plans
from kernelbench.planning.candidates import Candidate, Tuned
from kernelbench.planning.case_plans import CasePlan, Planned, plan_case
from kernelbench.planning.tuned import TunedEntry, hash_of_plan
from kernelbench.runs.environment import utc_now

if TYPE_CHECKING:
    from kernelbench.build import Compiler
    from kernelbench.measure.tracks import Precision

BATCH = 16  # candidates measured together with the rule
FINAL_S = 2.0  # approximate time of the last measurement
FINALISTS = 3  # candidates measured again, because the fastest of many is partly luck
MARGIN = 0.01  # share of the rule's time by which a candidate must be faster
Key = tuple[tuple[str, int], ...]  # the values of a candidate


class Search:
    """Searches one case of one implementation; call `run` once."""

    def __init__(
        self,
        bench: Bench,
        compiler: Compiler,
        operation: Operation,
        implementation: Implementation,
        case: Case,
        seed: int,
        listed: Sequence[dict[str, int]] | None = None,
    ) -> None:
        """`listed`: those of the kernel's candidates to try; None for all."""
        assert implementation.tunable is not None
        self.bench, self.compiler, self.operation, self.seed = bench, compiler, operation, seed
        self.implementation, self.case, self.tunable = implementation, case, implementation.tunable
        self.rule = plan_case(case, operation, implementation, bench.properties)
        self.listed: list[dict[str, int]] | None = None  # by the kernel itself
        if self.tunable.candidates is not None:
            self.listed = (
                list(listed or self.tunable.listed(case, bench.properties)) if self.rule.status == "ok" else []
            )
            self.size = len(self.listed)
        else:
            self.size = kernel_tuner.space_size(self.tunable.values, self.tunable.restrictions)
        self.rule_s: float | None = None
        self.rule_method = ""
        self.inputs: tuple[str, ...] = ()
        self.found: dict[Key, Candidate] = {}
        self.planned: dict[Key, Planned] = {}
        self.alike: dict[Key, Key] = {}  # candidate -> earlier candidate with the same plan; () is the rule

    def run(self, seconds: float, advance: Advance) -> Tuned:
        """Search for `seconds`, even if candidates are left out; at least one batch is measured."""
        if not self._is_ready(advance):
            return self._tuned()
        complete = self._tried(seconds - FINAL_S, advance)
        if self.rule.status != "ok":
            return self._tuned()
        winner = self._final()
        return replace(self._tuned(complete), entry=self._entry(winner, complete))

    def measure_all(self, advance: Advance) -> Tuned:
        """Measure every candidate that the kernel lists, once beside the rule."""
        if self._is_ready(advance):
            self._evaluate(advance, self.listed or [], lambda: False)
            if self.rule.status == "ok" and self.rule_s is None:  # there is no other candidate
                self._measured([], _precision(0.1))
        return self._tuned(complete=True)

    def _is_ready(self, advance: Advance) -> bool:
        """Build the rule's launches; returns whether they can be measured."""
        if self.rule.status != "ok":
            return False
        self.inputs = tuple(spec.name for spec in self.operation.arrays(self.case) if spec.role == "input")
        self.rule = self._built([self.rule], advance)[0]
        if self.rule.status != "ok":
            return False
        assert self.rule.plan is not None
        self.plans: dict[LaunchPlan, Key] = {replace(self.rule.plan, reasons=()): ()}  # -> first candidate with it
        return True

    def _tuned(self, complete: bool = False) -> Tuned:
        names = self.bench.properties.name, self.case.operation, self.implementation.name, self.case.key
        rule = Candidate({}, seconds=self.rule_s, share=1.0, method=self.rule_method)
        candidates = (rule, *self.found.values()) if self.rule_s else ()
        return Tuned(*names, self.size, candidates, len(self.alike), complete, None, self.rule.status, self.rule.reason)

    def _tried(self, seconds: float, advance: Advance) -> bool:
        """Measure the candidates that the kernel lists, or that Kernel Tuner proposes; returns whether none was left
        out."""
        evaluate = partial(self._evaluate, advance)
        if self.listed is None:
            values, restrictions = self.tunable.values, self.tunable.restrictions
            return kernel_tuner.search(values, restrictions, evaluate, seconds=seconds, seed=self.seed)
        deadline = time.monotonic() + seconds
        return None not in evaluate(self.listed, lambda: time.monotonic() >= deadline)

    def _evaluate(
        self, advance: Advance, asked: Sequence[Mapping[str, int]], time_is_up: Callable[[], bool]
    ) -> list[float | str | None]:
        """See kernel_tuner.Evaluate."""
        keys = [tuple(values.items()) for values in asked]
        ready = self._made_ready([key for key in keys if key not in self.planned], advance)
        for start in range(0, len(ready), BATCH):
            batch = ready[start : start + BATCH]
            if self.rule.status != "ok" or (self.rule_s is not None and time_is_up()):
                self.found |= {key: Candidate(dict(key), "left out") for key in ready[start:]}
                break
            self.found |= self._measured(
                batch, _precision(0.1 * (len(batch) + 1), most_samples=100, interval_width=0.01)
            )
            advance(len(batch), values_text(dict(batch[-1])))
        return [self._told(self.alike.get(key, key)) for key in keys]

    def _told(self, key: Key) -> float | str | None:
        """The candidate's time as a share of the rule's, the reason why it has none, or None: not measured yet."""
        if not key:
            return 1.0
        one = self.found[key]
        return one.share or (None if one.status == "left out" else one.reason)

    def _made_ready(self, keys: Sequence[Key], advance: Advance) -> list[Key]:
        """Plan and build; returns the candidates that can be measured, and gives the others their reasons."""
        for key in keys:
            values = dict(key)
            assert self.implementation.plan is not None
            name = f"{self.implementation.name}.{'_'.join(f'{name}{value}' for name, value in key)}"
            one = replace(self.implementation, name=name, plan=partial(self.implementation.plan, **values))
            self.planned[key] = plan_case(self.case, self.operation, one, self.bench.properties)
        own = [key for key in keys if self.planned[key].status == "ok" and self._is_new(key)]
        self.planned |= dict(zip(own, self._built([self.planned[key] for key in own], advance), strict=True))
        for key in keys:
            if self.planned[key].status != "ok":
                self.found[key] = Candidate(dict(key), self.planned[key].status, self.planned[key].reason)
        ready = [key for key in own if self.planned[key].status == "ok"]
        advance(len(keys) - len(ready), "")
        return ready

    def _is_new(self, key: Key) -> bool:
        """Whether no earlier candidate has the same launches."""
        plan = self.planned[key].plan
        assert plan is not None
        first = self.plans.setdefault(replace(plan, reasons=()), key)
        if first != key:
            self.alike[key] = first
        return first == key

    def _built(self, planned: Sequence[Planned], advance: Advance) -> list[Planned]:
        plan = CasePlan(self.case, tuple(planned), self.inputs)
        plans, _ = build_plans([plan], self.compiler, self.bench.properties.architecture, _Within(advance))
        return list(plans[0].planned)

    # ---- Measuring ----

    def _measured(self, keys: Sequence[Key], precision: Precision, *, final: bool = False) -> dict[Key, Candidate]:
        """Measure candidates in the same rounds as the rule."""
        from kernelbench.measure.case_run import Settings

        plan = CasePlan(self.case, (self.rule, *(self.planned[key] for key in keys)), self.inputs)
        settings = Settings(self.seed, ("cold",), precision)
        rule, *results = self.bench.run(plan, settings, lambda share: None)
        if rule.status != "ok" or not rule.measurements:
            reason = rule.reason or "it is too short to be timed"
            self.rule = replace(self.rule, status="failed" if rule.status == "ok" else rule.status, reason=reason)
            return {key: Candidate(dict(key), "left out") for key in keys}
        if final or self.rule_s is None:
            preferred = min(rule.measurements, key=lambda one: METHODS.index(one.method))
            self.rule_s, self.rule_method = preferred.median_s, preferred.method
        return {key: _candidate(dict(key), one, rule, final) for key, one in zip(keys, results, strict=True)}

    def _final(self) -> Candidate | None:
        """Measure the best candidates once more; returns the fastest that is surely faster than the rule, if any."""
        faster = sorted((one.share, key) for key, one in self.found.items() if one.status == "ok" and one.share)
        keys = [key for share, key in faster[:FINALISTS] if share < 1.0]
        if not keys:
            return None
        again = self._measured(keys, _precision(FINAL_S / 2), final=True)
        if self.rule.status != "ok":
            return None
        self.found |= again
        sure = [one for one in again.values() if one.share and one.high and one.share <= 1 - MARGIN and one.high < 1]
        return min(sure, key=lambda one: one.share or 1.0, default=None)

    def _entry(self, winner: Candidate | None, complete: bool) -> TunedEntry | None:
        """The table entry. "Nothing is faster than the rule" is only said if no candidate was left out."""
        if self.rule_s is None or self.rule.status != "ok" or (winner is None and not complete):
            return None
        state = self.bench.environment()
        words = [f"{name} {state[name]}" for name in ("driver", "cuda_driver") if state.get(name)]
        planned = self.planned[tuple(winner.values.items())] if winner else self.rule
        return TunedEntry(
            operation=self.case.operation,
            implementation=self.implementation.name,
            dtype=self.case.dtype,
            layout=self.tunable.layout(self.case),
            bytes=self.case.elements * dtypes.itemsize(self.case.dtype),
            values=dict(winner.values) if winner else None,
            seconds=winner.seconds if winner and winner.seconds else self.rule_s,
            rule_seconds=self.rule_s,
            case=self.case.key,
            date=utc_now(),
            kernel=hash_of_plan(planned.plan, self.implementation),
            kernelbench=kernelbench.__version__,
            environment=", ".join([*words, f"nvcc {self.compiler.version}"]),
        )


class _Within:
    """Shows the progress of a build within the current stage."""

    def __init__(self, advance: Advance) -> None:
        self.advance = advance

    @contextmanager
    def stage(self, title: str, total: float) -> Iterator[Advance]:
        yield lambda amount, what: self.advance(0.0, f"building {what}")

    def say(self, text: str) -> None:
        """Say nothing: the candidates' reasons say it."""


def _precision(seconds: float, **limits: Any) -> Precision:
    from kernelbench.measure.tracks import Precision

    return Precision(seconds_per_case=seconds, **limits)


def _candidate(values: Mapping[str, int], result: Result, rule: Result, final: bool) -> Candidate:
    if result.status != "ok":
        return Candidate(values, result.status, result.reason)
    method = shared_method(*({one.method for one in each.measurements} for each in (result, rule)))
    if method is None:
        return Candidate(values, "failed", result.reason or "it is too short to be timed")
    own, other = (next(one for one in each.measurements if one.method == method) for each in (result, rule))
    _, *shared = np.intersect1d(own.rounds, other.rounds, return_indices=True)
    samples = np.asarray(own.samples_s), np.asarray(other.samples_s)
    share, low, high = paired_ratio_interval(*samples, (shared[0], shared[1]))
    return Candidate(values, "ok", "", own.median_s, share, low, high, final, method)
