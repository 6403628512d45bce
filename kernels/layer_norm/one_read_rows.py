"""Launch plan of one_read_rows.cu and _words.cu: rows of the last axis, by softmax's techniques and three others."""

from dataclasses import replace

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar
from ..softmax_family.choice_values import choice_of_values
from ..softmax_family.row_plans import EntryArguments, plan_of
from ..softmax_family.row_techniques import Held
from ..softmax_family.tuning import rows_tunable
from ..softmax_family.words import SOURCE, Words
from ._choices import MODEL, AnyChoice, WeightsFirst, candidates, choose
from ._long_rows import LongRows, long_rows_plan
from ._rows_in_turn import InTurn, in_turn_plan
from ._words import norm_words_plan
from .operation import EPS

NAME = "layer_norm_one_read_rows"
GIVEN = EntryArguments(("x", "gamma", "beta", "y"), (Scalar("float32", EPS),))


def plan(case: Case, device: DeviceProperties, **values: int) -> LaunchPlan:
    """Values: those of a candidate; none for the fastest by the cost function."""
    found = choice_of_values(values, candidates(case, device)) if values else choose(case, device)
    return launches_of(found, case, device)


def launches_of(choice: AnyChoice, case: Case, device: DeviceProperties) -> LaunchPlan:
    if isinstance(choice, LongRows):
        return long_rows_plan(NAME, choice, case, device, GIVEN)
    if isinstance(choice, InTurn):
        return in_turn_plan(NAME, choice, case, device, GIVEN)
    if isinstance(choice, Words):
        return norm_words_plan(choice, case, device, GIVEN)
    found = plan_of(NAME, choice, case, device, GIVEN)
    if not isinstance(choice, Held) or choice.warps == 1:
        return found
    first = isinstance(choice, WeightsFirst)
    reasons = (f"{found.reasons[0]}; gamma and beta are loaded first, and kept",) if first else found.reasons
    return replace(found, defines=(*found.defines, ("WEIGHTS_FIRST", int(first))), reasons=reasons)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_rows",
        "rows held by a thread, lanes, warps, a block, a cluster or a group of blocks, read once",
        Origin("written here"),
        plan=plan,
        tunable=rows_tunable("layer_norm", candidates, MODEL),
        other_sources=(SOURCE,),
    ),
)
