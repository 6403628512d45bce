"""run, for Python: keywords -> request -> run -> tables."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kernelbench.core import places
from kernelbench.core.progress import LoggedProgress
from kernelbench.report.frames import LoadedRun
from kernelbench.walks.request import LAUNCH, Request, request_of
from kernelbench.walks.run import run

# Options of the command line that a `Request` has by another name, and those of several values.
_FIELDS = {"filter": "filters", "set": "sets", "dtype": "dtypes", "cache": "caches", "timeout": "patience_s"}
_JOINED, _REPEATED = ("only", "cache", "dtype"), ("filter", "set", "kernels", "cu")
_PLACES = ("kernels", "cu", "out", "nvcc")


def run_loaded(suite: str, options: Mapping[str, Any]) -> LoadedRun:
    """One suite with the keywords of `kernelbench.run`."""
    places.share_cache()
    (found,) = run(request_of_keywords(suite, options), LoggedProgress())
    return LoadedRun(found.run)


def request_of_keywords(suite: str, options: Mapping[str, Any]) -> Request:
    """A request from keywords named as the options of `kernelbench run`; TypeError for one that it does not have."""
    known = {one.name for one in fields(Request)} - {"suites", "arguments"} | {*LAUNCH, "cu"}
    given: dict[str, Any] = {}
    for name, value in options.items():
        field = _FIELDS.get(name, name)
        if field not in known:
            raise TypeError(
                f"run() has no option {name!r}; it has those of `kernelbench run --help`, except those for several "
                "GPUs and for the HTML page"
            )
        given[field] = _option_value(name, value)
    return request_of((suite,), _arguments(suite, options), given)


def _option_value(name: str, value: Any) -> Any:
    """Texts for one or several values as a tuple; places as paths."""
    if name in _JOINED:
        return tuple(part.strip() for text in _several(value) for part in text.split(","))
    if name in _REPEATED:
        return tuple(map(Path if name in _PLACES else str, _several(value)))
    return Path(value) if name in _PLACES else value


def _several(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, str | os.PathLike) else tuple(value)


def _arguments(suite: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The command line that does the same, which environment.json keeps."""
    words = ["run", suite, "--no-report"]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if name in _REPEATED:
            words += [word for one in _option_value(name, value) for word in (option, str(one))]
        elif name in _JOINED:
            words += [option, ",".join(_option_value(name, value))]
        elif isinstance(value, bool):
            words += [option] if value else [f"--no-{name}"] if name == "wait" else []
        else:
            words += [option, str(value)]
    return tuple(words)
