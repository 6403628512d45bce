"""Functions of a .cu with their parameters, as far as a launch needs them. The compiler has the last word."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# What is not closed ends with the line or the file, so that no text is scanned twice.
_SKIPPED = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\(([^(){};]*)\)\s*\{", re.ASCII)
_C_BLOCK = re.compile(r'extern\s*"C"\s*\{')
_C_LINKAGE = re.compile(r'extern\s*"C"')
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "std", "struct"}
_TYPES = {
    "float": "float32", "double": "float64", "half": "float16", "__half": "float16", "nv_bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16", "int": "int32", "int32_t": "int32", "unsigned": "uint32", "unsigned int": "uint32",
    "uint32_t": "uint32", "long": "int64", "long int": "int64", "long long": "int64", "long long int": "int64",
    "int64_t": "int64", "size_t": "int64", "ptrdiff_t": "int64", "unsigned long": "int64", "uint64_t": "int64",
    "unsigned long long": "int64",
}  # fmt: skip


@dataclass(frozen=True)
class DeclaredParameter:
    name: str
    type: str  # in C, without qualifiers
    pointer: bool

    @property
    def dtype(self) -> str:
        """The element type of a pointer, or the type of a scalar; '' where it is none of the usual ones."""
        return _TYPES.get(self.type, "")


@dataclass(frozen=True)
class DeclaredFunction:
    name: str
    parameters: tuple[DeclaredParameter, ...]
    at: int  # where its name stands in the text
    kernel: bool  # __global__
    template: bool
    c_linkage: bool

    @property
    def launcher(self) -> bool:
        """Whether it is host code that is given a stream."""
        return not self.kernel and bool(self.parameters) and self.parameters[-1].type == "cudaStream_t"

    @property
    def callable(self) -> bool:
        return self.c_linkage and (self.kernel or self.launcher)


def defined_functions(text: str) -> Iterator[DeclaredFunction]:
    """Every function that the text defines."""
    code = _SKIPPED.sub(lambda found: found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0]), text)
    block = _C_BLOCK.search(code)
    before = 0  # the body of the function before
    for found in _FUNCTION.finditer(code):
        start = max(before, *(code.rfind(end, before, found.start()) + 1 for end in ";{}"))
        before = found.end()
        head = code[start : found.start()]
        words = set(_WORD.findall(head))
        yield DeclaredFunction(
            name=found[1],
            parameters=tuple(_parameters(found[2])),
            at=found.start(),
            kernel="__global__" in words,
            template="template" in words,
            c_linkage=bool(_C_LINKAGE.search(head)) or (block is not None and block.start() < found.start()),
        )


def _parameters(text: str) -> Iterator[DeclaredParameter]:
    for part in re.sub(r"<[^<>]*>", "", text).split(","):
        left = part.partition("=")[0]
        words = [word for word in _WORD.findall(left) if word not in _QUALIFIERS]
        if words and words != ["void"]:
            name = words.pop() if len(words) > 1 else ""
            yield DeclaredParameter(name, " ".join(words), "*" in left or "[" in left)
