"""The GPUs of a fleet: those of this host by NVML, simulated ones by name, and the one that a worker has."""

from __future__ import annotations

import json
import os
import re
import socket
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kernelbench.core.errors import InputError, NoDevice

GPU_VARIABLE = "KERNELBENCH_FLEET_GPU"  # the Gpu of a worker, as JSON
_SIMULATED = "simulated"
_LABEL = re.compile(r"[a-z0-9][a-z0-9.-]{0,80}")


@dataclass(frozen=True)
class FleetGpu:
    """A GPU that measures, or a simulated one that counts. Only GPUs of the same `kind` may share cases."""

    label: str  # unique in a fleet; the name of its folder: "h200-0", "a100"
    kind: str  # as the driver names it
    device: str  # what `kernelbench run --device` is told
    resource: str  # what its worker offers, and no other worker: the UUID, or the simulated one's label and host
    host: str

    def __post_init__(self) -> None:
        if not _LABEL.fullmatch(self.label):
            raise InputError(f"a worker calls its GPU {self.label!r:.80}; expected letters, digits, dots and dashes")

    @property
    def simulated(self) -> bool:
        return self.device.startswith(_SIMULATED)

    @property
    def worker_environment(self) -> dict[str, str]:
        """Variables of the worker's process: it sees this GPU alone."""
        visible = {} if self.simulated else {"CUDA_VISIBLE_DEVICES": self.resource}
        return {GPU_VARIABLE: json.dumps(asdict(self)), **visible}


def named_gpus(text: str) -> tuple[FleetGpu, ...]:
    """The GPUs of `--gpus`: `all`, numbers as nvidia-smi shows them, UUIDs, or `simulated:a100,simulated:h200`.

    InputError for a name that is unknown or given twice; NoDevice where GPUs are asked for and NVML has none.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"--gpus '{text}': names nothing; expected all, 0,1 or simulated:a100,simulated:h200")
    simulated = [name for name in names if name.startswith(_SIMULATED)]
    if simulated and len(simulated) < len(names):
        raise InputError(f"--gpus {text}: GPUs that are timed and simulated ones do not belong in one fleet")
    found = _simulated(simulated) if simulated else _real(names, text)
    if twice := [name for name, count in Counter(gpu.resource for gpu in found).items() if count > 1]:
        raise InputError(f"--gpus {text}: names {twice[0]} more than once")
    return tuple(found)


def worker_gpu() -> FleetGpu | None:
    """The GPU of this worker: as `kernelbench worker` set it, or of a plain Dask worker the only visible one."""
    if text := os.environ.get(GPU_VARIABLE):
        return fleet_gpu_from_mapping(json.loads(text))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if len(visible) != 1 or not visible[0]:
        return None
    try:
        return replace(_real(visible, visible[0])[0], resource=visible[0])
    except (InputError, NoDevice):
        return None


def fleet_gpu_from_mapping(values: Mapping[str, Any]) -> FleetGpu:
    """The record of a mapping, which may be another host's; InputError if it is none."""
    try:
        return FleetGpu(**{name: str(value) for name, value in values.items()})
    except TypeError as error:
        raise InputError(f"not a GPU as this version of kernelbench describes it: {error}") from error


def told_apart(gpus: Iterable[FleetGpu]) -> tuple[FleetGpu, ...]:
    """GPUs of several hosts, with the host in the label if there is more than one; in the order of their labels.

    InputError if two workers offer the same GPU.
    """
    found = list(gpus)
    for resource, count in Counter(gpu.resource for gpu in found).items():
        if count > 1:
            raise InputError(f"{count} workers offer the same GPU, {resource}; end all of them but one")
    if len({gpu.host for gpu in found}) > 1:
        found = [replace(gpu, label=f"{_slug(gpu.host)}-{gpu.label}") for gpu in found]
    return tuple(sorted(found, key=lambda gpu: gpu.label))


def _simulated(names: Sequence[str]) -> list[FleetGpu]:
    from kernelbench import devices
    from kernelbench.devices.known import KNOWN

    host, seen = socket.gethostname(), Counter[str]()
    found = []
    for name in names:
        key = (name.partition(":")[2] or devices.SIMULATED_GPU).lower()
        if key not in KNOWN:
            raise InputError(f"--gpus {name}: unknown GPU; expected simulated: and one of {', '.join(KNOWN)}")
        seen[key] += 1
        label = key if seen[key] == 1 else f"{key}-{seen[key]}"
        kind = f"simulated ({key.upper()} properties)"
        found.append(FleetGpu(label, kind, f"{_SIMULATED}:{key}", f"{label}@{host}", host))
    return found


def _real(names: Sequence[str], text: str) -> list[FleetGpu]:
    there = _on_this_host()
    if names == ["all"]:
        return _visible(there)
    by_name = {name: gpu for number, gpu in enumerate(there) for name in (str(number), gpu.resource)}
    for name in names:
        if name not in by_name:
            known = ", ".join(f"{number} ({gpu.resource})" for number, gpu in enumerate(there))
            raise InputError(f"--gpus {text}: there is no GPU {name} here; NVML has {known}")
    return [by_name[name] for name in names]


def _visible(there: Sequence[FleetGpu]) -> list[FleetGpu]:
    """Those that CUDA_VISIBLE_DEVICES leaves: a scheduler such as Slurm sets it for a job."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return list(there)
    names = [name.strip() for name in allowed.split(",")]
    found = [gpu for number, gpu in enumerate(there) if str(number) in names or gpu.resource in names]
    if not found:
        raise NoDevice(f"--gpus all: CUDA_VISIBLE_DEVICES is '{allowed}', which leaves none of {len(there)} GPUs")
    return found


def _on_this_host() -> list[FleetGpu]:
    """All GPUs that NVML lists, in its order; it opens no CUDA context."""
    import pynvml

    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(pynvml.nvmlDeviceGetCount())]
        seen = [(_text(pynvml.nvmlDeviceGetName(one)), _text(pynvml.nvmlDeviceGetUUID(one))) for one in handles]
    except pynvml.NVMLError as error:
        raise NoDevice(
            f"--gpus: NVML finds no GPU here ({error}); without one name simulated GPUs: "
            "--gpus simulated:a100,simulated:h200"
        ) from error
    if not seen:
        raise NoDevice("--gpus: NVML lists no GPU here")
    host = socket.gethostname()
    return [FleetGpu(f"{_model(kind)}-{number}", kind, "cuda", uuid, host) for number, (kind, uuid) in enumerate(seen)]


def _model(kind: str) -> str:
    """`h100` of NVIDIA H100 80GB HBM3, `rtx-4090` of NVIDIA GeForce RTX 4090: the first word with a digit."""
    words = _slug(kind.removeprefix("NVIDIA ")).split("-")
    for number, word in enumerate(words):
        if any(map(str.isdigit, word)):
            return "-".join(words[max(0, number - 1) : number + 1]) if word.isdigit() else word
    return "-".join(words)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "gpu"
