"""Occupancy, held against what NVIDIA's occupancy calculator gives for its documented limits."""

import pytest

from kernelbench.core.errors import InputError
from kernelbench.devices.known import KNOWN, known_gpu

KB = 1024


@pytest.mark.parametrize(
    ("gpu", "threads", "registers", "shared", "blocks"),
    [
        # Limited by threads: 2048 a multiprocessor, but 1024 on sm_75 and 1536 on sm_89.
        ("h200", 256, 32, 0, 8),
        ("h200", 1024, 32, 0, 2),
        ("t4", 256, 32, 0, 4),
        ("l4", 512, 32, 0, 3),
        ("l4", 1024, 32, 0, 1),
        ("rtx3090", 1024, 32, 0, 1),
        ("rtx5090", 512, 32, 0, 3),
        ("b200", 1024, 32, 0, 2),
        # Limited by the number of blocks: 32, but 16 on sm_75 and sm_86, 24 on sm_89 and sm_120.
        ("h200", 32, 16, 0, 32),
        ("h200", 33, 16, 0, 32),
        ("t4", 32, 16, 0, 16),
        ("rtx3090", 32, 16, 0, 16),
        ("l4", 32, 16, 0, 24),
        ("rtx5090", 32, 16, 0, 24),
        # Limited by registers: 65536, given out to warps by 256 out of four equal parts.
        ("h200", 256, 64, 0, 4),
        ("h200", 256, 33, 0, 6),  # 33 and 40 take the same 1280 a warp: 12 warps a part, 48 together
        ("h200", 256, 40, 0, 6),
        ("h200", 256, 41, 0, 5),
        ("h200", 96, 40, 0, 16),
        ("h200", 128, 255, 0, 2),
        ("h200", 1024, 64, 0, 1),
        ("h200", 1024, 65, 0, 0),
        # Limited by shared memory; since sm_80 every block costs 1 KB more.
        ("h200", 128, 32, 48 * KB, 4),
        ("a100", 128, 32, 48 * KB, 3),
        ("v100", 128, 32, 48 * KB, 2),
        ("t4", 128, 32, 48 * KB, 1),
        ("h200", 128, 32, 113 * KB, 2),
        ("h200", 128, 32, 113 * KB + 1, 1),
        ("h200", 128, 32, 227 * KB, 1),
        ("v100", 32, 16, 3 * KB, 32),
        ("v100", 32, 16, 3 * KB + 1, 29),  # by 256 bytes: 13 units instead of 12
        ("a100", 32, 16, 4 * KB + 128, 32),  # by 128 bytes: 41 of 1312 units
        ("a100", 32, 16, 4 * KB + 129, 31),
        # What cannot run at all.
        ("h200", 1025, 16, 0, 0),
        ("h200", 128, 32, 227 * KB + 1, 0),
        ("v100", 128, 32, 97 * KB, 0),
    ],
)
def test_resident_blocks(gpu: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    assert KNOWN[gpu].resident_blocks(threads, registers, shared) == blocks


@pytest.mark.parametrize(
    ("gpu", "needs", "said"),
    [
        ("h200", (1024, 64, 0), ""),
        ("h200", (1024, 65, 0), "65 registers x 1,024 threads take 73,728 registers, over the 65,536 of a block"),
        ("h200", (1024, 127, 0), "127 registers x 1,024 threads take 131,072 registers, over the 65,536 of a block"),
        ("h200", (512, 128, 227 * KB), ""),
        # 64,000 of them, but each quarter of a multiprocessor holds 6 warps of them, and 25 warps are no 24.
        ("h200", (800, 80, 0), "80 registers x 800 threads take 71,680 registers, over the 65,536 of a block"),
        ("h200", (768, 80, 0), ""),
        ("h200", (1025, 16, 0), "1,025 threads are over the 1,024 of a block"),
        ("t4", (32, 16, 65537), "65,537 bytes of shared memory, static and dynamic, are over the 65,536 of a block"),
    ],
)  # fmt: skip
def test_a_block_that_fits_nowhere_is_refused_with_the_reason(gpu: str, needs: tuple[int, int, int], said: str) -> None:
    assert KNOWN[gpu].refusal(*needs) == said


@pytest.mark.parametrize("gpu", KNOWN)
def test_a_larger_need_never_fits_more_often(gpu: str) -> None:
    own = KNOWN[gpu]
    for threads in (32, 100, 128, 256, 512, 1024):
        by_shared = [own.resident_blocks(threads, 32, shared) for shared in range(0, own.shared_per_block_optin, 1000)]
        assert by_shared == sorted(by_shared, reverse=True)
        by_registers = [own.resident_blocks(threads, registers, 0) for registers in range(16, 256)]
        assert by_registers == sorted(by_registers, reverse=True)
        assert max(by_shared + by_registers) * threads <= own.max_threads_per_multiprocessor + 31 * 32


def test_gpus_are_named_in_any_case_and_unknown_ones_refused() -> None:
    assert known_gpu("H200") is KNOWN["h200"]
    assert known_gpu("a100").architecture == "sm_80"
    with pytest.raises(InputError) as caught:
        known_gpu("k80")
    assert str(caught.value) == f"--gpu k80: unknown GPU; expected one of {', '.join(KNOWN)}"


@pytest.mark.parametrize("gpu", KNOWN)
def test_the_known_gpus_are_in_the_right_units(gpu: str) -> None:
    own = KNOWN[gpu]
    assert 4 * 2**20 <= own.l2_bytes < own.memory_bytes < 200e9
    assert 300e9 <= own.peak_bytes_per_s <= 8e12
    assert 1.3e9 < own.max_clock_hz < 2.6e9
    assert own.shared_per_block == 48 * KB <= own.shared_per_block_optin <= own.shared_per_multiprocessor
    assert own.architecture == "sm_{}{}".format(*own.compute_capability)
