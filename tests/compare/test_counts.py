"""A run of the simulator: compared by counts, and judged only where no time is needed."""

import pandas as pd
import pytest

from kernelbench.compare import compare_within, judge_claims


@pytest.fixture
def counted(build):
    build.simulated = True
    case = build.case(32, 64, 16, 16, axes={"seq": 16})
    build.count(case, "ft", warp_instructions=1000, global_load_sectors=70, global_store_sectors=30,
                global_atomic_sectors=20, read_once_bytes=640, written_once_bytes=320)  # fmt: skip
    build.count(case, "oneflow", warp_instructions=250, global_load_sectors=40, global_store_sectors=20,
                read_once_bytes=640, written_once_bytes=320, shared_load_wavefronts=9)  # fmt: skip
    build.refuse(case, "torch", "skipped", "a library call", role="peer")
    return build


def test_counts_stand_over_those_of_the_baseline(counted, ledger):
    ft, oneflow, torch = compare_within(counted.write(), "ft", ledger)
    assert [row.implementation for row in (ft, oneflow, torch)] == ["ft", "oneflow", "torch"]
    assert (ft.global_bytes, oneflow.global_bytes) == (32 * 120, 32 * 60)
    assert (oneflow.global_bytes_ratio, oneflow.distinct_bytes_ratio) == (0.5, 1.0)
    assert oneflow.warp_instructions_ratio == 0.25
    assert oneflow.shared_wavefronts == 9
    assert oneflow.shared_wavefronts_ratio is None, "the baseline has none"
    for row in (ft, oneflow):
        assert row.reason == "the simulator has no times"
        assert row.speedup is None
        assert row.verdict == ""
    assert torch.reason == "torch: skipped (a library call)"
    assert torch.global_bytes is None


def test_claims_about_times_are_not_judged(counted, ledger):
    for one in judge_claims(counted.write(), ledger, ["softmax-ft-oneflow", "softmax-fusion", "ft-dispatch"]):
        assert (one.verdict, one.sentence) == ("not decided", "Not decided: the simulator has no times.")


def test_a_run_from_before_the_simulator_is_read(build, ledger, published_case):
    build.time(published_case(16), "ft", 100)
    folder = build.write().folder
    path = folder / "results.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.drop(columns=table.columns[list(table.columns).index("sampled") :]).to_csv(path, index=False)
    from kernelbench.runs.results import Store, read_run

    run = read_run(folder)
    assert not run.simulated
    assert all(row.sampled == "" for row in run.rows)
    assert all(row.counters is None for row in run.rows)
    other = published_case(32)
    shape = "x".join(map(str, other.shape))
    Store(folder).append([{**dict(table.iloc[0]), "case": other.key, "shape": shape}], [])
    assert len(read_run(folder).rows) == 2, "and gone on with"
