"""A source that cannot be read costs its own kernel."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest
from kernelbench.core.errors import BuildError
from kernelbench.core.records import Binary
from kernelbench.core.sources import MOST_BYTES
from tests.build.conftest import FakeNvcc

Kernel = Callable[..., BuildRequest]


def beside_a_good_one(bad: BuildRequest, fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path) -> str:
    good = kernel(name="good")
    results = fake_nvcc.build(bad, good)
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


def endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)


def forbidden(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path.chmod(0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without, "cannot be read (No such file or directory)"), (folder, "not a file"), (pipe, "not a file"),
        (forbidden, "cannot be read (Permission denied)"), (endless, "larger than 64 MB"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_read_costs_its_kernel(
    fake_nvcc: FakeNvcc, kernel: Kernel, tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    bad = kernel(name="bad")
    change(bad.source)
    error = beside_a_good_one(bad, fake_nvcc, kernel, tmp_path)
    assert error == f"{bad.source}: {said}; expected CUDA source here"
