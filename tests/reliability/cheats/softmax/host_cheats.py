"""Ways of library calls to seem fast: each computes softmax once somewhere, and not where and when it is timed."""

import threading
import time
from collections.abc import Callable
from typing import Any

from kernelbench import Arrays, Case, Implementation, Origin, import_library

Call = Callable[[], Any]


class _Softmax:
    """The work itself, in a stream: `into` an array, or as a new one."""

    def __init__(self, arrays: Arrays, stream: int) -> None:
        self.cupy = import_library("cupy")
        self.x, self.y = self.cupy.asarray(arrays["x"]), self.cupy.asarray(arrays["y"])
        self.own = self.cupy.cuda.ExternalStream(stream)

    def answer(self, x: Any = None) -> Any:
        x = self.x if x is None else x
        powers = self.cupy.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def write(self, stream: Any = None, rows: slice = slice(None)) -> None:
        with stream or self.own:
            self.y[rows] = self.answer(self.x[rows])


def remembers_its_first_answer(case: Case, arrays: Arrays, stream: int) -> Call:
    work, answers = _Softmax(arrays, stream), []

    def call() -> None:
        with work.own:
            if not answers:
                answers.append(work.answer())
            work.y[...] = answers[0]

    return call


def looks_at_some_elements(case: Case, arrays: Arrays, stream: int) -> Call:
    """The answer of before, unless some elements tell that the input is another."""
    work, answers = _Softmax(arrays, stream), {}

    def call() -> None:
        with work.own:
            probe = work.x.reshape(-1)[:: max(1, case.elements // 8)].tobytes() if not _capturing(work) else None
            if probe is not None and probe not in answers:
                answers.clear()
                answers[probe] = work.answer()
            work.y[...] = next(iter(answers.values()))

    return call


def computes_when_prepared(case: Case, arrays: Arrays, stream: int) -> Call:
    work = _Softmax(arrays, stream)
    with work.own:
        answer = work.answer()

    def call() -> None:
        with work.own:
            work.y[...] = answer

    return call


def every_second_call(case: Case, arrays: Arrays, stream: int) -> Call:
    """Of two calls in a row, as a warm sample has them, the first computes."""
    work, answers, calls = _Softmax(arrays, stream), [], []

    def call() -> None:
        calls.append(None)
        with work.own:
            if len(calls) > 1 and answers:
                work.y[...] = answers.pop()
            else:
                answers[:] = [work.answer()]
                work.y[...] = answers[0]

    return call


def works_elsewhere_before(case: Case, arrays: Arrays, stream: int) -> Call:
    """In another stream, which does not wait for the flush."""
    work = _Softmax(arrays, stream)
    other = work.cupy.cuda.Stream(non_blocking=True)
    return lambda: work.write(other)


def half_elsewhere(case: Case, arrays: Arrays, stream: int) -> Call:
    work, half = _Softmax(arrays, stream), case.shape[0] // 2
    other = work.cupy.cuda.Stream(non_blocking=True)

    def call() -> None:
        work.write(other, slice(half, None))
        work.write(None, slice(0, half))

    return call


def works_elsewhere_after(case: Case, arrays: Arrays, stream: int) -> Call:
    """In another stream, which waits for the timed one."""
    work = _Softmax(arrays, stream)
    other = work.cupy.cuda.Stream(non_blocking=True)
    reached = work.cupy.cuda.Event(disable_timing=True)

    def call() -> None:
        reached.record(work.own)
        other.wait_event(reached)
        work.write(other)

    return call


def works_in_a_thread(case: Case, arrays: Arrays, stream: int) -> Call:
    """Some time after the call has returned."""
    work = _Softmax(arrays, stream)
    device = work.cupy.cuda.Device()
    other = work.cupy.cuda.Stream(non_blocking=True)

    def later() -> None:
        time.sleep(300e-6)
        with device:
            work.write(other)

    return lambda: threading.Thread(target=later).start()


def computes_nothing_in_graphs(case: Case, arrays: Arrays, stream: int) -> Call:
    work, answers = _Softmax(arrays, stream), []

    def call() -> None:
        with work.own:
            if not _capturing(work):
                answers[:] = [work.answer()]
            work.y[...] = answers[0]

    return call


def returns_its_input(case: Case, arrays: Arrays, stream: int) -> Call:
    work = _Softmax(arrays, stream)
    return lambda: {"y": work.x}


def returns_memory_as_it_is(case: Case, arrays: Arrays, stream: int) -> Call:
    """In which the answer of somebody else may still be."""
    work = _Softmax(arrays, stream)
    return lambda: {"y": work.cupy.empty_like(work.x)}


def returns_the_same_result(case: Case, arrays: Arrays, stream: int) -> Call:
    work, answers = _Softmax(arrays, stream), []

    def call() -> Arrays:
        with work.own:
            if not answers:
                answers.append(work.answer())
        return {"y": answers[0]}

    return call


def _capturing(work: _Softmax) -> bool:
    return bool(work.own.is_capturing())


CALLS = (
    remembers_its_first_answer, looks_at_some_elements, computes_when_prepared, every_second_call,
    works_elsewhere_before, half_elsewhere, works_elsewhere_after, works_in_a_thread, computes_nothing_in_graphs,
    returns_its_input, returns_memory_as_it_is, returns_the_same_result,
)  # fmt: skip
IMPLEMENTATIONS = tuple(Implementation(call.__name__, "a cheat", Origin("test"), prepare=call) for call in CALLS)
