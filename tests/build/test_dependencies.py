"""A binary is found again as long as the compiler would read the same, however its source says what to read."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, Compiler, build, compiler_limits
from kernelbench.build.cache import DEPENDENCIES
from kernelbench.build.dependencies import Dependencies, Files
from kernelbench.core.records import Binary
from tests.build.binaries import only_built
from tests.build.conftest import FakeNvcc

Kernel = Callable[..., BuildRequest]
BODY = 'extern "C" __global__ void k(float* y) { *y = VALUE; }\n'


INCLUDES = {
    "comment": '/**/ #/**/include/**/ "{}"\n',
    "digraph": '%:include "{}"\n',
    "continued": '#incl\\\nude "{}"\n',
    "macro": '#define WHICH "{}"\n#include WHICH\n',
    "import": '#import "{}"\n',
    "next": "#include_next <softmax/{}>\n",
    "device": '#ifdef __CUDA_ARCH__\n#include "{}"\n#endif\n',
    "host": '#ifndef __CUDA_ARCH__\n#include "{}"\n#endif\n',
    "deeper": '#include "deep.cuh"\n',
    "plain": '#include "{}"\n',
}


@pytest.mark.nvcc
def test_a_changed_header_is_noticed_however_it_is_included(nvcc: Compiler, kernel: Kernel, tmp_path: Path) -> None:
    names = {way: f"{way}.cuh" for way in INCLUDES}
    request = kernel("".join(text.format(names[way]) for way, text in INCLUDES.items()) + BODY)
    for name in names.values():
        (request.source.parent / name).write_text(f"// {name}\n")  # each of its own text: equal ones are imported once
    (request.source.parent / "deep.cuh").write_text('#include "deeper.cuh"\n')
    last = request.source.parent / "macro.cuh"
    last.write_text("#define VALUE 1\n")
    before = only_built(request, nvcc, tmp_path / "cache")
    assert only_built(request, nvcc, tmp_path / "cache").cached
    found = Dependencies.of_text((before.path.parent / DEPENDENCIES).read_bytes())
    read = {f"0:softmax/{name}" for name in ("deep.cuh", *names.values())}
    assert read - dict(found.headers).keys() == {"0:softmax/host.cuh"}, "PTX does not depend on the host's"
    library = only_built(replace(request, host_code=True), nvcc, tmp_path / "cache")
    found = Dependencies.of_text((library.path.parent / DEPENDENCIES).read_bytes())
    assert read <= dict(found.headers).keys()

    last.write_text("#define VALUE 2\n")
    after = only_built(request, nvcc, tmp_path / "cache")
    assert (after.cached, after.key == before.key) == (False, False)
    assert "1073741824" in after.ptx_path.read_text(), "2.0f"


@pytest.mark.nvcc
def test_names_that_make_rules_escape_are_found(nvcc: Compiler, kernel: Kernel, tmp_path: Path) -> None:
    names = [b"a b.cuh", b"a#b.cuh", b"a$b.cuh", b"a:b.cuh", b"a\tb.cuh", b"gr\xf6\xdfe.cuh"]
    request = kernel()
    lines = [b'#include "%s"\n' % name for name in names]
    request.source.write_bytes(b"".join(lines) + b"#define VALUE 1\n" + BODY.encode())
    for name in names:
        with open(os.fsencode(request.source.parent) + b"/" + name, "wb") as file:
            file.write(b"// as ever\n")
    binary = only_built(request, nvcc, tmp_path / "cache")
    found = Dependencies.of_text((binary.path.parent / DEPENDENCIES).read_bytes())
    assert {os.fsdecode(b"0:softmax/" + name) for name in names} <= dict(found.headers).keys()
    assert only_built(request, nvcc, tmp_path / "cache").cached


@pytest.mark.nvcc
def test_a_source_that_asks_for_a_file_is_compiled_anew(nvcc: Compiler, kernel: Kernel, tmp_path: Path) -> None:
    asks = '#if __has_in\\\nclude("new.cuh")'
    request = kernel(f"{asks}\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n{BODY}")
    before = only_built(request, nvcc, tmp_path / "cache")
    again = only_built(request, nvcc, tmp_path / "cache")
    assert (again.cached, again.key) == (False, before.key), "what came out is the same: the rows are, too"
    (request.source.parent / "new.cuh").write_text("")
    after = only_built(request, nvcc, tmp_path / "cache")
    assert after.key != before.key
    assert "1073741824" in after.ptx_path.read_text(), "2.0f"


@pytest.mark.nvcc
def test_an_endless_header_costs_its_kernel_alone_and_is_told(
    nvcc: Compiler, kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_limits, "MEMORY_BYTES", 2**29)
    monkeypatch.setattr(compiler_limits, "FILE_BYTES", 2**22)
    bad, good = kernel('#include "/dev/zero"\n', "bad"), kernel(f"#define VALUE 1\n{BODY}", "good")
    bomb = "".join(f"#define A{n + 1} A{n} A{n} A{n} A{n} A{n} A{n} A{n} A{n}\n" for n in range(7))
    large = kernel(f"#define A0 abcdefgh\n{bomb}A7\n", "large")  # 19 MB: a file too large, in little memory
    results = build([bad, good, large], nvcc, tmp_path / "cache")
    assert isinstance(results[good], Binary)
    assert "out of memory allocating" in str(results[bad])
    assert "does it include an endless file?" in str(results[bad]).splitlines()[0]
    assert "File size limit exceeded" in str(results[large])
    assert "a compiler's file may have" in str(results[large]).splitlines()[0]


def test_a_header_that_hides_another_is_noticed(fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path) -> None:
    """`#include "common/a.cuh"` looks beside the source first; `#include <toolkit.h>` in the kernels' folder."""
    header, toolkit = tmp_path / "kernels" / "common" / "a.cuh", tmp_path / "toolkit" / "include" / "crt" / "b.h"
    for path in (header, toolkit):
        path.parent.mkdir(parents=True)
        path.write_text("// read\n")
    request = kernel(f"// READS {header}\n// READS {toolkit}\n")
    fake_nvcc.build(request)
    for place in ("softmax/common/a.cuh", "softmax/a.cuh", "crt/b.h", "common/b.h"):
        assert fake_nvcc.built(request).cached, place
        hiding = tmp_path / "kernels" / place
        hiding.parent.mkdir(exist_ok=True)
        hiding.write_text("// hides it\n")
        assert not fake_nvcc.built(request).cached, place


def test_a_header_that_is_deleted_is_missed(fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path) -> None:
    header = tmp_path / "kernels" / "a.cuh"
    header.write_text("// a\n")
    request = kernel(f"// READS {header}\n")
    fake_nvcc.build(request)
    header.unlink()
    assert not fake_nvcc.built(request).cached


@pytest.mark.parametrize("path", ["/dev/null", "/nowhere/a.cuh"])
def test_what_cannot_be_read_again_is_never_found_again(fake_nvcc: FakeNvcc, kernel: Kernel, path: str) -> None:
    request = kernel(f"// READS {path}\n")
    for _ in range(2):
        assert not fake_nvcc.built(request).cached


def test_a_moved_checkout_finds_its_entries(
    fake_nvcc: FakeNvcc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []
    for place in ("one", "two"):
        source = tmp_path / place / "softmax" / "naive.cu"
        header = tmp_path / place / "common" / "a.cuh"
        for path in (source, header):
            path.parent.mkdir(parents=True)
        header.write_text("// a\n")
        source.write_text("// READS ../common/a.cuh\n")
        monkeypatch.chdir(source.parent)  # which the stand-in's list is relative to
        binary = fake_nvcc.built(BuildRequest(source, (), "sm_90"))
        keys.append((binary.key, binary.cached))
    assert keys == [(keys[0][0], False), (keys[0][0], True)]


def test_a_source_written_while_it_is_compiled_is_compiled_again(fake_nvcc: FakeNvcc, kernel: Kernel) -> None:
    request = kernel("// WRITES ONCE\n")
    fake_nvcc.build(request)
    assert len(fake_nvcc.calls) == 4, "twice"
    assert fake_nvcc.built(request).cached, "known by what was read last"


def test_a_source_that_is_written_all_the_time_is_given_up(fake_nvcc: FakeNvcc, kernel: Kernel) -> None:
    said = str(fake_nvcc.refused(kernel("// WRITES\n")))
    assert said.startswith("its source or a header changed during each compilation; build again")


def test_a_compiler_that_lists_nothing_makes_no_entry(fake_nvcc: FakeNvcc, kernel: Kernel) -> None:
    said = str(fake_nvcc.refused(kernel("// UNLISTED\n")))
    assert said.startswith("nvcc did not list the files that it read: No such file or directory")


def test_of_long_output_both_ends_are_kept(
    fake_nvcc: FakeNvcc, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_limits, "KEPT_BYTES", 2**16)
    request = kernel("// CHATTY\n")
    result = fake_nvcc.refused(request)
    assert str(result).startswith(f"{request.source}:9: error: the end\n")
    assert 2 * 2**16 < len(result.log) < 2 * 2**16 + 100
    assert "bytes left out" in result.log


def test_a_fully_cached_build_reads_each_file_once(
    fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tmp_path / "kernels" / "a.cuh"
    header.write_text("// a\n")
    requests = [kernel(f"// READS {header}\n// {number}\n", f"k{number}") for number in range(3)]
    fake_nvcc.build(*requests)
    files = Files()
    found = [Dependencies.of_text(path.read_bytes()) for path in (tmp_path / "cache").glob(f"*/*/{DEPENDENCIES}")]
    assert any(one.current(requests[0], files) for one in found)
    header.write_text("// changed\n")
    assert any(one.current(requests[0], files) for one in found), "as it was when this build began"
    assert not any(one.current(requests[0], Files()) for one in found)


@pytest.mark.nvcc
@pytest.mark.parametrize("folder", ["a b", "a'b", "a;b&c", "(a)", "a=b:c", "ä#"])
def test_the_list_may_lie_anywhere(nvcc: Compiler, kernel: Kernel, tmp_path: Path, folder: str) -> None:
    request = kernel(f'#include "value.cuh"\n{BODY}')
    (request.source.parent / "value.cuh").write_text("#define VALUE 1\n")
    found = only_built(request, nvcc, tmp_path / folder).path.parent / DEPENDENCIES
    assert "0:softmax/value.cuh" in dict(Dependencies.of_text(found.read_bytes()).headers)
