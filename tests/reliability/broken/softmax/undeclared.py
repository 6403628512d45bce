"""The launch plan of undeclared.cu."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    return LaunchPlan((Launch("undeclared_f32", (1, 1, 1), (32, 1, 1), ("x", "y")),))


IMPLEMENTATIONS = (Implementation("undeclared", "does not compile", Origin("test"), plan=plan),)
