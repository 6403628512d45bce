"""The state that a sample starts from: outputs poisoned, inputs changed since the sample before.

An answer from before is then wrong, wherever it was kept: in the output, in recycled memory, or by a library.
A verified sample does three things more. Right before the timed run it seals the inputs and, for a cold sample, poisons
the outputs again. Right behind the run it takes digests of the outputs. This finds work of another stream, earlier or
later. It also touches the L2, so the sample's time is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelbench.core.records import Arrays
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.inputs import Spares
from kernelbench.measure.verify import digests


class Staging:
    """Stages the samples of one case; `verified`: whether those that come now are."""

    def __init__(self, data: CaseData, seed: int) -> None:
        self._setup = data
        self._random = np.random.default_rng(seed)
        self._spares = Spares(data.device, data.specs, seed)
        self.verified = False
        self.left: dict[str, Any] = {}  # digests of the outputs, taken right behind the last verified run

    def before(self, places: Sequence[int], last: int) -> None:
        """In front of the flush: these places are written in the sample, and one of them last, which may be verified.

        Its inputs alone are changed: eight changes would take a graph's sample as long as its runs.
        """
        for place in places:
            self._setup.device.poison(self._setup.placements[place], self._setup.specs)
        self.between(last)

    def between(self, place: int) -> None:
        """Between the run that warms the L2 and the timed one: what the first computed is not the second's answer."""
        self._setup.inputs(self._setup.placements[place]).touch(self._spares, self._random)

    def start(self, place: int, *, warm: bool = False) -> None:
        """Right before the timed run; `warm`: right behind one that wrote the same outputs."""
        if self.verified:
            arrays = self._setup.placements[place]
            self._setup.inputs(arrays).seal()
            if not warm:
                self._setup.device.poison(arrays, self._setup.specs)

    def stop(self, place: int, returned: Arrays | None) -> None:
        """Right behind the timed run."""
        if self.verified:
            self.left = digests(self._setup, {**self._setup.placements[place], **(returned or {})})
