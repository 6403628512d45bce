"""Fits the constants of a cost function to the measured times of candidates, and says how well they then choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbench.core.cost_model import CandidateTime, CostModel, Sample
from kernelbench.core.errors import InputError

FOLDS = 5  # of the cross validation
LEAST_CASES = 2 * FOLDS
RANGE = 20.0  # bounds of a constant without any: its default value times this, and divided by this
TRUST = 2.0  # weight of a constant's distance from its default, which decides where few candidates do
LEVEL = 1.0  # weight of a case's mean error, against the differences between its candidates, which rank them
NEAR = 3.0  # exponent by which candidates count less that take longer than the fastest
REGRET = 3.0  # how much the time lost by choosing counts
SHARP = 0.02  # difference of times up to which candidates are as good as equal
OVERRIDDEN = 0.03  # loss from which a table names the fastest candidate instead
GAIN = 0.005  # least decrease of the mean loss for which fitted constants replace those that ship
OUTLIER = 0.1  # error of a logarithm from which an outlier counts less


@dataclass(frozen=True)
class LossShares:
    """Shares of the cases whose choice takes at most so much longer than the fastest candidate; mean and largest."""

    within_3_percent: float
    within_10_percent: float
    mean_loss: float
    largest_loss: float


@dataclass(frozen=True)
class Fit:
    constants: dict[str, float]  # fitted to these times, or those that ship if they choose as well
    cases: int
    candidates: int
    validated: LossShares  # with constants from other cases
    start: LossShares  # with the constants where nothing was fitted
    timed: LossShares  # of what plans chose when the times were taken
    worst: tuple[tuple[float, str, str, str], ...]  # (loss, case, chosen, fastest) of the fitted constants
    lost: tuple[tuple[CandidateTime, CandidateTime], ...]  # (choice, fastest) where the choice surely loses OVERRIDDEN

    @property
    def is_better(self) -> bool:
        """Whether fitted constants choose better than those before, judged on cases that did not set them."""
        return _gains(self.start, self.validated)


class FitData:
    """The timed candidates of cases that have at least two, as arrays; case by case."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        groups: dict[tuple[str, str, str], list[Sample]] = {}
        for one, quantities in samples:
            if one.status == "ok" and one.seconds is not None:
                groups.setdefault((one.gpu, one.kernel, one.case), []).append((one, quantities))
        self.samples = [each for each in groups.values() if len(each) > 1]
        self.groups = [[one for one, _ in each] for each in self.samples]
        flat = [one for each in self.samples for one in each]
        self.case = np.repeat(np.arange(len(self.groups)), [len(each) for each in self.groups])
        self.times = [one for one, _ in flat]
        self.net = np.array([one.net_s for one in self.times])
        self.seconds = np.array([one.seconds for one in self.times])
        names = flat[0][1] if flat else {}
        self.quantities = {name: np.array([quantities[name] for _, quantities in flat]) for name in names}

    def of(self, cases: Sequence[int]) -> FitData:
        return FitData([one for number in cases for one in self.samples[number]])

    def per_case(self, values: Any, how: Any) -> Any:
        """`how` (a ufunc such as np.add) over the candidates of each case."""
        return how.reduceat(values, np.searchsorted(self.case, np.arange(len(self.groups))))


def fit(model: CostModel, samples: Sequence[Sample]) -> Fit:
    """Fit all constants; InputError where too few cases were measured."""
    measured = FitData(samples)
    number = len(measured.groups)
    if number < LEAST_CASES:
        raise InputError(f"{model.name}: {number} cases have two timed candidates; a fit needs {LEAST_CASES}")
    losses = np.zeros(number)
    for fold in range(FOLDS):
        held_out = range(fold, number, FOLDS)
        others = measured.of([one for one in range(number) if one % FOLDS != fold])
        losses[fold::FOLDS] = _losses(model, measured.of(held_out), _constants(model, others))[0]
    validated, start = loss_shares(losses), shares_with(model, samples, model.known)
    constants = _constants(model, measured) if _gains(start, validated) else model.known
    final, chosen = _losses(model, measured, constants)
    fastest = [min(each, key=lambda one: one.seconds or np.inf) for each in measured.groups]
    own = [measured.times[at] for at in chosen]
    return Fit(
        constants=constants,
        cases=number,
        candidates=len(measured.times),
        validated=validated,
        start=start,
        timed=loss_shares(np.array([_rule_loss(each) for each in measured.groups if any(one.is_rule for one in each)])),
        worst=tuple(
            _story(measured.groups[at], float(final[at]), measured.times[chosen[at]]) for at in _largest(final)
        ),
        lost=tuple(
            (one, best)
            for one, best, loss in zip(own, fastest, final, strict=True)
            if loss >= max(OVERRIDDEN, _noise(one) + _noise(best))
        ),
    )


def shares_with(model: CostModel, samples: Sequence[Sample], constants: Mapping[str, float]) -> LossShares:
    """How well a cost function chooses with these constants."""
    return loss_shares(_losses(model, FitData(samples), constants)[0])


def loss_shares(losses: Any) -> LossShares:
    """Shares of losses, which are the chosen candidate's time over the fastest one's, less 1."""
    if not len(losses):
        return LossShares(0.0, 0.0, 0.0, 0.0)
    near, far = (float(np.mean(losses <= most)) for most in (0.03, 0.10))
    return LossShares(near, far, float(np.mean(losses)), float(np.max(losses)))


def _gains(before: LossShares, after: LossShares) -> bool:
    return before.mean_loss - after.mean_loss > GAIN


def fitted_constants(model: CostModel, samples: Sequence[Sample]) -> dict[str, float]:
    """Those that fit all samples, of one GPU or several."""
    return _constants(model, FitData(samples))


def _constants(model: CostModel, measured: FitData) -> dict[str, float]:
    """Robust least squares over the logarithms of the constants."""
    from scipy.optimize import least_squares

    names = list(model.constants)
    start = np.log([model.constants[name].value for name in names])
    target = np.log(measured.net)
    best = measured.per_case(measured.net, np.minimum)[measured.case]
    weight = np.minimum(1.0, best / measured.net) ** NEAR  # slow candidates need not be told apart
    total = measured.per_case(weight, np.add)
    lost = np.log(measured.seconds / measured.per_case(measured.seconds, np.minimum)[measured.case])

    def residuals(logarithms: Any) -> Any:
        expected = np.log(model.seconds(measured.quantities, _named(names, logarithms)))
        error = expected - target
        level = measured.per_case(weight * error, np.add) / total
        differences = weight * (error - level[measured.case])
        near = np.exp(-(expected - measured.per_case(expected, np.minimum)[measured.case]) / SHARP)
        regret = measured.per_case(near * lost, np.add) / measured.per_case(near, np.add)
        return np.concatenate(
            [differences / OUTLIER, LEVEL * level / OUTLIER, REGRET * np.sqrt(regret), TRUST * (logarithms - start)]
        )

    found = least_squares(residuals, start, loss="soft_l1", bounds=_bounds(model), x_scale=0.1)
    return _named(names, found.x)


def _bounds(model: CostModel) -> tuple[Any, Any]:
    """Least and most logarithms of the constants."""
    constants = model.constants.values()
    least = [np.log(one.least or one.value / RANGE) for one in constants]
    return least, [np.log(one.most if np.isfinite(one.most) else one.value * RANGE) for one in constants]


def _named(names: Sequence[str], logarithms: Any) -> dict[str, float]:
    return dict(zip(names, np.exp(logarithms).tolist(), strict=True))


def _losses(model: CostModel, measured: FitData, constants: Mapping[str, float]) -> tuple[Any, list[int]]:
    """For each case, how much longer the chosen candidate takes than the fastest, and its place."""
    expected = model.seconds(measured.quantities, constants)
    chosen = [int(places[expected[places].argmin()]) for places in _places(measured)]
    fastest = measured.per_case(measured.seconds, np.minimum)
    return measured.seconds[chosen] / fastest - 1, chosen


def _places(measured: FitData) -> list[Any]:
    return [np.flatnonzero(measured.case == number) for number in range(len(measured.groups))]


def _rule_loss(group: Sequence[CandidateTime]) -> float:
    times = [one.seconds or np.inf for one in group]
    return float(min(one.seconds or np.inf for one in group if one.is_rule) / min(times) - 1)


def _noise(one: CandidateTime) -> float:
    return one.noise or 0.0


def _largest(losses: Any, most: int = 5) -> list[int]:
    return [int(at) for at in np.argsort(-losses)[:most] if losses[at] > 0]


def _story(group: Sequence[CandidateTime], loss: float, chosen: CandidateTime) -> tuple[float, str, str, str]:
    fastest = min(group, key=lambda one: one.seconds or np.inf)
    return loss, f"{chosen.kernel} {chosen.case}", chosen.values, fastest.values
