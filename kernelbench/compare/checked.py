"""Kinds of claims that a run without times can decide: about what is verified, launched and counted."""

from collections.abc import Mapping, Sequence
from typing import Any

from kernelbench.compare import verdicts
from kernelbench.compare.judging import ClaimQuery, is_faster, value_with_interval
from kernelbench.compare.measured import MeasuredCase, Ratio
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.explain import evidence


def judge_specimen(query: ClaimQuery) -> ClaimVerdict:
    """Times play a part only where `slower_than` is given."""
    specimens: Sequence[str] = query.stated["specimens"]
    (correct,) = query.parameters("correct")
    fused = str(query.stated.get("slower_than", ""))
    names = (*specimens, correct, *((fused,) if fused else ()))
    ratios: dict[str, Ratio] = {}
    if fused and query.measured.run.simulated:
        reason = (
            f"whether {query.label(correct)} is slower than {query.label(fused)} takes times, and this run has none"
        )
        return query.unmeasured(reason)

    def one(case: MeasuredCase) -> CaseVerdict | None:
        states = {name: query.measured.status(case.key, name)[0] for name in (*specimens, correct)}
        checked = {name: state for name, state in states.items() if state in ("ok", "wrong")}
        ratio = query.speedup(case, correct, fused) if fused else None
        if correct not in checked or len(checked) == 1 or (fused and ratio is None):
            return None
        as_said = all(state == ("ok" if name == correct else "wrong") for name, state in checked.items())
        text = "; ".join(f"{name}: {state}" for name, state in checked.items())
        if ratio:
            ratios[case.key] = ratio
            text += f"; {correct} takes {value_with_interval(ratio)} times the time of {fused}"
            as_said = as_said and bool(is_faster(ratio))
        caught = sum(checked.get(name) == "wrong" for name in specimens)
        return CaseVerdict(case.key, case.label, float(caught), text, direction=as_said)

    cases = query.timed_cases(names, one, timed=(correct, fused) if fused else ())
    bad, right = " and ".join(specimens), query.label(correct)
    slower = f", and slower than {query.label(fused)}" if fused else ""

    def told(on: str) -> str:
        counted = [case for case in cases if case.counts]
        took = [ratios[case.case].value for case in counted if case.case in ratios]
        slow = f", and takes {verdicts.range_text(took)} times the time of {query.label(fused)}" if took else ""
        caught = all(case.measured for case in counted)
        return f"Verification finds {bad} {'wrong' if caught else 'right'} on {on}; {right} is right{slow}"

    return query.concluded(cases, told, query.direction(f"{bad} is wrong; {right} is right{slower}"), None)


def judge_launch(query: ClaimQuery) -> ClaimVerdict:
    (name,) = query.parameters("of")
    cases = []
    for case in query.cases():
        for stated in query.size_of("launches"):
            if tuple(stated["shape"]) == case.shape and stated["axis"] % len(case.shape) == case.axis % len(case.shape):
                found = _grid_and_block(query, case.key, name)
                if found is None:
                    cases.append(query.missing(case, name))
                    continue
                expected = _extents(stated["grid"]), _extents(stated["block"])
                text = f"{name}: grid {found[0]}, block {found[1]}; published grid {expected[0]}, block {expected[1]}"
                same = found == expected
                cases.append(CaseVerdict(case.key, case.label, float(same), text, size=same, required=(1.0, 1.0)))
    required = query.size("; ".join(map(_launch_text, query.size_of("launches"))))

    def told(on: str) -> str:
        return "; ".join(f"{case.label}: {case.text}" for case in cases if case.counts)

    return query.concluded(cases, told, None, required, with_published=False)


def _launch_text(stated: Mapping[str, Any]) -> str:
    grid, block = _extents(stated["grid"]), _extents(stated["block"])
    return f"grid {grid} and block {block} for shape {tuple(stated['shape'])} along axis {stated['axis']}"


def _grid_and_block(query: ClaimQuery, case: str, name: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Grid and block of the first launch; None where the run has no row that was launched."""
    row = query.measured.first_row(case, name)
    return (_extents(row.launches[0].grid), _extents(row.launches[0].block)) if row and row.launches else None


def _extents(values: Sequence[int]) -> tuple[int, ...]:
    """(x, y), with z where it is not 1."""
    x, y, z = (*values, 1, 1)[:3]
    return (x, y) if z == 1 else (x, y, z)


def judge_explanation(query: ClaimQuery) -> ClaimVerdict:
    if not query.measured.counted:
        return query.unmeasured("it explains by counting, which times cannot decide, and nothing was counted")
    cases, found = [], []
    for case in query.cases():
        counted = query.measured.counted.get(case.key, {})
        said = [evidence.decide(statement, counted) for statement in evidence.claim_statements(query.claim)]
        holds = evidence.all_confirmed(said)
        confirmed = sum(one.decision == "confirmed" for one in said)
        text = "; ".join(f"{one.decision}: {one.statement.says} ({one.text})" for one in said)
        share = None if holds is None else confirmed / len(said)
        cases.append(CaseVerdict(case.key, case.label, share, text, direction=holds))
        found += said
    told: dict[str, list[str]] = {}
    for one in evidence.across(found):
        decision, numbers = (one.decision, f" ({one.numbers})") if one.seen else ("not counted", "")
        told.setdefault(decision, []).append(one.statement.says + numbers)
    parts = ". ".join(f"{decision.capitalize()}: {'; '.join(each)}" for decision, each in told.items())
    if set(told) == {"confirmed", "not counted"}:  # what was not seen may be otherwise
        return query.unmeasured(
            f"{'; '.join(told['not counted'])}: not counted. Confirmed: {'; '.join(told['confirmed'])}", cases
        )
    required = query.direction("counters confirm every statement")
    return query.concluded(cases, lambda on: f"Counted by the simulator on {on}. {parts}", required, None)
