"""The ledger of published figures, results/published/<id>.yaml: read, and turned into numbers.

Files hold what was published: times, bytes and the bandwidths that the source itself states. Bandwidth and
share of a GPU's peak are never typed but computed here from bytes and time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernelbench.compare import ledger_schema
from kernelbench.compare.measured import MeasuredCase
from kernelbench.core.documents import FileFormat, line_at, plain_values, read_document
from kernelbench.core.errors import InputError, Problem, ProblemsError
from kernelbench.core.operations import NORMAL
from kernelbench.core.problems import Problems
from kernelbench.core.records import Claim
from kernelbench.explain import evidence

Ledger = Mapping[str, Claim]

FORM = FileFormat("a ledger file", "a mapping with id, title, citation, ..", "a mapping", max_text=5000, fast=True)


def read_ledger(folder: Path) -> Ledger:
    """Every entry of the folder by its id. ProblemsError names all files and what is wrong in each."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise InputError(f"{folder}: no ledger here; expected files <id>.yaml of published figures")
    found: list[Problem] = []
    entries: dict[str, Claim] = {}
    for path in paths:
        try:
            entries[path.stem] = _entry(path)
        except ProblemsError as error:
            found += error.problems
    if found:
        raise ProblemsError(found)
    return entries


def _entry(path: Path) -> Claim:
    """As read_ledger_entry(), once for the same content: a run needs the ledger three times, 65 ms each."""
    try:
        content = path.read_bytes() if path.stat().st_size <= FORM.max_bytes else b""
    except OSError:
        content = b""
    return _entry_of(path, content) if content else read_ledger_entry(path)


@lru_cache(maxsize=256)
def _entry_of(path: Path, _content: bytes) -> Claim:
    return read_ledger_entry(path)


def claims_about(ledger: Ledger, operation: str, suite: str) -> list[Claim]:
    """Entries whose statements may concern a suite: those of its operation, and those that name it."""
    return [claim for claim in ledger.values() if claim.document["operation"] == operation or suite in claim.suites]


def read_ledger_entry(path: Path, further: Callable[[Mapping[str, Any]], Iterable[str]] = lambda document: ()) -> Claim:
    """One file. ProblemsError with all that is wrong in it, each mistake with its line: in its form, or, where that is
    right, what `further` finds in the document."""
    problems = Problems(path)
    root = read_document(path, problems, FORM)
    problems.raise_any()
    document = plain_values(root)
    for text in [*ledger_schema.schema_problems(document, path.stem)] or further(document):
        problems.add(line_at(root, text.partition(":")[0]), text)
    problems.raise_any()
    claim = document.get("claim", {})
    return Claim(
        id=document["id"],
        title=document["title"],
        kind=claim.get("kind", ledger_schema.FIGURES_ONLY),
        suites=tuple(claim.get("suites", ())),
        document=document,
    )


@dataclass(frozen=True)
class Figure:
    """One published number: one implementation on one case."""

    entry: str  # id in the ledger
    operation: str
    implementation: str
    shape: tuple[int, ...] | None  # None: not stated, or a mean over several
    axis: int
    dtype: str
    what: str  # what the row is beyond its shape, "backward"
    device: str
    peak_bytes_per_s: float | None
    moved_bytes: float | None  # what this implementation had to read and write; None: not stated
    published_s: float | None
    published_bytes_per_s: float | None
    published_share: float | None  # of the device's peak

    @property
    def seconds(self) -> float | None:
        """The published time, or the one that follows from a published bandwidth."""
        if self.published_s is None and self.moved_bytes and self.published_bytes_per_s:
            return self.moved_bytes / self.published_bytes_per_s
        return self.published_s

    @property
    def bytes_per_s(self) -> float | None:
        seconds = self.seconds
        return self.moved_bytes / seconds if self.moved_bytes and seconds else None

    @property
    def share_of_peak(self) -> float | None:
        rate = self.bytes_per_s
        return rate / self.peak_bytes_per_s if rate and self.peak_bytes_per_s else None

    def is_of(self, shape: Sequence[int], axis: int, dtype: str) -> bool:
        """Whether this is a figure of that very case, forward."""
        same_axis = self.shape is not None and axis % len(shape) == self.axis % len(self.shape)
        return not self.what and self.shape == tuple(shape) and same_axis and self.dtype == dtype


def published_figures(claim: Claim) -> tuple[Figure, ...]:
    """All numbers of one entry, in the order of the file."""
    rows: list[Figure] = []
    for row in claim.document.get("figures", ()):
        names: dict[str, None] = {}
        for unit in ("us", "ms", "gb_per_s", "percent_of_peak"):
            names |= dict.fromkeys(row.get(unit, {}))
        rows += [_figure(claim, row, name) for name in names]
    return tuple(rows)


def _figure(claim: Claim, row: Mapping[str, Any], name: str) -> Figure:
    device = claim.document["device"]
    seconds = _scaled(row, "us", name, 1e-6)
    return Figure(
        entry=claim.id,
        operation=claim.document["operation"],
        implementation=name,
        shape=tuple(row["shape"]) if isinstance(row["shape"], list) else None,
        axis=row["axis"],
        dtype=row["dtype"],
        what=row.get("what", ""),
        device=device["name"],
        peak_bytes_per_s=device.get("peak_bytes_per_s"),
        moved_bytes=row.get("moved_bytes", {}).get(name, row.get("bytes")),
        published_s=_scaled(row, "ms", name, 1e-3) if seconds is None else seconds,
        published_bytes_per_s=_scaled(row, "gb_per_s", name, 1e9),
        published_share=_scaled(row, "percent_of_peak", name, 1e-2),
    )


def _scaled(row: Mapping[str, Any], unit: str, name: str, factor: float) -> float | None:
    value = row.get(unit, {}).get(name)
    return None if value is None else value * factor


def find(
    ledger: Ledger, operation: str, shape: Sequence[int], axis: int, dtype: str, inputs: str = NORMAL
) -> dict[str, dict[str, Figure]]:
    """Published numbers of that very case: by entry, then by implementation."""
    found: dict[str, dict[str, Figure]] = {}
    for claim in ledger.values():
        if not evidence.has_published_inputs(inputs, claim):
            continue
        for figure in published_figures(claim):
            if figure.operation == operation and figure.seconds and figure.is_of(shape, axis, dtype):
                found.setdefault(claim.id, {})[figure.implementation] = figure
    return found


def published_of(ledger: Ledger, case: MeasuredCase) -> dict[str, dict[str, Figure]]:
    """`find` for a case of a run."""
    return find(ledger, case.operation, case.shape, case.axis, case.dtype, evidence.inputs_of(case.words))
