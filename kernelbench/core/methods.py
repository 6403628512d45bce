"""States of the cache, and the timing method by which implementations are compared: always the same on all sides."""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

Cache = Literal["cold", "warm"]
CACHES: tuple[Cache, ...] = ("cold", "warm")
METHODS = ("graph", "events")  # preferred first: graphs carry no event overhead


def shared_method(*timed: Container[str]) -> str | None:
    """The preferred method among those by which every side was timed; None if there is none."""
    return next((method for method in METHODS if all(method in methods for methods in timed)), None)
