"""Whatever a run writes can be read, and so can what was written before rows were cleaned."""

import csv
import gzip
import io
import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from kernelbench.core import columns
from kernelbench.core.errors import ResultsError, RunWarning
from kernelbench.core.records import Check, Implementation, Launch, LaunchPlan, Origin, Result, Tolerance
from kernelbench.core.texts import MAX_TEXT, csv_cell, from_cell, is_unprintable, kept_text
from kernelbench.runs import files, results, row_records
from kernelbench.runs.environment import describe_implementations
from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE, SAMPLES_FILE, Store, read_run
from kernelbench.runs.row_checks import cell_text, read_cells
from kernelbench.runs.row_records import RESULTS
from kernelbench.runs.rows import rows_of, samples_of
from tests.runs.test_results import ROW, SAMPLES
from tests.runs.test_rows import BINARY, CASE, COUNTED, LIMITS, OPERATION, measured, result

SEPARATORS = ("\r", "\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r\n", "\n", "\0")
HOSTILE = (
    *SEPARATORS, "\ud800", "\x1b[31m", '"', '""', "'", "''", "'=1", "''=1", "=1+1", "-x", "+", "@x", "\t=1", "\r=1",
    "-1", "inf", "nan", "NA", "", " ", ",", ";", "a,b", "\ufeff",
)  # fmt: skip
LONG = ("x" * 29_401, "\x07" * 9_000, "\U0001f600" * 20_001)
texts = st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(), max_size=5), max_size=3).map("".join)
numbers = st.none() | st.integers(0, 2**63) | st.floats(0, allow_infinity=False) | st.just(math.nan)
anything = texts | numbers | st.floats() | st.integers() | st.booleans() | st.sampled_from((10**400, -1, [], ()))
FREE = [
    name for name in row_records.TEXTS
    if name not in ("case", "operation", "shape", "dtype", "implementation", "role", "arithmetic", "status", "cache",
                    "method", "check", "launches", "input_loads")
]  # fmt: skip
WHOLE = [*row_records.WHOLE[1:], *row_records.COUNTER_COLUMNS]  # axis aside
NUMBERS = [
    name for name in columns.column_names(RESULTS)
    if name not in (*row_records.TEXTS, *WHOLE, "axis", "lanes_per_instruction")
]  # fmt: skip
often = settings(
    max_examples=25, deadline=None, phases=(Phase.explicit, Phase.generate),  # to shrink would take minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


def read_back(rows: list[Mapping[str, Any]], samples: Any = ()) -> results.Run:
    with tempfile.TemporaryDirectory() as folder:
        Store(Path(folder)).append(rows, samples)
        Store(Path(folder)).write_environment({"suite": rows[0]["suite"]})
        run = read_run(Path(folder))
        _ = run.samples
        return run


def same(found: Any, given_: Any) -> bool:
    """A number as it was written, to nine digits; nothing as nothing."""
    text = cell_text(given_)
    return found is None if not text else float(found) == float(text)


@given(
    st.fixed_dictionaries(dict.fromkeys(FREE, texts)),
    st.fixed_dictionaries(dict.fromkeys(NUMBERS, numbers) | dict.fromkeys(WHOLE, st.integers(0, 2**63))),
    texts,
)
@often
def test_every_text_and_every_number_of_a_row_comes_back(
    words: dict[str, str], figures: dict[str, Any], launches: str
) -> None:
    figures |= {"max_absolute_error": math.inf, "min_s": -1e-9, "temperature_c": -3.5}
    times = [name for name in ("low_s", "median_s", "high_s") if cell_text(figures[name])]
    figures |= zip(times, sorted(figures[name] for name in times), strict=True)
    (row,) = read_back([{**ROW, **words, **figures, "launches": launches}]).rows
    found = {**vars(row), **vars(row.counters)}
    for name, word in {**words, "launches": launches}.items():
        text = "; ".join(row.launch_texts) if name == "launches" else found[name]
        assert text == kept_text(word)
        assert len(text) <= MAX_TEXT
        assert not [one for one in text if is_unprintable(one) and one != "\n"]
    assert [name for name, figure in figures.items() if not same(found[name], figure)] == []
    assert row.case == ROW["case"]


@pytest.mark.parametrize("name", [*row_records.WHOLE[1:], "median_s"])
def test_a_number_that_is_not_there_is_none(name: str) -> None:
    (row,) = read_back([{**ROW, "status": "failed", name: None}]).rows
    assert getattr(row, name) is None
    assert row.counters is None


def test_counters_whose_lanes_come_to_more_than_a_number_holds_are_read() -> None:
    (row,) = read_back([{**ROW, "warp_instructions": 1e300, "lanes_per_instruction": 1e300}]).rows
    assert row.counters is not None


@pytest.mark.parametrize("word", LONG)
def test_a_long_text_comes_back_shortened(word: str) -> None:
    run = read_back([{**ROW, "reason": word, "launches": word, "disturbed": word}])
    (row,) = run.rows
    assert row.reason == "; ".join(row.launch_texts) == row.disturbed == kept_text(word)
    assert len(kept_text(word)) <= MAX_TEXT


@pytest.mark.parametrize("name", [one.name for one in RESULTS if one.infinite])
def test_an_error_of_infinity_is_a_value(name: str) -> None:
    (row,) = read_back([{**ROW, name: math.inf}]).rows
    assert getattr(row, name) == math.inf


@given(st.data())
@often
def test_whatever_a_kernel_makes_of_its_row_the_row_can_be_read(data: st.DataObject) -> None:
    """A plan, a binary, a check or an operation of a user's own, and times that are none."""
    draw = data.draw
    operation = replace(OPERATION, bytes_moved=lambda case: draw(anything))
    check = Check(
        draw(st.booleans()), draw(anything), 4, 0, draw(anything), draw(anything), Tolerance(draw(anything), 0)
    )
    word = draw(texts)
    plan = LaunchPlan((Launch(word, (7, 1, 1), (256, 1, 1), ("x", "y")),))
    facts = {word: replace(BINARY.facts["k1"], registers=draw(anything), parameter_loads=(1, 0))}
    who = Implementation("mine", word, Origin("test"), plan=lambda case, device: plan)
    who = replace(who, role=draw(st.just("kernel") | texts), arithmetic=draw(st.just("fast") | texts))
    times = measured(
        median=draw(st.sampled_from((20e-6, 5e-8, 1e-12, 0.0, -1.0))), method=draw(st.sampled_from(("events", "graph")))
    )
    times = replace(times, low_s=times.median_s - 1e-7, power_w=draw(anything), throttle=draw(anything))
    found = Result(
        CASE, who, "ok", draw(anything), draw(st.none() | st.just(plan)), replace(BINARY, facts=facts), check,
        draw(st.just(()) | st.just((times,))), draw(st.just(()) | st.just(COUNTED)),
    )  # fmt: skip
    rows = rows_of("s", operation, found, LIMITS)
    run = read_back(rows, samples_of(found, rows))
    assert len(run.rows) == len(rows)
    assert {row.reason for row in run.rows} == {kept_text(from_cell(cell_text(row["reason"]))) for row in rows}
    assert (run.samples["seconds"] > 0).all()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [({"role": "mine"}, "'role' must be one of"), ({"arithmetic": "exact"}, "'arithmetic' must be one of")],
)
def test_a_row_that_could_not_be_read_is_one_failed_row(changes: dict[str, Any], problem: str) -> None:
    found = result()
    found = replace(found, implementation=replace(found.implementation, **changes))
    (row,) = rows_of("s", OPERATION, found, LIMITS)
    assert (row["status"], row["role"]) == ("failed", "")
    assert row["reason"].startswith(f"its row cannot be kept: {problem}")
    assert list(samples_of(found, [row])) == []


def test_differences_of_graphs_that_are_no_time_are_left_out_and_told() -> None:
    below = measured(method="graph", median=2e-8)  # samples from -8e-8 s on
    some = replace(below, low_s=1e-9)
    found = result(measurements=(measured(), some))
    rows = rows_of("s", OPERATION, found, LIMITS)
    assert rows[1]["samples"] == 12
    assert rows[1]["min_s"] > 0
    assert rows[0]["reason"] == "by graph, 9 of 21 samples were not above 0 s: left out"
    assert len(list(samples_of(found, rows))) == 21 + 12
    found = result(measurements=(measured(), replace(below, low_s=-1e-9)))
    (row,) = rows_of("s", OPERATION, found, LIMITS)
    assert (row["method"], row["reason"]) == ("events", "no graph timing: too short to be told from the flushes")
    assert len(list(samples_of(found, [row]))) == 21


def test_a_parameter_may_be_called_as_a_column_is() -> None:
    row = {**ROW, "case": "seq=16 shape=4x16 axis=-1 dtype=float32 axis=7 dtype=none"}
    assert len(read_back([row]).rows) == 1


@given(texts)
@settings(max_examples=300, deadline=None)
@example("'=1")
def test_a_cell_is_what_it_was(text: str) -> None:
    assert from_cell(csv_cell(text)) == text
    assert kept_text(kept_text(text)) == kept_text(text)
    kept_text(text).encode()


def test_a_text_says_how_much_of_it_is_left_out() -> None:
    assert kept_text("x" * MAX_TEXT) == "x" * MAX_TEXT
    assert kept_text("x" * 29_401) == "x" * 19_960 + "... (9441 more characters)"
    (row,) = rows_of("s", OPERATION, result(reason="x" * 100_000_000), LIMITS)
    assert row["reason"] == "x" * 3_960 + "... (99996040 more characters)"


# ---- as much as a file holds ---------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A run of one row."""
    store = Store(tmp_path)
    store.write_environment({"suite": "softmax"})
    store.append([ROW], SAMPLES)
    return store


def test_rows_that_no_longer_fit_are_refused_before_anything_is_written(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_MOST_BYTES", 3000)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ResultsError, match=r"results\.csv: with the next case it has more than 3000 bytes.*--filter"):
        store.append([{**ROW, "reason": "x" * 3000}], [])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    store.append([{**ROW, "case": "seq=32"}], [])
    assert len(read_run(tmp_path).rows) == 2


def test_samples_that_no_longer_fit_are_left_out_with_a_warning(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_MOST_SAMPLE_BYTES", 100)
    with pytest.warns(RunWarning, match="is full, 100 bytes unpacked"):
        store.append([{**ROW, "case": "seq=32"}], [("seq=32", *one[1:]) for one in SAMPLES])
    run = read_run(tmp_path)
    assert (len(run.rows), set(run.samples["case"])) == (2, {"seq=16"})


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"a,b\n\n", b"seq=16\n"])
def test_samples_that_cannot_be_gone_on_with_are_named(tmp_path: Path, damage: bytes) -> None:
    Store(tmp_path).append([ROW], SAMPLES)
    (tmp_path / SAMPLES_FILE).write_bytes(gzip.compress(b"case,implementation,cache,method,rounds,seconds\n" + damage))
    with pytest.raises(ResultsError, match=r"samples\.csv\.gz: cannot be read .*; delete it"):
        Store(tmp_path)


# ---- environment.json ----------------------------------------------------------------------------

values = st.recursive(anything, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
KNOWN = st.sampled_from((*files._KNOWN, "host", "tuned"))


@given(st.dictionaries(KNOWN, values, max_size=6))
@often
def test_every_environment_that_is_written_can_be_read(environment: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Store(Path(folder)).write_environment(environment)
        read = files.read_environment(Path(folder) / ENVIRONMENT_FILE)
    for name in ("title", "command", "started"):
        if isinstance(environment.get(name), str):
            assert read[name] == kept_text(environment[name])


def test_an_environment_that_is_too_deep_or_too_large_or_no_json_is_mended(tmp_path: Path) -> None:
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    large = {f"name{number}": {"a": "x" * 19_000} for number in range(2_000)}
    odd = {"nan": math.nan, "inf": -math.inf, "large": 2**64, "bytes": b"\xff", "half": "\ud800", 7: {None: 1}}
    Store(tmp_path).write_environment({"suite": "softmax", "seed": 7, "host": {"deep": deep, **odd}, "code": large})
    assert (tmp_path / ENVIRONMENT_FILE).stat().st_size < files.MAX_ENVIRONMENT_BYTES
    read = files.read_environment(tmp_path / ENVIRONMENT_FILE)
    assert (read["suite"], read["seed"], "code" in read) == ("softmax", 7, False)
    host = {name: value for name, value in read["host"].items() if name != "deep"}
    none = dict.fromkeys(("nan", "inf", "large"))
    assert host == {**none, "bytes": "b'\\xff'", "half": "\\ud800", "7": {"None": 1}}


def test_who_a_users_kernel_says_it_is_can_be_read(tmp_path: Path) -> None:
    who = Implementation("mine", 5, Origin(7, url=None), plan=lambda case, device: None, role=3)  # type: ignore[arg-type]
    Store(tmp_path).write_environment({"implementations": describe_implementations([who])})
    read = files.read_environment(tmp_path / ENVIRONMENT_FILE)["implementations"]["mine"]
    assert (read["summary"], read["role"], read["origin"]["project"]) == ("5", "3", "7")


# ---- runs of the version before ------------------------------------------------------------------


def earlier_line(row: Mapping[str, Any]) -> str:
    """A line of results.csv as it was written when nothing was cleaned, lone surrogates aside, which it could not."""
    text = io.StringIO()
    cells = [str(row.get(name, "")) for name in columns.column_names(RESULTS)]
    first = ("=", "+", "-", "@", "\t", "\r")
    cells = [f"'{one}" if one.startswith(first) and one not in ("-1", "-inf") else one for one in cells]
    csv.writer(text, lineterminator="\n").writerows([cells])
    return text.getvalue()


def earlier_run(folder: Path, *rows: Mapping[str, Any]) -> Path:
    Store(folder).write_environment({"suite": "softmax"})
    with (folder / RESULTS_FILE).open("a", newline="") as file:
        file.writelines(map(earlier_line, rows))
    return folder


EARLIER = {
    **{f"separator {one!r}": f"error{one}at the end" for one in SEPARATORS},
    **{f"quoted {one!r}": f'error "{one}", at\nthe end{one}' for one in SEPARATORS},
    "long": "x" * 29_401,
    "longer than a CSV reader takes": "y" * 200_000,
    "a formula": "=1+1",
}


@pytest.mark.parametrize("reason", EARLIER.values(), ids=EARLIER.keys())
def test_rows_of_the_version_before_are_read(reason: str, tmp_path: Path) -> None:
    rows = [{**ROW, "reason": reason, "max_absolute_error": "inf"}, {**ROW, "implementation": "naive"}]
    folder = earlier_run(tmp_path, *rows)
    run = read_run(folder)
    assert [row.reason for row in run.rows] == [kept_text(reason), ""]
    assert run.rows[0].max_absolute_error == math.inf
    Store(folder).append([{**ROW, "case": "seq=32"}], [])
    assert [row.reason for row in read_run(folder).rows] == [kept_text(reason), "", ""], "and are gone on with"


@pytest.mark.parametrize("reason", ['"\r\x85\u2028\n=1\0,"', "a\rb"])
def test_a_cut_anywhere_in_such_a_row_leaves_the_others(reason: str, tmp_path: Path) -> None:
    folder = earlier_run(tmp_path, ROW, {**ROW, "implementation": "naive", "reason": reason})
    text = (folder / RESULTS_FILE).read_bytes().decode()
    last = text.index("\n", text.index("\n") + 1) + 1
    for end in range(last + 1, len(text)):
        if text[end - 1] == "\n":  # as good as a row that was never closed: refused
            continue
        cells, whole = read_cells(folder, text[:end])
        assert (len(cells), whole) == (2, False), text[last:end]
    assert len(read_cells(folder, text)[0]) == 3


def test_samples_of_the_version_before_that_are_no_times_are_left_out(tmp_path: Path) -> None:
    samples = [
        ("seq=16", "ft", "cold", "graph", number, seconds) for number, seconds in enumerate(("-1e-9", "0", "1e-6"))
    ]
    Store(tmp_path).append([{**ROW, "min_s": -1e-9, "p5_s": -1e-9}], samples)
    Store(tmp_path).write_environment({})
    assert read_run(tmp_path).samples["seconds"].tolist() == [1e-6]
