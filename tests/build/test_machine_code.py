"""Hashes of machine code: names and lines are not in them, instructions are."""

from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, code_hashes
from kernelbench.build.machine_code import machine_code
from kernelbench.core.records import Binary
from tests.build.binaries import only_built

KERNELS = """
extern "C" __global__ void twice(float* x) {{ x[threadIdx.x] *= {factor}.0f; }}

extern "C" __global__ void {name}(float* values) {{
  const unsigned i = threadIdx.x;
  values[i] = values[i] * 2.0f;
}}
"""


@pytest.fixture
def compiled(tmp_path):
    def compile_(factor: int, name: str) -> Binary:
        source = tmp_path / "operation" / f"{name}.cu"
        source.parent.mkdir(exist_ok=True)
        source.write_text(KERNELS.format(factor=factor, name=name))
        return only_built(BuildRequest(source, (), "sm_90"), folder=tmp_path / "cache")

    return compile_


@pytest.mark.nvcc
def test_names_and_lines_do_not_count_but_instructions_do(compiled):
    first, second = compiled(2, "doubled"), compiled(3, "as_well")
    one, other = machine_code(first.path), machine_code(second.path)
    assert set(one) == {"twice", "doubled"}
    assert one["twice"] == one["doubled"] == other["as_well"]
    assert one["twice"].hash != other["twice"].hash
    assert 5 < one["twice"].instructions < 40


@pytest.mark.nvcc
def test_a_run_keeps_it_by_the_key_of_its_rows(compiled):
    binary = compiled(2, "doubled")
    kept = code_hashes([binary])
    assert set(kept) == {binary.key[:16]}
    assert set(kept[binary.key[:16]]["twice"]) == {"hash", "instructions"}
    binary.path.unlink()
    assert code_hashes([binary]) == {}


@pytest.mark.parametrize(
    "content", [b"", b"no cubin", b"\x7fELF\x02\x01" + bytes(10), b"\x7fELF\x02\x01" + b"\xff" * 80]
)
def test_what_is_no_cubin_is_said_to_be_none(tmp_path: Path, content):
    path = tmp_path / "x.cubin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cubin"):
        machine_code(path)
