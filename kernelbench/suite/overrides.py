"""Other sizes and types than those of a suite's file: `--set seq=77,100,333 --dtype float16`.

The tree of the file is changed before it is read, so that all its checks hold for the new cases too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelbench.core import dtypes
from kernelbench.core.documents import MappingNode, Node, ScalarNode, SequenceNode
from kernelbench.core.errors import InputError
from kernelbench.core.operations import read_shape
from kernelbench.core.problems import quoted, suggest

SHAPE = "shape"
_SIZE, _EXTENTS = r"[0-9]{1,18}", r"[0-9]{1,18}(x[0-9]{1,18})*"
_SET = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*({_EXTENTS}(\s*,\s*{_EXTENTS})*)", re.ASCII)


@dataclass(frozen=True)
class Overrides:
    """What replaces the values of axes, the shapes, and the types of a suite; empty: as the file says."""

    axes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    shapes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As the user wrote them."""
        shapes = ["x".join(map(str, shape)) for shape in self.shapes]
        sets: Mapping[str, Sequence[int | str]] = {**self.axes, SHAPE: shapes}
        said = [f"--set {name}={','.join(map(str, values))}" for name, values in sets.items() if values]
        return " ".join([*said, *[f"--dtype {','.join(self.dtypes)}"] * bool(self.dtypes)])


def read_changes(sets: Sequence[str], types: Sequence[str]) -> Overrides | None:
    """The changes of `--set` and `--dtype`; None where there are none. InputError for what cannot be read."""
    axes: dict[str, tuple[int, ...]] = {}
    shapes: tuple[tuple[int, ...], ...] = ()
    for text in sets:
        match = _SET.fullmatch(text.strip())
        values = [value.strip() for value in match[2].split(",")] if match else []
        if match is None or (match[1] != SHAPE and any("x" in value for value in values)):
            raise InputError(f"--set {quoted(text)}: expected NAME=SIZE,.. as in seq=77,100,333, or shape=64x77")
        if match[1] == SHAPE:
            shapes = tuple(dict.fromkeys(map(read_shape, values)))
        else:
            axes[match[1]] = tuple(dict.fromkeys(map(int, values)))
    if shapes and axes:
        raise InputError(f"--set {SHAPE}: says all extents; leave out --set {next(iter(axes))}")
    for name in types:
        if name not in dtypes.NAMES:
            raise InputError(f"--dtype {quoted(name)}: unknown type{suggest(name, dtypes.NAMES)}")
    return Overrides(axes, shapes, tuple(dict.fromkeys(types))) if axes or shapes or types else None


def change_suite(root: MappingNode, changes: Overrides, suite: str) -> MappingNode:
    """The tree of a suite without mistakes, with the changes. InputError for an axis that it does not have."""
    if "step" in root.nodes:
        raise InputError(f"{changes.text}: '{suite}' is a step, whose parts have their own shapes; name another suite")
    cases = root.nodes.get("cases")
    blocks = [one for one in cases.nodes if isinstance(one, MappingNode)] if isinstance(cases, SequenceNode) else [root]
    _check(changes, [_axes(block) for block in blocks], suite)
    kept = [block for block in blocks if set(changes.axes) <= set(_axes(block))]
    blocks = [block for one in kept for block in _with_sizes(one, changes)]
    nodes = {name: node for name, node in root.nodes.items() if name not in ("shape", "axes", "cases")}
    keys = ("shape", "axis", "axes", "inputs", "parameters", *(() if changes.dtypes else ("dtype",)))
    nodes["cases"] = SequenceNode(root.line, tuple(_only(block, keys) for block in blocks))
    if changes.dtypes:
        nodes["dtype"] = _list(root.line, changes.dtypes)
    return MappingNode(root.line, nodes, {name: root.key_lines.get(name, root.line) for name in nodes})


def _check(changes: Overrides, axes: Sequence[Mapping[str, Node]], suite: str) -> None:
    names = list(dict.fromkeys(name for own in axes for name in own))
    for name in changes.axes:
        if name in names:
            continue
        if tied := [one for one in names if name in re.findall(r"\w+", one)]:
            raise InputError(f"--set {name}: it steps together with others, {tied[0]}; write --set shape=64x77 instead")
        near = suggest(name, [one for one in names if one.isidentifier()]) or "; write --set shape=64x77"
        raise InputError(f"--set {name}: suite '{suite}' has no axis {quoted(name)}{near}")
    if not any(set(changes.axes) <= set(own) for own in axes):
        raise InputError(f"{changes.text}: no shape of suite '{suite}' has all of these axes; write --set shape=64x77")


def _axes(block: MappingNode) -> Mapping[str, Node]:
    axes = block.nodes.get("axes")
    return axes.nodes if isinstance(axes, MappingNode) else {}


def _with_sizes(block: MappingNode, changes: Overrides) -> list[MappingNode]:
    """The block with the new values of its axes; with new shapes, a block for each."""
    if changes.shapes:
        plain = _only(block, tuple(name for name in block.nodes if name != "axes"))
        return [_with(plain, "shape", _list(block.line, shape)) for shape in changes.shapes]
    if not changes.axes:
        return [block]
    axes = block.nodes["axes"]
    assert isinstance(axes, MappingNode)
    for name, values in changes.axes.items():
        axes = _with(axes, name, _list(axes.line, values))
    return [_with(block, "axes", axes)]


def _list(line: int, values: Sequence[int | str]) -> SequenceNode:
    return SequenceNode(line, tuple(ScalarNode(line, value) for value in values))


def _with(entries: MappingNode, name: str, node: Node) -> MappingNode:
    lines = {name: entries.line, **entries.key_lines}
    return MappingNode(entries.line, {**entries.nodes, name: node}, lines)


def _only(entries: MappingNode, names: Sequence[str]) -> MappingNode:
    nodes = {name: node for name, node in entries.nodes.items() if name in names}
    return MappingNode(entries.line, nodes, {name: entries.key_lines[name] for name in nodes})
