"""A verdict depends on what is required: twice or half the number, or the other direction, changes it."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from kernelbench.compare import judge_claims
from kernelbench.compare.answer import judge_run
from kernelbench.compare.counted_runs import counts_of
from kernelbench.compare.ledger import read_ledger
from kernelbench.compare.ledger_schema import KINDS
from kernelbench.core import places
from kernelbench.core.records import Claim
from kernelbench.runs.folders import RECORDED_GPU, RECORDED_SIMULATOR, is_run
from kernelbench.runs.results import Run, read_run

OPPOSITE = {"more": "less", "less": "more", "at_most": "more", "times": "less"}
SWAPPED = (("faster", "slower"), ("suspect", "than"), ("longer", "shorter"), ("unfused", "fused"))


def numbers(size: Mapping[str, Any], times: float) -> dict[str, Any]:
    """The size with its number that many times as large; of `within`, the limit that it sets."""
    changed = deepcopy(dict(size))
    if "within" in size:
        changed["within"] = times * (1 + size["within"]) - 1
    if "share" in size:
        changed["share"] = times * size["share"]
    if "bands" in size:
        changed["bands"] = {point: [times * low, times * high] for point, (low, high) in size["bands"].items()}
    if "factor" in size and size["factor"] != "figures":
        changed["factor"] = [times * end for end in size["factor"]] if isinstance(size["factor"], list) else (
            times * size["factor"]
        )  # fmt: skip
    for launch in changed.get("launches", ()):
        launch["block"] = [max(1, int(times * launch["block"][0])), *launch["block"][1:]]
    return changed


def directions(claim: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The claim the other way round."""
    for one, other in SWAPPED:
        if one in claim and other in claim:
            yield {one: claim[other], other: claim[one]}
    if "order" in claim:
        yield {"order": claim["order"][::-1]}
        yield {"order": claim["order"][:2]}
    if claim["kind"] == "specimen":
        yield {"specimens": [claim["correct"]], "correct": claim["specimens"][0]}
    if claim["kind"] == "same_code":
        yield {"names": [*claim["names"], "element_index"]}
    if claim.get("trend") in ("falls", "rises"):
        yield {"trend": {"falls": "rises", "rises": "falls"}[claim["trend"]]}


def mutants(claim: Claim) -> Iterator[Claim]:
    document = deepcopy(dict(claim.document))
    own = document["claim"]
    if "size" in own and own["size"].get("factor") != "figures":
        yield from (changed(claim, {"size": numbers(own["size"], times)}) for times in (2, 0.5))
    if own.get("size", {}).get("factor") == "figures":
        for times in (2, 0.5):
            figures = deepcopy(document["figures"])
            for row in figures:
                for unit in ("us", "ms"):
                    first = next(iter(row.get(unit, {})), None)
                    if first is not None:
                        row[unit][first] *= times
            yield replace(claim, document={**document, "figures": figures})
    if claim.kind == "step":
        yield changed(claim, {"size": {"factor": 3, "set": "twice of what was found"}})
    yield from (changed(claim, keys) for keys in directions(own))
    if claim.kind == "explanation":
        turned = [{**one, "relation": OPPOSITE[one["relation"]]} for one in document["explanation"]]
        yield replace(claim, document={**document, "explanation": turned})


def changed(claim: Claim, keys: Mapping[str, Any]) -> Claim:
    return replace(claim, document={**claim.document, "claim": {**claim.document["claim"], **keys}})


@cache
def recorded(suite: str) -> tuple[Run, Any] | None:
    folder = places.RECORDED / RECORDED_GPU / suite
    if not is_run(folder):
        return None
    run = read_run(folder)
    return run, counts_of(run)[0]


def verdict(claim: Claim) -> str | None:
    found = recorded(claim.suites[0])
    if found is None:
        return None
    run, counted = found
    (one,) = judge_claims(run, {claim.id: claim}, [claim.id], counted)
    return one.verdict


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_mutant_of_some_claim_of_each_kind_has_another_verdict(kind: str) -> None:
    claims = [claim for claim in read_ledger(places.LEDGER).values() if claim.kind == kind]
    flipped = 0
    for claim in claims:
        before = verdict(claim)
        if before not in (None, "not decided"):
            flipped += sum(verdict(one) != before for one in mutants(claim))
    assert flipped, f"no verdict on a claim of kind {kind} depends on what it requires"


def test_a_stated_factor_of_two_is_not_four() -> None:
    """By name, where the audit found that the factor was printed and ignored."""
    claim = read_ledger(places.LEDGER)["bias-add-shapes"]
    assert verdict(claim) == "direction only"
    nearer = {"size": {**claim.document["claim"]["size"], "factor": 1.1}}
    assert verdict(changed(claim, nearer)) == "holds"
    assert verdict(changed(claim, {"size": numbers(nearer["size"], 2)})) == "direction only"


@pytest.mark.parametrize("gpu", [RECORDED_GPU, RECORDED_SIMULATOR])
def test_nothing_is_decided_where_every_row_failed(gpu: str) -> None:
    decided = {}
    for folder in filter(is_run, sorted((places.RECORDED / gpu).iterdir())):
        run = read_run(folder)
        nothing = {"median_s": None, "counters": None, "registers": None, "launch_texts": ()}
        rows = [replace(row, status="failed", **nothing) for row in run.rows]
        found = judge_run(replace(run, rows=tuple(rows))).verdicts
        decided |= {(run.suite, one.id): one.sentence for one in found if one.verdict != "not decided"}
    assert decided == {}
