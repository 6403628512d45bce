"""Metrics out of counters, and counters out of a run's results.csv."""

from dataclasses import replace

import pytest

from kernelbench.compare.counted_runs import counted_of_run, counts_of
from kernelbench.core import columns, places
from kernelbench.core.counters import Counters
from kernelbench.devices.known import known_gpu
from kernelbench.explain.counted import METRICS, Counted, LaunchShape
from kernelbench.runs.results import Store, read_run
from kernelbench.runs.row_records import RESULTS

H200 = known_gpu("h200")
COUNTERS = Counters(
    warp_instructions=100, thread_instructions=2330,
    global_load_requests=30, global_load_sectors=960, global_load_ideal_sectors=120, global_load_requested_bytes=1920,
    global_store_requests=10, global_store_sectors=40, global_store_ideal_sectors=40, global_store_requested_bytes=480,
    shared_load_requests=8, shared_load_wavefronts=28, shared_load_ideal_wavefronts=8,
    shared_store_requests=2, shared_store_wavefronts=2, shared_store_ideal_wavefronts=2,
    local_load_sectors=4, barriers=16, branches=10, divergent_branches=5, read_once_bytes=1280, written_once_bytes=1280,
)  # fmt: skip


def counted(**more):
    shape = LaunchShape("kernel", blocks=2, threads=65, registers=32)  # 3 warps a block
    return Counted("case", "naive", COUNTERS, least_bytes=2560, shapes=(shape, shape), gpu=H200, **more)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("launches", 2),
        ("traffic", 1.0),
        ("reads", 1.5),
        ("load_sectors", 32),
        ("load_ideal", 4),
        ("load_excess", 8),
        ("load_used", 2),
        ("load_bytes", 64),
        ("store_excess", 1),
        ("store_used", 12),
        ("accesses", 40),
        ("sectors", 1000),
        ("wavefronts", 3.0),
        ("wavefronts_ideal", 1.0),
        ("bank_conflicts", 3.0),
        ("lanes", 23.3),
        ("divergence", 0.5),
        ("barriers", 16 / 12),
        ("local_bytes", 128),
        ("atomic_sectors", None),
        ("conflict_ways", None),
    ],
)
def test_metrics(metric, value):
    assert counted().value(metric) == (None if value is None else pytest.approx(value))


def test_bytes_that_an_early_version_did_not_count_are_whole_sectors():
    early = Counted("case", "naive", replace(COUNTERS, global_load_requested_bytes=0, global_store_requested_bytes=0))
    names = ("reads", "load_bytes", "load_used", "store_used")
    assert [early.value(name) for name in names] == [3.0, 128, None, None]


def test_every_metric_of_nothing_is_none_or_zero():
    nothing = Counted("case", "empty", Counters())
    assert {name: nothing.value(name) for name in METRICS if nothing.value(name)} == {}


def test_occupancy_needs_registers_and_a_gpu():
    small = LaunchShape("kernel", 10, 1024, registers=32)
    large = LaunchShape("kernel", 10, 1024, registers=64)
    both = Counted("case", "two", COUNTERS, shapes=(small, large), gpu=H200)
    assert both.value("occupancy") == 0.5
    assert Counted("case", "two", COUNTERS, shapes=(small, large)).value("occupancy") is None
    unknown = LaunchShape("kernel", 10, 1024)
    assert Counted("case", "two", COUNTERS, shapes=(small, unknown), gpu=H200).value("occupancy") is None


def test_blocks_that_are_resident_need_registers_and_a_gpu():
    launch = LaunchShape("kernel", 132 * 8 * 5, 256, registers=32)  # 8 blocks fill a multiprocessor's 2048 places
    names = ("blocks", "resident_blocks", "resident_warps", "waves")
    one = Counted("case", "one", COUNTERS, shapes=(launch, LaunchShape("later", 1, 32, registers=32)), gpu=H200)
    assert [one.value(name) for name in names] == [5280, 8, 64, 5]
    few = Counted("case", "few", COUNTERS, shapes=(LaunchShape("kernel", 132, 320, registers=32),), gpu=H200)
    assert [few.value(name) for name in names] == [132, 6, 10, pytest.approx(1 / 6)]
    unknown = Counted("case", "unknown", COUNTERS, shapes=(LaunchShape("kernel", 10, 256),), gpu=H200)
    assert [unknown.value(name) for name in names] == [10, None, None, None]
    nowhere = Counted("case", "nowhere", COUNTERS, shapes=(launch,))
    assert [nowhere.value(name) for name in names] == [5280, None, None, None]


def test_metrics_are_described_for_people():
    for metric in METRICS.values():
        assert metric.meaning
        assert metric.header.count("\n") <= 1
        assert max(map(len, metric.header.split("\n"))) <= 12


def written(folder, *rows):
    store = Store(folder)
    store.append(rows, [])
    store.write_environment({"suite": "softmax"})
    return read_run(folder)


def row(name, **more):
    case = {"case": "seq=16", "operation": "softmax", "dtype": "float32", "shape": "16x16", "axis": -1}
    return {**case, "implementation": name, "role": "kernel", "status": "ok"} | more


def test_counters_come_back_from_results(tmp_path):
    known = set(columns.column_names(RESULTS))
    cells = {key: value for key, value in vars(COUNTERS).items() if key in known}
    cells |= {"lanes_per_instruction": COUNTERS.lanes_per_instruction, "sampled": "64 of 4096 blocks"}
    cells |= {"least_conflict_ways": 2, "most_conflict_ways": 8}
    cells |= {"bytes_moved": 2560, "registers": 32, "static_shared_bytes": 128}
    launches = "softmax_naive_f32<<<4x2, 256>>>; finish<<<1, 64, 512>>>"
    run = written(tmp_path, row("naive", launches=launches, **cells), row("torch", status="skipped"))
    found = counted_of_run(run)["seq=16"]
    assert list(found) == ["naive"]
    one = found["naive"]
    assert one.counters == COUNTERS
    assert (one.value("conflict_least"), one.value("conflict_ways")) == (2, 8)
    assert (one.least_bytes, one.sampled) == (2560, "sampled 64 of 4096 blocks")
    assert one.shapes == (LaunchShape("softmax_naive_f32", 8, 256, 128, 32), LaunchShape("finish", 1, 64, 640, 32))


def test_a_timed_run_has_no_counters(tmp_path):
    assert counted_of_run(written(tmp_path, row("naive", median_s=1e-6))) == {}


def test_a_run_on_a_gpu_gets_the_recorded_counts_of_what_it_launched_alike() -> None:
    run = read_run(places.RECORDED / "h100" / "softmax")
    case = run.rows[0].case
    found, source = counts_of(run)
    assert {"ft", "oneflow", "tree_modulo"} <= found[case].keys()
    assert source == "the recorded simulator run of this suite"
    other = ("softmax_oneflow_f32<<<7, 32>>>",)
    rows = [replace(row, launch_texts=other) if row.implementation == "oneflow" else row for row in run.rows]
    assert counts_of(replace(run, rows=tuple(rows)))[0][case].keys() == found[case].keys() - {"oneflow"}
