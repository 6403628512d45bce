"""Which GPUs a fleet has: names, numbers, UUIDs, and what a worker says of its own."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kernelbench.core.errors import InputError, NoDevice
from kernelbench.fleet.gpus import (
    GPU_VARIABLE,
    FleetGpu,
    _model,
    fleet_gpu_from_mapping,
    named_gpus,
    told_apart,
    worker_gpu,
)

UUIDS = ("GPU-aaaa", "GPU-bbbb", "GPU-cccc")


class NoDriver(Exception):
    pass


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML as it lists three H200s."""
    nvml = SimpleNamespace(
        NVMLError=NoDriver,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: len(UUIDS),
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetName=lambda handle: b"NVIDIA H200",
        nvmlDeviceGetUUID=lambda handle: UUIDS[handle],
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv(GPU_VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("all", ["h200-0", "h200-1", "h200-2"]),
        ("0,2", ["h200-0", "h200-2"]),
        ("1", ["h200-1"]),
        ("GPU-cccc", ["h200-2"]),
    ],
)
@pytest.mark.usefixtures("three")
def test_real_gpus_are_named_by_number_or_uuid(text: str, labels: list[str]) -> None:
    found = named_gpus(text)
    assert [gpu.label for gpu in found] == labels
    assert {(gpu.kind, gpu.device, gpu.simulated) for gpu in found} == {("NVIDIA H200", "cuda", False)}
    assert [gpu.worker_environment["CUDA_VISIBLE_DEVICES"] for gpu in found] == [gpu.resource for gpu in found]
    assert {gpu.resource for gpu in found} <= set(UUIDS)


@pytest.mark.parametrize("visible", ["2,0", "GPU-aaaa,GPU-cccc"])
@pytest.mark.usefixtures("three")
def test_all_are_those_that_a_scheduler_left_to_this_job(visible: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [gpu.resource for gpu in named_gpus("all")] == ["GPU-aaaa", "GPU-cccc"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with pytest.raises(NoDevice, match="leaves none of 3 GPUs"):
        named_gpus("all")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3", "there is no GPU 3 here; NVML has 0 \\(GPU-aaaa\\)"),
        ("0,GPU-aaaa", "names GPU-aaaa more than once"),
        ("0,simulated:a100", "do not belong in one fleet"),
        (" , ", "names nothing"),
        ("simulated:a101", "unknown GPU"),
    ],
)
@pytest.mark.usefixtures("three")
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        named_gpus(text)


def test_simulated_gpus_of_one_kind_have_labels_of_their_own() -> None:
    found = named_gpus("simulated:a100,simulated:a100,simulated")
    assert [gpu.label for gpu in found] == ["a100", "a100-2", "h200"]
    assert [gpu.device for gpu in found] == ["simulated:a100", "simulated:a100", "simulated:h200"]
    assert len({gpu.resource for gpu in found}) == 3
    assert "CUDA_VISIBLE_DEVICES" not in found[0].worker_environment


def test_a_worker_knows_its_gpu(three: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker_gpu() is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-bbbb")  # a plain Dask worker
    assert worker_gpu() == named_gpus("1")[0]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aaaa,GPU-bbbb")
    assert worker_gpu() is None, "which of the two?"
    mine = named_gpus("simulated:t4")[0]
    monkeypatch.setenv(GPU_VARIABLE, mine.worker_environment[GPU_VARIABLE])
    assert worker_gpu() == mine


def test_gpus_of_several_hosts_are_told_apart_and_never_offered_twice() -> None:
    one = FleetGpu("h200-0", "NVIDIA H200", "cuda", "GPU-aaaa", "Node 1")
    other = replace(one, resource="GPU-bbbb", host="node2")
    assert [gpu.label for gpu in told_apart([other, one])] == ["node-1-h200-0", "node2-h200-0"]
    assert told_apart([one]) == (one,)
    with pytest.raises(InputError, match="2 workers offer the same GPU, GPU-aaaa"):
        told_apart([one, replace(one, host="node2")])


@pytest.mark.parametrize("label", ["../../etc", "a/b", "", "A B", ".", "x" * 200])
def test_a_label_is_the_name_of_a_folder(label: str) -> None:
    values = {"kind": "k", "device": "cuda", "resource": "r", "host": "h"}
    with pytest.raises(InputError, match="calls its GPU"):
        fleet_gpu_from_mapping({**values, "label": label})
    with pytest.raises(InputError, match="not a GPU as this version of kernelbench describes it"):
        fleet_gpu_from_mapping(values)


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA RTX A6000", "a6000"),
        ("Tesla T4", "t4"),
        ("NVIDIA TITAN V", "titan-v"),
    ],
)
def test_a_label_is_the_model_alone(kind: str, label: str) -> None:
    assert _model(kind) == label
