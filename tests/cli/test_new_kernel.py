"""`kernelbench new`, and folders of kernels outside the package."""

import ast
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.cli.new_kernel import new_kernel
from kernelbench.core import places
from kernelbench.core.errors import InputError, Unsupported
from kernelbench.core.records import Case
from kernelbench.devices.known import known_gpu
from kernelbench.planning.case_plans import Planned, plan_case
from kernelbench.planning.catalog import load_catalog
from tests.catalog import catalog
from tests.conftest import Command, Project
from tests.endings import ended, printed, refused

H200 = known_gpu("h200")
CATALOG = catalog()
LOOPS = ("latency_hiding",)  # operations whose kernels are all made in loops
CASE = Case("softmax", (32, 64, 16, 16), -1, "float32")


def written_by_name(operation: str) -> bool:
    """Whether it has a kernel whose name stands in its file, and which is not made in a loop."""
    return any(
        one.source is not None
        and re.search(rf'Implementation\(\s*"{one.name}"', one.source.with_suffix(".py").read_text())
        for one in CATALOG.implementations[operation].values()
        if one.role == "kernel"
    )


def test_operations_to_start_from_were_found() -> None:
    assert {name for name in CATALOG.operations if not written_by_name(name)} >= set(LOOPS)
    assert len([name for name in CATALOG.operations if written_by_name(name)]) >= 14


@pytest.mark.parametrize("operation", [name for name in CATALOG.operations if written_by_name(name)])
def test_what_is_written_is_launched_as_the_kernel_that_it_is_a_copy_of(operation: str, tmp_path: Path) -> None:
    written = new_kernel(f"{operation}/mine", folder=tmp_path)
    found = load_catalog(own=[tmp_path])
    own, start = found.implementations[operation]["mine"], found.implementations[operation][written.start]
    case = Case(operation, (8, 64, 16, 16), -1, "float32")
    try:
        expected = start.plan(case, H200)
    except Unsupported as error:
        with pytest.raises(Unsupported, match=f"^{error}$"):
            own.plan(case, H200)
        return
    old, new = f"{operation}_{start.source.stem}", f"{operation}_mine"
    renamed = [replace(one, entry=one.entry.replace(old, new)) for one in expected.launches]
    assert own.plan(case, H200) == replace(expected, launches=tuple(renamed))
    source = written.source.read_text()
    assert all(new in one.entry for one in renamed)
    assert new in source
    assert old not in source
    assert written.plan.read_text().count("Implementation(\n") == 1
    assert ast.get_docstring(ast.parse(written.plan.read_text()))


@pytest.mark.parametrize("operation", LOOPS)
def test_an_operation_without_a_kernel_to_copy_says_so(operation: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no kernel to copy"):
        new_kernel(f"{operation}/mine", folder=tmp_path)


@pytest.mark.parametrize(("operation", "start"), [("softmax", "naive"), ("relu", "naive"), ("multiply", "naive")])
def test_a_few_lines_round_a_long_header_are_no_simple_kernel(operation: str, start: str, tmp_path: Path) -> None:
    assert new_kernel(f"{operation}/mine", folder=tmp_path).start == start


@pytest.mark.parametrize("start", ["one_read_rows", "one_read_axis"])
def test_entries_of_a_shared_header_are_renamed_in_source_and_plan(start: str, tmp_path: Path) -> None:
    written = new_kernel("softmax/mine", start, tmp_path)
    own = load_catalog(own=[tmp_path]).implementations["softmax"]["mine"]
    (launch,) = own.plan(replace(CASE, axis=-1 if start == "one_read_rows" else 2), H200).launches
    assert launch.entry.startswith("softmax_mine_")
    assert "#define ENTRY(name) softmax_mine_##name\n" in written.source.read_text()


def test_other_sources_of_the_kernel_are_copied_once(tmp_path: Path) -> None:
    written = new_kernel("layer_norm/mine", "one_read_rows", tmp_path)
    other = written.source.with_name("_words.cu")
    assert other.read_text() == (places.KERNELS / "layer_norm" / "_words.cu").read_text()
    assert written.further == (other,)
    other.write_text("// changed\n")
    assert new_kernel("layer_norm/second", "one_read_rows", tmp_path).further == ()
    assert other.read_text() == "// changed\n"
    found = load_catalog(own=[tmp_path]).implementations["layer_norm"]
    assert {found[name].other_sources for name in ("mine", "second")} == {("_words.cu",)}


@pytest.mark.parametrize("operation", ["softmax", "log_softmax", "layer_norm"])
def test_a_copy_launches_entries_that_its_other_source_has(operation: str, tmp_path: Path) -> None:
    written = new_kernel(f"{operation}/mine", "one_read_rows", tmp_path)
    own = load_catalog(own=[tmp_path]).implementations[operation]["mine"]
    plan = own.plan(Case(operation, (1342, 46), -1, "float32"), H200)
    assert plan.source == "_words.cu"
    defined = written.source.with_name(plan.source).read_text()
    assert [launch.entry.removesuffix("f32") in defined for launch in plan.launches] == [True]


def test_it_starts_from_the_kernel_that_is_named(tmp_path: Path) -> None:
    assert new_kernel("softmax/mine", "oneflow", tmp_path).start == "oneflow"
    assert "oneflow_warp.cuh" in (tmp_path / "softmax" / "mine.cu").read_text()


def test_functions_and_names_of_headers_keep_their_names(tmp_path: Path) -> None:
    """But for what only a comment of the header says."""
    first = new_kernel("row_weight/first", folder=tmp_path)
    text = first.source.read_text().replace("row_weight_first(", "row_weight_first_each(")
    header = first.source.with_name("row_weight_first_each.cuh")
    header.write_text("// for row_weight_first_f32 /* and */\n" + text.partition('extern "C"')[0])
    first.source.write_text(f'#include "{header.name}"\n' + text[text.index('extern "C"') :])
    copied = new_kernel("row_weight/second", folder=tmp_path).source.read_text()
    assert '#include "row_weight/row_weight_first_each.cuh"\n' in copied
    assert copied.count("row_weight_first_each(") == 3
    assert sorted(re.findall(r"void (\w+)\(", copied)) == [f"row_weight_second_{one}" for one in ("bf16", "f16", "f32")]


@pytest.mark.nvcc
def test_a_copy_is_right_whatever_it_starts_from(command: Command, tmp_path: Path) -> None:
    starts = ("oneflow", "oneflow_shared", "five_kernels")
    for start in starts:
        new_kernel(f"softmax/my_{start}", start, tmp_path)
    only = ("--kernels", tmp_path, "--only", ",".join(f"my_{start}" for start in starts))
    case = ("--set", "shape=64x1024", "--inputs", "normal", "--device", "simulated:h200")
    code, out, err = command("check", "softmax", *only, *case)
    if "no nvcc" in err:
        pytest.skip(err.splitlines()[0])
    assert code == 0, out + err
    assert all(re.search(rf" my_{start} +ok ", out) for start in starts), out


@pytest.mark.parametrize(
    ("name", "start", "expected"),
    [
        *(
            (name, None, "expected OPERATION/NAME")
            for name in ("softmax", "softmax/", "softmax/../x", "../softmax/x", "/etc/x", "softmax/X", "softmax/x;y",
                         "softmax/" + "x" * 65, "Scan/mine")
        ),
        ("softmax/naive", None, "is taken"),
        ("softmax/operation", None, "is taken"),
        ("softmax/mine", "torch", "--from torch: it has no .cu to copy"),
        ("layer_norm/mine", "oneflow", "--from oneflow: its file makes it in a loop or a function"),
        ("softmax/mine", "nobody", "--from nobody: no implementation has this name"),
        ("sofmax/mine", None, "did you mean 'softmax'? for an operation of your own choose a name that is less like"),
        ("scan/mine", "naive", "--from naive: 'scan' is new, and has none to copy; the operations are bias_add, "),
        ("scan/operation", None, "'scan/operation' is taken: it says what is computed"),
        ("other/mine", None, "is there and has no operation.py"),
        ("reduce/x", None, "'reduce' is a suite; its operation is 'reduce_sum': kernelbench new reduce_sum/x"),
        ("bert_base_step/x", None, "'bert_base_step' is a suite of several operations; for one of your own choose"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_says_why(name: str, start: str | None, expected: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError) as caught:
        new_kernel(name, start, tmp_path)
    assert expected in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [], "nothing was written"


def test_a_new_operation_comes_with_all_that_its_commands_need(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = printed(command("new", "row_weight/first"))
    folder = Path("kernels/row_weight")
    assert out.splitlines()[:4] == [
        f"{folder}/operation.py",
        f"{folder}/row_weight.yaml",
        f"{folder}/first.cu",
        f"{folder}/first.py: x times a weight for each column; change it, then run",
    ]
    assert [line.split() for line in out.splitlines()[4:]] == [
        f"kernelbench {verb} {folder}/row_weight.yaml --kernels kernels".split() for verb in ("check", "run")
    ]
    said = " ".join(refused(command("plan", folder / "row_weight.yaml")).split())
    assert f"operation.py is beside the suite: add --kernels {tmp_path}/kernels" in said
    out = printed(command("plan", folder / "row_weight.yaml", "--kernels", "kernels"))
    assert out.count("row_weight_first_bf16<<<4096, 256>>>") == 2
    new_kernel("row_weight/second", folder=Path("kernels"))
    assert set(load_catalog(own=[Path("kernels")]).implementations["row_weight"]) == {"first", "second"}


def test_beside_kernelbenchs_own_kernels_its_suite_lies_with_the_others(project: Project) -> None:
    written = new_kernel("row_weight/first")
    assert [path.resolve() for path in written.further] == [
        project.root / "kernels" / "row_weight" / "operation.py",
        project.root / "suites" / "row_weight.yaml",
    ]
    assert written.commands == ("kernelbench check row_weight", "kernelbench run row_weight")


@pytest.mark.nvcc
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_new_operation_is_right_as_it_is(
    verb: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the printed commands, on the simulator, on fewer cases."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "runs", lambda: tmp_path / "runs")
    *_, printed = [line for line in command("new", "row_weight/first")[1].splitlines() if f" {verb} " in line]
    fewer = ("--device", "simulated:h200", "--filter", "columns=100")
    code, out, err = command(*printed.split()[1:], *fewer, *(("--no-report",) if verb == "run" else ()))
    if "no nvcc" in err:
        pytest.skip(err.splitlines()[0])
    assert code == 0, out + err
    assert "wrong" not in out.replace("0 wrong", "")


@pytest.mark.nvcc
def test_the_commands_of_a_further_kernel_of_ones_own_operation_work(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They name the suite that lies beside it, and `copy` only where the operation has one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "runs", lambda: tmp_path / "runs")
    folder, own_suite = Path("my kernels"), "'my kernels/row_weight/row_weight.yaml' --kernels 'my kernels'"
    new_kernel("row_weight/first", folder=folder)
    written = new_kernel("row_weight/second", "first", folder)
    check, run = written.commands
    assert check == f"kernelbench check {own_suite} --only second"
    assert run == f"kernelbench run {own_suite} --only second,first"
    assert f" {check}\n" in written.source.read_text()
    assert f" {run}\n" in written.source.read_text()
    for line in (check, f"{run} --no-report"):
        fewer = ("--device", "simulated:h200", "--filter", "columns=100")
        code, out, err = command(*shlex.split(line)[1:], *fewer)
        if "no nvcc" in err:
            pytest.skip(err.splitlines()[0])
        assert code == 0, out + err
    new_kernel("row_weight/copy", "first", folder)
    assert new_kernel("row_weight/third", "first", folder).commands[1].endswith(" --only third,first,copy")
    assert new_kernel("row_weight/fourth", "copy", folder).commands[1].endswith(" --only fourth,copy")


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    new_kernel("softmax/mine", folder=tmp_path)
    with pytest.raises(InputError, match="is taken"):
        new_kernel("softmax/mine", folder=tmp_path)
    (tmp_path / "softmax" / "other.cu").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"other\.cu: is there already"):
        new_kernel("softmax/other", folder=tmp_path)
    assert not (tmp_path / "elsewhere").exists()


# ---- --kernels -----------------------------------------------------------------------------------

PLAN = """\
from kernelbench import Implementation, Launch, LaunchPlan, Origin, Scalar

def plan(case, device):
    {body}

IMPLEMENTATIONS = (Implementation("{name}", "mine", Origin("me"), plan=plan),)
"""
GOOD = 'return LaunchPlan((Launch("k", (1, 1, 1), (32, 1, 1), ("x", "y")),))'


def own(folder: Path, body: str = GOOD, name: str = "mine") -> Path:
    kernels = folder / "own" / "softmax"
    kernels.mkdir(parents=True, exist_ok=True)
    (kernels / f"{name}.py").write_text(PLAN.format(body=body, name=name))
    (kernels / f"{name}.cu").write_text("")
    return kernels.parent


def test_own_kernels_join_the_suites_of_their_operation(command: Command, tmp_path: Path) -> None:
    folder = own(tmp_path)
    out = printed(command("plan", "softmax", "--kernels", folder, "--only", "mine,naive", "--filter", "seq=16"))
    assert "k<<<1, 32>>>" in out
    out, _ = ended(0, command("list", "kernels", "--kernels", folder))
    assert any(line.split()[:2] == ["softmax", "mine"] for line in out.splitlines())
    code, _, err = command("plan", "softmax", "--only", "mine")
    assert code == 2, "without the option they are not there"
    assert "no implementation 'mine'" in err


def test_a_name_that_is_taken_is_refused_with_both_places(command: Command, tmp_path: Path) -> None:
    folder = own(tmp_path, name="naive")
    _, err = ended(2, command("plan", "softmax", "--kernels", folder))
    assert "implementation 'naive' is defined in" in err
    assert str(places.KERNELS / "softmax" / "naive.py") in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import nothing_of_this_name\n", "mine.py:1: cannot be imported: ModuleNotFoundError"),
        ("\n\nif True\n", "mine.py:3: cannot be imported: SyntaxError"),
        ("import sys\nsys.exit(0)\n", "mine.py:2: cannot be imported: SystemExit"),
        ("x = 1\n", "mine.py: expected IMPLEMENTATIONS"),
    ],
)
def test_a_mistake_in_a_file_is_one_line_with_its_place(
    text: str, expected: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = own(tmp_path)
    (folder / "softmax" / "mine.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    err = refused(command("check", "softmax", "--kernels", "own"))
    assert err.startswith(f"own/softmax/{expected}")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("folder", ["nowhere", "empty", "kernels"])
def test_a_folder_that_is_none_of_kernels_is_refused(folder: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, _, err = command("plan", "softmax", "--kernels", places.KERNELS if folder == "kernels" else tmp_path / folder)
    assert code == 2
    assert {"nowhere": "no such folder", "empty": "no kernels here", "kernels": "kernelbench's own"}[folder] in err


def planned(folder: Path, body: str) -> Planned:
    catalog = load_catalog(own=[own(folder, body)])
    return plan_case(CASE, catalog.operations["softmax"], catalog.implementations["softmax"]["mine"], H200)


@pytest.mark.parametrize(
    ("body", "raised"), [("return case.colums", "AttributeError: "), ("raise SystemExit(3)", "SystemExit: 3")]
)
def test_a_plan_that_raises_costs_its_row_and_says_where(body: str, raised: str, tmp_path: Path) -> None:
    found = planned(tmp_path, body)
    assert (found.status, found.plan) == ("failed", None)
    assert f"softmax/mine.py:4: its plan raised {raised}" in found.reason


def test_a_mistake_in_an_operation_of_ones_own_is_told_with_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "own" / "twice"
    folder.mkdir(parents=True)
    text = (places.KERNELS / "relu" / "operation.py").read_text().replace('name="relu"', 'name="twice"')
    (folder / "operation.py").write_text(text.replace("arrays=x_to_y", "arrays=lambda case: case.nothing"))
    operation = load_catalog(own=[tmp_path / "own"]).operations["twice"]
    with pytest.raises(InputError, match=r"twice/operation\.py:\d+: its arrays raised AttributeError"):
        operation.arrays(replace(CASE, operation="twice"))


def test_a_host_call_is_a_plan(tmp_path: Path) -> None:
    body = 'from kernelbench import HostCall; return LaunchPlan(host=HostCall("f", ("x", "y")))'
    found = planned(tmp_path, body)
    assert (found.status, found.reason, found.plan.host.entry) == ("ok", "", "f")
