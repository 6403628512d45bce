"""The order in which kernels of clusters use their barriers in shared memory: racecheck warns of an expectation after
the barrier is made with no barrier of threads in between."""

import pytest

from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from tests.catalog import catalog
from tests.kernels.signatures import entry_text
from tests.kernels.simulated import Build

pytestmark = pytest.mark.nvcc

CATALOG = catalog()
IN_ORDER = ("mbarrier.init", "barrier.cluster.arrive", "barrier.cluster.wait", "st.async", "mbarrier.arrive.expect_tx")


@pytest.mark.parametrize(
    ("name", "shape", "axis"), [("one_read_axis", (1, 1100, 48), 1), ("one_read_rows", (2048, 100_000), -1)]
)
def test_bytes_are_expected_once_every_block_runs_and_after_ones_own_are_sent(
    binaries: Build, name: str, shape: tuple[int, ...], axis: int
) -> None:
    implementation = CATALOG.implementations["log_softmax"][name]
    assert implementation.plan is not None
    plan = implementation.plan(Case("log_softmax", shape, axis, "float32"), KNOWN["h200"])
    (binary,) = binaries(implementation, [plan], "sm_90")
    own = entry_text(binary.ptx_path, plan.launches[0].entry)
    places = [own.index(what) for what in IN_ORDER]
    assert places == sorted(places)
    assert own.count(IN_ORDER[-1]) == 1
