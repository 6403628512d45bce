"""Launch plans of tree.cu: six steps of a published series, each on top of the one before.

A launch leaves one sum per block, so it is repeated on the sums until one is left. The published times are of the first
launch alone.
"""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes

BLOCK = 256  # of the published kernels

HARRIS = Origin(
    "NVIDIA, Optimizing Parallel Reduction in CUDA (M. Harris)",
    "https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf",
    differs="any number of elements; 64-bit indices; launched again on the blocks' sums until one is left",
)
HARRIS_UNROLLED = Origin(
    HARRIS.project,
    HARRIS.url,
    differs=f"{HARRIS.differs}; __syncwarp where the published kernel relies on volatile, which is undefined since "
    "Volta",
)


def block_counts(elements: int, per_block: int) -> tuple[int, ...]:
    """Blocks of each launch: as many as it leaves sums; the last has one."""
    counts = [-(-elements // per_block)]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // per_block))
    return tuple(counts)


def plan(case: Case, device: DeviceProperties, tree: str, loads: int = 1) -> LaunchPlan:
    """`tree` names a struct of common/reduction_trees.cuh; a thread adds up `loads` elements before it."""
    per_block = BLOCK * loads
    counts = block_counts(case.elements, per_block)
    if counts[0] > device.max_grid[0]:
        raise Unsupported(f"elements must be at most {device.max_grid[0] * per_block}, got {case.elements}")
    sums = [f"sums_{number}" for number in range(1, len(counts))]  # what each launch but the last leaves
    launches = []
    sources = zip(["x", *sums], [*sums, "y"], (case.elements, *counts), counts, strict=False)
    for number, (source, target, elements, blocks) in enumerate(sources):
        launches.append(
            Launch(
                entry=f"reduce_sum_tree_{dtypes.suffix('float32' if number else case.dtype)}",
                grid=(blocks, 1, 1),
                block=(BLOCK, 1, 1),
                arguments=(source, target, Scalar("int64", elements)),
            )
        )
    return LaunchPlan(
        tuple(launches),
        defines=(("TREE", tree), ("BLOCK", BLOCK), ("LOADS", loads)),
        scratch=tuple((name, 4 * count) for name, count in zip(sums, counts, strict=False)),
        reasons=(f"{per_block} elements per block: {' + '.join(map(str, counts))} blocks",),
    )


IMPLEMENTATIONS = (
    Implementation(
        "tree_modulo",
        "tree of neighbours, working threads spread over all warps",
        HARRIS,
        plan=partial(plan, tree="Modulo"),
    ),
    Implementation(
        "tree_strided",
        "tree of neighbours by the first threads, with bank conflicts",
        HARRIS,
        plan=partial(plan, tree="Strided"),
    ),
    Implementation(
        "tree_sequential",
        "tree that folds the upper half on the lower, without bank conflicts",
        HARRIS,
        plan=partial(plan, tree="Sequential"),
    ),
    Implementation(
        "tree_two_loads",
        "sequential tree, each thread adding two elements before it: half the blocks",
        HARRIS,
        plan=partial(plan, tree="Sequential", loads=2),
    ),
    Implementation(
        "tree_unrolled",
        "two loads, and the last warp unrolled, without block barriers",
        HARRIS_UNROLLED,
        plan=partial(plan, tree="Unrolled", loads=2),
    ),
    Implementation(
        "tree_unrolled_all",
        "two loads, and the whole tree unrolled",
        HARRIS_UNROLLED,
        plan=partial(plan, tree="UnrolledAll", loads=2),
    ),
)
