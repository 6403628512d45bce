"""`--cu FILE`: a .cu of the user's from the command line to a row, on a GPU with a set clock and on the simulator."""

import shlex
from contextlib import closing
from pathlib import Path

import pytest

from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernelbench.measure.case_run import Settings
from kernelbench.measure.gpu_process import WorkerBench
from kernelbench.planning.case_plans import CasePlan, plan_case
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.own_file import CuFile
from kernelbench.runs.results import read_run
from tests import worker_devices
from tests.catalog import catalog
from tests.conftest import Command, Project, softmax
from tests.endings import ended, printed, refused

FAKE = '// grid: rows\n// block: 32\nextern "C" __global__ void k(const float* x, float* y) {}\n'
NAIVE = """\
#include <cuda_runtime.h>

extern "C" __global__ void my_softmax(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* in = x + static_cast<long long>(row) * columns;
  float* out = y + static_cast<long long>(row) * columns;
  float largest = -INFINITY, sum = 0.0f;
  for (int i = 0; i < columns; ++i) largest = fmaxf(largest, in[i]);
  for (int i = 0; i < columns; ++i) sum += expf(in[i] - largest);
  for (int i = 0; i < columns; ++i) out[i] = expf(in[i] - largest) / sum;
}
"""
LAUNCHER = """
extern "C" int go(const float* x, float* y, int rows, int columns, cudaStream_t stream) {
  my_softmax<<<(rows + 255) / 256, 256, 0, stream>>>(x, y, rows, columns);
  return cudaGetLastError();
}
"""


def arguments(line: str) -> list[str]:
    return shlex.split(line)


@pytest.fixture
def fake(project: Project) -> Project:
    (project.root / "my.cu").write_text(FAKE)
    project.device.kernels["my"] = (softmax, 50e-6, 5e-6)
    project.suite("good, other")
    return project


def test_a_run_measures_the_file_beside_the_others(fake: Project, command: Command) -> None:
    out = ended(0, command(*arguments("run small --cu my.cu --quick --no-report")))[0]
    assert "my" in out
    run = read_run(fake.runs[0])
    assert {row.status for row in run.rows if row.implementation == "my"} == {"ok"}
    assert run.environment["implementations"]["my"]["summary"] == "k of my.cu"


def test_only_leaves_the_file_in(fake: Project, command: Command) -> None:
    out = printed(command(*arguments("plan small --cu my.cu --only good --filter columns=8")))
    assert "k<<<4, 32>>>" in out
    assert "other" not in out


def test_two_files_of_one_name_stand_beside_each_other(fake: Project, command: Command) -> None:
    (fake.root / "other").mkdir()
    (fake.root / "other" / "my.cu").write_text(FAKE)
    out, err = ended(0, command(*arguments("plan small --cu my.cu --cu other/my.cu --filter columns=8")))
    assert "my_my" in out
    assert err == "my.cu is named my_my here, because softmax already has a kernel my.\n"


@pytest.mark.parametrize("name", ["plan", "check", "build", "run", "run --gpus simulated:h200"])
def test_a_name_that_the_operation_has_is_told_once_before_anything_runs(
    name: str, fake: Project, command: Command
) -> None:
    (fake.root / "my.cu").rename(fake.root / "good.cu")
    err = command(*arguments(f"{name} small small --cu good.cu --only good,nobody"))[2]
    said = "good.cu is named my_good here, because softmax already has a kernel good. --only good selects that kernel,"
    assert err.startswith(said)
    assert err.count("is named") == 1


def test_a_file_is_renamed_in_the_operations_alone_that_have_its_name(tmp_path: Path) -> None:
    (tmp_path / "single.cu").write_text(FAKE)
    own, known = load_catalog(own=[CuFile(tmp_path / "single.cu")]).own, catalog().implementations
    assert any("single" in names for names in known.values())
    assert own == {name: ["my_single" if "single" in names else "single"] for name, names in known.items()}


def test_the_help_says_that_an_entry_has_c_linkage(command: Command) -> None:
    assert 'extern "C"' in " ".join(printed(command("run", "--help")).split())


def test_a_file_that_does_not_compile_shows_the_compilers_first_error(fake: Project, command: Command) -> None:
    (fake.root / "my.cu").write_text(FAKE + "// REFUSE\n")
    out, _ = ended(1, command(*arguments("check small --cu my.cu --only my --filter columns=8")))
    assert "error: identifier" in out


def test_the_file_is_answered_before_the_others_and_a_reason_is_said_once(fake: Project, command: Command) -> None:
    said = ended(0, command(*arguments("check small --cu my.cu --filter columns=8 --inputs normal,large")))[0]
    assert said.splitlines()[:2] == ["my: 2 of 2 right", "All: 6 of 6 right"]
    (fake.root / "my.cu").write_text(FAKE + "// REFUSE\n")
    out, _ = ended(1, command(*arguments("check small --cu my.cu --filter columns=8")))
    assert (
        out.splitlines()[:2] == out.splitlines()[-2:] == ["my: 0 of 6 right; 6 failed", "All: 12 of 18 right; 6 failed"]
    )
    assert out.count("error: identifier") == 1


def test_a_gate_names_the_file_that_became_slower(fake: Project, command: Command) -> None:
    for folder, seconds in (("before", 50e-6), ("after", 60e-6)):
        (fake.root / folder).mkdir()
        (fake.root / folder / "my.cu").write_text(f"// {folder}\n{FAKE}")
        fake.device.kernels["my"] = (softmax, seconds, 5e-6)
        ended(0, command(*arguments(f"run small --cu {folder}/my.cu --quick --no-report --out run_{folder}")))
    out, _ = ended(3, command(*arguments("compare run_before run_after --fail-on 3%")))
    assert "SLOWER" in out
    assert command(*arguments("compare run_before run_before --fail-on 3%"))[0] == 0


def test_a_worker_reads_the_file_too(tmp_path: Path) -> None:
    (tmp_path / "good.cu").write_text(FAKE)
    own = [CuFile(tmp_path / "good.cu")]
    good = load_catalog(own=own).implementations["softmax"]["good"]
    case = Case("softmax", (4, 8), -1, "float32")
    plan = CasePlan(case, (plan_case(case, catalog().operations["softmax"], good, KNOWN["h200"]),), ("x",))
    with closing(WorkerBench(worker_devices.device, own, 60)) as worker:
        (result,) = worker.run(plan, Settings(1), lambda share: None)
    assert (result.status, result.implementation.name) == ("ok", "good")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("check small --cu absent.cu", "absent.cu: cannot be read (No such file or directory)"),
        ("check small --cu my.cu --entry kk", "--entry kk: my.cu defines no such function; did you mean 'k'?"),
        ("run small --cu my.cu --grid row", "--grid: 'row': unknown name 'row'; did you mean 'rows'?"),
        ("run small --cu my.cu --args x", "--args: 1 arguments, but k takes 2: x, y"),
        ("plan small --grid rows", "--grid: belongs to --cu FILE, which is missing"),
        ("plan small --cu my.cu --grid ''", "--grid '': is empty; name something or leave it out"),
        ("plan small --cu 'a\x1b[31m.cu'", "cannot be read"),
    ],
)
def test_a_mistake_is_one_message_before_anything_runs(line: str, said: str, fake: Project, command: Command) -> None:
    _, err = ended(2, command(*arguments(line)))
    assert said in err
    assert "\x1b" not in err
    assert not fake.runs


def test_a_step_takes_no_file(here: Path, command: Command) -> None:
    (here / "my.cu").write_text(FAKE)
    err = refused(command(*arguments("plan bert_base_step --cu my.cu")))
    assert err.startswith("--cu: 'bert_base_step' is a step, which takes one kernel per part")


def test_a_name_from_a_stranger_reaches_no_shell_and_no_page(fake: Project, command: Command) -> None:
    name = "<img src=x onerror=alert(1)>;$(touch oops).cu"
    (fake.root / name).write_text(FAKE)
    fake.device.kernels["img_src_x_onerror_alert_1_touch_oops"] = (softmax, 50e-6, 5e-6)
    ended(1, command("run", "small", "--cu", name, "--quick"))  # nvcc is not given such a path
    page = (fake.runs[0] / "report.html").read_text()
    assert "<img src=x" not in page
    assert not list(fake.root.rglob("oops"))


@pytest.mark.nvcc
def test_the_simulator_checks_it_and_refuses_its_host_code(here: Path, command: Command) -> None:
    (here / "my.cu").write_text(NAIVE + LAUNCHER)
    common = "check softmax --cu my.cu --only my --filter seq=16 --inputs normal --device simulated"
    out = ended(0, command(*arguments(f"{common} --entry my_softmax --grid 'ceil(rows / 256)' --block 256")))[0]
    assert out.startswith("1 of 1 right")
    said = " ".join(" ".join(command(*arguments(f"{common} --entry go"))[1:]).split())
    assert "its host code launches the kernels" in said
