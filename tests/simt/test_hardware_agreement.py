"""Whole kernels: what an H200 counted and computed, as recorded, against what the simulator does now."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build.sass import line_disassemblers
from kernelbench.core.records import Binary
from tests.build.binaries import all_built
from tests.simt.hardware import agreement
from tests.simt.hardware.trials import trials

# Figures that agree only where a disassembler tells which accesses ptxas joined.
JOINED = (("tiled product", "shared load wavefronts"), ("one_read_rows 3x4096 float32", "shared load wavefronts"))
RECORD = Path(__file__).resolve().parents[2] / "results" / "h200" / "simulator"


def recorded(name: str) -> list[dict[str, str]]:
    return agreement.read(RECORD / name)


def test_a_packed_table_is_read_unless_a_newer_one_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "hardware.csv.gz").write_bytes(gzip.compress(b"trial,launch\nold,0\n"))
    assert agreement.read(tmp_path / "hardware.csv") == [{"trial": "old", "launch": "0"}]
    agreement.write(tmp_path / "hardware.csv", [{"trial": "new", "launch": "1"}])
    assert agreement.read(tmp_path / "hardware.csv") == [{"trial": "new", "launch": "1"}]


@pytest.mark.exhaustive
@pytest.mark.nvcc
@pytest.mark.timeout(600)
def test_counters_are_those_of_the_hardware_or_the_machine_code_says_why() -> None:
    kept = {(row["trial"], row["launch"], row["metric"]): row for row in recorded("agreement.csv")}
    hardware = agreement.read_hardware(RECORD / "hardware.csv")
    chosen = [one for one in trials() if (one.name, 0) in hardware]
    assert len(chosen) >= 60
    rows, _ = agreement.compare(chosen, all_built({one.request for one in chosen}), hardware, {})
    unknown = set() if list(line_disassemblers()) else set(JOINED)
    for row in rows:
        before = kept[row["trial"], row["launch"], row["metric"]]
        if (row["trial"], row["metric"]) in unknown:
            assert not row["equal"], row
            continue
        assert str(row["simulator"]) == before["simulator"], f"{row['trial']}: {row['metric']}"
        assert row["equal"] or before["note"], f"{row['trial']}: {row['metric']} differs, and nothing says why"
        if row["metric"] == agreement.ATOMICS:
            assert row["simulator"] == row["hardware"], row["trial"]


def test_only_what_was_measured_is_compared() -> None:
    with pytest.raises(ValueError, match=r"transpose, plain: measured was .*, now it launches"):
        rows_of({"transpose, plain": "1x1x1"})
    newer = rows_of({})
    assert newer == []
    assert "transpose, plain: not measured" in agreement.summary(trials(), newer, [])


def rows_of(grids: dict[str, str]) -> list[agreement.Row]:
    """Rows of a comparison with a measurement that has these trials only, without a figure."""
    chosen = [one for one in trials() if one.name == "transpose, plain"]
    hardware = {(name, 0): {"trial": name, "launch": "0", "entry": "plain", "grid": grid, "block": "32x8x1"}
                for name, grid in grids.items()}  # fmt: skip
    missing = Path("missing.cubin")
    kept = Path(__file__).parent / "hardware" / "ptx" / "transpose.ptx"
    binaries = {one.request: Binary("", missing, kept, "sm_90", (), {}, False) for one in chosen}
    return agreement.compare(chosen, binaries, hardware, {})[0]


def test_outputs_agree() -> None:
    rows = recorded("outputs.csv")
    assert [row for row in rows if row["agrees"] != "True"] == []
    exact = [row for row in rows if row["allowed_ulps"] == "0"]
    assert len(exact) > 100
    assert all(row["different"] == "0" for row in exact)


def test_distances_in_units_in_the_last_place() -> None:
    one = np.float32(1.0)
    next_one = np.nextafter(one, np.float32(2))
    a = np.array([one, 0.0, -0.0, np.inf, 1e-45, -1e-45, np.nan], np.float32)
    b = np.array([next_one, -0.0, 0.0, np.inf, -1e-45, 1e-45, np.nan], np.float32)
    assert agreement.ulps_apart(a, b).tolist() == [1, 0, 0, 0, 2, 2, 0]
    assert agreement.ulps_apart(np.float64([1.0]), np.float64([np.nextafter(1.0, 0)])).tolist() == [1]
    halves = np.array([1.0, 2.0], np.float16), np.array([1.0009765625, 2.0], np.float16)
    assert agreement.ulps_apart(*halves).tolist() == [1, 0]
    bits = np.array([0x3F80, 0xBF80], np.uint16), np.array([0x3F81, 0xBF7F], np.uint16)
    assert agreement.ulps_apart(*bits, "bfloat16").tolist() == [1, 1]
    assert agreement.ulps_apart(np.int32([3, 4]), np.int32([3, 9])).tolist() == [0, 1]
