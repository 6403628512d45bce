"""The launches of softmax and log-softmax: of a candidate by its values, or of the fastest by the cost function."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kernelbench import Case, DeviceProperties, LaunchPlan, Unsupported
from .axis_candidates import AxisChoice, axis_candidates
from .axis_plans import choice_plan
from .choice_values import choice_of_values
from .cost import CONSTANTS, fastest
from .quantities import axis_quantities, rows_quantities
from .row_candidates import AnyChoice, row_candidates
from .row_plans import SOFTMAX, plan_of
from .words import Words, words_plan

VALUES = {name: one.value for name, one in CONSTANTS.items()}


def rows_plan(
    name: str, case: Case, device: DeviceProperties, keeps_exponentials: bool, values: Mapping[str, int]
) -> LaunchPlan:
    """The launches for x [rows, columns], by entries whose names begin with `name`: `softmax_one_read_rows`. Entries of
    _words.cu bear the operation's name, since a user's copy of the kernel leaves that file as it is.

    `values`: those of a candidate; none for the fastest by the cost function. Raises Unsupported where the axis is not
    the last, and for values of no candidate.
    """
    if values:
        choice = choice_of_values(values, row_candidates(case, device, keeps_exponentials))
    else:
        choice = fastest_of_rows(case, device, keeps_exponentials)
    return launches_of(name, choice, case, device)


def launches_of(name: str, choice: AnyChoice, case: Case, device: DeviceProperties) -> LaunchPlan:
    if isinstance(choice, Words):
        return words_plan(f"{case.operation}_one_read_words", choice, case, device, SOFTMAX)
    return plan_of(name, choice, case, device)


def axis_plan(name: str, case: Case, device: DeviceProperties, values: Mapping[str, int]) -> LaunchPlan:
    """The launch for a view [outer, dim, inner], likewise. Raises Unsupported for the last axis."""
    if case.outer_dim_inner[2] < 2:
        raise Unsupported(f"axis must not be the last, got axis {case.axis} of {len(case.shape)}: one_read_rows has it")
    choice = choice_of_values(values, axis_candidates(case, device)) if values else fastest_of_view(case, device)
    return choice_plan(name, case, device, choice)


@lru_cache(maxsize=64)
def fastest_of_rows(case: Case, device: DeviceProperties, keeps_exponentials: bool) -> AnyChoice:
    """By the constants that serve where nothing was fitted on a GPU."""
    quantities = rows_quantities(case, device, keeps_exponentials)
    return row_candidates(case, device, keeps_exponentials)[fastest(quantities, VALUES)]


@lru_cache(maxsize=64)
def fastest_of_view(case: Case, device: DeviceProperties) -> AxisChoice:
    return axis_candidates(case, device)[fastest(axis_quantities(case, device), VALUES)]
