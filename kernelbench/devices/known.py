"""Properties of GPUs that `--gpu` accepts without the GPU: for plans, occupancy and bounds."""

from typing import NamedTuple

from kernelbench.core.errors import InputError
from kernelbench.core.records import DeviceProperties

MB, GB = 2**20, 10**9


class _Capability(NamedTuple):
    """Properties of all GPUs of a compute capability; shared memory in KB."""

    threads: int  # resident per multiprocessor
    blocks: int
    shared: int
    optin: int  # per block that opts in


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_CAPABILITIES = {
    (7, 0): _Capability(2048, 32, 96, 96),
    (7, 5): _Capability(1024, 16, 64, 64),
    (8, 0): _Capability(2048, 32, 164, 163),
    (8, 6): _Capability(1536, 16, 100, 99),
    (8, 9): _Capability(1536, 24, 100, 99),
    (9, 0): _Capability(2048, 32, 228, 227),
    (10, 0): _Capability(2048, 32, 228, 227),
    (12, 0): _Capability(1536, 24, 100, 99),
}


def _gpu(
    name: str, capability: tuple[int, int], sms: int, l2: float, memory: int, peak: float, clock: float
) -> DeviceProperties:
    limits = _CAPABILITIES[capability]
    return DeviceProperties(
        name=name,
        compute_capability=capability,
        multiprocessors=sms,
        l2_bytes=int(l2 * MB),
        memory_bytes=memory * GB,
        peak_bytes_per_s=peak * 1e9,
        max_threads_per_multiprocessor=limits.threads,
        max_blocks_per_multiprocessor=limits.blocks,
        registers_per_multiprocessor=65536,
        shared_per_multiprocessor=limits.shared * 1024,
        shared_per_block=48 * 1024,
        shared_per_block_optin=limits.optin * 1024,
        shared_reserved_per_block=1024 if capability >= (8, 0) else 0,
        max_clock_hz=clock * 1e6,
    )


# Name as the driver says it, compute capability, multiprocessors, L2 (MB), memory (GB), peak bandwidth (GB/s),
# highest clock of the multiprocessors (MHz). If a source gives two figures the higher one is here, so that bounds made
# from it stay bounds. The sources are NVIDIA's, unless said otherwise.
KNOWN = {
    # Tesla V100 architecture whitepaper (WP-08608-001), table 1; data sheet of the V100 for the PCIe card.
    "v100": _gpu("Tesla V100-SXM2-16GB", (7, 0), 80, 6, 16, 900, 1530),
    "v100-pcie": _gpu("Tesla V100-PCIE-16GB", (7, 0), 80, 6, 16, 900, 1380),
    # Turing architecture whitepaper (WP-09183-001), appendices A (RTX 2080 Ti) and B (T4).
    "t4": _gpu("Tesla T4", (7, 5), 40, 4, 16, 320, 1590),
    "rtx2080ti": _gpu("NVIDIA GeForce RTX 2080 Ti", (7, 5), 68, 5.5, 11, 616, 1635),
    # A100 architecture whitepaper, table 5, and data sheet of the A100: 40 and 80 GB, PCIe and SXM.
    "a100": _gpu("NVIDIA A100-PCIE-40GB", (8, 0), 108, 40, 40, 1555, 1410),
    "a100-80": _gpu("NVIDIA A100 80GB PCIe", (8, 0), 108, 40, 80, 1935, 1410),
    "a100-sxm": _gpu("NVIDIA A100-SXM4-40GB", (8, 0), 108, 40, 40, 1555, 1410),
    "a100-sxm-80": _gpu("NVIDIA A100-SXM4-80GB", (8, 0), 108, 40, 80, 2039, 1410),
    # Data sheets of the A30, A10 and A40; GA102 architecture whitepaper, tables 2 (RTX 3090) and 10 (A40, A6000).
    "a30": _gpu("NVIDIA A30", (8, 0), 56, 24, 24, 933, 1440),
    "a10": _gpu("NVIDIA A10", (8, 6), 72, 6, 24, 600, 1695),
    "a40": _gpu("NVIDIA A40", (8, 6), 84, 6, 48, 696, 1740),
    "rtxa6000": _gpu("NVIDIA RTX A6000", (8, 6), 84, 6, 48, 768, 1860),
    "rtx3090": _gpu("NVIDIA GeForce RTX 3090", (8, 6), 82, 6, 24, 936, 1695),
    # Ada architecture whitepaper, appendix A (RTX 4090); product briefs of the L4 and the L40S.
    "l4": _gpu("NVIDIA L4", (8, 9), 58, 48, 24, 300, 2040),
    "l40s": _gpu("NVIDIA L40S", (8, 9), 142, 96, 48, 864, 2520),
    "rtx4090": _gpu("NVIDIA GeForce RTX 4090", (8, 9), 128, 72, 24, 1008, 2520),
    # H100 architecture whitepaper, table 3; clocks of nvidia-smi. The H200: its own properties as CUDA gives them.
    "h100": _gpu("NVIDIA H100 80GB HBM3", (9, 0), 132, 50, 80, 3352, 1980),
    "h100-pcie": _gpu("NVIDIA H100 PCIe", (9, 0), 114, 50, 80, 2039, 1755),
    "h200": _gpu("NVIDIA H200", (9, 0), 132, 60, 141, 4814, 1980),
    # Data sheet of the DGX B200 (an eighth of it); multiprocessors, L2 and clock as users' device queries show them.
    "b200": _gpu("NVIDIA B200", (10, 0), 148, 126, 180, 8000, 1965),
    # RTX Blackwell architecture whitepaper, appendix A.
    "rtx5090": _gpu("NVIDIA GeForce RTX 5090", (12, 0), 170, 96, 32, 1792, 2407),
}


def gpu_of_run(device: str) -> DeviceProperties:
    """The known GPU of a run, or the one whose properties the simulator showed to plans; else an H200."""
    named = (gpu for key, gpu in KNOWN.items() if device in (gpu.name, f"simulated ({key.upper()} properties)"))
    return next(named, KNOWN["h200"])


def known_gpu_key(device: str) -> str:
    """The name under which `--gpu` knows a device; that of an H200 for an unknown one."""
    return next((key for key, gpu in KNOWN.items() if gpu.name == device), "h200")


def known_gpu(name: str) -> DeviceProperties:
    """The properties of a known GPU; InputError lists their names."""
    if name.lower() not in KNOWN:
        raise InputError(f"--gpu {name}: unknown GPU; expected one of {', '.join(KNOWN)}")
    return KNOWN[name.lower()]
