"""Builds kernels: finds nvcc, compiles sources in parallel into a cache, reads facts from PTX and ptxas."""

from kernelbench.build.builder import OnDone, build
from kernelbench.build.code_notes import code_lines, code_notes, may_share
from kernelbench.build.compiler import Compiler, find_compiler
from kernelbench.build.machine_code import machine_code_text
from kernelbench.build.request import FLAGS, BuildRequest
from kernelbench.build.sass import machine_lines

__all__ = [
    "FLAGS",
    "BuildRequest",
    "Compiler",
    "OnDone",
    "build",
    "code_lines",
    "code_notes",
    "find_compiler",
    "machine_code_text",
    "machine_lines",
    "may_share",
]
