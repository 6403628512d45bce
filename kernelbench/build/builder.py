"""Compiles many kernels at once: the cache first, then nvcc in parallel."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from kernelbench.build.cache import CUBIN, LIBRARY, PTX, Cache, CacheEntry, request_key
from kernelbench.build.code_notes import note_all
from kernelbench.build.compiler import Compiler
from kernelbench.build.compiler_limits import kept_output, limit_advice, limit_compiler
from kernelbench.build.dependencies import Dependencies, Files
from kernelbench.build.facts import entry_facts
from kernelbench.build.request import BuildRequest, require_plain, rule_of, shown_path
from kernelbench.core import processes
from kernelbench.core.errors import BuildError, InputError, full_disk_advice
from kernelbench.core.records import Binary, EntryFacts
from kernelbench.core.sources import source_content

# on_done(request, result, done, total), called in the caller's thread as each request is finished
OnDone = Callable[[BuildRequest, "Binary | BuildError", int, int], None]

TIMEOUT_S = 300.0
_TRIES = 3  # for a source that changes while it is compiled
_LINE = 2000  # characters of an error that are shown
_OUTPUT = "output.txt"  # file of the workspace for what a compiler prints
_LEAST_OF_CUDA_13 = 75  # compute capability, times ten

# `x.cu(12): error: ...` of nvcc's own front end, `x.cu:12:3: fatal error: ...` of the host compiler
_ERROR_AT = re.compile(
    r"^(?P<file>[^\s(:][^(:]*)(?:\((?P<line>\d+)\)|:(?P<gcc_line>\d+)(?::\d+)?): (?P<text>(?:\w+ )?error\b.*)$"
)
# `nvcc fatal   : ...`, `<built-in>: fatal error: ...`, `ptxas error   : ...`, `ptxas x.ptx, line 12; error   : ...`
_ERROR = re.compile(r"^<?\w[\w+]*\b.*\b(?:error|fatal)\s*:")
# nvcc itself was killed; `nvcc error   : 'cicc' died due to signal 9 (Kill signal)`; `g++: fatal error: Killed signal
# ..`
_KILLED = re.compile(r"ended by signal 9\b|died due to signal 9\b|Killed signal")


def build(
    requests: Iterable[BuildRequest],
    compiler: Compiler,
    cache_folder: Path,
    *,
    jobs: int | None = None,
    timeout_s: float = TIMEOUT_S,
    on_done: OnDone | None = None,
    notes: bool = False,
) -> dict[BuildRequest, Binary | BuildError]:
    """Compile each distinct request once, `jobs` at a time (as many as there are CPUs if None).

    A BuildError takes the place of a kernel that cannot be read, does not compile, takes more than `timeout_s` per
    step, or whose binary cannot be kept. `notes`: access_notes() of kernels with shared memory are found, too. If
    its compiler was killed, a kernel is tried once more, alone, because several compilers may have used up the memory.
    InputError if the cache folder cannot exist. Anything else that ends this function, such as Ctrl-C, also ends the
    compilers and leaves no incomplete entry.
    """
    require_plain(cache_folder.absolute())  # its files are arguments of nvcc
    cache = Cache(cache_folder)
    wanted = list(dict.fromkeys(requests))
    results: dict[BuildRequest, Binary | BuildError] = {}
    compilers, files = _Compilers(timeout_s), Files()
    for workers in (jobs or len(os.sched_getaffinity(0)), 1):
        left = [request for request in wanted if request not in results]
        with ThreadPoolExecutor(workers, thread_name_prefix="nvcc") as pool:
            try:
                # A queue, since an exception within as_completed can leave the lock of a future held for good.
                done: SimpleQueue[Future[tuple[BuildRequest, Binary | BuildError]]] = SimpleQueue()
                for one in left:
                    pool.submit(_build_into, done, one, compiler, cache, compilers, files)
                for _ in left:
                    request, result = done.get().result()
                    if isinstance(result, _Killed) and workers > 1:
                        continue
                    results[request] = result
                    if on_done is not None:
                        on_done(request, result, len(results), len(wanted))
            except BaseException:  # such as KeyboardInterrupt: no compiler may outlive the call
                compilers.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    if notes:
        note_all((result for result in results.values() if isinstance(result, Binary)), compiler)
    return {request: results[request] for request in wanted}


class _Killed(BuildError):
    """The compiler, or a program that it started, was killed, most likely by the system for lack of memory."""


def _build_into(
    done: SimpleQueue[Future[tuple[BuildRequest, Binary | BuildError]]],
    request: BuildRequest,
    compiler: Compiler,
    cache: Cache,
    compilers: _Compilers,
    files: Files,
) -> None:
    future: Future[tuple[BuildRequest, Binary | BuildError]] = Future()
    try:
        future.set_result((request, _build_one(request, compiler, cache, compilers, files)))
    except BaseException as error:  # raised in the caller's thread
        future.set_exception(error)
    done.put(future)


def _build_one(
    request: BuildRequest, compiler: Compiler, cache: Cache, compilers: _Compilers, files: Files
) -> Binary | BuildError:
    try:
        source = files.hash(str(request.source.absolute()))
        if not source:
            source_content(request.source.absolute())  # raises the reason
        entry, cached = cache.find(request_key(request, compiler, source), request, files), True
        if entry is None:
            entry, cached = _compile(request, compiler, cache, compilers), False
    except BuildError as error:
        return error
    except InputError as error:  # of the source or the cache: compiling again would not help
        return BuildError(str(error), request.shown_command(compiler), "")
    return Binary(
        key=entry.folder.name,
        path=entry.folder / (LIBRARY if request.host_code else CUBIN),
        ptx_path=entry.folder / PTX,
        architecture=request.architecture,
        command=request.shown_command(compiler),
        facts=entry.facts,
        cached=cached,
    )


def _compile(request: BuildRequest, compiler: Compiler, cache: Cache, compilers: _Compilers) -> CacheEntry:
    """Compile, again if a file that the compiler read was written meanwhile."""
    command, before = request.shown_command(compiler), None
    for _ in range(_TRIES):
        with cache.workspace() as workspace:
            began = workspace.stat().st_ctime_ns
            facts = _made(request, compiler, workspace, compilers)
            try:
                found = Dependencies.read(rule_of(workspace / (LIBRARY if request.host_code else PTX)), request)
            except OSError as error:
                raise _failure(f"nvcc did not list the files that it read: {error.strerror}", command, "") from error
            if found == before or not found.changed_since(began, request):
                key = request_key(request, compiler, found.source)
                return cache.publish(workspace, key, found, facts, shlex.join(command))
            before = found
    raise _failure("its source or a header changed during each compilation; build again", command, "")


def _made(
    request: BuildRequest, compiler: Compiler, workspace: Path, compilers: _Compilers
) -> Mapping[str, EntryFacts]:
    """Compile in the workspace; returns the facts of each entry."""
    command = request.shown_command(compiler)
    if request.host_code:
        compilers.run(request.host_command(compiler, workspace / LIBRARY), workspace, command)
        return {}
    ptx, cubin = workspace / PTX, workspace / CUBIN
    compilers.run(request.ptx_command(compiler, ptx), workspace, command)
    log = compilers.run(request.cubin_command(compiler, ptx, cubin), workspace, command)
    try:
        text = ptx.read_text()
        return entry_facts(text, log)
    except (OSError, ValueError, LookupError) as error:
        raise _failure(f"nvcc left nothing usable: {error}", command, log) from error


class _Compilers:
    """Runs compilers, and can end all that are running."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, command: Sequence[str], workspace: Path, shown: Sequence[str]) -> str:
        """All that the command printed. BuildError, with `shown` as the command, if it fails."""
        # TMPDIR: files of a killed nvcc are deleted with the workspace. LC_ALL: errors are parsed below.
        environment = {**os.environ, "TMPDIR": str(workspace), "LC_ALL": "C"}
        output = workspace / _OUTPUT
        with self._lock:
            if self._stopped:
                raise _failure("not compiled: the build was ended", shown, "")
            try:
                process = processes.start(command, environment, output, workspace)
            except OSError as error:
                raise _failure(f"nvcc cannot be started: {error}", shown, "") from error
            limit_compiler(process.pid)
            self._running.add(process)
        try:
            processes.wait(process, self._timeout_s)
        except subprocess.TimeoutExpired as expired:
            text = f"nvcc did not finish within {self._timeout_s:g} s and was ended"
            raise _failure(text, shown, kept_output(output)) from expired
        finally:
            with self._lock:
                self._running.discard(process)
        log = kept_output(output)
        if process.returncode != 0:
            text = first_error(log, process.returncode)
            if _KILLED.search(text):
                more = "memory may have run out: end other programs, or give the container more memory"
                raise _failure(f"{text}; {more}", shown, log, _Killed)
            raise _failure(f"{text}{_advice(log, workspace.parent)}", shown, log)
        return log

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                processes.end(process)


def _failure(text: str, command: Sequence[str], log: str, kind: type[BuildError] = BuildError) -> BuildError:
    return kind(f"{text}\n  command: {shlex.join(command)}", command, log)


def _advice(log: str, folder: Path) -> str:
    return f"{limit_advice(log)}{full_disk_advice(log, folder)}{_architecture_advice(log)}"


def _architecture_advice(log: str) -> str:
    found = re.search(r"Unsupported gpu architecture 'sm_(\d+)", log)
    if not found:
        return ""
    if int(found[1]) < _LEAST_OF_CUDA_13:
        return f"; nvcc compiles for sm_{_LEAST_OF_CUDA_13} and newer since CUDA 13: name one of CUDA 12 with --nvcc"
    return "; this nvcc is older than the GPU: name a newer one with --nvcc"


def first_error(log: str, returncode: int) -> str:
    """The first error of a compiler's output, as `file:line: error: ...` where it has a place."""
    lines = [line.strip()[:_LINE] for line in log.splitlines() if line.strip()]
    for match in filter(None, map(_ERROR_AT.match, lines)):
        return f"{shown_path(Path(match['file']))}:{match['line'] or match['gcc_line']}: {match['text']}"
    for line in filter(_ERROR.search, lines):
        return line
    signal_number = -returncode if returncode < 0 else returncode - 128  # of nvcc, or of a part as its shell reports it
    if 0 < signal_number <= 64:
        return f"nvcc was ended by signal {signal_number}"
    return lines[-1] if lines else f"nvcc ended with status {returncode} and said nothing"
