"""The machine code of each line of the PTX."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, Compiler, code_lines, machine_lines
from kernelbench.build.code_notes import LINES
from tests.build.binaries import only_built

LISTING = """\t.section\t.text.k,"ax",@progbits
k:
.text.k:
\t//## File ".nv_debug_ptx_txt", line 7
        /*0000*/                   IADD3 R3, R2, 0x4, RZ ;
        /*0010*/                   LDS.128 R4, [R3] ;
.L_x_1:
        /*0020*/              @!P0 LDS.128 R4, [R3+0x40] ;
\t//## File ".nv_debug_ptx_txt", line 9
        /*0030*/                   LDG.E.64 R8, desc[UR4][R2.64] ;
        /*0040*/              @!PT LDS RZ, [RZ] ;
\t//## File ".nv_debug_ptx_txt", line 7
        /*0050*/                   STS.U16 [R3], R8 ;
\t.section\t.text.other,"ax",@progbits
        /*0000*/                   EXIT ;
"""


def answering(folder: Path, text: str) -> None:
    """An nvdisasm that prints this text."""
    (folder / "bin").mkdir()
    (folder / "listing").write_text(text)
    tool = folder / "bin" / "nvdisasm"
    tool.write_text(f'#!/bin/sh\n[ "$2" = -gp ] && cat "{folder}/listing"\n')
    tool.chmod(0o755)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No disassembler but that of `answering`."""
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{tmp_path}/bin")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setattr("kernelbench.build.sass.wheel_folders", list)


def test_bytes_of_shared_accesses_by_line(nowhere: None, tmp_path: Path) -> None:
    answering(tmp_path, LISTING)
    found = machine_lines(tmp_path / "x.cubin")
    assert found == {"k": {7: (0, 16, 16, 2), 9: (0,)}, "other": {}}


def test_a_listing_without_lines(nowhere: None, tmp_path: Path) -> None:
    answering(tmp_path, LISTING.replace(".nv_debug_ptx_txt", "/a.cu"))
    assert machine_lines(tmp_path / "x.cubin") == {"k": {}, "other": {}}


@pytest.mark.nvcc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_lines_are_those_of_the_ptx(
    nvcc: Compiler, tmp_path: Path, kernel: Callable[..., BuildRequest], architecture: str
) -> None:
    tile = Path(__file__).with_name("tile.cu").read_text()
    binary = only_built(kernel(tile, architecture=architecture), nvcc, tmp_path / "cache")
    lines = machine_lines(binary.path, nvcc)
    if not lines:
        pytest.skip("there is no nvdisasm")
    text = binary.ptx_path.read_text().splitlines()
    accesses = {text[line - 1].split()[0] for line, sizes in lines["tile"].items() if any(sizes)}
    assert accesses == {"ld.shared.f32", "st.shared.f32"}


@pytest.mark.nvcc
def test_lines_are_kept_beside_the_binary(nvcc: Compiler, tmp_path: Path, kernel: Callable[..., BuildRequest]) -> None:
    binary = only_built(kernel(Path(__file__).with_name("tile.cu").read_text()), nvcc, tmp_path / "cache")
    lines = code_lines(binary)
    if not lines:
        pytest.skip("there is no nvdisasm")
    assert lines == machine_lines(binary.path)
    kept = binary.path.with_name(LINES)
    for damaged in ("", "[]", "{}", '{"tile": 1}', '{"tile": {"a": []}}'):
        kept.write_text(damaged)
        assert code_lines(binary) == lines
    binary.path.unlink()
    assert code_lines(binary) == lines, "it is not disassembled again"
