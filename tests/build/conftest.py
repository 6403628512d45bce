"""A stand-in for nvcc that costs nothing, and the real one where there is one."""

import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernelbench.build import BuildRequest, Compiler, build, find_compiler
from kernelbench.core.errors import BuildError
from kernelbench.core.records import Binary
from tests.build.binaries import all_built

FAKE_NVCC = Path(__file__).with_name("fake_nvcc.sh")


@dataclass(frozen=True)
class FakeNvcc:
    compiler: Compiler
    log: Path
    cache: Path  # of what it makes

    def build(self, *requests: BuildRequest, **options: Any) -> dict[BuildRequest, Binary | BuildError]:
        return build(requests, self.compiler, self.cache, **options)

    def built(self, *requests: BuildRequest) -> Binary:
        """Of requests that are all the same."""
        (binary,) = all_built(requests, self.compiler, self.cache).values()
        return binary

    def refused(self, request: BuildRequest, **options: Any) -> BuildError:
        error = self.build(request, **options)[request]
        assert isinstance(error, BuildError), error
        return error

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


def fake_compiler(folder: Path, log: Path) -> Compiler:
    path = folder / "toolkit" / "bin" / "nvcc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FAKE_NVCC.read_text().replace("{log}", str(log)))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Compiler(path, "13.0.88")


@pytest.fixture
def fake_nvcc(tmp_path: Path) -> FakeNvcc:
    log = tmp_path / "calls.log"
    return FakeNvcc(fake_compiler(tmp_path, log), log, tmp_path / "cache")


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., BuildRequest]:
    """kernel(text): a request for a new source of that text, in a folder of operations."""
    folder = tmp_path / "kernels" / "softmax"
    folder.mkdir(parents=True)

    def make(text: str = "// nothing\n", name: str = "naive", **changes: object) -> BuildRequest:
        source = folder / f"{name}.cu"
        source.write_text(text)
        return BuildRequest(**{"source": source, "defines": (), "architecture": "sm_90", **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def nvcc() -> Compiler:
    return find_compiler()
