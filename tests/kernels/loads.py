"""The order in which machine code issues loads: all of a thread's should be under way before it uses any."""

import re

import pytest

from kernelbench.build.sass import disassemble_together, sass_functions

PACK_LOADS = r"LDG\.E\.(?:EF\.)?128"  # a pattern of their names
WORD_LOADS = {
    word: rf"LDG\.E(?:\.EF)?{kind}(?:\.CONSTANT)?(?= R)" for word, kind in {8: r"\.64", 4: "", 2: r"\.U16"}.items()
}
USES = "FADD|HADD2|FMNMX|HMNMX2|VHMNMX|SHFL"  # the first steps of sums and maxima


def uses_before_loads(compiled, plans_loads, load=PACK_LOADS):
    """The constants of each plan that does not issue exactly so many loads before it first uses one."""
    listings = disassemble_together([binary.path for binary in compiled], "sm_90")
    if listings is None:
        pytest.skip("no nvdisasm was found")
    late = []
    for (plan, loads), binary in zip(plans_loads.items(), compiled, strict=True):
        code = sass_functions(listings[binary.path])[plan.launches[0].entry]
        names = re.findall(rf"\b({load}|{USES})\b", code)
        if next(place for place, name in enumerate(names) if not name.startswith("LDG")) != loads:
            late.append(plan.defines)
    return late
