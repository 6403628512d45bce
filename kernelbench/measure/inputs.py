"""Inputs of a case: made here, changed here between samples, and watched for changes by anybody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbench.core.contracts import Device
from kernelbench.core.records import Arrays, ArraySpec

TOUCHED = 64  # neighbouring elements of each input that change between two samples
SPARES = 64 * TOUCHED  # values that touched elements are exchanged with


class Spares:
    """Values of each input's own distribution, that `Inputs.touch` exchanges elements with."""

    def __init__(self, device: Device, specs: Sequence[ArraySpec], seed: int) -> None:
        # What `masked` hides stays hidden, and nothing more: its elements are exchanged with ordinary ones.
        own = [
            replace(spec, shape=(SPARES,), fill="normal" if spec.fill == "masked" else spec.fill)
            for spec in specs
            if spec.role == "input"
        ]
        self.arrays = device.allocate(own)
        device.fill(self.arrays, own, seed)
        for spec in own:  # twice: they stay, and the device has what it compiles at its first use
            for _ in range(2):
                one = self.arrays[spec.name]
                device.swap_contents(one[:TOUCHED], one[TOUCHED : 2 * TOUCHED], spec.dtype)


class Inputs:
    """The inputs of one set of arrays.

    `filled` counts how often they were made anew; `touched` are elements [start, stop) of an input, by its name, that
    were changed since, as long as nobody has taken note and cleared it.
    """

    def __init__(self, device: Device, specs: Sequence[ArraySpec], arrays: Arrays, seed: int | None) -> None:
        self._device, self.arrays = device, arrays
        self.specs = [spec for spec in specs if spec.role == "input"]
        self._all_specs = specs
        self.seed = seed  # that made what they hold; None where that was touched since
        self.filled = 0
        self.touched: list[tuple[str, int, int]] = []
        self._sealed: dict[str, Any] = {}
        self._flat = {spec.name: arrays[spec.name].reshape(-1) for spec in self.specs}

    def fill(self, seed: int) -> None:
        """Make them anew."""
        self._device.fill(self.arrays, self._all_specs, seed)
        self.seed = seed
        self.filled += 1
        self.touched.clear()
        self._sealed.clear()

    def touch(self, spares: Spares, random: np.random.Generator) -> None:
        """Change some elements of each, in the device's stream: no answer of an earlier run is right any more."""
        for spec in self.specs:
            flat, own = self._flat[spec.name], spares.arrays[spec.name]
            count = min(TOUCHED, flat.size)
            start, spare = int(random.integers(flat.size - count + 1)), int(random.integers(SPARES - count + 1))
            self._device.swap_contents(flat[start : start + count], own[spare : spare + count], spec.dtype)
            self.touched.append((spec.name, start, start + count))
        self.seed = None
        self._sealed.clear()

    def seal(self) -> None:
        """Remember, in the device's stream, what they hold from here on."""
        self._sealed = {spec.name: self._device.digest(self.arrays[spec.name]) for spec in self.specs}

    @property
    def sealed(self) -> bool:
        return bool(self._sealed)

    def damage(self) -> str:
        """The input that is not what was sealed, with its first changed element where that is known: `x[3, 17]`."""
        for name, sealed in self._sealed.items():
            if int(self._device.digest(self.arrays[name])) != int(sealed):
                first = "" if self.seed is None else self._device.changed(self.arrays, self._all_specs, self.seed)
                return first or name
        return ""
