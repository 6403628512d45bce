"""The parts of a step: different operations, each on one case, with the number of calls and the implementation on
either side."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kernelbench.core.documents import MappingNode, RefusedNode, SequenceNode
from kernelbench.core.errors import InputError
from kernelbench.core.parts import PART, Part, Step
from kernelbench.core.records import Case, Operation
from kernelbench.suite.case_blocks import Defaults, read_block, read_defaults
from kernelbench.suite.expand import expand_cases
from kernelbench.suite.fields import Fields, text_of_node
from kernelbench.suite.shapes import NAME, parse_extent

SIDES = ("unfused", "fused")
INSTEAD = ("operation", "shape", "axes", "cases", "parameters", "implementations", "baseline")  # parts say these
_KEYS = ("part", "operation", "shape", "axis", "dtype", "inputs", "parameters", "calls", *SIDES)

Operations = Mapping[str, Operation]
Implementations = Mapping[str, Collection[str]]


def read_step(
    fields: Fields, operations: Operations, implementations: Implementations
) -> tuple[Step, tuple[Case, ...]]:
    """The step of a suite with `step`, and its cases, one per part, in the order of the file; mistakes are noted."""
    fields.require("leaves_out")
    for key in INSTEAD:
        if key in fields:
            fields.problems.add(fields.line_of(key), f"'{key}' cannot stand beside 'step'; write it inside its parts")
    defaults = read_defaults(fields, None, Defaults())
    node = fields.node("step")
    if not isinstance(node, SequenceNode) or not node.nodes:
        if node is not None:
            fields.expected("step", "a list of mappings with at least one entry", node)
        return Step((), ""), ()
    found: dict[str, tuple[Part, Case]] = {}
    for item in node.nodes:
        if not isinstance(item, MappingNode):
            fields.expected("step", "a list of mappings", item)
            continue
        read = _read_part(Fields(item, _KEYS, " under 'step'", fields.problems), operations, implementations, defaults)
        if read and read[0].name in found:
            fields.problems.add(item.line, f"part '{read[0].name}' is given twice")
        elif read:
            found[read[0].name] = read
    parts, cases = tuple(part for part, _ in found.values()), tuple(case for _, case in found.values())
    return Step(parts, " ".join((fields.text("leaves_out", lines=True) or "").split())), cases


def _read_part(
    fields: Fields, operations: Operations, implementations: Implementations, defaults: Defaults
) -> tuple[Part, Case] | None:
    """None where a mistake (noted) leaves no case."""
    for key in ("part", "operation", "shape", "calls"):
        fields.require(key)
    name = fields.name("part", NAME, None)
    operation_name = fields.name("operation", NAME, operations)
    operation = operations[operation_name] if operation_name else None
    known = implementations.get(operation_name, ()) if operation_name else None
    unfused, fused = (fields.name(side, NAME, known) or "" for side in SIDES)
    if not any(side in fields for side in SIDES):
        fields.problems.add(fields.line, "a part needs 'unfused', 'fused' or both: its implementations")
    calls = _read_calls(fields)
    own = read_defaults(fields, operation, defaults)
    block = read_block(fields, operation, own) if "shape" in fields else None
    if block is None or operation is None or name is None:
        return None
    if block.size != 1:
        fields.problems.add(block.line, f"a part is one case, but this makes {block.size}; write a part for each")
        return None
    cases = expand_cases([block], operation, fields.problems)
    if not cases:
        return None
    case = replace(cases[0], axes=((PART, name),))
    return Part(name, operation.name, case.key, calls, unfused, fused), case


def _read_calls(fields: Fields) -> int:
    """Calls per step: an integer, or arithmetic that shows where it comes from. 0 if wrong, which is noted."""
    node = fields.node("calls")
    if node is None or isinstance(node, RefusedNode):
        return 0
    text = text_of_node(node)
    try:
        extent = parse_extent(text) if text else None
        if extent and not extent.names:
            return extent.value({})
    except InputError:
        pass
    fields.expected("calls", "an integer from 1 to 2^63 - 1, or arithmetic such as '12 * 2'", node)
    return 0
