"""Launch plans of device_cheats.cu: ways of kernels to seem right or fast. `leaves_its_answer` alone is right."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar

BLOCK = 128
WITH_SCRATCH = ("leaves_its_answer", "takes_that_answer")
NAMES = (
    "nothing", "constant", "half_of_each_row", "all_rows_but_one", "overwrites_its_input", "changes_one_element",
    "writes_behind_its_output", "works_where_y_is_not_done", "remembers_its_answer", "looks_at_one_element_per_row",
    "fewer_rows_from_the_fourth_call", "right_at_one_place", *WITH_SCRATCH,
)  # fmt: skip


def plan(case: Case, device: DeviceProperties, entry: str) -> LaunchPlan:
    case.require_dtype("float32", "float32")
    rows, columns = case.rows_columns()
    arguments: tuple[str | Scalar, ...] = ("x", "y", Scalar("int64", rows), Scalar("int32", columns))
    if entry not in WITH_SCRATCH:
        return LaunchPlan((Launch(entry, (rows, 1, 1), (BLOCK, 1, 1), arguments),))
    launch = Launch(entry, (rows, 1, 1), (BLOCK, 1, 1), (*arguments, "scratch"))
    return LaunchPlan((launch,), scratch=(("scratch", 4 * case.elements),))


IMPLEMENTATIONS = tuple(
    Implementation(name, "a cheat", Origin("test"), plan=partial(plan, entry=name)) for name in NAMES
)
