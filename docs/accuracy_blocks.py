"""The table of docs/kernels.md that says how far our own kernels are from float64; cells of what was not measured are
empty."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from kernelbench.core.operations import FLOATS
from kernelbench.planning.catalog import load_catalog

ROOT = Path(__file__).resolve().parent.parent
ACCURACY = ROOT / "results" / "h200" / "accuracy"  # from tests/gpu/accuracy.py
PEER = "torch"
# All kernels of indexing have one result, and bytes of random_mask are equal to the last bit.
LEFT_OUT = ("indexing", "random_mask")
GONE = "fast"  # a form that was measured, and that no plan has any more
ALIGNED = "aligned"  # as all arrays of PyTorch begin
HEAD = "| operation | kernel | techniques | float32 | float16 | bfloat16 | PyTorch, float32 | float16 | bfloat16 |"

Rows = Sequence[Mapping[str, str]]


def accuracy_blocks() -> Mapping[str, str]:
    return {"accuracy": accuracy_block(ACCURACY)}


def accuracy_block(folder: Path) -> str:
    """A line per kernel: its largest error in ulp on aligned arrays by type, and PyTorch's on the same inputs."""
    rows: Rows = []
    if (path := folder / "accuracy.csv.gz").is_file():
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["form"] != GONE]
    lines = [HEAD, "|---|---|" + "--:|" * 7]
    lines += [_line(operation, name, rows) for operation, name in _kernels()]
    return "\n".join([*lines, *(["", _conditions(rows, folder)] if rows else [])])


def _kernels() -> Iterable[tuple[str, str]]:
    implementations = load_catalog().implementations
    for operation in sorted(implementations):
        for name, one in implementations[operation].items():
            if one.origin.project == "written here" and one.role == "kernel" and operation not in LEFT_OUT:
                yield operation, name


def _line(operation: str, name: str, rows: Rows) -> str:
    of_operation = [row for row in rows if row["operation"] == operation]
    own = [row for row in of_operation if row["implementation"] == name and row["begins"] == ALIGNED]
    beside = {(row["shape"], row["axis"], row["dtype"]) for row in own}
    peer = [
        row for row in of_operation
        if row["implementation"] == PEER and (row["shape"], row["axis"], row["dtype"]) in beside
    ]  # fmt: skip
    cells = [f"`{operation}`", f"`{name}`", str(len(beside) or "")]
    cells += [_largest(side, dtype) for side in (own, peer) for dtype in FLOATS]
    return f"| {' | '.join(cells)} |"


def _largest(rows: Rows, dtype: str) -> str:
    found = _errors(rows, dtype)
    return f"{max(found):.3g}" if found else ""


def _errors(rows: Rows, dtype: str) -> list[float]:
    return [float(row["max_ulp"]) for row in rows if row["dtype"] == dtype and row["max_ulp"]]


def _larger_off_alignment(rows: Rows) -> str:
    """Largest errors on arrays off alignment, of kernels where they are larger than those on aligned arrays."""
    found = []
    for (operation, name), dtype in product(_kernels(), FLOATS):
        own = [row for row in rows if (row["operation"], row["implementation"]) == (operation, name)]
        aligned = _errors([row for row in own if row["begins"] == ALIGNED], dtype)
        late = _errors([row for row in own if row["begins"] != ALIGNED], dtype)
        if aligned and late and max(late) > max(aligned):
            found.append(f"{max(late):.3g} ({operation}/{name}, {dtype})")
    return f" Off alignment errors are at most these, but for {', '.join(found)}." if found else ""


def _conditions(rows: Rows, folder: Path) -> str:
    """The GPU and software, how many inputs, and whatever was not as it has to be."""
    state = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
    own = [row for row in rows if row["implementation"] != PEER]
    done = [row for row in own if not row["refused"]]
    late = sum(row["begins"] != ALIGNED for row in done)
    wrong, special = (sum(int(row[name]) > 0 for row in done) for name in ("wrong", "special"))
    other_bits = sum(row["repeats"] != "True" for row in done)
    driver = f", driver {state['device']['driver']}" if "driver" in state["device"] else ""
    return (
        f"On an {state['device']['name']}{driver}, nvcc {state['nvcc']}, PyTorch {state['torch']}, {state['date']}: "
        f"{len(done)} runs of a kernel on one input, {late} of them with all arrays one element off alignment. Beyond "
        f"the operation's tolerance in {wrong}, NaN, infinities or exact 0 and 1 elsewhere than in float64 in "
        f"{special}, other bits in a second run in {other_bits}, unsupported {len(own) - len(done)}."
        f"{_larger_off_alignment(done)}"
    )
