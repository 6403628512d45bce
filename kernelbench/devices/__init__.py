"""Devices that run kernels: a CUDA GPU, which is timed, or the simulator, which counts."""

from importlib.util import find_spec

from kernelbench.core.contracts import Device
from kernelbench.core.errors import InputError, NoDevice
from kernelbench.core.records import DeviceProperties

NO_DEVICE_ADVICE = """\
What works without a GPU:
  kernelbench run SUITE                 the same kernels on this CPU, by the simulator: outputs
                                        verified, counts of what they do instead of times
  kernelbench explain SUITE             what kernels do differently, out of those counts
  kernelbench compare --baseline ft     the recorded run of an H200, against the published figures
  kernelbench report                    the same as one HTML page
  kernelbench plan SUITE                how each kernel would be launched on a chosen GPU
  kernelbench build SUITE               compile everything; registers, spills, loads of each kernel
  kernelbench list                      suites, kernels, claims, runs
With a GPU: install its driver, then CuPy by the extra cuda13 (driver 580 or newer) or cuda12; with
an older driver also the CUDA toolkit that fits it, on PATH. `kernelbench doctor` says what is
missing, and the command that installs it."""
SIMULATED_GPU = "h200"  # plans see its properties on the simulator, unless another GPU is named


def open_device(name: str) -> Device:
    """The device called `auto` (the first GPU, else the simulator), `cuda`, `cuda:N`, `simulated` or `simulated:GPU`.

    NoDevice says what was found and what still works.
    """
    kind, colon, which = name.partition(":")
    if kind == "simulated" and bool(colon) == bool(which):
        return _simulated(which or SIMULATED_GPU)
    if kind not in ("auto", "cuda") or (colon and (kind == "auto" or not which.isdecimal())):
        raise InputError(
            f"--device {name}: unknown device; expected auto, cuda or cuda:N, as in cuda:1, "
            "simulated or simulated:GPU, as in simulated:a100"
        )
    try:
        return _cuda(int(which or 0))
    except NoDevice:
        if kind == "auto":
            return _simulated(SIMULATED_GPU)
        raise


def has_cupy() -> bool:
    """Whether CuPy is installed, without which no GPU can be opened. It is not imported, which takes a second."""
    try:
        return find_spec("cupy") is not None
    except ValueError:  # a module of this name that came from nowhere
        return True


def gpu_properties(name: str | None) -> DeviceProperties:
    """A known GPU by name; for None the GPU of this machine, else an H200."""
    from kernelbench.devices.known import known_gpu

    if name:
        return known_gpu(name)
    try:
        return open_device("cuda").properties
    except NoDevice:
        return known_gpu(SIMULATED_GPU)


def _cuda(number: int) -> Device:
    try:
        from kernelbench.devices.cuda import CudaDevice
    except ImportError as error:
        raise NoDevice(f"No CUDA device: CuPy cannot be imported ({error}).\n\n{NO_DEVICE_ADVICE}") from error
    try:
        return CudaDevice(number)
    except NoDevice as error:
        raise NoDevice(f"No CUDA device: {error}\n\n{NO_DEVICE_ADVICE}") from error


def _simulated(gpu: str) -> Device:
    from kernelbench.devices.known import KNOWN
    from kernelbench.devices.simulated import SimulatedDevice

    if gpu.lower() not in KNOWN:
        raise InputError(f"--device simulated:{gpu}: unknown GPU; expected one of {', '.join(KNOWN)}")
    return SimulatedDevice(gpu.lower())
