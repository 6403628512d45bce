"""A device that counts in the place of the GPU, and a run of one suite."""

import pytest

from kernelbench import devices
from tests.conftest import Project
from tests.fake_gpu import softmax
from tests.fake_simulator import FakeSimulator

KERNEL = (softmax, 0.0, 0.0)


@pytest.fixture
def simulator(project: Project, monkeypatch: pytest.MonkeyPatch) -> FakeSimulator:
    device = FakeSimulator(dict.fromkeys(("good", "other", "third", "compiled"), KERNEL))
    device.kernels["zeros"] = (lambda arrays: arrays["y"].fill(0), 0.0, 0.0)
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    return device
