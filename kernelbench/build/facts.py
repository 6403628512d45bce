"""What ptxas and the PTX say about the kernels of a binary, and which inputs a plan never reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelbench.build.ptx import accesses
from kernelbench.errors import InputError
from kernelbench.records import EntryFacts, Launch, LaunchPlan

_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


@dataclass(frozen=True)
class Usage:
    """What `ptxas -v` reports of an entry. Frames and spills of functions that it calls are not in it."""

    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


def entry_facts(ptx: str, ptxas_log: str) -> dict[str, EntryFacts]:
    """Facts of all entries of a module, from its PTX and what `ptxas -v` said about it.

    Raises ValueError for an entry that ptxas did not report.
    """
    usage = ptxas_usage(ptxas_log)
    facts = {}
    for entry, found in accesses(ptx).items():
        if entry not in usage:
            raise ValueError(f"ptxas -v reported nothing about entry '{entry}'")
        facts[entry] = EntryFacts(
            entry, **vars(usage[entry]), parameter_loads=found.loads, parameter_stores=found.stores
        )
    return facts


def ptxas_usage(log: str) -> dict[str, Usage]:
    """Read the output of `ptxas -v`, by entry. Lines about other functions are passed over."""
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


def input_loads(plan: LaunchPlan, facts: Mapping[str, EntryFacts], inputs: Sequence[str]) -> dict[str, int]:
    """Global load instructions of all launches together whose address comes from each input.

    Raises InputError where the plan launches what the binary does not hold, or with another number
    of arguments than the kernel takes.
    """
    loads = dict.fromkeys(inputs, 0)
    for launch, entry in _launched(plan, facts):
        for argument, count in zip(launch.arguments, entry.parameter_loads, strict=True):
            if isinstance(argument, str) and argument in loads:
                loads[argument] += count
    return loads


def unread_inputs(plan: LaunchPlan, facts: Mapping[str, EntryFacts], inputs: Sequence[str]) -> list[str]:
    """Inputs that no launch of the plan ever loads: such a kernel cannot compute what it is asked for."""
    return [name for name, count in input_loads(plan, facts, inputs).items() if count == 0]


def _launched(plan: LaunchPlan, facts: Mapping[str, EntryFacts]) -> Iterator[tuple[Launch, EntryFacts]]:
    for launch in plan.launches:
        entry = facts.get(launch.entry)
        if entry is None:
            raise InputError(
                f"the plan launches '{launch.entry}', which its source does not define; expected one of {sorted(facts)}"
            )
        if len(launch.arguments) != len(entry.parameter_loads):
            raise InputError(
                f"'{launch.entry}' takes {len(entry.parameter_loads)} arguments, but the plan gives it "
                f"{len(launch.arguments)}"
            )
        yield launch, entry
