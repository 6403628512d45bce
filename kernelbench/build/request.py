"""One kernel source to be compiled, and the nvcc commands that do it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kernelbench.build.compiler import Compiler
from kernelbench.core import sources
from kernelbench.core.argument_checks import define_problem
from kernelbench.core.errors import InputError
from kernelbench.core.launching import LaunchPlan

FLAGS = ("-O3", "-std=c++17", "-lineinfo")

_ARCHITECTURE = re.compile(r"sm_\d+[af]?")
# nvcc passes its command line to a shell, in double quotes, and splits lists at commas.
_NOT_PLAIN = re.compile(r"""[$`"\\,\x00-\x1f\x7f]""")


@dataclass(frozen=True)
class BuildRequest:
    """A .cu, its compile-time constants and its GPU architecture (`sm_90`)."""

    source: Path
    defines: tuple[tuple[str, str | int], ...]
    architecture: str
    debug: bool = False  # nvcc -G: nothing is optimised
    host_code: bool = False  # a shared library whose host code launches the kernels

    @classmethod
    def of(cls, source: Path, plan: LaunchPlan, architecture: str) -> BuildRequest:
        """The request that a plan makes: of this source, or of the one beside it that it names."""
        own = source.with_name(plan.source) if plan.source else source
        return cls(own, plan.defines, architecture, plan.debug, plan.host is not None)

    def __post_init__(self) -> None:
        if not _ARCHITECTURE.fullmatch(self.architecture):
            raise InputError(f"architecture {self.architecture!r}: expected the form sm_90")
        if problem := define_problem(self.defines):
            raise InputError(f"{self.source}: {problem}")
        for path in (self.source.absolute(), *self.include_folders):
            require_plain(path)

    @property
    def include_folders(self) -> tuple[Path, ...]:
        return sources.include_folders(self.source)

    @property
    def flags(self) -> tuple[str, ...]:
        """The last flag is for ptxas as well."""
        return (*FLAGS[:-1], "-G") if self.debug else FLAGS

    @property
    def define_options(self) -> list[str]:
        return [f"-D{name}={int(value) if isinstance(value, int) else value}" for name, value in self.defines]

    def ptx_command(self, compiler: Compiler, output: Path) -> list[str]:
        """To be run in the folder of `output`. This also lists the files that it reads: a make rule in
        `rule_of(output)`."""
        includes = [f"-I{folder}" for folder in self.include_folders]
        # An absolute path never starts with '-', so it cannot be taken for an option.
        files = ["-o", str(output), str(self.source.absolute())]
        return [
            str(compiler.path.absolute()),
            "-ptx",
            f"-arch={self.architecture}",
            *self.flags,
            *includes,
            *self.define_options,
            # Of the host compiler, as it preprocesses for the GPU. nvcc's own -MD preprocesses for the host as well, on
            # which PTX does not depend: a quarter of a small kernel's time. nvcc passes this word to a shell as it is,
            # so it is a plain name in the compiler's current folder.
            "-Xcompiler",
            f"-MD,-MF,{rule_of(output).name}",
            *files,
        ]

    def cubin_command(self, compiler: Compiler, ptx: Path, output: Path) -> list[str]:
        options = ["-cubin", f"-arch={self.architecture}", self.flags[-1], "-Xptxas", "-v"]
        return [str(compiler.path.absolute()), *options, "-o", str(output), str(ptx)]

    def host_command(self, compiler: Compiler, output: Path) -> list[str]:
        includes = [f"-I{folder}" for folder in self.include_folders]
        options = ["-shared", "-Xcompiler", "-fPIC", f"-arch={self.architecture}", *self.flags, *includes]
        options += [*self.define_options, "-MD", "-MF", str(rule_of(output))]
        return [str(compiler.path.absolute()), *options, "-o", str(output), str(self.source.absolute())]

    def shown_command(self, compiler: Compiler) -> tuple[str, ...]:
        """Both steps as one command that the user can copy; it writes a cubin to the current folder."""
        includes = [f"-I{shown_path(folder)}" for folder in self.include_folders]
        options = [f"-arch={self.architecture}", *self.flags, *includes, *self.define_options]
        if self.host_code:
            options = ["-shared", "-Xcompiler", "-fPIC", *options]
            return (compiler.name, *options, "-o", f"./{self.source.stem}.so", shown_path(self.source.absolute()))
        options += ["-Xptxas", "-v"]
        files = ("-o", f"./{self.source.stem}.cubin", shown_path(self.source.absolute()))
        return (compiler.name, "-cubin", *options, *files)


def rule_of(output: Path) -> Path:
    """Where nvcc lists the files from which it made `output`."""
    return output.with_suffix(".d")


def require_plain(path: Path) -> None:
    """InputError for a path that nvcc would change."""
    if found := _NOT_PLAIN.search(str(path)):
        raise InputError(f"{str(path)!r}: nvcc cannot be given a path with {found[0]!r} in it; move or rename it")


def shown_path(path: Path) -> str:
    """The path relative to the current folder if it lies below it, unless that would look like an option."""
    try:
        relative = str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
    return str(path) if relative.startswith("-") else relative
