"""compute-sanitizer: where it is, how it is called, and what its reports say."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
# `========= ERROR SUMMARY: 3 errors`, and racecheck's `========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0
# warnings)`, in which a hazard among the lanes of one warp is a warning.
_ERRORS = re.compile(r"^=+ ERROR SUMMARY: (\d+) errors?$", re.MULTILINE)
_HAZARDS = re.compile(
    r"^=+ RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?\)", re.MULTILINE
)
_REFUSED = re.compile(r"^=+ Error: (Device not supported.*)$", re.MULTILINE)
# Failed calls of the CUDA API are reported beside what kernels do. Libraries ask the driver for functions that it does
# not have; a failure that matters ends the program.
_API = re.compile(r"^=+ Program hit \w+ .*on CUDA API call", re.MULTILINE)
_HEADLINES = re.compile(
    r"^=+ (?! |COMPUTE-SANITIZER|Program hit|Target application returned|(?:ERROR|LEAK|RACECHECK) SUMMARY)\S",
    re.MULTILINE,
)
_MARK = re.compile(r"^=+ ?")
_LAUNCH = re.compile(r"^\w+ \w+ .*\bshape=\S+ axis=\S+ dtype=.*$", re.MULTILINE)  # said before each
_ERROR = re.compile(
    r"^(?:Traceback |Exception ignored|Fatal Python error|terminate called|[\w.]+(?:Error|Exception|Lost): )",
    re.MULTILINE,
)
_NEXT_ERROR = re.compile(r"^(?:Traceback|Exception ignored|The above exception|During handling)", re.MULTILINE)
MOST_REPORTS = 1000  # printed in full; the summary counts all
MOST_LINES = 40  # of an error, and of a report beside it
PADDING_BYTES = 4096  # behind every allocation, so that what lies beyond one is not yet the next


@dataclass(frozen=True)
class Report:
    """What one tool found in one process."""

    tool: str
    errors: int
    warnings: int
    text: str  # what was found, without the tool's own marks and the summary
    seconds: float = 0.0
    said: str = ""  # by the program, at its end

    @property
    def clean(self) -> bool:
        return self.errors == self.warnings == 0

    def names(self, known: Collection[str]) -> set[str]:
        """Those of `known` that a report names, as part of a function or of a file."""
        return {name for name in known if name in self.text}


class Refused(Exception):
    """The tool does not work on this machine."""


class NoSummary(Exception):
    """The tool, or the program in it, ended before all was checked."""


def parse(tool: str, log: str, said: str = "") -> Report:
    """A tool's log. Refused where it does not know the device, NoSummary where it did not come to its end; `said` by
    the program."""
    if refused := _REFUSED.search(log):
        raise Refused(refused[1])
    found = list((_HAZARDS if tool == "racecheck" else _ERRORS).finditer(log))
    if not found:
        raise NoSummary(where_it_ended(f"{tool} ended without its summary", said or log, log))
    if tool == "racecheck":
        # A hazard that has neither severity is none that was asked for; still, a count above both is not clean.
        errors, warnings = (sum(int(match[group]) for match in found) for group in (2, 3))
        errors += max(0, sum(int(match[1]) for match in found) - errors - warnings)
    else:
        # Should failed calls not be among those of the summary, the reports themselves are as many.
        others = sum(int(match[1]) for match in found) - len(_API.findall(log))
        errors, warnings = max(others, len(_HEADLINES.findall(log))), 0
    lines = [_MARK.sub("", line) for line in log.splitlines() if line.startswith("=") and "SUMMARY:" not in line]
    text = "\n".join(line for line in lines if line.strip() and line != "COMPUTE-SANITIZER")
    return Report(tool, errors, warnings, text)


def where_it_ended(what: str, said: str, log: str) -> str:
    """The launch at which a program ended, `what` became of it, its first error, and the tool's first report.

    What follows an error is left out: everything that is unloaded afterwards repeats it.
    """
    error = _ERROR.search(said)
    launches = list(_LAUNCH.finditer(said, 0, error.start() if error else len(said)))
    launch = launches[-1][0] if launches else "before the first launch"
    if error:
        following = _NEXT_ERROR.search(said, error.end())
        words = said[error.start() : following.start() if following else len(said)].splitlines()[:MOST_LINES]
    else:
        words = said[launches[-1].end() if launches else 0 :].splitlines()[-MOST_LINES:]
    return "\n".join(line for line in (f"{launch}: {what}", *words, *_first_report(log)) if line.strip())


def _first_report(log: str) -> list[str]:
    """Its lines without the tool's marks; [] if kernels have none."""
    if not (found := _HEADLINES.search(log)):
        return []
    lines = [_MARK.sub("", line) for line in log[found.start() :].splitlines()]
    end = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
    return lines[: min(end, MOST_LINES)]


def find(compiler: Path) -> Path | None:
    """compute-sanitizer, on PATH or beside the compiler."""
    beside = compiler.resolve().parent / "compute-sanitizer"
    found = shutil.which("compute-sanitizer") or (str(beside) if beside.is_file() else None)
    return Path(found) if found else None


def version(program: Path) -> str:
    done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"Version ([\d.]+)", done.stdout)
    return found[1] if found else ""


def run(
    program: Path, tool: str, command: Sequence[str], log: Path, timeout_s: float, ends_well: bool = True
) -> Report:
    """The report of `tool` on a program; `ends_well` False where what it finds ends the program."""
    options = [
        *("--tool", tool, "--target-processes", "application-only", "--log-file", str(log)),
        *("--launch-timeout", "0", "--max-connections", "64"),  # several at once, and slow to start
        *("--print-limit", str(MOST_REPORTS), "--show-backtrace", "device"),
        *(("--padding", str(PADDING_BYTES), "--report-api-errors", "no") if tool == "memcheck" else ()),
    ]
    began = time.monotonic()
    # In a process group of its own, so that nothing is left behind when it takes too long.
    with subprocess.Popen(
        [str(program), *options, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as expired:
            os.killpg(process.pid, 9)
            said, _ = process.communicate()
            raise NoSummary(where_it_ended(f"{tool} took more than {timeout_s:g} s", said, "")) from expired
    written = (log.read_text(errors="replace") if log.is_file() else "") or said
    report = parse(tool, written, said)
    if ends_well and process.returncode != 0:
        raise NoSummary(where_it_ended(f"{tool}: the program ended with {process.returncode}", said, written))
    return replace(report, seconds=time.monotonic() - began, said=said[-4000:])
