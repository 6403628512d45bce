"""A case explained: columns that differ, links to the ledger, bounds, source lines."""

import pytest

from kernelbench.core.counters import Counters
from kernelbench.core.records import Claim
from kernelbench.devices.known import known_gpu
from kernelbench.explain import explain_case, source_listings, tightest_bound
from kernelbench.explain.case import differing_metrics
from kernelbench.explain.counted import LaunchShape
from kernelbench.explain.findings import Link

M = 1_000_000
H200 = known_gpu("h200")
CONFLICTS = {"shared_load_requests": 3 * M, "shared_load_wavefronts": 10 * M, "shared_load_ideal_wavefronts": 3 * M}
CLEAN = {"shared_load_requests": 3 * M, "shared_load_wavefronts": 3 * M, "shared_load_ideal_wavefronts": 3 * M}


def claim(*statements):
    return Claim("trees", "trees", "explanation", ("softmax",), {"explanation": list(statements)})


def conflicts(of, relation, than, **more):
    words = {"says": "they collide", "of": of, "metric": "bank_conflicts", "relation": relation, "than": than}
    return words | more


def test_metrics_that_differ_or_that_only_some_have_are_columns(make):
    assert differing_metrics([make("ft"), make("oneflow")]) == ()
    assert differing_metrics([make("ft"), make("naive", global_load_sectors=32 * M)]) == ("load_sectors",)
    assert "wavefronts" in differing_metrics([make("ft"), make("tree", **CLEAN)])
    assert {"lanes", "load_sectors", "warp_instructions"} <= set(differing_metrics([make("ft")])), (
        "alone, all that it has"
    )


@pytest.mark.parametrize(("relation", "decision"), [("more", "confirmed"), ("less", "contradicted")])
def test_sentences_are_linked_to_what_was_published(make, relation, decision):
    case = {"strided": make("strided", **CONFLICTS), "sequential": make("sequential", **CLEAN)}
    found = explain_case("seq=512", case, H200, [claim(conflicts("strided", relation, "sequential"))])
    (sentence,) = [one for one in found.sentences if one.rule == "bank conflicts"]
    assert sentence.implementation == "strided"
    assert sentence.links == (Link("trees", decision),)
    assert [one.decision for one in found.evidence] == [decision]
    assert found.evidence[0].text == "strided 3.33, sequential 1.00"


def test_statements_about_others_are_left_out_and_missing_ones_named(make):
    case = {"strided": make("strided", **CONFLICTS)}
    claims = [claim(conflicts("strided", "more", "sequential"))]
    assert explain_case("seq=512", case, H200, claims).evidence == ()
    (one,) = explain_case("seq=512", case, H200, claims, {"sequential": "too long"}).evidence
    assert (one.decision, one.text) == ("not visible here", "sequential: not counted on this case")


def test_a_streaming_kernel_is_bounded_by_memory(make):
    """All that it reads, and what of its output the L2 cannot keep."""
    limit = tightest_bound(make("ft"), H200)
    assert limit.resource == "DRAM bytes"
    assert limit.seconds == pytest.approx((2 * 128e6 - H200.l2_bytes) / H200.peak_bytes_per_s)
    assert str(limit).startswith("takes at least 40.")


def test_later_launches_may_read_what_the_l2_kept(make):
    two = tightest_bound(make("two", launches=2), H200)
    first, second = 2 * 128e6 - H200.l2_bytes, 2 * (128e6 - H200.l2_bytes)
    assert two.seconds == pytest.approx((first + second) / H200.peak_bytes_per_s)


def test_bank_conflicts_can_be_the_bound(make):
    own = make("strided", shared_load_requests=50 * M, shared_load_wavefronts=1600 * M)
    limit = tightest_bound(own, H200)
    assert limit.resource == "shared wavefronts"
    assert limit.seconds == pytest.approx(1600e6 / (H200.multiprocessors * H200.max_clock_hz))
    one_block = LaunchShape("kernel", blocks=1, threads=256, registers=32)
    alone = make("strided", shape=one_block, shared_load_requests=50 * M, shared_load_wavefronts=1600 * M)
    assert tightest_bound(alone, H200).seconds == pytest.approx(H200.multiprocessors * limit.seconds)


def test_a_sample_is_held_to_the_arrays_there_are(make):
    """A mask that all blocks read is counted for each of them when a sample is scaled up."""
    counted = make("ft", sampled="sampled 64 of 10000 blocks", read_once_bytes=1000 * 128 * M)
    assert tightest_bound(counted, H200).seconds <= 2 * 128e6 / H200.peak_bytes_per_s


def test_lines_are_listed_with_the_costliest_marked(make, tmp_path):
    source = tmp_path / "tree.cu"
    source.write_text("int a;\nslots[i] += slots[i + s];\ny[i] = 1;\n")
    lines = {
        (str(source), 2): Counters(warp_instructions=5, thread_instructions=160, shared_load_wavefronts=10),
        (str(source), 3): Counters(warp_instructions=3, thread_instructions=48, global_store_sectors=4),
    }
    (listing,) = source_listings(make("tree", lines=lines))
    assert listing.path == source
    assert [(line.number, line.text, line.top) for line in listing.lines] == [
        (2, "slots[i] += slots[i + s];", True),
        (3, "y[i] = 1;", True),
    ]
    assert listing.lines[1].counters.lanes_per_instruction == 16


def test_only_the_costliest_lines_are_marked(make, tmp_path):
    lines = {(str(tmp_path / "gone.cu"), number): Counters(warp_instructions=number) for number in range(1, 10)}
    (listing,) = source_listings(make("tree", lines=lines))
    assert [line.number for line in listing.lines if line.top] == [7, 8, 9]
    assert {line.text for line in listing.lines} == {""}


def test_headers_of_the_compiler_are_one_line(make):
    header = "/usr/local/cuda/bin/../include/cuda_fp16.hpp"
    lines = {(header, number): Counters(warp_instructions=number) for number in (7, 8)}
    (listing,) = source_listings(make("tree", lines=lines))
    assert [(line.text, line.counters.warp_instructions, line.top) for line in listing.lines] == [
        ("all of cuda_fp16.hpp", 15, False)
    ]


def test_sources_are_found_where_the_project_is_now(make):
    lines = {("/gone/kernels/softmax/naive.cu", 1): Counters(warp_instructions=1)}
    (listing,) = source_listings(make("naive", lines=lines))
    assert listing.lines[0].text.startswith("// Softmax")


@pytest.mark.parametrize(
    ("conflicts", "text"),
    [
        ({("a.cu", 1): (2, 8), ("a.cu", 2): (4, 16)}, "a 2- to 16-way bank conflict"),
        ({("a.cu", 1): (2, 2)}, "a 2-way bank conflict"),
    ],
)
def test_how_many_ways_a_conflict_has_is_told(make, conflicts, text):
    found = explain_case("seq=512", {"tree": make("tree", conflicts=conflicts, **CONFLICTS)}, H200)
    (sentence,) = [one for one in found.sentences if "bank conflict" in one.text]
    assert sentence.text == f"3.3 wavefronts per shared request where 1 would do, {text}"
