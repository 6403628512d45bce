"""Where each of 32 lanes accesses an array, as element indices by name; negative: the lane is off."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

LANES = 32
OFF = -1


def patterns() -> Mapping[str, NDArray[np.int32]]:
    """The patterns that counters.csv was measured with: same names, same numbers."""
    lane = np.arange(LANES)
    found = {f"stride{stride}": lane * stride for stride in (0, 1, 2, 3, 4, 5, 6, 8, 16, 17, 32, 33)}
    found |= {"shift1": lane + 1, "shift8": lane + 8}
    found |= {"pairs": lane // 2, "quads": lane // 4, "octs": lane // 8}
    found |= {"rev": lane[::-1], "xor5": lane ^ 5}
    found |= {
        "half": only(lane < 16, lane),
        "even": only(lane % 2 == 0, lane),
        "one": only(lane == 7, lane),
        "three": only(lane < 3, 32 * lane),
        "halfstride2": only(lane < 16, 2 * lane),
        "evenstride16": only(lane % 2 == 0, 16 * lane),
    }
    for seed in range(8):
        random = np.random.default_rng(seed)  # the order of the draws is part of the pattern
        found[f"perm{seed}"] = random.permutation(256)[:LANES]
        found[f"dup{seed}"] = random.integers(0, 64, LANES)
        on = random.random(LANES) < 0.5
        found[f"mask{seed}"] = only(on, random.permutation(256)[:LANES])
    return {name: index.astype(np.int32) for name, index in found.items()}


def only(on: NDArray[np.bool_], index: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(on, index, OFF)
