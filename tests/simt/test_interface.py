"""What Python and the runtime share stands the same on both sides, and a difference is named."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from kernelbench.core.errors import BuildError
from kernelbench.simt import interface, native


@pytest.fixture(scope="module")
def layout() -> str:
    library = native.runtime()
    library.simt_layout.restype = ctypes.c_char_p
    return str(library.simt_layout().decode())


def test_both_sides_have_the_same(layout: str) -> None:
    assert list(interface.layout_differences(layout)) == []
    names = {line.split()[0] for line in layout.splitlines()}
    assert names >= {"Launch", "Launch.grid", "Counters.wavefronts", "CHUNK", "Special", "FaultKind"}


@pytest.mark.parametrize(
    ("structure", "one", "other"),
    [
        ("Launch", "shared_bytes", "dynamic_shared_bytes"),
        ("Launch", "grid", "block"),
        ("Instruction", "guard", "target"),
        ("Allocation", "read", "written"),
        ("Generator", "first", "second"),
    ],
)
def test_two_fields_that_change_places_are_named(
    layout: str, monkeypatch: pytest.MonkeyPatch, structure: str, one: str, other: str
) -> None:
    fields = getattr(interface, structure)._fields_
    swap = {one: other, other: one}
    moved = [(swap.get(name, name), kind) for name, kind in fields]
    monkeypatch.setattr(interface, structure, type(structure, (ctypes.Structure,), {"_fields_": moved}))
    named = [line.split(":")[0] for line in interface.layout_differences(layout)]
    assert sorted(named) == sorted((f"{structure}.{one}", f"{structure}.{other}"))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("Counters.sectors 24 8", "Counters.sectors 32 8", ["Counters.sectors"]),
        ("FaultRecord.lane 12 4\n", "", ["FaultRecord.lane"]),
        ("FaultRecord.lane 12 4", "FaultRecord.cause 12 4", ["FaultRecord.lane", "FaultRecord.cause"]),
        ("CHUNK 65536", "CHUNK 4096", ["CHUNK"]),
        ("ByteState = UNTOUCHED, SOUND, UNSOUND", "ByteState = UNTOUCHED, UNSOUND, SOUND",
         ["ByteState.SOUND", "ByteState.UNSOUND"]),
        ("TID_X, TID_Y", "TID_Y, TID_X", ["Special.TID_X", "Special.TID_Y"]),
        ("FTZ = 4", "FTZ = 5", ["Modifier.FTZ"]),
        ("volatile_race, count", "volatile_race, dull, count", ["FaultKind.count_of_kinds", "FaultKind.dull"]),
    ],
)  # fmt: skip
def test_what_the_runtime_has_differently_is_named(layout: str, old: str, new: str, named: list[str]) -> None:
    assert old in layout
    found = list(interface.layout_differences(layout.replace(old, new, 1)))
    assert [line.split(":")[0] for line in found] == named


def test_a_library_with_a_field_moved_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it with the real compiler: `grid` and `block` change places in machine.hpp."""
    for name in ("layout.cpp", "machine.hpp", "warp.hpp", "core.hpp", "numbers.hpp"):
        text = (native.RUNTIME / name).read_text()
        (tmp_path / name).write_text(text.replace("u32 grid[3], block[3]", "u32 block[3], grid[3]"))
    monkeypatch.setattr(native, "RUNTIME", tmp_path)
    with pytest.raises(
        BuildError, match=r"differ: Launch\.grid: \d+ 12 in the runtime, \d+ 12 in Python; Launch\.block"
    ):
        interface.check(ctypes.CDLL(str(native.built())))
