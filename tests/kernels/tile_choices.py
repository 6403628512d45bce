"""What one_read_rows and one_read_axis choose for the cases of tile_choices.csv, which a test compares with the file.

    python tests/kernels/tile_choices.py            what differs from the file
    python tests/kernels/tile_choices.py --write    the file anew, after a change of the cost function that is meant

A line's first columns say which case it is; the others, entry to defines, are written.
"""

import csv
import sys
from io import StringIO
from pathlib import Path

from kernelbench.core.records import Case, Scalar
from kernelbench.devices.known import KNOWN
from kernelbench.planning.catalog import load_catalog

TABLE = Path(__file__).with_suffix(".csv")
CONSTANT = ("LOADS", "STORES", "JOIN_CHUNK", "MOST_UNITS")  # defines that nothing chooses


def chosen() -> str:
    """The table with the choices of today."""
    catalog, out = load_catalog(), StringIO()
    with TABLE.open(newline="") as file:
        reader = csv.DictReader(file)
        writer = csv.DictWriter(out, reader.fieldnames or (), lineterminator="\n")
        writer.writeheader()
        for row in reader:
            extents = tuple(map(int, row["shape"].split("x")))
            case = Case(row["operation"], extents, 1, row["dtype"])
            kernel = "one_read_rows" if len(extents) == 2 else "one_read_axis"
            plan = catalog.implementations[case.operation][kernel].plan
            assert plan is not None
            made = plan(case, KNOWN[row["gpu"]])
            row["entry"] = made.launches[0].entry.removeprefix(f"{case.operation}_{kernel}_")
            row["grid"] = "x".join(map(str, made.launches[0].grid))
            sizes = (one for one in made.launches[0].arguments if isinstance(one, Scalar) and one.dtype != "float32")
            row["sizes"] = " ".join(str(one.value) for one in sizes)
            row["defines"] = " ".join(f"{name}={value}" for name, value in made.defines if name not in CONSTANT)
            writer.writerow(row)
    return out.getvalue()


def differences() -> list[str]:
    """Lines of the table that are not today's, each with the one that would be."""
    lines = zip(TABLE.read_text().splitlines(), chosen().splitlines(), strict=True)
    return [f"- {old}\n+ {new}" for old, new in lines if old != new]


if __name__ == "__main__":
    if "--write" in sys.argv:
        TABLE.write_text(chosen())
    print("\n".join(differences()))
