"""Launch plans of grid_stride.cu: one wave of blocks, then one block for their sums, in three variants."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes

BLOCK = 256  # of the published kernels
SINGLE_LOADS = 4  # per thread in flight; with 2048 threads per multiprocessor 32 KB of floats
PACK_LOADS = 2  # likewise 64 KB; with four, some registers would spill
PACK_BYTES = 16

HARRIS = Origin(
    "NVIDIA, Optimizing Parallel Reduction in CUDA (M. Harris)",
    "https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf",
    differs="as many blocks as are resident; four loads in flight where the published kernel has two; __syncwarp where "
    "it relies on volatile; any number of elements; a second launch for the sum of the blocks' sums",
)
BBUF = "https://github.com/BBuf/how-to-optim-algorithm-in-cuda/tree/master/reduce"
SHUFFLE = Origin(
    "BBuf/how-to-optim-algorithm-in-cuda",
    BBUF,
    differs="as many blocks as are resident, where the published kernel has 1024; four loads in flight; any number of "
    "elements; a second launch for the sum of the blocks' sums",
)
PACKED = Origin(
    "BBuf/how-to-optim-algorithm-in-cuda",
    BBUF,
    differs="two packs in flight, where the published kernel has one; elements beyond whole packs are added, which it "
    "leaves out; any alignment",
)


def plan(case: Case, device: DeviceProperties, tree: str, pack_bytes: int = 0) -> LaunchPlan:
    """`tree` names a struct of common/reduction_trees.cuh; a load is of `pack_bytes`, 0 for one element."""
    per_load = pack_bytes // dtypes.itemsize(case.dtype) if pack_bytes else 1
    loads = PACK_LOADS if pack_bytes else SINGLE_LOADS
    together = device.max_threads_per_multiprocessor // BLOCK  # on a multiprocessor
    resident = device.multiprocessors * together
    blocks = min(-(-case.elements // (BLOCK * per_load)), resident)

    def launch(dtype: str, grid: int, source: str, target: str, elements: int) -> Launch:
        return Launch(
            entry=f"reduce_sum_grid_stride_{dtypes.suffix(dtype)}",
            grid=(grid, 1, 1),
            block=(BLOCK, 1, 1),
            arguments=(source, target, Scalar("int64", elements)),
        )

    defines = (("TREE", tree), ("BLOCK", BLOCK), ("LOADS", loads), ("PACK", pack_bytes), ("RESIDENT", together))
    if blocks == 1:
        return LaunchPlan((launch(case.dtype, 1, "x", "y", case.elements),), defines, reasons=("one block is enough",))
    return LaunchPlan(
        (launch(case.dtype, blocks, "x", "sums", case.elements), launch("float32", 1, "sums", "y", blocks)),
        defines,
        scratch=(("sums", 4 * blocks),),
        reasons=(f"{blocks} blocks of at most {resident} that are resident; one more for their sums",),
    )


IMPLEMENTATIONS = (
    Implementation(
        "grid_stride",
        "one wave of blocks, each thread adding up many elements; tree all unrolled",
        HARRIS,
        plan=partial(plan, tree="UnrolledAll"),
    ),
    Implementation(
        "shuffle",
        "the same with warp shuffles in place of the tree",
        SHUFFLE,
        plan=partial(plan, tree="Shuffle"),
    ),
    Implementation(
        "shuffle_packed",
        "the same with shuffles and loads of 16 bytes",
        PACKED,
        plan=partial(plan, tree="Shuffle", pack_bytes=PACK_BYTES),
    ),
)
