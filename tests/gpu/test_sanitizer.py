"""Every kernel under compute-sanitizer's four tools: nothing found in kernels, and what is planted found.

With KERNELBENCH_RECORD=FOLDER the outcome is kept as FOLDER/sanitizer.json.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core import places
from kernelbench.core.records import Case
from kernelbench.devices.known import KNOWN
from kernelbench.measure.binaries import build_plans
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.planning.case_plans import CasePlan, plan_case
from tests.catalog import catalog
from tests.gpu import sanitizer, sanitizer_script
from tests.gpu.conftest import Silent
from tests.gpu.techniques import signature, techniques

SCRIPT = Path(sanitizer_script.__file__)
H200 = KNOWN["h200"].architecture
KERNELS_S, FAULTS_S = 240.0, 120.0  # the longest that a process of each kind may take
# What finds each specimen: one of the tools, or verification on random input.
CAUGHT_BY = {
    "ft_as_published": "verification",
    "four_kernels_as_published": "verification",
    **dict.fromkeys(sanitizer_script.RACES, "racecheck"),
}
VERIFIED = Case("softmax", (2, 3, 34, 34), -1, "float32")


@cache
def planned() -> tuple[Any, ...]:
    """What is launched of the kernels on an H200."""
    return tuple(sanitizer_script.kernels(KNOWN["h200"]))


def specimens() -> set[str]:
    known = catalog(specimens=True).implementations.values()
    return {name for named in known for name, one in named.items() if one.role == "specimen"}


def test_every_specimen_has_who_finds_it() -> None:
    assert specimens() == set(CAUGHT_BY)


def test_every_kernel_and_every_technique_is_launched() -> None:
    known = catalog().implementations
    expected = {(operation, name) for operation, named in known.items() for name, one in named.items() if one.plan}
    jobs = planned()
    assert {(job.case.operation, job.implementation.name) for job in jobs} == expected
    own = techniques(KNOWN["h200"], ("float32", "float16"))
    assert own
    assert {signature(one.plan) for one in own} <= {signature(job.plan) for job in jobs}


@pytest.mark.parametrize("tool", sanitizer.TOOLS)
def test_every_tool_has_what_it_must_find(tool: str) -> None:
    names = [job.implementation.name for job in sanitizer_script.faults(tool, KNOWN["h200"])]
    assert names[-1] == sanitizer_script.PLANTED[tool]
    assert set(names[:-1]) == (set(sanitizer_script.RACES) if tool == "racecheck" else set())


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("name", "shape", "has"),
    [("one_read_axis", (1, 4096, 17), True), ("one_read_axis", (1, 50000, 2), False), ("paddle", (40, 96), False)],
)
def test_launches_with_mailboxes_are_told_apart(name: str, shape: tuple[int, ...], has: bool) -> None:
    jobs = [job for job in planned() if job.case.operation == "log_softmax"]
    job = next(job for job in jobs if (job.implementation.name, job.case.shape) == (name, shape))
    binary = sanitizer_script.built([job], H200)[job.request(H200)]
    assert sanitizer_script.has_mailboxes(job, binary) == has


def test_synccheck_left_out_few_cases() -> None:
    found = json.loads((places.RECORDED / "h200" / "sanitizer.json").read_text())["tools"]
    assert {tool for tool, row in found.items() if row["left_out"]} == {"synccheck"}
    assert found["synccheck"]["left_out"] < 0.03 * found["memcheck"]["cases"]


@pytest.fixture
def program(compiler: Any) -> Path:
    found = sanitizer.find(compiler.path)
    if found is None:
        pytest.skip("compute-sanitizer is not installed")
    return found


@pytest.mark.gpu
@pytest.mark.nvcc
@pytest.mark.timeout(600)
def test_kernels_are_clean_and_faults_are_found(
    device: Any, compiler: Any, program: Path, catalog: Any, tmp_path: Path
) -> None:
    everything = [
        job for what in ("kernels", *sanitizer.TOOLS) for job in sanitizer_script.jobs(what, device.properties)
    ]
    sanitizer_script.built(everything, device.properties.architecture)  # so that those processes find it compiled
    try:
        known = compiler.path, device.properties.architecture
        mailboxes = device.properties.max_cluster < 16 or runs_mailboxes(*known, program, tmp_path)
        reports = all_reports(program, tmp_path, mailboxes=mailboxes)
    except sanitizer.Refused as refused:
        pytest.skip(f"compute-sanitizer: {refused}")
    caught = verified(device, compiler, catalog)
    for tool in sanitizer.TOOLS:
        found = reports[tool, tool].names({*CAUGHT_BY, *sanitizer_script.PLANTED.values()})
        caught |= dict.fromkeys(found, tool)
    outcome = {
        "environment": environment(device, compiler, program),
        "tools": {
            tool: {
                "errors": reports["kernels", tool].errors,
                "warnings": reports["kernels", tool].warnings,
                **json.loads((tmp_path / f"kernels-{tool}.json").read_text()),
                "seconds": round(reports["kernels", tool].seconds, 1),
            }
            for tool in sanitizer.TOOLS
        },
        "caught": dict(sorted(caught.items())),
    }
    print(json.dumps(outcome, indent=1))
    if folder := os.environ.get("KERNELBENCH_RECORD"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "sanitizer.json").write_text(json.dumps(outcome, indent=1) + "\n")
    dirty = [f"{tool}:\n{reports['kernels', tool].text[:6000]}" for tool in sanitizer.TOOLS
             if not reports["kernels", tool].clean]  # fmt: skip
    assert not dirty, "\n\n".join(dirty)
    expected = CAUGHT_BY | {name: tool for tool, name in sanitizer_script.PLANTED.items()}
    said = "\n\n".join(
        f"{tool}:\n{reports[tool, tool].text[:3000]}\n{reports[tool, tool].said}" for tool in sanitizer.TOOLS
    )
    assert caught == expected, said


def runs_mailboxes(nvcc: Path, architecture: str, program: Path, folder: Path) -> bool:
    """Whether synccheck can run mailboxes.cu, which is correct."""
    made = folder / "mailboxes"
    subprocess.run([nvcc, f"-arch={architecture}", SCRIPT.with_name("mailboxes.cu"), "-o", made], check=True)
    assert sanitizer.run(program, "memcheck", [str(made)], folder / "mailboxes-memcheck.log", FAULTS_S).clean
    try:
        return sanitizer.run(program, "synccheck", [str(made)], folder / "mailboxes-synccheck.log", FAULTS_S).clean
    except sanitizer.NoSummary as ended:
        if "illegal memory access" not in str(ended):
            raise
        return False


def all_reports(program: Path, folder: Path, *, mailboxes: bool) -> dict[tuple[str, str], sanitizer.Report]:
    """By what was launched and by tool: the kernels under each, and what that tool must find under it. `mailboxes`:
    whether synccheck can run those of large clusters."""
    pairs = [("kernels", tool) for tool in sanitizer.TOOLS] + [(tool, tool) for tool in sanitizer.TOOLS]

    def one(pair: tuple[str, str]) -> sanitizer.Report:
        what, tool = pair
        command = [sys.executable, str(SCRIPT), what, str(folder / f"{what}-{tool}.json")]
        if pair == ("kernels", "synccheck") and not mailboxes:
            command.append(sanitizer_script.WITHOUT_MAILBOXES)
        timeout_s = KERNELS_S if what == "kernels" else FAULTS_S
        return sanitizer.run(program, tool, command, folder / f"{what}-{tool}.log", timeout_s, what == "kernels")

    with ThreadPoolExecutor(len(pairs)) as pool:
        return dict(zip(pairs, pool.map(one, pairs), strict=True))


def verified(device: Any, compiler: Any, catalog: Any) -> dict[str, str]:
    """The specimens that verification on random input rejects."""
    operation, known = catalog.operations["softmax"], catalog.implementations["softmax"]
    chosen = [known[name] for name, finder in CAUGHT_BY.items() if finder == "verification"]
    plan = CasePlan(VERIFIED, tuple(plan_case(VERIFIED, operation, one, device.properties) for one in chosen))
    (ready,), _ = build_plans([plan], compiler, device.properties.architecture, Silent())
    results = CaseRun(device, operation, ready).run(Settings(seed=1))
    return {one.implementation.name: "verification" for one in results if one.status == "wrong"}


def environment(device: Any, compiler: Any, program: Path) -> dict[str, Any]:
    said = device.environment()
    return {
        "compute_sanitizer": sanitizer.version(program),
        "gpu": said["name"],
        "compute_capability": said["compute_capability"],
        "driver": said.get("driver", ""),
        "cuda_driver": said["cuda_driver"],
        "nvcc": compiler.version,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
