"""What a kernel can do to the process that measures it, and what becomes of the others."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core.errors import DeviceError, NoDevice
from kernelbench.core.records import Case, Result
from kernelbench.core.stopwatch import STARTING
from kernelbench.measure import opening
from kernelbench.measure.case_run import Settings
from kernelbench.measure.gpu_process import WorkerBench
from kernelbench.measure.placements import PLACEMENTS
from kernelbench.measure.tracks import Precision
from kernelbench.planning.case_plans import CasePlan, Planned
from kernelbench.planning.catalog import Catalog, load_catalog
from tests import worker_devices
from tests.conftest import CALLS
from tests.processes import ROOT, python, until

CASE = Case("softmax", (4, 8), -1, "float32")
TIMED = Settings(1, ("cold",), Precision(least_samples=20, most_samples=20))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of kernels that are names only: the device knows what they do."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "softmax").mkdir()
    calls = CALLS.format(names=tuple(worker_devices.KERNELS), role="kernel")
    (folder / "softmax" / "calls.py").write_text(calls)
    return folder


@pytest.fixture(scope="module")
def catalog(own: Path) -> Catalog:
    return load_catalog(specimens=True, own=[own])


@pytest.fixture
def start(own: Path) -> Iterator[Callable[..., WorkerBench]]:
    made: list[WorkerBench] = []

    def starting(opener: Callable[[], Any] = worker_devices.device, patience_s: float = 60) -> WorkerBench:
        made.append(WorkerBench(opener, [own], patience_s))
        return made[-1]

    yield starting
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def worker(own: Path) -> Iterator[WorkerBench]:
    """One for many tests: a new process comes in the place of one that is gone."""
    with closing(WorkerBench(worker_devices.device, [own], 60)) as made:
        yield made


def run(worker: WorkerBench, catalog: Catalog, *names: str, settings: Settings = TIMED) -> dict[str, Result]:
    found = catalog.implementations["softmax"]
    plan = CasePlan(CASE, tuple(Planned(found[name]) for name in names), ("x",))
    results = worker.run(plan, settings, lambda share: None)
    assert [one.implementation.name for one in results] == list(names)
    return {one.implementation.name: one for one in results}


def test_a_worker_measures_like_the_process_itself(worker: WorkerBench, catalog: Catalog) -> None:
    shares: list[float] = []
    assert (worker.name, worker.properties.multiprocessors, worker.counting) == ("Fake GPU", 132, False)
    assert worker.environment()["name"] == "Fake GPU"
    found = catalog.implementations["softmax"]
    plan = CasePlan(CASE, (Planned(found["good"]),), ("x",))
    (result,) = worker.run(plan, TIMED, shares.append)
    assert (result.status, result.case, result.implementation) == ("ok", CASE, found["good"])
    assert len(result.measurements[0].samples_s) == PLACEMENTS
    assert shares, "progress comes through"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crashes", "its process ended by SIGSEGV"),
        ("exits", "its process ended with exit code 3"),
        ("loses", "launching loses: an illegal memory access was encountered"),
        ("loses_later", "launching loses: an illegal memory access was encountered"),
        ("refuses", "launching refuses: too many resources requested for launch"),
    ],
)
def test_a_bad_kernel_costs_its_own_row(worker: WorkerBench, catalog: Catalog, name: str, reason: str) -> None:
    costs_its_own_row(worker, catalog, name, reason)


def costs_its_own_row(worker: WorkerBench, catalog: Catalog, name: str, reason: str) -> None:
    before = worker._process.pid
    results = run(worker, catalog, "good", name, "other")
    assert (results[name].status, results[name].reason) == ("failed", reason)
    assert [results[one].status for one in ("good", "other")] == ["ok", "ok"]
    assert all(len(results[one].measurements[0].samples_s) == PLACEMENTS for one in ("good", "other"))
    assert (worker._process.pid == before) == (name == "refuses"), "nothing is measured where something went wrong"
    assert run(worker, catalog, "other")["other"].status == "ok", "and the next case goes on"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["hangs", "hangs_later"])
def test_a_kernel_that_hangs_costs_its_own_row(start: Callable[..., WorkerBench], catalog: Catalog, name: str) -> None:
    reason = "no sign of life for 6 s: its process was ended (--timeout)"
    costs_its_own_row(start(patience_s=6), catalog, name, reason)


def test_a_library_may_compile_for_longer(start: Callable[..., WorkerBench], catalog: Catalog) -> None:
    assert run(start(worker_devices.compiling, patience_s=1), catalog, "good")["good"].status == "ok"


@pytest.mark.exhaustive
def test_several_bad_kernels_of_a_case_each_cost_their_row(start: Callable[..., WorkerBench], catalog: Catalog) -> None:
    results = run(start(patience_s=6), catalog, "crashes", "good", "hangs", "loses", "exits")
    assert [one.status for one in results.values()] == ["failed", "ok", "failed", "failed", "failed"]
    assert "SIGSEGV" in results["crashes"].reason


def test_what_nobody_in_particular_did_costs_the_case(start: Callable[..., WorkerBench], catalog: Catalog) -> None:
    worker = start(worker_devices.without_memory)
    results = run(worker, catalog, "good", "other")
    assert {(one.status, one.reason) for one in results.values()} == {("failed", "its process ended with exit code 9")}


def test_what_nobody_in_particular_did_is_tried_once_more(
    start: Callable[..., WorkerBench], catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCE", str(tmp_path / "once"))
    results = run(start(worker_devices.without_memory_once), catalog, "good", "other")
    assert {one.status for one in results.values()} == {"ok"}


def test_a_worker_says_what_cases_and_new_processes_took(worker: WorkerBench, catalog: Catalog) -> None:
    worker.spent()
    run(worker, catalog, "good")
    spent = worker.spent()
    assert {"filling", "preparing", "verifying", "measuring"} <= set(spent)
    assert STARTING not in spent, "whoever made it saw how long that took"
    assert worker.spent() == {}, "what was told is not told again"
    run(worker, catalog, "good", "crashes")
    assert worker.spent()[STARTING] > 0.1


def test_a_device_that_does_not_open_is_the_same_error_as_without_a_worker(start: Callable[..., WorkerBench]) -> None:
    with pytest.raises(NoDevice, match="none here"):
        start(worker_devices.none)
    with pytest.raises(DeviceError, match="exit code 7"):
        start(worker_devices.dies)


def test_a_worker_that_was_killed_between_cases_is_replaced(worker: WorkerBench, catalog: Catalog) -> None:
    assert worker._process.pid is not None
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.join(10)
    assert run(worker, catalog, "good")["good"].status == "ok", "it costs nobody's row"


def test_a_worker_whose_libraries_keep_memory_is_replaced_between_cases(
    start: Callable[..., WorkerBench], catalog: Catalog
) -> None:
    worker, processes = start(worker_devices.leaking), []
    for _ in range(5):
        assert run(worker, catalog, "good")["good"].status == "ok"
        processes.append(worker._process.pid)
    assert [processes.index(pid) for pid in processes] == [0, 0, 2, 2, 4], "each keeps 6 GiB after two cases"


def test_a_worker_is_renewed_once_it_has_run_a_case(start: Callable[..., WorkerBench], catalog: Catalog) -> None:
    worker = start()
    first = worker._process.pid
    worker.renew()
    assert worker._process.pid == first, "it has run none"
    run(worker, catalog, "good")
    worker.renew()
    second = worker._process.pid
    assert second != first
    assert run(worker, catalog, "good", "crashes")["good"].status == "ok"
    third = worker._process.pid
    worker.renew()
    assert len({first, second, third, worker._process.pid}) == 4, "one for the crash, one for the suite"


def test_a_worker_ends_with_its_parent() -> None:
    code = (
        "from kernelbench.measure.gpu_process import WorkerBench\nfrom tests import worker_devices\nimport os\n"
        "if __name__ == '__main__':\n    worker = WorkerBench(worker_devices.device, (), 60)\n"
        "    print(worker._process.pid, flush=True)\n    os.kill(os.getpid(), 9)\n"
    )
    worker = Path("/proc", python("-c", code).stdout.strip())
    until(lambda: not worker.exists(), 10)


def test_the_callers_script_is_not_run_again(tmp_path: Path) -> None:
    """It may call `kernelbench.run` without asking for its `__name__`."""
    script = tmp_path / "script.py"
    script.write_text(
        "from kernelbench.measure.gpu_process import WorkerBench\nfrom tests import worker_devices\n"
        "print('here', flush=True)\nWorkerBench(worker_devices.device, (), 60).close()\nprint(__name__)\n"
    )
    assert python(str(script)).stdout.split() == ["here", "__main__"]


def test_what_libraries_share_and_warn_of_is_not_told_to_the_user(tmp_path: Path) -> None:
    """A library that makes a semaphore and warns: Python would tell of both at the end."""
    script = tmp_path / "script.py"
    script.write_text(
        "from kernelbench.measure.gpu_process import WorkerBench\nfrom tests import worker_devices\n"
        "WorkerBench(worker_devices.with_semaphore, (), 60).close()\n"
    )
    done = python(str(script))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("device", ["device", "with_semaphore"])  # with it, Python unblocks Ctrl-C in the worker
@pytest.mark.parametrize("kernel", ["hangs", ""])
def test_ctrl_c_ends_both_at_once(own: Path, device: str, kernel: str) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom kernelbench.planning.catalog import load_catalog\n"
        "from kernelbench.measure.gpu_process import WorkerBench\nfrom tests import worker_devices\n"
        "from tests.measure import test_gpu_process\n"
        "if __name__ == '__main__':\n    own, device, kernel = Path(sys.argv[1]), *sys.argv[2:]\n"
        "    worker = WorkerBench(getattr(worker_devices, device), [own], 60)\n"
        "    print(worker._process.pid, flush=True)\n"
        "    try:\n        if kernel: test_gpu_process.run(worker, load_catalog(own=[own]), kernel)\n"
        "        else: time.sleep(20)\n"
        "    except KeyboardInterrupt:\n        time.sleep(0.5)\n        worker.close()\n        print('stopped')\n"
    )
    command = [sys.executable, "-c", code, str(own), device, kernel]
    script = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    worker = int(script.stdout.readline())
    time.sleep(2 if kernel else 0.2)  # until the kernel hangs
    os.killpg(script.pid, signal.SIGINT)  # as a terminal does: to both
    out, err = script.communicate(timeout=20)
    assert (out.strip(), err) == ("stopped", "")
    assert not Path(f"/proc/{worker}").exists()


def test_without_cupy_no_process_looks_for_a_gpu(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(opening.gpu_process, "WorkerBench", None)
    assert opening._open(opening.MeasureRequest(), catalog).counting
