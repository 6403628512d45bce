"""Each published explanation on the simulator: every statement is decided on a small case, by the right count."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernelbench.cli.progress import ConsoleProgress
from kernelbench.compare import read_ledger
from kernelbench.core import places
from kernelbench.explain import evidence
from kernelbench.explain.evidence import Evidence
from kernelbench.walks.explain import explain
from kernelbench.walks.request import Request

pytestmark = pytest.mark.nvcc

LEDGER = read_ledger(places.LEDGER)
EXPLAINED = sorted(claim.id for claim in LEDGER.values() if evidence.claim_statements(claim))
HALF = "float16"


@dataclass(frozen=True)
class Small:
    """A case on which an entry's statements are visible. `counts`: of each statement's left side; None where it
    depends on how a compiler orders its code. `contradicted`: which statements are, by number."""

    shape: tuple[int | str, ...]
    counts: tuple[float | None, ...]
    axis: int = -1
    dtype: str = "float32"
    parameters: tuple[dict[str, Any], ...] = ({},)  # a case each
    contradicted: tuple[int, ...] = ()
    axes: dict[str, list[int]] = field(default_factory=dict)


def each(name: str, *values: int, **more: Any) -> tuple[dict[str, Any], ...]:
    return tuple({name: value, **more} for value in values)


SMALL = {
    "access-offset": Small((65536,), (4, 5, 4), parameters=each("offset", 0, 1, 8, side="load", stride=1)),
    "access-stride": Small((65536,), (4, 8, 32), parameters=each("stride", 1, 2, 32, side="load", offset=0)),
    "access-stride-store": Small((65536,), (4, 8), parameters=each("stride", 1, 2, side="store", offset=0)),
    "bias-add-shapes": Small((512, 96), (None,)),
    "bitset-schemes": Small((65536,), (8, 1, 1, 72 * 256, 17 * 256)),
    "block-size-occupancy": Small((64, 8192), (6,)),
    "branch-access": Small((64, 256), (3 * 512,)),
    "copy-vector-width": Small((65536,), (2 * 1024, 2 * 512)),
    "div-mod-code": Small((64, 256), (None,), contradicted=(0,)),  # nvcc makes the product itself
    "dropout-add-fusion": Small((65536,), (5.25 / 3.25, 1)),
    "effective-bandwidth": Small((65536,), (1,)),
    "ft-dispatch": Small((2, 2, 64, 64), (4 * 64, None)),
    "grid-waves": Small((67108864,), (32,)),
    "index-width-code": Small((64, 256), (None,)),
    "latency-hiding": Small((262144,), (10, 128), parameters=each("warps", 10, chain=0)),
    "latency-hiding-arithmetic": Small((65536,), (16,), parameters=each("warps", 16, chain=1024)),
    "local-array-index": Small((64, 256), (2 * 4 * 64 * 256, 0)),
    "local-array-index-8": Small((64, 256), (2 * 4 * 64 * 256, 0)),
    "mul-debug-build": Small((65536,), (None, 8), dtype=HALF, parameters=({"debug": True},)),
    "mul-half-element-by-element": Small((65536,), (3 * 8 * 256, 8), dtype=HALF, parameters=({"debug": False},)),
    "mul-half-element-index": Small((65536,), (None,), dtype=HALF, parameters=({"debug": False},)),
    "mul-half-kernels": Small((65536,), (3 * 256,), dtype=HALF, parameters=({"debug": False},)),
    "mul-half-same-code": Small((65536,), (None, None), dtype=HALF, parameters=({"debug": False},)),
    "oneflow-regimes": Small((64, 1024), (0, 1, 3)),
    "paddle-grid-sweep": Small((512, 512, 4, 12), (132, 512, None), axis=1),
    "paddle-three-reads": Small((16, 128, 64), (3, 2), axis=1),
    "random-mask-pack": Small((65536,), (2048, 4), dtype="int8"),
    "read-order": Small((64, 256), (6 * 256,)),
    "reduce-tree": Small((65536,), (3,)),
    "reduce-tree-counters": Small((65536,), (None, 10 / 3, 1, None, 2, 8)),
    "reduce-tree-two-loads": Small((65536,), (128, None)),
    "relu-grad-bitset": Small((65536,), (3 / 2.03125, 1)),
    "relu-naive-packed": Small((65536,), (2 * 512,)),
    "smem-layout": Small((64, 1024), (None, 1, 2)),
    "softmax-four-kernels": Small((64, 64), (4,)),
    "softmax-ft-oneflow": Small((2, 2, 64, 64), (0,)),
    # Eight times D, not seven, as the entry says.
    "softmax-fusion": Small((256, 256), (1, 4), contradicted=(1,)),
    "softmax-fusion-range": Small((256, "columns"), (None,), axes={"columns": [8]}),
    "transpose-widen": Small((4, 32, 3, 64), (None, 2 * 4 * 32 * 3 * 64 / 4 / 32), dtype=HALF,
                             parameters=({"permutation": "0213"},)),
    "uncached-block-size": Small((64, 4096), (2,)),
    "uncached-cache-hits": Small((64, 1024), (3, 1)),
}  # fmt: skip

QUICK = ("reduce-tree", "softmax-ft-oneflow", "transpose-widen")


def explained(claim: str, folder: Path) -> dict[str, list[Evidence]]:
    """What each statement's cases say, where it is visible, in the order of the ledger."""
    small, entry = SMALL[claim], LEDGER[claim]
    said = evidence.claim_statements(entry)
    names = sorted({name for one in said for name in one.names})
    suite = folder / "small.yaml"
    cases = [
        {"shape": list(small.shape), "axis": small.axis, "parameters": one, "axes": small.axes}
        for one in small.parameters
    ]
    text = {"title": "a published explanation", "operation": entry.document["operation"], "dtype": small.dtype}
    suite.write_text(json.dumps({**text, "cases": cases, "implementations": names, "baseline": names[0]}))
    found: dict[str, list[Evidence]] = {one.says: [] for one in said}
    for one in explain(Request((str(suite),)), "h200", ConsoleProgress()):
        for piece in one.evidence:
            if piece.statement.claim == claim and piece.decision != "not visible here":
                found[piece.statement.says].append(piece)
    return found


def test_all_are_here() -> None:
    assert sorted(SMALL) == EXPLAINED


@pytest.mark.parametrize(
    "claim", [name if name in QUICK else pytest.param(name, marks=pytest.mark.exhaustive) for name in SMALL]
)
def test_counts_decide_every_statement(claim: str, tmp_path: Path) -> None:
    small = SMALL[claim]
    found = explained(claim, tmp_path)
    assert len(found) == len(small.counts)
    for number, (says, own) in enumerate(found.items()):
        decisions = {one.decision for one in own}
        assert decisions == {"contradicted" if number in small.contradicted else "confirmed"}, (says, own)
        wanted = small.counts[number]
        if wanted is not None:
            assert [one.left for one in own] == [pytest.approx(wanted, rel=0.02)] * len(own), says
