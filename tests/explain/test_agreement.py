"""When counters of the hardware and of the simulator agree, and what explains a difference."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from kernelbench.core.counters import GROUPED, GROUPED_IN_PART, Counters, LaunchCounters
from kernelbench.core.hardware_counters import COMPARED, ProfiledLaunch, count_agreement, simulated_values
from kernelbench.explain.case import case_sentences
from kernelbench.explain.counted import Counted, LaunchShape
from kernelbench.explain.hardware_agreement import compare_launch, side_by_side

COUNTERS = Counters(global_load_requests=100, global_load_sectors=400, shared_load_wavefronts=1000)
REAL = {name: float(value) for name, value in simulated_values(COUNTERS).items() if name in COMPARED}
MERGED = "ptxas re-vectorised memory operations: 16 ld.shared of 4 bytes became 4 LDS.128"


def launch(
    blocks: int = 64, blocks_run: int = 64, entry: str = "k", may_be_off: Mapping[str, float] = MappingProxyType({})
) -> LaunchCounters:
    return LaunchCounters(entry, COUNTERS, blocks=blocks, blocks_run=blocks_run, may_be_off=may_be_off)


def test_equal_counters_agree_and_those_without_a_value_are_not_compared() -> None:
    assert compare_launch(REAL, launch(), "").agreement == "equal"
    known = {"global_load_sectors": 400.0, "warp_instructions": 7.0}
    assert compare_launch(known, launch(), "").agreement == "equal", "instructions of the PTX are others"
    assert compare_launch({}, launch(), "").agreement == ""


def test_a_difference_is_explained_by_accesses_of_its_kind_only() -> None:
    real = {**REAL, "shared_load_wavefronts": 750.0}
    found = compare_launch(real, launch(), MERGED)
    assert (found.agreement, found.unexplained) == ("explained", ())
    assert found.differences == "shared_load_wavefronts 750 / 1000 (0.750)"
    assert found.explanation == f"shared_load_wavefronts: {MERGED}"
    both = compare_launch({**real, "global_load_sectors": 380.0}, launch(), MERGED)
    assert (both.agreement, both.unexplained) == ("unexplained", ("global_load_sectors",))
    assert both.explanation == f"shared_load_wavefronts: {MERGED}"
    assert compare_launch(real, launch(), "").unexplained == ("shared_load_wavefronts",)
    assert compare_launch(real, launch(), "not available: no LDS is known").unexplained == ("shared_load_wavefronts",)


def test_joined_accesses_explain_nothing_where_they_count_as_joined() -> None:
    real = {**REAL, "shared_load_wavefronts": 750.0}
    assert compare_launch(real, replace(launch(), grouping=GROUPED), MERGED).unexplained == ("shared_load_wavefronts",)
    assert compare_launch(real, replace(launch(), grouping=GROUPED_IN_PART), MERGED).agreement == "explained"
    left_out = f"{MERGED}; ptxas left out 2 LDS"
    assert compare_launch(real, replace(launch(), grouping=GROUPED), left_out).explanation.endswith(
        ": ptxas left out 2 LDS"
    )
    local = "ptxas re-vectorised memory operations: 16 ld.local of 4 bytes became 4 LDL.128"
    assert (
        compare_launch({"local_load_sectors": 5.0}, replace(launch(), grouping=GROUPED), local).agreement == "explained"
    )


def test_sentences_say_which_counts_follow_the_machine_code() -> None:
    def text(note: str, grouping: str) -> str:
        one = counted(replace(launch(), grouping=grouping), machine_code=note)
        return next(each.text for each in case_sentences({"i": one}) if each.rule == "machine_code")

    assert text(MERGED, "") == f"{MERGED} (counts here are of the PTX, a GPU's differ there)"
    assert text(MERGED, GROUPED) == f"{MERGED}: shared accesses are {GROUPED}"
    for note, grouping in ((MERGED, GROUPED_IN_PART), (f"{MERGED}; ptxas left out 2 LDG", GROUPED)):
        assert (
            text(note, grouping)
            == f"{note}: shared accesses are {grouping}; other counts are of the PTX, a GPU's differ"
        )


@pytest.mark.parametrize(
    ("metric", "note"),
    [
        ("global_load_sectors", "ptxas added 2 LDG.128"),
        ("global_load_requests", "ptxas left out 2 ld of 4 bytes"),
        ("global_store_sectors", "ptxas moved 1 STG behind the first exit: warps that end there do not run it"),
        ("shared_store_wavefronts", "4 st.shared of 4 bytes became 1 STS.128"),
        ("shared_atomic_wavefronts", "atomics became a loop of a load and ATOMS.CAS"),
        ("local_store_sectors", "ptxas put registers into local memory: 3 STL"),
    ],
)
def test_notes_name_the_accesses_that_they_explain(metric: str, note: str) -> None:
    assert compare_launch({metric: 5.0}, launch(), note).agreement == "explained"
    others = [name for name in COMPARED if name.rpartition("_")[0] != metric.rpartition("_")[0]]
    unexplained = [name for name in others if compare_launch({name: 5.0}, launch(), note).agreement == "unexplained"]
    assert len(unexplained) >= len(others) - 3, "a note of unknown space may be of several kinds"


def test_a_sample_explains_no_more_than_its_blocks_differ_in_what_is_counted() -> None:
    sampled = launch(blocks=1000, blocks_run=100, may_be_off={"global_load_sectors": 20.0})
    assert compare_launch({"global_load_sectors": 419.0}, sampled, "").explanation == (
        "global_load_sectors: scaled from 100 of 1000 blocks, which differ: it may be off by 5.0 %"
    )
    assert compare_launch({"global_load_sectors": 381.0}, sampled, "").agreement == "explained"
    for far in (379.0, 421.0):
        assert compare_launch({"global_load_sectors": far}, sampled, "").agreement == "unexplained"
    assert compare_launch({"global_load_requests": 101.0}, sampled, "").agreement == "unexplained", (
        "alike in every block"
    )


def test_a_sample_of_equal_blocks_and_a_whole_grid_explain_nothing() -> None:
    """On an H200 the pipe's wavefronts of ft were 1 % more than these, of 8 equal blocks."""
    assert compare_launch({"shared_load_wavefronts": 1007.0}, launch(2048, 8), "").agreement == "unexplained"
    whole = launch(may_be_off={"global_load_sectors": 20.0})
    assert compare_launch({"global_load_sectors": 404.0}, whole, "").agreement == "unexplained"


# ---- Launches side by side ----


def profiled(symbol: str = "k", **missing: str) -> ProfiledLaunch:
    stalls = {"wait": 1.5, "barrier": 4.0, "membar": 0.0}
    return ProfiledLaunch("name", symbol, (2, 1, 1), (32, 1, 1), REAL, missing, stalls)


def counted(*launches: LaunchCounters, machine_code: str = "") -> Counted:
    shapes = tuple(LaunchShape(one.entry, 64, 32, machine_code=machine_code) for one in launches)
    return Counted("c", "i", COUNTERS, launches=launches, shapes=shapes)


def test_each_launch_has_both_sides() -> None:
    first, second = side_by_side("c", "i", [profiled(), profiled("b")], counted(launch(), launch(1000, 64, "b")))
    assert [(one.launch, one.kernel, one.agreement) for one in (first, second)] == [
        (1, "k", "equal"),
        (2, "b", "equal"),
    ]
    assert (first.sampled, second.sampled) == ("", "64 of 1000 blocks")
    assert list(first.stalls.items()) == [("barrier", 4.0), ("wait", 1.5)], "the largest first"
    assert first.reason == ""
    found = count_agreement((first, second))
    assert (found.launches, found.metrics, found.equal, found.explained, found.unexplained) == (2, 6, 6, 0, 0)


def test_a_side_that_has_nothing_says_why() -> None:
    (real,) = side_by_side("c", "i", [profiled()], "a library call")
    assert (real.agreement, real.simulated, real.reason) == ("", {}, "simulator: a library call")
    (simulated,) = side_by_side("c", "i", "no GPU here", counted(launch()))
    assert (simulated.kernel, simulated.hardware, simulated.reason) == ("k", {}, "hardware: no GPU here")
    assert simulated.simulated["global_load_sectors"] == 400
    (neither,) = side_by_side("c", "i", "no GPU here", "a library call")
    assert (neither.launch, neither.reason) == (0, "hardware: no GPU here; simulator: a library call")


def test_other_launches_than_the_simulators_are_not_compared() -> None:
    one, two = side_by_side("c", "i", [profiled("k"), profiled("b")], counted(launch()))
    assert (one.agreement, two.agreement, one.simulated) == ("", "", {})
    assert one.reason == "simulator: it ran k where the GPU ran k, b"


def test_metrics_without_a_value_have_the_reason() -> None:
    (one,) = side_by_side("c", "i", [profiled(l2_bytes="NaN", dram_read_bytes="NaN", local_load_sectors="no")], "none")
    assert one.reason == "simulator: none; l2_bytes, dram_read_bytes: NaN; local_load_sectors: no"


def test_the_tally_counts_metrics_and_leaves_out_zeros() -> None:
    real = profiled()
    apart = ProfiledLaunch(
        "name", "k", (2, 1, 1), (32, 1, 1), {**REAL, "shared_load_wavefronts": 9.0, "global_load_sectors": 9.0}
    )
    launches = [
        *side_by_side("c", "i", [real], counted(launch(), machine_code=MERGED)),
        *side_by_side("c", "i", [apart], counted(launch(), machine_code=MERGED)),
        *side_by_side("c", "i", [real], "none"),
    ]
    found = count_agreement(launches)
    assert (found.launches, found.metrics, found.equal, found.explained, found.unexplained) == (2, 6, 4, 1, 1)
