"""Texts that are put together from parts."""

import pytest

from kernelbench.core.texts import singular


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("32 lanes and 1 rows at once", "32 lanes and 1 row at once"),
        ("1 axes once neighbours are merged; 2 moves", "1 axis once neighbours are merged; 2 moves"),
        ("1 of 1 binaries, 2 binaries", "1 of 1 binary, 2 binaries"),
        ("1 times 8192 rows", "1 times 8192 rows"),
        ("11 rows, 2.1 packs, 1 pass", "11 rows, 2.1 packs, 1 pass"),
    ],
)
def test_one_of_a_thing_is_no_plural(said: str, read: str) -> None:
    assert singular(said) == read
