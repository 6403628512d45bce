"""Checks whether an earlier session of a run can be continued, and which cases it has finished."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.core.errors import ResultsError
from kernelbench.core.progress import Progress
from kernelbench.core.records import CasePlan, Planned
from kernelbench.runs.results import ENVIRONMENT_FILE, Run, read_run, results_file
from kernelbench.runs.row_records import Row
from kernelbench.runs.rows import launches_cell
from kernelbench.runs.suite_contents import suite_contradictions, suite_differences

if TYPE_CHECKING:
    import pandas

# Two sessions must agree on these, or their rows do not belong in one table.
_SAME_TO_RESUME = ("suite", "seed", "kernelbench")


def earlier_session(folder: Path, state: Mapping[str, Any], *, resume: bool) -> Run | None:
    """The run in `folder` that can be continued; None if nothing was measured yet.

    ResultsError without `resume`, or if its rows cannot be mixed with those of `state`, the present environment.
    """
    if not os.path.lexists(results_file(folder)):
        return None
    if not resume:
        raise ResultsError(f"{folder}: already holds a run; add --resume to go on with it, or choose another --out")
    earlier = read_run(folder)
    if not earlier.rows:
        return None
    for problem in _differences(earlier, state):
        raise ResultsError(f"{folder}: --resume: {problem}; start a new run without --resume")
    return earlier


def _differences(earlier: Run, state: Mapping[str, Any]) -> Iterator[str]:
    if not os.path.lexists(earlier.folder / ENVIRONMENT_FILE):
        yield f"without {ENVIRONMENT_FILE} the GPU of its {len(earlier.rows)} rows is not known"
    for name in _SAME_TO_RESUME:
        if earlier.environment.get(name) != state.get(name):
            yield f"its {name} is {earlier.environment.get(name)!r}, now it is {state.get(name)!r}"
    yield from _other_suite(earlier, state["contents"])
    for name, file in state.get("calls", {}).items():
        if earlier.environment.get("calls", {}).get(name, file) != file:
            yield f"the file of {name} has changed, and rows of a library call have no binary that tells them apart"
    if bool(earlier.environment.get("self_test")) != bool(state.get("self_test")):
        yield "one of the two is a self-test, the other is not"
    now = state["device"]
    full = [bool(device.get("simulator", {}).get("full")) for device in (earlier.environment["device"], now)]
    if full[0] != full[1]:
        yield "one of the two runs every block (--full), the other a sample of them"
    if earlier.device != now["name"]:
        yield f"it was measured on {earlier.device}, this is {now['name']}"
    then = earlier.environment["device"].get("uuid")
    if then and now.get("uuid", then) != then:
        yield f"it was measured on another {earlier.device}, {then}; this is {now['uuid']}"


def _other_suite(earlier: Run, now: Mapping[str, Any]) -> Iterator[str]:
    then = earlier.environment.get("contents")
    found = list(
        suite_differences(then, now)
        if then
        else suite_contradictions({row.case: row.operation for row in earlier.rows}, now)
    )
    if found:
        yield f"its suite '{earlier.suite}' has changed: {'; '.join(found)}"


def resumed_environment(earlier: Run, state: Mapping[str, Any]) -> dict[str, Any]:
    """`state`, joined with the environment of the earlier sessions."""
    began = earlier.environment
    return {
        **state,
        "started": began.get("started"),
        "resumed": [*began.get("resumed", []), state["started"]],
        "implementations": {**began.get("implementations", {}), **state["implementations"]},
        "calls": {**began.get("calls", {}), **state.get("calls", {})},
        "code": began.get("code", {}),
    }


def unfinished_plans(
    earlier: Run | None, plans: Sequence[CasePlan], caches: Collection[str], progress: Progress
) -> tuple[CasePlan, ...]:
    """The cases still to be measured; all without an earlier session. Says which are measured again, and why.

    `plans` have their binaries; `caches` are the cache states to be timed, none on the simulator.
    """
    if earlier is None:
        return tuple(plans)
    samples = earlier.samples
    left, again = [], Counter[str]()
    for plan in plans:
        own = [row for row in earlier.rows if row.case == plan.case.key]
        why = next(_reasons(own, samples[samples["case"] == plan.case.key], plan, caches), "") if own else ""
        if why or not own:
            left.append(plan)
        if why:
            again[why] += 1
    progress.say(f"Going on with {earlier.folder}: {len(plans) - len(left)} of {len(plans)} cases are finished")
    if command := earlier.environment.get("command"):
        progress.say(f"The command before this one: {command}")
    for why, count in again.items():
        progress.say(f"{count} case{'s are' if count > 1 else ' is'} measured again: {why}")
    return tuple(left)


def _reasons(rows: Sequence[Row], samples: pandas.DataFrame, plan: CasePlan, caches: Collection[str]) -> Iterator[str]:
    """Why a case that has rows is not finished."""
    for one in plan.planned:
        name = one.implementation.name
        own = [row for row in rows if row.implementation == name]
        if not own:
            yield f"there is no row of {name}"
            continue
        yield from _binary_reasons(one, own)
        timed = [row for row in own if row.status == "ok"]
        for cache in caches:
            if timed and not any(row.cache == cache or f"not timed {cache}" in row.reason for row in timed):
                yield f"{name} was not timed {cache}"
    keys = ["implementation", "cache", "method"]
    measured = samples[samples["implementation"].isin([one.implementation.name for one in plan.planned])]
    missing = set(map(tuple, measured[keys].to_numpy())) - {(row.implementation, row.cache, row.method) for row in rows}
    for name, cache, method in sorted(missing):
        yield f"there are samples of {name}, {cache}, by {method}, but no row"


def _binary_reasons(one: Planned, rows: Sequence[Row]) -> Iterator[str]:
    """Why rows are of another binary or launch. A kernel that does not compile now keeps its rows, because nothing can
    replace them."""
    if one.binary is None:
        return
    now, name = one.binary.short_key, one.implementation.name
    for then in sorted({row.binary for row in rows} - {now}):
        yield f"{name} is another binary now, {now} instead of {then}" if then else f"{name} had no binary, now it has"
    launches = launches_cell(one.plan) if one.plan else ""
    for then in sorted({"; ".join(row.launch_texts) for row in rows} - {launches, ""}):  # from another table
        yield f"{name} is launched as {launches} now, instead of {then}"
