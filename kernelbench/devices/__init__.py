"""Where kernels run: a CUDA GPU, or nothing but a table of known GPUs for planning without one."""

from __future__ import annotations

from kernelbench.contracts import Device
from kernelbench.errors import InputError, NoDevice

NO_DEVICE_ADVICE = """\
What works without a GPU:
  kernelbench compare --baseline ft     the recorded run of an H200, against the published figures
  kernelbench report                    the same as one HTML page
  kernelbench plan SUITE                how each kernel would be launched on a chosen GPU
  kernelbench build SUITE               compile everything; registers, spills, loads of each kernel
  kernelbench list                      suites, kernels, claims, runs
With a GPU: install its driver, then CuPy: pip install 'kernelbench[cuda13]' (driver 580 or newer)
or 'kernelbench[cuda12]'; with an older driver also the CUDA toolkit that fits it, on PATH.
`kernelbench doctor` says what is missing."""


def open_device(name: str) -> Device:
    """The device called `auto`, `cuda` or `cuda:N`. NoDevice says what was found and what still works."""
    kind, colon, number = name.partition(":")
    if kind not in ("auto", "cuda") or (colon and (kind == "auto" or not number.isdecimal())):
        raise InputError(f"--device {name}: unknown device; expected auto, cuda or cuda:N, as in cuda:1")
    try:
        from kernelbench.devices.cuda import CudaDevice
    except ImportError as error:
        raise NoDevice(f"No CUDA device: CuPy cannot be imported ({error}).\n\n{NO_DEVICE_ADVICE}") from error
    try:
        return CudaDevice(int(number or 0))
    except NoDevice as error:
        raise NoDevice(f"No CUDA device: {error}\n\n{NO_DEVICE_ADVICE}") from error
