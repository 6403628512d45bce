"""Launch plans of reads.cu: the factor of a row loaded for each of two elements, or once."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ._narrow import narrow_plan

ARTICLE = Origin(
    "Oneflow-Inc/oneflow, 100 days of open source: performance optimisation",
    differs="said in words; the kernel was written here",
)


def plan(case: Case, device: DeviceProperties, variant: str) -> LaunchPlan:
    rows, columns = case.rows_columns()
    return narrow_plan(f"indexing_reads_{variant}", case, device, rows * -(-columns // 2))


IMPLEMENTATIONS = (
    Implementation("read_twice", "a value loaded twice round a store", ARTICLE, plan=partial(plan, variant="twice")),
    Implementation("read_once", "a value loaded once", ARTICLE, plan=partial(plan, variant="once")),
)
