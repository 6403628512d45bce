"""Launch plans of tiled.cu: the last two axes exchanged by tiles of 32 x 32 through shared memory."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes
from ._axes import merged_axes, permutation_of

TILE = 32  # rows and columns
TILE_ROWS = 8  # rows of threads per block

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/blob/master/oneflow/core/ep/cuda/primitive/permute.cu",
    differs="one block per tile, where the original has at most 8192 blocks that go on; any extents",
)


def plan(case: Case, device: DeviceProperties, pad: int) -> LaunchPlan:
    """`pad`: elements behind each row of the tile in shared memory."""
    shape, permutation = merged_axes(case.shape, permutation_of(case))
    if permutation not in ((1, 0), (0, 2, 1)):
        raise Unsupported(
            "the last two axes must change places once neighbours are merged, "
            f"got permutation '{''.join(map(str, permutation))}'"
        )
    batch, rows, columns = (1, *shape)[-3:]
    blocks = batch * -(-rows // TILE) * -(-columns // TILE)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"tiles must be at most {device.max_grid[0]}, got {blocks}")
    launch = Launch(
        entry=f"permute_tiled_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(TILE, TILE_ROWS, 1),
        arguments=("x", "y", Scalar("int64", rows), Scalar("int64", columns)),
    )
    return LaunchPlan(
        (launch,), defines=(("PAD", pad),), reasons=(f"{batch} times {rows} rows of {columns}, one block per tile",)
    )


IMPLEMENTATIONS = (
    Implementation("tiled", "tiles of 32 x 32 through shared memory, padded", ONEFLOW, plan=partial(plan, pad=1)),
    Implementation(
        "tiled_unpadded",
        "the same without padding, with bank conflicts",
        ONEFLOW,
        plan=partial(plan, pad=0),
    ),
)
