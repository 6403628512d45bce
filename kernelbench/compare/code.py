"""Kinds of claims about machine code: what environment.json keeps of every entry that was built.

No clock decides them, so a run of the simulator will do: it builds the same cubins as the GPU that it stands in for.
"""

from collections.abc import Callable, Sequence

from kernelbench.compare.between import Code, code_of_row
from kernelbench.compare.judging import ClaimQuery
from kernelbench.compare.measured import MeasuredCase, MeasuredRun
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict


def same_code(query: ClaimQuery) -> ClaimVerdict:
    """Launch by launch, the code of all of `names` has the same bytes."""
    names: Sequence[str] = query.stated["names"]
    cases = []
    for case in query.cases():
        codes = _codes(query, case, names)
        if len(codes) < len(names):
            cases.append(_missing(query, case, names))
            continue
        different = len(set(codes.values()))
        text = "; ".join(f"{name} {_hashes(code)}" for name, code in codes.items())
        cases.append(CaseVerdict(case.key, case.label, different, text, direction=different == 1))
    listed = ", ".join(query.label(name) for name in names)
    required = query.direction(f"{listed} have the same machine code")
    return query.concluded(cases, _told(f"Machine code of {listed}", cases), required, None)


def longer_code(query: ClaimQuery) -> ClaimVerdict:
    """The code of `longer` has more instructions than that of `shorter`."""
    longer, shorter = query.parameters("longer", "shorter")
    cases = []
    for case in query.cases():
        codes = _codes(query, case, (longer, shorter))
        if len(codes) < 2:
            cases.append(_missing(query, case, (longer, shorter)))
            continue
        more, less = (sum(instructions for _, instructions in codes[name]) for name in (longer, shorter))
        text = f"{longer} {more} instructions, {shorter} {less}"
        band, ratio = query.factor(None), more / less
        size = None if band is None else band[0] <= ratio <= band[1]
        cases.append(CaseVerdict(case.key, case.label, ratio, text, direction=more > less, size=size, required=band))
    left, right = query.label(longer), query.label(shorter)
    required = query.direction(f"{left} has more instructions than {right}")
    told = _told(f"Machine code of {left} and {right}", cases)
    return query.concluded(cases, told, required, query.factor_size("times as many"))


def more_registers(query: ClaimQuery) -> ClaimVerdict:
    """All others of `order` need more registers per thread than the first, as ptxas gives them."""
    names: Sequence[str] = query.stated["order"]
    cases = []
    for case in query.cases():
        rows = {name: query.measured.first_row(case.key, name) for name in names}
        registers = [row.registers for row in rows.values() if row and row.registers]
        if len(registers) < len(names):
            cases.append(_missing(query, case, names))
            continue
        text = ", ".join(f"{name} {count} registers" for name, count in zip(names, registers, strict=True))
        more = min(registers[1:]) > registers[0]
        cases.append(CaseVerdict(case.key, case.label, registers[-1] / registers[0], text, direction=more))
    listed = ", ".join(query.label(name) for name in names)
    others = " and ".join(query.label(name) for name in names[1:])
    required = query.direction(f"more registers for {others} than for {query.label(names[0])}")
    return query.concluded(cases, _told(f"Registers per thread of {listed}", cases), required, None)


def _codes(query: ClaimQuery, case: MeasuredCase, names: Sequence[str]) -> dict[str, Code]:
    """The code of each implementation, as far as the run has it."""
    found = {name: code_of(query.measured, case.key, name) for name in names}
    return {name: code for name, code in found.items() if code}


def code_of(measured: MeasuredRun, case: str, name: str) -> Code:
    """Hash and instructions of every launch; empty where the run does not have the code of every launch."""
    row = measured.first_row(case, name)
    return code_of_row(measured.run, row) if row else ()


def _hashes(code: Code) -> str:
    return " and ".join(f"{digest} ({instructions} instructions)" for digest, instructions in code)


def _missing(query: ClaimQuery, case: MeasuredCase, names: Sequence[str]) -> CaseVerdict:
    states = {name: query.measured.status(case.key, name) for name in names}
    absent = [name for name in names if not states[name][0]]
    refused = [f"{name}: {state} ({reason})" for name, (state, reason) in states.items() if state not in ("", "ok")]
    reason = f"{', '.join(absent)}: not in this run" if absent else "; ".join(refused)
    return CaseVerdict(case.key, case.label, None, reason or "the run has not kept their machine code")


def _told(subject: str, cases: Sequence[CaseVerdict]) -> Callable[[str], str]:
    """Code depends on the element type, seldom on the size: what several cases have in common is told once."""
    told = dict.fromkeys(case.text for case in cases if case.counts)
    return lambda on: f"{subject} on {on}: {' | '.join(told)}"
