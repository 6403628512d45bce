"""Arithmetic of a launch: `rows`, `ceil(n / 256)`, `min(columns, 1024), 4`.

Python's grammar parses it, and it is evaluated node by node in exact fractions; nothing is compiled or executed.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from kernelbench.core.errors import OwnFileError
from kernelbench.core.problems import quoted, suggest

Number = int | float | Fraction
_LONGEST = 200  # characters; too few to nest deeper than Python's parser goes
_CHARACTERS = re.compile(r"[\w .+\-*/%(),]*", re.ASCII)
_MOST = 2**63
_OPERATORS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: Mapping[str, Callable[..., Number]] = {"ceil": math.ceil, "min": min, "max": max}
_ALLOWED = "numbers, names, + - * / // % and ceil(), min(), max()"


@dataclass(frozen=True)
class Expression:
    """One value, not yet evaluated; `place` is where the user wrote it: `--grid`, `my.cu:3`."""

    tree: ast.expr
    place: str

    @property
    def text(self) -> str:
        return ast.unparse(self.tree)

    @property
    def names(self) -> set[str]:
        return {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}

    def value(self, names: Mapping[str, int | float]) -> Fraction:
        """Its exact value. OwnFileError for an unknown name, a division by zero, or a number of more than 64 bits."""
        try:
            return self._value(self.tree, names)
        except ZeroDivisionError:
            raise self._wrong("divides by zero") from None

    def whole(self, names: Mapping[str, int | float], taker: str = "") -> int:
        """Its value as an integer; OwnFileError for a fraction. `taker`: what takes it, as `n of k has type int`."""
        found = self.value(names)
        if found.denominator != 1:
            number = self.tree.operand if isinstance(self.tree, ast.UnaryOp) else self.tree
            if isinstance(number, ast.Constant):
                todo = f", but {taker}: give an integer, or declare it as float" if taker else "; give an integer"
                raise self._wrong(f"is no whole number{todo}")
            raise self._wrong(f"is {float(found):g}; round up with ceil(a / b), or down with a // b")
        return found.numerator

    def _value(self, tree: ast.expr, names: Mapping[str, int | float]) -> Fraction:
        found: Number
        if isinstance(tree, ast.Name):
            if tree.id not in names:
                raise self._wrong(f"unknown name {quoted(tree.id)}{suggest(tree.id, names)}")
            found = names[tree.id]
        elif isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)) and abs(tree.value) < _MOST:
            found = tree.value
        elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            found = -self._value(tree.operand, names)
        elif isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
            found = _OPERATORS[type(tree.op)](self._value(tree.left, names), self._value(tree.right, names))
        elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _FUNCTIONS:
            arguments = [self._value(one, names) for one in tree.args]
            if tree.keywords or len(arguments) < 1 or (len(arguments) == 1) != (tree.func.id == "ceil"):
                raise self._wrong("ceil() takes one value, min() and max() several")
            found = _FUNCTIONS[tree.func.id](*arguments)
        else:
            raise self._wrong(f"is not made of {_ALLOWED}")
        if not -_MOST < found < _MOST:  # at every step, so that products of products cannot grow without bound
            raise self._wrong("is beyond 2^63")
        return Fraction(found)

    def _wrong(self, text: str) -> OwnFileError:
        return OwnFileError(f"{self.place}: {quoted(self.text)}: {text}")


def parse_expression(text: str, place: str) -> tuple[Expression, ...]:
    """The expressions of a list `a, b`. OwnFileError for what is no arithmetic; names are looked up later."""
    wrong = OwnFileError(f"{place}: {quoted(text)} cannot be read; expected {_ALLOWED}")
    if len(text) > _LONGEST or not _CHARACTERS.fullmatch(text) or not text.strip():
        raise wrong
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise wrong from None
    return tuple(Expression(one, place) for one in (tree.elts if isinstance(tree, ast.Tuple) else (tree,)))
