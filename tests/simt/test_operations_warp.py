"""shfl, vote, match, redux, elect, activemask, bar.warp: values, masks, faults of lanes that do not take part."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.simt.harness import Kernels, Outcome
from tests.simt.operations import Array, apply, floats, integers, kernel

FULL = 0xFFFFFFFF


def words(count: int = 96, seed: int = 1) -> Array:
    return integers("u32", count, seed)


def in_warps(array: Array) -> list[Array]:
    return [array[start : start + 32] for start in range(0, len(array), 32)]


def source_lane(mode: str, lane: int, operand: int, clamp: int) -> tuple[int, bool]:
    """As the manual's text has it: (lane that is read, whether it is within the segment)."""
    segment, bound = clamp >> 8 & 31, clamp & 31
    operand &= 31
    first, last = lane & segment, (lane & segment) | (bound & ~segment)
    if mode == "up":
        source, inside = lane - operand, lane - operand >= last
    elif mode == "down":
        source, inside = lane + operand, lane + operand <= last
    elif mode == "bfly":
        source, inside = lane ^ operand, lane ^ operand <= last
    else:
        source = first | (operand & ~segment)
        inside = source <= last
    return (source, inside) if inside else (lane, False)


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 8, 1])
def test_shuffle(mode: str, width: int) -> None:
    """With the clamp that CUDA passes for this width; the operand differs from lane to lane in the second run."""
    clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
    values = words()
    for operands in (np.full(96, 3), np.random.default_rng(1).integers(0, 64, 96)):
        sources = (("u32", values), ("u32", operands.astype(np.uint32)))
        found = apply(f"shfl.sync.{mode}.b32 %d, %a, %b, {clamp}, -1;", "u32", *sources)
        inside = apply(f".reg .b32 %x; shfl.sync.{mode}.b32 %x|%p, %a, %b, {clamp}, -1;", "pred", *sources)
        for number in range(96):
            lane, warp = number % 32, number - number % 32
            source, reached = source_lane(mode, lane, int(operands[number]), clamp)
            assert found[number] == values[warp + source], (lane, operands[number])
            assert inside[number] == reached, (lane, operands[number])


def test_shuffle_onto_itself() -> None:
    values = words()
    found = apply("mov.b32 %d, %a; shfl.sync.down.b32 %d, %d, 1, 31, -1;", "u32", ("u32", values))
    expected = np.concatenate([np.append(warp[1:], warp[31]) for warp in in_warps(values)])
    np.testing.assert_array_equal(found, expected)


def test_tiles_of_one_warp() -> None:
    """Lanes of two tiles execute one instruction with masks of their own."""
    values = words()
    masks = np.where(np.arange(96) % 32 < 16, 0xFFFF, 0xFFFF0000).astype(np.uint32)
    found = apply("vote.sync.ballot.b32 %d, %q, %b;", "u32", ("u32", values), ("u32", masks))
    assert not found.any(), "a predicate that was never written is false"
    text = "setp.lt.u32 %q, %a, 1000; vote.sync.ballot.b32 %d, %q, %b;"
    found = apply(text, "u32", ("u32", values), ("u32", masks))
    for start in range(0, 96, 32):
        votes = sum(int(values[start + lane] < 1000) << lane for lane in range(32))
        assert (found[start : start + 32] == (votes & masks[start : start + 32])).all()


VOTES: dict[str, Callable[[NDArray[np.bool_]], bool]] = {
    "all": lambda votes: bool(votes.all()),
    "any": lambda votes: bool(votes.any()),
    "uni": lambda votes: bool(votes.all() or not votes.any()),
}


@pytest.mark.parametrize("mode", VOTES)
@pytest.mark.parametrize("negated", ["", "!"])
def test_vote(mode: str, negated: str) -> None:
    votes = np.zeros(128, np.uint32)
    votes[32:64] = 1
    votes[70] = 1
    votes[96:127] = 1
    text = f"setp.ne.u32 %q, %a, 0; vote.sync.{mode}.pred %p, {negated}%q, -1;"
    found = apply(text, "pred", ("u32", votes))
    for warp, result in zip(in_warps(votes), in_warps(found), strict=True):
        assert (result == VOTES[mode]((warp != 0) ^ bool(negated))).all()


@pytest.mark.parametrize("bits", [32, 64])
def test_match(bits: int) -> None:
    kind = f"u{bits}"
    values = (integers(kind, 96) % 5).astype(kind.replace("u", "uint"))
    if bits == 64:
        values[::3] += np.uint64(1 << 40)
    values[64:] = 7
    found = apply(f"match.any.sync.b{bits} %d, %a, -1;", "u32", (kind, values))
    everyone = apply(f"match.all.sync.b{bits} %d, %a, -1;", "u32", (kind, values))
    agreed = apply(f".reg .b32 %x; match.all.sync.b{bits} %x|%p, %a, -1;", "pred", (kind, values))
    for number in range(96):
        warp = values[number - number % 32 :][:32]
        assert found[number] == sum(int(value == values[number]) << lane for lane, value in enumerate(warp))
        assert everyone[number] == (FULL if (warp == warp[0]).all() else 0)
        assert agreed[number] == (warp == warp[0]).all()


@pytest.mark.parametrize(
    ("name", "kind", "function"),
    [
        ("add", "u32", np.add),
        ("add", "s32", np.add),
        ("min", "u32", np.minimum),
        ("max", "u32", np.maximum),
        ("min", "s32", np.minimum),
        ("max", "s32", np.maximum),
        ("and", "b32", np.bitwise_and),
        ("or", "b32", np.bitwise_or),
        ("xor", "b32", np.bitwise_xor),
    ],
)
def test_reduction(name: str, kind: str, function: np.ufunc) -> None:
    values = integers(kind.replace("b", "u"), 96)
    found = apply(f"redux.sync.{name}.{kind} %d, %a, -1;", kind, (kind, values))
    for warp, result in zip(in_warps(values), in_warps(found), strict=True):
        assert (result == function.reduce(warp, dtype=warp.dtype)).all()


@pytest.mark.parametrize("name", ["min", "max"])
def test_reduction_of_floats(name: str) -> None:
    values = floats("f32", 96)
    values[:32] = np.abs(values[:32])
    values[:32][np.isnan(values[:32])] = 1
    pick = {"min": np.fmin, "max": np.fmax}[name]
    keep = {"min": np.minimum, "max": np.maximum}[name]
    for words_, function in (
        ("", pick.reduce),
        (".NaN", keep.reduce),
        (".abs", lambda warp: pick.reduce(np.abs(warp))),
        (".abs.NaN", lambda warp: keep.reduce(np.abs(warp))),
    ):
        found = apply(f"redux.sync.{name}{words_}.f32 %d, %a, -1;", "f32", ("f32", values))
        for warp, result in zip(in_warps(values), in_warps(found), strict=True):
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(result, np.repeat(function(warp), 32))


def test_active_lanes() -> None:
    lanes = np.arange(96, dtype=np.uint32) % 32
    text = "mov.u32 %d, 0; setp.lt.u32 %q, %a, 5; @%q activemask.b32 %d;"
    np.testing.assert_array_equal(apply(text, "u32", ("u32", lanes)), np.where(lanes < 5, 31, 0))
    assert (apply("activemask.b32 %d;", "u32", ("u32", lanes)) == FULL).all()


def test_elect() -> None:
    lanes = np.arange(96, dtype=np.uint32) % 32
    masks = np.where(lanes < 8, 0xFF, 0xFFFFFF00).astype(np.uint32)
    leader = np.where(lanes < 8, 0, 8)
    found = apply("elect.sync %d|%q, %b;", "u32", ("u32", lanes), ("u32", masks))
    np.testing.assert_array_equal(found, leader)
    found = apply("elect.sync _|%p, %b;", "pred", ("u32", lanes), ("u32", masks))
    np.testing.assert_array_equal(found, lanes == leader)


def run(instructions: str, lanes: int, block: int = 32) -> Outcome:
    values = np.arange(lanes, dtype=np.uint32)
    target = np.zeros(lanes, np.uint32)
    return Kernels(kernel(instructions, "u32", ["u32"])).run(
        "k", 1, block, target, values, np.uint32(lanes), strict=False, faulty=True
    )


HALF = "setp.lt.u32 %q, %a, 16; mov.u32 %d, 0;"


@pytest.mark.parametrize(
    "instruction",
    [
        "@%q shfl.sync.down.b32 %d, %a, 1, 31, -1;",
        "@%q shfl.sync.bfly.b32 %d, %a, 1, 31, 0x1ffff;",
        "@%q vote.sync.ballot.b32 %d, %q, -1;",
        "@%q match.any.sync.b32 %d, %a, -1;",
        "@%q redux.sync.add.s32 %d, %a, -1;",
        "@%q bar.warp.sync -1;",
    ],
)
def test_a_mask_that_names_lanes_elsewhere(instruction: str) -> None:
    faults = run(f"{HALF} {instruction}", 32).report.faults
    assert [(fault.kind, fault.lane, fault.count) for fault in faults] == [("inactive_lane", 0, 16)]
    assert instruction.split(" ", 1)[1].rstrip(";") in faults[0].instruction.text


def test_a_mask_without_oneself() -> None:
    faults = run("vote.sync.ballot.b32 %d, %q, 0xfffffff7;", 32).report.faults
    assert [(fault.kind, fault.lane, fault.count) for fault in faults] == [("inactive_lane", 3, 1)]


def test_a_value_of_a_lane_that_is_elsewhere() -> None:
    """The mask is right, but the upper eight of sixteen lanes read beyond it."""
    faults = run(f"{HALF} @%q shfl.sync.down.b32 %d, %a, 8, 31, 0xffff;", 32).report.faults
    assert [(fault.kind, fault.lane, fault.count) for fault in faults] == [("inactive_lane", 8, 8)]


@pytest.mark.parametrize(
    "instructions",
    [
        f"{HALF} @%q shfl.sync.down.b32 %d, %a, 8, 0x100f, 0xffff;",  # a width of 16
        f"{HALF} @%q vote.sync.ballot.b32 %d, %q, 0xffff;",
        "mov.u32 %d, 0; bar.warp.sync -1;",
        "vote.sync.ballot.b32 %d, %q, -1;",
    ],
)
def test_no_false_alarm(instructions: str) -> None:
    assert run(instructions, 32).faults == ()


def test_lanes_that_have_left_are_not_missed() -> None:
    """The kernel's last lanes return at once; a full mask of those that stay is right."""
    assert run("vote.sync.ballot.b32 %d, %q, -1;", 20).faults == ()
