"""A stand-in for nvcc that costs nothing, and the real one where there is one."""

import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernelbench.build import BuildRequest, Compiler, find_compiler
from kernelbench.core.errors import BuildError
from kernelbench.core.records import Binary

FAKE_NVCC = Path(__file__).with_name("fake_nvcc.sh")


def only(results: Mapping[BuildRequest, Binary | BuildError]) -> Binary:
    (result,) = results.values()
    assert isinstance(result, Binary), result
    return result


@dataclass(frozen=True)
class FakeNvcc:
    compiler: Compiler
    log: Path

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
    return FakeNvcc(fake_compiler(tmp_path, log), log)


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
