"""Rows of two runs against each other, as the table and the page of changes show them."""

from typing import Any

from kernelbench.compare.changes import Change, JudgedRow


def timed(case: int, name: str, ratio: float, verdict: str, **cells: Any) -> JudgedRow:
    made = {"case": f"n={case} dtype=float32", "implementation": name, "cache": "cold", "method": "events"}
    made |= {"first_s": 50e-6, "second_s": 50e-6 * ratio, "first_share": 0.9, "second_share": 0.9 / ratio}
    made |= {"ratio": ratio, "ratio_low": ratio - 0.002, "ratio_high": ratio + 0.003, "band": 0.008}
    made |= {"verdict": verdict, "first_samples": 33, "second_samples": 40, "code": "same"}
    return JudgedRow(**{**made, "first_status": "ok", "second_status": "ok", **cells})


def lone(case: int, name: str, **cells: Any) -> Change:
    """A row that is not compared."""
    return Change(f"n={case} dtype=float32", name, "", "", **{"first_status": "ok", **cells})
