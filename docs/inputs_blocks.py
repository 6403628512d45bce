"""The tables of docs/inputs.md, from kernelbench's distributions and what operations and kernels say of themselves.

The page lists the operations with published figures; a further operation changes no page.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelbench.compare import read_ledger
from kernelbench.core import places
from kernelbench.core.distributions import DISTRIBUTIONS
from kernelbench.core.operations import FLOATS, Case, Operation
from kernelbench.planning.catalog import load_catalog

ELEMENTS = 2**20  # of the example for which `large` is told


def published_operations() -> tuple[str, ...]:
    """Names of the operations that the ledger has figures of, in order."""
    known = load_catalog().operations
    return tuple(sorted({claim.document["operation"] for claim in read_ledger(places.LEDGER).values()} & set(known)))


def inputs_blocks() -> Mapping[str, str]:
    return {
        "distributions": distributions_block(),
        "largest": largest_block(),
        "special": special_block(),
        "deviations": deviations_block(),
    }


def distributions_block() -> str:
    lines = ["| inputs | what they are |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {meaning} |" for name, meaning in DISTRIBUTIONS.items())])


def largest_block() -> str:
    """What `large` goes up to, by operation and type, and what each operation refuses."""
    lines = [f"| operation | {' | '.join(f'`large`, {dtype}' for dtype in FLOATS)} | has no |", "|---|--:|--:|--:|---|"]
    operations = load_catalog().operations
    for name in published_operations():
        operation = operations[name]
        cells = [_largest(operation, dtype) for dtype in FLOATS]
        lacks = ", ".join(f"`{one}`" for one in DISTRIBUTIONS if operation.refusal(one))
        lines.append(f"| `{name}` | {' | '.join(cells)} | {lacks} |")
    return "\n".join(lines)


def _largest(operation: Operation, dtype: str) -> str:
    if operation.large is None or operation.refusal("large"):
        return ""
    return f"{operation.large(Case(operation.name, (ELEMENTS,), -1, dtype, inputs='large')):.3g}"


def special_block() -> str:
    lines = ["| operation | -inf | inf | NaN | as in PyTorch's |", "|---|---|---|---|---|"]
    operations = load_catalog().operations
    for name in published_operations():
        if (special := operations[name].special) is not None:
            differs = f", {special.differs}" if special.differs else ""
            cells = (special.minus_inf, special.plus_inf, special.nan, f"`{special.pytorch}`{differs}")
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def deviations_block() -> str:
    """Implementations of one reason stand in one row."""
    found: dict[tuple[str, str, str], list[str]] = {}
    implementations = load_catalog().implementations
    for operation in published_operations():
        for one in implementations[operation].values():
            for deviation in one.deviations:
                found.setdefault((operation, deviation.inputs, deviation.reason), []).append(one.name)
    lines = ["| operation | implementations | inputs | what they give |", "|---|---|---|---|"]
    for (operation, inputs, reason), names in found.items():
        lines.append(f"| `{operation}` | {', '.join(f'`{name}`' for name in names)} | `{inputs}` | {reason} |")
    return "\n".join(lines)
