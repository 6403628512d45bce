"""The constants of cost functions that were fitted on a GPU, which plans read through `tuned.TunedTables`.

kernelbench/planning/tables/nvidia-h200.softmax.model.yaml       shipped
~/.config/kernelbench/tuned/nvidia-h200.softmax.model.yaml       the user's own, which comes first
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kernelbench
from kernelbench.core.cost_model import CostModel
from kernelbench.core.documents import FileFormat, plain_values, read_document
from kernelbench.core.errors import InputError
from kernelbench.core.problems import Problems
from kernelbench.core.writing import write_whole

if TYPE_CHECKING:
    from kernelbench.planning.cost_fit import Fit

SUFFIX = ".model.yaml"
FORM = FileFormat("a cost function", "'gpu', 'model' and 'constants', as `kernelbench tune --model` writes them",
            "'gpu', 'model' and 'constants'")  # fmt: skip
_HEADER = """\
# Constants of a cost function that `kernelbench tune --model` fitted to times measured on this GPU, see docs/tuning.md.
# within_3_percent: share of the cases whose choice is that near the fastest, with constants fitted to other cases.
"""
_TEXTS = ("gpu", "model", "run", "date", "kernelbench")
_NUMBERS = ("cases", "candidates", "within_3_percent", "within_10_percent")


@dataclass(frozen=True)
class Fitted:
    """Constants by name, with the measurements that they come from and how well they choose."""

    gpu: str
    model: str
    run: str  # file of the measured candidates
    date: str
    kernelbench: str
    cases: int
    candidates: int
    within_3_percent: float  # share of the cases, by cross validation
    within_10_percent: float
    constants: Mapping[str, float]
    path: Path | None = None

    def problem(self, model: CostModel) -> str:
        """Why a model cannot take these constants; '' if it can."""
        missing, unknown = (set(model.constants) - set(self.constants), set(self.constants) - set(model.constants))
        parts = [f"has no '{sorted(missing)[0]}'"] if missing else []
        parts += [f"has an unknown '{sorted(unknown)[0]}'"] if unknown else []
        return " and ".join(parts)


def fitted_model(gpu: str, model: CostModel, found: Fit, recorded: Path, date: str) -> Fitted:
    """What a fit to the times in the file `recorded` found."""
    return Fitted(
        gpu=gpu,
        model=model.name,
        run=recorded.name,
        date=date,
        kernelbench=kernelbench.__version__,
        cases=found.cases,
        candidates=found.candidates,
        within_3_percent=round(found.validated.within_3_percent, 3),
        within_10_percent=round(found.validated.within_10_percent, 3),
        constants=found.constants,
    )


def write_fitted(path: Path, fitted: Fitted, model: CostModel) -> None:
    """Write the file; InputError where it cannot be written."""
    document: dict[str, Any] = {name: getattr(fitted, name) for name in (*_TEXTS, *_NUMBERS)}
    document["constants"] = {
        name: {"value": float(f"{value:.4g}"), "unit": model.constants[name].unit, "what": model.constants[name].what}
        for name, value in fitted.constants.items()
    }
    write_document(path, _HEADER, document, "another folder by --times")


def delete_fitted(path: Path) -> None:
    """Delete the file if there is one; InputError where it cannot be deleted."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be deleted ({error.strerror}); delete it, or plans go on reading it"
        ) from error


def write_document(path: Path, header: str, document: Mapping[str, Any], remedy: str) -> None:
    """Write YAML below a comment; InputError names the `remedy` where it cannot be written."""
    import yaml

    text = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, header + text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name {remedy}") from error


def read_fitted(path: Path, gpu: str) -> Fitted:
    """The constants of a file; InputError names what is wrong with it."""
    problems = Problems(path)
    found = plain_values(read_document(path, problems, FORM))
    problems.raise_any()
    if found.get("gpu") != gpu:
        raise InputError(f"{path}: constants of {found.get('gpu')}, expected those of {gpu}")
    for name in _TEXTS:
        if not isinstance(found.get(name), str):
            raise InputError(f"{path}: {name}: expected text")
    for name in _NUMBERS:
        if not _is_number(found.get(name)):
            raise InputError(f"{path}: {name}: expected a number from 0 on")
    constants = found.get("constants")
    if not isinstance(constants, dict):
        raise InputError(f"{path}: constants: expected a mapping of names")
    for name, one in constants.items():
        if not isinstance(one, dict) or not _is_number(one.get("value")) or one["value"] == 0:
            raise InputError(f"{path}: constants: '{name}' must have a value above 0")
    values = {str(name): float(one["value"]) for name, one in constants.items()}
    return Fitted(**{name: found[name] for name in (*_TEXTS, *_NUMBERS)}, constants=values, path=path)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and isfinite(value) and value >= 0  # type: ignore[arg-type, operator]
