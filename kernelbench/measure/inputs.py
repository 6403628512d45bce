"""Inputs of a case: filled, changed between samples, and checked for writes by kernels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbench.core.contracts import Device
from kernelbench.core.records import Arrays, ArraySpec

TOUCHED = 64  # adjacent elements of each input that change between two samples
SPARES = 64 * TOUCHED  # values to swap them with


class Spares:
    """Values from each input's own distribution, which `Inputs.touch` swaps in."""

    def __init__(self, device: Device, specs: Sequence[ArraySpec], seed: int) -> None:
        # `touch` must not mask further elements, so the spares of a masked input are ordinary values.
        own = [
            replace(spec, shape=(SPARES,), fill="normal" if spec.fill == "masked" else spec.fill)
            for spec in specs
            if spec.role == "input"
        ]
        self.arrays = device.allocate(own)
        device.fill(self.arrays, own, seed)
        for spec in own:  # the device compiles the swap at its first use; the second one undoes the first
            for _ in range(2):
                one = self.arrays[spec.name]
                device.swap_contents(one[:TOUCHED], one[TOUCHED : 2 * TOUCHED], spec.dtype)


class Inputs:
    """The inputs of one set of arrays.

    `filled` counts fills. `touched` lists the elements (name, start, stop) that changed since; its reader clears it.
    """

    def __init__(self, device: Device, specs: Sequence[ArraySpec], arrays: Arrays, seed: int | None) -> None:
        self._device, self.arrays = device, arrays
        self.specs = [spec for spec in specs if spec.role == "input"]
        self._all_specs = specs
        self.seed = seed  # of the last fill; None once elements were touched
        self.filled = 0
        self.touched: list[tuple[str, int, int]] = []
        self._sealed: dict[str, Any] = {}
        self._flat = {spec.name: arrays[spec.name].reshape(-1) for spec in self.specs}

    def fill(self, seed: int) -> None:
        self._device.fill(self.arrays, self._all_specs, seed)
        self.seed = seed
        self.filled += 1
        self.touched.clear()
        self._sealed.clear()

    def touch(self, spares: Spares, random: np.random.Generator) -> None:
        """Change some elements of each input, in the device's stream, so that no earlier result is right any more."""
        for spec in self.specs:
            flat, own = self._flat[spec.name], spares.arrays[spec.name]
            count = min(TOUCHED, flat.size)
            start, spare = int(random.integers(flat.size - count + 1)), int(random.integers(SPARES - count + 1))
            self._device.swap_contents(flat[start : start + count], own[spare : spare + count], spec.dtype)
            self.touched.append((spec.name, start, start + count))
        self.seed = None
        self._sealed.clear()

    def seal(self) -> None:
        """Take digests of the inputs, in the device's stream."""
        self._sealed = {spec.name: self._device.digest(self.arrays[spec.name]) for spec in self.specs}

    @property
    def sealed(self) -> bool:
        return bool(self._sealed)

    def damage(self) -> str:
        """The first changed element of an input that changed since `seal`, `x[3, 17]`; its name if that is unknown."""
        for name, sealed in self._sealed.items():
            if int(self._device.digest(self.arrays[name])) != int(sealed):
                first = "" if self.seed is None else self._device.changed(self.arrays, self._all_specs, self.seed)
                return first or name
        return ""
