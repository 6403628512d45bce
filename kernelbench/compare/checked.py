"""Kinds of claims that a run without times can decide: about what is verified, launched and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelbench.compare import verdicts
from kernelbench.compare.judging import (
    CACHE,
    cases_of,
    concluded,
    direction,
    interval,
    is_faster,
    label,
    missing,
    parameters,
    size,
    size_of,
    timed_cases,
    unmeasured,
)
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import Measured, MeasuredCase, Ratio
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core.records import Claim
from kernelbench.explain import evidence


def specimen(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """Times play a part only where `slower_than` is given, and then on a GPU alone."""
    specimens: Sequence[str] = claim.document["claim"]["specimens"]
    (correct,) = parameters(claim, "correct")
    fused = claim.document["claim"].get("slower_than")
    names = (*specimens, correct, *((fused,) if fused else ()))
    ratios: dict[str, Ratio] = {}

    def one(case: MeasuredCase) -> CaseVerdict | None:
        states = {name: measured.status(case.key, name)[0] for name in (*specimens, correct)}
        checked = {name: state for name, state in states.items() if state in ("ok", "wrong")}
        ratio = measured.speedup(case.key, CACHE, correct, fused) if fused else None
        if correct not in checked or len(checked) == 1 or (fused and ratio is None and not measured.run.simulated):
            return None
        as_said = all(state == ("ok" if name == correct else "wrong") for name, state in checked.items())
        text = "; ".join(f"{name}: {state}" for name, state in checked.items())
        if ratio:
            ratios[case.key] = ratio
            text += f"; {correct} takes {interval(ratio)} times the time of {fused}"
            as_said = as_said and bool(is_faster(ratio))
        caught = sum(checked.get(name) == "wrong" for name in specimens)
        return CaseVerdict(case.key, case.label, float(caught), text, direction=as_said)

    cases = timed_cases(measured, claim, names, one, timed=(correct, fused) if fused else ())
    bad, right = " and ".join(specimens), label(claim, correct)
    slower = f", and slower than {label(claim, fused)}" if fused else ""

    def told(on: str) -> str:
        counted = [case for case in cases if case.counts]
        took = [ratios[case.case].value for case in counted if case.case in ratios]
        slow = f", and takes {verdicts.spread(took)} times the time of {label(claim, fused)}" if took else ""
        caught = all(case.measured for case in counted)
        return f"Verification finds {bad} {'wrong' if caught else 'right'} on {on}; {right} is right{slow}"

    return concluded(claim, cases, told, direction(claim, f"{bad} is wrong; {right} is right{slower}"), None)


def launch(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    (name,) = parameters(claim, "of")
    cases = []
    for case in cases_of(measured, claim):
        for stated in size_of(claim, "launches"):
            if tuple(stated["shape"]) == case.shape and stated["axis"] % len(case.shape) == case.axis % len(case.shape):
                found = _grid_and_block(measured, case.key, name)
                if found is None:
                    cases.append(missing(measured, case, name))
                    continue
                expected = _extents(stated["grid"]), _extents(stated["block"])
                text = f"{name}: grid {found[0]}, block {found[1]}; published grid {expected[0]}, block {expected[1]}"
                same = found == expected
                cases.append(CaseVerdict(case.key, case.label, float(same), text, size=same, required=(1.0, 1.0)))
    required = size(claim, "; ".join(map(_launch_text, size_of(claim, "launches"))))

    def told(on: str) -> str:
        return "; ".join(f"{case.label}: {case.text}" for case in cases if case.counts)

    return concluded(claim, cases, told, None, required, with_published=False)


def _launch_text(stated: Mapping[str, Any]) -> str:
    grid, block = _extents(stated["grid"]), _extents(stated["block"])
    return f"grid {grid} and block {block} for shape {tuple(stated['shape'])} along axis {stated['axis']}"


def _grid_and_block(measured: Measured, case: str, name: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Of the first launch; None where the run has no row that was launched."""
    row = measured.first_row(case, name)
    return (_extents(row.launches[0].grid), _extents(row.launches[0].block)) if row and row.launches else None


def _extents(values: Sequence[int]) -> tuple[int, ...]:
    """(x, y), with z where it is not 1."""
    x, y, z = (*values, 1, 1)[:3]
    return (x, y) if z == 1 else (x, y, z)


def explanation(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    if not measured.counted:
        return unmeasured(claim, "it explains by counting, which times cannot decide, and nothing was counted")
    cases, found = [], []
    for case in cases_of(measured, claim):
        counted = measured.counted.get(case.key, {})
        said = [evidence.decide(statement, counted) for statement in evidence.statements(claim)]
        holds = evidence.overall(said)
        confirmed = sum(one.decision == "confirmed" for one in said)
        text = "; ".join(f"{one.decision}: {one.statement.says} ({one.text})" for one in said)
        share = None if holds is None else confirmed / len(said)
        cases.append(CaseVerdict(case.key, case.label, share, text, direction=holds))
        found += said
    parts = "; ".join(
        f"{one.decision}: {one.statement.says} ({one.numbers})" if one.seen else f"not counted: {one.statement.says}"
        for one in evidence.across(found)
    )
    required = direction(claim, "counters confirm every statement")
    return concluded(claim, cases, lambda on: f"Counted by the simulator on {on}: {parts}", required, None)
