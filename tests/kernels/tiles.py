"""Tiles of softmax and log-softmax off the last axis that tests ask for, whether or not they would be chosen."""

from collections.abc import Callable
from typing import Any

from kernelbench.core.records import Case, DeviceProperties, LaunchPlan
from kernels.softmax_family.axis_candidates import AxisChoice, axis_candidates
from kernels.softmax_family.axis_plans import choice_plan
from kernels.softmax_family.axis_tiles import Tile


def some_choice(case: Case, device: DeviceProperties, **fields: Any) -> AxisChoice:
    """The first candidate with these fields or properties."""
    missing = object()
    alike = (
        one
        for one in axis_candidates(case, device)
        if all(getattr(one, name, missing) == value for name, value in fields.items())
    )
    return next(alike)


def some_tile(case: Case, device: DeviceProperties, **fields: Any) -> Tile:
    found = some_choice(case, device, **fields)
    assert isinstance(found, Tile)
    return found


def tiled(**fields: Any) -> Callable[[Case, DeviceProperties], LaunchPlan]:
    """The plan of some_choice()."""

    def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
        return choice_plan(f"{case.operation}_one_read_axis", case, device, some_choice(case, device, **fields))

    return plan
