"""Calls through pointers and virtual calls, which compare the pointer with every function that it may mean; printf."""

import re

import numpy as np
import pytest

from kernelbench.simt import simulate
from tests.simt.harness import Kernels, Load

pytestmark = pytest.mark.nvcc
WHICH = np.array([0, 1, 1, 0] * 12, np.int32)


@pytest.fixture(scope="module")
def pointers(load: Load) -> Kernels:
    return load("pointers")


def test_a_table_of_functions(pointers: Kernels) -> None:
    y = np.zeros(48, np.float32)
    pointers.run("from_a_table", 1, 48, WHICH, y)
    np.testing.assert_array_equal(y, np.arange(1, 49) * np.where(WHICH, 0.5, 2))


def test_virtual_methods(pointers: Kernels) -> None:
    y = np.zeros(48, np.float32)
    pointers.run("methods", 1, 48, WHICH, y)
    x = np.arange(48)
    np.testing.assert_array_equal(y, np.where(WHICH, x * x, 3 * x))


def test_a_pointer_to_nothing_is_a_fault(pointers: Kernels) -> None:
    done = pointers.run("through", 1, 32, np.uint64(12345), np.zeros(32, np.float32), faulty=True)
    assert len(done.faults) == 1
    assert "trap" in done.faults[0]


def test_what_is_printed(pointers: Kernels) -> None:
    run = simulate(pointers.text, "says", 2, 40, {"n": np.int32(33)}, strict=True, threads=1)
    lines = [f"thread {i} of 40: {i * 0.5:+6.2f}|x   |0x10000000000|   ab|100%|7" for _ in range(2) for i in range(33)]
    assert run.printed.splitlines() == lines
    assert not run.faults


def test_printf_in_a_branch_that_never_runs(pointers: Kernels) -> None:
    y = np.zeros(32, np.int32)
    assert pointers.run("says_nothing", 1, 32, np.int32(7), y).report.printed == ""
    assert set(y) == {7}


def test_printf_gives_the_number_of_its_arguments(pointers: Kernels) -> None:
    y = np.zeros(3, np.int32)
    assert pointers.run("counts", 1, 3, y).report.printed == "0%0.250000;1%0.250000;2%0.250000;"
    assert set(y) == {2}


def test_what_does_not_fit_is_left_out(pointers: Kernels) -> None:
    run = simulate(pointers.text, "says", 1000, 40, {"n": np.int32(40)})
    assert 0.9 * 2**20 < len(run.printed) <= 2**20
    whole = re.compile(r"thread \d+ of 40: [+ ]*\d+\.\d\d\|x   \|0x10000000000\|   ab\|100%\|7")
    assert all(whole.fullmatch(line) for line in run.printed.splitlines())


HEAD = """.version 8.5
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
"""


def test_a_format_that_is_not_one_harms_nothing() -> None:
    """Whatever bytes a kernel passes, only complete conversions are made."""
    formats = (b"%", b"%5", b"%l", b"%n%n", b"%*d", b"%99999d", b"%.999f", b"%%%", b"%s", b"\xff%c")
    for text in formats:
        codes = ", ".join(map(str, (*text, 0)))
        body = (
            f".global .align 1 .b8 text[{len(text) + 1}] = {{{codes}}};\n"
            ".visible .entry k() {\n.local .align 8 .b8 args[8]; .reg .b64 %rd<9>; .reg .b32 %r<3>;\n"
            "mov.u64 %rd1, args; cvta.local.u64 %rd2, %rd1; mov.b64 %rd4, 0; st.local.u64 [%rd1], %rd4;\n"
            "mov.u64 %rd3, text;\n{ .param .b64 p0; st.param.b64 [p0], %rd3; .param .b64 p1; st.param.b64 [p1], %rd2;\n"
            ".param .b32 back; call.uni (back), vprintf, (p0, p1); ld.param.b32 %r1, [back]; }\nret;\n}\n"
        )
        printed = simulate(HEAD + body, "k", 1, 1, {}).printed
        expected = {b"%.999f": "0." + "0" * 999, b"%%%": "%%", b"%s": "(null)", b"\xff%c": "\ufffd\0"}
        assert printed == expected.get(text, text.decode(errors="replace"))
