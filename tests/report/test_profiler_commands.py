"""Commands for NVIDIA's tools: they are words of a shell, and name one implementation of one case."""

import shlex
from dataclasses import replace
from itertools import pairwise

import pytest

from kernelbench.core import places
from kernelbench.planning.catalog import load_catalog
from kernelbench.report.profiler_commands import (
    ProfilerCommands,
    hand_off,
    kept_options,
    profiler_commands,
    strip_options,
)
from kernelbench.runs.results import read_run
from kernelbench.walks.request import Request, read_suites

RUN = places.RECORDED / "h200" / "softmax"
EVIL = "x; rm -rf $HOME `id` 'q"


def options(command: str, name: str) -> list[str]:
    words = shlex.split(command)
    return [after for word, after in pairwise(words) if word == name]


def test_every_recorded_row_is_selected_by_its_command() -> None:
    run, catalog = read_run(RUN), load_catalog(specimens=True)
    rows = {(row.case, row.implementation): row for row in run.rows if row.status == "ok"}
    for (case, name), row in list(rows.items())[::7]:
        found = hand_off(row, run.environment)
        for command in (found.ncu, found.sanitizer):
            (only,), (term,) = options(command, "--only"), options(command, "--filter")
            (suite,) = read_suites(Request((row.suite,), only=(only,), filters=(term,)), catalog)
            assert ([one.key for one in suite.cases], suite.implementations) == ([case], (name,))
            assert "--in-process" in shlex.split(command)


def test_ncu_records_the_launches_of_the_row() -> None:
    found = profiler_commands("softmax", {"seq": "8"}, "ft", ["softmax_k<float>", "b", "b"])
    assert options(found.ncu, "--kernel-name") == ["regex:^(softmax_k<float>|b)$"]
    assert options(found.ncu, "--launch-count") == ["3"]
    library = profiler_commands("softmax", {"seq": "8"}, "torch", [])
    assert "--kernel-name" not in library.ncu


def test_text_of_strangers_stays_one_word() -> None:
    row = next(row for row in read_run(RUN).rows if row.status == "ok")
    row = replace(row, suite=EVIL, implementation=EVIL, launch_texts=(f"{EVIL}<<<1, 32>>>",))
    for command in vars(hand_off(row, {"command": f"kernelbench run x --cu {shlex.quote(EVIL)}"})).values():
        words = shlex.split(command)
        assert words[words.index("run") + 1] == EVIL
        assert options(command, "--cu") == [EVIL]
        assert options(command, "--only") == [EVIL]
        assert "rm" not in words


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("kernelbench run softmax --set seq=77 --only ft --dtype=float16 --out x --resume --specimens",
         ("--set", "seq=77", "--dtype=float16", "--specimens")),
        ("kernelbench run softmax --counters --self-test --seed", ()),
        ("kernelbench run 'softmax", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_options_that_change_the_launches_are_repeated(command: str, kept: tuple[str, ...]) -> None:
    assert kept_options(command) == kept


def test_options_are_left_out_with_their_values() -> None:
    command = "kernelbench run 'a b' --part 1/4 --out=x --seed 3 --resume"
    assert strip_options(command, ("--part", "--out"), ("--resume",)) == "kernelbench run 'a b' --seed 3"
    assert strip_options("kernelbench run 'softmax", ("--part",), ()) == ""


def test_a_twin_is_profiled_as_its_original() -> None:
    found = profiler_commands("softmax", {"seq": "8"}, "ft.again", ["k"])
    assert isinstance(found, ProfilerCommands)
    assert options(found.ncu, "--only") == ["ft"]
