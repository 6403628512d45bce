"""Shapes with axis names: `[32, 64, seq, seq]`, `(67108864 // columns, columns)`.

Extents are arithmetic on integers and axis names, with + - * // and parentheses. Their tokens are checked, then
Python's grammar parses them, and they are evaluated node by node; nothing is compiled or executed.
"""

import ast
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelbench.core.errors import InputError
from kernelbench.core.problems import quoted

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
MAX_INTEGER = 2**63 - 1  # kernels count in int64
MAX_RANK = 8
_MAX_EXPRESSION = 200  # characters; too few to nest deeper than Python's parser goes

# Each token ends where no further character could belong to it, so a text splits in only one way.
_TOKENS = re.compile(r"( |[A-Za-z_][A-Za-z0-9_]*(?![A-Za-z0-9_])|[0-9]+(?![A-Za-z0-9_])|//|[-+*(),])*")
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.FloorDiv: lambda left, right: left // right,
}
_ALLOWED = "integers, axis names, + - * // and parentheses"


@dataclass(frozen=True)
class Extent:
    """One extent of a shape, not yet evaluated."""

    text: str
    tree: ast.expr

    @property
    def names(self) -> tuple[str, ...]:
        """Axis names in it, in order of appearance."""
        return tuple(dict.fromkeys(node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)))

    def value(self, axes: Mapping[str, int]) -> int:
        """Its value for these values of the axes. Raises InputError unless it is 1 .. 2^63 - 1."""
        at = "".join(f", at {name}={axes[name]}" for name in self.names)
        try:
            number = _evaluate(self.tree, axes)
        except ZeroDivisionError:
            raise InputError(f"{quoted(self.text)} divides by zero{at}") from None
        except OverflowError:
            raise InputError(f"{quoted(self.text)} is beyond 64 bits{at}") from None
        if number < 1:
            got = f"{quoted(self.text)} is {number}{at}" if self.names else f"got {number}"
            raise InputError(f"an extent must be at least 1, {got}")
        return number


def is_axis_name(text: str) -> bool:
    """Whether `text` can name an axis: a short identifier that is not a Python keyword."""
    return bool(NAME.fullmatch(text)) and not keyword.iskeyword(text)


def parse_extent(text: str) -> Extent:
    """One extent. Raises InputError for anything but the allowed arithmetic."""
    tree = _parse_expression(text)
    _refuse_others(tree, text)
    return Extent(text, tree)


def parse_shape(text: str) -> tuple[Extent, ...]:
    """A shape written as one text, "(32, 64, seq, seq)". Raises InputError."""
    tree = _parse_expression(text)
    if not isinstance(tree, ast.Tuple):
        raise InputError(f"shape must be a list or a text such as '(32, seq)', got {quoted(text)}")
    for extent in tree.elts:
        _refuse_others(extent, text)
    return tuple(Extent(ast.unparse(extent), extent) for extent in tree.elts)


def _parse_expression(text: str) -> ast.expr:
    if len(text) > _MAX_EXPRESSION:
        raise InputError(f"expression of {len(text)} characters in the shape; the limit is {_MAX_EXPRESSION}")
    if not _TOKENS.fullmatch(text):
        raise InputError(f"{quoted(text)} in the shape is not made of {_ALLOWED}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise InputError(f"{quoted(text)} in the shape cannot be read; expected {_ALLOWED}") from None


def _refuse_others(tree: ast.expr, text: str) -> None:
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        _refuse_others(tree.left, text)
        _refuse_others(tree.right, text)
    elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, (ast.USub, ast.UAdd)):
        _refuse_others(tree.operand, text)
    elif isinstance(tree, ast.Constant) and type(tree.value) is int:
        if tree.value > MAX_INTEGER:
            raise InputError(f"{quoted(text)} in the shape is beyond 2^63 - 1")
    elif not (isinstance(tree, ast.Name) and is_axis_name(tree.id)):
        raise InputError(f"{quoted(text)} in the shape is not made of {_ALLOWED}")


def _evaluate(tree: ast.expr, axes: Mapping[str, int]) -> int:
    if isinstance(tree, ast.Name):
        return axes[tree.id]
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return tree.value
    if isinstance(tree, ast.UnaryOp):
        operand = _evaluate(tree.operand, axes)
        return -operand if isinstance(tree.op, ast.USub) else operand
    if not isinstance(tree, ast.BinOp):
        raise TypeError(f"not an extent: {ast.dump(tree)}")
    number = _OPERATORS[type(tree.op)](_evaluate(tree.left, axes), _evaluate(tree.right, axes))
    # Checked at every step, so that products of products cannot grow without bound.
    if abs(number) > MAX_INTEGER:
        raise OverflowError
    return number
