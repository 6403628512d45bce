"""What a person gets from the wheel and the sdist: the package and, inside it, kernels, suites, ledger and runs."""

import email
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from kernelbench import __version__
from kernelbench.runs.folders import shipped_runs

ROOT = Path(__file__).resolve().parent.parent
DATA = "kernelbench/_data"
CARRIED = ("kernels", "suites", "results/published", "results/h200", "results/simulated", "tests/specimens")
SUFFIXES = {".py", ".cu", ".cuh", ".yaml", ".csv", ".json"}
# Read by documents and tests, or runs with other versions of libraries.
LEFT_OUT = re.compile(r"results/h200/([^/]+\.json$|accuracy/|model/|simulator/|other_versions/)")
MOST_BYTES = 3_000_000  # of the wheel
MOST_CHECKOUT_BYTES = 15_000_000
SHORTER = {"run": "--filter seq=16 --only naive,ft"}  # README's takes minutes
# In a checkout, which brings kernels and suites of its own: the page of a run with few charts.
FEW_CHARTS = {"report results/h200/softmax": "report results/h200/multiply_debug"}
OWN_KERNEL = (
    "new softmax/my_kernel",
    "run softmax --kernels kernels --filter seq=16 --only naive,my_kernel --no-report",
)


def build(source: Path, folder: Path, target: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("hatchling", "hatch_fancy_pypi_readme"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed; the extra test brings it")
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as pip unpacks it."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def metadata(site: Path) -> Message:
    (path,) = site.glob("*.dist-info/METADATA")
    return email.message_from_string(path.read_text())


def installed(site: Path, folder: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    """The unpacked wheel's command in this folder, without a GPU."""
    words = [sys.executable, "-m", "kernelbench", *shlex.split(arguments)]
    environment = {**os.environ, "PYTHONPATH": str(site), "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "100"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def carried(path: Path) -> bool:
    return path.suffix in SUFFIXES or path.name == "results.csv.gz"


def test_everything_that_is_run_travels(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if "__pycache__" not in name}
    sources = (".py", ".cuh", ".cpp", ".hpp", ".yaml", ".j2", ".css", ".js")
    files = (ROOT / "kernelbench").rglob("*")
    package = {str(path.relative_to(ROOT)) for path in files if path.suffix in sources}
    data = [path.relative_to(ROOT) for top in CARRIED for path in (ROOT / top).rglob("*") if carried(path)]
    wanted = package | {f"{DATA}/{path}" for path in data if not LEFT_OUT.match(str(path))}
    wanted |= {
        "kernelbench/py.typed",
        f"{DATA}/kernels/softmax/naive.cu",
        f"{DATA}/results/h200/softmax/samples.csv.gz",
    }
    assert sorted(wanted - inside - {name for name in wanted if "__pycache__" in name}) == []
    for top in CARRIED:
        assert any(name.startswith(f"{DATA}/{top}/") for name in inside), f"{top} holds nothing to carry"


def test_nothing_else_travels_and_it_is_small(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".part"))] == []
    assert [name for name in names if name.endswith((".png", ".svg", ".html"))] == [], "report draws them"
    allowed = ("kernelbench/", "kernelbench-")
    assert [name for name in names if not name.startswith(allowed)] == []
    carried = tuple(f"{DATA}/{top}/" for top in CARRIED)
    assert [name for name in names if name.startswith(f"{DATA}/") and not name.startswith(carried)] == []
    assert wheel.stat().st_size < MOST_BYTES


def test_no_page_or_chart_of_a_run_is_in_the_repository() -> None:
    kept = [path for path in (ROOT / "results").rglob("*") if path.suffix in (".html", ".png", ".svg")]
    assert [path for path in kept if ROOT / "results" / "runs" not in path.parents] == []


def test_no_recorded_command_writes_to_a_place_of_one_machine() -> None:
    environments = (folder / "environment.json" for folder in shipped_runs())
    named = [path for path in environments if " --out /" in json.loads(path.read_text())["command"]]
    assert named == [], "run `python docs/pack_runs.py`"


def test_a_checkout_is_small() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a checkout of git")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    plain = [path for path in files if path.name == "results.csv"]
    assert plain == [], "run `python docs/pack_runs.py`"
    assert sum(path.stat().st_size for path in files if path.exists()) < MOST_CHECKOUT_BYTES


def test_the_license_and_the_command_are_there(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = {Path(name).name: name for name in archive.namelist() if ".dist-info/" in name}
    assert "Apache License" in archive.read(names["LICENSE"]).decode()
    assert "kernelbench = kernelbench.__main__:main" in archive.read(names["entry_points.txt"]).decode()


def test_an_index_can_show_what_this_is(metadata: Message) -> None:
    assert metadata["Version"] == __version__
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    addresses = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert set(addresses) == {"Source", "Documentation", "Changelog"}
    assert all(address.startswith(addresses["Source"]) for address in addresses.values()), "one address to change"
    targets = re.findall(r"\]\(([^)\s]+)\)", str(metadata.get_payload()))
    assert f"{addresses['Source']}docs/speedup.svg" in targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == [], "links are absolute"


def test_extras_bring_no_cuda_library_that_nothing_calls(metadata: Message) -> None:
    brought = [line for line in metadata.get_all("Requires-Dist", []) if "extra == 'cuda1" in line]
    names = sorted(re.match(r"[\w-]+(\[[\w,]+\])?", line)[0] for line in brought)
    assert names == ["cuda-toolkit[cudart,nvrtc]", "cuda-toolkit[cudart,nvrtc]", "cupy-cuda12x", "cupy-cuda13x"]


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, tmp_path / "sdist", "sdist")) as archive:
        checked = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.2 has none
        archive.extractall(tmp_path, **checked)
    (source,) = (path for path in tmp_path.iterdir() if path.name != "sdist")
    again = build(source, tmp_path / "wheel", "wheel")
    names = [sorted(zipfile.ZipFile(path).namelist()) for path in (wheel, again)]
    assert names[0] == names[1]
    assert (source / "tests" / "test_packaging.py").is_file()


def test_kernels_are_found_where_the_wheel_is_unpacked(site: Path, tmp_path: Path) -> None:
    code = (
        "from kernelbench.planning import catalog; from kernelbench.core import places; "
        "found = catalog.load_catalog(specimens=True).implementations;"
        "print(places.ROOT, found['softmax']['naive'].source, places.SUITES.is_dir(), places.LEDGER.is_dir())"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    data = site / DATA
    assert done.stdout.split() == [str(data), str(data / "kernels" / "softmax" / "naive.cu"), "True", "True"]


def test_the_readmes_run_reads_alike_from_the_wheel(site: Path, tmp_path: Path) -> None:
    tables = [
        installed(place, tmp_path, "compare results/h200/softmax --baseline ft").stdout.partition("\nall rows: ")[0]
        for place in (site, ROOT)
    ]
    assert "oneflow" in tables[0]
    assert tables[0] == tables[1]


@pytest.mark.exhaustive
def test_claims_have_the_verdicts_of_the_checkout_though_samples_are_left_out(site: Path, tmp_path: Path) -> None:
    from kernelbench.compare.recorded import ledger_standings

    assert [(one.claim.id, one.verdict) for one in ledger_standings(site / DATA / "results")] == [
        (one.claim.id, one.verdict) for one in ledger_standings(ROOT / "results")
    ]


def commands() -> list[str]:
    """What follows `kernelbench` in the README's bash blocks, in their order."""
    blocks = re.findall(r"^```bash\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    lines = [line.partition("#")[0] for block in blocks for line in block.splitlines()]
    return [part.strip().partition(" ")[2] for line in lines for part in line.split("&&") if "kernelbench " in part]


@pytest.mark.exhaustive
@pytest.mark.nvcc
@pytest.mark.timeout(900)
@pytest.mark.parametrize("in_checkout", [False, True], ids=["in an empty folder", "in a checkout"])
def test_the_readmes_commands_work_from_the_wheel(site: Path, tmp_path: Path, in_checkout: bool) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*") if "__pycache__" not in path.parts}
    for top in ("kernels", "suites") if in_checkout else ():
        shutil.copytree(ROOT / top, tmp_path / top, ignore=shutil.ignore_patterns("__pycache__"))
    assert len(commands()) > 4
    lines = [line.strip() for line in commands()]
    assert set(FEW_CHARTS) <= set(lines)
    lines = [FEW_CHARTS.get(line, line) if in_checkout else line for line in lines]
    shown = [f"{line} {SHORTER.get(line.split()[0], '')}" for line in lines]
    for line in (*shown, *OWN_KERNEL):
        done = installed(site, tmp_path, line)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, line
    after = {path: path.stat().st_mtime_ns for path in site.rglob("*") if "__pycache__" not in path.parts}
    assert {path for path in after if path.is_file()} == {path for path in before if path.is_file()}
