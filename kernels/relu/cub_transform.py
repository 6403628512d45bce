"""Host call of cub_transform.cu: CUB's DeviceTransform, which chooses its own launch."""

from kernelbench import Case, DeviceProperties, HostCall, Implementation, LaunchPlan, Origin, Scalar, dtypes


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    entry = f"relu_cub_transform_{dtypes.suffix(case.dtype)}"
    return LaunchPlan(host=HostCall(entry, ("x", "y", Scalar("int64", case.elements))))


IMPLEMENTATIONS = (
    Implementation(
        "cub_transform",
        "cub::DeviceTransform of the installed toolkit",
        Origin("NVIDIA/cccl", "https://github.com/NVIDIA/cccl"),
        plan=plan,
        role="peer",
    ),
)
