"""Runs on disk: what `append` leaves there at once, what comes back, and what a damaged file is told as."""

import csv
import gzip
import json
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core import columns, writing
from kernelbench.core.errors import ResultsError, RunWarning
from kernelbench.runs import row_records
from kernelbench.runs.folders import is_run
from kernelbench.runs.results import (
    ENVIRONMENT_FILE,
    PACKED_RESULTS_FILE,
    RESULTS_FILE,
    SAMPLES_FILE,
    Run,
    Store,
    read_run,
)
from kernelbench.runs.row_records import RESULTS
from kernelbench.runs.samples import NAMES
from tests.fake_gpu import raising

CASE = {"suite": "softmax", "case": "seq=16", "operation": "softmax", "shape": "4x16", "axis": -1, "dtype": "float32"}
ROLE = {"role": "kernel", "arithmetic": "accurate"}
ROW = {**CASE, **ROLE, "implementation": "ft", "status": "ok", "median_s": 26.43e-6}
REFUSED = {**CASE, **ROLE, "implementation": "warp", "status": "unsupported", "reason": "no, 17"}
SAMPLES = [("seq=16", "ft", "cold", "events", number, f"{26.43e-6:.6g}") for number in range(3)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run of two rows."""
    store = Store(tmp_path / "run")
    store.write_environment({"suite": "softmax", "device": {"name": "Some GPU"}})
    store.append([ROW, REFUSED], SAMPLES)
    return tmp_path / "run"


def lines(folder: Path) -> list[dict[str, str]]:
    with (folder / RESULTS_FILE).open(newline="") as file:
        return list(csv.DictReader(file))


def members(rest: bytes) -> Iterator[str]:
    """The texts of gzip members, as far as these are whole."""
    while rest:
        reader = zlib.decompressobj(wbits=31)
        text = reader.decompress(rest).decode()
        if not reader.eof:
            return
        yield text
        rest = reader.unused_data


def test_a_new_run_has_its_header_and_no_rows(tmp_path: Path) -> None:
    Store(tmp_path / "deep" / "run")
    header = ",".join(columns.column_names(RESULTS))  # as plain as any reader takes it
    assert (tmp_path / "deep" / "run" / RESULTS_FILE).read_bytes() == f"{header}\n".encode()


def test_every_row_is_whole_on_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.readlink(f"/proc/self/fd/{file}")), sync(file)))
    store = Store(tmp_path)
    for number in range(1, 4):
        synced.clear()
        store.append([{**ROW, "case": f"seq={number}"}, REFUSED], SAMPLES)
        text = (tmp_path / RESULTS_FILE).read_bytes()
        assert (text.endswith(b"\n"), b"\r" in text) == (True, False), "plain enough for any reader"
        assert [row["case"] for row in lines(tmp_path) if row["implementation"] == "ft"] == [
            f"seq={one}" for one in range(1, number + 1)
        ]
        names = [Path(name).name for name in synced]
        assert names.count(tmp_path.name) >= 2, "the new names too"
        assert any(name.startswith(f".{RESULTS_FILE}") for name in names)
        assert any(name.startswith(f".{SAMPLES_FILE}") for name in names)


def test_what_was_not_measured_is_an_empty_cell(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append([{**REFUSED, "median_s": None, "power_w": float("nan"), "low_s": np.float64("nan")}], [])
    (row,) = lines(tmp_path)
    given = {name: value for name, value in row.items() if value}
    assert given == {name: str(value) for name, value in REFUSED.items()}
    assert not (tmp_path / SAMPLES_FILE).exists(), "no samples, no file"


def test_numbers_keep_nine_digits_and_texts_their_commas(tmp_path: Path) -> None:
    store = Store(tmp_path)
    reason = 'said "no", twice\nand left'
    store.append(
        [{**ROW, "median_s": 1.23456789012e-5, "samples": 21, "reason": reason, "max_absolute_error": 0.0}], []
    )
    (row,) = lines(tmp_path)
    assert (row["median_s"], row["samples"], row["reason"]) == ("1.23456789e-05", "21", reason)
    assert row["max_absolute_error"] == "0", "a measured zero is no empty cell"


def test_samples_are_a_member_a_row_and_read_as_one_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for case in ("a", "b", "c"):
        store.append([{**ROW, "case": case}], [(case, *sample[1:]) for sample in SAMPLES])
    header = ",".join(columns.column_names(columns.SAMPLES))
    texts = list(members((tmp_path / SAMPLES_FILE).read_bytes()))
    times = " ".join(["2.643e-05"] * 3)
    assert [text.splitlines()[0] for text in texts] == [header, *(f"{c},ft,cold,events,0-2,{times}" for c in "abc")]
    with gzip.open(tmp_path / SAMPLES_FILE, "rt") as file:
        assert [row["case"] for row in csv.DictReader(file)] == ["a", "b", "c"]


def test_the_same_rows_make_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Store(tmp_path / name).append([ROW], SAMPLES)
    for file in (RESULTS_FILE, SAMPLES_FILE):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_store_goes_on_where_an_earlier_one_ended(folder: Path) -> None:
    Store(folder).append([{**ROW, "case": "seq=32"}], [("seq=32", *sample[1:]) for sample in SAMPLES])
    assert [row["case"] for row in lines(folder)] == ["seq=16", "seq=16", "seq=32"]
    assert len(read_run(folder).samples) == 6


@pytest.fixture
def packed(folder: Path) -> Path:
    """The run with results.csv.gz in place of results.csv, as recorded runs have it."""
    (folder / PACKED_RESULTS_FILE).write_bytes(gzip.compress((folder / RESULTS_FILE).read_bytes()))
    (folder / RESULTS_FILE).unlink()
    return folder


def test_a_packed_run_is_read_as_it_was(folder: Path, request: pytest.FixtureRequest) -> None:
    before = read_run(folder)
    packed = request.getfixturevalue("packed")
    after = read_run(packed)
    assert (after.rows, after.environment) == (before.rows, before.environment)
    assert is_run(packed)


def test_a_packed_run_that_goes_on_is_unpacked(packed: Path) -> None:
    store = Store(packed)
    assert len(read_run(packed).rows) == 2
    store.append([{**ROW, "case": "seq=32"}], [])
    assert [row["case"] for row in lines(packed)] == ["seq=16", "seq=16", "seq=32"]
    assert not (packed / PACKED_RESULTS_FILE).exists()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: b"no gzip", "cannot be read"),
        (lambda data: gzip.compress(b"0" * 2**26), "more than 33554432 bytes when unpacked$"),
        (lambda data: gzip.compress(b"a,b\n1,2\n"), "column 'suite' is missing"),
    ],
)
def test_damaged_packed_results_are_refused(damage: Callable[[bytes], bytes], said: str, packed: Path) -> None:
    path = packed / PACKED_RESULTS_FILE
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ResultsError, match=rf"results\.csv\.gz: .*{said}|results\.csv\.gz: {said}"):
        read_run(packed)


def test_a_case_that_is_measured_again_takes_the_place_of_its_rows(folder: Path) -> None:
    Store(folder).append([{**ROW, "case": "seq=32"}], [])
    again = {**ROW, "median_s": 1e-05}
    Store(folder).append([again], [(*sample[:-1], "1e-05") for sample in SAMPLES[:2]])
    run = read_run(folder)
    assert [(row.case, row.implementation) for row in run.rows] == [
        ("seq=16", "warp"), ("seq=16", "ft"), ("seq=32", "ft"),
    ]  # fmt: skip
    assert run.rows[1].median_s == 1e-05
    assert run.samples["seconds"].tolist() == [1e-05] * 2, "and of their samples"
    Store(folder).append([{**REFUSED, "implementation": "ft"}], [])
    assert len(read_run(folder).samples) == 0, "that it was not timed again leaves no samples of before"


def test_rows_never_stand_beside_samples_of_another_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever write a process is killed at."""
    write, seen = writing.write_whole, []

    def written(path: Path, data: Any) -> Path:
        found = write(path, data)
        run = read_run(folder)
        times = [row.median_s for row in run.rows if row.implementation == "ft"]
        seen.append((times, set(run.samples["seconds"])))
        return found

    store = Store(folder)
    monkeypatch.setattr(writing, "write_whole", written)
    store.append([{**ROW, "median_s": 1e-05}], [(*sample[:-1], "1e-05") for sample in SAMPLES])
    assert seen == [([], {26.43e-6}), ([], {1e-05}), ([1e-05], {1e-05})]


def test_what_a_killed_process_left_half_written_is_deleted(folder: Path) -> None:
    (folder / "charts").mkdir()
    dead = [folder / f"{name}.4194305.part" for name in (".results.csv", "charts/.a.png")]  # above the highest pid
    kept = [folder / f".report.html.{os.getpid()}.part", folder / ".mine.part"]
    for path in (*dead, *kept):
        path.write_text("half")
    Store(folder)
    assert [path.exists() for path in (*dead, *kept)] == [False, False, True, True]


# ---- reading -------------------------------------------------------------------------------------


def test_a_run_is_read_back(folder: Path) -> None:
    run = read_run(folder)
    assert (run.suite, run.device) == ("softmax", "Some GPU")
    ok, refused = run.rows
    assert ok.median_s == 26.43e-6
    assert ok.axis == -1
    assert refused.median_s is None, "empty, not zero"
    assert (refused.reason, refused.cache, refused.launches) == ("no, 17", "", ())
    assert run.samples["seconds"].tolist() == [26.43e-6] * 3
    assert run.samples["round"].tolist() == [0, 1, 2]


def test_texts_that_look_like_numbers_or_nothing_stay_texts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write_environment({})
    store.append([{**ROW, "binary": "1234567890123456", "shape": "262144", "reason": "NA", "throttle": "None"}], [])
    (row,) = read_run(tmp_path).rows
    assert (row.binary, row.shape, row.reason, row.throttle) == ("1234567890123456", (262144,), "NA", "None")


def test_a_run_of_no_rows_and_no_samples_can_be_read(tmp_path: Path) -> None:
    Store(tmp_path).write_environment({})
    run = read_run(tmp_path)
    assert len(run.rows) == 0
    assert list(run.samples.columns) == list(NAMES)
    assert (run.suite, run.device) == (tmp_path.name, "an unknown GPU")


def test_columns_that_are_read_as_texts_are_those_without_numbers() -> None:
    assert set(row_records.TEXTS) <= set(columns.column_names(RESULTS))
    units = {column.name for column in RESULTS if column.unit}
    assert not units & set(row_records.TEXTS)


RESTORE = "; restore it, or delete it to go on without the GPU's name and versions"


def cut_in_the_middle(text: str) -> str:
    return text[: len(text) - 30]


@pytest.mark.parametrize(
    ("file", "damage", "said"),
    [
        (RESULTS_FILE, lambda text: text.replace("2.643e-05", "fast"), ":2: 'median_s' must be a number or empty"),
        (RESULTS_FILE, lambda text: text.replace("median_s", "median"), "column 'median_s' is missing"),
        (RESULTS_FILE, lambda text: text + "a,b\n" + 99 * "x," + "\n", "cannot be read"),
        (RESULTS_FILE, lambda text: text.replace("softmax", "\udcff"), "cannot be read"),
        (RESULTS_FILE, lambda text: text.replace('"no, 17"', '"no, 17'), "cannot be read"),
        (ENVIRONMENT_FILE, cut_in_the_middle, "cannot be read"),
        (ENVIRONMENT_FILE, lambda text: "[1]", "expected a JSON object, got list"),
        (ENVIRONMENT_FILE, lambda text: "\udcff", "cannot be read"),
        (ENVIRONMENT_FILE, lambda text: '{"seed": "7"}', "'seed' must be a whole number, got '7'"),
        (SAMPLES_FILE, lambda text: "not gzip", "cannot be read"),
        (SAMPLES_FILE, lambda text: text[:15] + "\udcff\udcff\udcff" + text[18:], "cannot be read"),
    ],
)
def test_a_damaged_file_is_named(folder: Path, file: str, damage: Callable[[str], str], said: str) -> None:
    path = folder / file
    path.write_bytes(damage(path.read_bytes().decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))
    with pytest.raises(ResultsError) as caught:
        read_run(folder).samples  # noqa: B018 - read when asked for
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert str(caught.value).endswith(RESTORE) == (file == ENVIRONMENT_FILE)


def test_a_cut_of_the_rows_keeps_those_that_are_whole(folder: Path) -> None:
    Store(folder).append([{**REFUSED, "case": "seq=32", "reason": 'said "no",\ntwice'}], [])
    path = folder / RESULTS_FILE
    whole = path.read_bytes()
    header, first, second = (match.end() for match in list(re.finditer(b"\n", whole))[:3])
    inside = whole.index(b"twice")  # a cell that goes over two lines
    for end, kept in (
        (0, 0), (header - 9, 0), (header, 0), (header + 1, 0), (first - 1, 0), (first, 1), (second - 2, 1),
        (second, 2), (second + 1, 2), (inside - 4, 2), (inside + 2, 2), (len(whole) - 1, 2), (len(whole), 3),
    ):  # fmt: skip
        path.write_bytes(whole[:end])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = read_run(folder)
        assert len(found.rows) == kept, end
        assert len(told) == (end not in (header, first, second, len(whole))), end


def test_a_cut_of_packed_rows_keeps_those_that_are_whole(packed: Path) -> None:
    path = packed / PACKED_RESULTS_FILE
    text = gzip.decompress(path.read_bytes()) + b'softmax,"open\n'
    blocks = zlib.compressobj(wbits=31)
    for end, kept in ((0, 0), (20, 0), (text.index(b"\n") + 1, 0), (text.index(b"ft,") + 3, 0), (-20, 1), (-14, 2),
                      (len(text), 2)):  # fmt: skip
        compressor = blocks.copy()
        path.write_bytes(compressor.compress(text[:end] if end else b"") + compressor.flush(zlib.Z_SYNC_FLUSH))
        with pytest.warns(
            RunWarning, match=r"results\.csv\.gz: its end is cut off; .* --resume measures them again"
        ) as told:
            run = read_run(packed)
        assert (len(run.rows), len(told)) == (kept, 1), end
    assert f"rows behind line {1 + kept} are left out" in str(told[0].message)
    Store(packed)
    assert [row["implementation"] for row in lines(packed)] == ["ft", "warp"], "and it is whole again when gone on with"


def test_a_run_that_was_cut_off_is_whole_again_when_it_is_gone_on_with(folder: Path) -> None:
    path = folder / RESULTS_FILE
    path.write_bytes(path.read_bytes()[:-30])
    Store(folder)
    assert [row["implementation"] for row in lines(folder)] == ["ft"]
    Store(folder).append([REFUSED], [])
    assert [row["implementation"] for row in lines(folder)] == ["ft", "warp"]


def test_a_cut_of_the_samples_keeps_those_that_are_whole(folder: Path) -> None:
    Store(folder).append([{**ROW, "case": "seq=32"}], [("seq=32", *sample[1:]) for sample in SAMPLES])
    whole, counts = (folder / SAMPLES_FILE).read_bytes(), []
    for end in range(1, len(whole), 5):
        (folder / SAMPLES_FILE).write_bytes(whole[:end])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                table = read_run(folder).samples
            except ResultsError:  # a single byte of a member is none
                assert whole[end - 1 : end + 1] == b"\x1f\x8b"
                continue
        counts.append(table["case"].value_counts().to_dict())
        assert set(counts[-1].values()) <= {3}, "all samples of a row, or none"
        assert len(told) == 1 or len(counts[-1]) == len(list(members(whole[:end]))) - 1
    assert {tuple(one) for one in counts} == {(), ("seq=16",)}


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / RESULTS_FILE).unlink()
    with pytest.raises(ResultsError, match=RESULTS_FILE):
        read_run(folder)


def test_rows_without_an_environment_are_read(folder: Path) -> None:
    (folder / ENVIRONMENT_FILE).unlink()
    with pytest.warns(RunWarning, match=f"{ENVIRONMENT_FILE}: missing; the GPU, the baseline and the versions"):
        run = read_run(folder)
    assert (run.suite, run.device, len(run.rows)) == ("softmax", "an unknown GPU", 2)
    text = (folder / RESULTS_FILE).read_text()
    (folder / RESULTS_FILE).write_text(text.replace("softmax,seq", "../softmax,seq"))
    with pytest.warns(RunWarning):
        assert read_run(folder).suite == folder.name, "a suite's name is one of a folder"


def test_raw_samples_are_not_read_before_they_are_asked_for(folder: Path) -> None:
    (folder / SAMPLES_FILE).write_text("damaged")
    assert len(read_run(folder).rows) == 2
    (folder / SAMPLES_FILE).unlink()
    assert isinstance(read_run(folder), Run)
    assert len(read_run(folder).samples) == 0


# ---- places that cannot be written ---------------------------------------------------------------


def test_a_file_in_the_folders_place_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way")
    with pytest.raises(ResultsError) as caught:
        Store(tmp_path / "run" / "deeper")
    assert str(caught.value).startswith(f"{tmp_path}/run/deeper: cannot write a run here (")
    assert str(caught.value).endswith("; choose another place with --out")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable for root")
def test_an_unwritable_folder_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ResultsError, match="Permission denied"):
        Store(tmp_path / "run")


@pytest.mark.parametrize("failing", [RESULTS_FILE, SAMPLES_FILE])
def test_a_full_disk_is_told_and_keeps_what_was_there(
    folder: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, before = Store(folder), lines(folder)
    write = writing.write_whole

    def full(path: Path, data: Any) -> Path:
        if path.name == failing:
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(writing, "write_whole", full)
    with pytest.raises(ResultsError) as caught:
        store.append([{**ROW, "case": "seq=32"}], [("seq=32", *sample[1:]) for sample in SAMPLES])
    assert str(caught.value) == (
        f"{folder}: cannot write (No space left on device); rows written so far are kept, and --resume goes on"
    )
    assert lines(folder) == before, "a row never stands without its samples"


def test_a_folder_that_is_gone_is_told(folder: Path) -> None:
    store = Store(folder)
    folder.rename(folder.with_name("moved"))
    with pytest.raises(ResultsError, match="is gone, deleted or moved while this run wrote into it"):
        store.append([ROW], SAMPLES)
    assert not folder.exists(), "nothing is made in its place"


def test_the_environment_is_replaced_in_one_step(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(folder)
    monkeypatch.setattr(os, "replace", raising(OSError(5, "Input/output error")))
    with pytest.raises(ResultsError, match="cannot write"):
        store.write_environment({"suite": "another"})
    assert json.loads((folder / ENVIRONMENT_FILE).read_text())["suite"] == "softmax"
    monkeypatch.undo()
    Store(folder).write_environment({"suite": "another"})
    assert json.loads((folder / ENVIRONMENT_FILE).read_text()) == {"suite": "another"}
    assert [path.name for path in folder.iterdir() if path.suffix == ".part"] == []
