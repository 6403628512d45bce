"""samples.csv.gz: a line per measurement with all its times, since a line per time takes three times the room.

In memory a sample is (case, implementation, cache, method, round, seconds), with the seconds as they are written.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.core import columns
from kernelbench.core.errors import ResultsError, RunWarning
from kernelbench.core.units import number_of
from kernelbench.runs import files

if TYPE_CHECKING:
    import numpy
    import pandas

    from kernelbench.runs.row_records import Row

Sample = tuple[str, str, str, str, int, str]
RowKey = tuple[str, str, str, str]  # case, implementation, cache, method
LEFT_OUT = "samples were not above 0 s: left out"  # in the reason of a row
NAMES = ("case", "implementation", "cache", "method", "round", "seconds")
_MEASUREMENT = list(NAMES[:4])
_HEADERS = (tuple(columns.column_names(columns.SAMPLES)), NAMES)  # of this version and of earlier ones
_ADVICE = "; delete it to go on without raw samples"
_LARGEST_DIFFERENCE = 1e-4  # of a median from that of its row: samples are written with six digits
_MOST_TIMES = 1000  # per line: readers of CSV limit a cell to 131,072 characters


def pack_samples(samples: Iterable[Sample]) -> dict[tuple[str, str], bytes]:
    """The lines of samples.csv.gz, compressed, by case and implementation."""
    found: dict[tuple[str, str], list[Sequence[str]]] = {}
    for measurement, group in groupby(samples, key=lambda sample: sample[:4]):
        own = list(group)
        for first in range(0, len(own), _MOST_TIMES):
            part = own[first : first + _MOST_TIMES]
            rounds, seconds = _ranges([sample[4] for sample in part]), " ".join(sample[5] for sample in part)
            found.setdefault(measurement[:2], []).append((*measurement, rounds, seconds))
    return {key: _compressed(lines) for key, lines in found.items()}


def samples_file(members: Mapping[tuple[str, str], bytes]) -> bytes:
    return b"".join([_compressed([columns.column_names(columns.SAMPLES)]), *members.values()])


def read_samples(path: Path) -> tuple[list[Sample], bool]:
    """All samples of a file, and whether it is complete; none if there is no file. ResultsError if it is damaged."""
    if not os.path.lexists(path):
        return [], True
    data, whole = files.read_unpacked(path, files.MAX_SAMPLES_BYTES, _ADVICE)
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
        if lines and tuple(lines[0]) not in _HEADERS:
            expected = ",".join(_HEADERS[0])
            raise ResultsError(f"{path}:1: expected the columns {expected}, got {','.join(lines[0])!r:.80}{_ADVICE}")
        return [sample for line in lines[1:] for sample in _samples(line)], whole
    except (ValueError, csv.Error) as error:
        raise ResultsError(f"{path}: cannot be read ({error}){_ADVICE}") from error


def sample_table(path: Path) -> pandas.DataFrame:
    """A row per sample. If a case is there twice, its later samples count; of a file that was cut off, only complete
    measurements."""
    import numpy
    import pandas

    samples, whole = read_samples(path)
    if not whole:
        warnings.warn(f"{path}: its end is cut off; the last samples in it are left out", RunWarning, stacklevel=2)
    if not samples:
        return pandas.DataFrame(columns=list(NAMES))
    found = pandas.DataFrame(samples, columns=list(NAMES))
    try:
        seconds = pandas.to_numeric(found["seconds"])
    except (ValueError, OverflowError) as error:
        raise ResultsError(f"{path}: cannot be read ({error}){_ADVICE}") from error
    found = found.assign(seconds=seconds.where(seconds > 0).astype(float))
    # Earlier versions kept differences of two graphs that are not above 0.
    found = found[~((found["method"] == "graph") & (seconds <= 0))]
    if not numpy.isfinite(found["seconds"]).all():
        raise ResultsError(f"{path}: a time is not above 0{_ADVICE}")
    if not whole and len(found):  # some rounds of the last measurement may be missing
        found = found[(found[_MEASUREMENT] != found[_MEASUREMENT].iloc[-1]).any(axis=1)]
    return found.drop_duplicates([*_MEASUREMENT, "round"], keep="last")


def own_samples(
    path: Path,
    table: pandas.DataFrame,
    timed: Mapping[RowKey, tuple[numpy.ndarray, numpy.ndarray]],
    rows: Iterable[Row],
) -> pandas.DataFrame:
    """The samples of a sample_table without those whose median is not that of their row, of which a warning tells.
    `timed` is samples_by_row of the table."""
    others: dict[RowKey, str] = {}
    for row in rows:
        key = (row.case, row.implementation, row.cache, row.method)
        if key not in timed or not row.median_s or _has_left_out(row):
            continue
        median = _median(timed[key][0])
        if abs(median - row.median_s) > _LARGEST_DIFFERENCE * row.median_s:
            others[key] = f"{median:.6g} s, but that of its row in results.csv is {row.median_s:.6g} s"
    if not others:
        return table
    first = next(iter(others))
    more = f", nor those of {number_of(len(others) - 1, 'more row')}" if len(others) > 1 else ""
    warnings.warn(
        f"{path}: the median of the samples of {', '.join(first)} is {others[first]}; "
        f"these samples are not used{more}; restore both files from one run, or measure again",
        RunWarning,
        stacklevel=2,
    )
    keys = zip(*(table[name].tolist() for name in _MEASUREMENT), strict=True)
    return table[[key not in others for key in keys]]


def _has_left_out(row: Row) -> bool:
    """Whether its median is of more samples than were kept: those not above 0 are left out."""
    told = f"by {row.method}, " in row.reason and LEFT_OUT in row.reason
    return told or (row.min_s is not None and row.min_s <= 0)


def _median(seconds: numpy.ndarray) -> float:
    """As that of numpy, which takes several times as long for a few samples."""
    ordered: list[float] = sorted(seconds.tolist())
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def samples_by_row(table: pandas.DataFrame) -> dict[RowKey, tuple[numpy.ndarray, numpy.ndarray]]:
    """Seconds and rounds of each row, of a sample_table. Rounds are numbered anew: a file may call them anything."""
    import pandas

    places: dict[RowKey, list[int]] = {}
    for place, key in enumerate(zip(*(table[name].tolist() for name in _MEASUREMENT), strict=True)):
        places.setdefault(key, []).append(place)
    seconds, rounds = table["seconds"].to_numpy(dtype=float), pandas.factorize(table["round"])[0]
    return {key: (seconds[own], rounds[own]) for key, own in places.items()}


def _samples(line: Sequence[str]) -> Iterator[Sample]:
    case, implementation, cache, method, ranges, times = line
    seconds, spans = times.split(), [_span(text) for text in ranges.split()]
    if sum(map(len, spans)) != len(seconds):
        raise ValueError(f"{len(seconds)} times of {method} for the rounds {ranges[:40]}")
    for number, text in zip((number for span in spans for number in span), seconds, strict=True):
        yield case, implementation, cache, method, number, text


def _span(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _ranges(numbers: Sequence[int]) -> str:
    """`0-3 5` for 0, 1, 2, 3, 5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _compressed(lines: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return gzip.compress(text.getvalue().encode(), mtime=0)
