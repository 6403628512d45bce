"""The project's own catalogue and suites, read once for all tests of a process: nobody changes them."""

from collections.abc import Sequence
from functools import cache

from kernelbench.core import places
from kernelbench.core.records import Suite
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.suite import read_suite


@cache
def catalog(specimens: bool = False) -> Catalog:
    return load_catalog(specimens=specimens)


@cache
def suites() -> Sequence[Suite]:
    """Sorted by file name."""
    known = catalog(specimens=True)
    paths = sorted(places.SUITES.glob("*.yaml"))
    return tuple(read_suite(path, known.operations, known.implementations) for path in paths)
