"""Two runs against each other: what is the same stays the same, what was planted is found, and nothing is dropped."""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from kernelbench.compare.between import libraries_alike, what_differs
from kernelbench.compare.changes import CHANGES, verdict_of
from kernelbench.compare.noise import LEAST
from kernelbench.compare.runs import compare_runs
from kernelbench.core import columns, places
from kernelbench.core.errors import InputError
from kernelbench.runs.results import Run, read_run
from kernelbench.runs.row_records import Row
from tests.compare.conftest import RunBuilder
from tests.two_runs import TIMES, World, slowed, synthetic, with_rows, with_samples

RECORDED = sorted(path.parent for path in (places.RECORDED / "h200").rglob("samples.csv.gz"))
each_recorded = pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
LENGTHS = np.geomspace(3e-6, 5e-3, 100)
REPEATS = 6


@pytest.fixture(scope="module")
def softmax() -> Run:
    return read_run(places.RECORDED / "h200" / "softmax")


def verdicts(changes) -> Counter:
    return Counter(row.verdict for row in changes.rows)


# ---- Recorded runs -------------------------------------------------------------------------------


@each_recorded
def test_a_run_with_itself_gives_only_same(folder: Path) -> None:
    run = read_run(folder)
    found = compare_runs(run, run)
    timed = sum(row.median_s is not None for row in run.rows)
    assert timed > 0
    assert verdicts(found) == Counter({"SAME": timed, "": len(run.rows) - timed}) - Counter({"": 0})
    assert {row.ratio for row in found.judged} == {1.0}
    assert "one run, given twice" in found.differences[0]


def test_libraries_and_copies_stand_beside_the_kernels(softmax: Run) -> None:
    found = compare_runs(softmax, with_environment(softmax, baseline="torch"))
    ranks = {row.implementation: found.rank(row) for row in found.rows}
    beside = {name for name, rank in ranks.items() if rank}
    assert beside == {"torch", "cupy", "copy", "copy_1", "copy_streamed", "copy_memcpy"}
    assert (ranks["oneflow"], ranks["torch"], ranks["cupy"]) == (0, 1, 2)


def test_without_raw_samples_a_run_with_itself_gives_only_same(softmax: Run) -> None:
    bare = with_samples(softmax, softmax.samples.iloc[:0])
    assert set(verdicts(compare_runs(bare, bare))) == {"SAME", ""}


def test_what_differs_has_units_and_a_foreign_value_is_told_as_it_is(softmax: Run) -> None:
    told = {
        "memory_clock_hz": (3.201e9, 2619000000),
        "power_limit_w": (700.0, 650),
        "sm_clock_max_hz": (2e9, "fast"),
    }
    runs = [
        replace(softmax, environment={"device": {name: values[number] for name, values in told.items()}})
        for number in range(2)
    ]
    assert what_differs(*runs, {})[:3] == [
        "power limit: 700 W, then 650 W",
        "highest SM clock: 2000 MHz, then fast",
        "memory clock: 3201 MHz, then 2619 MHz",
    ]


@pytest.mark.exhaustive
def test_a_planted_slowdown_is_found() -> None:
    """2 % on every second kernel of every recorded run; peers and yardsticks stay as they were. A run with
    --quick, whose intervals may be 2 % wide, need not find it, but blames nobody else for it."""
    planted: list[str] = []
    for folder in RECORDED:
        run = read_run(folder)
        names = set(sorted({row.implementation for row in run.rows if row.role == "kernel"})[::2])
        found = compare_runs(run, slowed(run, 1.02, lambda row, names=names: row.implementation in names))
        slow = [row for row in found.judged if row.implementation in names]
        if "--quick" not in run.environment["command"]:
            planted += [row.verdict for row in slow if row.first_s >= 20e-6]
        others = {row.verdict for row in found.rows if row.implementation not in names}
        assert others <= {"SAME", ""}, folder.name
        assert {row.implementation for row in found.regressions(0.02)} <= names, folder.name
    assert len(planted) > 900
    assert planted.count("SLOWER") >= 0.95 * len(planted), Counter(planted)


def test_the_other_way_round_it_is_faster(softmax: Run) -> None:
    slow = slowed(softmax, 1.05, lambda row: row.implementation == "oneflow")
    found = compare_runs(slow, softmax)
    faster = found.of("FASTER")
    assert {row.implementation for row in faster} == {"oneflow"}
    assert faster[0].ratio == pytest.approx(1 / 1.05)
    assert found.regressions(0.0) == []


def test_drift_excuses_a_per_cent_and_no_more(softmax: Run) -> None:
    """All rows slower, yardsticks too, is the GPU; but past MOST_DRIFT it is said of the rows as well."""
    one = verdicts(compare_runs(softmax, slowed(softmax, 1.008, lambda row: row.status == "ok")))
    assert set(one) <= {"SAME", "UNSURE", ""}
    assert one["SAME"] > 150
    four = verdicts(compare_runs(softmax, slowed(softmax, 1.04, lambda row: row.status == "ok")))
    assert four["SLOWER"] > 150


def test_launches_that_cost_more_in_one_process_are_not_the_kernels(softmax: Run) -> None:
    """0.36 us more per launch in graphs, of copies and libraries too: seen between processes that ran the same code."""

    def later(seconds: float, chosen: Callable[[Row], bool]) -> Run:
        def more(row: Row) -> float:
            if row.median_s is None or row.method != "graph" or not chosen(row):
                return 0.0
            return seconds * max(1, len(row.launch_texts))

        added = {(row.case, row.implementation, row.cache, row.method): more(row) for row in softmax.rows}
        samples = softmax.samples.copy()
        keys = map(tuple, samples[["case", "implementation", "cache", "method"]].to_numpy())
        samples["seconds"] += [added[key] for key in keys]
        rows = with_rows(
            softmax,
            lambda row: replace(row, **{name: (value := getattr(row, name)) and value + more(row) for name in TIMES}),
        )
        return with_samples(rows, samples)

    launches = compare_runs(softmax, later(0.36e-6, lambda row: True))
    assert launches.of("SLOWER") == []
    assert any(one.startswith("Launches: ") for one in launches.noise)
    ours = compare_runs(softmax, later(0.36e-6, lambda row: row.role == "kernel"))
    assert len(ours.of("SLOWER")) > 20, "what kernels alone lose is theirs"


def test_a_large_run_takes_seconds(softmax: Run) -> None:
    lengths = np.geomspace(3e-6, 5e-3, 250)
    runs = [synthetic(lengths, seed, World(), taken=200) for seed in (1, 2)]
    started = time.process_time()
    assert len(compare_runs(*runs).rows) == 500
    assert time.process_time() - started < 5


def test_the_same_runs_give_the_same_figures() -> None:
    pair = [synthetic(LENGTHS[:10], seed, World()) for seed in (1, 2)]
    assert compare_runs(*pair).rows == compare_runs(*pair).rows


# ---- Noise with a known truth --------------------------------------------------------------------


def repeats(factor: float) -> list:
    """Rows of several pairs of synthetic runs; in the second of each, `kernel` takes `factor` times as long."""
    pairs = [
        (synthetic(LENGTHS, 2 * number, World()), synthetic(LENGTHS, 2 * number + 1, World(), factor))
        for number in range(REPEATS)
    ]
    return [row for pair in pairs for row in compare_runs(*pair).rows]


def test_noise_alone_gives_at_most_one_false_verdict_in_a_hundred() -> None:
    rows = repeats(1.0)
    assert len(rows) == REPEATS * 200
    false = [row for row in rows if row.verdict in ("FASTER", "SLOWER")]
    assert len(false) <= 0.01 * len(rows)
    assert sum(row.verdict == "SAME" for row in rows) > 0.8 * len(rows)


def test_two_per_cent_are_found_from_20_us_up() -> None:
    long = [row for row in repeats(1.02) if row.implementation == "kernel" and row.first_s >= 20e-6]
    assert len(long) > 300
    assert sum(row.verdict == "SLOWER" for row in long) >= 0.9 * len(long)
    assert not any(row.verdict == "FASTER" for row in long)


# ---- Verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.03, 0.02, 0.04), "SLOWER"),
        ((-0.03, -0.04, -0.02), "FASTER"),
        ((0.0, -0.01, 0.01), "SAME"),
        ((0.0, 0.0, 0.0), "SAME"),
        ((0.02, 0.005, 0.035), "UNSURE"),
        ((0.0, -0.02, 0.02), "UNSURE"),
    ],
)
def test_the_verdict_is_that_of_interval_and_band(interval: tuple[float, float, float], verdict: str) -> None:
    assert verdict_of(*interval, band=0.01)[0] == verdict


def test_unsure_says_how_narrow_the_interval_must_become() -> None:
    assert verdict_of(0.0, -0.02, 0.02, band=0.01)[1] == pytest.approx(2)  # half as wide: inside the band
    assert verdict_of(0.03, 0.0, 0.06, band=0.01)[1] == pytest.approx(1.5)
    assert verdict_of(0.03, -0.02, 0.06, band=0.01)[1] == pytest.approx(2.5)  # above the farther edge as well


@pytest.mark.parametrize(
    "interval", [(0.0, -0.02, 0.02), (0.03, 0.0, 0.07), (-0.005, -0.03, 0.004), (0.02, -0.05, 0.05)]
)
def test_an_interval_so_narrow_is_decided(interval: tuple[float, float, float]) -> None:
    value, low, high = interval
    verdict, factor = verdict_of(value, low, high, band=0.01)
    assert verdict == "UNSURE"
    wide, narrow = (
        verdict_of(value, value + (low - value) / by, value + (high - value) / by, band=0.01)[0]
        for by in (factor / 1.01, factor * 1.01)
    )
    assert (wide, narrow == "UNSURE") == ("UNSURE", False)


def test_unsure_rows_say_how_many_more_samples() -> None:
    """An interval half as wide needs four times the samples."""
    noisy = World(drift=0, launch_s=0, row=0, wander=0, sample=0.03)
    found = compare_runs(*(synthetic(LENGTHS, seed, noisy, taken=20) for seed in (1, 2)))
    unsure = found.of("UNSURE")
    assert unsure
    for row in unsure:
        values = [np.log(value) for value in (row.ratio, row.ratio_low, row.ratio_high)]
        more = 20 * (verdict_of(*values, band=np.log1p(row.band))[1] ** 2 - 1)
        assert row.more_samples == (None if more > 10_000 else pytest.approx(more, abs=1))
        assert ("edge of its band" in row.reason) == (more > 10_000)


# ---- Rows without a counterpart ------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> tuple[RunBuilder, RunBuilder]:
    first, second = (RunBuilder(tmp_path / name) for name in ("first", "second"))
    for run in (first, second):
        run.time(run.case(4, 64, axes={"n": 64}), "good", 50)
    return first, second


def reasons(first: RunBuilder, second: RunBuilder) -> dict[str, tuple[str, str, str]]:
    found = compare_runs(first.write(), second.write())
    return {row.implementation: (row.first_status, row.second_status, row.reason) for row in found.without}


def test_rows_of_one_run_only_are_listed(pair: tuple[RunBuilder, RunBuilder]) -> None:
    first, second = pair
    case = first.case(4, 64, axes={"n": 64})
    first.time(case, "gone", 50)
    second.time(case, "come", 50)
    first.time(case, "warm", 50)
    first.time(case, "warm", 40, cache="warm", method="events")
    second.time(case, "warm", 50)
    found = reasons(first, second)
    assert found == {
        "gone": ("ok", "", "not in the second run: it has no such row"),
        "come": ("", "ok", "not in the first run: it has no such row"),
        "warm": ("ok", "", "not in the second run: it has no warm time by events"),
    }


def test_rows_that_failed_are_listed_and_are_regressions_where_they_worked(
    pair: tuple[RunBuilder, RunBuilder],
) -> None:
    first, second = pair
    case = first.case(4, 64, axes={"n": 64})
    first.time(case, "breaks", 50)
    second.refuse(case, "breaks", "wrong", "3 of 256 elements wrong")
    first.refuse(case, "mends", "failed", "launch failed")
    second.time(case, "mends", 50)
    for run in pair:
        run.refuse(case, "never", "unsupported", "columns must be odd")
    found = compare_runs(first.write(), second.write())
    told = {row.implementation: row.reason for row in found.without}
    assert told == {
        "breaks": "second run: wrong (3 of 256 elements wrong)",
        "mends": "first run: failed (launch failed)",
        "never": "unsupported (columns must be odd), in both runs",
    }
    assert [row.implementation for row in found.regressions(0.02)] == ["breaks"]


def test_every_row_has_every_column(pair: tuple[RunBuilder, RunBuilder]) -> None:
    first, second = pair
    second.refuse(second.case(4, 64, axes={"n": 64}), "other", "failed", "no memory")
    for row in compare_runs(first.write(), second.write()).rows:
        assert list(asdict(row)) == columns.column_names(CHANGES)


# ---- What else differs ---------------------------------------------------------------------------


def with_environment(run: Run, **changes) -> Run:
    return with_samples(replace(run, environment={**run.environment, **changes}), run.samples)


def test_two_gpus_are_compared_by_share_of_the_ceiling(softmax: Run) -> None:
    """A GPU of half the bandwidth takes twice the time at the same share."""
    slow = slowed(softmax, 2.0, lambda row: row.status == "ok")
    other = with_environment(slow, device={**softmax.environment["device"], "name": "NVIDIA Half"})
    found = compare_runs(softmax, other)
    cold = [row for row in found.judged if row.cache == "cold"]
    assert found.by_share
    assert "GPU: NVIDIA H200, then NVIDIA Half" in found.differences
    assert cold
    assert all(row.ratio == pytest.approx(1, abs=1e-4) for row in cold)
    warm = [row for row in found.rows if row.cache == "warm"]
    assert {row.reason for row in warm} == {
        "two GPUs are compared by share of the ceiling, which this row does not have in both runs"
    }


def test_seed_versions_and_code_are_said(softmax: Run) -> None:
    environment = dict(softmax.environment)
    binary = next(row.binary for row in softmax.rows if row.implementation == "naive")
    code = {("new" if key == binary else key): entries for key, entries in environment["code"].items()}
    code["new"] = {entry: {**facts, "hash": "other"} for entry, facts in code["new"].items()}
    second = with_rows(softmax, lambda row: replace(row, binary="new" if row.binary == binary else row.binary))
    second = with_environment(
        second, seed=7, code=code, finished=None, versions={**environment["versions"], "torch": "9"}
    )
    found = compare_runs(softmax, second)
    assert "seed of the inputs: 20260401, then 7" in found.differences
    assert f"torch: {environment['versions']['torch']}, then 9" in found.differences
    assert "other machine code: naive (11 rows)" in found.differences
    assert any("second run was not finished" in one for one in found.differences)
    assert {row.code for row in found.rows if row.implementation == "naive"} == {"other code"}
    assert {row.code for row in found.rows if row.implementation == "ft"} == {"same"}


def test_runs_that_do_not_name_their_gpu_count_as_of_two(softmax: Run) -> None:
    device = {name: value for name, value in softmax.environment["device"].items() if name != "name"}
    unknown = with_environment(softmax, device=device)
    found = compare_runs(unknown, with_environment(unknown))
    assert found.by_share
    assert [note for note in found.noise if note.endswith("whose times are not divided")] == [
        f"{softmax.folder}: environment.json does not name the GPU, so the runs count as runs of two GPUs, whose times "
        "are not divided"
    ] * 2


def test_a_peer_is_the_same_code_where_its_own_package_and_those_below_it_are(softmax: Run) -> None:
    def of(**versions: str) -> Run:
        known = {"torch": "2", "cub": "3", "quack-kernels": "1", **versions}
        return with_environment(softmax, versions=known)

    first = of()
    for name, alike in (("quack", False), ("torch_compile", True), ("copy_memcpy", True), ("mine", False)):
        assert libraries_alike(name, first, of(**{"quack-kernels": "2"})) == alike, name
    assert not libraries_alike("quack", first, of(torch="3")), "what it is called through"
    assert libraries_alike("mine", first, of()), "a peer of packages that are not known"
    assert "quack-kernels: 1, then 2" in compare_runs(first, of(**{"quack-kernels": "2"})).differences


def test_a_lower_clock_and_a_throttle_are_remarked(softmax: Run) -> None:
    def throttled(row: Row) -> Row:
        if row.implementation != "ft":
            return row
        marks = {"throttle": "power cap", "disturbed": "3 of 40 samples beside another process"}
        return replace(row, sm_clock_hz=0.9 * 1980e6, **marks)

    cool = with_rows(softmax, lambda row: replace(row, throttle="", sm_clock_hz=1980e6))
    found = compare_runs(cool, with_rows(cool, throttled))
    told = {row.reason for row in found.judged if row.implementation == "ft"}
    assert told == {
        "second run: throttled (power cap); second run: 3 of 40 samples beside another process; "
        "SM clock 1980 MHz in the first run, 1782 MHz in the second"
    }


# ---- What cannot be compared ---------------------------------------------------------------------


def test_runs_without_a_common_row_are_refused(tmp_path: Path) -> None:
    first, second = (RunBuilder(tmp_path / name) for name in ("first", "second"))
    first.time(first.case(4, 64), "good", 50)
    second.time(second.case(4, 128), "good", 50)
    with pytest.raises(InputError, match="no row with a time in common; expected at least one case"):
        compare_runs(first.write(), second.write())


def test_only_and_cache_choose_rows(softmax: Run) -> None:
    found = compare_runs(softmax, softmax, caches=("warm",), only=("ft",))
    assert {(row.implementation, row.cache) for row in found.rows} == {("ft", "warm")}


def test_the_band_is_never_narrower_than_the_sampling(softmax: Run) -> None:
    assert all(row.band >= LEAST for row in compare_runs(softmax, softmax).judged)


def test_numbers_that_no_run_measured_end_in_no_traceback(softmax: Run) -> None:
    odd_s = cycle((5e-324, 1e-300, 1.7e308))
    timed = [row for row in softmax.rows if row.status == "ok"][:40]
    odd = with_rows(softmax, lambda row: replace(row, **dict.fromkeys(TIMES, next(odd_s))) if row in timed else row)
    odd = with_samples(odd, softmax.samples.iloc[:0])
    for pair in ((softmax, odd), (odd, softmax)):
        found = compare_runs(*pair)
        json.dumps(list(map(asdict, found.rows)), allow_nan=False)
