"""The lowered programs of the simulator, which all cases of a binary share."""

import threading

from kernelbench.build import access_notes, code_lines, may_share
from kernelbench.core.counters import JOINED
from kernelbench.core.errors import DeviceError, PtxError
from kernelbench.core.records import Binary
from kernelbench.simt import native
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.ir import Module
from kernelbench.simt.lower import Program, lower
from kernelbench.simt.parse import parse


class Programs:
    """Each program is made when it is asked for first, by one thread while others wait: cases that run side by side
    need the same ones at the same time."""

    def __init__(self) -> None:
        self._modules: dict[str, Module] = {}  # by key of the binary
        self._programs: dict[tuple[str, str], Program] = {}
        self._making = threading.Lock()

    def of(self, binary: Binary, entry: str) -> Program:
        """DeviceError for PTX that the simulator cannot run."""
        key = (binary.key, entry)
        try:
            with self._making:
                if key not in self._programs:
                    self._programs[key] = self._lowered(binary, entry)
        except PtxError as error:
            raise DeviceError(str(error)) from error
        except OSError as error:
            raise DeviceError(f"{binary.ptx_path}: cannot be read ({error.strerror})") from error
        return self._programs[key]

    def _lowered(self, binary: Binary, entry: str) -> Program:
        if binary.key not in self._modules:
            self._modules[binary.key] = parse(binary.ptx_path.read_text())
        module = self._modules[binary.key]
        joined = may_share(binary) and JOINED in access_notes(binary)[entry]
        lines = code_lines(binary).get(entry, {}) if joined else {}
        return lower(inline_calls(module, entry), module, native.has_operation, lines)
