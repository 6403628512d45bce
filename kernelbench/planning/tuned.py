"""Tables of launch parameters by GPU, which `kernelbench tune` found to be better than a plan's own rule.

    kernelbench/planning/tables/nvidia-h200.yaml       shipped
    ~/.config/kernelbench/tuned/nvidia-h200.yaml       the user's own, which comes first (see places.own_tuned)
An entry applies to cases of its operation, implementation, data type and layout that have about as many bytes, as long
as the source of the kernel is unchanged. If no entry applies, the plan itself chooses: by a rule or a cost function,
with constants that were fitted on this GPU if there are any (see cost_constants.py).
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from hashlib import sha256
from math import isfinite, log
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from kernelbench.core import dtypes, places
from kernelbench.core.cost_model import CostModel
from kernelbench.core.documents import FileFormat, plain_values, read_document
from kernelbench.core.errors import InputError, RunWarning
from kernelbench.core.launching import LaunchPlan
from kernelbench.core.problems import Problems
from kernelbench.core.records import Case, DeviceProperties, Implementation
from kernelbench.core.sources import source_texts
from kernelbench.core.tunable import Tunable, values_text
from kernelbench.core.units import bytes_text
from kernelbench.planning.cost_constants import SUFFIX, Fitted, read_fitted, write_document

Read = TypeVar("Read")
SAME_SIZE = 2.0  # an entry applies to cases of up to twice or half as many bytes
FORM = FileFormat("a table", "'gpu' and a list of 'entries', as `kernelbench tune` writes them",
            "'gpu' and a list of 'entries'", max_bytes=2**20, fast=True)  # fmt: skip  # an entry has about 400 bytes
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HEADER = """\
# Launch parameters that `kernelbench tune` measured on this GPU, see docs/tuning.md. `values: rule`: no candidate was
# faster than the rule of the kernel's own plan. Times are medians with a cold L2, of both in the same rounds.
"""


@dataclass(frozen=True)
class TunedEntry:
    """The result for one case, and for all cases to which it applies."""

    operation: str
    implementation: str
    dtype: str
    layout: str  # see Tunable.layout
    bytes: int  # of the elements of the case
    values: Mapping[str, int] | None  # None for the rule
    seconds: float
    rule_seconds: float
    case: str  # its key
    date: str
    kernel: str  # hash of the source of its values, see source_hash
    kernelbench: str
    environment: str  # driver, compiler and clock, for people

    @property
    def place(self) -> tuple[str, str, str, str, int]:
        """The key of an entry, unique in a table."""
        return self.operation, self.implementation, self.dtype, self.layout, self.bytes


@dataclass(frozen=True)
class TunedTable:
    path: Path
    gpu: str  # the name that the driver reports
    entries: tuple[TunedEntry, ...]


@dataclass(frozen=True)
class TunedChoice:
    """Arguments for a plan, none for its rule, and their source."""

    values: Mapping[str, int]
    reason: str
    path: Path | None = None  # of the table; None for the rule


@dataclass(frozen=True)
class TunedTables:
    """The tables and constants of one GPU, the user's own first."""

    gpu: str
    tables: tuple[TunedTable, ...] = ()
    models: tuple[Fitted, ...] = ()

    def choice(self, case: Case, implementation: Implementation, device: DeviceProperties) -> TunedChoice:
        """The arguments with which a tunable implementation runs a case."""
        assert implementation.tunable is not None
        own = case.operation, implementation.name, case.dtype, implementation.tunable.layout(case)
        nbytes, stale = case.elements * dtypes.itemsize(case.dtype), False
        for table in self.tables:
            found = [entry for entry in table.entries if entry.place[:-1] == own and _times(entry, nbytes) <= SAME_SIZE]
            fresh = [one for one in found if one.kernel in source_hashes(implementation)]
            stale = stale or len(fresh) < len(found)
            if fresh:
                nearest = min(fresh, key=lambda one: _times(one, nbytes))
                if _serves(nearest, case, implementation.tunable, device):
                    return _chosen(nearest, table, implementation)
        if (ranked := self._ranked(case, implementation.tunable, device)) is not None:
            return ranked
        if stale:
            return TunedChoice(
                {}, "chosen by the plan itself: the source of this kernel has changed since it was tuned; tune it again"
            )
        return TunedChoice({}, f"chosen by the plan itself: nothing near this case is tuned for {self.gpu}")

    def _ranked(self, case: Case, tunable: Tunable, device: DeviceProperties) -> TunedChoice | None:
        """The candidate that the cost function expects to be the fastest; None where it was not fitted on this GPU."""
        for fitted in self.models:
            if tunable.model is None or fitted.model != tunable.model.name or fitted.path is None:
                continue
            if problem := fitted.problem(tunable.model):
                warn_unusable_table(fitted.path, problem)
                continue
            values = tunable.ranked(case, device, fitted.constants)[0]
            return TunedChoice(values, f"the least time by the cost function fitted on {self.gpu}", fitted.path)
        return None


def _times(entry: TunedEntry, nbytes: int) -> float:
    """The larger size over the smaller one."""
    return max(entry.bytes, nbytes) / max(1, min(entry.bytes, nbytes))


def _serves(entry: TunedEntry, case: Case, tunable: Tunable, device: DeviceProperties) -> bool:
    """Whether the entry's values are among the candidates of a case that has a cost function."""
    return entry.values is None or tunable.model is None or dict(entry.values) in tunable.listed(case, device)


def _chosen(entry: TunedEntry, table: TunedTable, implementation: Implementation) -> TunedChoice:
    assert implementation.tunable is not None
    names = implementation.tunable.values
    if entry.values is None:
        return TunedChoice(
            {}, f"chosen by the plan itself: nothing tried on {table.gpu} was faster ({entry.date[:10]})"
        )
    unknown = [name for name in entry.values if name not in names]
    if unknown and implementation.tunable.candidates is None:  # else the plan refuses what is none of its candidates
        known = ", ".join(names)
        warn_unusable_table(
            table.path, f"{entry.operation}/{entry.implementation} has no tunable '{unknown[0]}', only {known}"
        )
        return TunedChoice({}, f"chosen by the plan itself: the table's entry has an unknown '{unknown[0]}'")
    share = f"{entry.seconds / entry.rule_seconds:.3f} of the rule's time at {bytes_text(entry.bytes)}"
    what = values_text(entry.values) if implementation.tunable.model is None else "this candidate"
    return TunedChoice(entry.values, f"{what} as tuned on {table.gpu}: {share}", table.path)


def warn_unusable_table(path: Path, problem: str) -> None:
    warnings.warn(f"{path}: {problem}; the plan's own choice is used", RunWarning, stacklevel=2)


# ---- Files ---------------------------------------------------------------------------------------


def table_file_name(gpu: str) -> str:
    """`nvidia-h200.yaml` of NVIDIA H200."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") + ".yaml"


def times_file(folder: Path, gpu: str, model: CostModel) -> Path:
    """Where the times of a GPU's candidates are kept: `nvidia-h200.softmax.csv`."""
    return folder / f"{Path(table_file_name(gpu)).stem}.{model.name}.csv"


def constants_file(folder: Path, gpu: str, model: CostModel) -> Path:
    return folder / f"{Path(table_file_name(gpu)).stem}.{model.name}{SUFFIX}"


def own_folder(option: str = "a folder by --times") -> Path:
    """The user's own folder; InputError names the `option` if there is none."""
    if (folder := places.own_tuned()) is None:
        raise InputError(f"no folder to keep tuned values in; name {option}, or a folder in KERNELBENCH_TUNED")
    return folder


def user_table_file(gpu: str) -> Path:
    """The file of the user's table for a GPU; InputError if there is no folder for it."""
    return own_folder("a file by --out") / table_file_name(gpu)


def tables_for(gpu: str) -> TunedTables:
    """The tables and constants of a GPU. A file that cannot be read causes a warning and is left out."""
    tables: list[TunedTable] = []
    models: list[Fitted] = []
    for path in (folder / table_file_name(gpu) for folder in dict.fromkeys(places.tuned())):
        with suppress(OSError):  # a folder without permission
            tables += _readable([path], partial(read_table, gpu=gpu))
            models += _readable(sorted(path.parent.glob(f"{path.stem}.*{SUFFIX}")), partial(read_fitted, gpu=gpu))
    return TunedTables(gpu, tuple(tables), tuple(models))


def _readable(paths: Sequence[Path], read: Callable[[Path], Read]) -> Iterator[Read]:
    for path in paths:
        try:
            if path.is_file():
                yield read(path)
        except InputError as error:
            warnings.warn(f"{error}; it is left out", RunWarning, stacklevel=2)


def read_table(path: Path, gpu: str) -> TunedTable:
    """Read a table; InputError, with file and place, if it is not a table of this GPU."""
    problems = Problems(path)
    root = read_document(path, problems, FORM)
    problems.raise_any()
    document = plain_values(root)
    if set(document) != {"gpu", "entries"} or not isinstance(document["entries"], list):
        raise InputError(f"{path}: expected what `kernelbench tune` writes: 'gpu' and a list of 'entries'")
    if document["gpu"] != gpu:
        raise InputError(f"{path}: a table of {document['gpu']}, expected one of {gpu}")
    entries = [_entry(path, number, one) for number, one in enumerate(document["entries"], start=1)]
    places_ = [entry.place for entry in entries]
    if twice := next((place for number, place in enumerate(places_) if place in places_[:number]), None):
        raise InputError(f"{path}: two entries of {' '.join(map(str, twice))}; delete one of them")
    return TunedTable(path, gpu, tuple(entries))


_WORDS = [name for name, kind in get_type_hints(TunedEntry).items() if kind is str]


def _entry(path: Path, number: int, found: Any) -> TunedEntry:
    place = f"{path}: entry {number}"
    names = [one.name for one in fields(TunedEntry)]
    if not isinstance(found, dict) or set(found) != set(names):
        raise InputError(f"{place}: expected {', '.join(names)}")
    values = found["values"]
    if values != "rule":
        numbers = isinstance(values, dict) and values and all(type(one) is int for one in values.values())
        if not numbers or not all(isinstance(name, str) for name in values):
            raise InputError(f"{place}: values: expected whole numbers by name, or rule, got {values!r:.60}")
    for name in _WORDS:
        if not isinstance(found[name], str):
            raise InputError(f"{place}: {name}: expected text, got {found[name]!r:.60}")
    if type(found["bytes"]) is not int or found["bytes"] < 1:
        raise InputError(f"{place}: bytes: expected a whole number from 1 on, got {found['bytes']!r:.60}")
    for name in ("seconds", "rule_seconds"):
        if type(found[name]) is not float or not isfinite(found[name]) or found[name] <= 0:
            raise InputError(f"{place}: {name}: expected a time above 0, got {found[name]!r:.60}")
    return TunedEntry(**{**found, "values": None if values == "rule" else values})


def write_table(path: Path, gpu: str, entries: Sequence[TunedEntry]) -> None:
    """Add entries to a table, or to a new one; entries of the same place are replaced.

    InputError if the file exists and is not a table of this GPU, or cannot be written.
    """
    known = read_table(path, gpu).entries if path.exists() else ()
    merged = {entry.place: entry for entry in (*known, *entries)}
    document = {"gpu": gpu, "entries": [_document(entry) for _, entry in sorted(merged.items())]}
    write_document(path, _HEADER, document, "another file by --out")


def _document(entry: TunedEntry) -> dict[str, Any]:
    values = "rule" if entry.values is None else dict(entry.values)
    times = {name: _digits(getattr(entry, name)) for name in ("seconds", "rule_seconds")}
    return {**asdict(entry), "values": values, **times}


def _digits(seconds: float) -> float:
    """Rounded to the digits of a median."""
    return round(seconds, max(0, 4 - round(log(seconds, 10)))) if seconds else 0.0


# ---- The source of a kernel ----------------------------------------------------------------------


def source_hashes(implementation: Implementation) -> frozenset[str]:
    """The hashes of all sources from which its plans may be built."""
    own = implementation.source
    assert own is not None, "an implementation with a plan has a source"
    return frozenset(map(source_hash, (own, *map(own.with_name, implementation.other_sources))))


def hash_of_plan(plan: LaunchPlan | None, implementation: Implementation) -> str:
    """The hash of the source from which the plan is built; that of the usual one where there is no plan."""
    own = implementation.source
    assert own is not None, "an implementation with a plan has a source"
    return source_hash(own.with_name(plan.source) if plan and plan.source else own)


@cache
def source_hash(source: Path) -> str:
    """Hash of a .cu with all headers of kernels/ that it includes, without comments and spaces: 16 digits."""
    whole = sha256()
    for _, text in source_texts(source):
        code = _COMMENT.sub("", text.decode(errors="replace"))
        whole.update("".join(code.split()).encode() + b"\0")
    return whole.hexdigest()[:16]
