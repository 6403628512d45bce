"""Ways to seem right or fast without doing the work, tried as kernels: who finds each out, and by what words."""

from functools import partial
from pathlib import Path

from tests.reliability.faults import FAULTS, Fault, OneRun, Outcome
from tests.reliability.stage import COLUMNS, CUDA, SIMULATOR, Stage

FOLDER = Path(__file__).resolve().parent / "cheats"
TITLE = "cheat: "  # what every title here begins with
ONCE = "not timed: simulated"  # on the simulator it runs once, does its work in that run, and gains nothing
NO_PTX = "is a library call, without PTX that the simulator could run"
WRONG, INPUT, ELSEWHERE = "elements wrong", "wrote to its input: x", "after the end of its work"
# What it does; the words of the row that refuses it, on a GPU and on the simulator.
KERNELS = {
    "nothing": ("an empty kernel", WRONG, WRONG),
    "constant": ("one constant everywhere", "it never reads x", "it never reads x"),
    "half_of_each_row": ("every second element read", WRONG, WRONG),
    "all_rows_but_one": ("the last row left out", WRONG, WRONG),
    "overwrites_its_input": ("the input replaced by zeros, whose softmax is known", INPUT, "write to an input"),
    "changes_one_element": ("one element of the input changed when all is done", INPUT, "write to an input"),
    "writes_behind_its_output": ("a write behind the output", "wrote outside of y", "write of 4 bytes outside"),
    "works_where_y_is_not_done": ("no work where the output looks done", WRONG, ONCE),
    "remembers_its_answer": ("the first answer kept in device memory and copied", WRONG, ONCE),
    "looks_at_one_element_per_row": ("answers kept, and copied where one element per row is as before", WRONG, ONCE),
    "fewer_rows_from_the_fourth_call": ("half of the rows from the fourth call on", WRONG, ONCE),
    "right_at_one_place": ("work at the first address that it is called with", WRONG, ONCE),
    "takes_that_answer": ("the answer that another kernel left in scratch memory", WRONG, WRONG),
}
CALLS = {
    "remembers_its_first_answer": ("a library that copies its first answer", WRONG),
    "looks_at_some_elements": ("a library that looks at some elements on the host, and copies its answer", "half-way"),
    "computes_when_prepared": ("the work done when the call is prepared", WRONG),
    "every_second_call": ("the first of two calls in a row computes, the second copies", WRONG),
    "works_elsewhere_before": ("the work in another stream, at once", ""),
    "half_elsewhere": ("half of the work in another stream, at once", ""),
    "works_elsewhere_after": ("the work in another stream, behind the timed one", ""),
    "works_in_a_thread": ("a call that returns at once, and a thread that works later", ""),
    "computes_nothing_in_graphs": ("a copy of the last answer where a graph is captured", WRONG),
    "returns_its_input": ("the input itself returned", "y lies in the memory of its input x"),
    "returns_memory_as_it_is": ("new memory returned, which may hold somebody's answer", WRONG),
    "returns_the_same_result": ("the first result returned again and again", WRONG),
}
RUN = OneRun((FOLDER,), (*KERNELS, "leaves_its_answer", *CALLS), COLUMNS[2])


def _cheat(name: str, stage: Stage) -> Outcome:
    row = RUN.row(stage, name)
    if name in KERNELS:
        words = KERNELS[name][1 if stage.kind == CUDA else 2]
    else:
        words = CALLS[name][1] if stage.kind == CUDA else NO_PTX
    caught = row["status"] in ("wrong", "failed") if stage.kind == CUDA or name in KERNELS else row["status"] != "ok"
    assert caught or words == ONCE, row
    assert words in row["reason"], row
    assert row["median_s"] == "", "no time of it is kept"
    return RUN.outcome(stage, row)


for _name, (_what, *_words) in {**KERNELS, **CALLS}.items():
    FAULTS[f"cheat_{_name}"] = Fault(TITLE + _what, partial(_cheat, _name), (SIMULATOR, CUDA))
