"""The keys of one mapping of the file, read one by one as Python values; mistakes are noted.

A reader returns None (or an empty tuple) for a value that is absent or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from kernelbench.core.documents import MappingNode, Node, RefusedNode, ScalarNode, SequenceNode, yaml_node_text
from kernelbench.core.problems import Problems, quoted, suggest
from kernelbench.suite.shapes import MAX_INTEGER


class Fields:
    """`where` follows 'unknown key' in messages: " under 'cases'", "" for the top level."""

    def __init__(self, entries: MappingNode, known: Sequence[str], where: str, problems: Problems) -> None:
        self.line = entries.line
        self.problems = problems
        self._entries = entries
        for name, line in entries.key_lines.items():
            if name not in known:
                problems.add(line, f"unknown key {quoted(name)}{where}{suggest(name, known)}")

    def __contains__(self, key: str) -> bool:
        return key in self._entries.nodes

    def node(self, key: str) -> Node | None:
        return self._entries.nodes.get(key)

    def line_of(self, key: str) -> int:
        """The line of a key, or of the mapping if the key is absent."""
        return self._entries.key_lines.get(key, self.line)

    def require(self, key: str) -> None:
        if key not in self:
            self.problems.add(self.line, f"missing key '{key}'")

    def expected(self, key: str, what: str, node: Node) -> None:
        """Note that `node`, at or below `key`, is not `what`."""
        if not isinstance(node, RefusedNode):
            self.problems.add(node.line, f"'{key}' must be {what}, got {yaml_node_text(node)}")

    def integer(self, key: str) -> int | None:
        node = self.node(key)
        number = integer_of_node(node)
        if number is None and node is not None:
            self.expected(key, "an integer", node)
        return number

    def text(self, key: str, *, lines: bool = False) -> str | None:
        """A text that is not empty, of one line unless `lines`."""
        node = self.node(key)
        if node is None:
            return None
        if not (isinstance(node, ScalarNode) and isinstance(node.value, str) and node.value.strip()):
            self.expected(key, "a text", node)
            return None
        if not lines and "\n" in node.value.strip():
            self.expected(key, "a text of one line", node)
            return None
        return node.value.strip()

    def name(self, key: str, pattern: re.Pattern[str], known: Collection[str] | None) -> str | None:
        """One name, one of `known` if given."""
        node = self.node(key)
        return None if node is None else self._name(key, node, "a name", pattern, known)

    def names(self, key: str, pattern: re.Pattern[str], known: Collection[str] | None) -> tuple[str, ...]:
        """One name or a list of names, each once; wrong names are noted and left out."""
        node = self.node(key)
        if node is None:
            return ()
        found: dict[str, int] = {}
        for item in one_or_more(node):
            name = self._name(key, item, "a name or a list of names", pattern, known)
            if name in found:
                self.problems.add(item.line, f"{quoted(name)} is given twice under '{key}'")
            elif name is not None:
                found[name] = item.line
        if isinstance(node, SequenceNode) and not node.nodes:
            self.problems.add(node.line, f"'{key}' is an empty list; expected at least one name")
        return tuple(found)

    def _name(
        self, key: str, node: Node, what: str, pattern: re.Pattern[str], known: Collection[str] | None
    ) -> str | None:
        if not (isinstance(node, ScalarNode) and isinstance(node.value, str)):
            self.expected(key, what, node)
        elif not pattern.fullmatch(node.value):
            self.problems.add(node.line, f"{quoted(node.value)} under '{key}' is not a name")
        elif known is not None and node.value not in known:
            self.problems.add(node.line, f"unknown {_SINGULAR[key]} {quoted(node.value)}{suggest(node.value, known)}")
        else:
            return node.value
        return None


_SINGULAR = {
    "operation": "operation",
    "implementations": "implementation",
    "baseline": "baseline",
    "unfused": "implementation",
    "fused": "implementation",
    "claims": "claim",
    "caches": "cache state",
    "dtype": "dtype",
    "inputs": "distribution",
}


def one_or_more(node: Node) -> tuple[Node, ...]:
    """The items of a list; any other node as the only item."""
    return node.nodes if isinstance(node, SequenceNode) else (node,)


def text_of_node(node: Node) -> str | None:
    """The text of a node, or its integer as text; None for anything else."""
    number = integer_of_node(node)
    text = str(number) if number is not None else node.value if isinstance(node, ScalarNode) else None
    return text if isinstance(text, str) else None


def integer_of_node(node: Node | None) -> int | None:
    """The integer of a node; None for anything else, including `true` and integers beyond 64 bits."""
    if isinstance(node, ScalarNode) and type(node.value) is int and abs(node.value) <= MAX_INTEGER:
        return node.value
    return None
