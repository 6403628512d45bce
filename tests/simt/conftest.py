"""A machine, and test kernels, compiled once a session."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build import FLAGS, find_compiler
from kernelbench.simt.machine import Machine
from tests.simt.harness import Kernels, Load

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    nvcc = find_compiler().path
    folder = tmp_path_factory.mktemp("ptx")
    texts: dict[tuple[str, str], str] = {}

    def load_one(stem: str, architecture: str = "sm_90") -> Kernels:
        if (stem, architecture) not in texts:
            ptx = folder / f"{stem}.{architecture}.ptx"
            command = [nvcc, "-ptx", f"-arch={architecture}", *FLAGS, str(KERNELS / f"{stem}.cu"), "-o", str(ptx)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            texts[stem, architecture] = ptx.read_text()
        return Kernels(texts[stem, architecture])

    return load_one
