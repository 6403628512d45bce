"""The suite room: YAML text -> `Suite` with its cases, and what --filter and --only leave of it.

Whatever the file holds, the only errors are `ProblemsError` (all mistakes, each with its line) and
`InputError`. The catalog comes in as plain mappings of names, so this room knows no kernel.
"""

from kernelbench.suite.find import find_suite
from kernelbench.suite.reader import read_suite
from kernelbench.suite.select import select_cases, select_implementations, with_inputs

__all__ = ["find_suite", "read_suite", "select_cases", "select_implementations", "with_inputs"]
