"""Specimen: the reduction tree whose last warp relies on `volatile`. A race checker must find it.

The trick: 32 lanes that run in lockstep need no barrier, and `volatile` keeps their loads and stores in memory. Since
Volta nothing promises the lockstep. Compilers of today most often still keep it, so the sum is right and verification
lets it pass.
"""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes

BLOCK = 256


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    if case.elements > 2 * BLOCK:
        raise Unsupported(f"elements must be at most {2 * BLOCK}, what one block adds up, got {case.elements}")
    launch = Launch(
        entry=f"reduce_sum_tree_unrolled_as_published_{dtypes.suffix(case.dtype)}",
        grid=(1, 1, 1),
        block=(BLOCK, 1, 1),
        arguments=("x", "y", Scalar("int64", case.elements)),
    )
    return LaunchPlan((launch,), defines=(("BLOCK", BLOCK),))


IMPLEMENTATIONS = (
    Implementation(
        "tree_unrolled_as_published",
        "not safe: the last warp's lanes read each other's slots without waiting",
        Origin(
            "NVIDIA, Optimizing Parallel Reduction in CUDA (M. Harris)",
            "https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf",
            differs="one block; elements beyond the array count as 0",
        ),
        plan=plan,
        role="specimen",
    ),
)
