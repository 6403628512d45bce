"""Plans that pass tensor maps, on the simulator as a device."""

import pytest

from kernelbench.core.launch_texts import input_loads
from kernelbench.core.records import Binary, Launch, LaunchPlan, TensorMap, Tiling
from tests.devices.test_simulated import compiled, run_plan

pytestmark = pytest.mark.nvcc

SOURCE = """
#include <cuda.h>
#define ADDRESS(place) static_cast<unsigned>(__cvta_generic_to_shared(place))
extern "C" __global__ void twice(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y) {
    __shared__ __align__(128) float tile[8][32];
    __shared__ unsigned long long barrier;
    const int column = blockIdx.x * 32, row = blockIdx.y * 8;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(ADDRESS(&barrier)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(ADDRESS(&barrier)));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(ADDRESS(tile)), "l"(&x), "r"(column), "r"(row),
                     "r"(ADDRESS(&barrier)) : "memory");
    }
    __syncthreads();
    asm volatile("{\\n.reg .pred p;\\nAGAIN:\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\\n"
                 "@!p bra AGAIN;\\n}"
                 ::"r"(ADDRESS(&barrier)) : "memory");
    for (int k = 0; k < 8; ++k) tile[k][threadIdx.x] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&y),
                     "r"(column), "r"(row), "r"(ADDRESS(tile)) : "memory");
}
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Binary:
    return compiled(SOURCE, tmp_path_factory.mktemp("tensors"))


def plan_of(shape: tuple[int, int], box: tuple[int, int] = (8, 32)) -> LaunchPlan:
    maps = tuple(TensorMap(name, Tiling("float32", shape, box)) for name in "xy")
    grid = (-(-shape[1] // 32), -(-shape[0] // 8), 1)
    return LaunchPlan((Launch("twice", grid, (32, 1, 1), maps),))


def test_a_kernel_that_gets_arrays_by_tensor_maps_alone(binary: Binary) -> None:
    result = run_plan(binary, (37, 100), plan_of((37, 100)), full=True, strict=True)
    assert result.status == "ok", result.reason
    assert result.check.elements == 37 * 100
    (launch,) = result.counters
    assert launch.counters.global_load_requests == launch.counters.global_store_requests == 20


def test_a_map_of_too_few_rows_is_found(binary: Binary) -> None:
    result = run_plan(binary, (37, 100), plan_of((36, 100)), full=True)
    assert result.status != "ok"


def test_an_array_behind_a_map_counts_as_read(binary: Binary) -> None:
    assert input_loads(plan_of((8, 32)), binary.facts, ("x",)) == {"x": 1}
