"""fleet.json, whoever wrote it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core.errors import InputError, ResultsError
from kernelbench.fleet.folder import Fleet, find_fleet, read_fleet, resume_fleet, write_fleet
from kernelbench.fleet.gpus import named_gpus


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    gpus = named_gpus("simulated:h200,simulated:h200")
    found = Fleet(
        tmp_path / "f", "kernelbench run", "2026-11-23T08:00:00", {"softmax": "ab"}, ("--quick",), False, gpus
    )
    write_fleet(found)
    return found


def test_a_fleet_is_read_as_it_was_written(fleet: Fleet) -> None:
    assert read_fleet(fleet.folder) == fleet
    assert find_fleet(str(fleet.folder)) == fleet.folder
    assert find_fleet(str(fleet.folder.parent)) is None
    assert find_fleet(None) is None
    assert fleet.place("h200", "softmax") == fleet.folder / "h200" / "softmax"
    assert replace(fleet, shared=True).place("h200", "softmax") == fleet.folder / "parts" / "h200" / "softmax"


def test_resume_goes_on_with_the_same_work_alone(fleet: Fleet) -> None:
    done = replace(fleet, finished="2026-11-23T09:00:00", notes=("said",))
    write_fleet(done)
    assert resume_fleet(fleet.folder, fleet) == replace(done, finished=None)
    for change, said in (
        ({"suites": {"softmax": "cd"}}, "its suites were softmax \\(ab\\), now they are softmax \\(cd\\)"),
        ({"options": ()}, "its options were --quick, now they are none"),
        ({"shared": True}, "its cases were measured on every GPU, now they are divided"),
    ):
        with pytest.raises(InputError, match=said):
            resume_fleet(fleet.folder, replace(fleet, **change))


def test_a_gpu_that_joins_later_measures_unless_cases_are_shared(fleet: Fleet) -> None:
    three = named_gpus("simulated:h200,simulated:h200,simulated:a100")
    assert resume_fleet(fleet.folder, replace(fleet, gpus=three)).gpus == three
    write_fleet(replace(fleet, shared=True))
    assert resume_fleet(fleet.folder, replace(fleet, gpus=three, shared=True)).gpus == fleet.gpus


@pytest.mark.parametrize(
    "change",
    [
        {"gpus": []},
        {"gpus": "none"},
        {"gpus": [{"label": "../up", "kind": "", "device": "", "resource": "", "host": ""}]},
        {"suites": {"../up": "ab"}},
        {"suites": None},
        {"notes": 3},
    ],
)
def test_a_strangers_fleet_is_refused_where_it_lies(fleet: Fleet, change: dict[str, Any]) -> None:
    path = fleet.folder / "fleet.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ResultsError, match=r"fleet\.json"):
        read_fleet(fleet.folder)


def test_two_gpus_never_share_a_folder(fleet: Fleet) -> None:
    write_fleet(replace(fleet, gpus=(fleet.gpus[0],) * 2))
    with pytest.raises(ResultsError, match="different labels"):
        read_fleet(fleet.folder)


def test_what_controls_a_terminal_is_escaped(fleet: Fleet) -> None:
    write_fleet(replace(fleet, notes=("\x1b[2Jgone",)))
    assert read_fleet(fleet.folder).notes == ("\\x1b[2Jgone",)
