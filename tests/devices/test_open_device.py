"""Which device is meant, and what is said where there is none."""

import sys
from types import ModuleType

import pytest

from kernelbench.core.contracts import CountingDevice
from kernelbench.core.errors import InputError, NoDevice
from kernelbench.devices import NO_DEVICE_ADVICE, open_device
from kernelbench.devices.known import KNOWN

CUDA = "kernelbench.devices.cuda"


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The room that knows CuPy, replaced: its CudaDevice is the number that it is opened with."""
    module = ModuleType(CUDA)
    module.CudaDevice = int  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, CUDA, module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "tpu", "", "cuda:", "cuda:x", "cuda:-1", "cuda:²", "cuda:1:2", "auto:0", "auto:", "CUDA", "cuda1",
        "simulated:", "simulator",
    ],
)  # fmt: skip
def test_an_unknown_device_is_refused_before_anything_is_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, CUDA, None)
    with pytest.raises(InputError) as caught:
        open_device(name)
    assert str(caught.value) == (
        f"--device {name}: unknown device; expected auto, cuda or cuda:N, as in cuda:1, "
        "simulated or simulated:GPU, as in simulated:a100"
    )


@pytest.mark.parametrize(("name", "number"), [("auto", 0), ("cuda", 0), ("cuda:0", 0), ("cuda:3", 3)])
def test_a_device_is_opened_by_its_number(name: str, number: int, cuda: ModuleType) -> None:
    assert open_device(name) == number


def test_without_cupy_it_is_said_what_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "cupy" or name.startswith(CUDA)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(NoDevice) as caught:
        open_device("cuda")
    first, rest = str(caught.value).split("\n\n")
    assert first.startswith("No CUDA device: CuPy cannot be imported (")
    assert rest == NO_DEVICE_ADVICE
    for command in ("compare", "report", "plan", "build", "list", "doctor"):
        assert f"kernelbench {command}" in rest
    assert all(len(line) <= 100 for line in rest.splitlines())


def test_without_a_gpu_the_runtimes_answer_is_shown(cuda: ModuleType) -> None:
    def none(number: int) -> None:
        raise NoDevice("the CUDA runtime answers 'cudaErrorNoDevice'.")

    cuda.CudaDevice = none  # type: ignore[attr-defined]
    with pytest.raises(NoDevice) as caught:
        open_device("cuda")
    assert str(caught.value) == f"No CUDA device: the CUDA runtime answers 'cudaErrorNoDevice'.\n\n{NO_DEVICE_ADVICE}"
    assert caught.value.exit_code == 2


def test_the_simulator_stands_in_for_a_gpu_that_is_not_here(cuda: ModuleType) -> None:
    def none(number: int) -> None:
        raise NoDevice("none")

    cuda.CudaDevice = none  # type: ignore[attr-defined]
    device = open_device("auto")
    assert isinstance(device, CountingDevice)
    assert device.name == "simulated (H200 properties)"
    assert device.properties is KNOWN["h200"]


def test_plans_see_the_gpu_that_is_named(cuda: ModuleType) -> None:
    device = open_device("simulated:A100")
    assert device.name == "simulated (A100 properties)"
    assert device.properties is KNOWN["a100"]
    with pytest.raises(InputError, match=r"--device simulated:k80: unknown GPU; expected one of v100, "):
        open_device("simulated:k80")
