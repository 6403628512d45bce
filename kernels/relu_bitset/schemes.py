"""Launch plans of schemes.cu: four ways of making a mask of one bit per element."""

from functools import partial
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, waves_grid

BYTE_TILE = 8 * ELEMENTWISE_BLOCK  # elements of a block with 8 per thread

ARTICLE = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow",
    differs="relu alone; 64-bit indices; the article has pictures of the schemes and no code",
)
STRIDED = Origin(
    ARTICLE.project,
    ARTICLE.url,
    differs="elements of a byte lie 256 apart, where the article says n without a number; relu alone; 64-bit indices",
)
PULL_REQUEST = Origin(
    ARTICLE.project,
    "https://github.com/Oneflow-Inc/oneflow/pull/3645",
    differs="relu alone, without the batch norm and the addition that it is fused with there; blocks of 256 where "
    "those have 512; 64-bit indices; whole warps vote",
)


def plan(case: Case, device: DeviceProperties, scheme: str, per_thread: int) -> LaunchPlan:
    """`scheme` names a struct of schemes.cu; a thread takes `per_thread` elements at a time."""
    launch = Launch(
        entry=f"relu_bitset_schemes_{dtypes.suffix(case.dtype)}",
        grid=waves_grid(-(-case.elements // per_thread), device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "y", "mask", Scalar("int64", case.elements)),
    )
    return LaunchPlan(
        (launch,),
        defines=(("SCHEME", scheme), ("BLOCK", ELEMENTWISE_BLOCK)),
        reasons=(f"{per_thread} elements per thread and step",),
    )


def strided_reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """Bits in the order that schemes.cu tells of Strided: element k * s + t of a tile is bit k of byte t."""
    x = inputs["x"]
    positive = (x > 0).reshape(-1)
    whole = positive.size // BYTE_TILE * BYTE_TILE
    rest = positive[whole:]
    last = xp.zeros(-(-rest.size // 8) * 8, dtype=bool)
    last[: rest.size] = rest
    weights = xp.left_shift(1, xp.arange(8)).astype(float).reshape(-1, 1)  # exact, which a GPU's pow is not
    tiles = (positive[:whole].reshape(-1, 8, ELEMENTWISE_BLOCK) * weights).sum(axis=1).reshape(-1)
    tail = (last.reshape(8, -1) * weights).sum(axis=0)
    octets = xp.zeros(-(-positive.size // 32) * 4)
    octets[: tiles.size] = tiles
    octets[tiles.size : tiles.size + tail.size] = tail
    words = (octets.reshape(-1, 4) * 256.0 ** xp.arange(4)).sum(axis=1)
    return {"y": xp.where(x > 0, x, 0.0), "mask": words}


IMPLEMENTATIONS = (
    Implementation(
        "consecutive",
        "8 consecutive elements per thread, a byte each",
        ARTICLE,
        plan=partial(plan, scheme="Consecutive", per_thread=8),
    ),
    Implementation(
        "strided",
        "8 elements per thread, 256 apart, a byte each; another order of bits",
        STRIDED,
        plan=partial(plan, scheme="Strided", per_thread=8),
        reference=strided_reference,
    ),
    Implementation(
        "ballot",
        "one vote on 32 elements per warp, written as a word",
        PULL_REQUEST,
        plan=partial(plan, scheme="Ballot", per_thread=1),
    ),
    Implementation(
        "ballot_words",
        "8 votes on 32 elements each per warp, written as 32 bytes at once",
        ARTICLE,
        plan=partial(plan, scheme="BallotWords", per_thread=8),
    ),
)
