"""Facts about the kernels of a binary, from ptxas and the PTX."""

import re
from dataclasses import dataclass

from kernelbench.build.ptx import ptx_accesses
from kernelbench.core.records import EntryFacts

_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


@dataclass(frozen=True)
class Usage:
    """Resources of an entry as `ptxas -v` reports them, without frames and spills of functions that it calls."""

    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


def entry_facts(ptx: str, ptxas_log: str) -> dict[str, EntryFacts]:
    """Facts of all entries of a module, from its PTX and the output of `ptxas -v`.

    Raises ValueError for an entry that ptxas did not report.
    """
    usage = ptxas_usage(ptxas_log)
    facts = {}
    for entry, found in ptx_accesses(ptx).items():
        if entry not in usage:
            raise ValueError(f"ptxas -v reported nothing about entry '{entry}'")
        facts[entry] = EntryFacts(
            entry, **vars(usage[entry]), parameter_loads=found.loads, parameter_stores=found.stores
        )
    return facts


def ptxas_usage(log: str) -> dict[str, Usage]:
    """Read the output of `ptxas -v`, by entry. Lines about other functions are ignored."""
    usage: dict[str, Usage] = {}
    entry = function = ""
    stack = (0, 0, 0)
    for line in log.splitlines():
        if match := _COMPILING.search(line):
            entry, stack = match[1], (0, 0, 0)
        elif match := _PROPERTIES.search(line):
            function = match[1]
        elif (match := _STACK.search(line)) and function == entry:
            stack = (int(match[1]), int(match[2]), int(match[3]))
        elif (match := _REGISTERS.search(line)) and entry:
            shared = _SHARED.search(line)
            usage[entry] = Usage(int(match[1]), int(shared[1]) if shared else 0, *stack)
            entry = ""
    return usage
