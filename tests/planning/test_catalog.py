import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from kernelbench.core import places
from kernelbench.core.errors import InputError, ProblemsError
from kernelbench.planning.catalog import load_catalog

OPERATION = """\
from kernelbench import Operation, Tolerance
OPERATION = Operation("{name}", "", lambda case: (), lambda xp, case, inputs: {{}}, lambda case: 1, lambda case: 1,
                      lambda case: Tolerance(0, 0))
"""
KERNEL = """\
from kernelbench import Implementation, LaunchPlan, Origin
IMPLEMENTATIONS = tuple(
    Implementation(name, "", Origin("written here"), plan=lambda case, device: LaunchPlan(())) for name in {names})
"""
PEER = """\
from kernelbench import Implementation, Origin
IMPLEMENTATIONS = [Implementation("{name}", "", Origin("a library"), prepare=lambda case, arrays, stream: None)]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Operation `scan` with kernels `tree` and `tree_wide` of one file, and the peer `torch`."""
    scan = tmp_path / "kernels" / "scan"
    scan.mkdir(parents=True)
    (scan / "operation.py").write_text(OPERATION.format(name="scan"))
    (scan / "tree.py").write_text(KERNEL.format(names=("tree", "tree_wide")))
    (scan / "tree.cu").write_text("")
    (scan / "torch.py").write_text(PEER.format(name="torch"))
    (scan / "_shared.py").write_text("raise RuntimeError('is left alone')")
    (tmp_path / "kernels" / "common").mkdir()
    (tmp_path / "kernels" / "common" / "reduce.cuh").write_text("")
    return tmp_path / "kernels"


def problems(*folders: Path) -> list[str]:
    with pytest.raises(ProblemsError) as caught:
        load_catalog(folders)
    assert isinstance(caught.value, InputError)
    return [str(problem) for problem in caught.value.problems]


def test_folders_become_operations_and_files_implementations(folder):
    catalog = load_catalog([folder])
    assert list(catalog.operations) == ["scan"]
    found = catalog.implementations["scan"]
    assert list(found) == ["torch", "tree", "tree_wide"]
    assert {one.operation for one in found.values()} == {"scan"}
    assert found["tree_wide"].source == folder / "scan" / "tree.cu"
    assert found["torch"].source is None


def test_modules_stand_in_nobodys_way(folder):
    path = list(sys.path)
    first, second = load_catalog([folder]), load_catalog([folder])
    assert list(first.implementations["scan"]) == list(second.implementations["scan"])
    assert sys.path == path
    module = sys.modules.get("torch")
    assert module is None or not str(module.__file__).startswith(str(folder))
    assert "tree" not in sys.modules


def test_a_file_that_changed_is_read_again(folder):
    load_catalog([folder])
    (folder / "scan" / "torch.py").write_text(PEER.format(name="torch_compiled"))
    assert "torch_compiled" in load_catalog([folder]).implementations["scan"]


def test_a_users_file_edited_within_a_second_at_its_size_is_read_again(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = folder / "scan" / "torch.py"
    load_catalog(own=[folder])
    before = path.stat().st_mtime
    path.write_text(PEER.format(name="tosch"))
    os.utime(path, (before, before))
    assert "tosch" in load_catalog(own=[folder]).implementations["scan"]
    assert not sys.dont_write_bytecode


def test_a_further_folder_adds_implementations(folder, tmp_path):
    more = tmp_path / "specimens" / "scan"
    more.mkdir(parents=True)
    (more / "tree.py").write_text(KERNEL.format(names=("never_reads",)))
    (more / "tree.cu").write_text("")
    found = load_catalog([folder, tmp_path / "specimens"]).implementations["scan"]
    assert found["never_reads"].source == more / "tree.cu"
    assert found["tree"].source == folder / "scan" / "tree.cu"


def test_a_module_may_name_a_source_elsewhere(folder: Path) -> None:
    shared, module = folder / "common" / "shared.cu", folder / "scan" / "shared.py"
    text = KERNEL.format(names=("shared",))
    module.write_text("from pathlib import Path\n" + text.replace("LaunchPlan(())", "LaunchPlan(()), source={}"))
    template = module.read_text()
    module.write_text(template.format(f"Path({str(shared)!r})"))
    (problem,) = problems(folder)
    assert problem.endswith(f"implementation 'shared' has a plan but no kernel: expected it at {shared}")
    shared.write_text("")
    assert load_catalog([folder]).implementations["scan"]["shared"].source == shared
    module.write_text(template.format(repr(str(shared))))
    (problem,) = problems(folder)
    assert "source must be a Path or None, got" in problem


def test_a_module_may_name_other_sources_beside_its_own(folder: Path) -> None:
    module = folder / "scan" / "tree.py"
    template = KERNEL.format(names=("tree",)).replace("LaunchPlan(())", "LaunchPlan(()), other_sources={}")
    module.write_text(template.format('("wide.cu",)'))
    (problem,) = problems(folder)
    assert problem.endswith("implementation 'tree' has a plan but no kernel: expected wide.cu beside it")
    (folder / "scan" / "wide.cu").write_text("")
    assert load_catalog([folder]).implementations["scan"]["tree"].other_sources == ("wide.cu",)
    for wrong in ('("../common/reduce.cuh",)', '["wide.cu"]', '("wide",)'):
        module.write_text(template.format(wrong))
        (problem,) = problems(folder)
        assert "other_sources must be a tuple of names like 'other.cu', got" in problem


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere: no such folder"):
        load_catalog([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import math\nmath.nothing\n", "bad.py:2: cannot be imported: AttributeError: module 'math'"),
        ("def plan(:\n", "bad.py:1: cannot be imported: SyntaxError"),
        ("import a_library_that_is_not_there\n", "bad.py:1: cannot be imported: ModuleNotFoundError"),
        ("x = 1\n", "bad.py: expected IMPLEMENTATIONS = (Implementation(...), ...), got nothing"),
        ("IMPLEMENTATIONS = ()\n", "bad.py: expected IMPLEMENTATIONS = (Implementation(...), ...), got ()"),
        ("IMPLEMENTATIONS = ('naive',)\n", "got ('naive',)"),
        (PEER.format(name="Torch-2"), "bad.py: implementation name 'Torch-2': expected at most 64 lowercase letters"),
        (KERNEL.format(names=("lonely",)), "'lonely' has a plan but no kernel: expected bad.cu beside it"),
    ],
)
def test_a_bad_module_is_named_with_its_line(folder, text, said):
    path = folder / "scan" / "bad.py"
    path.write_text(text)
    (problem,) = problems(folder)
    assert said in problem
    assert str(path.parent) in problem
    if "cannot be imported" in problem:
        assert not [name for name in sys.modules if name.endswith("scan.bad")], "nothing half made is left behind"


@pytest.fixture
def family(folder: Path) -> Path:
    """`trees`, from which `scan` imports; it has modules of libraries' names."""
    family = folder / "trees"
    family.mkdir()
    (family / "__init__.py").write_text("")
    (family / "torch.py").write_text("from .copy import NAMES\n")
    (family / "copy.py").write_text("NAMES = ('tree', 'tree_wide')\n")
    head = "import copy\nfrom ..trees.torch import NAMES\nassert copy.deepcopy(NAMES)\n"
    (folder / "scan" / "tree.py").write_text(head + KERNEL.format(names="NAMES"))
    return family


def test_kernels_import_from_what_is_shared_by_relative_names(folder, family):
    before = {name for name in sys.modules if name.startswith(("trees", "scan", "kernels"))}
    assert list(load_catalog([folder]).operations) == ["scan"], "no operation without operation.py"
    assert list(load_catalog([folder]).implementations["scan"]) == ["torch", "tree", "tree_wide"]
    assert {name for name in sys.modules if name.startswith(("trees", "scan", "kernels"))} == before
    (family / "copy.py").write_text("NAMES = ('tree', 'flat', 'wide')\n")
    assert list(load_catalog([folder]).implementations["scan"]) == ["torch", "tree", "flat", "wide"], "read again"


def test_a_mistake_in_what_is_shared_is_named_once_with_its_line(folder, family):
    (folder / "scan" / "flat.py").write_text((folder / "scan" / "tree.py").read_text())
    (family / "copy.py").write_text("\n1/0\n")
    (problem,) = problems(folder)
    assert problem.startswith(f"{family}/copy.py:2: cannot be imported: ZeroDivisionError")
    (family / "copy.py").write_text("NAMES = (\n")
    assert problems(folder)[0].startswith(f"{family}/copy.py:1: cannot be imported: SyntaxError")
    (family / "copy.py").unlink()
    assert problems(folder)[0].endswith("torch.py:1: cannot be imported: ModuleNotFoundError: "
                                        "No module named 'kernels.trees.copy'")  # fmt: skip


def test_a_users_folder_imports_from_its_own_and_then_from_kernelbenchs(folder, family):
    (family / "torch.py").write_text("from ..common.launch_helpers import power_of_two_from\nNAMES = ('tree',)\n")
    catalog = load_catalog([folder], own=[])
    assert "tree" in catalog.implementations["scan"]
    own = folder.parent / "own" / "softmax"
    own.mkdir(parents=True)
    (own / "mine.cu").write_text("")
    imports = "from ..softmax_family.row_plans import plan_of\nfrom .mine_names import NAMES\n"
    (own / "mine.py").write_text(imports + KERNEL.format(names="NAMES"))
    (own / "mine_names.py").write_text(PEER.format(name="named") + "NAMES = ('mine',)\n")
    assert {"mine", "named", "naive"} <= set(load_catalog(own=[own.parent]).implementations["softmax"])


def test_a_package_of_implementations_is_no_shared_one(folder, family):
    (family / "flat.py").write_text(PEER.format(name="flat"))
    assert problems(folder)[0].startswith(f"{family}/operation.py: missing; 'trees' has implementations")


def test_a_checkout_beside_an_installed_kernelbench_gives_what_is_new_in_it(tmp_path):
    """What pages show, `new softmax/my_kernel` and `--kernels kernels`, in a checkout whose wheel is installed."""
    kernels = shutil.copytree(places.KERNELS, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    copy = (kernels / "softmax" / "naive.py").read_text().replace('"naive"', '"my_kernel"')
    (kernels / "softmax" / "my_kernel.py").write_text(copy)
    shutil.copy(kernels / "softmax" / "naive.cu", kernels / "softmax" / "my_kernel.cu")
    catalog = load_catalog(own=[kernels])
    assert catalog.own == {"softmax": ["my_kernel"]}
    assert catalog.implementations["softmax"]["naive"].source == places.KERNELS / "softmax" / "naive.cu"

    (kernels / "softmax" / "naive.cu").write_text("// mine")
    with pytest.raises(ProblemsError) as caught:
        load_catalog(own=[kernels])
    (problem,) = caught.value.problems
    assert problem.path == kernels / "softmax" / "naive.cu"
    assert "differs from the installed kernelbench's own" in problem.text


def test_equal_names_are_refused_with_both_files(folder):
    (folder / "scan" / "zz.py").write_text(PEER.format(name="tree"))
    (problem,) = problems(folder)
    assert problem.startswith(f"{folder}/scan/zz.py: implementation 'tree' is defined in {folder}/scan/tree.py too")
    (folder / "scan" / "zz.py").write_text(PEER.format(name="zz") + "IMPLEMENTATIONS *= 2\n")
    assert "implementation 'zz' is defined twice here" in problems(folder)[0]


def test_all_problems_come_at_once(folder):
    (folder / "scan" / "a.py").write_text("1/0\n")
    (folder / "scan" / "b.py").write_text("2/0\n")
    assert [problem.split(": ")[0][-6:] for problem in problems(folder)] == ["a.py:1", "b.py:1"]


def test_an_operation_must_be_defined_once_and_named_as_its_folder(folder, tmp_path):
    (tmp_path / "more" / "scan").mkdir(parents=True)
    (tmp_path / "more" / "scan" / "operation.py").write_text(OPERATION.format(name="scan"))
    assert f"operation 'scan' is already defined by {folder}" in problems(folder, tmp_path / "more")[0]

    (folder / "scan" / "operation.py").write_text(OPERATION.format(name="sum"))
    assert "OPERATION is named 'sum', expected 'scan'" in problems(folder)[0]
    (folder / "scan" / "operation.py").write_text("OPERATION = None\n")
    assert "operation.py: expected OPERATION = Operation(...), got nothing" in problems(folder)[0]
    (folder / "scan" / "operation.py").unlink()
    assert "operation.py: missing; 'scan' has implementations" in problems(folder)[0]


def test_the_projects_own_kernels_are_found_quickly():
    start = time.process_time()
    catalog = load_catalog()
    elapsed = time.process_time() - start
    assert "naive" in catalog.implementations["softmax"]
    assert elapsed < 0.25, "50 ms of a CPU"
    assert all(one.role != "specimen" for found in catalog.implementations.values() for one in found.values())


@pytest.mark.skipif(not places.SPECIMENS.is_dir(), reason="no specimens here")
def test_specimens_come_only_when_asked_for():
    def roles(**options: bool) -> set[str]:
        catalog = load_catalog(**options)
        return {one.role for found in catalog.implementations.values() for one in found.values()}

    assert "specimen" not in roles()
    assert "specimen" in roles(specimens=True)


@pytest.mark.parametrize("own", [True, False])
def test_a_folder_of_something_else_is_refused_before_any_of_it_is_run(folder, tmp_path, own):
    """As `--kernels .` may name one: each subfolder with a .py in it looks like an operation."""
    strange = tmp_path / "strange"
    for name in ("scan", "tools"):
        (strange / name).mkdir(parents=True)
        (strange / name / "script.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ProblemsError) as found:
        load_catalog([folder], own=[strange]) if own else load_catalog([folder, strange])
    (problem,) = found.value.problems
    assert str(problem).startswith(f"{strange}/tools/operation.py: missing; 'tools' has implementations")
    assert not (tmp_path / "ran").exists()
