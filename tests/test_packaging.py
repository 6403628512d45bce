"""What a person gets from the wheel: the package and, inside it, the kernels, suites, ledger and runs."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = "kernelbench/_data"
CARRIED = ("kernels", "suites", "results/published", "results/h200", "results/simulated", "tests/specimens")
SUFFIXES = {".py", ".cu", ".cuh", ".yaml", ".csv", ".gz", ".json", ".html", ".png", ".svg"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: pip install hatchling")
    missing = [top for top in (*CARRIED, "README.md") if not (ROOT / top).exists()]
    if missing:
        pytest.skip(f"nothing to pack yet: no {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_everything_that_is_run_travels(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if "__pycache__" not in name}
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "kernelbench").rglob("*.py")}
    data = [path for top in CARRIED for path in (ROOT / top).rglob("*") if path.suffix in SUFFIXES]
    wanted = package | {f"{DATA}/{path.relative_to(ROOT)}" for path in data if "__pycache__" not in path.parts}
    assert f"{DATA}/kernels/softmax/naive.cu" in wanted
    for top in CARRIED:
        assert any(name.startswith(f"{DATA}/{top}/") for name in wanted), f"{top} holds nothing to carry"
    assert sorted(wanted - inside) == []


def test_nothing_else_travels(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".part"))] == []
    allowed = ("kernelbench/", "kernelbench-")
    assert [name for name in names if not name.startswith(allowed)] == []
    carried = tuple(f"{DATA}/{top}/" for top in CARRIED)
    assert [name for name in names if name.startswith(f"{DATA}/") and not name.startswith(carried)] == []


def test_the_license_and_the_command_are_there(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = {Path(name).name: name for name in archive.namelist() if ".dist-info/" in name}
    assert "Apache License" in archive.read(names["LICENSE"]).decode()
    assert "kernelbench = kernelbench.__main__:main" in archive.read(names["entry_points.txt"]).decode()


def test_kernels_are_found_where_the_wheel_is_unpacked(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "from kernelbench.planning import catalog; from kernelbench.core import places; "
        "found = catalog.load_catalog(specimens=True).implementations;"
        "print(places.ROOT, found['softmax']['naive'].source, places.SUITES.is_dir(), places.LEDGER.is_dir())"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    data = tmp_path / "site" / DATA
    assert done.stdout.split() == [str(data), str(data / "kernels" / "softmax" / "naive.cu"), "True", "True"]
    shutil.rmtree(tmp_path / "site")
