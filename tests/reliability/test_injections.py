"""What a stranger could put into a file to make it do something: each attempt, and what becomes of it."""

import csv
import gzip
import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kernelbench.build import BuildRequest, Compiler
from kernelbench.compare import read_ledger, write_comparison
from kernelbench.compare.answer import judge_run
from kernelbench.core import places
from kernelbench.core.argument_checks import define_problem
from kernelbench.core.errors import InputError, KernelbenchError, ResultsError
from kernelbench.core.texts import csv_cell, from_cell, one_line, printable
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs import files
from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE, SAMPLES_FILE, read_run
from kernelbench.suite import read_suite
from kernelbench.walks.report import report
from tests.catalog import catalog
from tests.conftest import Command
from tests.endings import ended
from tests.reliability.fuzz import KINDS, fuzz, make_run

CATALOG = catalog()
ESCAPE, BIDI = "\x1b]0;owned\x07", "\u202e"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("N", "1 -Xcompiler -fplugin=x"), ("N", "1;touch x"), ("N", "$(touch x)"), ("N", "`x`"), ("N", '"'),
        ("N", "a,b"), ("N", "@file"), ("N", "-include /etc/passwd"), ("N", ""), ("N", "x" * 300), ("N", "1\n2"),
        ("N=1 -run", 1),
        ("-run", 1), ("", 1), ("N,M", 1), ("N;", 1), ("1N", 1), ("É", 1), (7, 1), ("N", 1.5), ("N", None),
    ],
)  # fmt: skip
def test_a_define_is_a_name_and_a_word(name: Any, value: Any) -> None:
    assert "expected" in define_problem(((name, value),))
    with pytest.raises(InputError, match="define"):
        BuildRequest(Path("k.cu"), ((name, value),), "sm_90")


def test_a_name_is_defined_once() -> None:
    with pytest.raises(InputError, match="define"):
        BuildRequest(Path("k.cu"), (("N", 1), ("N", 2)), "sm_90")


@pytest.mark.parametrize("folder", ["$(touch x)", "`touch x`", 'a"b', "a\\b", "/tmp/a,/etc", "a\nb", "${HOME}"])
def test_a_path_that_nvccs_shell_would_read_is_refused(folder: str) -> None:
    with pytest.raises(InputError, match="nvcc cannot be given a path with"):
        BuildRequest(Path("/work", folder, "op", "k.cu"), (), "sm_90")


@pytest.mark.parametrize("folder", ["my kernels", "a;b", "a'b", "a&b", "-o", "(x)", "ä", "a|b", "a@b"])
def test_other_paths_are_one_word_each(folder: str, tmp_path: Path) -> None:
    request = BuildRequest(tmp_path / folder / "op" / "k.cu", (), "sm_90")
    command = request.ptx_command(Compiler(Path("/nvcc"), "13.0.88"), tmp_path / "out.ptx")
    assert f"-I{tmp_path / folder}" in command
    assert command[-1] == str(request.source)
    begin = ("/", "-I/", "-arch=", "-O3", "-std", "-line", "-ptx", "-Xcompiler", "-MD,-MF,", "-o")
    assert [word for word in command if not word.startswith(begin)] == []


@pytest.mark.parametrize("architecture", ["sm_90 -run", "sm_90,sm_80", "90", "compute_90", "--help", "sm_90\n", ""])
def test_an_architecture_is_sm_and_a_number(architecture: str) -> None:
    with pytest.raises(InputError, match="expected the form sm_90"):
        BuildRequest(Path("k.cu"), (), architecture)


SUITE = """\
title: t
operation: softmax
shape: [seq, 4]
axes: {seq: [16]}
implementations: [naive]
"""
IN_SUITES = {
    "an expression": ("[seq, 4]", "[seq, __import__('os').system('ls')]"),
    "a call": ("[seq, 4]", "[seq, 'pow(seq, 9)']"),
    "a power": ("[seq, 4]", "[seq, 9 ** 9 ** 9]"),
    "an attribute": ("[seq, 4]", "[seq, seq.bit_length]"),
    "a path as operation": ("operation: softmax", "operation: ../../tmp/evil"),
    "a path as implementation": ("[naive]", "[../naive]"),
    "an option as implementation": ("[naive]", "[--specimens]"),
    "a path as claim": ("title: t", "title: t\nclaims: [../../secret]"),
    "an escape sequence": ("title: t", 'title: "\\e]0;owned\\a"'),
    "writing turned round": ("title: t", 'title: "\\u202Etxt"'),
    "a parameter with an option": ("title: t", "title: t\nparameters: {scale: '1 -run'}"),
}


@pytest.mark.parametrize(("old", "new"), IN_SUITES.values(), ids=IN_SUITES.keys())
def test_a_suite_is_refused_with_its_place(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE)
    assert read_suite(path, CATALOG.operations, CATALOG.implementations, ()).cases
    path.write_text(SUITE.replace(old, new))
    with pytest.raises(InputError, match=r"suite\.yaml:\d+: ") as caught:
        read_suite(path, CATALOG.operations, CATALOG.implementations, ())
    assert str(caught.value) == printable(str(caught.value))


@pytest.mark.parametrize(
    "text",
    [
        "id: !!python/name:os.system x", "id: &a x\ntitle: *a", "id: 1:1:1" + ":1" * 5000, "id: 0b" + "1" * 9000,
        "id: 0x" + "f" * 9000, 'id: "\\e[31m"', "[" * 5000, "{" * 5000, "id: " + "x" * 70_000, "flags: [[]]",
        "id: 2001-99-99", "? [a]\n: b", "claim: {kind: [x]}", "figures: [{shape: [1e400]}]",
    ],
)  # fmt: skip
def test_a_ledger_entry_is_refused_with_its_place(text: str, tmp_path: Path) -> None:
    (tmp_path / "entry.yaml").write_text(text)
    with pytest.raises(InputError, match=r"entry\.yaml") as caught:
        read_ledger(tmp_path)
    assert len(str(caught.value)) < 20_000


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "-x", "+"])
def test_no_text_of_a_csv_is_a_formula(text: str) -> None:
    assert csv_cell(text) == f"'{text}"
    assert from_cell(csv_cell(text)) == text


@pytest.mark.parametrize("text", ["", "-1", "+1.5", "-1.5e-06", "-inf", "0", "softmax", "'quoted'", "seq=16", "a-b"])
def test_numbers_and_plain_texts_stay_as_they_are(text: str) -> None:
    assert csv_cell(text) == text == from_cell(text)


def test_reasons_of_a_run_are_no_formulas_in_its_tables(run: Path) -> None:
    reason = '=HYPERLINK("http://evil","x")'
    change_row(run, "naive", status="failed", reason=reason, median_s="")
    assert reason in {row.reason for row in read_run(run).rows}
    write_comparison(judge_run(read_run(run)).comparison, (), run)
    with (run / "comparison.csv").open(newline="") as file:
        cells = [one for line in csv.reader(file) for one in line]
    assert any("HYPERLINK" in one for one in cells)
    assert not [one for one in cells if one.startswith(("=", "@", "+", "\t"))]


@pytest.mark.parametrize("text", [ESCAPE, "\x9b31m", BIDI, "\x00", "\ud800", "a\rb", "\u2028", "\u200b", "\x7f"])
def test_what_a_terminal_obeys_is_shown_as_an_escape(text: str) -> None:
    shown = printable(f"a{text}b")
    assert shown.isprintable()
    assert "\\" in shown
    shown.encode()
    assert printable("äöü 漢字 é\n") == "äöü 漢字 é\n"
    assert "\n" not in one_line("a\nb")


def change_row(run: Path, of: str, /, **values: str) -> None:
    with (run / RESULTS_FILE).open(newline="") as file:
        header, *rows = list(csv.reader(file))
    for row in rows:
        if row[header.index("implementation")] == of:
            for name, value in values.items():
                row[header.index(name)] = value
    with (run / RESULTS_FILE).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def change_environment(run: Path, **values: Any) -> None:
    path = run / ENVIRONMENT_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


SCRIPT = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'


class Tags(HTMLParser):
    """The elements of a page, and what their attributes would run or load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.dangerous: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attributes:
            if name.startswith("on") or (
                name in ("href", "src") and re.match(r"\s*(javascript|data:text)", value or "")
            ):
                self.dangerous.append((name, value))


def test_nothing_of_a_run_is_code_in_the_terminal_or_in_the_page(run: Path, command: Command) -> None:
    evil = f"{SCRIPT}[bold]b[/]{ESCAPE}{BIDI}:smile:$\\x$"
    origin = {"project": evil, "url": "javascript:alert(3)", "commit": evil, "differs": evil}
    described = {"summary": evil, "role": evil, "arithmetic": evil, "origin": origin}
    change_environment(
        run, title=evil, started=evil, command=evil, git_commit=evil, kernelbench=evil, versions={evil: evil},
        device={"name": evil, "l2_bytes": 5e7, evil: evil}, implementations={"ft": described}, host={evil: [evil]},
    )  # fmt: skip
    change_row(run, "naive", status="failed", reason=evil, median_s="", launches=evil, check="")
    for name in ("report", "compare"):
        out, err = ended(0, command(name, run))
        assert "\x1b" not in out + err
        assert BIDI not in out + err
    assert "[bold]b[/]" in out.replace("\n", "")
    tags = Tags((run / "report.html").read_text())
    assert tags.names.count("script") == 1
    assert "img" not in tags.names
    assert tags.dangerous == []


IN_ROWS = {
    "a path as name": {"implementation": "../../x"},
    "a path as operation": {"operation": "/etc/passwd"},
    "an endless shape": {"shape": "x".join("9" * 19 for _ in range(9))},
    "no shape": {"shape": "0x4"},
    "another shape than the key's": {"shape": "4x4"},
    "an axis outside": {"axis": "9"},
    "no axis": {"axis": "nan"},
    "a time below 0": {"median_s": "-1"},
    "no time": {"median_s": "0"},
    "infinity": {"high_s": "inf"},
    "a word for a number": {"power_w": "=1+1"},
    "an unknown status": {"status": "fine"},
    "an unknown cache": {"cache": "../x"},
    "an unknown method": {"method": "<b>"},
    "an unknown type": {"dtype": "object"},
    "a long cell": {"axes": "x" * 30_000},
}


@pytest.mark.parametrize("values", IN_ROWS.values(), ids=IN_ROWS.keys())
def test_a_row_that_no_run_could_have_written_is_refused_with_its_line(values: dict[str, str], run: Path) -> None:
    change_row(run, "ft", **values)
    with pytest.raises(ResultsError, match=r"results\.csv:\d+: "):
        read_run(run)


IN_ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "a path as suite": {"suite": "../../../tmp/evil"},
    "a list as suite": {"suite": ["softmax"]},
    "a number as device": {"device": 7},
    "a list as device's name": {"device": {"name": ["x"]}},
    "words as limits": {"limits": {"floor_s": "soon"}},
    "limits below 0": {"limits": {"dram_bytes_per_s": -1}},
    "claims that are no words": {"claims": [{"id": 1}]},
    "an implementation that is a word": {"implementations": {"ft": "x"}},
    "code without hashes": {"code": {"a": {"b": {"hash": 7}}}},
    "an unknown claim": {"claims": ["../../secret"]},
    "a huge number": {"seed": 10**400},
}


@pytest.mark.parametrize("values", IN_ENVIRONMENTS.values(), ids=IN_ENVIRONMENTS.keys())
def test_an_environment_that_no_run_could_have_written_is_refused(values: dict[str, Any], run: Path) -> None:
    change_environment(run, **values)
    with pytest.raises(KernelbenchError):
        judge_run(read_run(run))


def test_counts_that_say_they_are_of_a_gpu_have_no_times(tmp_path: Path, command: Command) -> None:
    run = make_run(tmp_path / "run", "simulated")
    device = json.loads((run / ENVIRONMENT_FILE).read_text())["device"]
    change_environment(run, device={name: value for name, value in device.items() if name != "simulator"})
    ended(0, command("report", run))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000, '{"seed": NaN}', "[]", '"x"', "\xff"]
)
def test_json_that_is_too_deep_or_no_object_is_refused(text: str, run: Path) -> None:
    (run / ENVIRONMENT_FILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(ResultsError, match=r"environment\.json"):
        read_run(run)


def test_samples_that_unpack_to_more_than_the_limit_are_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(b"0" * 2**22)
    (run / SAMPLES_FILE).write_bytes(data)
    assert len(data) < 2**13
    monkeypatch.setattr(files, "MAX_SAMPLES_BYTES", 2**20)
    with pytest.raises(ResultsError, match="more than 1048576 bytes when unpacked"):
        _ = read_run(run).samples


@pytest.mark.parametrize("name", [RESULTS_FILE, ENVIRONMENT_FILE, SAMPLES_FILE])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_link_or_a_pipe_in_a_run_is_not_read(name: str, kind: str, run: Path, tmp_path: Path) -> None:
    path = run / name
    shutil.copy(path, tmp_path / "elsewhere")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere") if kind == "link" else os.mkfifo(path)
    with pytest.raises(ResultsError):
        _ = read_run(run).samples


def test_links_in_a_run_are_replaced_and_not_written_through(run: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    links = [run / name for name in ("comparison.csv", "claims.json", "report.html")]
    for link in links:
        link.symlink_to(tmp_path / "secret")
    report(judge_run(read_run(run)), None)
    assert (tmp_path / "secret").read_text() == "mine"
    assert [link for link in links if link.is_symlink()] == []


def test_charts_that_lead_elsewhere_are_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / "charts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ResultsError, match="charts: a link"):
        report(judge_run(read_run(run)), None)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_kernels_folder_beside_the_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels" / "softmax").mkdir(parents=True)
    (tmp_path / "kernels" / "softmax" / "evil.py").write_text("raise SystemExit('ran')\n")
    monkeypatch.chdir(tmp_path)
    assert "evil" not in load_catalog(specimens=True).implementations["softmax"]
    assert places.KERNELS.is_absolute()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "inputs"), [("suite", 150), ("ledger", 150), ("run", 40)])
def test_made_up_files_are_read_or_refused(kind: str, inputs: int, tmp_path: Path) -> None:
    """tests/reliability/fuzz.py does this for as many as one has time for."""
    assert kind in KINDS
    found = fuzz(kind, inputs, tmp_path, 1)
    assert found.failures == {}
    assert found.read
    assert found.refused
