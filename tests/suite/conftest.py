"""A small catalog, and readers of suites written as texts."""

import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelbench.core.errors import ProblemsError, Unsupported
from kernelbench.core.records import ArraySpec, Operation
from kernelbench.suite import read_suite


def arrays(case):
    if case.dtype == "int32":
        raise Unsupported("dtype must be a float, got int32")
    return (ArraySpec("x", case.shape, case.dtype, "input"), ArraySpec("y", case.shape, case.dtype, "output"))


OPERATIONS = {
    "softmax": Operation(
        "softmax", "", arrays, lambda xp, case, inputs: {}, large=lambda case: 1e4, refused={},
        parameters={"scale": 1.0, "mask": False, "window": 4, "mode": "plain"},
    ),
    "relu": Operation("relu", "", arrays, lambda xp, case, inputs: {}, refused={"masked": "it has no rows"}),
}  # fmt: skip
IMPLEMENTATIONS = {"softmax": ["naive", "ft", "ft_v1", "oneflow"], "relu": ["naive"]}
CLAIMS = ["softmax-ft-oneflow", "ft-dispatch"]
GOOD = """\
title: A title
operation: softmax
shape: [32, 64, seq, seq]
axes:
  seq: [16, 32]
implementations: [ft, oneflow]
baseline: ft
claims: softmax-ft-oneflow
"""


@pytest.fixture(scope="session")
def catalog():
    return SimpleNamespace(operations=OPERATIONS, implementations=IMPLEMENTATIONS, claims=CLAIMS)


@pytest.fixture(scope="session")
def changed():
    """A good suite with one place of it replaced."""

    def changed(old, new):
        assert GOOD.count(old) == 1
        return GOOD.replace(old, new)

    return changed


@pytest.fixture
def read(catalog, tmp_path, monkeypatch):
    """Reads a text as suites/test.yaml, as typed from the folder above."""
    monkeypatch.chdir(tmp_path)
    Path("suites").mkdir()

    def read(text, claim_ids=CLAIMS):
        content = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
        Path("suites/test.yaml").write_bytes(content)
        return read_suite(Path("suites/test.yaml"), catalog.operations, catalog.implementations, claim_ids)

    return read


@pytest.fixture
def problems(read):
    """The mistakes found in a text, as 'line: text'."""

    def problems(text):
        with pytest.raises(ProblemsError) as caught:
            read(text)
        lines = str(caught.value).split("\n")
        assert all(line.startswith("suites/test.yaml") for line in lines)
        return [line.removeprefix("suites/test.yaml").removeprefix(":").strip() for line in lines]

    return problems
