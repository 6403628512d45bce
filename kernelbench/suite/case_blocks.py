"""Blocks: a shape with the values over which it is expanded. A suite with `shape` is one block; each entry of `cases`
is one, with defaults from the suite."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelbench.core import dtypes
from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.documents import MappingNode, Node, RefusedNode, ScalarNode, SequenceNode, yaml_node_text
from kernelbench.core.errors import InputError
from kernelbench.core.operations import NORMAL
from kernelbench.core.problems import quoted, suggest
from kernelbench.core.records import Operation
from kernelbench.suite.fields import Fields, integer_of_node, one_or_more, text_of_node
from kernelbench.suite.shapes import MAX_INTEGER, MAX_RANK, NAME, Extent, is_axis_name, parse_extent, parse_shape

Parameter = int | float | str | bool
Parameters = Mapping[str, tuple[Parameter, ...]]

# Names that --filter knows besides axes.
RESERVED = ("shape", "axis", "dtype", "inputs")
_TIED = re.compile(r"\( *([A-Za-z0-9_]+(?: *, *[A-Za-z0-9_]+)+) *\)")
# The key of a case joins "name=value" by spaces, so a value may have neither a space nor "=".
_PARAMETER_TEXT = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_KINDS: Mapping[type, str] = {bool: "true or false", int: "an integer", float: "a finite number", str: "a word"}


@dataclass(frozen=True)
class Axis:
    """An axis and its values, or several tied axes that step together: a row has one value for each."""

    names: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class CaseBlock:
    line: int  # of its shape
    shape: tuple[Extent, ...]
    axis: int
    dtypes: tuple[str, ...]
    inputs: tuple[str, ...]  # distributions
    axes: tuple[Axis, ...]
    parameters: Parameters

    @property
    def size(self) -> int:
        """The number of its cases."""
        rows = [len(axis.rows) for axis in self.axes]
        return math.prod([len(self.dtypes), len(self.inputs), *rows, *map(len, self.parameters.values())])


@dataclass(frozen=True)
class Defaults:
    """Values for keys that the entry of a block does not have."""

    axis: int = -1
    axis_line: int = 0
    dtypes: tuple[str, ...] = ("float32",)
    inputs: tuple[str, ...] = (NORMAL,)
    parameters: Mapping[str, tuple[Parameter, ...]] | None = None


def read_defaults(fields: Fields, operation: Operation | None, outer: Defaults) -> Defaults:
    """axis, dtype, inputs and parameters of a mapping, else those of the mapping around it."""
    axis = fields.integer("axis")
    names = fields.names("dtype", NAME, dtypes.NAMES)
    parameters = _read_parameters(fields, operation)
    return Defaults(
        outer.axis if axis is None else axis,
        outer.axis_line if axis is None else fields.line_of("axis"),
        names or outer.dtypes,
        _read_inputs(fields, operation) or outer.inputs,
        {**(outer.parameters or {}), **parameters},
    )


def read_block(fields: Fields, operation: Operation | None, defaults: Defaults) -> CaseBlock | None:
    """The block of a mapping with `shape`; None where a mistake (noted) prevents its expansion."""
    before = fields.problems.noted
    shape = _read_shape(fields)
    if not shape or isinstance(fields.node("axes"), RefusedNode):
        return None
    used = tuple(dict.fromkeys(name for extent in shape for name in extent.names))
    axes = _read_axes(fields, used, operation)
    given = {name for axis in axes for name in axis.names}
    for name in used:
        if name not in given:
            fields.problems.add(fields.line_of("shape"), f"axis '{name}' of the shape has no values under 'axes'")
    rank = len(shape)
    if not -rank <= defaults.axis < rank:
        text = f"axis {defaults.axis} is outside a shape of {rank} extents; expected {-rank} to {rank - 1}"
        fields.problems.add(defaults.axis_line or fields.line_of("shape"), text)
    if fields.problems.noted > before:
        return None
    return CaseBlock(
        fields.line_of("shape"),
        shape,
        defaults.axis,
        defaults.dtypes,
        defaults.inputs,
        axes,
        defaults.parameters or {},
    )


def _read_shape(fields: Fields) -> tuple[Extent, ...]:
    node = fields.node("shape")
    if node is None or isinstance(node, RefusedNode):
        return ()
    shape: tuple[Extent, ...] = ()
    if isinstance(node, SequenceNode):
        shape = tuple(extent for item in node.nodes if (extent := _read_extent(fields, item)))
        if len(shape) < len(node.nodes):
            return ()
    elif isinstance(node, ScalarNode) and isinstance(node.value, str):
        try:
            shape = parse_shape(node.value)
        except InputError as error:
            fields.problems.add(node.line, str(error))
            return ()
    else:
        fields.expected("shape", "a list or a text such as '(32, seq)'", node)
        return ()
    if not 1 <= len(shape) <= MAX_RANK:
        fields.problems.add(node.line, f"'shape' must have 1 to {MAX_RANK} extents, got {len(shape)}")
        return ()
    return shape


def _read_extent(fields: Fields, node: Node) -> Extent | None:
    if isinstance(node, ScalarNode) and type(node.value) is int and abs(node.value) > MAX_INTEGER:
        fields.problems.add(node.line, f"an extent must be at least 1 and below 2^63, got {yaml_node_text(node)}")
        return None
    if (text := text_of_node(node)) is None:
        fields.expected("shape", "a list of integers and axis names", node)
        return None
    try:
        return parse_extent(text)
    except InputError as error:
        fields.problems.add(node.line, str(error))
        return None


def _read_axes(fields: Fields, used: tuple[str, ...], operation: Operation | None) -> tuple[Axis, ...]:
    node = fields.node("axes")
    if node is None:
        return ()
    if not isinstance(node, MappingNode):
        fields.expected("axes", "a mapping of names to values", node)
        return ()
    taken = {*RESERVED, *(operation.parameters if operation else ())}
    axes: list[Axis] = []
    seen: set[str] = set()
    for key, values in node.nodes.items():
        line = node.key_lines[key]
        tied = _TIED.fullmatch(key)
        names = tuple(name.strip() for name in tied[1].split(",")) if tied else (key,)
        for name in names:
            if not is_axis_name(name) or name in taken:
                fields.problems.add(line, f"{quoted(name)} cannot name an axis; expected a word that is not in use")
            elif name not in used:
                fields.problems.add(
                    line, f"unknown key {quoted(name)} under 'axes'{suggest(name, used) or '; the shape names none'}"
                )
            elif name in seen:
                fields.problems.add(line, f"axis '{name}' is given twice")
            seen.add(name)
        axes.append(Axis(names, _read_rows(fields, key, names, values)))
    return tuple(axes)


def _read_rows(fields: Fields, key: str, names: tuple[str, ...], node: Node) -> tuple[tuple[int, ...], ...]:
    """The values of an axis; for tied ones, a list of lists."""
    rows: dict[tuple[int, ...], None] = {}
    tied = len(names) > 1
    items = node.nodes if tied and isinstance(node, SequenceNode) else one_or_more(node)
    if not items:
        fields.problems.add(node.line, f"axis {quoted(key)} has no values")
    for item in items:
        cells = item.nodes if tied and isinstance(item, SequenceNode) else (item,)
        row = tuple(number for cell in cells if (number := integer_of_node(cell)) is not None and number >= 1)
        if len(row) != len(cells) or len(row) != len(names):
            wanted = f"lists of {len(names)} integers" if tied else "integers"
            wrong = next((cell for cell in cells if (integer_of_node(cell) or 0) < 1), item)
            if not isinstance(wrong, RefusedNode):
                fields.problems.add(
                    wrong.line, f"axis {quoted(key)} takes {wanted} from 1 to 2^63 - 1, got {yaml_node_text(wrong)}"
                )
        elif row in rows:
            fields.problems.add(item.line, f"axis {quoted(key)} has {', '.join(map(str, row))} twice")
        else:
            rows[row] = None
    return tuple(rows)


def _read_inputs(fields: Fields, operation: Operation | None) -> tuple[str, ...]:
    """Distributions of `inputs` that the operation has; others are noted."""
    found = fields.names("inputs", NAME, tuple(DISTRIBUTIONS))
    refused = {name: operation.refusal(name) for name in found} if operation else {}
    for name, reason in refused.items():
        if reason and operation:
            fields.problems.add(fields.line_of("inputs"), f"{operation.name} has no {name} inputs: {reason}")
    return tuple(name for name in found if not refused.get(name))


def _read_parameters(fields: Fields, operation: Operation | None) -> Parameters:
    node = fields.node("parameters")
    if node is None or isinstance(node, RefusedNode) or operation is None:
        return {}
    if not isinstance(node, MappingNode):
        fields.expected("parameters", "a mapping of names to values", node)
        return {}
    found: dict[str, tuple[Parameter, ...]] = {}
    for name, values in node.nodes.items():
        if name not in operation.parameters:
            nearest = suggest(name, tuple(operation.parameters)) or f"; {operation.name} has none"
            fields.problems.add(node.key_lines[name], f"unknown key {quoted(name)} under 'parameters'{nearest}")
            continue
        kind = type(operation.parameters[name])
        read = [_read_parameter(fields, name, kind, item) for item in one_or_more(values)]
        if not read:
            fields.problems.add(values.line, f"parameter '{name}' has no values")
        kept = tuple(value for value in read if value is not None)
        if len(set(kept)) < len(kept):
            fields.problems.add(values.line, f"parameter '{name}' has a value twice")
        found[name] = tuple(dict.fromkeys(kept))
    return found


def _read_parameter(fields: Fields, name: str, kind: type, node: Node) -> Parameter | None:
    """The value in the type of the default: 1 is 1.0 where that is a float, but true is never 1."""
    value = node.value if isinstance(node, ScalarNode) else None
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_INTEGER:
        return float(value)
    if kind is int and (number := integer_of_node(node)) is not None:
        return number
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str) and _PARAMETER_TEXT.fullmatch(value):
        return value
    if not isinstance(node, RefusedNode):
        wanted = _KINDS.get(kind, "left out, because a suite cannot set it")
        fields.problems.add(node.line, f"parameter '{name}' must be {wanted}, got {yaml_node_text(node)}")
    return None
