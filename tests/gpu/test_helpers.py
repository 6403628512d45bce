"""What tests on a GPU lean on; holds without one."""

from collections.abc import Sequence

import numpy as np

from kernelbench.core import dtypes
from kernelbench.core.records import Arrays, ArraySpec
from tests.fake_gpu import FakeDevice
from tests.gpu.unaligned import RED_ZONE_BYTE, Unaligned

SPECS = (ArraySpec("x", (3, 5), "float16", "input"), ArraySpec("y", (3, 5), "float32", "output"))


class Filled(FakeDevice):
    """Fills what it allocates, as the GPU's own device does."""

    def __init__(self) -> None:
        super().__init__({})
        self.whole: Arrays = {}

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        self.whole = super().allocate(specs)
        for array in self.whole.values():
            array.view(np.uint8)[...] = RED_ZONE_BYTE
        return self.whole


def test_chosen_arrays_begin_one_element_late() -> None:
    device = Filled()
    arrays = Unaligned(device, ["y"]).allocate(SPECS)
    assert {name: array.shape for name, array in arrays.items()} == {"x": (3, 5), "y": (3, 5)}
    late = {name: array.ctypes.data - device.whole[name].ctypes.data for name, array in arrays.items()}
    assert late == {"x": 0, "y": dtypes.itemsize("float32")}
    assert device.whole["y"].size == 16


def test_the_element_before_is_watched_and_let_go() -> None:
    device = Filled()
    unaligned = Unaligned(device, ["x", "y"])
    arrays = unaligned.allocate(SPECS)
    unaligned.poison(arrays, SPECS)
    assert unaligned.red_zone_damage() == ""
    device.whole["x"][0] = 1
    assert unaligned.red_zone_damage() == "x"
    unaligned.release()
    assert unaligned.red_zone_damage() == ""
    assert device.clock.log == ["poison", "release"]
