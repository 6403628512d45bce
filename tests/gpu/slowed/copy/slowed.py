"""Launch plans of slowed.cu: a copy, and copies that do 1 % and 2 % of their work twice."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported

BLOCK = 256
REPEATED = {"steady": 0, "one_per_cent": 10, "two_per_cent": 20}  # thousandths of the work


def plan(case: Case, device: DeviceProperties, repeated: int) -> LaunchPlan:
    packs, rest = divmod(case.elements, 4)
    if rest or case.dtype != "float32":
        raise Unsupported(f"expected packs of 4 float32, got {case.elements} of {case.dtype}")
    work = packs + packs * repeated // 1000
    arguments = ("x", "y", Scalar("int32", packs), Scalar("int32", work))
    launch = Launch("slowed_copy", (-(-work // BLOCK), 1, 1), (BLOCK, 1, 1), arguments)
    return LaunchPlan((launch,), defines=(("BLOCK", BLOCK),))


IMPLEMENTATIONS = tuple(
    Implementation(name, "a copy", Origin("test"), plan=partial(plan, repeated=repeated))
    for name, repeated in REPEATED.items()
)
