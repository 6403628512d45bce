"""Builds kernels: finds nvcc, compiles sources in parallel into a cache, reads facts from PTX and ptxas."""

from kernelbench.build.builder import OnDone, build
from kernelbench.build.code_notes import access_notes, code_lines, may_share
from kernelbench.build.compiler import Compiler, find_compiler
from kernelbench.build.machine_code import code_hashes
from kernelbench.build.request import FLAGS, BuildRequest
from kernelbench.build.sass import machine_lines

__all__ = [
    "FLAGS",
    "BuildRequest",
    "Compiler",
    "OnDone",
    "access_notes",
    "build",
    "code_hashes",
    "code_lines",
    "find_compiler",
    "machine_lines",
    "may_share",
]
