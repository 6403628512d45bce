"""Plans that are not what they must be; see plans.cu."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar


def launch(case: Case, blocks: int = 2, *further: Scalar) -> Launch:
    rows, columns = case.rows_columns()
    arguments = ("x", "y", Scalar("int64", rows), Scalar("int32", columns), *further)
    return Launch("plans_f32", (blocks, 1, 1), (32, 1, 1), arguments)


def half_a_byte(case: Case, device: DeviceProperties) -> LaunchPlan:
    return LaunchPlan((launch(case),), scratch=(("t", 1.5),))  # type: ignore[arg-type]


def too_large(case: Case, device: DeviceProperties) -> LaunchPlan:
    return LaunchPlan((launch(case, 2, Scalar("float32", 1e40)),))


def a_number(case: Case, device: DeviceProperties) -> LaunchPlan:
    return LaunchPlan((launch(case),), reasons=(5,))  # type: ignore[arg-type]


def leaving(case: Case, device: DeviceProperties) -> LaunchPlan:
    raise SystemExit(0)


def most_blocks(case: Case, device: DeviceProperties) -> LaunchPlan:
    return LaunchPlan((launch(case, device.max_grid[0]),))


PLANS = {
    "half_a_byte": half_a_byte,
    "too_large_a_scalar": too_large,
    "number_for_a_reason": a_number,
    "leaving_plan": leaving,
    "most_blocks": most_blocks,
}
IMPLEMENTATIONS = tuple(Implementation(name, "a bad plan", Origin("test"), plan=plan) for name, plan in PLANS.items())
