"""Every case of a suite with the launch plan of every implementation, or the reason why there is none.

This needs neither GPU nor compiler. Plans come from kernel folders, so their results and errors are checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelbench.core.errors import DeviceError, MissingLibrary, OwnFileError, Unsupported, words_of
from kernelbench.core.records import Case, DeviceProperties, Implementation, Operation, Suite
from kernelbench.core.records import CasePlan as CasePlan  # noqa: PLC0414 - callers of plan_suite need these records too
from kernelbench.core.records import Planned as Planned  # noqa: PLC0414
from kernelbench.planning.plan_checks import plan_problem
from kernelbench.planning.tuned import warn_unusable_table

if TYPE_CHECKING:
    from kernelbench.planning.catalog import Catalog
    from kernelbench.planning.tuned import TunedChoice, TunedTables


def plan_suite(
    suite: Suite, catalog: Catalog, device: DeviceProperties, tables: TunedTables | None = None
) -> tuple[CasePlan, ...]:
    """The suite's cases in order, each with its implementations in the suite's order.

    `tables`: launch parameters tuned on this GPU; None for the rules of the plans, as on the simulator.
    """
    return tuple(_plan_all(suite, case, catalog, device, tables) for case in suite.cases)


def _plan_all(
    suite: Suite, case: Case, catalog: Catalog, device: DeviceProperties, tables: TunedTables | None
) -> CasePlan:
    operation, implementations = catalog.operations[case.operation], catalog.implementations[case.operation]
    for needed in (operation.bytes_moved, operation.flops, operation.tolerance):
        needed(case)  # errors of a user's operation appear before anything is measured
    inputs = tuple(spec.name for spec in operation.arrays(case) if spec.role == "input")
    planned = [plan_case(case, operation, implementations[name], device, tables) for name in suite.names_for(case)]
    return CasePlan(case, tuple(planned), inputs)


def plan_case(
    case: Case,
    operation: Operation,
    implementation: Implementation,
    device: DeviceProperties,
    tables: TunedTables | None = None,
) -> Planned:
    """Make the plan and check it against the limits of the device. Its errors cost only its own rows."""
    try:
        return _plan_case(case, operation, implementation, device, tables)
    except BaseException as error:
        return _refused(implementation, error)


def _plan_case(
    case: Case,
    operation: Operation,
    implementation: Implementation,
    device: DeviceProperties,
    tables: TunedTables | None,
) -> Planned:
    if reason := implementation.deviation(case.inputs):
        return Planned(implementation, status="unsupported", reason=f"{case.inputs} inputs: {reason}")
    if tables is None or implementation.tunable is None:
        return _plan_with(case, operation, implementation, device, {})
    ruled = _plan_with(case, operation, implementation, device, {})
    if ruled.status != "ok":
        return ruled  # with the reason of the rule
    choice = tables.choice(case, implementation, device)
    if choice.path is None:
        return _with_reason(ruled, choice)
    tuned = _plan_with(case, operation, implementation, device, choice.values)
    if tuned.status == "ok":
        return _with_reason(tuned, choice)
    warn_unusable_table(
        choice.path, f"{case.operation}/{implementation.name} cannot have {choice.values}: {tuned.reason}"
    )
    return ruled


def _with_reason(one: Planned, choice: TunedChoice) -> Planned:
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
    except Exception as error:  # of a record from which user code deleted fields
        problem = f"its plan cannot be read: {type(error).__name__}: {words_of(error)}"
    if not problem and plan and plan.source not in ("", *implementation.other_sources):
        problem = f"its plan names the source {plan.source!r:.60}, which is none of its other_sources"
    if problem:  # without the plan, which may be anything
        return Planned(implementation, status="failed", reason=problem)
    return Planned(implementation, plan)


def _refused(implementation: Implementation, error: BaseException) -> Planned:
    """The row's status and reason for an error of a plan, including SystemExit; Ctrl-C and OwnFileError are raised
    again."""
    if isinstance(error, (KeyboardInterrupt, OwnFileError)):
        raise error
    text = words_of(error)
    if isinstance(error, Unsupported):
        return Planned(implementation, status="unsupported", reason=text or "its plan does not say why")
    if isinstance(error, MissingLibrary):
        return Planned(implementation, status="skipped", reason=text)
    if isinstance(error, DeviceError):  # from a user's folder, with its place in the message
        return Planned(implementation, status="failed", reason=text)
    return Planned(implementation, status="failed", reason=f"its plan raised {type(error).__name__}: {text}")
