"""Exact arithmetic of floating-point formats with fractions: what IEEE 754 says, in any direction of rounding."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    digits: int  # of the significand
    least: int  # exponent of the least normal number
    most: int  # exponent of the largest


FORMATS = {
    "f16": Format(11, -14, 15),
    "bf16": Format(8, -126, 127),
    "f32": Format(24, -126, 127),
    "f64": Format(53, -1022, 1023),
}


def rounded(value: Fraction, kind: str, direction: str = "rn", *, negative_zero: bool = False) -> float:
    """The number of the format for `value`; float64 has all of them."""
    if value == 0:
        return -0.0 if negative_zero else 0.0
    form = FORMATS[kind]
    size, sign = abs(value), -1 if value < 0 else 1
    exponent = max(_exponent(size), form.least)
    unit = Fraction(2) ** (exponent - form.digits + 1)
    whole, rest = divmod(size, unit)
    up = {
        "rn": rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1),
        "rz": False,
        "rm": rest != 0 and sign < 0,
        "rp": rest != 0 and sign > 0,
    }[direction]
    result = (whole + up) * unit
    largest = Fraction(2) ** form.most * (2 - Fraction(2) ** (1 - form.digits))
    if result > largest:
        to_infinity = direction in ("rn", "rm" if sign < 0 else "rp")
        return sign * (math.inf if to_infinity else float(largest))
    return math.copysign(float(result), sign)


def _exponent(size: Fraction) -> int:
    """floor(log2(size))"""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def evaluate(
    operation: Callable[..., Fraction], special: Callable[..., float], kind: str, direction: str, *operands: float
) -> float:
    """`operation` on fractions where all operands are finite and the result is not zero; else `special`, in float64."""
    if not all(map(math.isfinite, operands)):
        return special(*operands)
    exact = operation(*map(Fraction, operands))
    if exact != 0:
        return rounded(exact, kind, direction)
    return special(*operands)


def add(kind: str, direction: str, a: float, b: float) -> float:
    def special(a: float, b: float) -> float:
        if a == -b and math.isfinite(a) and (a != 0 or math.copysign(1, a) != math.copysign(1, b)):
            return -0.0 if direction == "rm" else 0.0
        return a + b

    return evaluate(lambda a, b: a + b, special, kind, direction, a, b)


def subtract(kind: str, direction: str, a: float, b: float) -> float:
    return add(kind, direction, a, -b)


def multiply(kind: str, direction: str, a: float, b: float) -> float:
    return evaluate(lambda a, b: a * b, lambda a, b: a * b, kind, direction, a, b)


def fused(kind: str, direction: str, a: float, b: float, c: float) -> float:
    def special(a: float, b: float, c: float) -> float:
        if all(map(math.isfinite, (a, b, c))):  # an exact zero: only the signs count
            negative = math.copysign(1, a) * math.copysign(1, b) < 0
            product = -0.0 if negative else 0.0
            if a * b != 0 or c != 0:
                return -0.0 if direction == "rm" else 0.0
            return add(kind, direction, product, c)
        if math.isfinite(a) and math.isfinite(b):
            return c
        return a * b + c

    return evaluate(lambda a, b, c: a * b + c, special, kind, direction, a, b, c)


def divide(kind: str, direction: str, a: float, b: float) -> float:
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    if b == 0 or math.isinf(a):
        return sign * math.inf
    if a == 0 or math.isinf(b):
        return sign * 0.0
    return rounded(Fraction(a) / Fraction(b), kind, direction)


def square_root(kind: str, direction: str, a: float) -> float:
    if not a > 0:
        return a if a == 0 else math.nan
    if math.isinf(a):
        return a
    # Twice the digits that are needed, and an inexact rest marked by one more.
    exact = Fraction(a)
    shift = 2 * (FORMATS[kind].digits + 8) - _exponent(exact)
    shift += shift % 2
    scaled = exact * Fraction(2) ** shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    inexact = Fraction(root * root) != scaled
    return rounded((Fraction(root) + Fraction(inexact, 4)) / Fraction(2) ** (shift // 2), kind, direction)


def flush(value: float, least: float = 2.0**-126) -> float:
    return math.copysign(0.0, value) if abs(value) < least else value
