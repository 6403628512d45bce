"""The places of a case's arrays in memory."""

from collections.abc import Sequence

from kernelbench.core.contracts import LARGE_SCRATCH_BYTES, Device
from kernelbench.core.errors import DeviceError, DeviceLost
from kernelbench.core.records import Arrays, Case, Operation
from kernelbench.measure.case_data import ARRAYS_FOR_LIBRARIES, CaseData

# The addresses of its arrays change a kernel's time by 5 % and more. Rounds cycle through this many placements, so
# that the median does not depend on one of them.
PLACEMENTS = 32
PLACEMENT_SHARE = 0.6  # of the free memory, for further placements


def filled_arrays(device: Device, operation: Operation, case: Case, seed: int) -> Arrays:
    """A new set of the case's arrays with its inputs filled."""
    specs = operation.filled(case)
    arrays = device.allocate(specs)
    device.fill(arrays, specs, seed)
    return arrays


def place_case(data: CaseData, seed: int, scratch: int) -> None:
    """Give the case up to PLACEMENTS placements, with new contents. `scratch`: bytes that each needs besides."""
    data.seed = seed
    data.inputs(data.placements[0]).fill(seed)
    own_scratch = scratch if scratch <= LARGE_SCRATCH_BYTES else 0
    nbytes, free = sum(spec.nbytes for spec in data.specs), data.device.free_bytes()
    room = min(int(PLACEMENT_SHARE * free), free - ARRAYS_FOR_LIBRARIES * nbytes)
    for _ in range(min(PLACEMENTS - 1, room // (nbytes + own_scratch))):
        try:
            data.placements.append(_copied(data))
        except DeviceLost:
            raise
        except DeviceError:
            break  # the free memory is fragmented: use fewer placements
    data.placements[:] = mixed(data.placements, [spec.name for spec in data.specs if spec.role == "output"])


def _copied(data: CaseData) -> Arrays:
    """A new set of the case's arrays with the same inputs."""
    arrays = data.device.allocate(data.specs)
    for spec in data.specs:
        if spec.role == "input":
            arrays[spec.name][...] = data.placements[0][spec.name]
    return arrays


def mixed(sets: Sequence[Arrays], outputs: Sequence[str]) -> list[Arrays]:
    """Up to PLACEMENTS placements from fewer sets of arrays: the inputs of each set with the outputs of each set,
    beginning with those of the same set."""
    count = len(sets)
    pairs = [(first, (first + step) % count) for step in range(count) for first in range(count)]
    return [{**sets[first], **{name: sets[other][name] for name in outputs}} for first, other in pairs[:PLACEMENTS]]
