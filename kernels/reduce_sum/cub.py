"""Host call of cub.cu: CUB's DeviceReduce, which chooses its own launches."""

from kernelbench import Case, DeviceProperties, HostCall, Implementation, LaunchPlan, Origin, Scalar, dtypes

SCRATCH_BYTES = 2**20  # CUB needs some bytes per block of one wave, tens of KB; cub.cu fails where it needs more


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    call = HostCall(
        f"reduce_sum_cub_{dtypes.suffix(case.dtype)}", ("x", "y", "scratch", Scalar("int64", case.elements))
    )
    return LaunchPlan(defines=(("SCRATCH", SCRATCH_BYTES),), scratch=(("scratch", SCRATCH_BYTES),), host=call)


IMPLEMENTATIONS = (
    Implementation(
        "cub",
        "cub::DeviceReduce of the installed toolkit",
        Origin("NVIDIA/cccl", "https://github.com/NVIDIA/cccl"),
        plan=plan,
        role="peer",
    ),
)
