"""The commands that take one implementation of one case to NVIDIA's own tools."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kernelbench.runs.row_records import Row

# Options of the recorded command line that change what is launched; those with a value, and those without.
_KEPT = ("--set", "--dtype", "--kernels", "--cu", "--entry", "--grid", "--block", "--shared", "--args", "--seed",
         "--nvcc", "--device")  # fmt: skip
_KEPT_FLAGS = ("--specimens",)


@dataclass(frozen=True)
class ProfilerCommands:
    """Each is a command line for a POSIX shell."""

    ncu: str
    sanitizer: str


def hand_off(row: Row, environment: Mapping[str, Any]) -> ProfilerCommands:
    """The commands for a row of a run. `environment`: that of the run, whose options they repeat."""
    entries = [launch.entry for launch in row.launches]
    options = kept_options(str(environment.get("command", "")))
    return profiler_commands(row.suite, row.words, row.implementation, entries, options)


def profiler_commands(
    suite: str, words: Mapping[str, str], implementation: str, entries: Sequence[str], options: Sequence[str] = ()
) -> ProfilerCommands:
    """The commands for an implementation of the case that has these words. `entries`: its kernels by their symbols;
    none where a library launches them, and then ncu records all kernels of the process."""
    case = ",".join(f"{name}={value}" for name, value in words.items())
    run = ["kernelbench", "run", suite, "--only", implementation.partition(".")[0], "--filter", case, *options,
           "--in-process", "--quick", "--cache", "cold", "--no-report"]  # fmt: skip
    profiler = ["ncu", "--set", "full", "--clock-control", "none"]
    if entries:
        names = "|".join(map(re.escape, dict.fromkeys(entries)))
        profiler += ["--kernel-name-base", "mangled", "--kernel-name", f"regex:^({names})$"]
        profiler += ["--launch-count", str(len(entries))]
    file = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{implementation}-{case}").strip("-")[:100]
    return ProfilerCommands(
        shlex.join([*profiler, "--force-overwrite", "--export", file, *run]),
        shlex.join(["compute-sanitizer", "--tool", "memcheck", *run]),
    )


def kept_options(command: str, valued: Sequence[str] = _KEPT, flags: Sequence[str] = _KEPT_FLAGS) -> tuple[str, ...]:
    """The options of a recorded `kernelbench run ..` that the commands repeat; () for what is no command line.

    `valued` are options with a value, `flags` those without.
    """
    return tuple(word for asked, words in _parts(command, valued, flags) if asked for word in words)


def strip_options(command: str, valued: Sequence[str], flags: Sequence[str]) -> str:
    """The command line without these options; '' for what is none."""
    return shlex.join(word for asked, words in _parts(command, valued, flags) if not asked for word in words)


def _parts(command: str, valued: Sequence[str], flags: Sequence[str]) -> Iterator[tuple[bool, Sequence[str]]]:
    """Whether it is one of these options, and its words, for each part of a command line; an option at its end that
    lacks its value is no part."""
    try:
        words = iter(shlex.split(command))
    except ValueError:
        return
    for word in words:
        if word in valued:
            yield from ((True, (word, value)) for value in islice(words, 1))
        else:
            yield word in flags or word.partition("=")[0] in valued, (word,)
