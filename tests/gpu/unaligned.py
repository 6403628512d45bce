"""A device whose arrays begin one element beyond an aligned address, so that no pack of two begins where they do."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from kernelbench.core.contracts import Device
from kernelbench.core.records import Arrays, ArraySpec

RED_ZONE_BYTE = 0xA5  # of devices/cuda, which fills what it allocates with it; the element before an array stays so


class Unaligned:
    """As `device` in all else; `names` are the arrays that begin beyond."""

    def __init__(self, device: Device, names: Collection[str]) -> None:
        self._device, self._names = device, names
        self._before: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        longer = [replace(spec, shape=(prod(spec.shape) + 1,)) if spec.name in self._names else spec for spec in specs]
        arrays = dict(self._device.allocate(longer))
        for spec in specs:
            if spec.name in self._names:
                whole = arrays[spec.name]
                self._before.append((spec.name, whole[:1].view(np.uint8)))
                arrays[spec.name] = whole[1:].reshape(spec.shape)
        return arrays

    def red_zone_damage(self) -> str:
        before = [name for name, element in self._before if bool((element != RED_ZONE_BYTE).any())]
        return ", ".join(dict.fromkeys([*before, *filter(None, [self._device.red_zone_damage()])]))

    def release(self) -> None:
        self._before.clear()
        self._device.release()
