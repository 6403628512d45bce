"""Ledger files as plain data: YAML without aliases, anchors, tags or repeated keys, of bounded size.

These are what a small file needs to grow without bound, or to build anything but text, numbers, lists
and mappings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from kernelbench.core.errors import Problem, ProblemsError
from kernelbench.core.texts import is_obeyed

MAX_BYTES = 64 * 1024  # the largest shipped entry has about 15 KB
MAX_DEPTH = 20
MAX_TEXT = 5000  # characters
MAX_NUMBER = 40  # characters; Python turns no numbers of thousands of digits into text, and takes long over them
MAX_PROBLEMS = 100  # of a file; more are no help to its reader
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's parser is ten times as fast, where it is there


def load(path: Path) -> Any:
    """The document of one file; ProblemsError with file and line for what cannot be read as such."""
    text = _text(path)
    try:
        problems = _forbidden(path, text)
        if problems:
            raise ProblemsError(problems)
        node = yaml.compose(text, Loader=LOADER)
        problems = _repeated_keys(path, node)
        if problems:
            raise ProblemsError(problems)
        return yaml.SafeLoader("").construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        raise ProblemsError([Problem(path, line, f"not valid YAML: {error.problem or error.context}")]) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or number that YAML allows and Python does not
        raise ProblemsError([Problem(path, 0, f"not valid YAML: {error}")]) from error


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ProblemsError([Problem(path, 0, f"{size} bytes; a ledger file may have at most {MAX_BYTES}")])
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ProblemsError([Problem(path, 0, f"cannot be read ({error.strerror})")]) from error
    except UnicodeDecodeError as error:
        raise ProblemsError([Problem(path, 0, f"not UTF-8 text ({error.reason} at byte {error.start})")]) from error


def _forbidden(path: Path, text: str) -> list[Problem]:
    """What must not be in the file; read event by event, so nothing is built before it is known to be small."""
    problems: list[Problem] = []
    depth = documents = 0
    for event in yaml.parse(text, Loader=LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                problems.append(Problem(path, line, "a second document; expected one entry in each file"))
        elif isinstance(event, yaml.AliasEvent):
            problems.append(Problem(path, line, f"alias '*{event.anchor:.60}'; write the value out"))
        elif isinstance(event, yaml.NodeEvent):
            if event.anchor:
                problems.append(Problem(path, line, f"anchor '&{event.anchor:.60}'; write the value out"))
            if isinstance(event, yaml.ScalarEvent) and (wrong := _scalar_problem(event)):
                problems.append(Problem(path, line, wrong))
            tag = getattr(event, "tag", None)  # only scalars and collections have one
            if tag:
                problems.append(Problem(path, line, f"tag '{tag:.60}'; only plain text, numbers, lists and mappings"))
        if len(problems) >= MAX_PROBLEMS:
            return problems
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                return [*problems, Problem(path, line, f"nested deeper than {MAX_DEPTH} levels")]
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return problems


def _scalar_problem(event: yaml.ScalarEvent) -> str:
    """What is wrong with a text or number before anybody makes a value of it, or ''."""
    value: str = event.value
    if len(value) > MAX_TEXT:
        return f"text of {len(value)} characters; the limit is {MAX_TEXT}"
    if event.implicit[0] and len(value) > MAX_NUMBER and (value[0] in "+-." or value[0].isdigit()) and " " not in value:
        return f"number of {len(value)} characters; the limit is {MAX_NUMBER}, or put the text into quotes"
    found = next((one for one in value if one != "\n" and is_obeyed(one)), None)
    return f"text holds the control character {found!a}" if found else ""


def _repeated_keys(path: Path, node: yaml.Node | None) -> list[Problem]:
    problems: list[Problem] = []
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            problems += _repeated_keys(path, item)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                problems.append(Problem(path, line, "a key must be a word, not a list or mapping"))
                continue
            if key.value in seen:
                problems.append(Problem(path, line, f"key '{key.value:.60}' a second time"))
            seen.add(key.value)
            problems += _repeated_keys(path, value)
    return problems
