"""The state that a sample starts from: outputs poisoned, inputs changed since the sample before.

A result from an earlier run is then wrong, wherever it was kept: in the output, in recycled memory, or in a library.
A verified sample does more. Right before the timed run it seals the inputs and, if cold, poisons the outputs again;
right after the run it takes digests of the outputs. This finds work that another stream does earlier or later. It
also touches the L2, so the time of such a sample is dropped.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelbench.core.records import Arrays
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.inputs import Spares
from kernelbench.measure.timing import Staging
from kernelbench.measure.verify import output_digests


class CaseStaging(Staging):
    """Stages the samples of one case. `verified`: the coming samples are verified."""

    def __init__(self, data: CaseData, seed: int) -> None:
        self._setup = data
        self._random = np.random.default_rng(seed)
        self._spares = Spares(data.device, data.specs, seed)
        self.verified = False
        self.left: dict[str, Any] = {}  # digests of the outputs right after the last verified run

    def before(self, places: Sequence[int], last: int) -> None:
        """Before the flush. The sample writes to these placements, to `last` at the end; that one may be verified.

        Only the inputs of `last` change: changing those of all eight would take as long as a graph's runs.
        """
        for place in places:
            self._setup.device.poison(self._setup.placements[place], self._setup.specs)
        self.between(last)

    def between(self, place: int) -> None:
        """Between the run that warms the L2 and the timed run: its result is wrong for the timed run."""
        self._setup.inputs(self._setup.placements[place]).touch(self._spares, self._random)

    def start(self, place: int, *, warm: bool = False) -> None:
        """Right before the timed run. `warm`: another run just wrote the same outputs."""
        if self.verified:
            arrays = self._setup.placements[place]
            self._setup.inputs(arrays).seal()
            if not warm:
                self._setup.device.poison(arrays, self._setup.specs)

    def stop(self, place: int, returned: Arrays | None) -> None:
        """Right after the timed run."""
        if self.verified:
            self.left = output_digests(self._setup, {**self._setup.placements[place], **(returned or {})})
