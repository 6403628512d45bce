"""The CUDA device itself: red zones, poison, inputs, comparisons, launches, and what its errors become."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core import dtypes
from kernelbench.core.errors import DeviceError, DeviceLost, NoDevice
from kernelbench.core.records import (
    ArraySpec,
    Binary,
    Case,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
)
from kernelbench.devices.known import KNOWN
from kernelbench.measure.case_run import Settings
from kernelbench.planning.case_plans import CasePlan, Planned
from tests.devices.compared_arrays import PLANTED, assert_alike, on_the_host, planted
from tests.gpu.conftest import Compiled, Plans

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[2]
N = 1001  # no multiple of anything that arrays are rounded up to
DTYPES = ("float32", "float16", "bfloat16")
# Copies [0, n) of x to y, and one more element to y[extra] if there is that place.
COPY = Path(__file__).with_name("device.cu").read_text()


def specs(dtype: str = "float32", n: int = N) -> list[ArraySpec]:
    return [ArraySpec("x", (n,), dtype, "input"), ArraySpec("y", (n,), dtype, "output")]


def kernel(plan: LaunchPlan, **options: Any) -> Implementation:
    return Implementation("test", "", Origin("test"), plan=lambda case, device: plan, **options)


def launched(device: Any, binary: Binary, plan: LaunchPlan, arrays: Any) -> None:
    case = Case("softmax", (N,), -1, "float32")
    device.executable(kernel(plan), case, plan, binary, arrays)()
    device.clock.wait()


def copies(extra: int) -> LaunchPlan:
    arguments = ("x", "y", Scalar("int64", N), Scalar("int64", extra))
    return LaunchPlan((Launch("copies", (-(-N // 256), 1, 1), (256, 1, 1), arguments),))


def test_writing_inside_damages_nothing(device: Any, compiled: Compiled) -> None:
    arrays = device.allocate(specs())
    device.fill(arrays, specs(), 1)
    launched(device, compiled(COPY), copies(N - 1), arrays)
    assert device.red_zone_damage() == ""


@pytest.mark.parametrize("extra", [-1, -1024, N, N + 1, N + 1023])
def test_one_element_written_outside_is_found_and_the_zone_mended(device: Any, compiled: Compiled, extra: int) -> None:
    arrays = device.allocate(specs())
    device.fill(arrays, specs(), 1)
    launched(device, compiled(COPY), copies(extra), arrays)
    assert device.red_zone_damage() == "y"
    assert device.red_zone_damage() == "", "the next implementation is not blamed"


def test_a_row_with_right_values_and_one_write_too_many_is_wrong(
    device: Any, compiled: Compiled, run_case: Callable[..., Any]
) -> None:
    copy = kernel(copies(N), role="yardstick", reference=lambda xp, case, inputs: {"y": inputs["x"]})
    assert copy.plan is not None
    plan = copy.plan(Case("softmax", (N,), -1, "float32"), device.properties)
    case_plan = CasePlan(Case("softmax", (N,), -1, "float32"), (Planned(copy, plan, compiled(COPY)),))
    result = run_case(case_plan, Settings(seed=1))["test"]
    assert (result.status, result.reason) == ("wrong", "wrote outside of y")


@pytest.mark.parametrize("dtype", DTYPES)
def test_poison_is_nan_everywhere_in_outputs_and_nowhere_else(device: Any, dtype: str) -> None:
    arrays = device.allocate(specs(dtype))
    device.fill(arrays, specs(dtype), 3)
    before = arrays["x"].get()
    device.poison(arrays, specs(dtype))
    device.clock.wait()
    assert (arrays["y"].get().view(np.uint8) == 0xFF).all()
    assert np.isnan(dtypes.widen(np, arrays["y"].get(), dtype)).all()
    np.testing.assert_array_equal(arrays["x"].get(), before)
    assert device.red_zone_damage() == ""


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_seed_fills_alike_and_another_does_not(device: Any, dtype: str) -> None:
    arrays = device.allocate(specs(dtype))

    def filled(seed: int) -> np.ndarray:
        device.fill(arrays, specs(dtype), seed)
        return arrays["x"].get()

    first = filled(5)
    other = filled(6)
    np.testing.assert_array_equal(filled(5), first)
    assert (first != other).mean() > 0.9


def test_inputs_are_normal_and_masks_are_coins(device: Any) -> None:
    own = [
        ArraySpec("x", (1000, 1000), "float32", "input"),
        ArraySpec("z", (1000, 1000), "float32", "input"),
        ArraySpec("u", (1000, 1000), "float32", "input", fill="uniform"),
        ArraySpec("m", (1000, 1000), "float16", "input", fill="mask"),
    ]
    arrays = device.allocate(own)
    device.fill(arrays, own, 7)
    x, z, u, m = (arrays[spec.name].get().astype(np.float64) for spec in own)
    assert abs(x.mean()) < 0.005
    assert abs(x.std() - 1) < 0.005
    assert abs(np.corrcoef(x.ravel(), z.ravel())[0, 1]) < 0.005, "each array has numbers of its own"
    assert 0 <= u.min() < 0.001
    assert 0.999 < u.max() <= 1
    assert set(np.unique(m)) == {0.0, 1.0}
    assert abs(m.mean() - 0.5) < 0.005


def test_large_inputs_are_drawn_in_pieces_that_differ(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelbench.devices.cuda import device as module

    monkeypatch.setattr(module, "FILL_ELEMENTS", 400)
    arrays = device.allocate(specs())
    device.fill(arrays, specs(), 5)
    x = arrays["x"].get()
    assert (x[:400] != x[400:800]).mean() > 0.99
    assert np.isfinite(x).all()
    assert (x[800:] != 0).all()


def test_memory_that_there_is_not_is_told_and_costs_nothing(device: Any) -> None:
    with pytest.raises(DeviceError, match="out of GPU memory while allocating 4398046511104 bytes for x") as caught:
        device.allocate(specs(n=2**40))
    assert not isinstance(caught.value, DeviceLost)
    arrays = device.allocate(specs())
    device.fill(arrays, specs(), 1)
    assert np.isfinite(arrays["x"].get()).all()


SIZES = (1, 17, 4095, 4096, 4097, 100_003, 2**20 + 5)


@pytest.mark.parametrize("what", PLANTED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_comparing_on_the_gpu_finds_what_comparing_on_the_host_finds(device: Any, dtype: str, what: str) -> None:
    for size in SIZES:
        stored, expected = planted(what, dtype, size)
        for tolerance, right in on_the_host(stored, expected, dtype):
            found = device.compare(device.xp.asarray(stored), dtype, device.xp.asarray(expected), tolerance)
            assert_alike(found, right, f"{size} elements, {tolerance}")


def test_shared_memory_beyond_48_kb_is_opted_into(device: Any, compiled: Compiled) -> None:
    most = device.properties.shared_per_block_optin
    assert most > device.properties.shared_per_block
    arrays = device.allocate(specs())
    plan = LaunchPlan((Launch("shares", (1, 1, 1), (256, 1, 1), ("y", Scalar("int32", most // 4)), most),))
    launched(device, compiled(COPY), plan, arrays)
    assert arrays["y"].get()[0] == most // 4 - 1


def test_shared_memory_of_a_launch_and_of_the_kernel_itself_may_be_more_than_the_default(
    device: Any, compiled: Compiled
) -> None:
    default, arrays = device.properties.shared_per_block, device.allocate(specs())
    for given in (default - 512, default):
        plan = LaunchPlan((Launch("shares_more", (1, 1, 1), (256, 1, 1), ("y", Scalar("int32", given // 4)), given),))
        launched(device, compiled(COPY), plan, arrays)
        assert arrays["y"].get()[0] == given // 4 - 1


def waits(blocks: int) -> LaunchPlan:
    launch = Launch("waits", (blocks, 1, 1), (1024, 1, 1), ("y", "come"), cooperative=True)
    return LaunchPlan((Launch("clears", (1, 1, 1), (1, 1, 1), ("come",)), launch), scratch=(("come", 4),))


def test_blocks_of_a_cooperative_launch_wait_for_each_other_in_a_graph_too(device: Any, compiled: Compiled) -> None:
    blocks = device.properties.multiprocessors
    arrays = device.allocate(specs())
    case, plan = Case("softmax", (N,), -1, "float32"), waits(blocks)
    executable = device.executable(kernel(plan), case, plan, compiled(COPY), arrays)
    executable()
    device.clock.wait()
    assert (arrays["y"].get()[:blocks] == blocks).all()
    graph = device.clock.capture((executable,), 3)
    device.poison(arrays, specs())
    graph.launch()
    device.clock.wait()
    assert (arrays["y"].get()[:blocks] == blocks).all()


def test_a_cooperative_launch_of_more_blocks_than_the_gpu_holds_is_refused(device: Any, compiled: Compiled) -> None:
    arrays, binary = device.allocate(specs()), compiled(COPY)
    room = 2 * device.properties.multiprocessors  # of 1024 threads each
    with pytest.raises(DeviceError, match=r"waits: its \d+ blocks wait for each other, and the GPU holds \d+ of them"):
        launched(device, binary, waits(room + 1), arrays)
    launched(device, binary, waits(device.properties.multiprocessors), arrays)


def test_a_block_of_more_threads_than_the_compiler_was_told_is_refused(device: Any, compiled: Compiled) -> None:
    binary = compiled('extern "C" __global__ void __launch_bounds__(32) few(float* y) { y[threadIdx.x] = 1; }')
    plan = LaunchPlan((Launch("few", (1, 1, 1), (64, 1, 1), ("y",)),))
    with pytest.raises(DeviceError, match=r"kernel few: expected at most 32 threads per block, as .* got 64; launch"):
        launched(device, binary, plan, device.allocate(specs()))


def groups(group: int, blocks: int) -> LaunchPlan:
    arguments = ("y", "come", Scalar("int32", group))
    launch = Launch("groups", (blocks, 1, 1), (1024, 1, 1), arguments, co_resident=group)
    return LaunchPlan((Launch("clears", (1, 1, 1), (1, 1, 1), ("come",)), launch), scratch=(("come", 4),))


def test_groups_of_a_grid_larger_than_the_gpu_wait_for_each_other(device: Any, compiled: Compiled) -> None:
    arrays, group = device.allocate(specs()), device.properties.multiprocessors
    device.poison(arrays, specs())
    launched(device, compiled(COPY), groups(group, 10 * group), arrays)
    assert (arrays["y"].get()[: min(10 * group, 1001)] == group).all()


def test_a_group_of_more_blocks_than_the_gpu_holds_is_refused(device: Any, compiled: Compiled) -> None:
    room = 2 * device.properties.multiprocessors
    with pytest.raises(
        DeviceError,
        match=r"groups: groups of \d+ blocks wait for each other, and the GPU holds \d+ of them",
    ):
        launched(device, compiled(COPY), groups(room + 1, 2 * room + 2), device.allocate(specs()))


def test_scratch_is_aligned_and_apart(device: Any, compiled: Compiled) -> None:
    arrays = device.allocate(specs())
    launch = Launch("scratches", (1, 1, 1), (1, 1, 1), ("first", "second", "y"))
    launched(device, compiled(COPY), LaunchPlan((launch,), scratch=(("first", 3), ("second", 5))), arrays)
    assert arrays["y"].get()[:2].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "launch",
    [
        Launch("not_there", (1, 1, 1), (32, 1, 1), ("x", "y")),
        Launch("shares", (1, 1, 1), (2048, 1, 1), ("y", Scalar("int32", 1))),
        Launch("shares", (1, 1, 1), (32, 1, 1), ("y", Scalar("int32", 1)), 2**20),
    ],
)
def test_what_cannot_be_launched_is_told_and_the_gpu_goes_on(device: Any, compiled: Compiled, launch: Launch) -> None:
    arrays, binary = device.allocate(specs()), compiled(COPY)
    with pytest.raises(
        DeviceError, match=r"while (loading|launching) test|expected at most 1024 threads per block"
    ) as caught:
        launched(device, binary, LaunchPlan((launch,)), arrays)
    assert not isinstance(caught.value, DeviceLost)
    device.fill(arrays, specs(), 1)
    launched(device, binary, copies(0), arrays)
    np.testing.assert_array_equal(arrays["x"].get(), arrays["y"].get())


LOSING = """
from kernelbench.devices import open_device
from kernelbench.core.errors import DeviceLost
from kernelbench import ArraySpec
import cupy
device = open_device("auto")
arrays = device.allocate([ArraySpec("y", (10,), "float32", "output")])
text = 'extern "C" __global__ void k(float* y) { y[1ll << 40] = 1; }'
cupy.RawModule(code=text).get_function("k")((1,), (1,), (arrays["y"],))
for time in ("lost", "afterwards"):
    try:
        device.clock.wait()
    except DeviceLost as error:
        print(f"{time}: {error}", flush=True)
"""


def test_an_illegal_address_loses_the_context_and_says_so(device: Any) -> None:
    done = subprocess.run([sys.executable, "-c", LOSING], capture_output=True, text=True, cwd=ROOT, check=False)
    lines = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["lost", "afterwards"], done.stdout + done.stderr
    assert all(line.endswith(" while running") for line in lines)


def test_its_properties_are_those_of_the_table_if_it_is_in_it(device: Any) -> None:
    own = device.properties
    known = next((gpu for gpu in KNOWN.values() if gpu.name == own.name), None)
    if known is None:
        pytest.skip(f"{own.name} is not in the table of known GPUs")
    limits = [name for name in vars(known) if name.startswith(("max_", "shared_", "registers_", "warp"))]
    assert {name: getattr(own, name) for name in limits} == {name: getattr(known, name) for name in limits}
    assert (own.multiprocessors, own.architecture) == (known.multiprocessors, known.architecture)
    assert own.peak_bytes_per_s == pytest.approx(known.peak_bytes_per_s, rel=0.01)
    assert own.l2_bytes == pytest.approx(known.l2_bytes, rel=0.05)


def test_occupancy_is_what_cuda_says(device: Any, plans: Plans) -> None:
    import cupy
    from cupy_backends.cuda.api import driver

    names = ["naive", "tree_shuffle", "ft_v1", "oneflow_warp", "oneflow_shared", "oneflow_uncached", "copy"]
    (plan,) = plans([Case("softmax", (8, 2, 512, 512), -1, "float32")], names)
    compared = 0
    for one in plan.planned:
        assert one.binary is not None, one.reason
        module = cupy.RawModule(path=str(one.binary.path))
        for launch in one.plan.launches if one.plan else ():
            raw, facts = module.get_function(launch.entry), one.binary.facts[launch.entry]
            bound = raw.max_threads_per_block
            for threads in (size for size in (32, 96, 128, 256, 512, 1000, 1024) if size <= bound):
                for dynamic in (0, 1, 4096, 20_000, 47 * 1024, 100 * 1024):
                    if dynamic + facts.shared_bytes > device.properties.shared_per_block_optin:
                        continue
                    raw.max_dynamic_shared_size_bytes = max(dynamic, 1024)
                    said = driver.occupancyMaxActiveBlocksPerMultiprocessor(raw.kernel.ptr, threads, dynamic)
                    shared = facts.shared_bytes + dynamic
                    ours = device.properties.resident_blocks(threads, facts.registers, shared)
                    assert ours == said, f"{launch.entry}: {threads} threads, {facts.registers} registers, {shared} B"
                    compared += 1
    assert compared > 100


def test_conditions_and_environment_have_plausible_units(device: Any) -> None:
    conditions, environment = device.conditions(), device.environment()
    assert 1e8 < conditions["sm_clock_hz"] < 5e9
    assert 10 < conditions["power_w"] < 2000
    assert 10 < conditions["temperature_c"] < 110
    assert isinstance(conditions["throttle"], str)
    assert environment["name"] == device.name
    assert environment["driver"].split(".")[0].isdigit()
    assert 11 <= float(environment["cuda_runtime"]) < 20


def test_a_gpu_that_there_is_not_is_told_with_their_number(device: Any) -> None:
    from kernelbench.devices import open_device

    with pytest.raises(NoDevice, match=r"No CUDA device: cuda:99 was asked for, but there (is|are) only \d+ here\."):
        open_device("cuda:99")
