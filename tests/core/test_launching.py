"""What a launch is checked for, once the limits of its compiled kernel are known."""

import pytest

from kernelbench.core.errors import DeviceError
from kernelbench.core.launching import Launch


def test_a_block_of_more_threads_than_the_kernel_takes_is_told() -> None:
    launch = Launch("few", (1, 1, 1), (8, 4, 2), ())
    launch.check_threads(64)
    with pytest.raises(DeviceError, match=r"kernel few: expected at most 63 threads per block, as .* got 64; launch"):
        launch.check_threads(63)
