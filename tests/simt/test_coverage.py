"""The list of instructions is what the code does."""

import pytest

from kernelbench.simt.coverage import CHAPTERS, FORMS, REFUSED_FORMS, coverage, reason
from kernelbench.simt.lower import FAMILIES

RUNS = {name for chapter in coverage() for name in chapter.runs}
REFUSED = {name for chapter in coverage() for name in chapter.refused}


def test_every_instruction_is_on_one_side() -> None:
    names = [name for names in CHAPTERS.values() for name in names.split()]
    assert len(names) == len(set(names))
    assert set(names) == RUNS | REFUSED
    assert not RUNS & REFUSED


def test_every_instruction_of_the_tables_is_listed() -> None:
    listed = {name.split(".")[0] for name in RUNS}
    own = {"printf", "malloc", "free", "return"}  # made by inlining
    assert {key.split(".")[0] for table in FAMILIES for key in table} - own <= listed


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused_is_refused_by_name(name: str) -> None:
    text = FORMS.get(name, f"{name}.b32 %r1, %r2;")
    assert f"'{text.rstrip(';')}'" in reason(text)
    assert "not supported" in reason(text)


def test_both_sides_have_what_they_must() -> None:
    assert {
        "mma.sync",
        "wmma.mma",
        "ldmatrix",
        "vadd4",
        "call",
        "atom",
        "tex",
        "sust",
        "cp.async.bulk.tensor",
        "wgmma.mma_async",
    } <= RUNS
    assert {"tld4", "st.bulk", "tcgen05", "mma.sp"} <= REFUSED


@pytest.mark.parametrize("name", REFUSED_FORMS)
def test_forms_that_are_refused(name: str) -> None:
    assert "not supported" in reason(REFUSED_FORMS[name])
