"""What is asked of a device, and the device opened: a GPU in a worker process, or the simulator."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kernelbench import devices
from kernelbench.core.contracts import CountingDevice
from kernelbench.core.errors import InputError, NoDevice
from kernelbench.core.progress import Progress
from kernelbench.devices.gpu_lock import gpu_to_itself
from kernelbench.measure import gpu_process
from kernelbench.measure.bench import Bench, InProcessBench
from kernelbench.planning.catalog import Catalog
from kernelbench.planning.own_file import CuFile

DEFAULT_SEED = 20260401


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """Which device to use, and how to measure on it. The defaults are those of the command line."""

    device: str = "auto"  # see devices.open_device
    kernels: Sequence[Path | CuFile] = ()  # the user's own kernels, which join every suite of their operation
    full: bool = False  # on the simulator: run every block of every grid
    strict: bool = False  # on the simulator: all checks
    in_process: bool = False  # on a GPU: no worker process, for debuggers and profilers
    wait: bool = True  # until another run releases the GPU
    patience_s: float = gpu_process.PATIENCE_S  # time without a heartbeat after which the worker is ended
    caches: Sequence[str] = ()  # none: those of the suite
    quick: bool = False
    self_test: bool = False  # each implementation beside a twin of itself
    energy: bool = False  # per call, measured behind the times
    seed: int = DEFAULT_SEED
    arguments: Sequence[str] = ()  # the command line, for environment.json


@contextmanager
def open_bench(request: MeasureRequest, catalog: Catalog, progress: Progress) -> Iterator[Bench]:
    """The device, closed at the end. A GPU is locked against other runs; a simulator in place of a GPU is announced.

    `catalog` includes the user's own kernels.
    """
    with closing(_open(request, catalog)) as bench:
        if bench.counting and request.device == "auto":
            progress.say(f"No GPU: {bench.name} counts what kernels do and times nothing.")
        _set_options(bench, request)
        with nullcontext() if bench.counting else gpu_to_itself(bench.environment(), progress, wait=request.wait):
            yield bench


@contextmanager
def opened_to_tune(request: MeasureRequest, catalog: Catalog, progress: Progress, without: str = "") -> Iterator[Bench]:
    """The same, a GPU only. `without`: what can be done where there is none, for the error."""
    if request.device.partition(":")[0] == "simulated":
        raise InputError(f"--device {request.device}: tune times candidates, and the simulator times nothing")
    gpu = replace(request, device="cuda" if request.device == "auto" else request.device)
    with ExitStack() as stack:
        try:
            bench = stack.enter_context(open_bench(gpu, catalog, progress))
        except NoDevice as error:
            raise NoDevice(f"tune times candidates, so it needs a GPU{without}. {error}") from error
        yield bench


def _open(request: MeasureRequest, catalog: Catalog) -> Bench:
    """A GPU in a worker process unless `in_process`; the simulator in this process."""
    name, kind = request.device, request.device.partition(":")[0]
    if request.in_process or kind not in ("auto", "cuda"):
        return InProcessBench(devices.open_device(name), catalog)
    if kind == "auto" and not devices.has_cupy():  # the same as below, without a process that takes a second to start
        return InProcessBench(devices.open_device("simulated"), catalog)
    opener = partial(devices.open_device, "cuda" if kind == "auto" else name)
    try:
        return gpu_process.WorkerBench(opener, request.kernels, request.patience_s)
    except NoDevice:
        if kind == "auto":
            return InProcessBench(devices.open_device("simulated"), catalog)
        raise


def _set_options(bench: Bench, request: MeasureRequest) -> None:
    """Set the simulator's options; InputError for those that this device cannot have."""
    if isinstance(bench, InProcessBench) and isinstance(bench.device, CountingDevice):
        if request.self_test:
            raise InputError(f"--self-test: {bench.name} times nothing; it needs a GPU")
        if request.energy:
            raise InputError(f"--energy: {bench.name} draws no power; it needs a GPU")
        bench.device.full, bench.device.strict = request.full, request.strict
        return
    for option, given in (("--full", request.full), ("--strict", request.strict)):
        if given:
            raise InputError(f"{option}: {bench.name} runs every block and watches none; add --device simulated")
