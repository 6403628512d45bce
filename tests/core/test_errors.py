"""How an error of others becomes the reason of a row."""

import pytest

from kernelbench.core.errors import DeviceError, reason_of


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            ValueError("\x1b[91m\x1b[1merror[X]:\x1b[0m failed (1)\n\n   Keep\n   it small."),
            "ValueError: error[X]: failed (1) Keep it small.",
        ),
        (MemoryError("of 3 GB"), "out of memory: of 3 GB"),
        (DeviceError("one:\n  two"), "one:\n  two"),
    ],
)
def test_a_reason_has_no_colours_and_one_line(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
