"""Finds nvcc: as the user names it, in CUDA_HOME, on PATH, or in the wheels of the `nvcc` extra."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory

from kernelbench.core import processes
from kernelbench.core.errors import NoCompiler
from kernelbench.core.libraries import pip_install

# Environment variables that change the result of the same nvcc command.
_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")
# The wheels that make up a compiler, each with a file that no other one contains.
_WHEELS = {
    "nvidia-cuda-nvcc": "bin/ptxas",
    "nvidia-nvvm": "nvvm/bin/cicc",
    "nvidia-cuda-crt": "include/crt/host_config.h",
    "nvidia-cuda-runtime": "include/cuda_runtime.h",
    "nvidia-cuda-cccl": "include/cccl/cuda/std/type_traits",
}
_ANSWER_S = 60.0  # for `nvcc --version`


@dataclass(frozen=True)
class Compiler:
    """An nvcc that runs. `environment`: the set variables that change its results."""

    path: Path
    version: str  # "13.0.88"
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """As a person would type it: `nvcc` where PATH finds this one."""
        return "nvcc" if shutil.which("nvcc") == str(self.path) else str(self.path)

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of nvcc, and of CUB if its headers are found."""
        with TemporaryDirectory() as folder:
            source = Path(folder) / "cub.cu"
            source.write_text("#include <cub/version.cuh>\nCUB_VERSION\n")
            try:
                said = processes.output_of([str(self.path), "-E", str(source)], _ANSWER_S)
            except processes.FAILED:
                said = ""
        if found := re.search(r"^\s*(\d{5,})\s*\Z", said, re.MULTILINE):
            number = int(found[1])  # MMMmmmpp
            return {"nvcc": self.version, "cub": f"{number // 100000}.{number // 100 % 1000}.{number % 100}"}
        return {"nvcc": self.version}


class _Unusable(Exception):
    """The reason why one place has no working nvcc."""


def find_compiler(nvcc: str | Path | None = None) -> Compiler:
    """The first nvcc that runs. With `nvcc` (a file, the folder of a toolkit, the name of a command) only that one.

    Raises NoCompiler, which lists the places tried and says how to get one.
    """
    looked: list[str] = []
    for place, candidate in _explicit(nvcc) if nvcc is not None else _candidates():
        try:
            if candidate is None:
                raise _Unusable("not found")
            compiler = Compiler(candidate, _version(candidate), _environment())
        except _Unusable as reason:
            looked.append(f"  {place}: {reason}")
            continue
        _require_host_compiler(compiler)
        return compiler
    how = f"install the CUDA toolkit, or its compiler alone with: {pip_install('nvcc')}"
    raise NoCompiler("\n".join(["no CUDA compiler (nvcc); looked at", *looked, how]))


def _explicit(nvcc: str | Path) -> Iterator[tuple[str, Path | None]]:
    in_toolkit = shutil.which("nvcc", path=str(Path(nvcc) / "bin"))
    found = in_toolkit or shutil.which(str(nvcc))
    yield f"--nvcc {nvcc}", Path(found).absolute() if found else None


def _candidates() -> Iterator[tuple[str, Path | None]]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = os.environ.get(variable)
        found = shutil.which("nvcc", path=str(Path(home) / "bin")) if home else None
        yield f"{variable}={home}" if home else f"{variable} (not set)", Path(found) if found else None
    found = shutil.which("nvcc")
    yield "PATH", Path(found) if found else None
    folders = wheel_folders()
    for folder in folders:
        yield f"wheels in {folder}", Path(shutil.which("nvcc", path=str(folder / "bin")) or folder / "bin" / "nvcc")
    if not folders:
        yield "wheels of the nvcc extra", None


def wheel_folders() -> list[Path]:
    """site-packages/nvidia/cu13 and its like, newest first."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    return sorted((path for root in roots for path in Path(root).glob("cu[0-9]*") if path.is_dir()), reverse=True)


def _version(nvcc: Path) -> str:
    """The version of an nvcc; raises _Unusable if it cannot compile."""
    if nvcc.parent.parent in wheel_folders():
        _require_all_wheels(nvcc.parent.parent)
    try:
        said = processes.output_of([str(nvcc), "--version"], _ANSWER_S)
    except processes.FAILED as error:
        raise _Unusable(f"{nvcc} --version failed: {error}") from error
    match = re.search(r"\bV(\d+\.\d+\.\d+)", said)
    if match is None:
        raise _Unusable(f"{nvcc} --version names no release; got {said.strip()[:80]!r}")
    return match[1]


def _require_all_wheels(folder: Path) -> None:
    """Require all five wheels of one minor version: mixed, ptxas refuses the PTX, and CUB the headers."""
    missing = [wheel for wheel, file in _WHEELS.items() if not (folder / file).exists()]
    if missing:
        raise _Unusable(f"incomplete, without {', '.join(missing)}")
    site_packages = folder.parent.parent
    installed = {
        d.metadata["Name"].lower().replace("_", "-"): d.version for d in distributions(path=[str(site_packages)])
    }
    versions = {wheel: installed[wheel] for wheel in _WHEELS if wheel in installed}
    if len({tuple(version.split(".")[:2]) for version in versions.values()}) > 1:
        raise _Unusable("mixed versions: " + ", ".join(f"{wheel} {version}" for wheel, version in versions.items()))


def _environment() -> tuple[tuple[str, str], ...]:
    return tuple((name, os.environ[name]) for name in _VARIABLES if os.environ.get(name))


def _require_host_compiler(compiler: Compiler) -> None:
    """Require a C++ compiler: nvcc preprocesses with it, and fails on every kernel without one."""
    chosen = dict(compiler.environment)
    if "NVCC_CCBIN" in chosen or any("-ccbin" in flags or "--compiler-bindir" in flags for flags in chosen.values()):
        return
    host = "cl" if os.name == "nt" else "g++"
    if shutil.which(host) is None:
        raise NoCompiler(
            f"{compiler.path} needs the host compiler {host}, which is not on PATH; install it "
            f"(Debian, Ubuntu: apt install g++), or name another one in NVCC_CCBIN"
        )
