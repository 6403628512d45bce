"""The project's own catalogue, read once for all tests of a process: nobody changes it."""

from functools import cache

from kernelbench.planning.catalog import Catalog, load_catalog


@cache
def catalog(specimens: bool = False) -> Catalog:
    return load_catalog(specimens=specimens)
