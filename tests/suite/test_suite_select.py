"""--filter and --only."""

import re

import pytest

from kernelbench.core.errors import InputError
from kernelbench.suite import select_cases, select_implementations

TEXT = """\
title: t
operation: softmax
dtype: [float32, float16]
cases:
- {shape: [2, seq], axes: {seq: [16, 128, 512]}, parameters: {mask: [false, true], scale: 0.5}}
- {shape: [7, 3], dtype: float32, axis: 0}
implementations: [naive, ft, oneflow]
baseline: ft
"""


@pytest.fixture
def suite(read):
    return read(TEXT)


def seqs(suite):
    return [dict(case.axes).get("seq") for case in suite.cases]


NAMES = "shape, axis, dtype, inputs, seq, mask, scale"
EXPECTED = f"expected a term such as 'seq=512', with one of = != >= <= > <, on {NAMES}"


@pytest.mark.parametrize(
    ("filters", "count", "expected"),
    [
        (["seq=512"], 4, {512}),
        (["seq==512"], 4, {512}),
        (["seq>=128"], 8, {128, 512}),
        (["seq>128"], 4, {512}),
        (["seq<=128"], 8, {16, 128}),
        (["seq<128"], 4, {16}),
        (["seq!=128"], 8, {16, 512}),
        ([" seq >= 128 , seq < 512 "], 4, {128}),
        (["seq>=128", "seq<512", "dtype=float16"], 2, {128}),
        (["dtype!=float16"], 7, {16, 128, 512, None}),
        (["mask=true"], 6, {16, 128, 512}),
        (["mask=True,scale=0.5"], 6, {16, 128, 512}),
        (["shape=7x3"], 1, {None}),
        (["axis=0"], 1, {None}),
        (["axis=-1"], 12, {16, 128, 512}),
        ([], 13, {16, 128, 512, None}),
    ],
)
def test_filters_hold_together(suite, filters, count, expected):
    chosen = select_cases(suite, filters)
    assert len(chosen.cases) == count
    assert set(seqs(chosen)) == expected
    assert [case for case in suite.cases if case in chosen.cases] == list(chosen.cases)
    assert (chosen.implementations, chosen.baseline) == (suite.implementations, suite.baseline)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sqe=512", f"filter 'sqe=512': suite 'test' has no axis 'sqe'; did you mean 'seq'? ({NAMES})"),
        ("columns=1", f"filter 'columns=1': suite 'test' has no axis 'columns'; expected one of {NAMES}"),
        ("seq", f"filter 'seq' cannot be read; {EXPECTED}"),
        ("seq=1,", f"filter '' cannot be read; {EXPECTED}"),
        ("seq=long", "filter 'seq=long': 'long' is not a number"),
        ("dtype>float16", "filter 'dtype>float16': dtype is a word; expected 'dtype=...' or 'dtype!=...'"),
        ("seq=17", "no case of suite 'test' has seq=17; seq is 16, 128, 512"),
        (
            "seq=16,dtype=half",
            "no case of suite 'test' has seq=16, dtype=half; seq is 16, 128, 512; dtype is float32, float16",
        ),
    ],
)
def test_filters_that_select_nothing_say_what_there_is(suite, given, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        select_cases(suite, [given])


def test_only_keeps_order_cases_and_baseline(suite):
    chosen = select_implementations(suite, ["oneflow,naive"])
    assert chosen.implementations == ("naive", "oneflow")
    assert chosen.baseline == "ft"
    assert chosen.cases == suite.cases
    assert select_implementations(suite, ["oneflow", " naive "]) == chosen


def test_only_of_a_name_that_another_suite_has(suite):
    with pytest.raises(InputError, match=r"no implementation 'one_read_rows'; suites with it: .*peers_softmax"):
        select_implementations(suite, ["one_read_rows"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["onflow"], "suite 'test' has no implementation 'onflow'; did you mean 'oneflow'?"),
        (["ft,nobody"], "suite 'test' has no implementation 'nobody'; expected one of naive, ft, oneflow"),
        ([","], "no implementation named; suite 'test' has naive, ft, oneflow"),
    ],
)
def test_only_of_unknown_names(suite, names, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        select_implementations(suite, names)
