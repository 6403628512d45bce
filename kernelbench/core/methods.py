"""By which timing method two implementations are held against each other: never one against another."""

from __future__ import annotations

from collections.abc import Container

METHODS = ("graph", "events")  # preferred first: graphs carry no event overhead


def shared_method(*timed: Container[str]) -> str | None:
    """The preferred of the methods that every side was timed by; None where they share none."""
    return next((method for method in METHODS if all(method in methods for methods in timed)), None)
