"""Launch plans of tree.cu: one block per row, six implementations that differ in the reduction only.

Each follows the step that a published series takes, but alone: the series unrolls the last warp on top
of loading two elements, whereas here every tree but `tree_two_loads` starts from 256 threads with one
element each, so that two trees of the same block can be compared with nothing else changed.
"""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes

COLUMNS_A_STEP = 256  # threads of a block times columns that each folds
MAX_COLUMNS = 2**30  # a column and a step beyond it still fit int32

HARRIS = Origin(
    "NVIDIA, Optimizing Parallel Reduction in CUDA (M. Harris)",
    "https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf",
    differs="reduces rows for a softmax, maximum as well as sum; every thread gets the result",
)
HARRIS_UNROLLED = Origin(
    HARRIS.project,
    HARRIS.url,
    differs=f"{HARRIS.differs}; one element per thread before the tree; __syncwarp where the published kernel "
    "relies on volatile, which is undefined since Volta",
)
SHUFFLE = Origin(
    "NVIDIA, Faster Parallel Reductions on Kepler (J. Luitjens)",
    "https://developer.nvidia.com/blog/faster-parallel-reductions-kepler/",
    differs=HARRIS.differs,
)


def plan(case: Case, device: DeviceProperties, tree: str, loads: int = 1) -> LaunchPlan:
    """`tree` names a struct of common/reduction_trees.cuh; a thread folds `loads` columns per step."""
    case.refuse("mask")
    rows, columns = case.rows_columns(device.max_grid[0], MAX_COLUMNS)
    block = COLUMNS_A_STEP // loads
    launch = Launch(
        entry=f"softmax_tree_{dtypes.suffix(case.dtype)}",
        grid=(rows, 1, 1),
        block=(block, 1, 1),
        arguments=("x", "y", Scalar("int32", columns), Scalar("float32", case.parameter("scale", 1.0))),
    )
    return LaunchPlan((launch,), defines=(("TREE", tree), ("BLOCK", block), ("LOADS", loads)))


IMPLEMENTATIONS = (
    Implementation(
        "tree_modulo",
        "one block per row; tree of neighbours, working threads spread over all warps",
        HARRIS,
        plan=partial(plan, tree="Modulo"),
    ),
    Implementation(
        "tree_strided",
        "one block per row; tree of neighbours by the first threads, with bank conflicts",
        HARRIS,
        plan=partial(plan, tree="Strided"),
    ),
    Implementation(
        "tree_sequential",
        "one block per row; tree that folds the upper half on the lower, without bank conflicts",
        HARRIS,
        plan=partial(plan, tree="Sequential"),
    ),
    Implementation(
        "tree_two_loads",
        "a block of half the threads per row, each folding two columns per step before the sequential tree",
        HARRIS,
        plan=partial(plan, tree="Sequential", loads=2),
    ),
    Implementation(
        "tree_unrolled",
        "one block per row; sequential tree whose last warp runs unrolled, without block barriers",
        HARRIS_UNROLLED,
        plan=partial(plan, tree="Unrolled"),
    ),
    Implementation(
        "tree_shuffle",
        "one block per row; warp shuffles and one exchange through shared memory",
        SHUFFLE,
        plan=partial(plan, tree="Shuffle"),
    ),
)
