"""Machine code of kernels as the bytes of each entry in a cubin, to compare kernels without a disassembler.

Names, line numbers and addresses are not part of the bytes of an entry: branches are relative, and arguments are found
by their offset. So two entries with the same bytes have the same instructions and registers, in the same order.
"""

import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from kernelbench.core.records import Binary

INSTRUCTION_BYTES = 16  # since Volta
_NOP = 0x918  # lowest 12 bits of what pads the code to a multiple of 128 bytes
_OPCODE = 0xFFF
_ELF64 = b"\x7fELF\x02\x01"  # little-endian
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, ..
_TEXT = ".text."  # prefix of the name of an entry's section
_DATA = (".nv.constant", ".nv.global")  # prefixes of the sections of constants and of variables


@dataclass(frozen=True)
class MachineCode:
    hash: str  # of its bytes without padding
    instructions: int  # in the code, not executed


def machine_code(cubin: Path) -> dict[str, MachineCode]:
    """Machine code of every entry; ValueError if the file is not a cubin, OSError if it cannot be read."""
    found = {}
    for entry, content in code_bytes(cubin).items():
        code = _without_padding(content)
        found[entry] = MachineCode(sha256(code).hexdigest()[:16], len(code) // INSTRUCTION_BYTES)
    return found


def code_bytes(cubin: Path) -> dict[str, bytes]:
    """Instructions of every entry, with padding; raises as `machine_code` does."""
    sections = _sections(cubin.read_bytes())
    return {name.removeprefix(_TEXT): content for name, content in sections if name.startswith(_TEXT)}


def data_hash(cubin: Path) -> str:
    """Hash of the constants and variables that the code reads; raises as `machine_code` does."""
    found = sorted(part for part in _sections(cubin.read_bytes()) if part[0].startswith(_DATA))
    return sha256(repr(found).encode()).hexdigest()[:16]


def code_hashes(binaries: Iterable[Binary]) -> dict[str, dict[str, dict[str, str | int]]]:
    """Hash and length of the code of each binary, by its key in results.csv, then by entry: for environment.json.

    A cubin that is damaged or gone has none; a claim about it is then not measured.
    """
    found: dict[str, dict[str, dict[str, str | int]]] = {}
    for binary in binaries:
        with suppress(OSError, ValueError):
            found[binary.short_key] = {entry: asdict(code) for entry, code in machine_code(binary.path).items()}
    return found


def _sections(image: bytes) -> Iterator[tuple[str, bytes]]:
    if not image.startswith(_ELF64):
        raise ValueError("not a cubin: expected a 64-bit ELF file")
    try:
        (start,) = struct.unpack_from("<Q", image, 40)
        size, count, names_index = struct.unpack_from("<HHH", image, 58)
        headers = [_SECTION.unpack_from(image, start + number * size) for number in range(count)]
        names_at = headers[names_index][4]
        for name, _, _, _, offset, length, *_ in headers:
            end = image.index(b"\0", names_at + name)
            yield image[names_at + name : end].decode(), image[offset : offset + length]
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise ValueError(f"not a whole cubin: {error}") from error


def _without_padding(code: bytes) -> bytes:
    end = len(code)
    while end and int.from_bytes(code[end - INSTRUCTION_BYTES : end][:2], "little") & _OPCODE == _NOP:
        end -= INSTRUCTION_BYTES
    return code[:end]
