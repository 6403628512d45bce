"""What else differs between two runs: GPU, driver, versions, seed, machine code. It is said, not judged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernelbench.core.libraries import PEER_PACKAGES
from kernelbench.core.units import number_of
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

Code = tuple[tuple[str, int], ...]  # hash and number of instructions, launch by launch

# Packages that most peers' own packages call, besides those that PEER_PACKAGES lists for each.
BELOW_PEERS = ("torch", "triton", "cupy-cuda12x", "cupy-cuda13x", "nvidia-cutlass-dsl")
# Place in environment.json, and what it is called.
_STATED = (
    (("device", "name"), "GPU"),
    (("device", "driver"), "driver"),
    (("device", "power_limit_w"), "power limit"),
    (("device", "sm_clock_max_hz"), "highest SM clock"),
    (("device", "memory_clock_hz"), "memory clock"),
    (("kernelbench",), "kernelbench"),
    (("git_commit",), "commit"),
    (("versions", "nvcc"), "nvcc"),
    (("flags",), "compiler flags"),
    (("seed",), "seed of the inputs"),
    (("inputs",), "inputs"),
    (("operation",), "operation"),
)
_CODE = {
    "other code": "other machine code",
    "other binary": "other source, flags or compiler; whether the machine code is another is not known",
    "other launches": "other launches of the same code",
}
_TOLD = ("kernelbench", "git_commit", "started")


def run_title(run: Run) -> str:
    """`results/h200/softmax: NVIDIA H200, 2026-11-21 08:03 UTC, kernelbench 0.1.0 at 48cd74102073`."""
    version, commit, started = (run.environment.get(name) for name in _TOLD)
    parts = [run.device]
    if started:
        parts.append(f"{str(started)[:16].replace('T', ' ')} UTC")
    if version:
        parts.append(f"kernelbench {version}" + (f" at {commit}" if commit else ""))
    return f"{run.folder}: {', '.join(parts)}"


def what_differs(first: Run, second: Run, codes: Mapping[str, Mapping[str, int]]) -> list[str]:
    """One sentence each. `codes`: rows of each implementation by the state of its code."""
    found = [
        f"{name}: {_text(one, path[-1])}, then {_text(other, path[-1])}"
        for path, name in (*_STATED, *_versions(first, second))
        if (one := environment_entry(first, path)) != (other := environment_entry(second, path))
    ]
    if first.folder.resolve() == second.folder.resolve():
        found.append("nothing: one run, given twice")
    for number, run in (("first", first), ("second", second)):
        if run.stopped:
            found.append(f"the {number} run was not finished; rows that it lacks may still come")
    found += [f"{said}: {_counted(codes[state])}" for state, said in _CODE.items() if state in codes]
    return found or ["nothing that environment.json states"]


def _versions(first: Run, second: Run) -> Iterator[tuple[tuple[str, ...], str]]:
    names = {**first.environment.get("versions", {}), **second.environment.get("versions", {})}
    yield from ((("versions", name), name) for name in names if ("versions", name) not in dict(_STATED))


def libraries_alike(peer: str, first: Run, second: Run) -> bool:
    """Whether a peer calls the same code in both runs: its packages, and what these call, have the same version. If its
    packages are not known, all packages that the runs state must have."""
    one, other = (run.environment.get("versions", {}) for run in (first, second))
    word = peer.partition("_")[0]
    own = () if word == "copy" else PEER_PACKAGES.get(word)  # copy_memcpy is CuPy's, which is among BELOW_PEERS
    names = (*one, *other) if own is None else (*own, *BELOW_PEERS)
    return all(one.get(name) == other.get(name) for name in names)


def same_gpu(first: Run, second: Run) -> bool:
    """Whether both runs name their GPU, and it is the same."""
    return first.device == second.device and all(gpu_name_of(run) for run in (first, second))


def gpu_name_of(run: Run) -> str:
    """The GPU that environment.json names; '' where it names none."""
    return str(environment_entry(run, ("device", "name")) or "")


def code_state(first: Run, one: Row, second: Run, other: Row) -> str:
    """One of the keys of _CODE, `same`, or '' for a library's call, whose code no run keeps."""
    if not (one.binary and other.binary):
        return ""
    if one.binary != other.binary:
        codes = code_of_row(first, one), code_of_row(second, other)
        if not all(codes):
            return "other binary"
        if [digest for digest, _ in codes[0]] != [digest for digest, _ in codes[1]]:
            return "other code"
    return "same" if one.launch_texts == other.launch_texts else "other launches"


def code_of_row(run: Run, row: Row) -> Code:
    """The machine code of every launch; empty where environment.json has not all of them."""
    entries = run.environment.get("code", {}).get(row.binary, {})
    if any(launch.entry not in entries for launch in row.launches):
        return ()
    launched = [entries[launch.entry] for launch in row.launches]
    return tuple((str(entry["hash"]), int(entry["instructions"])) for entry in launched)


def environment_entry(run: Run, path: Sequence[str]) -> Any:
    """What environment.json has at this place; None where it has nothing."""
    value: Any = run.environment
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text(value: Any, field: str) -> str:
    if value is None:
        return "not stated"
    if isinstance(value, (int, float)) and field.endswith("_hz"):
        return f"{value / 1e6:g} MHz"
    if isinstance(value, (int, float)) and field.endswith("_w"):
        return f"{value:g} W"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _counted(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({number_of(count, 'row')})" for name, count in rows.items())
