"""A made-up run of a made-up GPU, with everything that a report has to show."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.compare import CaseVerdict, ClaimVerdict, ComparedRow
from kernelbench.compare.verdicts import ClaimPart
from kernelbench.core.operations import key_words
from kernelbench.runs.results import Run, Store, read_run

IMPLEMENTATIONS = (
    "copy", "naive", "five_kernels", "four_kernels", "tree_modulo", "tree_strided", "tree_sequential",
    "tree_two_loads", "tree_unrolled", "tree_shuffle", "ft_v1", "ft_v2", "ft", "oneflow_warp", "oneflow_shared",
    "oneflow_shared_conflicted", "oneflow_uncached", "oneflow", "torch", "cupy",
)  # fmt: skip
SIZES = (16, 32, 64, 128, 512, 1024)
PUBLISHED = {16: 26.43 / 9.66, 32: 46.40 / 18.91, 64: 120.16 / 59.65, 128: 430.18 / 208.93, 512: 6090 / 3100}
CEILING, FLOOR = 1.8e12, 2.1e-6
HOSTILE = "<script>alert('row')</script>"


@dataclass(frozen=True)
class Example:
    """A run with what compare makes of it."""

    run: Run
    comparison: tuple[ComparedRow, ...]
    verdicts: tuple[ClaimVerdict, ...]


def key_of(size: int, dtype: str, batch: int) -> str:
    return f"batch={batch} seq={size} shape={batch}x64x{size}x{size} axis=-1 dtype={dtype}"


def case_rows(size: int, dtype: str, batch: int, rng: np.random.Generator) -> tuple[list[dict], list[tuple]]:
    """Rows and samples of one case: every implementation, cold and warm, by events and graph."""
    rows, samples = [], []
    bytes_moved = batch * 64 * size * size * 2 * (4 if dtype == "float32" else 2)
    for index, name in enumerate(IMPLEMENTATIONS):
        row = {
            "suite": "softmax", "case": key_of(size, dtype, batch), "operation": "softmax",
            "shape": f"{batch}x64x{size}x{size}", "axis": -1, "dtype": dtype, "axes": f"batch={batch} seq={size}",
            "implementation": name, "arithmetic": "accurate", "bytes_moved": bytes_moved, "seed": 7,
            "role": {"copy": "yardstick", "torch": "peer", "cupy": "peer"}.get(name, "kernel"),
        }  # fmt: skip
        if size > 1000 and name.startswith("ft"):
            rows.append(row | {"status": "unsupported", "reason": f"columns must be at most 1000, got {size}"})
            continue
        if size == 16 and name == "naive":
            reason = f"y[0, 17]: got nan, expected 0.0021 {HOSTILE}"
            rows.append(row | {"status": "wrong", "reason": reason, "check": "failed", "max_absolute_error": 0.25})
            continue
        if size == 32 and name == "cupy":
            rows.append(row | {"status": "failed", "reason": "launch failed: misaligned address"})
            continue
        row |= {
            "status": "ok", "check": "passed", "max_absolute_error": 1.2e-8, "max_relative_error": 3.4e-7,
            "relative_tolerance": 1.2e-5, "absolute_tolerance": 1e-38, "registers": 32 + index,
            "static_shared_bytes": 128, "spill_bytes": 8 if name == "four_kernels" else 0,
            "input_loads": "x=0" if name == "ft_v2" else "x=4", "binary": f"{index:08x}",
            "launches": f"softmax_{name}_f32<<<({batch * 64 * size},1,1), (128,1,1), {4 * size}>>>",
        }  # fmt: skip
        slower = 1.02 + 2.6 * abs(np.sin(3.0 * index)) * (0 if name in ("copy", "oneflow") else 1)
        base = bytes_moved / CEILING * slower
        for cache in ("cold", "warm"):
            for method in ("events", "graph"):
                median = base * (1.0 if cache == "cold" else 0.7) + (FLOOR if method == "events" else FLOOR / 3)
                taken = median * (1 + rng.gamma(2.0, 0.004, 60))
                low, high = np.sort(taken)[[22, 37]]
                median = float(np.median(taken))
                rows.append(
                    row
                    | {
                        "cache": cache, "method": method, "samples": 60, "median_s": median,
                        "low_s": float(low), "high_s": float(high), "min_s": float(taken.min()),
                        "p5_s": float(np.quantile(taken, 0.05)), "p95_s": float(np.quantile(taken, 0.95)),
                        "stopped": "precise", "bandwidth_bytes_per_s": bytes_moved / median,
                        "share_of_ceiling": bytes_moved / median / CEILING if cache == "cold" else None,
                        "floor_limited": "yes" if median < 3 * FLOOR else "", "sm_clock_hz": 1.98e9,
                        "power_w": 412.0, "temperature_c": 41.0, "throttle": "",
                    }
                )  # fmt: skip
                samples += [(row["case"], name, cache, method, n, f"{s:.6g}") for n, s in enumerate(taken)]
    return rows, samples


def environment() -> dict[str, Any]:
    return {
        "kernelbench": "0.1.0",
        "suite": "softmax",
        "title": "Softmax, FasterTransformer against OneFlow",
        "baseline": "ft",
        "claims": ["softmax-ft-oneflow", "block-size-occupancy", "smem-layout"],
        "started": "2025-03-01T10:00:00+00:00",
        "finished": "2025-03-01T10:00:27+00:00",
        "command": "kernelbench run softmax --cache cold,warm",
        "git_commit": "0123456789abcdef",
        "seed": 7,
        "device": {
            "name": "Fake GPU", "compute_capability": [9, 0], "multiprocessors": 100, "l2_bytes": 40_000_000,
            "memory_bytes": 64_000_000_000, "peak_bytes_per_s": 2.0e12, "driver": "580.00", "cuda_driver": "13.0",
            "sm_clock_max_hz": 1.98e9, "memory_clock_hz": 3.2e9,
        },
        "versions": {"cupy": "13.6.0", "numpy": "2.4.0", "nvcc": "13.0.88"},
        "flags": ["-O3", "-lineinfo"],
        "limits": {
            "floor_s": FLOOR, "graph_floor_s": FLOOR / 3, "dram_bytes_per_s": CEILING,
            "dram_copy": "16 bytes a thread, block 256", "l2_bytes_per_s": 5.2e12, "l2_copy": "16 bytes a thread",
        },
        "wall_s": 27.4,
        "builds": {"compiled": 12, "cached": 3, "seconds": 8.1},
        "implementations": {
            name: {
                "summary": f"{name}, as a made-up summary", "arithmetic": "accurate", "role": "kernel",
                "origin": {
                    "project": "NVIDIA/FasterTransformer" if name.startswith("ft") else "written here",
                    "url": "https://github.com/NVIDIA/FasterTransformer" if name.startswith("ft") else "",
                    "commit": "release/v1.0_tag" if name.startswith("ft") else "",
                    "differs": "mask made optional" if name.startswith("ft") else "",
                },
            }
            for name in IMPLEMENTATIONS
        },
    }  # fmt: skip


def cases_of(keys: list[str]) -> dict[str, dict[str, str]]:
    """The words of each case by its key."""
    return {key: key_words(key) for key in keys}


def compared(run: Run) -> tuple[ComparedRow, ...]:
    """The comparison against ft, in the simplest way that fills every column."""
    timed = [row for row in run.rows if row.status == "ok" and row.method == "events"]
    medians = {(row.case, row.cache, row.method, row.implementation): row.median_s for row in timed}
    lines = []
    for row in timed:
        base = medians.get((row.case, row.cache, row.method, "ft"))
        size = int(row.axes.split("=")[-1])
        published = PUBLISHED.get(size) if row.implementation == "oneflow" and row.cache == "cold" else None
        ratio = base / row.median_s if base else None
        lines.append(ComparedRow(
            suite=row.suite, case=row.case, cache=row.cache, method=row.method,
            implementation=row.implementation, baseline="ft", median_s=row.median_s, baseline_s=base,
            speedup=ratio, speedup_low=ratio and 0.99 * ratio, speedup_high=ratio and 1.01 * ratio,
            verdict="" if ratio is None else "FASTER" if ratio > 1.01 else "SLOWER" if ratio < 0.99 else "SAME",
            share_of_ceiling=row.share_of_ceiling, published_speedup=published,
            published_device="A100-PCIE-40GB" if published else "",
            published_share=0.28 if published else None,
            claim="softmax-ft-oneflow" if published else "",
            reason="" if base else "ft: columns must be at most 1000, got 1024",
        ))  # fmt: skip
    return tuple(lines)


def verdicts_of(run: Run) -> tuple[ClaimVerdict, ...]:
    cases = [key for key in dict.fromkeys(row.case for row in run.rows) if "float32" in key]
    first = tuple(
        CaseVerdict(
            key,
            "",
            2.1,
            f"2.1x measured, {ratio:.2f}x published",
            direction=True,
            size=True,
            published=ratio,
            interval=(2.0, 2.2),
            required=(1.6, 2.5),
        )
        for key, ratio in zip(cases, PUBLISHED.values(), strict=False)
    )
    second = tuple(
        CaseVerdict(key, "", 1.02, "block 256 chosen", size=key != cases[0], required=(0, 1.05)) for key in cases[:3]
    )
    faster = ClaimPart("OneFlow is faster", "stated", f"faster {HOSTILE}", "yes")
    return (
        ClaimVerdict(
            "softmax-ft-oneflow", "OneFlow softmax against FasterTransformer softmax", "holds",
            "OneFlow is faster than FasterTransformer at every size, 1.9x to 2.3x.", first, faster,
            ClaimPart("2 times (1.60 to 2.50)", "set here", "a round number", "yes"),
        ),
        ClaimVerdict(
            "block-size-occupancy", "The largest block with the same number of resident blocks", "holds in part",
            "The chosen block is fastest or within 2 % of it in 2 of 3 cases; at seq=16 block 128 is 4 % faster.",
            second, None, ClaimPart("at most 1.05 times", "set here", "a reason", "in part"),
        ),
        ClaimVerdict(
            "smem-layout", f"Bank conflicts {HOSTILE}", "not decided",
            "No case of this run reaches the shared-memory regime.", (),
        ),
    )  # fmt: skip


@pytest.fixture(scope="session")
def make_example(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Example]:
    """make_example(dtypes, batches): 6 sizes for each dtype and batch."""

    def make(dtypes: tuple[str, ...] = ("float32",), batches: tuple[int, ...] = (32,)) -> Example:
        folder: Path = tmp_path_factory.mktemp("runs") / "made-up"
        store, rng = Store(folder), np.random.default_rng(3)
        for dtype in dtypes:
            for batch in batches:
                for size in SIZES:
                    store.append(*case_rows(size, dtype, batch, rng))
        store.write_environment(environment())
        run = read_run(folder)
        return Example(run, compared(run), verdicts_of(run))

    return make


@pytest.fixture(scope="session")
def example(make_example: Callable[..., Example]) -> Example:
    return make_example()


@pytest.fixture(scope="session")
def synthetic_run(example: Example) -> Run:
    """6 cases, 20 implementations, cold and warm, events and graph, with a wrong, a failed and unsupported rows."""
    return example.run
