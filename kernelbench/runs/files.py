"""Reads and writes the files of a run, which may come from strangers: bounded, and in the form that kernelbench writes.

What is read here has the types on which other modules rely, and no characters that control a terminal.
"""

import gzip
import json
import math
import os
import stat
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from kernelbench.core.errors import ResultsError
from kernelbench.core.texts import kept_text, one_line, printable

MAX_RESULTS_BYTES = 2**25  # a recorded run has 0.3 MB
MAX_ENVIRONMENT_BYTES = 2**24
MAX_SAMPLES_BYTES = 2**28  # unpacked; a recorded run has 20 MB
_MAX_DEPTH, _MAX_INTEGER = 20, 2**63
_BEGUN = "..."  # in place of a line of which the rest is missing

Check = Callable[[Any], bool]


def read_text(path: Path, limit: int, *, cut: bool = False) -> str:
    """Read a regular file of at most `limit` bytes, and unpack it if its name ends in .gz. ResultsError for a link,
    which may lead out of the run's folder. With `cut`, a packed file that was cut off is read as far as it goes; its
    last line then has no end, like that of a plain file that was cut off."""
    if path.suffix != ".gz":
        return _decoded(path, _read_bounded(path, limit))
    data, whole = read_unpacked(path, limit)
    if not (whole or cut):
        raise ResultsError(f"{path}: its end is cut off")
    return _decoded(path, data) if whole else f"{_decoded(path, data)}{_BEGUN}"


def read_unpacked(path: Path, limit: int, advice: str = "") -> tuple[bytes, bool]:
    """The contents of a gzip file, at most `limit` bytes, and whether they are complete. A file that was cut off gives
    its whole lines. ResultsError, which ends with `advice`, for one that is damaged or too large."""
    _require_regular(path)
    parts: list[bytes] = []
    whole, left = True, limit + 1
    try:
        with gzip.open(path) as file:
            while left and (part := file.read1(left)):
                parts.append(part)
                left -= len(part)
    except EOFError:
        whole = False
    except (OSError, zlib.error) as error:
        raise ResultsError(f"{path}: cannot be read ({error}){advice}") from error
    if not left:
        raise ResultsError(f"{path}: more than {limit} bytes when unpacked{advice}")
    data = b"".join(parts)
    return (data, True) if whole else (data[: data.rfind(b"\n") + 1], False)


def _read_bounded(path: Path, limit: int) -> bytes:
    _require_regular(path)
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > limit:
        raise ResultsError(f"{path}: more than {limit} bytes, the limit of this file")
    return data


def _require_regular(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read ({error})") from error
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "no regular file"
        raise ResultsError(f"{path}: {what}; expected the file itself")


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ResultsError(f"{path}:{line}: cannot be read: byte 0x{data[error.start]:02x} is not UTF-8") from error


# ---- environment.json ----------------------------------------------------------------------------


def read_environment(path: Path) -> Mapping[str, Any]:
    """Read environment.json, and check the types of the entries that kernelbench knows."""
    text = read_text(path, MAX_ENVIRONMENT_BYTES)
    try:
        environment = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: cannot be read ({one_line(str(error))})") from error
    if not isinstance(environment, dict):
        raise ResultsError(f"{path}: expected a JSON object, got {type(environment).__name__}")
    environment = _plain(path, environment, _MAX_DEPTH)
    for name, (holds, expected) in _KNOWN.items():
        if environment.get(name) is not None and not holds(environment[name]):
            raise ResultsError(f"{path}: '{name}' must be {expected}, got {environment[name]!r:.80}")
    return {name: value for name, value in environment.items() if value is not None or name not in _HOLDERS}


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _plain(path: Path, value: Any, depth: int) -> Any:
    """The value without characters that control a terminal; ResultsError if nested deeper than `depth`."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ResultsError(f"{path}: a number is too large")
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        raise ResultsError(f"{path}: a number is too large: {value!r:.40}")
    if isinstance(value, dict | list) and not depth:
        raise ResultsError(f"{path}: nested more than {_MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {one_line(name): _plain(path, one, depth - 1) for name, one in value.items()}
    return [_plain(path, one, depth - 1) for one in value] if isinstance(value, list) else value


def _text(value: Any) -> bool:
    return isinstance(value, str)


def is_folder_name(value: Any) -> bool:
    """Whether it can name a suite, and so a folder."""
    return isinstance(value, str) and 0 < len(value) <= 200 and "/" not in value and "\\" not in value and value != ".."


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mapping_of(holds: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(holds, value.values()))


def _record(**known: Check) -> Check:
    """A check for a mapping in which these keys, if given, pass these checks."""
    return lambda value: (
        isinstance(value, dict) and all(value.get(name) is None or holds(value[name]) for name, holds in known.items())
    )


def _limits(value: Any) -> bool:
    """Whether seconds and rates are above 0; other entries name the best copy."""
    return isinstance(value, dict) and all(
        one is None or (_number(one) and one > 0 if name.endswith("_s") else _number(one) or _text(one))
        for name, one in value.items()
    )


_ORIGIN = _record(project=_text, url=_text, commit=_text, differs=_text)
_IMPLEMENTATION = _record(summary=_text, role=_text, arithmetic=_text, origin=_ORIGIN)
_ENTRY: Check = lambda one: (  # noqa: E731 - beside the others
    isinstance(one, dict) and _text(one.get("hash")) and isinstance(one.get("instructions"), int)
)
_PART = _record(
    **dict.fromkeys(("name", "operation", "case", "unfused", "fused"), _text),
    calls=lambda value: type(value) is int and 1 <= value <= 2**31,
)
_STEP: Check = lambda value: (  # noqa: E731
    isinstance(value, dict)
    and _text(value.get("leaves_out"))
    and isinstance(value.get("parts"), list)
    and all(map(_PART, value["parts"]))
)
_CONTENTS: Check = lambda value: (  # noqa: E731
    isinstance(value, dict)
    and _mapping_of(_text)(value.get("cases"))
    and _texts(value.get("implementations"))
    and _text(value.get("baseline") or "")
)
_COUNT: Check = lambda value: type(value) is int and value >= 0  # noqa: E731
_LENGTH = _record(
    from_s=_number, rows=_COUNT, to_s=lambda one: _number(one) and one > 0, within=_number, detectable=_number
)
_SELF_TEST = _record(
    twins=_mapping_of(_text),
    **dict.fromkeys(("rows", "same", "unsure", "false_verdicts"), _COUNT),
    false_rows=_texts,
    **dict.fromkeys(("drift", "drift_signed"), _number),
    lengths=lambda value: isinstance(value, list) and all(map(_LENGTH, value)),
)
_KNOWN: Mapping[str, tuple[Check, str]] = {
    **dict.fromkeys(("kernelbench", "git_commit", "title", "baseline", "started", "finished"), (_text, "a text")),
    "suite": (is_folder_name, "the name of a suite"),
    "command": (_text, "a text"),
    "claims": (_texts, "a list of ids"),
    "resumed": (_texts, "a list of times"),
    "seed": (lambda value: isinstance(value, int), "a whole number"),
    "seconds": (_mapping_of(_number), "a mapping of what a run did to seconds"),
    "wall_s": (lambda value: _number(value) and value >= 0, "seconds"),
    "versions": (_mapping_of(_text), "a mapping of names to versions"),
    "device": (_record(name=_text, l2_bytes=_number), "a mapping with a name"),
    "limits": (_limits, "a mapping of names to seconds and rates above 0"),
    "implementations": (_mapping_of(_IMPLEMENTATION), "a mapping of names to summary, role, arithmetic, origin"),
    "builds": (_record(), "a mapping"),
    "self_test": (_SELF_TEST, "a mapping: twins of names to names, counts, shares, and lengths with theirs"),
    "calls": (_mapping_of(_text), "a mapping of names to hashes of their files"),
    "contents": (_CONTENTS, "a mapping with cases, implementations and baseline of the suite"),
    "step": (_STEP, "a mapping with leaves_out and a list of parts"),
    "counters": (_record(unavailable=_text, seconds=_number), "a mapping with seconds, or why they are unavailable"),
    "code": (_mapping_of(_mapping_of(_ENTRY)), "a mapping of binaries to entries to hash and instructions"),
}
_HOLDERS = (  # never null
    "claims", "resumed", "versions", "device", "limits", "implementations", "builds", "calls", "code", "contents",
    "step", "self_test", "counters",
)  # fmt: skip


# ---- Writing -------------------------------------------------------------------------------------


def environment_text(environment: Mapping[str, Any]) -> str:
    """environment.json in a form that `read_environment` accepts.

    Texts are cut to the limit of a run; NaN, infinity and integers beyond 2^63 become null. Entries that the reader
    would refuse are left out, and so are the largest entries until the file is within its limit.
    """
    plain = {
        name: value
        for name, value in _written(environment, _MAX_DEPTH).items()
        if name not in _KNOWN or value is None or _KNOWN[name][0](value)
    }
    while len(text := json.dumps(plain, indent=1) + "\n") > MAX_ENVIRONMENT_BYTES:
        del plain[max(plain, key=lambda name: len(json.dumps(plain[name])))]
    return text


def _written(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping | list | tuple) and not depth:
        return "..."
    if isinstance(value, Mapping):
        return {kept_text(one_line(str(name))): _written(one, depth - 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_written(one, depth - 1) for one in value]
    if isinstance(value, int | float):
        kept_number = math.isfinite(value) if isinstance(value, float) else abs(value) <= _MAX_INTEGER
        return value if kept_number else None
    return None if value is None else kept_text(str(value))


def delete_partial_files(folder: Path) -> None:
    """Delete files that killed processes left half written in a run's folder."""
    for path in (*folder.glob(".*.part"), *folder.glob("charts/.*.part")):
        process = path.name.split(".")[-2]
        try:
            os.kill(int(process), 0)
        except (ValueError, OverflowError):
            continue  # not a name of ours
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except PermissionError:
            continue  # a running process of another user
