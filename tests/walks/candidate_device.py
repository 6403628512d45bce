"""A device for a worker's process: the candidates of `held`, of which one hangs."""

from tests.fake_gpu import FakeDevice, softmax
from tests.worker_devices import hangs


def device() -> FakeDevice:
    kernels = {f"held.block{block}_packs{packs}": (softmax, 50e-6, 5e-6) for block in (32, 64, 128) for packs in (1, 2)}
    kernels |= {"held": (softmax, 50e-6, 5e-6), "held.block64_packs2": (softmax, 40e-6, 5e-6)}
    return FakeDevice({**kernels, "held.block256_packs1": (hangs, 1e-6, 5e-6)})
