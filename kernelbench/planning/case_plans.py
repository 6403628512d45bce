"""Every case of a suite with the launch plan of every implementation, or the reason why there is none.

Pure: no GPU, no compiler. Plans come from kernel folders, so what they raise and return is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelbench.core.errors import DeviceError, MissingLibrary, Unsupported, words_of
from kernelbench.core.records import Case, DeviceProperties, Implementation, Operation, Suite
from kernelbench.core.records import CasePlan as CasePlan  # noqa: PLC0414 - who asks for plans needs the records too
from kernelbench.core.records import Planned as Planned  # noqa: PLC0414
from kernelbench.planning.plan_checks import plan_problem
from kernelbench.planning.tuned import warn

if TYPE_CHECKING:
    from kernelbench.planning.catalog import Catalog
    from kernelbench.planning.tuned import Choice, Tables


def plan_suite(
    suite: Suite, catalog: Catalog, device: DeviceProperties, tables: Tables | None = None
) -> tuple[CasePlan, ...]:
    """The suite's cases in order, each with its implementations in the suite's order.

    `tables`: what was tuned on this GPU; None for the plans' own rules, as the simulator has them.
    """
    return tuple(_plan_all(suite, case, catalog, device, tables) for case in suite.cases)


def _plan_all(suite: Suite, case: Case, catalog: Catalog, device: DeviceProperties, tables: Tables | None) -> CasePlan:
    operation, implementations = catalog.operations[case.operation], catalog.implementations[case.operation]
    for needed in (operation.bytes_moved, operation.flops, operation.tolerance):
        needed(case)  # of a user's operation: what it cannot say is told before anything is measured
    inputs = tuple(spec.name for spec in operation.arrays(case) if spec.role == "input")
    planned = [plan_case(case, operation, implementations[name], device, tables) for name in suite.names_for(case)]
    return CasePlan(case, tuple(planned), inputs)


def plan_case(
    case: Case,
    operation: Operation,
    implementation: Implementation,
    device: DeviceProperties,
    tables: Tables | None = None,
) -> Planned:
    """Ask for the plan and check it against the device's limits. Whatever it raises or returns costs this alone."""
    try:
        return _plan_case(case, operation, implementation, device, tables)
    except BaseException as error:
        return _refused(implementation, error)


def _plan_case(
    case: Case, operation: Operation, implementation: Implementation, device: DeviceProperties, tables: Tables | None
) -> Planned:
    if reason := implementation.deviation(case.inputs):
        return Planned(implementation, status="unsupported", reason=f"{case.inputs} inputs: {reason}")
    if tables is None or implementation.tunable is None:
        return _plan_with(case, operation, implementation, device, {})
    ruled = _plan_with(case, operation, implementation, device, {})
    if ruled.status != "ok":
        return ruled  # what cannot be run is refused in the rule's words
    choice = tables.choice(case, implementation)
    if choice.path is None:
        return _with_reason(ruled, choice)
    tuned = _plan_with(case, operation, implementation, device, choice.values)
    if tuned.status == "ok":
        return _with_reason(tuned, choice)
    warn(choice.path, f"{case.operation}/{implementation.name} cannot have {choice.values}: {tuned.reason}")
    return ruled


def _with_reason(one: Planned, choice: Choice) -> Planned:
    assert one.plan is not None
    plan = replace(one.plan, reasons=(*one.plan.reasons, choice.reason))
    return replace(one, plan=plan, tuned=choice.values)


def _plan_with(
    case: Case,
    operation: Operation,
    implementation: Implementation,
    device: DeviceProperties,
    values: Mapping[str, int],
) -> Planned:
    try:
        names = [spec.name for spec in operation.arrays(case)]
        plan = implementation.plan(case, device, **values) if implementation.plan else None
    except BaseException as error:
        return _refused(implementation, error)
    try:
        problem = plan_problem(plan, names, device) if implementation.plan else ""
    except Exception as error:  # of a record whose fields somebody took away
        problem = f"its plan cannot be read: {type(error).__name__}: {words_of(error)}"
    if problem:  # and nobody is given a plan that may not even be one
        return Planned(implementation, status="failed", reason=problem)
    return Planned(implementation, plan)


def _refused(implementation: Implementation, error: BaseException) -> Planned:
    """What a plan's error, SystemExit and its like among them, means for its row; Ctrl-C is no error of a plan."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    text = words_of(error)
    if isinstance(error, Unsupported):
        return Planned(implementation, status="unsupported", reason=text or "its plan does not say why")
    if isinstance(error, MissingLibrary):
        return Planned(implementation, status="skipped", reason=text)
    if isinstance(error, DeviceError):  # what a user's own folder raised, with its place
        return Planned(implementation, status="failed", reason=text)
    return Planned(implementation, status="failed", reason=f"its plan raised {type(error).__name__}: {text}")
