"""Counters of a launch whose blocks were run in several parts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.counters import Counters
from kernelbench.devices.block_sample import GROUPS
from kernelbench.simt.launch_counters import launch_totals
from kernelbench.simt.machine import LaunchReport

MAXIMA = ("most_ways", "least_ways")  # counters of an instruction of which several blocks have the maximum, not the sum


def join_counters(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Counters of blocks that were run in several parts, as if they had been run together."""
    found: npt.NDArray[Any] = parts[0].copy()
    for name in found.dtype.names or ():
        over = np.max if name in MAXIMA else np.sum
        found[name] = over([part[name] for part in parts], axis=0)
    return found


def may_be_off(parts: Sequence[LaunchReport], *, in_order: bool) -> Mapping[str, float]:
    """See LaunchCounters. The first GROUPS parts are the sampled places, evenly spaced; later parts add blocks to each.
    If blocks run in order, all blocks behind the last one that ran may count like any part."""
    blocks, run = parts[0].blocks, sum(one.blocks_run for one in parts)
    placed = [one for one in (parts if in_order else parts[:GROUPS]) if one.blocks_run]
    if run == blocks or len(placed) < 2:
        return {}
    each = np.array(
        [
            [count / part.blocks_run for count in vars(sums).values()]
            for part, sums in zip(placed, launch_totals(placed), strict=True)
        ]
    )
    if in_order:
        off = (each.max(axis=0) - each.min(axis=0)) * (blocks - run)
    else:
        off = np.abs(np.diff(each, axis=0)).sum(axis=0) / 2 * blocks / (len(placed) - 1)
    return {name: float(most) for name, most in zip(vars(Counters()), off, strict=True) if most > 0}
