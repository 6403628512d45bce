"""Other sizes and types than the file's: --set and --dtype."""

from pathlib import Path

import pytest

from kernelbench.core.errors import InputError
from kernelbench.core.operations import shape_text
from kernelbench.core.records import Suite
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.walks.request import Request, read_suites
from tests.conftest import Command
from tests.endings import printed, refused

CASES = """\
title: Several shapes
operation: softmax
dtype: float32
cases:
  - {shape: [rows, 32], axes: {rows: [1, 2]}}
  - {shape: [rows, 32], axes: {rows: [3]}, dtype: float16}
  - {shape: [7, columns], axes: {columns: [5]}, parameters: {scale: 0.5}}
  - {shape: [8, 9]}
implementations: [naive]
"""


@pytest.fixture(scope="module")
def known() -> Catalog:
    return load_catalog(specimens=True)


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "several.yaml"
    file.write_text(CASES)
    return str(file)


def read(name: str, known: Catalog, *sets: str, dtypes: tuple[str, ...] = ()) -> Suite:
    (suite,) = read_suites(Request((name,), sets=sets, dtypes=dtypes), known)
    return suite


def cases(suite: Suite) -> list[tuple[str, str]]:
    return [(shape_text(case.shape), case.dtype) for case in suite.cases]


def test_an_axis_and_the_type_are_replaced(known: Catalog) -> None:
    suite = read("softmax", known, "seq=77,100,333", dtypes=("float16",))
    assert cases(suite) == [(f"32x64x{seq}x{seq}", "float16") for seq in (77, 100, 333)]
    assert [dict(case.axes) for case in suite.cases] == [{"seq": 77}, {"seq": 100}, {"seq": 333}]
    assert (suite.claims, suite.baseline) == ((), "ft"), "nothing is published about other sizes"


def test_what_is_not_changed_stays(known: Catalog, path: str) -> None:
    assert cases(read("softmax", known, dtypes=("bfloat16", "float32")))[::6] == [
        ("32x64x16x16", "bfloat16"), ("32x64x16x16", "float32"),
    ]  # fmt: skip
    suite = read(path, known, "columns=6,7")
    assert cases(suite) == [("7x6", "float32"), ("7x7", "float32")], "shapes without that axis are left out"
    assert {case.parameter("scale", 1) for case in suite.cases} == {0.5}


def test_cases_that_become_the_same_are_one(known: Catalog, path: str) -> None:
    assert cases(read(path, known, "rows=4")) == [("4x32", "float32"), ("4x32", "float16")]
    assert cases(read(path, known, "rows=4", dtypes=("float16",))) == [("4x32", "float16")]


def test_whole_shapes_replace_all_extents(known: Catalog) -> None:
    assert [shape for shape, _ in cases(read("indexing", known, "shape=100x77, 5x9"))][::3] == ["100x77", "5x9"]
    assert cases(read("softmax", known, "shape=7x8")) == [("7x8", "float32")]


@pytest.mark.parametrize(
    ("name", "sets", "dtypes", "said"),
    [
        ("softmax", ("sqe=7",), (), "--set sqe: suite 'softmax' has no axis 'sqe'; did you mean 'seq'?"),
        ("softmax", ("seq",), (), "--set 'seq': expected NAME=SIZE,.. as in seq=77,100,333, or shape=64x77"),
        ("softmax", ("seq=1x2",), (), "--set 'seq=1x2': expected NAME=SIZE,.. as in seq=77,100,333"),
        ("softmax", ("seq=0",), (), "--set seq=0: axis 'seq' takes integers from 1 to 2^63 - 1, got 0"),
        ("softmax", ("seq=9999999",), (), "--set seq=9999999: shape 32x64x9999999x9999999 of float32 makes an array"),
        ("softmax", ("seq=7", "shape=7x8"), (), "--set shape: says all extents; leave out --set seq"),
        ("softmax", (), ("float17",), "--dtype 'float17': unknown type; did you mean 'float16'?"),
        ("softmax", (), ("int8",), "--dtype int8: softmax cannot compute case"),
        ("indexing", ("rows=3",), (), "--set rows: it steps together with others, (rows, columns); write --set shape="),
        ("bert_base_step", ("seq=3",), (), "'bert_base_step' is a step, whose parts have their own shapes"),
    ],
)
def test_a_mistake_says_what_to_write(
    name: str, sets: tuple[str, ...], dtypes: tuple[str, ...], said: str, known: Catalog
) -> None:
    with pytest.raises(InputError) as raised:
        read(name, known, *sets, dtypes=dtypes)
    assert said in str(raised.value)
    assert ".yaml" not in str(raised.value)


def test_axes_of_different_shapes_cannot_be_set_together(known: Catalog, path: str) -> None:
    with pytest.raises(InputError, match="no shape of suite 'several' has all of these axes"):
        read(path, known, "rows=3", "columns=4")


def test_the_options_change_a_plan(command: Command) -> None:
    out = printed(command("plan", "softmax", "--set", "seq=77", "--dtype", "float16", "--only", "naive"))
    assert "softmax_naive_f16<<<616, 256>>>" in out
    assert "--dtype '': names nothing" in refused(command("plan", "softmax", "--dtype", ""))
