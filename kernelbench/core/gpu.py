"""The properties of a GPU that plans see, and the occupancy calculation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceProperties:
    """The properties of a GPU that plans see. Sizes are in bytes, rates in bytes per second."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    peak_bytes_per_s: float  # memory clock times bus width, both edges
    max_threads_per_multiprocessor: int
    max_blocks_per_multiprocessor: int
    registers_per_multiprocessor: int
    shared_per_multiprocessor: int
    shared_per_block: int  # without opting in: 48 KB on every GPU so far
    shared_per_block_optin: int
    shared_reserved_per_block: int  # taken by the driver for each resident block: 1 KB since sm_80
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_threads_per_block: int = 1024
    warp_size: int = 32
    max_clock_hz: float = 0.0  # boost clock of the multiprocessors; 0 if unknown
    schedulers_per_multiprocessor: int = 4  # each issues at most one warp instruction per clock (sm_70 and later)

    @property
    def architecture(self) -> str:
        """As nvcc names it: `sm_90`."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"

    @property
    def max_cluster(self) -> int:
        """Most blocks per cluster: 8 on every GPU with clusters, 16 where a launch may ask for more; 1 without
        clusters."""
        if self.compute_capability < (9, 0):
            return 1
        return 16 if self.compute_capability < (12, 0) else 8

    def resident_blocks(self, threads: int, registers: int, shared_bytes: int) -> int:
        """Blocks that fit on one multiprocessor at once; 0 if not even one does.

        `registers`: per thread, as ptxas reports them; `shared_bytes`: per block, static plus dynamic. The rules are
        those of NVIDIA's occupancy calculator for sm_70 and later: registers are allocated in units of 256 per warp,
        shared memory in units of 128 bytes (sm_80 on) or 256.
        """
        warps = -(-threads // self.warp_size)
        if threads > self.max_threads_per_block or shared_bytes > self.shared_per_block_optin:
            return 0
        by_warps = self.max_threads_per_multiprocessor // self.warp_size // warps
        registers_per_warp = self._registers_per_warp(registers)
        # Each of a multiprocessor's four partitions gives registers to whole warps of its own.
        warps_by_registers = 4 * (self.registers_per_multiprocessor // 4 // max(registers_per_warp, 1))
        unit = 128 if self.compute_capability >= (8, 0) else 256
        shared = -(-(shared_bytes + self.shared_reserved_per_block) // unit) * unit
        by_shared = self.shared_per_multiprocessor // shared if shared else self.max_blocks_per_multiprocessor
        return min(self.max_blocks_per_multiprocessor, by_warps, warps_by_registers // warps, by_shared)

    def refusal(self, threads: int, registers: int, shared_bytes: int) -> str:
        """Why the driver refuses to launch a block with the arguments of `resident_blocks`; '' if one fits."""
        if self.resident_blocks(threads, registers, shared_bytes):
            return ""
        if threads > self.max_threads_per_block:
            return f"{threads:,} threads are over the {self.max_threads_per_block:,} of a block"
        if shared_bytes > self.shared_per_block_optin:
            limit = self.shared_per_block_optin
            return f"{shared_bytes:,} bytes of shared memory, static and dynamic, are over the {limit:,} of a block"
        warps = -(-threads // self.warp_size // 4) * 4  # equally many in each of the four partitions
        taken = warps * self._registers_per_warp(registers)
        room = self.registers_per_multiprocessor
        return f"{registers} registers x {threads:,} threads take {taken:,} registers, over the {room:,} of a block"

    def _registers_per_warp(self, registers: int) -> int:
        return -(-registers * self.warp_size // 256) * 256
