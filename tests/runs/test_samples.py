"""samples.csv.gz: written and read back, of this version and earlier ones, and damaged."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelbench.core.errors import ResultsError
from kernelbench.runs.samples import pack_samples, read_samples, sample_table, samples_file

MEASUREMENT = ("seq=16", "ft", "cold", "graph")


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


@given(rounds=st.lists(st.integers(0, 9), unique=True), others=st.integers(0, 3000))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, rounds: list[int], others: int) -> None:
    path = tmp_path_factory.mktemp("run") / "samples.csv.gz"
    samples = [(*MEASUREMENT, number, f"{number + 1}e-06") for number in rounds]
    samples += [("a,b", 'the "second"', "warm", "events", 2 * number, "1.5e-05") for number in range(others)]
    path.write_bytes(samples_file(pack_samples(samples)))
    assert read_samples(path) == (samples, True)


def test_a_line_has_the_times_of_a_measurement(tmp_path: Path) -> None:
    samples = [(*MEASUREMENT, number, "1e-06") for number in (0, 1, 2, 5)]
    (tmp_path / "s").write_bytes(samples_file(pack_samples(samples)))
    header, line = gzip.decompress((tmp_path / "s").read_bytes()).decode().splitlines()
    assert header == "case,implementation,cache,method,rounds,seconds"
    assert line == "seq=16,ft,cold,graph,0-2 5,1e-06 1e-06 1e-06 1e-06"


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    head = "case,implementation,cache,method,round,seconds\n"
    path = written(tmp_path / "s", head + "".join(f"seq=16,ft,cold,graph,{number},1e-06\n" for number in (0, 3)))
    assert sample_table(path)["round"].tolist() == [0, 3]
    path.write_bytes(samples_file(pack_samples(read_samples(path)[0])))
    assert sample_table(path)["round"].tolist() == [0, 3], "and written as this version does"


@pytest.mark.parametrize(
    ("rounds", "seconds", "said"),
    [
        ("0-2", "1e-6 1e-6", "2 times of graph for the rounds 0-2"),
        ("0-99999999999999", "1e-6", "1 times of graph"),
        ("0-", "1e-6 1e-6", "2 times of graph"),
        ("many", "1e-6", "invalid literal"),
        ("-1", "1e-6", "invalid literal"),
        ("0", "fast", "Unable to parse"),
        ("0", "-1", "cannot be read|not above 0"),
        ("0,0", "1e-6", "too many values"),
    ],
)
def test_damage_is_named(tmp_path: Path, rounds: str, seconds: str, said: str) -> None:
    method = "events" if seconds == "-1" else "graph"
    head = "case,implementation,cache,method,rounds,seconds\n"
    path = written(tmp_path / "s", f"{head}seq=16,ft,cold,{method},{rounds},{seconds}\n")
    with pytest.raises(ResultsError, match=said) as caught:
        sample_table(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("first", ["", "case,implementation,cache,method,rounds\n", "seq=8,ft,cold,graph,0,1e-6\n"])
def test_a_first_line_without_the_columns_is_refused(tmp_path: Path, first: str) -> None:
    line = "seq=16,ft,cold,graph,0,1e-6\n"
    path = written(tmp_path / "s", first + line)
    with pytest.raises(ResultsError) as caught:
        read_samples(path)
    assert str(caught.value) == (
        f"{path}:1: expected the columns case,implementation,cache,method,rounds,seconds, got "
        f"'{(first or line).strip()}'; delete it to go on without raw samples"
    )
    path = written(path, "\ufeffcase,implementation,cache,method,rounds,seconds\n" + line)
    assert read_samples(path) == ([("seq=16", "ft", "cold", "graph", 0, "1e-6")], True), "the mark of an editor"


def test_no_file_has_no_samples(tmp_path: Path) -> None:
    assert sample_table(tmp_path / "s").empty
