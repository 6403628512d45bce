import importlib.util
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelbench.build import compiler as compiler_module
from kernelbench.build import find_compiler
from kernelbench.core.errors import NoCompiler

WHEELS = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-cccl")


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    """No toolkit anywhere, only a host compiler on PATH."""
    for variable in ("CUDA_HOME", "CUDA_PATH", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"):
        monkeypatch.delenv(variable, raising=False)
    executable(tmp_path / "host" / "g++")
    monkeypatch.setenv("PATH", str(tmp_path / "host"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def an_nvcc(path: Path, version: str = "13.0.88") -> Path:
    return executable(path, f'#!/bin/sh\necho "Cuda compilation tools, release 13.0, V{version}"\n')


@pytest.fixture
def wheels(monkeypatch, tmp_path) -> Path:
    """All five wheels as pip lays them out; returns site-packages."""
    site_packages = tmp_path / "site-packages"
    folder = site_packages / "nvidia" / "cu13"
    an_nvcc(folder / "bin" / "nvcc", "13.0.1")
    for wheel, file in zip(WHEELS, compiler_module._WHEELS.values(), strict=True):
        executable(folder / file)
        installed(site_packages, wheel, "13.0.7")
    spec = SimpleNamespace(submodule_search_locations=[str(site_packages / "nvidia")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "nvidia" else None)
    return site_packages


def installed(site_packages: Path, wheel: str, version: str) -> None:
    metadata = site_packages / f"{wheel.replace('-', '_')}.dist-info" / "METADATA"
    metadata.parent.mkdir(exist_ok=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: {wheel}\nVersion: {version}\n")


def test_the_order_is_option_cuda_home_cuda_path_path_wheels(monkeypatch, tmp_path, wheels):
    assert find_compiler().version == "13.0.1"
    on_path = an_nvcc(tmp_path / "host" / "nvcc", "13.0.2")
    assert find_compiler().path == on_path
    an_nvcc(tmp_path / "b" / "bin" / "nvcc", "13.0.3")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "b"))
    assert find_compiler().version == "13.0.3"
    an_nvcc(tmp_path / "a" / "bin" / "nvcc", "13.0.4")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "a"))
    assert find_compiler().version == "13.0.4"
    given = an_nvcc(tmp_path / "c" / "bin" / "nvcc-x", "13.0.5")
    assert find_compiler(given).version == "13.0.5"
    assert find_compiler(tmp_path / "b").version == "13.0.3", "a toolkit's folder will do"


def test_a_person_types_nvcc_where_path_has_it(tmp_path):
    an_nvcc(tmp_path / "host" / "nvcc")
    other = an_nvcc(tmp_path / "other" / "nvcc")
    assert find_compiler().name == "nvcc"
    assert find_compiler(other).name == str(other)


def test_without_any_the_message_says_where_it_looked_and_how_to_get_one(monkeypatch):
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    with pytest.raises(NoCompiler) as caught:
        find_compiler()
    text = str(caught.value)
    for part in ("CUDA_HOME=/nowhere: not found", "CUDA_PATH (not set)", "PATH: not found", "wheels of the nvcc extra"):
        assert part in text
    assert "pip install -e '" in text
    assert "[nvcc]'" in text
    assert caught.value.exit_code == 2


def test_a_named_nvcc_that_is_not_there_is_not_replaced_by_another(tmp_path):
    an_nvcc(tmp_path / "host" / "nvcc")
    with pytest.raises(NoCompiler, match="--nvcc /nowhere/nvcc: not found"):
        find_compiler("/nowhere/nvcc")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\nexit 3\n", "non-zero exit status 3"),
        ("#!/bin/sh\necho hello\n", "names no release; got 'hello'"),
        ("\x7fELF of another machine", "Exec format error"),
        ("#!/bin/sh\nkill -9 $$\n", "died with <Signals.SIGKILL: 9>"),
        ("#!/bin/sh\nexec /bin/sleep 30\n", "timed out after 1.5 seconds"),
    ],
)
def test_a_broken_nvcc_is_passed_over_with_the_reason(monkeypatch, tmp_path, wheels, text, reason):
    monkeypatch.setattr(compiler_module, "_ANSWER_S", 1.5)
    broken = executable(tmp_path / "host" / "nvcc", text)
    assert find_compiler().version == "13.0.1", "the next one is taken"
    with pytest.raises(NoCompiler, match=reason):
        find_compiler(broken)


def test_wheels_of_mixed_versions_are_refused(wheels):
    installed(wheels, "nvidia-nvvm", "13.5.1")
    with pytest.raises(NoCompiler, match=r"mixed versions: nvidia-cuda-nvcc 13\.0\.7, nvidia-nvvm 13\.5\.1"):
        find_compiler()


def test_a_missing_wheel_is_named(wheels):
    shutil.rmtree(wheels / "nvidia" / "cu13" / "nvvm")
    with pytest.raises(NoCompiler, match="incomplete, without nvidia-nvvm"):
        find_compiler()


def test_a_missing_host_compiler_is_named(monkeypatch, tmp_path):
    nvcc = an_nvcc(tmp_path / "nvcc")
    (tmp_path / "host" / "g++").unlink()
    with pytest.raises(NoCompiler, match=r"needs the host compiler g\+\+, which is not on PATH"):
        find_compiler(nvcc)
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-ccbin /opt/g++-14")
    assert find_compiler(nvcc).environment == (("NVCC_PREPEND_FLAGS", "-ccbin /opt/g++-14"),)


@pytest.mark.parametrize(
    ("said", "cub"), [("300001", {"cub": "3.0.1"}), ("200800", {"cub": "2.8.0"}), ("error", {}), ("12", {})]
)
def test_cub_has_the_version_of_the_headers_that_nvcc_finds(tmp_path, said, cub):
    path = executable(tmp_path / "bin" / "nvcc", f'#!/bin/sh\necho "# 2 \'cub.cu\'"\necho "   {said}"\n')
    assert compiler_module.Compiler(path, "13.0.88").versions == {"nvcc": "13.0.88", **cub}


def test_an_nvcc_that_finds_no_cub_has_no_version_of_it(tmp_path):
    path = executable(tmp_path / "bin" / "nvcc", "#!/bin/sh\necho 300001\nexit 1\n")
    assert compiler_module.Compiler(path, "13.0.88").versions == {"nvcc": "13.0.88"}
