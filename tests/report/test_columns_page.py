"""The column tables of docs/reading-a-report.md are those of kernelbench.core.columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelbench.core import columns
from kernelbench.report import columns_page

PAGE = Path(__file__).parents[2] / "docs" / "reading-a-report.md"


def test_page_is_up_to_date():
    text = PAGE.read_text(encoding="utf-8")
    assert columns_page.updated(text) == text, "call kernelbench.report.columns_page.update on this page"


def test_every_column_is_listed_with_unit_and_meaning():
    text = columns_page.columns_markdown()
    listed = (*columns.RESULTS, *columns.SAMPLES, *columns.COMPARISON)
    assert len(listed) > 50
    for column in listed:
        meaning = column.meaning.replace("|", "\\|")  # a bare one would end the cell
        assert f"| `{column.name}` | {column.unit} | {meaning} |" in text


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="expected the markers"):
        columns_page.updated("# A page")
