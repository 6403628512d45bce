"""Kernel Tuner chooses candidates; kernelbench builds, verifies and times them.

Its backends launch one kernel with plain arguments, without scratch, second launches or cold caches, so they are not
used. Instead, a strategy of our own passes the search space to one of Kernel Tuner's strategies with our Runner.
"""

import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from kernelbench.core.errors import InputError
from kernelbench.core.libraries import pip_install

Values = Mapping[str, int]
# Returns for each candidate its time as a share of the rule's, the reason why it has none, or None if the time was up
# before. Its second argument tells whether the time is up.
Evaluate = Callable[[Sequence[Values], Callable[[], bool]], Sequence["float | str | None"]]

SMALL = 200  # a space of up to this many candidates is searched completely
GENERATION = 16  # candidates per generation of the genetic algorithm, built and measured together
OBJECTIVE = "share_of_rule"


def load() -> Any:
    """The module kernel_tuner; InputError if it is not installed."""
    try:
        import kernel_tuner as module
    except ImportError as error:
        text = f"tune needs Kernel Tuner, which cannot be imported ({error}); try: {pip_install('tune')}"
        raise InputError(text) from error
    return module


def space_size(values: Mapping[str, Sequence[int]], restrictions: Sequence[str]) -> int:
    """Number of candidates that satisfy the restrictions."""
    load()
    from kernel_tuner.searchspace import Searchspace

    return int(Searchspace({name: list(each) for name, each in values.items()}, list(restrictions), 1024).size)


def search(
    values: Mapping[str, Sequence[int]],
    restrictions: Sequence[str],
    evaluate: Evaluate,
    *,
    seconds: float,
    seed: int,
    most: int = SMALL,
) -> bool:
    """Let Kernel Tuner propose candidates until its strategy ends or the time is up; returns whether it ended.

    A space of up to `most` candidates is searched completely (brute_force), a larger one by its genetic algorithm.
    """
    tuner = load()
    random.seed(seed)
    strategy = _OurMeasuring(evaluate, seed, most)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "None of the tunable parameters specify thread block dimensions")
        tuner.tune_kernel(
            kernel_name="candidate",
            kernel_source="{ built and launched by kernelbench }",
            problem_size=1,
            arguments=[],
            tune_params={name: list(each) for name, each in values.items()},
            restrictions=list(restrictions),
            lang="C",  # its backend needs no GPU
            compiler="none",
            strategy=strategy,
            strategy_options={"time_limit": max(seconds, LEAST_S) + STARTING_S},
            objective=OBJECTIVE,
            objective_higher_is_better=False,
            seed=seed,
            quiet=True,
        )
    return strategy.complete


LEAST_S = 1e-3  # Kernel Tuner refuses a budget of 0
STARTING_S = 5.0  # more than Kernel Tuner needs to build a search space, which its budget includes


class _OurMeasuring:
    """A strategy that runs one of Kernel Tuner's own with our runner."""

    def __init__(self, evaluate: Evaluate, seed: int, most: int) -> None:
        self.evaluate, self.seed, self.most, self.complete = evaluate, seed, most, False

    def tune(self, searchspace: Any, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
        from kernel_tuner.interface import Options, strategy_map
        from kernel_tuner.util import TuningBudget

        whole = searchspace.size <= self.most
        limit = tuning_options.strategy_options["time_limit"] - STARTING_S
        tuning_options["budget"] = TuningBudget(limit, searchspace.size)
        tuning_options.strategy_options = Options({} if whole else {"popsize": GENERATION})
        ours = _runner(runner, self.evaluate, self.seed)
        found = strategy_map["brute_force" if whole else "genetic_algorithm"].tune(searchspace, ours, tuning_options)
        results = [one for one in found if one is not None]
        in_time = whole or tuning_options.budget.get_time_spent().total_seconds() <= limit
        self.complete = in_time and None not in ours.known.values()
        return results


def _runner(made: Any, evaluate: Evaluate, seed: int) -> Any:
    """A Runner whose candidates are built, verified and timed by `evaluate`."""
    from kernel_tuner.runners.runner import Runner
    from kernel_tuner.util import RuntimeFailedConfig

    class Ours(Runner):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.known: dict[tuple[int, ...], float | str | None] = {}
            self.random = random.Random(seed)

        def get_device_info(self) -> Any:
            return made.get_device_info()

        def get_environment(self, tuning_options: Any) -> Any:
            return made.get_environment(tuning_options)

        def run(self, parameter_space: Sequence[Sequence[int]], tuning_options: Any) -> list[dict[str, Any] | None]:
            names, began = list(tuning_options.tune_params), perf_counter()
            asked = [tuple(element) for element in parameter_space]
            # In random order, so that the tried candidates are spread over the space if the time is too short.
            new = list(dict.fromkeys(element for element in asked if element not in self.known))
            self.random.shuffle(new)
            found = evaluate([dict(zip(names, one, strict=True)) for one in new], tuning_options.budget.is_done)
            self.known.update(zip(new, found, strict=True))
            tuning_options.budget.add_evaluations(sum(one is not None for one in found))
            spent_ms = 1000 * (perf_counter() - began) / max(1, len(new))
            return [_result(names, element, self.known[element], spent_ms) for element in asked]

    def _result(
        names: Sequence[str], element: tuple[int, ...], found: float | str | None, spent_ms: float
    ) -> dict[str, Any] | None:
        if found is None:
            return None
        result: dict[str, Any] = dict(zip(names, element, strict=True))
        times = {"compile_time": 0.0, "verification_time": 0.0, "strategy_time": 0.0, "framework_time": 0.0}
        result |= {**times, "benchmark_time": spent_ms}
        if isinstance(found, str):
            return {**result, OBJECTIVE: RuntimeFailedConfig(), "__error__": RuntimeFailedConfig()}
        return {**result, OBJECTIVE: float(found)}

    return Ours()
