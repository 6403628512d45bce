"""What plans, and the modules of their kernels, can ask for that nobody has; tests/planning/test_plan_faults.py has all
the values that a plan can be wrong in."""

from functools import partial
from pathlib import Path

from tests.reliability.faults import FAULTS, Fault, OneRun, Outcome
from tests.reliability.stage import COLUMNS, SIMULATOR, Stage

FOLDER = Path(__file__).resolve().parent / "broken"
ASKED = {  # implementations of FOLDER: what they do, and what becomes of them
    "half_a_byte": ("a plan with 1.5 bytes of scratch", "failed"),
    "too_large_a_scalar": ("a plan with a float32 of 1e40", "failed"),
    "number_for_a_reason": ("a plan with a number for a reason", "failed"),
    "leaving_plan": ("a plan that calls sys.exit", "failed"),
    "most_blocks": ("a plan with 2,147,483,647 blocks", "ok"),
    "large_variable": ("a module with a variable of 64 GiB", "wrong"),
}
RUN = OneRun((FOLDER,), tuple(ASKED), COLUMNS[1])


def _asked(name: str, stage: Stage) -> Outcome:
    row = RUN.row(stage, name)
    assert row["status"] == ASKED[name][1], row
    return RUN.outcome(stage, row)


for _name, (_title, _) in ASKED.items():
    FAULTS[_name] = Fault(_title, partial(_asked, _name), (SIMULATOR,))
