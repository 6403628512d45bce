"""The figures of README and of the claims' pages, computed again from raw samples without any code of the package."""

import gzip
import re
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pandas
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs" / "claims"
SIDES = {  # by kind: the numerator of the measured ratio of times, and its denominator
    "faster": ("slower", "faster"),
    "not_faster": ("than", "suspect"),
    "bandwidth_share": ("reads_once", "reads_thrice"),
    "proportion": ("unfused", "fused"),
}


@cache
def medians(suite: str) -> dict[tuple[str, str, str], float]:
    """Cold median by case, implementation and method."""
    with gzip.open(ROOT / "results" / "h200" / suite / "samples.csv.gz", "rt") as file:
        table = pandas.read_csv(file)
    groups = table[table.cache == "cold"].groupby(["case", "implementation", "method"])["seconds"]
    return {key: median(map(float, " ".join(lines).split())) for key, lines in groups}


def ratio(suite: str, case: str, above: str, below: str) -> float:
    """By graphs where both sides have them, else by events."""
    found = medians(suite)
    method = "graph" if {(case, above, "graph"), (case, below, "graph")} <= set(found) else "events"
    return found[case, above, method] / found[case, below, method]


def sides_of(claim: dict[str, Any]) -> tuple[str, ...]:
    """The implementations that a claim of these kinds is about."""
    return tuple(claim.get("order") or claim.get("names") or (claim[name] for name in SIDES[claim["kind"]]))


def measured_of(claim: dict[str, Any], suite: str, case: str) -> float:
    """The ratio of two sides, of the first and the last in an order, or of the slowest and the fastest of a level."""
    names = sides_of(claim)
    if claim["kind"] != "level":
        return ratio(suite, case, names[0], names[-1])
    found = medians(suite)
    method = "graph" if all((case, name, "graph") in found for name in names) else "events"
    times = [found[case, name, method] for name in names]
    return max(times) / min(times)


def cases(suite: str, label: str, names: tuple[str, ...]) -> set[str]:
    """Cases that a label may stand for: `seq=16 float32` has these words in its key, of axes, shape or dtype."""
    timed = medians(suite)
    both = set.intersection(*({case for case, name, _ in timed if name == one} for one in names))
    words = [word if "=" in word else {f"shape={word}", f"dtype={word}"} for word in label.split()]
    return {
        case
        for case in both
        if all(bool({*case.split()} & ({word} if isinstance(word, str) else word)) for word in words)
    }


def is_rounded(text: str, value: float) -> bool:
    """Whether a text with its digits is that number, give or take half of its last digit."""
    digits = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5001 * 10**-digits


def test_the_speedups_of_readme() -> None:
    lines = re.findall(r"^\| \((32, 64, \d+, \d+)\) \|.*?\*\*([\d.]+)x\*\*", (ROOT / "README.md").read_text(), re.M)
    assert len(lines) == 6
    for shape, speedup in lines:
        case = next(case for case, _, _ in medians("softmax") if f"shape={shape.replace(', ', 'x')} " in case)
        assert is_rounded(speedup, ratio("softmax", case, "ft", "oneflow")), shape


def compared() -> list[str]:
    entries = (yaml.safe_load(path.read_text()) for path in sorted((ROOT / "results" / "published").glob("*.yaml")))
    return [
        entry["id"]
        for entry in entries
        if entry.get("claim", {}).get("kind") in (*SIDES, "order", "level") and list(PAGES.glob(f"{entry['id']}-*.svg"))
    ]


@pytest.mark.parametrize("id_", compared())
def test_the_cases_of_a_claims_page(id_: str) -> None:
    claim = yaml.safe_load((ROOT / "results" / "published" / f"{id_}.yaml").read_text())["claim"]
    seen = 0
    for part in (PAGES / f"{id_}.md").read_text().split("## What came out: ")[1:]:
        suite = part.splitlines()[0]
        for label, measured in re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", part, re.M):
            own = cases(suite, label, sides_of(claim))
            assert any(is_rounded(measured, measured_of(claim, suite, case)) for case in own), (suite, label)
            seen += 1
    assert seen
