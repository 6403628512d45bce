"""What indexing computes, the plans of its pairs, and in what the two of a pair differ: loads, local memory, code."""

import pytest

from kernelbench.build.machine_code import machine_code
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog

CATALOG = catalog()
IMPLEMENTATIONS, OPERATION = CATALOG.implementations["indexing"], CATALOG.operations["indexing"]
ARRAYS = ("x", "by_row", "by_column", "y")
NARROW = sorted(name for name, one in IMPLEMENTATIONS.items() if one.role == "kernel" and name != "index_64")


def case(*shape, dtype="float32"):
    return Case("indexing", shape, -1, dtype)


@pytest.fixture
def built(h200, binaries):
    def build(name, dtype="float32"):
        """Facts and machine code of the entry that is launched on sm_90."""
        plan = IMPLEMENTATIONS[name].plan(case(64, 64, dtype=dtype), h200)
        (binary,) = binaries(IMPLEMENTATIONS[name], [plan], "sm_90")
        entry = plan.launches[0].entry
        return binary.facts[entry], machine_code(binary.path)[entry]

    return build


@pytest.fixture
def counted(checked):
    return lambda name, *shape: checked(name, case(*shape)).counters[0]


@pytest.mark.parametrize(("name", "items"), [("index_32", 77 * 31), ("array_8_constant", 299), ("read_once", 77 * 16)])
def test_items_are_dealt_out_a_thread_each(h200, name, items):
    (launch,) = IMPLEMENTATIONS[name].plan(case(7, 11, 31), h200).launches
    assert (launch.grid, launch.block) == ((-(-items // 256), 1, 1), (256, 1, 1))
    assert launch.arguments[:6] == (*ARRAYS, Scalar("int32", 7 * 11 * 31), Scalar("int32", 31))


@pytest.mark.parametrize("name", NARROW)
def test_more_than_32_bits_count_is_refused(h200, name):
    IMPLEMENTATIONS[name].plan(case(2**15, 2**15), h200)
    with pytest.raises(Unsupported, match=r"elements must be at most 21474\d+ for 32-bit indices, got 2147483648"):
        IMPLEMENTATIONS[name].plan(case(2**16, 2**15), h200)


def test_64_bits_count_on(h200):
    (launch,) = IMPLEMENTATIONS["index_64"].plan(case(2**16, 2**15), h200).launches
    assert launch.arguments == (*ARRAYS, Scalar("int64", 2**31), Scalar("int64", 2**15))


@pytest.mark.nvcc
def test_64_bit_indices_need_more_instructions(built, dtype):
    (_, wide), (_, narrow) = built("index_64", dtype), built("index_32", dtype)
    assert wide.instructions > 2 * narrow.instructions


@pytest.mark.nvcc
def test_the_compiler_makes_a_product_of_the_remainder(built, dtype):
    (_, remainder), (_, product) = built("remainder", dtype), built("multiply_subtract", dtype)
    assert remainder.hash == product.hash, "as the note of div-mod-code says"


@pytest.mark.nvcc
def test_local_memory_where_the_array_is_long_and_indexed_at_run_time(built, counted):
    stacks = {name: built(name)[0].stack_bytes for name in IMPLEMENTATIONS if name.startswith("array_")}
    others = {"array_8_constant": 0, "array_8_run_time": 0, "array_64_constant": 0}
    assert stacks == {**others, "array_64_run_time": 64 * 4}
    # In the PTX the short array goes there as well: 8 stores and 8 loads a thread.
    assert counted("array_8_run_time", 8, 256).local_load_sectors > 0
    assert counted("array_8_constant", 8, 256).local_load_sectors == 0


@pytest.mark.nvcc
def test_a_value_read_again_behind_a_store_is_a_load_more(counted):
    assert counted("read_twice", 16, 64).global_load_requests == 16 * 6
    assert counted("read_once", 16, 64).global_load_requests == 16 * 5


@pytest.mark.nvcc
def test_loads_inside_a_branch_are_requests_of_their_own(built, counted):
    assert counted("branch_outside", 16, 64).global_load_requests == 32 * 2
    assert counted("branch_inside", 16, 64).global_load_requests == 32 * 2, "merged by the compiler"
    assert counted("branch_kept", 16, 64).global_load_requests == 32 * 3
    assert built("branch_inside")[1].hash == built("branch_outside")[1].hash, "as the note of branch-access says"
