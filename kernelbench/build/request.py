"""One kernel source to be compiled, and the nvcc commands that do it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelbench import places
from kernelbench.argument_checks import define_problem
from kernelbench.build.compiler import Compiler
from kernelbench.errors import InputError
from kernelbench.launching import LaunchPlan
from kernelbench.texts import one_line

FLAGS = ("-O3", "-std=c++17", "-lineinfo")

_ARCHITECTURE = re.compile(r"sm_\d+[af]?")
# nvcc hands its command line on to a shell, within double quotes, and takes a list apart at its commas.
_NOT_PLAIN = re.compile(r"""[$`"\\,\x00-\x1f\x7f]""")
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>|([^\n]*))", re.MULTILINE)


@dataclass(frozen=True)
class BuildRequest:
    """A .cu, its compile-time constants and the GPU architecture (`sm_90`) it is built for."""

    source: Path
    defines: tuple[tuple[str, str | int], ...]
    architecture: str
    debug: bool = False  # nvcc -G: nothing is optimised
    host_code: bool = False  # a shared library whose host code launches the kernels

    @classmethod
    def of(cls, source: Path, plan: LaunchPlan, architecture: str) -> BuildRequest:
        """What a plan asks of its source."""
        return cls(source, plan.defines, architecture, plan.debug, plan.host is not None)

    def __post_init__(self) -> None:
        if not _ARCHITECTURE.fullmatch(self.architecture):
            raise InputError(f"architecture {self.architecture!r}: expected the form sm_90")
        if problem := define_problem(self.defines):
            raise InputError(f"{self.source}: {problem}")
        for path in (self.source.absolute(), *self.include_folders):
            require_plain(path)

    @property
    def include_folders(self) -> tuple[Path, ...]:
        """The folder that holds the operation's folder, and the project's kernels."""
        return tuple(dict.fromkeys((self.source.absolute().parent.parent, places.KERNELS)))

    @property
    def flags(self) -> tuple[str, ...]:
        """The last one is for ptxas as well."""
        return (*FLAGS[:-1], "-G") if self.debug else FLAGS

    @property
    def define_options(self) -> list[str]:
        return [f"-D{name}={int(value) if isinstance(value, int) else value}" for name, value in self.defines]

    def ptx_command(self, compiler: Compiler, output: Path) -> list[str]:
        includes = [f"-I{folder}" for folder in self.include_folders]
        # An absolute path never starts with '-', so it cannot be taken for an option.
        files = ["-o", str(output), str(self.source.absolute())]
        return [
            str(compiler.path),
            "-ptx",
            f"-arch={self.architecture}",
            *self.flags,
            *includes,
            *self.define_options,
            *files,
        ]

    def cubin_command(self, compiler: Compiler, ptx: Path, output: Path) -> list[str]:
        options = ["-cubin", f"-arch={self.architecture}", self.flags[-1], "-Xptxas", "-v"]
        return [str(compiler.path), *options, "-o", str(output), str(ptx)]

    def host_command(self, compiler: Compiler, output: Path) -> list[str]:
        includes = [f"-I{folder}" for folder in self.include_folders]
        options = ["-shared", "-Xcompiler", "-fPIC", f"-arch={self.architecture}", *self.flags, *includes]
        return [str(compiler.path), *options, *self.define_options, "-o", str(output), str(self.source.absolute())]

    def shown_command(self, compiler: Compiler) -> tuple[str, ...]:
        """Both steps as one command to copy, from the current folder: it leaves a cubin there."""
        includes = [f"-I{shown_path(folder)}" for folder in self.include_folders]
        options = [f"-arch={self.architecture}", *self.flags, *includes, *self.define_options]
        if self.host_code:
            options = ["-shared", "-Xcompiler", "-fPIC", *options]
            return (compiler.name, *options, "-o", f"./{self.source.stem}.so", shown_path(self.source.absolute()))
        options += ["-Xptxas", "-v"]
        files = ("-o", f"./{self.source.stem}.cubin", shown_path(self.source.absolute()))
        return (compiler.name, "-cubin", *options, *files)

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """The source, then every header that it includes from its own folder or the include folders, however
        deep, as spelled in its #include. The toolkit's own headers are left to the compiler's version.

        InputError for a file that cannot be read, and for an #include that does not say which file it means.
        """
        waiting: list[tuple[str, Path]] = [("source", self.source.absolute())]
        seen: set[Path] = set()
        while waiting:
            spelled, path = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            text = _content(path)
            yield spelled, text
            for found in _INCLUDE.finditer(text):
                quoted, angled, other = found.groups()
                if other is not None:
                    line = text.count(b"\n", 0, found.start()) + 1
                    raise InputError(
                        f"{path}:{line}: #include {one_line(os.fsdecode(other))[:80]}: expected a header's name in "
                        "quotes or <>; a binary is known by all that it includes, and a macro does not tell"
                    )
                name = os.fsdecode(quoted or angled)
                folders = [path.parent, *self.include_folders] if quoted else self.include_folders
                waiting += [(name, header) for header in _first_file(folders, name)]


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a file; expected CUDA source here")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected CUDA source here") from error


def _first_file(folders: Iterable[Path], name: str) -> list[Path]:
    """The first file of that name, if there is one; what is none to the operating system is left to nvcc."""
    try:
        return [(folder / name).resolve() for folder in folders if (folder / name).is_file()][:1]
    except OSError:  # a name that is too long, a folder that cannot be entered
        return []


def require_plain(path: Path) -> None:
    """InputError for a path that nvcc would not take as it is."""
    if found := _NOT_PLAIN.search(str(path)):
        raise InputError(f"{str(path)!r}: nvcc cannot be given a path with {found[0]!r} in it; move or rename it")


def shown_path(path: Path) -> str:
    """Relative to the current folder where it lies below it, unless that would look like an option."""
    try:
        relative = str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
    return str(path) if relative.startswith("-") else relative
