"""Finds the suite file that the user means, and reads it: every mistake with its line, blocks expanded."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from kernelbench.core.documents import FileFormat, MappingNode, RefusedNode, ScalarNode, SequenceNode, read_document
from kernelbench.core.errors import InputError
from kernelbench.core.problems import Problems, quoted, suggest
from kernelbench.core.records import CACHES, Operation, Suite
from kernelbench.suite.case_blocks import CaseBlock, Defaults, read_block, read_defaults
from kernelbench.suite.expand import expand_cases
from kernelbench.suite.fields import Fields
from kernelbench.suite.overrides import Overrides, change_suite
from kernelbench.suite.shapes import NAME
from kernelbench.suite.step import read_step

FORM = FileFormat(
    "a suite", "keys such as 'title' and 'operation'", "at least title, operation, shape and implementations"
)
_BLOCK_KEYS = ("shape", "axis", "axes", "dtype", "inputs", "parameters")
_KEYS = (
    "title", "description", "operation", *_BLOCK_KEYS, "cases", "implementations", "baseline", "claims", "caches",
    "step", "leaves_out",
)  # fmt: skip
_SUFFIXES = (".yaml", ".yml")
_FILE_NAME = re.compile(r"\w[\w .+-]{0,99}")  # also part of the name of a run's folder
_CLAIM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def read_suite(
    path: Path,
    operations: Mapping[str, Operation],
    implementations: Mapping[str, Collection[str]],
    claim_ids: Collection[str] | None = None,
    changes: Overrides | None = None,
) -> Suite:
    """The suite of a file, with other sizes and types where there are `changes`; cases that become the same are one.

    `implementations` are the known names by operation, `claim_ids` the ids of the ledger (None: any id is accepted).
    Raises ProblemsError with all mistakes of the file at once, InputError if the file does not exist or cannot be read.
    """
    require_file(path)
    problems = Problems(_short(path))
    root = read_document(path, problems, FORM)
    fields = Fields(change_suite(root, changes, path.stem) if changes else root, _KEYS, "", problems)
    fields.require("title")
    if not _FILE_NAME.fullmatch(path.stem):
        problems.add(0, "the name of a suite's file may have letters, digits, spaces and _.+-, a letter or digit first")
    suite = Suite(
        name=path.stem,
        path=path,
        title=fields.text("title") or "",
        operation="",
        cases=(),
        implementations=(),
        claims=fields.names("claims", _CLAIM, claim_ids),
        description=fields.text("description", lines=True) or "",
        caches=fields.names("caches", NAME, CACHES) or CACHES,
    )
    if "step" in fields:
        suite = _with_step(suite, fields, operations, implementations)
    else:
        suite = _with_operation(suite, fields, operations, implementations, once=changes is not None)
    problems.raise_any()
    return suite


def _with_operation(
    suite: Suite,
    fields: Fields,
    operations: Mapping[str, Operation],
    implementations: Mapping[str, Collection[str]],
    *,
    once: bool,
) -> Suite:
    """One operation, whose implementations all run every case."""
    for key in ("operation", "implementations"):
        fields.require(key)
    if "leaves_out" in fields:
        fields.problems.add(fields.line_of("leaves_out"), "'leaves_out' belongs to a step; there is no 'step'")
    name = fields.name("operation", NAME, operations)
    operation = operations[name] if name else None
    if "operation" in fields and name is None and (suite.path.parent / "operation.py").is_file():
        folder = suite.path.absolute().parent.parent
        fields.problems.add(fields.line_of("operation"), f"operation.py is beside the suite: add --kernels {folder}")
    names = fields.names("implementations", NAME, implementations.get(name, ()) if name else None)
    baseline = _read_baseline(fields, names)
    blocks = _read_blocks(fields, operation)
    cases = expand_cases(blocks, operation, fields.problems, once=once) if operation else ()
    return replace(suite, operation=name or "", cases=cases, implementations=names, baseline=baseline)


def _with_step(
    suite: Suite, fields: Fields, operations: Mapping[str, Operation], implementations: Mapping[str, Collection[str]]
) -> Suite:
    """Parts of several operations, each with implementations of its own."""
    step, cases = read_step(fields, operations, implementations)
    names = tuple(dict.fromkeys(name for part in step.parts for name in part.names))
    return replace(suite, cases=cases, implementations=names, step=step)


def _short(path: Path) -> Path:
    """The path relative to the current folder, if it lies below it."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path


def _read_baseline(fields: Fields, names: tuple[str, ...]) -> str | None:
    baseline = fields.name("baseline", NAME, None)
    # If the list itself is wrong, which was reported, it is not known whether the baseline is in it.
    if baseline is not None and names and baseline not in names and not _mentions(fields, baseline):
        text = f"baseline {quoted(baseline)} is not among the implementations{suggest(baseline, names)}"
        fields.problems.add(fields.line_of("baseline"), text)
    return baseline


def _mentions(fields: Fields, baseline: str) -> bool:
    node = fields.node("implementations")
    nodes = node.nodes if isinstance(node, SequenceNode) else ()
    return any(isinstance(item, ScalarNode) and item.value == baseline for item in nodes)


def _read_blocks(fields: Fields, operation: Operation | None) -> list[CaseBlock]:
    defaults = read_defaults(fields, operation, Defaults())
    if "shape" in fields and "cases" in fields:
        fields.problems.add(fields.line_of("cases"), "'cases' cannot stand beside 'shape'; write one of them")
        return []
    if "cases" in fields:
        return _read_cases(fields, operation, defaults)
    if "shape" not in fields:
        fields.problems.add(fields.line, "missing key 'shape' (or 'cases', a list of shapes)")
        return []
    block = read_block(fields, operation, defaults)
    return [block] if block else []


def _read_cases(fields: Fields, operation: Operation | None, defaults: Defaults) -> list[CaseBlock]:
    """The entries of `cases`: mappings with a shape, and keys that override those of the suite."""
    if "axes" in fields:
        text = "'axes' cannot stand beside 'cases'; write it inside the entries that use it"
        fields.problems.add(fields.line_of("axes"), text)
    node = fields.node("cases")
    if node is None or isinstance(node, RefusedNode):
        return []
    if not isinstance(node, SequenceNode) or not node.nodes:
        fields.expected("cases", "a list of mappings with at least one entry", node)
        return []
    blocks = []
    for item in node.nodes:
        if not isinstance(item, MappingNode):
            fields.expected("cases", "a list of mappings", item)
            continue
        entry = Fields(item, _BLOCK_KEYS, " under 'cases'", fields.problems)
        entry.require("shape")
        own = read_defaults(entry, operation, defaults)
        if "shape" in entry and (block := read_block(entry, operation, own)):
            blocks.append(block)
    return blocks


def find_suite(name_or_path: str, folder: Path) -> Path:
    """The file for 'softmax', 'softmax.yaml', 'suites/softmax.yaml' or any path.

    A path to a file comes first, then the suites of `folder`. Raises InputError, which names the nearest suite.
    """
    given = Path(name_or_path)
    is_path = given.suffix in _SUFFIXES or os.sep in name_or_path
    # `folder.parent`: 'suites/softmax.yaml' works in any current folder.
    bases = (Path(), folder, folder.parent) if is_path else (folder, Path())
    endings = ("", *_SUFFIXES) if is_path else _SUFFIXES
    for candidate in (base / f"{name_or_path}{ending}" for base in bases for ending in endings):
        if _is_file(candidate):
            return candidate
    raise InputError(f"no suite {quoted(name_or_path)}{_nearest(given, folder)}")


def require_file(path: Path) -> None:
    """InputError, which names the nearest suite beside it, unless `path` is a file."""
    if not _is_file(path):
        raise InputError(f"{path}: no such file{_nearest(path, path.parent)}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


def _nearest(given: Path, folder: Path) -> str:
    try:
        names = sorted(path.stem for path in folder.iterdir() if path.suffix in _SUFFIXES)
    except (OSError, ValueError):
        names = []
    return suggest(given.stem, names) or f"; there are none in {folder}"
