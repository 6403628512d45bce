"""Headers of kernels/: what is common is used by several operations, and a plan's defines are read in one place."""

import re

import pytest

from kernelbench.core import places, sources
from kernelbench.core.records import Case
from kernelbench.devices.known import known_gpu
from kernelbench.planning.catalog import load_catalog

COMMON, FAMILY = places.KERNELS / "common", places.KERNELS / "softmax_family"
# Of every technique: shape and axis, by the type.
CASES = [
    ("float32", [((4096, n), -1) for n in (3, 65, 1000, 8192, 2**16, 2**20)]),
    ("float16", [((4096, n), -1) for n in (33, 129)]),
    ("float32", [((64, 16, 2), 1), ((9, 21, 5), 1), ((9, 3, 5), 1), ((16, 1000, 192), 1), ((64, 300, 901), 1)]),
]


@pytest.mark.parametrize("header", sorted(COMMON.glob("*.cuh")), ids=lambda path: path.stem)
def test_what_is_common_serves_three_operations(header):
    users = set()
    for source in places.KERNELS.glob("*/*.cu"):
        spelled = [name for name, _ in sources.source_texts(source)]
        if f"common/{header.name}" in spelled:
            users.add(source.parent.name)
    assert len(users) >= 3, f"only {', '.join(sorted(users))}: move it to one of them"


def test_defines_of_softmax_plans_are_read_by_entries_only():
    catalog, device = load_catalog(), known_gpu("h200")
    defines = set()
    for dtype, shapes in CASES:
        for shape, axis in shapes:
            name = "one_read_rows" if axis == -1 else "one_read_axis"
            plan = catalog.implementations["log_softmax"][name].plan
            defines |= {define for define, _ in plan(Case("log_softmax", shape, axis, dtype), device).defines}
    assert {"LANES", "SIZE", "GANG", "RECOMPUTE"} <= defines
    headers = [path for path in FAMILY.glob("*.cuh") if not path.stem.endswith("_entries")]
    assert headers
    for path in headers:
        code = re.sub(r'//.*|"[^"]*"', "", path.read_text())
        assert not set(re.findall(r"\w+", code)) & defines, path.name
