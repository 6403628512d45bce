"""A run as DataFrames, for Python and notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.compare.answer import Answer
from kernelbench.compare.answer import judge_run as answer_of
from kernelbench.compare.comparison import COMPARISON, claim_row
from kernelbench.core import columns
from kernelbench.core.operations import key_words
from kernelbench.core.units import count_text, number_of, time_text
from kernelbench.report import view
from kernelbench.runs.folders import find_run
from kernelbench.runs.results import Run, read_run
from kernelbench.runs.row_records import RESULTS, Row

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class LoadedRun:
    """A run on disk. Tables are pandas DataFrames; `answer` has the same as records."""

    run: Run

    @property
    def folder(self) -> Path:
        return self.run.folder

    @property
    def suite(self) -> str:
        return self.run.suite

    @property
    def device(self) -> str:
        return self.run.device

    @cached_property
    def rows(self) -> pandas.DataFrame:
        """A row per case, implementation, cache and method, as in results.csv, with the suite's axes."""
        records = ({name: _cell(row, name) for name in columns.column_names(RESULTS)} for row in self.run.rows)
        return self._table(records, columns.column_names(RESULTS))

    @property
    def samples(self) -> pandas.DataFrame:
        """A row per sample; empty for a run of the simulator."""
        return self.run.samples

    def answer(self, baseline: str | None = None) -> Answer:
        """The frozen records: `.run.rows`, `.comparison`, `.verdicts`. `baseline`: an implementation, or published."""
        return self._answer if baseline is None else answer_of(self.run, baseline)

    @cached_property
    def _answer(self) -> Answer:
        return answer_of(self.run)

    def comparison(self, baseline: str | None = None) -> pandas.DataFrame:
        """Speed-ups over the baseline, by default the suite's, as in comparison.csv, with the suite's axes."""
        return self._table(map(asdict, self.answer(baseline).comparison), columns.column_names(COMPARISON))

    def _table(self, records: Iterable[Mapping[str, Any]], names: Sequence[str]) -> pandas.DataFrame:
        """The columns `names`, and one per axis of the suite. Whole numbers stay whole beside empty cells."""
        import pandas

        axes = {row.case: key_words(row.axes) for row in self.run.rows}
        table = pandas.DataFrame(records, columns=names, dtype=object)
        for name in names:
            values = [value for value in table[name] if value is not None]
            whole = values and all(isinstance(value, int) for value in values)
            if whole or all(isinstance(value, int | float) for value in values):
                table[name] = table[name].astype("Int64" if whole else float)
        for axis in dict.fromkeys(axis for words in axes.values() for axis in words if axis not in names):
            values = [axes[case].get(axis) for case in table["case"]]
            table[axis] = [int(value) if value and value.isdecimal() else value for value in values]
        return table

    @cached_property
    def claims(self) -> pandas.DataFrame:
        """A row per published claim of the suite, with the columns of claims.csv."""
        import pandas

        rows, names = map(claim_row, self._answer.verdicts), columns.column_names(columns.CLAIMS)
        return pandas.DataFrame([{name: row.get(name, "") for name in names} for row in rows], columns=names)

    def summary(self) -> pandas.DataFrame:
        """Median times, or the simulator's warp instructions, as text: a row per implementation, a column per case."""
        import pandas

        counted = [row for row in self.run.rows if row.counters]
        found = counted if self.run.simulated else view.shown_rows(self.run, cache="cold")
        labels = view.case_labels(view.words_by_case(self.run))
        cells: dict[str, dict[str, str]] = {name: {} for name in dict.fromkeys(row.implementation for row in found)}
        for row in found:
            text = count_text(row.counters.warp_instructions) if row.counters else time_text(row.median_s)
            cells[row.implementation][labels[row.case]] = text
        return pandas.DataFrame.from_dict(cells, orient="index").fillna("")

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _title(self) -> str:
        cases = {row.case for row in self.run.rows}
        return f"{self.suite} on {self.device}, {number_of(len(cases), 'case')}, {number_of(len(self.run.rows), 'row')}"

    def _repr_html_(self) -> str:
        """The claims with their verdicts, and the summary. Texts of the run are escaped."""
        import pandas

        what = "warp instructions" if self.run.simulated else "median times, cold"
        parts = [f"<p><b>{escape(self._title())}</b></p>"]
        with pandas.option_context("display.max_colwidth", None):
            if len(self.claims):
                parts.append(self.claims[["id", "verdict", "sentence"]].to_html(index=False, border=0))
            parts.append(f"<p>{what}</p>{self.summary().to_html(border=0)}")
        return "\n".join(parts)


def _cell(row: Row, name: str) -> Any:
    """A cell of results.csv, with values in place of texts."""
    if name == "launches":
        return row.launch_texts
    return getattr(row, name) if hasattr(row, name) else getattr(row.counters, name, None)


def load(run: str | os.PathLike[str] | None = None) -> LoadedRun:
    """A run by its folder, its name, or the name of its suite; left out, your newest run, else the recorded one."""
    return LoadedRun(read_run(find_run(None if run is None else os.fspath(run))[0]))
