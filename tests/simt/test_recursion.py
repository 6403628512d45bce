"""Functions that call themselves, against the same recursion in Python."""

import numpy as np
import pytest

from kernelbench.simt import simulate
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.parse import parse
from kernelbench.simt.recursion import recursive_functions
from tests.simt.harness import Kernels, Load

pytestmark = pytest.mark.nvcc


@pytest.fixture(scope="module")
def kernels(load: Load) -> Kernels:
    return load("recursion")


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m: int, n: int) -> int:
    return n + 1 if m == 0 else ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def even(x: float, n: int) -> float:
    return x if n == 0 else 2 * odd(x + 1, n - 1) + n


def odd(x: float, n: int) -> float:
    return -x if n == 0 else 3 - even(x / 2, n - 1)


def test_lanes_of_different_depth(kernels: Kernels) -> None:
    x, y = np.arange(64, dtype=np.int32) % 13, np.zeros(64, np.int32)
    done = kernels.run("tree", 2, 32, x, y)
    np.testing.assert_array_equal(y, [fibonacci(n) + i for i, n in enumerate(x)])
    assert done.names.count("call") == 3  # one of the kernel, and two of the function


def test_a_call_in_an_argument_of_a_call(kernels: Kernels) -> None:
    i = np.arange(64, dtype=np.int32)
    m, n, y = i % 3, i % 5, np.zeros(64, np.int32)
    kernels.run("nested", 1, 64, m, n, y)
    np.testing.assert_array_equal(y, [0 if k % 3 == 1 else ackermann(int(m[k]), int(n[k])) for k in i])


def test_two_functions_that_call_each_other(kernels: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.integers(-8, 8, 64).astype(np.float32), np.zeros(64, np.float32)
    kernels.run("mutual", 1, 64, x, y)
    np.testing.assert_array_equal(y, [(odd if k % 2 else even)(float(x[k]), k % 7) for k in range(64)])


def test_a_sort_that_divides(kernels: Kernels, rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, (64, 40)).astype(np.int32)
    expected = np.sort(x, 1)
    kernels.run("sorted", 1, 64, x, np.int32(40))
    np.testing.assert_array_equal(x, expected)


def halved(thread: int, area: int, sides: list[float], depth: int) -> tuple[int, list[float]]:
    kept = [sides[k % 3] * (k + 1) for k in range(4)]
    if depth == 3:
        return area, sides
    wider = [side + kept[(depth + thread) % 4] * (k == depth % 3) for k, side in enumerate(sides)]
    area, sides = halved(thread, area * 3, wider, depth + 1)
    return area + int(kept[thread % 4]), sides


def test_structures_and_local_arrays(kernels: Kernels, rng: np.random.Generator) -> None:
    x = rng.integers(-8, 8, 64).astype(np.float32)
    area, sides = np.zeros(64, np.int64), np.zeros((64, 3), np.float32)
    kernels.run("structures", 1, 64, x, area, sides)
    expected = [halved(k, k, [float(x[k]), float(x[k]) + 1, float(x[k]) + 2], 0) for k in range(64)]
    np.testing.assert_array_equal(area, [one for one, _ in expected])
    np.testing.assert_array_equal(sides, [one for _, one in expected])


def test_virtual_methods_that_call_themselves(kernels: Kernels) -> None:
    x, y = np.arange(64, dtype=np.int32) - 20, np.zeros(64, np.int32)
    kernels.run("virtual_tree", 1, 64, x, y)
    one = x * 2 - (x + 5) * 2
    two = (x * 3 - (x + 5) * 3) - x * 2
    np.testing.assert_array_equal(y, np.where(np.arange(64) % 2, two, one))


def test_printf_of_every_depth(kernels: Kernels) -> None:
    printed = kernels.run("told", 1, 6).report.printed.splitlines()
    assert sorted(printed) == sorted(f"{n} of {t}" for t in range(6) for n in range(1, t + 1))


def test_lanes_synchronise_and_wait_inside(kernels: Kernels) -> None:
    y = np.zeros(32, np.int32)
    kernels.run("meets", 1, 32, np.zeros(1, np.int32), y)
    t = np.arange(32)
    np.testing.assert_array_equal(y, t + 6 + 3 * (t ^ 1))


def test_lanes_that_end_inside(kernels: Kernels) -> None:
    y = np.zeros(32, np.int32)
    kernels.run("some_exit", 2, 32, y)  # the second block starts with the registers of the first one
    expected = np.full(32, 7)
    expected[3:16:4] = 2 * (2 * (2 * 1 + 1))
    np.testing.assert_array_equal(y, expected)


def test_the_stack_ends(kernels: Kernels) -> None:
    y = np.zeros(64, np.int32)
    done = kernels.run("overflows", 1, 64, y, faulty=True)
    (fault,) = done.report.faults
    assert (fault.kind, fault.warp, fault.lane, fault.count) == ("stack_overflow", 0, 1, 32)
    assert "recursion.cu:" in str(fault)
    assert "the call of endless is nested 65 deep, which takes more than the thread's stack" in str(fault)
    np.testing.assert_array_equal(y, np.where(np.arange(64) % 2, 0, 5))


def test_a_larger_stack(kernels: Kernels) -> None:
    for stack, depth in ((0, 1), (1024, 65), (4096, 257)):
        arrays = {"y": np.zeros(32, np.int32)}
        run = simulate(kernels.text, "overflows", 1, 32, arrays, stack_bytes=stack)
        assert f"nested {depth} deep" in run.faults[0].text


def test_recursion_counts_its_instructions(kernels: Kernels) -> None:
    few, many = (kernels.run("tree", 1, 32, np.full(32, n, np.int32), np.zeros(32, np.int32)).counters for n in (1, 10))
    calls = 177  # of fibonacci(10)
    assert many.warp_instructions > calls * 10
    assert many.divergent_branches == few.divergent_branches == 0


HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"


def test_which_functions_may_call_themselves() -> None:
    def function(name: str, *calls: str) -> str:
        return f".func {name}() {{ {' '.join(f'call {one};' for one in calls)} ret; }}\n"

    declared = "".join(f".func {name}();\n" for name in "abcdef")
    text = function("a", "b") + function("b", "c", "d") + function("c", "a") + function("d") + function("e", "e")
    module = parse(HEAD + declared + text + function("f", "a", "e"))
    assert recursive_functions(module) == {"a", "b", "c", "e"}


def test_a_routine_follows_the_kernel_once() -> None:
    body = (
        ".func (.param .b32 r) f(.param .b32 n) { .reg .b32 %r<3>; .param .b32 p, q; ld.param.b32 %r1, [n];\n"
        "st.param.b32 [p], %r1; call (q), f, (p); ld.param.b32 %r2, [q]; st.param.b32 [r], %r2; ret; }\n"
        ".visible .entry k() { .param .b32 p, q; call (q), f, (p); call (q), f, (p); }\n"
    )
    flat = inline_calls(parse(HEAD + body), "k")
    assert [one.name for one in flat.routines] == ["f"]
    opcodes = [one.opcode[0] for one in flat.instructions]
    assert opcodes[:3] == ["call", "call", "exit"]
    assert opcodes[-2:] == ["return", "exit"]
    assert flat.instructions[flat.routines[0].end].opcode == ("return",)
