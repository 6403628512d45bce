"""YAML files as trees whose nodes know their lines: suites, entries of the ledger, tables of tuned launches.

A tree is built from the parser's events. Tags, anchors and aliases are refused before they become objects, and depth,
size and strings are bounded. Scalars follow the core schema of YAML 1.2, where `1e-5` is a number and `on` a word;
PyYAML's own resolver (YAML 1.1) does the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from kernelbench.core.errors import InputError
from kernelbench.core.problems import Problems, quoted
from kernelbench.core.texts import is_unprintable

MAX_DEPTH = 20
_MAX_SAID = 300  # characters of PyYAML's own message, which may repeat large parts of the file
_MAX_DIGITS = 40  # enough for every number; int() refuses texts of thousands of digits

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*(_[0-9]+)*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONSTANTS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())
}


@dataclass(frozen=True)
class FileFormat:
    """The limits of a kind of file, and words for its errors."""

    name: str  # "a suite"
    keys: str  # what its mapping should have: "keys such as 'title'"
    least: str  # what an empty file lacks: "at least title and operation"
    max_bytes: int = 64 * 1024  # PyYAML's own parser takes a second for this much
    max_text: int = 2000  # characters of a string
    fast: bool = False  # use libyaml where available: ten times as fast, with less precise errors


@dataclass(frozen=True)
class ScalarNode:
    line: int
    value: bool | int | float | str | None


@dataclass(frozen=True)
class SequenceNode:
    line: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class MappingNode:
    line: int
    nodes: Mapping[str, Node]
    key_lines: Mapping[str, int]


@dataclass(frozen=True)
class RefusedNode:
    """A node that was already reported, which readers ignore."""

    line: int


Node: TypeAlias = "ScalarNode | SequenceNode | MappingNode | RefusedNode"


def yaml_node_text(node: Node) -> str:
    """A node as messages name it."""
    if isinstance(node, SequenceNode):
        return "a list"
    if isinstance(node, MappingNode):
        return "a mapping"
    return quoted(node.value) if isinstance(node, ScalarNode) else "something refused"


def plain_values(node: Node) -> Any:
    """The node as lists, dicts and scalars. A key that is written as an integer becomes an int."""
    if isinstance(node, SequenceNode):
        return [plain_values(item) for item in node.nodes]
    if isinstance(node, MappingNode):
        return {_key(name): plain_values(item) for name, item in node.nodes.items()}
    return node.value if isinstance(node, ScalarNode) else None


def _key(name: str) -> int | str:
    return int(name) if len(name) <= _MAX_DIGITS and _INTEGER.fullmatch(name) else name


def line_at(root: Node, place: str) -> int:
    """Line of `figures[0].us.ft`, or of the longest part of that path that the file has; 0 where it has none."""
    line, node = 0, root
    for key in re.findall(r"[^.\[\]]+", place):
        if isinstance(node, SequenceNode) and key.isdigit() and int(key) < len(node.nodes):
            node = node.nodes[int(key)]
            line = node.line
        elif isinstance(node, MappingNode) and key in node.nodes:
            line, node = node.key_lines[key], node.nodes[key]
        else:
            break
    return line


def read_document(path: Path, problems: Problems, form: FileFormat) -> MappingNode:
    """The file's one top-level mapping.

    `path` is a regular file. Raises InputError where it cannot be read, ProblemsError where it is not a YAML mapping.
    Mistakes after which reading can go on are only noted in `problems`.
    """
    text = _read_text(path, problems, form)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if form.fast else yaml.SafeLoader
    try:
        root = _Builder(yaml.parse(text, Loader=loader), problems, form).document()
    except yaml.reader.ReaderError as error:
        # The position counts characters of the text; the mark that other errors carry is missing here.
        line = text.count("\n", 0, error.position) + 1
        found = f"character {text[error.position]!a}" if error.position < len(text) else "a character"
        problems.fail(line, f"{found} cannot stand in {form.name}: not valid YAML")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        problems.fail(mark.line + 1 if mark else 0, f"not valid YAML: {said[:_MAX_SAID]}")
    except (ValueError, OverflowError) as error:
        # PyYAML lets int() and chr() fail on %YAML 9999..9 and on "\UFFFFFFFF".
        problems.fail(0, f"not valid YAML: {error}")
    if root is None:
        problems.fail(0, f"the file is empty; expected {form.least}")
    if isinstance(root, RefusedNode):
        problems.raise_any()
    if not isinstance(root, MappingNode):
        problems.fail(root.line, f"expected {form.keys}, got {yaml_node_text(root)}")
    return root


def _read_text(path: Path, problems: Problems, form: FileFormat) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(form.max_bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > form.max_bytes:
        problems.fail(0, f"the file is larger than {form.max_bytes // 1024} KB, the limit of {form.name}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problems.fail(line, f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8")


class _Builder:
    """Builds a tree from events. Recursion is at most MAX_DEPTH deep."""

    def __init__(self, events: Iterator[Any], problems: Problems, form: FileFormat) -> None:
        self._events = events
        self._problems = problems
        self._form = form

    def document(self) -> Node | None:
        """The document's root, None for an empty file; a second document is a problem."""
        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    line = event.start_mark.line + 1 if event.start_mark else 0
                    self._problems.fail(line, f"a second document starts; {self._form.name} is one document")
                root = self._node(next(self._events), depth=1)
        return root

    def _node(self, event: Any, depth: int) -> Node:
        line: int = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            self._problems.fail(line, f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.AliasEvent):
            self._problems.add(line, f"alias {quoted(f'*{event.anchor}')} is refused; write the value out")
            return RefusedNode(line)
        if event.anchor is not None:
            self._problems.add(
                line, f"anchor {quoted(f'&{event.anchor}')} is refused; write values out where they are used"
            )
        node = self._content(event, line, depth)
        if event.tag is not None:
            self._problems.add(line, f"tag {quoted(event.tag)} is refused; {self._form.name} holds plain values")
            return RefusedNode(line)
        return node

    def _content(self, event: Any, line: int, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, line)
        if isinstance(event, yaml.SequenceStartEvent):
            nodes: list[Node] = []
            while not isinstance(item := next(self._events), yaml.SequenceEndEvent):
                nodes.append(self._node(item, depth + 1))
            return SequenceNode(line, tuple(nodes))
        return self._mapping(line, depth)

    def _mapping(self, line: int, depth: int) -> Node:
        nodes: dict[str, Node] = {}
        key_lines: dict[str, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if isinstance(key, ScalarNode):
                # As written: `1:` and `null:` are the (unknown) keys '1' and 'null'.
                name = str(event.value)
                if name in nodes:
                    self._problems.add(key.line, f"key {quoted(name)} is given twice, first in line {key_lines[name]}")
                else:
                    nodes[name], key_lines[name] = value, key.line
            elif not isinstance(key, RefusedNode):
                self._problems.add(key.line, f"a key must be a word, got {yaml_node_text(key)}")
        return MappingNode(line, nodes, key_lines)

    def _scalar(self, event: Any, line: int) -> Node:
        text: str = event.value
        if len(text) > self._form.max_text:
            self._problems.add(line, f"text of {len(text)} characters; the limit is {self._form.max_text}")
            return RefusedNode(line)
        for character in "" if text.isprintable() else text:
            if character != "\n" and is_unprintable(character):
                self._problems.add(line, f"text holds the control character {character!a}")
                return RefusedNode(line)
        if not event.implicit[0]:  # quoted, or a block: a string whatever it looks like
            return ScalarNode(line, text)
        return self._plain(text, line)

    def _plain(self, text: str, line: int) -> Node:
        if text in _CONSTANTS:
            return ScalarNode(line, _CONSTANTS[text])
        if _SPECIAL.fullmatch(text):
            return ScalarNode(line, float(text.replace(".", "")))
        integer = _INTEGER.fullmatch(text)
        if not integer and not _FLOAT.fullmatch(text):
            return ScalarNode(line, text)
        if len(text) > _MAX_DIGITS:
            self._problems.add(line, f"number of {len(text)} characters; the limit is {_MAX_DIGITS}")
            return RefusedNode(line)
        return ScalarNode(line, int(text) if integer else float(text))
