"""counters.csv: written, read back, and refused where no run could have written it."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.core.errors import ResultsError
from kernelbench.core.hardware_counters import CountedLaunch
from kernelbench.runs.hardware_counters import read_counters, write_counters

ONE = CountedLaunch(
    "seq=8 shape=4x8 axis=-1 dtype=float32", "ft", 1, "softmax, <warp>", (4, 1, 1), (128, 2, 1),
    hardware={"global_load_sectors": 1234567890123.0, "achieved_occupancy": 0.515625},
    stalls={"long_scoreboard": 5.25, "wait": 1.5},
    simulated={"global_load_sectors": 1234567890124, "warp_instructions": 5},
    sampled="64 of 1000 blocks", agreement="unexplained", differences="=a; b", explanation="because",
    unexplained=("global_load_sectors",), reason="l2_bytes: no\nnumber",
)  # fmt: skip
NONE = CountedLaunch("c", "torch", 0, "", None, None, reason="hardware: no GPU here")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    assert read_counters(tmp_path) == ()
    write_counters(tmp_path, [ONE, NONE])
    assert read_counters(tmp_path) == (ONE, NONE)
    write_counters(tmp_path, [NONE])
    assert read_counters(tmp_path) == (NONE,)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("unexplained,", "fine,", "'agreement' must be one of"),
        ("4x1x1", "4x1", "'grid' must be like 4x2x1"),
        ("4x1x1", "4xx1", "'grid' must be a whole number"),
        ("0.515625", "nan", "'achieved_occupancy' must be a number from 0 up"),
        ("0.515625", "inf", "'achieved_occupancy' must be a number from 0 up"),
        ("0.515625", "-1", "'achieved_occupancy' must be a number from 0 up"),
        ("wait=1.5", "sleep=1.5", "'stalls' has an unknown reason 'sleep'"),
        ("wait=1.5", "wait", "cannot be read"),
        ("1234567890124", "1e3", "'global_load_sectors' must be a whole number"),
        (",global_load_sectors,", ",else,", "'unexplained' has an unknown metric 'else'"),
        (",ft,", ",ft,,", "cannot be read"),
    ],
)
def test_a_line_that_no_run_wrote_is_refused_with_its_number(old: str, new: str, problem: str, tmp_path: Path) -> None:
    write_counters(tmp_path, [replace(ONE, reason=""), NONE])
    path = tmp_path / "counters.csv"
    header, *lines = path.read_text().splitlines(keepends=True)
    assert old in lines[0]
    path.write_text(header + lines[0].replace(old, new, 1) + lines[1])
    with pytest.raises(ResultsError, match=rf"counters\.csv:2: .*{problem}"):
        read_counters(tmp_path)


def test_other_columns_and_a_cut_file_are_refused(tmp_path: Path) -> None:
    write_counters(tmp_path, [ONE])
    path = tmp_path / "counters.csv"
    whole = path.read_text()
    for text in (whole[:-5], whole.replace("case,", "key,", 1), ""):
        path.write_text(text)
        with pytest.raises(ResultsError, match="--resume --counters"):
            read_counters(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "counters.csv").symlink_to("/etc/passwd")
    with pytest.raises(ResultsError, match="a link"):
        read_counters(tmp_path)
