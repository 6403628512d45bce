"""What a binary is known by: the source and all that it includes. What cannot be known costs its own kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, build
from kernelbench.build.cache import cache_key
from kernelbench.errors import BuildError
from kernelbench.records import Binary
from tests.build.conftest import FakeNvcc

Kernel = Callable[..., BuildRequest]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("// one\n#include HEADER\n", r"bad.cu:2: #include HEADER: expected a header's name in quotes or <>"),
        ("#include TOOLKIT(vector)\n", r"bad.cu:1: #include TOOLKIT(vector): expected"),
        ('#include /* which */ "a.cuh"\n', r'bad.cu:1: #include /* which */ "a.cuh": expected'),
        ("#include_next <a.cuh>\n", r"bad.cu:1: #include _next <a.cuh>: expected"),
        ('#include \\\n  "a.cuh"\n', r"bad.cu:1: #include \: expected"),
        ("#include\n", "bad.cu:1: #include : expected"),
        ("#include \x1b[31m\n", r"bad.cu:1: #include \x1b[31m: expected"),
    ],
)
def test_an_include_that_does_not_say_which_file_costs_its_kernel(
    fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path, text: str, said: str
) -> None:
    error = beside_a_good_one(kernel(text, "bad"), fake_nvcc, kernel, tmp_path)
    assert said in error
    assert not any("bad.cu" in call for call in fake_nvcc.calls)


def beside_a_good_one(bad: BuildRequest, fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path) -> str:
    good = kernel(name="good")
    results = build([bad, good], fake_nvcc.compiler, tmp_path / "cache")
    assert isinstance(results[good], Binary)
    assert isinstance(results[bad], BuildError)
    return str(results[bad])


def without(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def forbidden(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path.chmod(0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without, "cannot be read (No such file or directory)"), (folder, "not a file"), (pipe, "not a file"),
        (forbidden, "cannot be read (Permission denied)"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_read_costs_its_kernel(
    fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    bad = kernel(name="bad")
    change(bad.source)
    error = beside_a_good_one(bad, fake_nvcc, kernel, tmp_path)
    assert error == f"{bad.source}: {said}; expected CUDA source here"


@pytest.mark.parametrize("name", [b"nowhere.cuh", b"x" * 5000, b"a\0b", b"\xff\xfe.cuh", b".", b"/"])
def test_a_header_that_is_not_there_is_left_to_nvcc(fake_nvcc: FakeNvcc, kernel: Kernel, name: bytes) -> None:
    request = kernel()
    request.source.write_bytes(b'#include "' + name + b'"\n#include <' + name + b">\n")
    assert cache_key(request, fake_nvcc.compiler)


def test_text_that_is_no_utf_8_is_code_like_any_other(fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path) -> None:
    request = kernel()
    header = os.fsencode(request.source.parent) + b"/gr\xf6\xdfe.cuh"
    request.source.write_bytes(b'// gr\xf6\xdfe\n#include "gr\xf6\xdfe.cuh"\n')
    before = cache_key(request, fake_nvcc.compiler)
    with open(header, "wb") as file:
        file.write(b"// \xff\n")
    assert cache_key(request, fake_nvcc.compiler) != before, "the header is found by its name's bytes"
    assert isinstance(build([request], fake_nvcc.compiler, tmp_path / "cache")[request], Binary)
