"""A machine, and test kernels, compiled once a session."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build import FLAGS, find_compiler
from kernelbench.simt.machine import Machine
from tests.simt.harness import Compile, Kernels, Load

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def compile_text(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    nvcc = find_compiler().path
    folder = tmp_path_factory.mktemp("ptx")

    def compile_one(text: str, architecture: str = "sm_90", stem: str = "k") -> Kernels:
        source = folder / f"{stem}.{architecture}.cu"
        source.write_text(text)
        return Kernels(_ptx(nvcc, source, architecture, folder))

    return compile_one


@pytest.fixture(scope="session")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    nvcc = find_compiler().path
    folder = tmp_path_factory.mktemp("ptx")
    texts: dict[tuple[str, str], str] = {}

    def load_one(stem: str, architecture: str = "sm_90") -> Kernels:
        if (stem, architecture) not in texts:
            texts[stem, architecture] = _ptx(nvcc, KERNELS / f"{stem}.cu", architecture, folder)
        return Kernels(texts[stem, architecture])

    return load_one


def _ptx(nvcc: Path, source: Path, architecture: str, folder: Path) -> str:
    ptx = folder / f"{source.stem}.{architecture}.ptx"
    command = [nvcc, "-ptx", f"-arch={architecture}", *FLAGS, str(source), "-o", str(ptx)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ptx.read_text()
