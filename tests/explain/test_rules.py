"""Each sentence where it belongs, and not where it does not."""

import pytest

from kernelbench.explain import RULES
from kernelbench.explain.counted import METRICS, LaunchShape
from kernelbench.explain.rules import Facts

M = 1_000_000
NOTHING_LOADED = {"global_load_requests": 0, "global_load_sectors": 0, "global_load_ideal_sectors": 0,
                  "global_load_requested_bytes": 0}  # fmt: skip


def loads(times, bytes_each):
    """Counters of `times` million loads of `bytes_each` bytes, at the start of a sector."""
    sectors = -(-bytes_each // 32) * times * M
    return {"global_load_requests": times * M, "global_load_sectors": sectors, "global_load_ideal_sectors": sectors,
            "global_load_requested_bytes": bytes_each * times * M}  # fmt: skip


def said(own, *others):
    """What the rules say of `own` beside the others, by the name of the rule."""
    facts = Facts(own, {one.implementation: one for one in (own, *others)})
    return {rule.name: text for rule in RULES if (text := rule.says(facts))}


def test_nothing_is_said_of_a_lean_kernel(make):
    assert said(make("oneflow"), make("ft")) == {}


@pytest.mark.parametrize(
    ("counters", "rule", "text"),
    [
        (NOTHING_LOADED | {"read_once_bytes": 0}, "input never read", "loads nothing, so it never reads its input"),
        (loads(3, 128), "input read again", "reads its input 3 times"),
        ({"global_load_sectors": 32 * M}, "uncoalesced loads", "32 sectors per load request where 4 would do"),
        ({"global_store_sectors": 8 * M}, "uncoalesced stores", "8 sectors per store request where 4 would do"),
        ({"read_once_bytes": 384 * M}, "traffic", "moves 2 times the least bytes"),
        (loads(2, 64), "narrow loads", "64 bytes per load request, ft 128"),
        ({"shared_load_requests": 3 * M, "shared_load_wavefronts": 10 * M, "shared_load_ideal_wavefronts": 3 * M},
         "bank conflicts", "3.3 wavefronts per shared request where 1 would do: bank conflicts"),
        ({"shared_atomic_requests": M, "shared_atomic_wavefronts": 32 * M}, "shared atomics meet",
         "32 wavefronts per shared atomic: lanes meet"),
        ({"global_atomic_requests": M, "global_atomic_sectors": M}, "global atomics",
         "1.00 M global atomics, 1 sectors per request"),
        ({"thread_instructions": 466 * M}, "idle lanes", "23.3 of 32 lanes active, ft 32"),
        ({"branches": 10 * M, "divergent_branches": 4 * M}, "divergence", "40 % of its branches diverge in the PTX"),
        ({"warp_instructions": 60 * M, "thread_instructions": 32 * 60 * M}, "instructions",
         "3 times the warp instructions of ft"),
        ({"barriers": 10 * 80_000}, "barriers", "10 barriers per block, ft 0"),
        ({"local_load_requests": M, "local_load_sectors": 4 * M}, "local memory",
         "128 MB through local memory: an array that is indexed at run time"),
    ],
)  # fmt: skip
def test_each_rule_says_its_sentence_and_no_other_does(make, counters, rule, text):
    assert said(make("own", **counters), make("ft")) == {rule: text}


@pytest.mark.parametrize(
    ("inputs", "broadcast", "text"),
    [
        (("x",), (), "reads its input 5 times"),
        (("x", "y"), (), "requests each byte of its inputs 5 times, on average"),
        ((), (), "requests each byte of its inputs 5 times, on average"),
        (("x", "gamma", "beta"), ("gamma", "beta"),
         "requests each byte of its inputs 5 times, on average: all slices read gamma and beta"),
    ],
)  # fmt: skip
def test_how_often_one_of_several_inputs_is_read_is_not_claimed(make, inputs, broadcast, text):
    """layer_norm may read x three times, gamma and beta once a row: five times in all, and no input five times."""
    assert list(said(make("own", inputs=inputs, broadcast=broadcast, **loads(5, 128))).values()) == [text]


def test_loads_of_short_rows_are_told_by_their_bytes(make):
    """Three reads of rows of three floats count 3 x 32 bytes over 12 in sectors, as eight would."""
    assert said(make("own", **loads(32, 12)), make("ft")) == {
        "input read again": "reads its input 3 times",
        "sectors loaded in part": "its loads request 12 bytes per sector that they touch, ft 32",
        "narrow loads": "12 bytes per load request, ft 128",
    }
    assert said(make("own", read_once_bytes=128 * M, **loads(10, 12)), make("ft")).keys() >= {"sectors loaded in part"}
    assert said(make("own", read_once_bytes=128 * M, **loads(10, 12))) == {}, "no other kernel fills its sectors"


def test_sectors_stored_in_part_are_said_where_another_kernel_fills_them(make):
    """All that reduce a block to a number do not."""
    own = make("own", global_store_requests=8 * M, global_store_sectors=8 * M, global_store_ideal_sectors=8 * M,
               global_store_requested_bytes=96 * M)  # fmt: skip
    assert said(own, make("ft")) == {
        "sectors stored in part": "its stores write 12 bytes per sector that they touch, ft 32"
    }
    assert said(own) == {}


@pytest.mark.parametrize("launches", [1, 2])
def test_sectors_alone_do_not_tell_the_bytes_of_requests_of_at_most_one(make, launches):
    """As in a run of an early version: three reads of rows of two floats count 3 x 32 bytes over 8, as twelve would."""
    uncounted = {"global_load_requested_bytes": 0, "global_store_requested_bytes": 0}
    own, other = make("own", launches=launches, **loads(12, 32) | uncounted), make("ft", **uncounted)
    bytewise = {"input read again", "bytes read again", "narrow loads", "sectors loaded in part"}
    assert not said(own, other).keys() & bytewise


def test_where_nothing_is_to_be_read_no_input_is_missed(make):
    """A kernel that writes all of the least traffic, such as a random mask."""
    writes = make("own", **NOTHING_LOADED, read_once_bytes=0, written_once_bytes=256 * M)
    assert writes.value("traffic") == 1
    assert "input never read" not in said(writes)


def test_several_launches_are_told_by_their_traffic(make):
    assert said(make("five_kernels", launches=5), make("oneflow"))["traffic of several launches"] == (
        "moves 5 times the least bytes, in 5 launches"
    )


def test_occupancy_names_what_limits_it(make):
    greedy = LaunchShape("kernel", 10_000, 256, registers=128)
    assert said(make("own", shape=greedy), make("ft"))["occupancy"] == (
        "25 % of the threads that a multiprocessor can hold, limited by 128 registers per thread"
    )
    shared = LaunchShape("kernel", 10_000, 256, shared_bytes=100_000, registers=32)
    assert "limited by 100 kB of shared memory per block" in said(make("own", shape=shared), make("ft"))["occupancy"]


def test_only_other_kernels_are_compared_with(make):
    """A copy has fewer instructions than any softmax; that says nothing."""
    copy = make("copy", role="yardstick", warp_instructions=M, thread_instructions=32 * M)
    assert said(make("ft"), copy) == {}


def test_every_rule_is_about_metrics_that_exist():
    assert {metric for rule in RULES for metric in rule.about} <= set(METRICS)
    assert len({rule.name for rule in RULES}) == len(RULES)
