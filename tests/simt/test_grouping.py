"""Shared accesses that ptxas joins count as the machine code makes them."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build import BuildRequest, machine_lines
from kernelbench.build.sass import disassemble, mnemonics, sass_functions, shared_bytes
from kernelbench.core.counters import GROUPED, GROUPED_IN_PART, Counters
from kernelbench.simt import simulate
from kernelbench.simt.grouping import MachineLines
from tests.build.binaries import only_built

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n"
SET_UP = """.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<2>; .reg .b64 %rd<9>;
.shared .align 16 .b8 s[4096];
mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, s; add.s32 %r4, %r3, %r2; setp.lt.u32 %p1, %r1, 16;
ld.param.u64 %rd1, [k_param_0];
"""
FOUR = tuple(f"ld.shared.f32 %f{k}, [%r4+{4 * k}];" for k in range(4))


def run(code: Mapping[str, tuple[int, ...]]) -> tuple[Counters, str]:
    """Counters of one warp that executes the instructions, with the bytes of what the machine code has for each."""
    before = (HEAD + SET_UP).count("\n") + 1
    lines = {before + number: sizes for number, sizes in enumerate(code.values()) if sizes}
    found = simulate(HEAD + SET_UP + "\n".join(code) + "\nret;\n}\n", "k", 1, 32, {"x": np.zeros(32, np.float32)},
                     machine={"k": lines})  # fmt: skip
    assert not found.faults
    return found.counters, found.grouping


def loads(code: Mapping[str, tuple[int, ...]]) -> tuple[int, int, str]:
    counters, grouping = run(code)
    return counters.shared_load_requests, counters.shared_load_wavefronts, grouping


def test_without_the_machine_code_each_load_counts() -> None:
    assert loads(dict.fromkeys(FOUR, ())) == (4, 16, "")


@pytest.mark.parametrize("leader", range(4))
def test_four_loads_become_one(leader: int) -> None:
    assert loads({one: (16,) if number == leader else () for number, one in enumerate(FOUR)}) == (1, 4, GROUPED)


def test_copies_of_the_same_code_change_nothing() -> None:
    other = {"mul.f32 %f5, %f4, %f4;": (0,) * 3}
    assert loads({FOUR[0]: (16,) * 3, **dict.fromkeys(FOUR[1:], ()), **other}) == (1, 4, GROUPED)


def test_pairs() -> None:
    assert loads({FOUR[0]: (8,), FOUR[1]: (), FOUR[2]: (8,), FOUR[3]: ()}) == (2, 8, GROUPED)


def test_the_last_number_of_a_wide_load_may_be_of_no_use() -> None:
    assert loads({FOUR[0]: (16,), FOUR[1]: (), FOUR[2]: ()}) == (1, 4, GROUPED)


def test_all_lanes_at_one_place() -> None:
    broadcast = {f"ld.shared.f32 %f{k}, [s+{16 + 4 * k}];": (16,) if k == 0 else () for k in range(4)}
    assert loads(broadcast) == (1, 2, GROUPED)


def test_a_store_counts_at_the_last() -> None:
    stores = [f"st.shared.f32 [%r4+{4 * k}], %f{k};" for k in range(4)]
    counters, grouping = run({**dict.fromkeys(stores[:3], ()), stores[3]: (16,)})
    assert (counters.shared_store_requests, counters.shared_store_wavefronts, grouping) == (1, 4, GROUPED)


LOOP = {"mov.u32 %r5, 0;": (), "again:": (), "add.s32 %r6, %r4, %r5;": (), "ld.shared.f32 %f1, [%r6];": (16,),
        "fma.rn.f32 %f2, %f1, %f1, %f2;": (0,) * 4, "add.s32 %r5, %r5, 4;": (), "setp.lt.u32 %p1, %r5, 16;": (),
        "@%p1 bra again;": ()}  # fmt: skip


def test_iterations_of_an_unrolled_loop_share_a_load() -> None:
    assert loads(LOOP) == (1, 4, GROUPED)


def test_a_rest_of_the_loop_is_not_followed() -> None:
    rest = {**LOOP, "ld.shared.f32 %f1, [%r6];": (16, 4, 4)}
    assert loads(rest) == loads({**LOOP, "ld.shared.f32 %f1, [%r6];": ()})


@pytest.mark.parametrize(
    "code",
    [
        {FOUR[0]: (16,), "add.s32 %r4, %r4, 0;": (0,), FOUR[1]: ()},  # the base is another
        {FOUR[0]: (16,), "ld.shared.f32 %f5, [%r3+4];": ()},
        {FOUR[0]: (8,), FOUR[1]: (), FOUR[3]: ()},  # too far away
        {FOUR[0]: (16, 4), FOUR[1]: ()},
        {FOUR[0]: (16, 16), FOUR[1]: (), "mul.f32 %f5, %f4, %f4;": (0,) * 3},
        {FOUR[0]: (16,), "@%p1 ld.shared.f32 %f5, [%r4+4];": ()},
    ],
)
def test_what_is_not_clear_counts_as_in_the_ptx(code: dict[str, tuple[int, ...]]) -> None:
    counters, _ = run(code)
    plain, _ = run(dict.fromkeys(code, ()))
    last = next(reversed([one for one in code if "ld.shared" in one]))
    if counters != plain:  # then the leader alone was followed, which is a load of 16 bytes, and no other is left out
        alone = {one: sizes for one, sizes in code.items() if one != last}
        assert counters.shared_load_requests == run(alone)[0].shared_load_requests + 1


def test_a_part_that_is_followed_is_named_so() -> None:
    other = [f"ld.shared.f32 %f{k}, [%r3+{4 * k}];" for k in range(2)]
    rest = {f"mul.f32 %f{k}, %f4, %f4;": (0,) for k in (5, 6)}
    code = {FOUR[0]: (8,), FOUR[1]: (), other[0]: (8, 4), other[1]: (), **rest}
    assert loads(code) == (1 + 2, 4 + 2, GROUPED_IN_PART)


def test_a_load_under_a_condition_is_part_of_one_before() -> None:
    code = {FOUR[0]: (16,), "@%p1 bra done;": (), FOUR[1]: (), "done:": ()}
    assert loads(code) == (1, 4, GROUPED)


def test_a_load_is_no_part_of_one_that_some_lanes_skip() -> None:
    code = {"@%p1 bra done;": (), FOUR[0]: (16,), "done:": (), FOUR[1]: ()}
    assert loads(code) == (2, 2 + 4, "")


def test_a_store_under_a_condition_is_not_part_of_one_before() -> None:
    stores = [f"st.shared.f32 [%r4+{4 * k}], %f{k};" for k in range(2)]
    counters, _ = run({stores[0]: (8,), "@%p1 bra done;": (), stores[1]: (), "done:": ()})
    assert counters.shared_store_requests == 2


# ---- Against the listing of the machine code ------------------------------------------------------

SOURCE = Path(__file__).parent / "kernels" / "joined.cu"
ENTRIES = re.findall(r'extern "C" __global__ void (\w+)', SOURCE.read_text())
WARPS = 8
# Wavefronts per warp: instructions times lanes' conflicts, by hand. A load of 16 bytes takes a wavefront per 8 lanes,
# or per 16 if no two neighbours differ; what lies 32 bytes apart conflicts twice.
WAVEFRONTS = {
    "neighbours": 2 * 8,
    "window": 4 * 2,
    "stencil": 3 * 1,
    "row_by_column": 16 * 1 + 4 * 2,  # both rows of a warp lie in other banks
    "rows_of_four": 2 * 4,
    "conditions": 1 * 4,
    "eight_rows": 8 * 1 + 16 * 2,
    "shorts": 8 * 4,
}


@pytest.fixture(scope="module", params=["sm_80", "sm_90"])
def joined(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, MachineLines], str]:
    """PTX, machine code by line, and the listing."""
    binary = only_built(BuildRequest(SOURCE, (), request.param))
    lines, listing = machine_lines(binary.path), disassemble(binary.path)
    if not lines or listing is None:
        pytest.skip("there is no nvdisasm")
    return binary.ptx_path.read_text(), lines, listing


@pytest.mark.nvcc
@pytest.mark.parametrize("entry", ENTRIES)
def test_requests_are_instructions_of_the_machine_code(
    joined: tuple[str, Mapping[str, MachineLines], str], entry: str
) -> None:
    ptx, lines, listing = joined
    arrays = {"x": np.ones(2048, np.float32), "y": np.zeros(2048, np.float32)}
    if entry == "conditions":
        arrays |= {"n": np.int32(3)}
    dynamic = 4 * 2048 if entry == "conditions" else 0
    found = simulate(ptx, entry, 1, 32 * WARPS, arrays, dynamic, machine=lines)
    code = [one for one in mnemonics(sass_functions(listing)[entry]) if shared_bytes(one)]
    requests = {name: WARPS * sum(one.startswith(name) for one in code) for name in ("LDS", "STS")}
    assert found.counters.shared_load_requests == requests["LDS"]
    assert found.counters.shared_store_requests == requests["STS"]
    assert found.grouping == (GROUPED if any(shared_bytes(one) > 4 for one in code) else "")
    if entry in WAVEFRONTS:
        assert found.counters.shared_load_wavefronts == WARPS * WAVEFRONTS[entry]
    plain = simulate(ptx, entry, 1, 32 * WARPS, arrays, dynamic)
    np.testing.assert_array_equal(plain.outputs["y"], found.outputs["y"])
