"""Uses the GPU in a process of its own, so that a kernel that hangs, faults or crashes fails only its own rows.

Before each run of an implementation the worker writes a heartbeat into shared memory: the implementation, and the
time. If the worker ends, or its heartbeat stops for too long, the parent ends it, starts another, and runs the case
again without that implementation. A library that is being prepared may compile, and is given more time. So nothing is
measured in a damaged context. If no implementation was running, the case is tried once more before it fails. A worker
in which libraries keep memory is replaced between two cases, so that late cases have as much as early ones.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernelbench.core import streams
from kernelbench.core.contracts import Device
from kernelbench.core.errors import DeviceError, KernelbenchError
from kernelbench.core.records import Binary, DeviceProperties, Limits, Result
from kernelbench.core.stopwatch import STARTING
from kernelbench.measure.bench import CaseLost, InProcessBench
from kernelbench.measure.side_by_side import ParallelBench
from kernelbench.planning.case_plans import CasePlan, Planned
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.own_file import CuFile
from kernelbench.planning.twins import find_implementation
from kernelbench.planning.user_code import end_process

if TYPE_CHECKING:
    from kernelbench.measure.case_run import Settings

PATIENCE_S = 60.0  # time without a heartbeat after which the worker is ended
NOBODY = -1.0  # no implementation runs: memory is filled, or a case has ended
PREPARING = 0.5  # added to the number of an implementation whose library is being prepared
STARTING_S = 300.0  # limit for a process to start, for a library to compile, and for a case to fill its arrays
POLL_S = 0.2
MOST_KEPT_BYTES = 4 * 2**30  # of the GPU's memory after a case, beyond what a new worker takes
ENDING_S = 10.0  # for a process to end, and the driver to free its memory
LEAVING_S = 3.0  # for an idle process to end by itself
# Filters a warning of Python's resource tracker: semaphores that a worker had when it was killed.
_SHARED = "ignore:resource_tracker"

# What the pipe carries. Implementations hold functions, which cannot be pickled, so they are sent by name.
Outcome = tuple[Any, str, Any, Any, Any]  # status, reason, check, measurements and counters of a Result


class _Gone(DeviceError):
    """The worker ended or was ended."""


class WorkerBench:
    """A Bench whose device, made by `opener`, is used by another process.

    `own`: the user's folders and files of kernels. Raises what `opener` raises.
    """

    counting = False

    def __init__(self, opener: Callable[[], Device], own: Sequence[Path | CuFile], patience_s: float) -> None:
        self._opener, self._own, self._patience_s = opener, tuple(own), patience_s
        self._spent: dict[str, float] = {}
        self._idle = self._used = False
        self._first_free_bytes = self._free_bytes = 0  # of a process before its first case, and after the last
        self._start()

    def environment(self) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._ask("environment")
        return answer

    def prepare(self) -> None:
        pass

    def renew(self) -> None:
        if self._used:
            self._end()
            self._start()

    def limits(self, binary: Binary) -> Limits:
        answer: Limits = self._ask("limits", binary)
        return answer

    def run(self, plan: CasePlan, settings: Settings, progress: Callable[[float], None]) -> list[Result]:
        killed, kept_bytes = not self._process.is_alive(), self._first_free_bytes - self._free_bytes
        if killed or kept_bytes > MOST_KEPT_BYTES:
            self._start_anew()
        again = True  # once, if no implementation was running: the process may have been killed from outside
        while any(one.status == "ok" for one in plan.planned):
            self._used = True
            try:
                sent = [(one.implementation.name, one.plan, one.binary, one.status, one.reason) for one in plan.planned]
                outcomes, spent, self._free_bytes = self._ask(
                    "case", plan.case, sent, plan.inputs, settings, progress=progress
                )
                self._spend(spent)
                return [_result(plan, one, outcome) for one, outcome in zip(plan.planned, outcomes, strict=True)]
            except _Gone as gone:
                turn = int(self._heartbeat[0])
                self._start_anew()
                if turn == int(NOBODY) and again:
                    again = False
                else:
                    plan = _without(plan, turn, str(gone))
        return [_result(plan, one, (one.status, one.reason, None, (), ())) for one in plan.planned]

    def side_by_side(self, plans: Sequence[CasePlan]) -> Sequence[ParallelBench]:
        return ()

    def spent(self) -> Mapping[str, float]:
        spent, self._spent = self._spent, {}
        return spent

    def close(self) -> None:
        if self._idle:  # it ends by itself, and gives back the semaphores of libraries: Python warns of those left
            self._pipe.close()
            self._process.join(LEAVING_S)
        self._end()

    # ---- The process ----

    def _start_anew(self) -> None:
        began = time.monotonic()
        self._end()
        self._start()
        self._spend({STARTING: time.monotonic() - began})

    def _spend(self, spent: Mapping[str, float]) -> None:
        self._spent = {what: self._spent.get(what, 0.0) + spent.get(what, 0.0) for what in {**self._spent, **spent}}

    def _start(self) -> None:
        self._used = False  # by a case
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._heartbeat = context.RawArray("d", (NOBODY, time.monotonic()))
        self._process = context.Process(
            target=serve,
            args=(theirs, self._heartbeat, self._opener, self._own),
            name="kernelbench worker",
            daemon=True,
        )
        # The child inherits the mask: Ctrl-C is for the parent, which ends the child.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        # Nor does it import the caller's script, which would run it again.
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        sys.warnoptions.append(_SHARED)
        try:
            self._process.start()
        finally:
            sys.warnoptions.remove(_SHARED)
            sys.modules["__main__"] = main
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        theirs.close()
        self.name: str
        self.properties: DeviceProperties
        try:
            self.name, self.properties, self._first_free_bytes = self._answer()
            self._free_bytes = self._first_free_bytes
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.join(ENDING_S)

    def _ask(self, *request: Any, progress: Callable[[float], None] = lambda share: None) -> Any:
        self._heartbeat[0], self._heartbeat[1] = NOBODY, time.monotonic()
        self._idle = False
        try:
            self._pipe.send(request)
        except OSError as error:
            raise _Gone(self._how_it_ended()) from error
        return self._answer(progress)

    def _answer(self, progress: Callable[[float], None] = lambda share: None) -> Any:
        """The worker's answer; raises its error, or _Gone."""
        while True:
            if self._pipe.poll(POLL_S):
                try:
                    kind, value = self._pipe.recv()
                except (EOFError, OSError) as error:
                    raise _Gone(self._how_it_ended()) from error
                if kind == "error":
                    raise value
                if kind == "lost":
                    raise _Gone(value)
                if kind == "answer":
                    self._idle = True
                    return value
                progress(value)
            silent_s = time.monotonic() - self._heartbeat[1]
            turn = self._heartbeat[0]
            running = turn != NOBODY and turn == int(turn)
            longest_s = self._patience_s if running else max(STARTING_S, self._patience_s)
            if silent_s > longest_s:
                raise _Gone(f"no sign of life for {longest_s:.0f} s: its process was ended (--timeout)")

    def _how_it_ended(self) -> str:
        self._process.join(ENDING_S)
        code = self._process.exitcode
        if code is None:
            return "its process stopped answering"
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"its process ended {how}"


def _without(plan: CasePlan, turn: int, reason: str) -> CasePlan:
    """The case without the implementation that was running; without all if none was."""
    failed = [
        replace(one, status="failed", reason=reason) if one.status == "ok" and turn in (number, int(NOBODY)) else one
        for number, one in enumerate(plan.planned)
    ]
    return replace(plan, planned=tuple(failed))


def _result(plan: CasePlan, one: Planned, outcome: Outcome) -> Result:
    status, reason, check, measurements, counters = outcome
    return Result(
        case=plan.case, implementation=one.implementation, status=status, reason=reason, plan=one.plan,
        binary=one.binary, check=check, measurements=measurements, counters=counters,
    )  # fmt: skip


# ---- In the worker -------------------------------------------------------------------------------


def serve(pipe: Connection, heartbeat: Any, opener: Callable[[], Device], own: Sequence[Path | CuFile]) -> None:
    """Answer requests until the pipe closes or the device is lost."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # libraries may unblock it, see _start
    streams.prepare()  # printing to a closed stream must not end the worker
    warnings.simplefilter("ignore")  # of libraries, about their own code; errors become the reasons of rows
    logging.disable(logging.WARNING)  # likewise
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    names: list[str] = []

    def beat(name: str, preparing: bool = False) -> None:
        heartbeat[1] = time.monotonic()
        heartbeat[0] = names.index(name) + (PREPARING if preparing else 0.0) if name else NOBODY

    try:
        catalog = load_catalog(specimens=True, own=own)
        bench = InProcessBench(opener(), catalog, beat)
        pipe.send(("answer", (bench.name, bench.properties, bench.device.free_bytes())))
        while True:
            request, *arguments = pipe.recv()
            if request == "environment":
                answer: Any = dict(bench.environment())
            elif request == "limits":
                answer = bench.limits(*arguments)
            else:
                case, sent, inputs, settings = arguments
                names[:] = [one[0] for one in sent]
                found = catalog.implementations[case.operation]
                planned = tuple(Planned(find_implementation(found, name), *rest) for name, *rest in sent)
                plan = CasePlan(case, planned, inputs)
                results = bench.run(plan, settings, _Teller(pipe))
                outcomes = [(one.status, one.reason, one.check, one.measurements, one.counters) for one in results]
                answer = (outcomes, bench.spent(), bench.device.free_bytes())
            pipe.send(("answer", answer))
    except CaseLost as error:
        pipe.send(("lost", str(error)))
        end_process(1)  # at once: destructors would free memory in a lost context
    except KernelbenchError as error:
        pipe.send(("error", error))
    except (EOFError, BrokenPipeError):
        pass  # the parent has finished or died


class _Teller:
    """Sends the finished share of a case, at most once per POLL_S."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._told = pipe, 0.0

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now - self._told > POLL_S:
            self._told = now
            self._pipe.send(("progress", share))


def _end_with(parent: int) -> None:
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(1)
    end_process(1)
