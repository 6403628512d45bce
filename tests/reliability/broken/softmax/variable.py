"""The launch plan of variable.cu."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    return LaunchPlan((Launch("variable_f32", (1, 1, 1), (32, 1, 1), ("x", "y")),))


IMPLEMENTATIONS = (Implementation("large_variable", "64 GiB of its own", Origin("test"), plan=plan),)
