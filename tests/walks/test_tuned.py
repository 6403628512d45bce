"""Tables of tuned values: what is read, which entry serves a case, and when the plan's own rule does."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kernelbench.core import places
from kernelbench.core.errors import InputError, RunWarning
from kernelbench.core.records import Case, LaunchPlan
from kernelbench.devices.known import KNOWN
from kernelbench.planning import tuned
from kernelbench.planning.case_plans import Planned, plan_case
from kernelbench.planning.tuned import TunedEntry, TunedTables
from tests.catalog import catalog

GPU = KNOWN["h200"]
CATALOG = catalog()
RELU = CATALOG.implementations["relu"]["streamed"]
CASE = Case("relu", (2**24,), -1, "float32")  # 64 MB
ENTRY = TunedEntry(
    operation="relu", implementation="streamed", dtype="float32", layout="", bytes=2**26, case=CASE.key,
    values={"block": 512, "packs": 2, "hint": 0}, seconds=9e-5, rule_seconds=1e-4,
    date="2026-05-04T12:30:00+00:00", kernelbench="0.1.0", environment="driver 580.65",
    kernel=tuned.source_hash(RELU.source),
)  # fmt: skip


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's tables in `own`, shipped ones in `shipped`."""
    monkeypatch.setattr(places, "own_tuned", lambda: tmp_path / "own")
    monkeypatch.setattr(places, "TUNED", tmp_path / "shipped")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunWarning)
        yield tmp_path


def write(folder: Path, *entries: TunedEntry) -> Path:
    path = folder / tuned.table_file_name(GPU.name)
    tuned.write_table(path, GPU.name, entries)
    return path


def planned(case: Case = CASE, tables: TunedTables | None = None) -> Planned:
    tables = tables or tuned.tables_for(GPU.name)
    return plan_case(case, CATALOG.operations["relu"], RELU, GPU, tables)


def block(one: Planned) -> int:
    return one.plan.launches[0].block[0]


def reason(one: Planned) -> str:
    return one.plan.reasons[-1]


def test_a_table_is_read_as_it_was_written(folders: Path) -> None:
    other = replace(ENTRY, dtype="float16", values=None)
    path = write(folders / "own", ENTRY, other)
    assert path.name == "nvidia-h200.yaml"
    assert sorted(tuned.read_table(path, GPU.name).entries, key=lambda one: one.dtype) == [other, ENTRY]
    assert "values: rule" in path.read_text()


def test_writing_keeps_other_entries_and_replaces_one_of_the_same_place(folders: Path) -> None:
    write(folders, ENTRY, replace(ENTRY, bytes=2**30))
    path = write(folders, replace(ENTRY, values={"block": 128, "packs": 1, "hint": 0}))
    found = tuned.read_table(path, GPU.name).entries
    assert [(one.bytes, (one.values or {})["block"]) for one in found] == [(2**26, 128), (2**30, 512)]


def test_a_plan_takes_what_was_tuned_and_says_so(folders: Path) -> None:
    assert block(planned()) == 256
    assert reason(planned()) == "chosen by the plan itself: nothing near this case is tuned for NVIDIA H200"
    write(folders / "shipped", ENTRY)
    assert block(planned()) == 512
    assert planned().tuned == {"block": 512, "packs": 2, "hint": 0}
    said = "block 512, packs 2, hint 0 as tuned on NVIDIA H200: 0.900 of the rule's time at 67.1 MB"
    assert reason(planned()) == said


def test_without_tables_as_on_the_simulator_the_rule_is_taken_without_a_word(folders: Path) -> None:
    write(folders / "shipped", ENTRY)
    one = plan_case(CASE, CATALOG.operations["relu"], RELU, GPU)
    assert block(one) == 256
    assert not any("rule" in reason or "tuned" in reason for reason in one.plan.reasons)


def test_the_own_table_goes_before_the_shipped_one(folders: Path) -> None:
    write(folders / "shipped", ENTRY)
    write(folders / "own", replace(ENTRY, values={"block": 128, "packs": 1, "hint": 0}))
    assert block(planned()) == 128


@pytest.mark.parametrize(("elements", "served"), [(2**23, True), (2**23 - 4, False), (2**25, True), (2**25 + 4, False)])
def test_an_entry_serves_cases_from_half_to_twice_its_bytes(folders: Path, elements: int, served: bool) -> None:
    write(folders / "own", ENTRY)
    assert (block(planned(replace(CASE, shape=(elements,)))) == 512) is served


def test_of_two_entries_the_one_nearer_in_size_serves_also_where_it_is_the_rule(folders: Path) -> None:
    write(folders / "own", ENTRY, replace(ENTRY, bytes=2**27, values=None))
    near = planned(replace(CASE, shape=(3 * 2**23,)))
    assert block(near) == 256
    assert reason(near) == "chosen by the plan itself: nothing tried on NVIDIA H200 was faster (2026-05-04)"
    assert block(planned()) == 512


@pytest.mark.parametrize("changes", [{"dtype": "float16"}, {"layout": "Any"}, {"implementation": "packed"}])
def test_an_entry_of_something_else_serves_nothing(folders: Path, changes: dict[str, str]) -> None:
    write(folders / "own", replace(ENTRY, **changes))  # type: ignore[arg-type]
    assert block(planned()) == 256


def test_the_environment_may_name_the_own_folder_or_leave_out_all_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(places, "TUNED", tmp_path / "shipped")
    write(tmp_path / "shipped", ENTRY)
    write(tmp_path / "mine", replace(ENTRY, values={"block": 128, "packs": 1, "hint": 0}))
    monkeypatch.setenv("KERNELBENCH_TUNED", str(tmp_path / "mine"))
    assert block(planned()) == 128
    monkeypatch.setenv("KERNELBENCH_TUNED", "none")
    assert block(planned()) == 256
    with pytest.raises(InputError, match="name a file by --out"):
        tuned.user_table_file(GPU.name)


def test_an_entry_of_another_source_is_passed_over_with_the_reason(folders: Path) -> None:
    write(folders / "own", replace(ENTRY, kernel="0" * 16))
    assert block(planned()) == 256
    assert "the source of this kernel has changed since it was tuned; tune it again" in reason(planned())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"block": 4096, "packs": 1, "hint": 0}, "cannot have .*4096.*limit is 1024; the plan's own choice is used"),
        ({"threads": 128}, "has no tunable 'threads', only block, packs, hint"),
    ],
)
def test_what_the_plan_refuses_is_a_warning_and_the_rule(folders: Path, values: dict[str, int], said: str) -> None:
    write(folders / "own", replace(ENTRY, values=values))
    with pytest.warns(RunWarning, match=f"relu/streamed {said}"):
        assert block(planned()) == 256


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu: [", "not valid YAML"),
        ("gpu: NVIDIA H200\n", "'gpu' and a list of 'entries'"),
        ("gpu: Tesla T4\nentries: []\n", "a table of Tesla T4, expected one of NVIDIA H200"),
        ("gpu: NVIDIA H200\nentries: [3]\n", "entry 1: expected operation, implementation"),
        ("\x00", "not valid YAML"),
    ],
)
def test_a_table_that_cannot_be_read_is_a_warning_and_the_rule(folders: Path, text: str, said: str) -> None:
    path = write(folders / "own", ENTRY)
    path.write_text(text)
    with pytest.warns(RunWarning, match=r"nvidia-h200\.yaml:(\d+:)? .*left out") as warned:
        assert block(planned()) == 256
    assert said in str(warned[0].message)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("values", {"block": 1.5}, "values: expected whole numbers by name, or rule"),
        ("values", [], "values: expected whole numbers by name, or rule"),
        ("seconds", -1.0, "seconds: expected a time above 0"),
        ("bytes", 0, "bytes: expected a whole number from 1 on"),
        ("kernel", 12, "kernel: expected text"),
    ],
)
def test_an_entry_with_a_wrong_value_is_named(folders: Path, name: str, value: Any, said: str) -> None:
    path = write(folders / "own", ENTRY)
    document = yaml.safe_load(path.read_text())
    document["entries"][0][name] = value
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(InputError) as error:
        tuned.read_table(path, GPU.name)
    assert str(error.value).startswith(f"{path}: entry 1: {said}")


def test_a_file_that_is_no_table_is_not_written_over(folders: Path) -> None:
    path = folders / "notes.yaml"
    path.write_text("mine: true\n")
    with pytest.raises(InputError, match="'gpu' and a list of 'entries'"):
        tuned.write_table(path, GPU.name, [ENTRY])
    assert path.read_text() == "mine: true\n"


def test_the_hash_of_a_source_follows_its_headers_and_not_its_comments(tmp_path: Path) -> None:
    folder = tmp_path / "kernels" / "relu"
    folder.mkdir(parents=True)
    header, source = folder.parent / "mine.cuh", folder / "k.cu"

    def hash_of(text: str, included: str) -> str:
        source.write_text(f'#include "mine.cuh"\n{text}')
        header.write_text(included)
        tuned.source_hash.cache_clear()
        return tuned.source_hash(source)

    first = hash_of("int a;", "int b;")
    assert hash_of("int a;  // one\n/* two\n three */", "int  b;\n") == first
    assert len({first, hash_of("int c;", "int b;"), hash_of("int a;", "int c;")}) == 3


def test_an_entry_may_be_of_another_source_that_plans_name(tmp_path: Path) -> None:
    for name in ("k.cu", "other.cu"):
        (tmp_path / name).write_text(f"// of a test\nint {name[0]};\n")
    one = replace(RELU, source=tmp_path / "k.cu", other_sources=("other.cu",))
    hashes = [tuned.source_hash(tmp_path / name) for name in ("k.cu", "other.cu")]
    assert tuned.source_hashes(one) == frozenset(hashes)
    assert [tuned.hash_of_plan(plan, one) for plan in (None, LaunchPlan(), LaunchPlan(source="other.cu"))] == [
        hashes[0], hashes[0], hashes[1]
    ]  # fmt: skip
    entry = replace(ENTRY, kernel=hashes[1])
    tables = TunedTables(GPU.name, (tuned.TunedTable(tmp_path / "t.yaml", GPU.name, (entry,)),))
    assert tables.choice(CASE, one, GPU).values == ENTRY.values
    assert tables.choice(CASE, replace(one, other_sources=()), GPU).values == {}


def test_shipped_tables_are_of_kernels_that_there_are() -> None:
    """Entries of sources that have changed since may be among them: these are passed over, and plans say so."""
    for path in sorted(places.TUNED.glob("*.yaml")):
        gpu = next(one.name for one in KNOWN.values() if tuned.table_file_name(one.name) == path.name)
        for entry in tuned.read_table(path, gpu).entries:
            implementation = CATALOG.implementations[entry.operation][entry.implementation]
            assert implementation.tunable is not None, entry.place
            if implementation.tunable.candidates is None:
                assert set(entry.values or {}) <= set(implementation.tunable.values)
