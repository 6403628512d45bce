"""Reads suites: YAML text -> `Suite` with its cases, changed by --set and --dtype, reduced by --filter and --only.

The only errors are `ProblemsError` (all mistakes, each with its line) and `InputError`. The catalog arrives as plain
mappings of names, so this room knows no kernels.
"""

from kernelbench.suite.overrides import read_changes
from kernelbench.suite.reader import find_suite, read_suite
from kernelbench.suite.select import select_cases, select_implementations, select_part, with_inputs

__all__ = [
    "find_suite",
    "read_changes",
    "read_suite",
    "select_cases",
    "select_implementations",
    "select_part",
    "with_inputs",
]
