"""Kinds of claims about machine code: what environment.json keeps of every entry that was built.

No clock decides them, so a run of the simulator will do: it builds the same cubins as the GPU that it stands in for.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelbench.compare import verdicts
from kernelbench.compare.between import Code, code_of_row
from kernelbench.compare.judging import cases_of, label, parameters, unmeasured
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import Measured, MeasuredCase
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core.records import Claim


def same_code(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """Launch by launch, the code of all of `names` has the same bytes."""
    names: Sequence[str] = claim.document["claim"]["names"]
    cases = []
    for case in cases_of(measured, claim):
        codes = _codes(measured, case, names)
        if len(codes) < len(names):
            cases.append(_missing(measured, case, names))
            continue
        different = len(set(codes.values()))
        text = "; ".join(f"{name} {_hashes(code)}" for name, code in codes.items())
        cases.append(CaseVerdict(case.key, case.label, different, None, different == 1, text))
    return _verdict(claim, cases, f"Machine code of {', '.join(label(claim, name) for name in names)}")


def longer_code(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """The code of `longer` has more instructions than that of `shorter`."""
    longer, shorter = parameters(claim, "longer", "shorter")
    cases = []
    for case in cases_of(measured, claim):
        codes = _codes(measured, case, (longer, shorter))
        if len(codes) < 2:
            cases.append(_missing(measured, case, (longer, shorter)))
            continue
        more, less = (sum(instructions for _, instructions in codes[name]) for name in (longer, shorter))
        text = f"{longer} {more} instructions, {shorter} {less}"
        cases.append(CaseVerdict(case.key, case.label, more / less, None, more > less, text))
    return _verdict(claim, cases, f"Machine code of {label(claim, longer)} and {label(claim, shorter)}")


def _codes(measured: Measured, case: MeasuredCase, names: Sequence[str]) -> dict[str, Code]:
    """Of those that the run has the code of."""
    found = {name: code_of(measured, case.key, name) for name in names}
    return {name: code for name, code in found.items() if code}


def code_of(measured: Measured, case: str, name: str) -> Code:
    """Hash and instructions of every launch; empty where the run does not have the code of every launch."""
    row = measured.first_row(case, name)
    return code_of_row(measured.run, row) if row else ()


def _hashes(code: Code) -> str:
    return " and ".join(f"{digest} ({instructions} instructions)" for digest, instructions in code)


def _missing(measured: Measured, case: MeasuredCase, names: Sequence[str]) -> CaseVerdict:
    states = {name: measured.status(case.key, name) for name in names}
    absent = [name for name in names if not states[name][0]]
    refused = [f"{name}: {state} ({reason})" for name, (state, reason) in states.items() if state not in ("", "ok")]
    reason = f"{', '.join(absent)}: not in this run" if absent else "; ".join(refused)
    return CaseVerdict(
        case.key, case.label, None, None, None, reason or "environment.json of the run has no machine code of them"
    )


def _verdict(claim: Claim, cases: list[CaseVerdict], subject: str) -> ClaimVerdict:
    outcome = verdicts.overall(cases)
    if outcome == "not measured":
        return unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    # Code depends on the element type, seldom on the size: what several cases have in common is told once.
    told = list(dict.fromkeys(case.text for case in cases if case.measured is not None))
    sentence = f"{subject} on {verdicts.counted(cases)}: {' | '.join(told)}"
    if outcome == "holds in part":
        sentence += f": {verdicts.where(cases)}"
    return ClaimVerdict(claim.id, claim.title, outcome, f"{sentence}.", tuple(cases))
