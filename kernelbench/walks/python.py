"""Runs from Python: `kernelbench.load` reads one, `kernelbench.run` makes one; both give its tables as DataFrames."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.core import columns, places
from kernelbench.core.operations import key_words
from kernelbench.core.units import count_text, time_text
from kernelbench.runs.folders import find_run
from kernelbench.runs.records import Row
from kernelbench.runs.results import Run, read_run
from kernelbench.walks.compare import Answer
from kernelbench.walks.compare import answer as answer_of

if TYPE_CHECKING:
    import pandas

# Options of the command line that a `Request` has by another name, and those of several values.
_FIELDS = {"filter": "filters", "cache": "caches", "timeout": "patience_s"}
_JOINED, _REPEATED = ("only", "cache"), ("filter", "kernels")
_LOG = logging.getLogger("kernelbench")


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
        records = ({name: _cell(row, name) for name in columns.names(columns.RESULTS)} for row in self.run.rows)
        return self._table(records, columns.names(columns.RESULTS))

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
        return self._table(map(asdict, self.answer(baseline).comparison), columns.names(columns.COMPARISON))

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

        from kernelbench.compare.comparison import claim_row

        rows, names = map(claim_row, self._answer.verdicts), columns.names(columns.CLAIMS)
        return pandas.DataFrame([{name: row.get(name, "") for name in names} for row in rows], columns=names)

    def summary(self) -> pandas.DataFrame:
        """Median times, or the simulator's warp instructions, as text: a row per implementation, a column per case."""
        import pandas

        from kernelbench.report import view

        counted = [row for row in self.run.rows if row.counters]
        found = counted if self.run.simulated else view.shown_rows(self.run, cache="cold")
        labels = view.case_labels(view.cases(self.run))
        cells: dict[str, dict[str, str]] = {name: {} for name in dict.fromkeys(row.implementation for row in found)}
        for row in found:
            text = count_text(row.counters.warp_instructions) if row.counters else time_text(row.median_s)
            cells[row.implementation][labels[row.case]] = text
        return pandas.DataFrame.from_dict(cells, orient="index").fillna("")

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _title(self) -> str:
        cases = {row.case for row in self.run.rows}
        return f"{self.suite} on {self.device}, {len(cases)} cases, {len(self.run.rows)} rows"

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


def run(suite: str | os.PathLike[str], **options: Any) -> LoadedRun:
    """Measure a suite on the GPU here, or count on the simulator: `kernelbench run SUITE` without its page.

    Options are those of the command, such as device="simulated", only="ft,oneflow", filter=["seq>=128"], quick=True,
    out="folder". Progress goes to the logger `kernelbench`.
    """
    from kernelbench.walks.request import Request
    from kernelbench.walks.run import run as walk

    places.share_cache()
    known = {one.name for one in fields(Request)}
    given: dict[str, Any] = {}
    for name, value in options.items():
        field = _FIELDS.get(name, name)
        if field not in known or field in ("suites", "arguments"):
            raise TypeError(f"run() has no option {name!r}; `kernelbench run --help` lists them")
        given[field] = _value(name, value)
    request = Request(suites=(os.fspath(suite),), arguments=_arguments(os.fspath(suite), options), **given)
    (answer,) = walk(request, LoggedProgress())
    return LoadedRun(answer.run)


def _value(name: str, value: Any) -> Any:
    """Texts for one or several values as a tuple; places as paths."""
    if name in _JOINED:
        return tuple(part.strip() for text in _several(value) for part in text.split(","))
    if name in _REPEATED:
        return tuple(map(Path if name == "kernels" else str, _several(value)))
    return Path(value) if name in ("out", "nvcc") else value


def _several(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, str | os.PathLike) else tuple(value)


def _arguments(suite: str, options: dict[str, Any]) -> tuple[str, ...]:
    """The command line that does the same, which environment.json keeps."""
    words = ["run", suite, "--no-report"]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if name in _REPEATED:
            words += [word for one in _value(name, value) for word in (option, str(one))]
        elif name in _JOINED:
            words += [option, ",".join(_value(name, value))]
        elif isinstance(value, bool):
            words += [option] if value else [f"--no-{name}"] if name == "wait" else []
        else:
            words += [option, str(value)]
    return tuple(words)


class LoggedProgress:
    """Progress as messages of the logger `kernelbench`: quiet unless the caller configures it."""

    @contextmanager
    def stage(self, title: str, total: float) -> Iterator[Callable[[float, str], None]]:
        _LOG.info(title)
        yield lambda amount, what: None

    def say(self, text: str) -> None:
        _LOG.info(text)
