"""What there is to run: folders of kernels/ become operations and implementations. There is no registry.

    kernels/<operation>/operation.py    defines OPERATION
    kernels/<operation>/<name>.py       defines IMPLEMENTATIONS; <name>.cu beside it is their source
    kernels/<operation>/_<name>.py      left alone
    kernels/<family>/__init__.py        makes a folder without implementations one that others import from
A further folder of the same layout (specimens, a user's own) may add implementations of operations
that an earlier one defines, and operations. Each such folder is a package of a name of its own, so that
kernels/softmax/torch.py stands in nobody's way. Relative imports (`from ..common.peers import ..`) look in that
folder first, then in kernelbench's kernels, as includes of device code do.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from kernelbench.core import places
from kernelbench.core.argument_checks import shown
from kernelbench.core.errors import InputError, Problem, ProblemsError, raised_at
from kernelbench.core.records import Implementation, Operation
from kernelbench.core.texts import printable
from kernelbench.planning.definition_checks import implementation_problem, operation_problem
from kernelbench.planning.guarded import guarded_implementation, guarded_operation
from kernelbench.planning.user_code import watched

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_OPERATION_FILE = "operation.py"
_DEFINES = re.compile(r"^(IMPLEMENTATIONS|OPERATION)\b", re.MULTILINE)


@dataclass(frozen=True)
class Catalog:
    """All operations, and by operation all implementations, in the order of folders and file names."""

    operations: Mapping[str, Operation]
    implementations: Mapping[str, Mapping[str, Implementation]]
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)  # those of the user's folders, by operation


def load_catalog(
    folders: Sequence[Path] | None = None, *, specimens: bool = False, own: Sequence[Path] = ()
) -> Catalog:
    """Read `folders` (the project's kernels if None), if asked for the specimens, kernels that are wrong, and `own`,
    the user's folders, whose Python is run by this.

    Raises ProblemsError, an InputError, with all that is wrong in the files, and InputError for a
    folder that does not exist or holds no kernels.
    """
    chosen = [places.KERNELS] if folders is None else list(folders)
    if specimens:
        chosen.append(places.SPECIMENS)
    reader = _Reader()
    for folder in (*chosen, *dict.fromkeys(own)):
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; expected one that holds <operation>/<name>.py")
        reader.read_folder(folder, own=folder in own)
    if reader.problems:
        raise ProblemsError(reader.problems)
    return Catalog(reader.operations, {name: reader.implementations[name] for name in reader.operations}, reader.own)


def is_name(text: str) -> bool:
    """Whether an operation or implementation may be called so: a name of files and of C functions."""
    return bool(_NAME.fullmatch(text))


class _Reader:
    """Collects what the folders define, and every problem on the way."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self.implementations: dict[str, dict[str, Implementation]] = {}
        self.own: dict[str, list[str]] = {}
        self.problems: list[Problem] = []
        self._in_own = False  # whether the folder being read is the user's
        self._folder = Path()  # that is being read
        self._package = ""  # its name
        self._definitions: dict[str, Path] = {}  # operation -> the file that defines it
        self._modules: dict[tuple[str, str], Path] = {}  # (operation, implementation) -> its file

    def read_folder(self, folder: Path, *, own: bool) -> None:
        self._in_own, self._folder = own, folder
        if own and folder.resolve() in (places.KERNELS.resolve(), places.SPECIMENS.resolve()):
            self._problem(folder, "kernelbench's own folder; what is in it is there without --kernels")
            return
        # A folder without modules (of headers alone) is no operation, nor is one that others import from.
        found = [one for one in sorted(folder.iterdir()) if one.is_dir() and any(_modules(one))]
        found = [one for one in found if self._is_operation(one) or not _is_shared(one)]
        if own and not found:
            text = "no kernels here; expected <operation>/<name>.py, as `kernelbench new softmax/my_kernel` writes it"
            self._problem(folder, text)
        # Before any file is run: a folder that holds something else is not one of kernels.
        if strangers := [one for one in found if not self._is_operation(one)]:
            for one in strangers:
                text = f"missing; '{one.name}' has implementations, so expected OPERATION = Operation(...) here"
                self._problem(one / _OPERATION_FILE, text)
            return
        self._package = _new_package(folder)
        for operation_folder in found:
            self.read(operation_folder)

    def _is_operation(self, folder: Path) -> bool:
        return folder.name in self._definitions or (folder / _OPERATION_FILE).is_file()

    def read(self, folder: Path) -> None:
        _add_package(f"{self._package}.{folder.name}", folder, places.KERNELS / folder.name)
        operation_file = folder / _OPERATION_FILE
        if operation_file.is_file():
            self._read_operation(operation_file)
        for path in _modules(folder):
            if path.name != _OPERATION_FILE:
                self._read_implementations(path)

    def _read_operation(self, path: Path) -> None:
        name = path.parent.name
        if (earlier := self._definitions.get(name)) is not None:
            self._problem(path, f"operation '{name}' is already defined by {earlier}; delete one of the two")
            return
        # Known from here on, even if broken: its implementations are then not reported as well.
        self._definitions[name] = path
        module = self._load(path)
        if module is None:
            return
        operation = getattr(module, "OPERATION", None)
        if not isinstance(operation, Operation):
            self._problem(path, f"expected OPERATION = Operation(...), got {_shown(operation)}")
        elif text := operation_problem(operation):
            self._problem(path, f"OPERATION.{text}")
        elif operation.name != name:
            text = f"OPERATION is named '{operation.name}', expected '{name}', the name of its folder"
            self._problem(path, text)
        elif not _NAME.fullmatch(name):
            self._problem(path, _bad_name("operation", name))
        else:
            self.operations[name] = guarded_operation(operation, path, own=self._in_own)
            self.implementations.setdefault(name, {})

    def _read_implementations(self, path: Path) -> None:
        module = self._load(path)
        if module is None:
            return
        found = getattr(module, "IMPLEMENTATIONS", None)
        if not isinstance(found, (tuple, list)) or not found or not all(isinstance(i, Implementation) for i in found):
            self._problem(path, f"expected IMPLEMENTATIONS = (Implementation(...), ...), got {_shown(found)}")
            return
        for implementation in found:
            self._add(path, implementation)

    def _add(self, path: Path, implementation: Implementation) -> None:
        operation, name = path.parent.name, implementation.name
        source = path.with_suffix(".cu")
        if text := implementation_problem(implementation):
            self._problem(path, f"implementation {shown(name)}: {text}")
        elif not _NAME.fullmatch(name):
            self._problem(path, _bad_name("implementation", name))
        elif (earlier := self._modules.get((operation, name))) is not None:
            other = "twice here" if earlier == path else f"in {earlier} too"
            self._problem(path, f"implementation '{name}' is defined {other}; names must differ within an operation")
        elif implementation.plan is not None and not source.exists():
            self._problem(path, f"implementation '{name}' has a plan but no kernel: expected {source.name} beside it")
        elif implementation.tunable and (text := implementation.tunable.problem(implementation.plan)):
            self._problem(path, f"implementation '{name}' cannot be tuned: {text}")
        else:
            self._modules[operation, name] = path
            if self._in_own:
                implementation = guarded_implementation(implementation, path)
                self.own.setdefault(operation, []).append(name)
            self.implementations.setdefault(operation, {})[name] = replace(
                implementation, operation=operation, source=source if source.exists() else None
            )

    def _load(self, path: Path) -> ModuleType | None:
        name = f"{self._package}.{path.parent.name}.{path.stem}"
        if name in sys.modules:  # a module beside it imports from it
            return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None, "a path that ends in .py has a loader"
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their own module up there
        try:
            with watched() if self._in_own else nullcontext():
                spec.loader.exec_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # foreign code: whatever it raises is a mistake in that file
            del sys.modules[name]
            place = self._place(error, path)
            text = str(error).replace(self._package, self._folder.name)
            self._problem(place, f"cannot be imported: {type(error).__name__}: {text}", raised_at(error, place))
            return None
        return module

    def _place(self, error: BaseException, path: Path) -> Path:
        """The folder's file that an error left from: `path`, or one that it imports."""
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        files += [error.filename or ""] if isinstance(error, SyntaxError) else []
        base = self._folder.absolute()
        inside = [Path(file) for file in files if Path(file).is_relative_to(base)]
        return self._folder / inside[-1].relative_to(base) if inside else path

    def _problem(self, path: Path, text: str, line: int = 0) -> None:
        problem = Problem(path, line, text)
        if problem not in self.problems:  # as of a module that several import
            self.problems.append(problem)


def _new_package(folder: Path) -> str:
    """The name of the package that a folder of kernels is. What an earlier reading left under it is forgotten."""
    # The path is part of the name: two folders may both have a softmax/naive.py.
    name = f"_kernelbench_{sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
    for known in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[known]
    importlib.invalidate_caches()
    _add_package(name, folder, places.KERNELS)
    return name


def _add_package(name: str, *folders: Path) -> None:
    """A package whose modules are looked for in these folders; what an __init__.py says is left alone."""
    package = ModuleType(name)
    package.__path__ = [*dict.fromkeys(str(folder.absolute()) for folder in folders)]
    sys.modules[name] = package


def _is_shared(folder: Path) -> bool:
    """Whether it is a package that others import from: none of its modules has implementations."""
    modules = (path.read_text(encoding="utf-8", errors="replace") for path in _modules(folder))
    return (folder / "__init__.py").is_file() and not any(_DEFINES.search(text) for text in modules)


def _modules(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("*.py")) if not path.name.startswith("_"))


def _shown(value: object) -> str:
    return "nothing" if value is None else printable(f"{value!r:.60}")


def _bad_name(kind: str, name: str) -> str:
    return f"{kind} name {name!r}: expected small letters, digits and '_', a letter first, at most 64"
