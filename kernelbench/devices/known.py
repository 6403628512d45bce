"""GPUs that `kernelbench plan --gpu` knows without having one.

Limits by compute capability: CUDA C++ Programming Guide, table "Technical Specifications per Compute
Capability". Multiprocessors, L2, memory and bandwidth: NVIDIA's architecture whitepapers and data
sheets of each card; of the H200, its own properties as CUDA reports them.
"""

from __future__ import annotations

from kernelbench.errors import InputError
from kernelbench.records import DeviceProperties

MB, GB = 2**20, 10**9


def _gpu(
    name: str, capability: tuple[int, int], sms: int, l2: int, memory: int, peak: float, threads: int, blocks: int,
    shared: int, optin: int,
) -> DeviceProperties:  # fmt: skip
    return DeviceProperties(
        name=name,
        compute_capability=capability,
        multiprocessors=sms,
        l2_bytes=l2,
        memory_bytes=memory,
        peak_bytes_per_s=peak,
        max_threads_per_multiprocessor=threads,
        max_blocks_per_multiprocessor=blocks,
        registers_per_multiprocessor=65536,
        shared_per_multiprocessor=shared * 1024,
        shared_per_block=48 * 1024,
        shared_per_block_optin=optin * 1024,
        shared_reserved_per_block=1024 if capability >= (8, 0) else 0,
    )


# name, capability, multiprocessors, L2, memory, peak bandwidth; a multiprocessor's threads, blocks and
# shared memory in KB; shared memory of a block that opts in, in KB
KNOWN = {
    "v100": _gpu("Tesla V100-SXM2-16GB", (7, 0), 80, 6 * MB, 16 * GB, 900e9, 2048, 32, 96, 96),
    "t4": _gpu("Tesla T4", (7, 5), 40, 4 * MB, 16 * GB, 320e9, 1024, 16, 64, 64),
    "a100": _gpu("NVIDIA A100-PCIE-40GB", (8, 0), 108, 40 * MB, 40 * GB, 1555e9, 2048, 32, 164, 163),
    "l4": _gpu("NVIDIA L4", (8, 9), 58, 48 * MB, 24 * GB, 300e9, 1536, 24, 100, 99),
    "h100": _gpu("NVIDIA H100 80GB HBM3", (9, 0), 132, 50 * MB, 80 * GB, 3352e9, 2048, 32, 228, 227),
    "h200": _gpu("NVIDIA H200", (9, 0), 132, 60 * MB, 141 * GB, 4814e9, 2048, 32, 228, 227),
}


def known_gpu(name: str) -> DeviceProperties:
    """The properties of a GPU of the table; InputError lists the names there are."""
    if name.lower() not in KNOWN:
        raise InputError(f"--gpu {name}: unknown GPU; expected one of {', '.join(KNOWN)}")
    return KNOWN[name.lower()]
