"""Checks of the LaunchPlan that a plan returned: first the types of all fields, then the limits of case and GPU.

Types must match exactly. A plan is hashed, pickled and printed, and a subclass of the user's could fail at each of
these.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from kernelbench.core.argument_checks import define_problem, described, scalar_problem, tensor_map_problem
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.launching import HostCall, Launch, LaunchPlan, Scalar, TensorMap

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,999}")
MOST_SCRATCH = 2**38
Known = Mapping[str, tuple[Callable[[Any], bool], str]]  # by field: whether a value is valid, and what is expected


def is_c_name(value: object) -> bool:
    """Whether it is a name in C."""
    return type(value) is str and bool(_NAME.fullmatch(value))


def is_whole(value: object) -> bool:
    """Whether it is an int of at most 64 bits."""
    return type(value) is int and -(2**63) <= value < 2**63


def tuple_of(*types: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is tuple and all(type(one) in types for one in value)


def fields_problem(record: Any, known: Known) -> str:
    """`grid must be .., got ..` for the first invalid field; '' if there is none."""
    for name, (holds, expected) in known.items():
        value = getattr(record, name)
        if not holds(value):
            return f"{name} must be {expected}, got {described(value)}"
    return ""


def is_flag(value: object) -> bool:
    return type(value) is bool


def _pairs(value: Any) -> bool:
    return tuple_of(tuple)(value) and all(len(one) == 2 for one in value)


def _three(value: Any) -> bool:
    return type(value) is tuple and len(value) == 3 and all(map(is_whole, value))


_CALL: Known = {
    "entry": (is_c_name, "the name of a function"),
    "arguments": (tuple_of(str, Scalar), "a tuple of names and Scalars"),
}
_LAUNCH: Known = {
    **_CALL,
    "arguments": (tuple_of(str, Scalar, TensorMap), "a tuple of names, Scalars and TensorMaps"),
    "grid": (_three, "three whole numbers in a tuple"),
    "block": (_three, "three whole numbers in a tuple"),
    "shared_bytes": (lambda value: is_whole(value) and value >= 0, "an int from 0 on"),
    "cooperative": (is_flag, "True or False"),
    "co_resident": (is_whole, "an int"),
}
_PLAN: Known = {
    "launches": (tuple_of(Launch), "a tuple of Launch"),
    "defines": (_pairs, "a tuple of pairs (name, value)"),
    "scratch": (_pairs, "a tuple of pairs (name, bytes)"),
    "reasons": (tuple_of(str), "a tuple of texts"),
    "debug": (is_flag, "True or False"),
    "host": (lambda value: value is None or type(value) is HostCall, "a HostCall or None"),
    "alignment": (lambda value: is_whole(value) and value >= 1, "an int from 1 on, of bytes"),
    "source": (lambda value: type(value) is str, "a text"),
}


def plan_problem(plan: object, arrays: Sequence[str], device: DeviceProperties) -> str:
    """What is wrong with the result of a plan; '' if nothing."""
    if type(plan) is not LaunchPlan:
        return f"its plan returned {type(plan).__name__}, expected LaunchPlan((Launch(..),)) or LaunchPlan(host=..)"
    if problem := _types_problem(plan):
        return f"its plan cannot be read: {problem}"
    if problem := define_problem(plan.defines):
        return f"its plan cannot be built: {problem}"
    if problem := _scratch_problem(plan.scratch, arrays):
        return f"its plan cannot be launched: {problem}"
    known = {*arrays, *(name for name, _ in plan.scratch)}
    if plan.host is not None:
        if plan.launches:
            return "its plan has launches beside a call of host code"
        unknown = _unknown(plan.host, known)
        return f"its plan cannot be launched: {plan.host.entry}: {unknown}" if unknown else ""
    if not plan.launches:
        return "its plan has no launch"
    for launch in plan.launches:
        if problem := _launch_problem(launch, known, device):
            return f"its plan cannot be launched: {launch.entry}: {problem}"
    return ""


def _types_problem(plan: LaunchPlan) -> str:
    if problem := fields_problem(plan, _PLAN):
        return problem
    if plan.host is not None and (problem := fields_problem(plan.host, _CALL)):
        return f"host.{problem}"
    for number, launch in enumerate(plan.launches):
        if problem := fields_problem(launch, _LAUNCH):
            return f"launches[{number}].{problem}"
    return ""


def _scratch_problem(scratch: Sequence[tuple[str, int]], arrays: Sequence[str]) -> str:
    taken = set(arrays)
    for name, nbytes in scratch:
        if not is_c_name(name) or name in taken:
            return f"scratch {described(name)}: expected a name that no array and no other scratch has"
        if not is_whole(nbytes) or nbytes < 1:
            return f"scratch '{name}': expected an int of bytes, from 1 on, got {described(nbytes)}"
        taken.add(name)
    most = sum(nbytes for _, nbytes in scratch) <= MOST_SCRATCH
    return "" if most else f"its scratch is more than {MOST_SCRATCH} bytes, which no GPU has"


def _launch_problem(launch: Launch, known: set[str], device: DeviceProperties) -> str:
    if unknown := _unknown(launch, known):
        return unknown
    if min(launch.grid + launch.block) < 1:
        return f"grid {launch.grid} and block {launch.block} must be at least 1"
    if any(extent > limit for extent, limit in zip(launch.grid, device.max_grid, strict=True)):
        return f"grid {launch.grid} is over the limit {device.max_grid}"
    if launch.threads > device.max_threads_per_block:
        return f"block {launch.block} has {launch.threads} threads, the limit is {device.max_threads_per_block}"
    if launch.co_resident < 1 or prod(launch.grid) % launch.co_resident:
        blocks = f"grid {launch.grid} has {prod(launch.grid)} blocks"
        return f"{blocks}, expected a multiple of co_resident={launch.co_resident}"
    if launch.shared_bytes > device.shared_per_block_optin:
        return f"{launch.shared_bytes} bytes of shared memory are over the limit {device.shared_per_block_optin}"
    return ""


def _unknown(call: Launch | HostCall, known: set[str]) -> str:
    """What is wrong with the arguments of a call; '' if nothing."""
    for one in call.arguments:
        if isinstance(one, Scalar) and (problem := scalar_problem(one)):
            return problem
        if isinstance(one, TensorMap) and (problem := tensor_map_problem(one)):
            return problem
    named = call.arrays if isinstance(call, Launch) else [one for one in call.arguments if isinstance(one, str)]
    unknown = [name for name in named if name not in known]
    if not unknown:
        return ""
    return f"argument {described(unknown[0])} is neither an array nor scratch; there are {', '.join(sorted(known))}"
