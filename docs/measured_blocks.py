"""Parts of docs/measuring.md, reliability.md and simulator.md: what tests recorded; '' while nothing is recorded."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SIMULATOR = ROOT / "results" / "h200" / "simulator"  # what a GPU counted, see tests/gpu/ncu_agreement.py
SPEED = ROOT / "docs" / "recorded" / "simulator_speed.json"  # from tests/simt/benchmark.py
NVBENCH = ROOT / "results" / "h200" / "nvbench.json"  # kept by tests/gpu/test_nvbench.py
WALL = NVBENCH.with_name("nvbench_wall.json")  # from the same call
LONG_S = 20e-6
CHEAT = "cheat: "  # what the title of such a fault begins with
UNTOLD = {  # reasons of the simulator that refuse nothing
    "not timed: simulated": "runs once, and is right in it",
    "there is no PTX of it to run": "a library call, which has no PTX",
}
FAULTS = ROOT / "results" / "reliability"  # from tests/reliability/record.py
SELF_TEST = NVBENCH.with_name("self_test.json")  # from tests/gpu/self_test_figures.py
SANITIZER = ROOT / "results" / "h200" / "sanitizer.json"  # kept by tests/gpu/test_sanitizer.py


def agreement_block() -> str:
    """Ten kernels by NVBench and by our own timer."""
    if not NVBENCH.is_file():
        return ""
    lines = ["| kernel | shape | NVBench, cold | kernelbench, cold | difference |", "|---|---|--:|--:|--:|"]
    for row in json.loads(NVBENCH.read_text(encoding="utf-8")):
        theirs, ours = row["nvbench_s"], row["ours_s"]
        long = theirs >= LONG_S
        apart = f"{_signed((ours / theirs - 1) * 100)} %" if long else f"{_signed((ours - theirs) * 1e6)} µs"
        shape = "x".join(map(str, row["shape"]))
        lines.append(f"| {row['implementation']} | {shape} | {theirs * 1e6:.2f} | {ours * 1e6:.2f} | {apart} |")
    return "\n".join(lines)


def _signed(number: float) -> str:
    """`+0.12`, `-0.12` or `0.00`: what is rounded to zero has no sign."""
    return f"{rounded:+.2f}" if (rounded := round(number, 2)) else "0.00"


def wall_block() -> str:
    """How long NVBench, as it comes, and the rounds of a case took for the same kernels, and how far they are apart."""
    if not WALL.is_file():
        return ""
    rows = json.loads(WALL.read_text(encoding="utf-8"))
    theirs, ours = (sum(row[f"{who}_wall_s"] for row in rows) for who in ("nvbench", "ours"))
    apart = max(abs(row["ours_s"] / row["nvbench_s"] - 1) for row in rows)
    return (
        f"Each by its own stop rule, and with kernelbench's verification: NVBench took {theirs:.1f} s for these "
        f"{len(rows)} kernels, kernelbench {ours:.1f} s. Their medians are at most {100 * apart:.1f} % apart."
    )


def self_test_block() -> str:
    """How often rows were told from themselves, and planted slowdowns found."""
    if not SELF_TEST.is_file():
        return ""
    found = json.loads(SELF_TEST.read_text(encoding="utf-8"))
    lines = [
        f"On an {found['device']['name']}, driver {found['device']['driver']}:",
        "",
        "| | rows | false verdicts | undecided | median drift | seconds |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    tests = [(f"self-test {number}", one) for number, one in enumerate(found["self_tests"], start=1)]
    for name, one in [*tests, ("beside another process", found["beside_another_process"])]:
        cells = (
            one["rows"],
            one["false_verdicts"],
            one["unsure"],
            f"{100 * one['drift']:.2f} %",
            f"{one['wall_s']:.0f}",
        )
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    for one in (row for _, test in tests for row in test["false_rows"]):
        lines += ["", f"The false verdict: {one}."]
    lines += ["", "| planted slowdown | rows from 20 µs up | found | median that was measured |", "|---|--:|--:|--:|"]
    for name, one in (("1 %", found["planted"]["one_per_cent"]), ("2 %", found["planted"]["two_per_cent"])):
        lines.append(f"| {name} | {one['rows']} | {100 * one['found']:.0f} % | {100 * one['median_slowdown']:.2f} % |")
    after = found["before_and_after"]
    told = f"{len(after['slower'])} of {after['slowed_rows']} slowed rows were named, and `--fail-on` gave exit code"
    return "\n".join([*lines, "", f"As two runs, before and after a slowdown of 2 %, {told} {after['exit_code']}."])


def sanitizer_block() -> str:
    """What each tool of compute-sanitizer said of all kernels, and who caught what is known to be wrong."""
    if not SANITIZER.is_file():
        return ""
    found = json.loads(SANITIZER.read_text(encoding="utf-8"))
    state = found["environment"]
    lines = [
        f"On an {state['gpu']}, driver {state['driver']}, "
        f"compute-sanitizer {state['compute_sanitizer']}, {state['date']}:",
        "",
        "| tool | kernels | launches | errors | warnings | finds |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for tool, row in found["tools"].items():
        caught = ", ".join(f"`{name}`" for name, by in found["caught"].items() if by == tool)
        launches = row["launches"] + row["calls_of_host_code"]
        lines.append(
            f"| {tool} | {row['implementations']} | {launches} | {row['errors']} | {row['warnings']} | {caught} |"
        )
    rest = ", ".join(f"`{name}`" for name, by in found["caught"].items() if by == "verification")
    return "\n".join([*lines, "", f"Verification finds {rest}."])


def hardware_block() -> str:
    """What the simulator counts against what Nsight Compute counted: equal figures by metric, then every difference."""
    if not (SIMULATOR / "agreement.csv.gz").is_file():
        return ""
    texts = (gzip.decompress((SIMULATOR / f"{name}.csv.gz").read_bytes()) for name in ("agreement", "outputs"))
    rows, outputs = (list(csv.DictReader(text.decode().splitlines())) for text in texts)
    state = json.loads((SIMULATOR / "environment.json").read_text())
    kernels = {(row["entry"], row["grid"], row["block"], row["trial"]) for row in rows}
    lines = [
        f"On an {state['gpu']}, driver {state['driver']}, Nsight Compute {state['ncu']}, nvcc {state['nvcc']}, "
        f"{state['date']}: {sum(row['equal'] == 'True' for row in rows)} of {len(rows)} figures are equal, of "
        f"{len(kernels)} pairs of a kernel and a shape.",
        "",
        "| metric | launches | equal |",
        "|---|--:|--:|",
    ]
    for metric in dict.fromkeys(row["metric"] for row in rows):
        own = [row["equal"] == "True" for row in rows if row["metric"] == metric]
        lines.append(f"| {metric} | {len(own)} | {sum(own)} |")
    lines += ["", *_differences([row for row in rows if row["equal"] != "True"])]
    exact = [row for row in outputs if row["allowed_ulps"] == "0"]
    equal = sum(row["different"] == "0" for row in exact)
    others = max(int(row["largest_ulps"]) for row in outputs if row not in exact)
    lines.append(
        f"{equal} of {len(exact)} outputs that must be bit-equal are. The other {len(outputs) - len(exact)}, with "
        f"exponentials and the like, differ by {others} units in the last place at most."
    )
    return "\n".join(lines)


def _differences(rows: Sequence[Mapping[str, str]]) -> list[str]:
    if not rows:
        return ["None differs.", ""]
    lines = ["| what differs | launches | metric | hardware | simulator | why |", "|---|--:|---|--:|--:|---|"]
    columns = ("metric", "hardware", "simulator", "note")
    alike = Counter((row["trial"], *(row[name] for name in columns)) for row in rows)
    lines += [f"| {trial} | {launches} | {' | '.join(rest)} |" for (trial, *rest), launches in alike.items()]
    return [*lines, ""]


def speed_block() -> str:
    """The speed that tests/simt/benchmark.py recorded."""
    if not SPEED.is_file():
        return ""
    found = json.loads(SPEED.read_text())
    lines = ["| kernel | warp instructions | 1 thread | 2 threads |", "|---|--:|--:|--:|"]
    for row in found["rows"]:
        times = [f"{row['seconds'][threads]:.2f} s" for threads in ("1", "2")]
        lines.append(f"| {row['kernel']} | {row['warp_instructions'] / 1e6:.1f} M | {' | '.join(times)} |")
    lines += ["", f"All counters on, the best of {found['repeats']} runs, on {found['cpu']}, {found['cpus']} CPUs."]
    return "\n".join(lines)


def faults_block() -> str:
    """What the user sees of each fault, and what is left of the rows, wherever it was played."""
    recorded = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FAULTS.glob("*.json"))]
    if not recorded:
        return ""
    faults = [(one, found["gpu"]) for found in recorded for one in found["faults"] if CHEAT not in one["fault"]]
    lines = ["| fault | what the user sees | exit code | kept | lost | on |", "|---|---|--:|--:|--:|---|"]
    for title in dict.fromkeys(one["fault"] for one, _ in faults):
        for number, (one, gpu) in enumerate((one, gpu) for one, gpu in faults if one["fault"] == title):
            lines.append(f"| {'' if number else title} | {_outcome_cells(one)} | {gpu or one['on']} |")
    lost = sum(one.get("lost", 0) for one, _ in faults)
    dates = " and ".join(dict.fromkeys(found["date"] for found in recorded))
    return "\n".join([f"{len(faults)} faults played on {dates}: {lost} finished rows lost.", "", *lines])


def cheats_block() -> str:
    """What refused each way to cheat, on the simulator and on a GPU."""
    recorded = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FAULTS.glob("*.json"))]
    found = [(one, part["gpu"]) for part in recorded for one in part["faults"] if CHEAT in one["fault"]]
    gpus = sorted({gpu for _, gpu in found if gpu})
    lines = [f"| cheat | on the simulator | {f'on an {gpus[0]}' if gpus else 'on a GPU'} |", "|---|---|---|"]
    for title in dict.fromkeys(one["fault"] for one, _ in found):
        seen = {bool(gpu): _refusal(one) for one, gpu in found if one["fault"] == title}
        lines.append(f"| {title.removeprefix(CHEAT)} | {seen.get(False, '')} | {seen.get(True, '')} |")
    lost = sum(one.get("lost", 0) for one, _ in found)
    titles = {one["fault"] for one, _ in found}
    said = f"{len(titles)} ways to cheat were tried. Honest kernels beside them that lost a time: {lost}."
    return "\n".join([said, "", *lines]) if found else ""


def _refusal(one: Mapping[str, Any]) -> str:
    if "failed" in one:
        return "does not hold"
    for words, text in UNTOLD.items():
        if words in one["seen"]:
            return text
    return f"`{one['seen'].replace('|', chr(92) + '|')}`"


def _outcome_cells(one: Mapping[str, Any]) -> str:
    if "failed" in one:
        return "does not hold | | |"
    code = one["exit_code"] if one["exit_code"] >= 0 else f"{128 - one['exit_code']}"
    seen = one["seen"].replace("|", "\\|").replace("`", "'")
    seen = seen if seen.startswith("nothing") else f"`{seen}`"
    return f"{seen} | {code} | {one['kept']} | {one['lost']}"
