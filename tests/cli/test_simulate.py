"""The command `simulate`: any kernel, described by text."""

from pathlib import Path

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
    _, err = ended(1, command("simulate", SCAN, *LAUNCH, *ARGUMENTS))
    assert "2 kernels; it has" in err


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


def launch(tmp_path: Path, *arguments: str) -> walk.Launch:
    file = tmp_path / "add.ptx"
    file.write_text(PTX)
    return walk.Launch(file, "", (1,), (1,), arguments)


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
        (["x=float32[1]:ones", "a=float32[1]:ones", "n=2"], "takes 4 bytes, which is no address"),
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
