"""Synthetic runs with known times, written and read as real ones are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from kernelbench.compare import ClaimVerdict, judge_claims, read_ledger
from kernelbench.core import dtypes, places
from kernelbench.core.records import Case, Claim
from kernelbench.runs.results import Run, Store, read_run
from kernelbench.runs.samples import Sample

SAMPLES = 25


@dataclass
class RunBuilder:
    """Collects rows and writes them through `results.Store`."""

    folder: Path
    suite: str = "softmax"
    claims: Sequence[str] = ()
    l2_bytes: int = 60_000_000
    simulated: bool = False
    resolution_s: float = 1e-9
    floor_s: float = 0.0  # of an empty kernel
    rows: list[dict[str, Any]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def case(self, *shape: int, axis: int = -1, dtype: str = "float32", axes: Mapping[str, int] | None = None) -> Case:
        return Case("softmax", shape, axis, dtype, tuple((axes or {}).items()))

    def time(
        self,
        case: Case,
        name: str,
        median_us: float,
        spread: float = 0.001,
        cache: str = "cold",
        method: str = "graph",
        raw: bool = True,
    ) -> None:
        """Samples evenly spread over median * (1 +- spread), in an order of each row's own; the same for the same
        arguments."""
        offsets = [spread * (2 * i / (SAMPLES - 1) - 1) for i in range(SAMPLES)]
        taken = [median_us * 1e-6 * (1 + offset) for offset in offsets]
        moved = 2 * prod(case.shape) * dtypes.itemsize(case.dtype)
        self.rows.append(
            self._row(case, name, "ok", "")
            | {"cache": cache, "method": method, "median_s": median_us * 1e-6, "samples": SAMPLES}
            | {"low_s": taken[7], "high_s": taken[17], "bytes_moved": moved, "share_of_ceiling": 0.5}
            | {"floor_limited": "yes" if median_us * 1e-6 < 3 * self.floor_s else ""}
        )
        if raw:
            order = np.random.default_rng(crc32(f"{case.key} {name} {cache} {method}".encode())).permutation(SAMPLES)
            self.samples += [
                (case.key, name, cache, method, i, repr(float(taken[place]))) for i, place in enumerate(order)
            ]

    def count(self, case: Case, name: str, **counters: int) -> None:
        """A row of the simulator, which has no times."""
        row = self._row(case, name, "ok", "not timed: simulated") | {"lanes_per_instruction": 32.0}
        self.rows.append(row | {"bytes_moved": 8 * prod(case.shape), "warp_instructions": 1} | counters)

    def refuse(self, case: Case, name: str, status: str, reason: str, role: str = "kernel") -> None:
        self.rows.append(self._row(case, name, status, reason) | {"role": role})

    def _row(self, case: Case, name: str, status: str, reason: str) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "case": case.key,
            "operation": case.operation,
            "shape": "x".join(map(str, case.shape)),
            "axis": case.axis,
            "dtype": case.dtype,
            "axes": " ".join(f"{name}={value}" for name, value in case.axes),
            "implementation": name,
            "role": "kernel",
            "status": status,
            "reason": reason,
        }

    def write(self) -> Run:
        store = Store(self.folder)
        store.append(self.rows, self.samples)
        device: dict[str, Any] = {"name": "Test GPU", "l2_bytes": self.l2_bytes, "resolution_s": self.resolution_s}
        if self.simulated:
            device |= {"name": "simulated (H200 properties)", "simulator": {"threads": 2}}
        store.write_environment({"suite": self.suite, "claims": list(self.claims), "device": device})
        return read_run(self.folder)


@pytest.fixture
def build(tmp_path: Path) -> RunBuilder:
    return RunBuilder(tmp_path / "run")


@pytest.fixture
def published_case(build: RunBuilder) -> Callable[[int], Case]:
    """A case of the published table: (32, 64, s, s) in float32."""
    return lambda seq: build.case(32, 64, seq, seq, axes={"seq": seq})


@pytest.fixture(scope="session")
def ledger():
    return read_ledger(places.LEDGER)


def claim_of(kind: str, operation: str = "softmax", figures: Sequence[Mapping[str, Any]] = (), **keys: Any) -> Claim:
    """A claim with a direction and no size unless `keys` say otherwise; its id is `claimed`."""
    claim = {"kind": kind, "suites": ["softmax"], "direction": {"stated": "it is"}, **keys}
    document = {
        "id": "claimed",
        "title": "A claim",
        "operation": operation,
        "device": {"name": "V100", "stated": True},
        "flags": [],
        "figures": list(figures),
        "claim": {name: value for name, value in claim.items() if value is not None},
    }
    return Claim("claimed", "A claim", kind, ("softmax",), document)


def judged(build: RunBuilder, claim: Claim) -> ClaimVerdict:
    """The verdict on a synthetic claim."""
    (found,) = judge_claims(build.write(), {claim.id: claim}, [claim.id])
    assert found.sentence.endswith(".")
    assert "\n" not in found.sentence
    return found
