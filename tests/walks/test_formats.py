"""`--format`: what programs read of every command that prints a table."""

import csv
import json
from collections.abc import Callable

import pytest

from kernelbench.compare.comparison import COMPARISON
from kernelbench.core import columns, places
from kernelbench.core.units import duration_text
from kernelbench.report import formats
from tests.conftest import Command, Project
from tests.endings import ended, printed, refused
from tests.fake_simulator import FakeSimulator

SOFTMAX = places.RECORDED / "h200" / "softmax"
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list", "suites"),
    "plan": ("plan", "small", "--gpu", "a100"),
    "build": ("build", "small", "--only", "compiled,good"),
    "check": ("check", "small", "--only", "compiled,good", "--device", "simulated"),
    "explain": ("explain", "small", "--only", "compiled,good"),
    "compare": ("compare", str(SOFTMAX), "--only", "ft,oneflow"),
}


def markdown_rows(text: str) -> list[dict[str, str]]:
    """The last table of a page."""
    lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.rsplit("\n\n", maxsplit=1)[-1].splitlines()
    ]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]


READ: dict[str, Callable[[str], list[dict[str, object]]]] = {
    "csv": lambda text: list(csv.DictReader(text.splitlines())),
    "json": json.loads,
    "markdown": markdown_rows,
}


@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "compare"])
def test_standard_output_is_the_rows_and_nothing_else(
    name: str, form: str, project: Project, simulator: FakeSimulator, command: Command
) -> None:
    project.suite("good, compiled")
    code, out, _ = command(*COMMANDS[name], "--format", form)
    assert code in (0, 1)
    rows = READ[form](out.strip())
    assert rows
    first = "suite" if name == "list" else "case" if (name, form) == ("explain", "json") else "implementation"
    assert all(row[first] for row in rows)


def test_loads_are_written_as_on_the_screen(project: Project, command: Command) -> None:
    project.suite("good, compiled")
    for form in ("csv", "markdown"):
        rows = READ[form](command(*COMMANDS["build"], "--format", form)[1].strip())
        assert [row["loads"] for row in rows] == ["x=1"]


def test_programs_read_how_long_a_run_took_in_seconds_and_people_in_words(command: Command) -> None:
    listed = {form: read(printed(command("list", "suites", "--format", form)).strip()) for form, read in READ.items()}

    def took(form: str, suite: str) -> object:
        return next(row["took"] for row in listed[form] if str(row["suite"]).replace("\\", "") == suite)

    seconds = took("json", "layer_norm")
    assert isinstance(seconds, float)
    assert seconds > 60
    assert float(str(took("csv", "layer_norm"))) == seconds
    assert took("markdown", "layer_norm") == duration_text(seconds)
    assert duration_text(seconds) in printed(command("list", "suites"))
    assert (took("json", "model_axis"), took("csv", "model_axis"), took("markdown", "model_axis")) == (None, "", "")


def test_a_comparison_is_that_of_its_file_and_leaves_the_folder_as_it_is(command: Command) -> None:
    before = {path: path.stat().st_mtime_ns for path in SOFTMAX.rglob("*")}
    read = {form: printed(command(*COMMANDS["compare"], "--format", form)).strip() for form in READ}
    assert {path: path.stat().st_mtime_ns for path in SOFTMAX.rglob("*")} == before
    rows = READ["csv"](read["csv"])
    assert list(rows[0]) == columns.column_names(COMPARISON)
    assert {row["implementation"] for row in rows} == {"ft", "oneflow"}
    document = json.loads(read["json"])
    assert (document["device"], len(document["rows"])) == ("NVIDIA H200", len(rows))
    assert document["rows"][1]["speedup"] == pytest.approx(float(rows[1]["speedup"]))
    assert {one["verdict"] for one in document["claims"]} == {"holds", "holds in part"}
    assert "| softmax-ft-oneflow | holds in part |" in read["markdown"]
    assert markdown_rows(read["markdown"])[1]["speed-up"] == f"{float(rows[1]['speedup']):.3g}x"


def test_every_listing_is_in_one_json_document_and_none_in_one_csv(
    project: Project, judged_once: None, command: Command
) -> None:
    project.suite("good")
    assert set(json.loads(printed(command("list", "--format", "json")))) == {
        "suites", "kernels", "devices", "runs", "claims",
    }  # fmt: skip
    out, _ = ended(0, command("list", "--format", "markdown"))
    assert out.count("## ") == 5
    assert "list --format csv: name one of suites" in refused(command("list", "--format", "csv"))


ROWS = [{"a": 1.5, "b": "=1+1", "c": ["x", "y"]}, {"a": float("inf"), "b": "p|<b>\n", "c": None}]


def test_strange_values_are_harmless() -> None:
    assert formats.as_csv(ROWS).splitlines()[:2] == ["a,b,c", "1.5,'=1+1,x; y"]
    assert json.loads(formats.as_json(ROWS))[1] == {"a": None, "b": "p|<b>\n", "c": None}
    assert formats.as_markdown(ROWS).splitlines() == [
        "| a | b | c |",
        "|--:|---|---|",
        "| 1.5 | =1+1 | x; y |",
        "| inf | p\\|&lt;b&gt;  |  |",
    ]
    assert formats.as_csv([], ["a", "b"]) == "a,b"
