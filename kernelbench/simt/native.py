"""Builds the C++ runtime once with g++, caches it by the hash of its sources, and loads it."""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from kernelbench.core import places, processes
from kernelbench.core.errors import BuildError, InputError, NoCompiler, RunWarning, full_disk_advice
from kernelbench.core.workspaces import delete_old_workspaces, one_at_a_time, workspace
from kernelbench.simt.interface import check

RUNTIME = Path(__file__).parent / "runtime"
# Contraction to fma and relaxed floating-point rules would change results. -fno-trapping-math does not, and lets the
# compiler vectorise conditions. The headers of C++20's library take g++ three times as long as those of C++17's.
FLAGS = ("-std=gnu++17", "-O2", "-ftree-vectorize", "-fPIC", "-march=native", "-ffp-contract=off", "-fno-math-errno",
         "-fno-trapping-math", "-fno-strict-aliasing", "-pthread")  # fmt: skip
SANITIZE = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g1")
TIMEOUT_S = 900.0  # for g++ to compile one file
# Files that are compiled in one go, because reading their headers takes as long as compiling them.
_TOGETHER = (
    ("access_block", "access_global", "memory"),
    ("asynchronous", "bulk", "mbarriers", "tensors"),
    ("barriers", "calls", "faults", "group", "interpreter", "rounds", "splits"),
    ("halves", "warp_ops"),
    ("heap", "inputs", "launch", "printf", "tally"),
    ("layout", "marks", "shadow", "shadow_clocks", "shadow_rows", "shared_places"),
)
# Files of operations that few kernels have: a second library, built when one of these is asked for first. They call the
# other files, which never call them.
_SELDOM = frozenset((
    "arith_carry", "arith_formats", "atomics", "atomics_vector", "convert_eight_bits", "convert_limited",
    "matrix_moves", "matrix_products", "texture", "video", "warpgroup",
))  # fmt: skip


@lru_cache(maxsize=2)
def runtime(sanitize: bool = False) -> ctypes.CDLL:
    """The runtime, built if it is not cached. `sanitize`: with AddressSanitizer and UBSan, for a process that was
    started with libasan.

    Raises NoCompiler if there is no g++, BuildError if g++ fails or the library cannot be loaded, InputError if the
    cache cannot be written."""
    found = _loaded(built(sanitize))
    check(found)
    found.simt_take_marks.restype = ctypes.c_uint64
    found.simt_take_marks.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32)
    found.simt_generate.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
    found.simt_generate.restype = found.simt_launch.restype = None
    found.simt_launch.argtypes = (ctypes.c_void_p,)
    return found


@lru_cache(maxsize=2)
def _seldom(sanitize: bool) -> ctypes.CDLL:
    return _loaded(built(sanitize, seldom=True))


def _loaded(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(f"{path}: cannot be loaded ({error}); delete it to build it again", (), "") from error


def has_operation(name: str) -> bool:
    """Whether the runtime has the operation `name`, like "add_u32"."""
    return hasattr(runtime(), f"op_{name}") or hasattr(_seldom(False), f"op_{name}")


def operation(name: str, sanitize: bool = False) -> int:
    """Address of an operation."""
    library = runtime(sanitize)
    if not hasattr(library, f"op_{name}"):
        library = _seldom(sanitize)
    address = ctypes.cast(getattr(library, f"op_{name}"), ctypes.c_void_p).value
    assert address is not None
    return address


def _compiler() -> list[str]:
    """The command in CXX, a path or words as in make ("ccache g++"); g++ if CXX is not set."""
    said = os.environ.get("CXX", "")
    try:
        words = [said] if shutil.which(said) else shlex.split(said) or ["g++"]
    except ValueError as error:
        raise NoCompiler(f"CXX={said!r:.200}: {error}; expected a compiler and its options") from error
    found = shutil.which(words[0])
    if found is None:
        raise NoCompiler(
            f"{words[0]} not found: the simulator is C++ that is built once on this machine; "
            "install g++ 11 or newer (Debian, Ubuntu: apt install g++) or name a compiler in CXX"
        )
    return [found, *words[1:]]


def compiler_text() -> str:
    """Name and version of the compiler that builds the runtime: `g++ 12.2.0`. NoCompiler if there is none."""
    compiler = _compiler()
    said = _said(compiler, "-dumpfullversion", "-dumpversion")
    name = " ".join((Path(compiler[0]).name, *compiler[1:]))
    return f"{name} {said.split()[0] if said else ''}".rstrip()


def _said(compiler: Sequence[str], *options: str) -> str:
    try:
        return processes.output_of([*compiler, *options], limit_s=60, check=False)
    except processes.FAILED as error:
        raise NoCompiler(
            f"{compiler[0]} cannot be run: {error}; install g++ 11 or newer, or name one in CXX"
        ) from error


def built(sanitize: bool = False, *, seldom: bool = False) -> Path:
    """Path of the shared library, or of that of the seldom operations. Objects are cached too, so only changed units
    are compiled."""
    first = built(sanitize) if seldom else None
    compiler = _compiler()
    flags = (*FLAGS, *(SANITIZE if sanitize else ()))
    version = _said(compiler, "--version")
    headers = [path.read_bytes() for path in sorted(RUNTIME.glob("*.hpp"))]
    common = _digest(repr((compiler[1:], flags, version, _processor())).encode(), *headers)
    folder = places.cache() / "simulator"
    objects = {
        unit: folder / f"{unit[0].stem}-{_digest(common.encode(), *(path.read_bytes() for path in unit))}.o"
        for unit in _units(seldom)
    }
    names = [one.name for one in (*objects.values(), *([first] if first else []))]
    target = folder / f"{'seldom' if first else 'runtime'}-{_digest(*map(str.encode, names))}.so"
    # The first library is found beside the second one, wherever the cache has been moved to.
    links = [f"-L{folder}", f"-l:{first.name}", "-Wl,-rpath,$ORIGIN"] if first else []
    if _whole(target):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(folder):
            if _whole(target):  # another process built it meanwhile
                return target
            delete_old_workspaces(folder)
            if target.exists():
                warnings.warn(f"{target}: does not match its hash; it is built anew", RunWarning, stacklevel=2)
            missing = [(unit, made) for unit, made in objects.items() if not _whole(made)]
            missing.sort(key=lambda pair: -sum(path.stat().st_size for path in pair[0]))
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                try:
                    list(pool.map(lambda pair: _make([*compiler, *flags, *_sources(pair[0])], pair[1]), missing))
                except BaseException:  # mostly Ctrl-C: g++ takes a minute
                    pool.shutdown(wait=False, cancel_futures=True)
                    processes.end_all()
                    raise
            _make([*compiler, *flags, "-shared", *map(str, objects.values()), *links], target)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot keep the simulator here ({error.strerror or error}); "
            "make it writable or free room, or name another folder in KERNELBENCH_CACHE"
        ) from error
    return target


def _units(seldom: bool) -> list[tuple[Path, ...]]:
    """The files of a library, each with those that are compiled with it."""
    first = {name: names[0] for names in _TOGETHER for name in names}
    units: dict[str, list[Path]] = {}
    for path in sorted(path for path in RUNTIME.glob("*.cpp") if (path.stem in _SELDOM) == seldom):
        units.setdefault(first.get(path.stem, path.stem), []).append(path)
    return [tuple(unit) for unit in units.values()]


def _sources(unit: Sequence[Path]) -> list[str]:
    *before, last = map(str, unit)
    return [*(word for path in before for word in ("-include", path)), "-c", last]


def _whole(path: Path) -> bool:
    """Whether the file matches the hash next to it. A damaged library could crash or count wrongly."""
    try:
        return _hash_file(path).read_text() == sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return False


def _hash_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _digest(*parts: bytes) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:24]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine() + platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(next((line for line in lines if line.startswith(name)), "") for name in wanted)


def _make(command: Sequence[str], target: Path) -> None:
    """Run the compiler; its output is moved to `target` atomically."""
    with workspace(target.parent) as folder:
        made = folder / target.name
        try:
            environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C"}
            process = processes.start([*command, "-o", str(made)], environment, folder / "output.txt")
            processes.wait(process, TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            text = f"the simulator cannot be built: {command[0]} did not finish within {TIMEOUT_S:g} s and was ended"
            raise BuildError(text, command, "") from error
        if process.returncode:
            log = (folder / "output.txt").read_text(errors="replace")
            ended = f"{command[0]} ended with status {process.returncode} and said nothing of an error"
            first = next((line for line in log.splitlines() if "error" in line), ended)
            advice = full_disk_advice(log, target.parent)
            raise BuildError(f"the simulator cannot be built: {first}{advice}", command, log)
        made_hash = _hash_file(made)
        made_hash.write_text(sha256(made.read_bytes()).hexdigest())
        os.replace(made, target)
        os.replace(made_hash, _hash_file(target))
