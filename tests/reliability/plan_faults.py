"""What plans, and the modules of their kernels, can ask for that nobody has; tests/planning/test_plan_faults.py has all
the values that a plan can be wrong in."""

import csv
from functools import partial
from pathlib import Path

from kernelbench.runs.results import RESULTS_FILE
from tests.reliability.faults import FAULTS, Fault, Outcome
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
_played: dict[str, list[dict[str, str]]] = {}  # rows of the one run of all of them, by kind of stage


def _rows(stage: Stage) -> list[dict[str, str]]:
    if stage.kind not in _played:
        only = ",".join((stage.names[0], *ASKED, stage.names[1]))
        done = stage.run("--kernels", FOLDER, "--only", only, "--filter", f"columns={COLUMNS[1]}")
        assert done.code == 1, done.err
        assert "Traceback" not in done.err, done.err
        _played[stage.kind] = list(csv.DictReader((stage.out / RESULTS_FILE).open()))
    return _played[stage.kind]


def _asked(name: str, stage: Stage) -> Outcome:
    found = _rows(stage)
    (row,) = [row for row in found if row["implementation"] == name]
    assert row["status"] == ASKED[name][1], row
    others = [row for row in found if row["implementation"] in stage.names]
    return Outcome(
        row["reason"], 1, sum(row["status"] == "ok" for row in others), sum(row["status"] != "ok" for row in others)
    )


for _name, (_title, _) in ASKED.items():
    FAULTS[_name] = Fault(_title, partial(_asked, _name), (SIMULATOR,))
