"""Hardware counters on the screen: what is measured, what is simulated, and what a report lacks."""

from kernelbench.core.hardware_counters import HARDWARE_METRICS, CountedLaunch, ProfiledLaunch
from kernelbench.explain.profiled import explain_report
from kernelbench.report import hardware
from tests.report.printed import printed

CASE = "seq=8 shape=4x8 axis=-1 dtype=float32"
ONE = CountedLaunch(
    CASE, "ft", 1, "k", (4, 1, 1), (128, 1, 1),
    hardware={"global_load_sectors": 100.0, "shared_load_wavefronts": 75.0, "dram_read_bytes": 3200.0},
    stalls={"wait": 1.0, "long_scoreboard": 8.0, "selected": 1.0},
    simulated={"global_load_sectors": 100, "shared_load_wavefronts": 100, "warp_instructions": 7},
    agreement="explained", differences="shared_load_wavefronts 75 / 100 (0.750)",
    explanation="shared_load_wavefronts: ptxas joined loads",
)  # fmt: skip
ALONE = CountedLaunch(CASE, "naive", 1, "n", None, None, simulated={"global_load_sectors": 12345}, reason="no GPU")


def test_the_simulators_count_stands_beside_where_it_differs_and_alone_in_brackets() -> None:
    text = printed(*hardware.printed_hardware_counters([ONE, ALONE], ""), width=250)
    assert "75 (100)" in text
    assert "(12.3 k)" in text
    assert "100 (100)" not in text
    assert "shared load wavefronts: ptxas joined loads" in text
    assert "ft: warps wait for data from global or local memory in 8.0 of 10 cycles per instruction." in text
    assert "agree on 1 of 2 counters of 1 launch. The others: 1 explained." in text


def test_without_the_hardware_the_reason_comes_first_and_counts_are_labelled() -> None:
    text = printed(*hardware.printed_hardware_counters([ALONE], "no GPU here"), width=250)
    assert text.startswith(" Hardware counters were not read: no GPU here.\nCounters of the simulator, in brackets")
    assert "(12.3 k)" in text
    assert list(hardware.printed_hardware_counters([], "")) == []


def test_the_summary_has_numbers_of_counters_and_seconds() -> None:
    (line,) = hardware.agreement_sentences([ONE], {"seconds": 83.0})
    assert line.startswith("Hardware and simulator agree on 1 of 2 counters of 1 launch. The others: 1 explained. ")
    assert line.endswith("The pass took 1 min 23 s.")
    assert hardware.agreement_sentences([ALONE], {"seconds": 2.0}) == [
        "Nsight Compute recorded no launch that the simulator counts too. The pass took 2 s."
    ]
    assert hardware.agreement_sentences([ALONE], {"unavailable": "no ncu"})[0].startswith(
        "Hardware counters were not read: no ncu."
    )


def test_commands_name_the_kernels_of_a_plan_and_none_of_a_library() -> None:
    library = CountedLaunch(CASE, "torch", 1, "vectorized", None, None, hardware={"l2_bytes": 1.0})
    text = hardware.hand_offs("softmax", [ONE, library])
    assert [line for line in text if not line.startswith(" ")] == [
        "To profile and to check ft:", "To profile and to check torch:",
    ]  # fmt: skip
    assert "^(k)$" in text[1]
    assert "--kernel-name" not in text[4]
    assert all("--filter seq=8,shape=4x8,axis=-1,dtype=float32" in line for line in text if line.startswith(" "))


# ---- Reports of strangers ----

VALUES = dict.fromkeys(HARDWARE_METRICS, 64.0) | {"achieved_occupancy": 0.2, "lanes_per_instruction": 20.0}
FURTHER = {"theoretical_occupancy": 75.0, "global_sectors": 96.0, "global_ideal_sectors": 32.0}


def profiled(kernel: str = "scan", blocks: int = 8, scale: float = 1.0, **missing: str) -> ProfiledLaunch:
    values = {name: value * (scale if value == 64 else 1) for name, value in VALUES.items() if name not in missing}
    stalls = {"barrier": 6.0, "selected": 1.0}
    return ProfiledLaunch(
        kernel, kernel, (blocks, 1, 1), (32, 1, 1), values, missing, stalls, gpu="A GPU", further=FURTHER
    )


def test_a_report_has_sentences_and_tables() -> None:
    text = printed(*hardware.report_parts(explain_report("mine.ncu-rep", [profiled(), profiled("add")])), width=250)
    assert text.startswith("mine.ncu-rep: 2 kernels on A GPU\n")
    for words in ("3.00 times the sectors of global memory", "20.0 of 32 lanes active", "20 % of the warps",
                  "warps wait for a barrier of its block in 6.0 of 7.0 cycles"):  # fmt: skip
        assert words in " ".join(text.split())
    assert "never reads its input" not in text
    assert "nan" not in text.replace("\n", " ").split()


def test_equal_launches_are_one_line_with_their_mean() -> None:
    found = explain_report("mine", [profiled(), profiled(scale=3.0), profiled(blocks=16)])
    assert [one.implementation for one in found.launches] == ["scan (1)", "scan (2)"]
    assert found.launches[0].hardware["global_load_sectors"] == 128
    assert found.counted["scan (1)"].value("launches") == 2


def test_what_no_launch_has_is_named_and_kernels_without_loads_say_nothing_of_inputs() -> None:
    found = explain_report("mine", [profiled(l2_bytes="no", dram_read_bytes="no"), profiled(l2_bytes="no")])
    assert found.absent == ("l2_bytes",)
    assert "Not in this report: l2 bytes." in hardware.report_notes(found)[1]
    silent = profiled()
    silent.values.update(global_load_requests=0.0)
    assert "input" not in printed(*hardware.report_parts(explain_report("mine", [silent])), width=250)


def test_programs_get_a_row_per_kernel() -> None:
    (row,) = hardware.hardware_rows(explain_report("mine", [profiled(l2_bytes="no")]).launches)
    assert (row["kernel"], row["l2_bytes"], row["stall_barrier"]) == ("scan", None, 6.0)
