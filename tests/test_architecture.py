"""Who may import whom, read from the syntax trees: nothing is run."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.catalog import catalog

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, KERNELS, SPECIMENS = ROOT / "kernelbench", ROOT / "kernels", ROOT / "tests" / "specimens"

# Floors of the house, from the ground up: a room imports what lies on lower floors, and no other room on its own.
FLOORS = (
    ("core",),
    ("build", "explain", "planning", "runs", "simt", "suite"),
    ("compare", "devices"),
    ("fleet", "measure", "report"),
    ("walks",),
    ("cli",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MAIN, FACE = "kernelbench.__main__", "kernelbench"  # the entry point, above all; and the words that kernels import
HEAVY = {
    "pandas", "matplotlib", "scipy", "cupy", "cupyx", "rich", "jinja2", "torch", "kernel_tuner", "dask", "distributed",
}  # fmt: skip
KERNELS_MAY_IMPORT = {FACE, "numpy", "__future__", "collections.abc", "dataclasses", "functools", "math", "typing"}
# Folders of kernels/ without an operation, and whose modules import from them besides their own: every folder's of
# `common`, of a family its operations'.
SHARED = {"common": (), "softmax_family": ("softmax", "log_softmax", "layer_norm")}
CUDA_DEVICE = PACKAGE / "devices" / "cuda"  # its modules know CuPy, and are imported inside functions
MAX_LINES = 300  # CONTRIBUTING.md states it
# Modules of one name in two rooms do the same job on two floors: a command and its walk, a file and its records, ..
SAME_JOB = {
    "candidate_times", "check", "compare", "counters", "explain", "gate", "hardware_counters", "history", "plan",
    "progress", "report", "request", "run", "self_test", "simulate", "step", "tensor_maps", "tune",
}  # fmt: skip


@dataclass(frozen=True)
class Import:
    """One imported module; `lazy` inside a function, `typing` under TYPE_CHECKING."""

    module: str
    line: int
    lazy: bool
    typing: bool


@cache
def imports(path: Path) -> list[Import]:
    return list(_walk(ast.parse(path.read_text(), str(path)), path, lazy=False, typing=False))


def _walk(node: ast.AST, path: Path, lazy: bool, typing: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, lazy, typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (Import(name, child.lineno, lazy, typing) for name in _from(child, path))
        inside = lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        guard = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield from _walk(child, path, inside, typing or guard)


def _from(node: ast.ImportFrom, path: Path) -> list[str]:
    """`from kernelbench.core import places` means kernelbench.core.places; libraries are not looked into.

    Modules of kernels/ import each other by relative names.
    """
    module = node.module or ""
    if node.level:
        assert path.is_relative_to(KERNELS), f"{path}:{node.lineno}: imports are absolute"
        module = ".".join((*path.relative_to(ROOT).parts[: -node.level], *filter(None, [module])))
    elif module.split(".")[0] != "kernelbench":
        assert module.split(".")[0] != "kernels", f"{path}:{node.lineno}: no name of an installed package"
        return [module]
    names = [f"{module}.{alias.name}" for alias in node.names]
    return [name if module_path(name) else module for name in names]


def module_path(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(name: str) -> str:
    """`build` of kernelbench.build.cache; '' of kernelbench itself and of its entry point."""
    return name.split(".")[1] if name not in (FACE, MAIN) else ""


MODULES = sorted(PACKAGE.rglob("*.py"))
KERNEL_MODULES = sorted([*KERNELS.rglob("*.py"), *SPECIMENS.rglob("*.py")])
each_module = pytest.mark.parametrize("path", MODULES, ids=module_name)
each_kernel = pytest.mark.parametrize("path", KERNEL_MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def test_files_were_found() -> None:
    names = {module_name(path) for path in MODULES}
    assert {"kernelbench.core.records", "kernelbench.planning.catalog", "kernelbench.build.builder"} <= names
    assert {path.name for path in KERNEL_MODULES} >= {"operation.py", "naive.py"}
    assert any(imports(path) for path in MODULES)


@each_module
def test_every_module_lies_in_a_room(path: Path) -> None:
    name = module_name(path)
    assert name in (FACE, MAIN) or room_of(name) in FLOOR_OF, f"{name}: put it into a room of FLOORS"


def test_the_house_in_the_readme_is_this_one() -> None:
    house = (ROOT / "README.md").read_text().partition("## The house")[2].partition("## Read on")[0]
    shown = [line.split("/")[0].strip() for line in house.splitlines() if line.startswith("  ")]
    assert set(shown) == set(FLOOR_OF)
    floors = [FLOOR_OF[room] for room in shown]
    assert floors == sorted(floors, reverse=True), "from the top floor down"


def test_the_house_is_as_small_as_it_is_meant_to_be() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")}  # not those that an older version left bytecode in
    assert folders == set(FLOOR_OF), "folders and FLOORS differ"
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert len(FLOORS) <= 6


@each_module
def test_imports_go_down(path: Path) -> None:
    name = module_name(path)
    for found in imports(path):
        assert found.module.split(".")[0] != "kernels", f"{path}:{found.line}: kernels are loaded, not imported"
        if found.module.split(".")[0] != "kernelbench" or name == MAIN or found.module == FACE:
            continue
        own, other = room_of(name), room_of(found.module)
        place = f"{path.relative_to(ROOT)}:{found.line}: {found.module}"
        if own != other:
            assert FLOOR_OF[other] < FLOOR_OF.get(own, 1), f"{place} is not below {name}"


def test_no_module_imports_itself_by_a_detour() -> None:
    modules = [*MODULES, *KERNEL_MODULES]
    known = {module_name(path) for path in modules}
    graph = {module_name(path): {found.module for found in imports(path)} & known for path in modules}
    order = list(TopologicalSorter(graph).static_order())
    assert len(order) == len(known)


@each_module
def test_heavy_libraries_and_the_cuda_device_are_imported_where_they_are_used(path: Path) -> None:
    if path.parent == CUDA_DEVICE:
        return
    for found in imports(path):
        library, place = found.module.split(".")[0], f"{path}:{found.line}: {found.module}"
        assert library not in ("cupy", "cupyx"), f"{place}: only the CUDA device knows it"
        if library in HEAVY or found.module.startswith("kernelbench.devices.cuda"):
            assert found.lazy or found.typing, f"{place} belongs inside a function"


@pytest.mark.parametrize("path", [*MODULES, *KERNEL_MODULES], ids=module_name)
def test_modules_are_short(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= MAX_LINES, f"{lines} lines: split it by what its parts know"


@each_kernel
def test_every_kernel_module_lies_in_an_operation_or_in_what_operations_share(path: Path) -> None:
    folder = path.parent
    assert folder.parent in (KERNELS, SPECIMENS), f"{path}: expected <operation>/<name>.py"
    operation = (KERNELS / folder.name / "operation.py").is_file()
    assert operation != (folder.name in SHARED), f"{folder}: an operation, or a folder of SHARED"
    assert (folder / "__init__.py").is_file() == (folder.name in SHARED), f"{folder}: only shared folders have one"


def shared_with(folder: str) -> set[str]:
    """Folders of kernels/ that modules of `folder` import from."""
    return {folder, *(name for name, users in SHARED.items() if not users or folder in users)}


# What modules of kernels in a Python dialect, triton_*.py and helion_*.py, are decorated by and name in annotations.
# our_triton() and our_helion() import them, once the library is known to be there.
WRITTEN_IN = {"triton": ("triton",), "helion": ("helion", "torch")}


@each_kernel
def test_kernels_import_little(path: Path) -> None:
    folder, shared = path.parent.name, path.parent.name in SHARED
    for found in imports(path):
        library = found.module.split(".")[0]
        place = f"{path.relative_to(ROOT)}:{found.line}: {found.module}"
        if found.module in KERNELS_MAY_IMPORT or (shared and library in sys.stdlib_module_names):
            continue
        if library == "kernels":
            assert module_path(found.module), f"{place}: no such module"
            assert found.module.split(".")[1] in shared_with(folder), f"{place}: not shared with {folder}"
            continue
        assert library != "kernelbench", f"{place}: this is not for kernels"
        if shared and library in WRITTEN_IN.get(path.stem.partition("_")[0], ()):
            continue
        assert found.lazy, f"{place}: a library peer imports its library inside a function"
        assert not path.with_suffix(".cu").exists(), f"{place}: only a peer without a .cu uses a library"


def test_what_is_shared_imports_no_operation_and_common_no_family() -> None:
    assert shared_with("common") == {"common"}
    assert all(shared_with(family) == {family, "common"} for family in SHARED if family != "common")
    assert all((KERNELS / user / "operation.py").is_file() for users in SHARED.values() for user in users)


def test_every_kernel_source_has_its_plan() -> None:
    """A plan of the same name, or one that names it among its other sources."""
    sources = [path for folder in (KERNELS, SPECIMENS) for path in folder.rglob("*.cu") if path.parent.name != "common"]
    named = {
        one.source.with_name(name)
        for implementations in catalog().implementations.values()
        for one in implementations.values()
        for name in one.other_sources
        if one.source
    }
    assert sources
    assert named <= set(sources)
    assert [path for path in sources if path not in named and not path.with_suffix(".py").is_file()] == []


def test_rules_of_kernels_name_no_gpu() -> None:
    """What was measured on one is data: tables, and trials beside the recorded runs."""
    named = [
        path for path in KERNELS.rglob("*.*") if path.suffix in (".py", ".cu", ".cuh") and "H200" in path.read_text()
    ]
    assert named == []


def test_a_class_has_a_name_of_its_own() -> None:
    """Whoever reads a name knows which class is meant."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path == PACKAGE / "simt" / "interface.py":
            continue  # named like the runtime's structures, which they mirror
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    found.pop("TensorMap")  # a kernel's argument in core, and what it becomes on the simulator
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_modules_of_one_name_do_the_same_job() -> None:
    names = [path.stem for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__")]
    assert {name for name in names if names.count(name) > 1} == SAME_JOB
