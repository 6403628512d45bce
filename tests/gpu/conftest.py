"""The GPU of this machine, kernels compiled for it, and one case run on it."""

import fcntl
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from kernelbench.build import BuildRequest, Compiler, find_compiler
from kernelbench.core import places
from kernelbench.core.errors import NoCompiler, NoDevice
from kernelbench.core.records import Binary, Case, Result
from kernelbench.devices import open_device
from kernelbench.measure.binaries import build_plans
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.planning.case_plans import CasePlan, Planned, plan_case
from kernelbench.planning.catalog import Catalog, load_catalog
from tests.build.binaries import only_built

Plans = Callable[..., tuple[CasePlan, ...]]
RunCase = Callable[..., dict[str, Result]]
Compiled = Callable[[str], Binary]


class Silent:
    """A Progress that shows nothing."""

    def stage(self, title: str, total: float) -> AbstractContextManager[Callable[[float, str], None]]:
        return nullcontext(lambda amount, what: None)


@contextmanager
def locked(name: str, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    """A lock between processes that run tests side by side: one at a time, so that the others find built what the first
    has built; with LOCK_SH, several. Those that see other GPUs do not wait for each other."""
    places.locks().mkdir(parents=True, exist_ok=True)
    gpus = re.sub(r"\W", "-", os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
    with (places.locks() / f"kernelbench-tests-{name}-{gpus}.lock").open("w") as file:
        fcntl.flock(file, how)
        yield


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around fixtures and timeouts: waiting counts for neither
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Processes that run tests side by side share the GPU, but those marked `timed` wait until it is theirs alone."""
    how = fcntl.LOCK_EX if item.get_closest_marker("timed") else fcntl.LOCK_SH
    with ExitStack() as stack:
        with locked("next"):  # in the order in which they come: else a timed one would wait until all others are done
            stack.enter_context(locked("gpu", how))
        return (yield)


@pytest.fixture(scope="session")
def _opened() -> Any:
    try:
        return open_device("cuda")
    except NoDevice as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture
def device(_opened: Any) -> Any:
    """A CudaDevice whose stream is the current one, whatever ran before."""
    _opened.stream.use()
    yield _opened
    _opened.release()


@pytest.fixture(scope="session")
def compiler(_opened: Any) -> Compiler:
    try:
        return find_compiler()
    except NoCompiler as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog(specimens=True)


@pytest.fixture
def compiled(device: Any, compiler: Compiler, tmp_path: Path) -> Compiled:
    """compiled(text): the binary of that source for this GPU."""

    def make(text: str) -> Binary:
        source = tmp_path / "kernels" / "test" / "kernel.cu"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        return only_built(BuildRequest(source, (), device.properties.architecture), compiler)

    return make


@pytest.fixture(scope="session")
def plans(_opened: Any, compiler: Compiler, catalog: Catalog) -> Plans:
    """plans(cases, names): each case with these implementations (all if None), planned and compiled."""

    def make(cases: Sequence[Case], names: Sequence[str] | None = None) -> tuple[CasePlan, ...]:
        known = catalog.implementations["softmax"]
        chosen = [known[name] for name in names or known]
        operation = catalog.operations["softmax"]
        planned = [
            CasePlan(case, tuple(plan_case(case, operation, one, _opened.properties) for one in chosen))
            for case in cases
        ]
        return build_plans(planned, compiler, _opened.properties.architecture, Silent())[0]

    return make


@pytest.fixture
def run_case(device: Any, catalog: Catalog) -> RunCase:
    """run_case(plan, settings): the results by implementation."""

    def run(plan: CasePlan, settings: Settings) -> dict[str, Result]:
        results = CaseRun(device, catalog.operations["softmax"], plan).run(settings)
        return {result.implementation.name: result for result in results}

    return run


def planned_calls(case: Case, *implementations: Any) -> CasePlan:
    """A case of library calls alone, which need neither plan nor binary."""
    return CasePlan(case, tuple(map(Planned, implementations)))
