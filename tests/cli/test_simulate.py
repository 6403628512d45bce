"""The command `simulate`: any kernel, described by text."""

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core.errors import InputError
from kernelbench.walks import simulate as walk
from tests.conftest import Command
from tests.endings import ended, printed

SCAN = str(Path(__file__).parent.parent / "simt" / "kernels" / "scan.cu")
LAUNCH = ("--grid", "2", "--block", "64", "--shared", "512")
ARGUMENTS = ("--array", "x=float32[2,64]:ones", "--array", "y=float32[2,64]:zeros", "--scalar", "n=64")
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p, .param .f32 a, .param .u64 n) {
  .reg .b64 %rd<3>; .reg .f32 %f<3>;
  ld.param.u64 %rd1, [p]; ld.param.f32 %f1, [a];
  ld.global.f32 %f2, [%rd1]; add.f32 %f2, %f2, %f1; st.global.f32 [%rd1], %f2;
  ret;
}
"""
ADDS = ("x=float32[1]:ones", "a=1", "n=2")  # its arguments


@pytest.mark.nvcc
def test_a_file_is_compiled_run_and_saved(command: Command, tmp_path: Path) -> None:
    out = printed(command("simulate", SCAN, "--entry", "scan", *LAUNCH, *ARGUMENTS, "--save", str(tmp_path / "out")))
    assert out.startswith("scan ended; 0 faults.\n")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.tile(np.arange(1, 65), (2, 1)))


@pytest.mark.nvcc
def test_faults_come_with_their_lines_and_exit_code_1(command: Command) -> None:
    out, _ = ended(1, command("simulate", SCAN, "--entry", "scan_in_place", *LAUNCH, *ARGUMENTS, "--strict"))
    assert out.startswith("scan_in_place ended; 3 faults.\nscan.cu:27: two warps access shared memory")


@pytest.mark.nvcc
def test_what_the_kernel_prints_is_shown(command: Command) -> None:
    source = SCAN.replace("scan.cu", "pointers.cu")
    out = printed(command("simulate", source, "--entry", "says", "--grid", "1", "--block", "2", "--scalar", "n=1"))
    assert out.startswith("says ended; 0 faults.\nthread 0 of 2:  +0.00|x   |0x10000000000|   ab|100%|7\n")


@pytest.mark.nvcc
def test_which_kernel(command: Command) -> None:
    _, err = ended(2, command("simulate", SCAN, *LAUNCH, *ARGUMENTS))
    assert "2 kernels; it has" in err
    _, err = ended(2, command("simulate", SCAN, "--entry", "nope", *LAUNCH, *ARGUMENTS))
    assert err == f"{SCAN}: kernel 'nope' is not in the PTX; it has scan, scan_in_place; choose one with --entry\n"


@pytest.mark.nvcc
def test_a_file_without_a_kernel(command: Command, tmp_path: Path) -> None:
    (tmp_path / "empty.cu").write_text("")
    _, err = ended(2, command("simulate", str(tmp_path / "empty.cu"), "--grid", "1", "--block", "1"))
    assert err.endswith('empty.cu: no kernel here; expected extern "C" __global__ void NAME(...) { ... }\n')


@pytest.mark.nvcc
def test_a_tensor_map(command: Command, tmp_path: Path) -> None:
    source, save = SCAN.replace("scan.cu", "tensors.cu"), str(tmp_path)
    size = ("--entry", "add_one", "--grid", "2,2", "--block", "64", "--shared", "2048", "--arch", "sm_90a")
    maps = ("a=float32[30,64]:arange:box[16,32]:128B", "b=float32[30,64]:zeros:box[16,32]:128B")
    numbers = ("--scalar", "columns=32", "--scalar", "rows=16")
    out = printed(command("simulate", source, *size, "--array", maps[0], "--array", maps[1], *numbers, "--save", save))
    assert out.startswith("add_one ended; 0 faults.\n")
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.arange(1, 30 * 64 + 1).reshape(30, 64))


@pytest.mark.nvcc
def test_a_stack(command: Command) -> None:
    source = SCAN.replace("scan.cu", "recursion.cu")
    size = ("--entry", "overflows", "--grid", "1", "--block", "32", "--array", "y=int32[32]:zeros")
    out, _ = ended(1, command("simulate", source, *size, "--stack", "2048"))
    assert "the call of endless is nested 129 deep" in out


def launch(tmp_path: Path, *arguments: str) -> walk.SimulateRequest:
    file = tmp_path / "add.ptx"
    file.write_text(PTX)
    return walk.SimulateRequest(file, "", (1,), (1,), arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": (0,)}, "--grid 0: expected blocks: 1 to 2147483647 along x, 1 to 65535 along y, 1 to 65535 along z"),
        ({"block": (2000,)}, "--block 2000: expected threads: 1 to 1024 along x, 1 to 1024 along y, 1 to 64 along z"),
        ({"block": (64, 32)}, "--block 64,32: expected at most 1024 threads in a block, got 2048"),
        ({"shared_bytes": 232449}, "--shared 232449: expected at most 232448 bytes, a block's limit on sm_90"),
        ({"entry": "nope"}, "add.ptx: kernel 'nope' is not in the PTX; it has add; choose one with --entry"),
    ],
)
def test_launches_that_no_gpu_takes(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        walk.simulate(replace(launch(tmp_path, *ADDS), **options))


@pytest.mark.parametrize(
    ("target", "most"), [("sm_90a", 232448), ("sm_80", 166912), ("sm_86", 101376), ("sm_72", 232448)]
)
def test_shared_memory_is_limited_by_the_target(tmp_path: Path, target: str, most: int) -> None:
    asked = launch(tmp_path, *ADDS)
    asked.file.write_text(PTX.replace("sm_90", target))
    assert walk.simulate(replace(asked, shared_bytes=most)).ended
    with pytest.raises(InputError, match=f"at most {most} bytes, a block's limit on {target}"):
        walk.simulate(replace(asked, shared_bytes=most + 1))


def test_shared_memory_of_the_kernel_counts_too(tmp_path: Path) -> None:
    asked = launch(tmp_path, *ADDS)
    asked.file.write_text(
        PTX.replace("sm_90", "sm_80").replace("  ret;", "  .shared .b8 own[1024]; st.shared.f32 [own], %f2; ret;")
    )
    message = (
        "kernel add: expected 0 to 166912 bytes of shared memory per block, got 1024 of the kernel's own and 166912"
    )
    with pytest.raises(InputError, match=message):
        walk.simulate(replace(asked, shared_bytes=166912))


def test_a_kernel_for_smaller_blocks(tmp_path: Path) -> None:
    asked = launch(tmp_path, *ADDS)
    asked.file.write_text(PTX.replace(".param .u64 n) {", ".param .u64 n) .maxntid 32 {"))
    with pytest.raises(
        InputError, match="expected at most 32 threads per block, as it was compiled, got 64; launch fewer"
    ):
        walk.simulate(replace(asked, block=(64,)))


def test_a_ptx_without_a_kernel(tmp_path: Path) -> None:
    asked = launch(tmp_path)
    asked.file.write_text(PTX.partition(".visible")[0])
    with pytest.raises(InputError, match=r"add.ptx: no kernel here; expected .visible .entry NAME\(...\)"):
        walk.simulate(asked)


def test_a_full_disk_leaves_no_part_of_an_array(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file, save = launch(tmp_path).file, tmp_path / "out"
    arguments = ("--array", ADDS[0], "--scalar", ADDS[1], "--scalar", ADDS[2])
    monkeypatch.setattr(os, "fsync", full)
    _, err = ended(2, command("simulate", str(file), "--grid", "1", "--block", "1", *arguments, "--save", str(save)))
    assert err == f"{save}/x.npy: cannot be written (No space left on device); choose another --save\n"
    assert list(save.iterdir()) == []


def test_arguments_have_the_types_of_their_parameters(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1.5], np.float32))
    found = walk.simulate(launch(tmp_path, f"x=float32[1]:{tmp_path}/x.npy", "a=2", "n=0xffffffffffffffff"))
    assert found.outputs["x"] == np.float32(3.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x=float32[1]:ones"], "takes 3 arguments, got 1"),
        (["x=float32[1]:ones", "a=1", "a=2"], "the name a is used twice"),
        (["x=float31[1]:ones", "a=1", "n=2"], "unknown type float31"),
        (["x=float32[1]:once", "a=1", "n=2"], "unknown contents once"),
        (["x=float32[1,,2]:ones", "a=1", "n=2"], "expected a shape"),
        (["x=float32[99999999999]:ones", "a=1", "n=2"], "more than 16 GiB"),
        (["x=float32[1]:ones", "a=float32[1]:ones", "n=2"], "takes 4 bytes; expected 8 for the address"),
        (["x=float32[1]:ones", "a=1", "n=2.5"], "is a whole number"),
        (["x=float32[1]:ones", "a=1", "n=int32:3000000000"], "does not fit into int32"),
        (["x=float32[1]:ones", "a=one", "n=2"], "expected a number"),
        (["x=float32[1]:ones", "a", "n=2"], "expected NAME="),
        (["x=float32[1]:none.npy", "a=1", "n=2"], "none.npy: cannot be read"),
    ],
)
def test_arguments_that_cannot_be_understood(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        walk.simulate(launch(tmp_path, *arguments))
