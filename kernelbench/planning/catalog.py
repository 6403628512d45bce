"""The catalog of operations and implementations, read from the folders of kernels/. There is no registry.

    kernels/<operation>/operation.py    defines OPERATION
    kernels/<operation>/<name>.py       defines IMPLEMENTATIONS; their source is <name>.cu beside it, or what they name
    kernels/<operation>/_<name>.py      ignored
    kernels/<family>/__init__.py        marks a folder without implementations from which others import
Further folders of the same layout (specimens, the user's own) may add operations, and implementations of operations
that an earlier folder defines. Each folder becomes a package with a unique name, so that kernels/softmax/torch.py does
not hide torch. Relative imports (`from ..common.peers import ..`) look in that folder first, then in kernelbench's
kernels, like includes of device code.
"""

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from kernelbench.core import places
from kernelbench.core.argument_checks import described
from kernelbench.core.errors import InputError, Problem, ProblemsError, raised_at
from kernelbench.core.records import Implementation, Operation
from kernelbench.core.texts import printable
from kernelbench.planning.definition_checks import IMPLEMENTATION, OPERATION, missing_source
from kernelbench.planning.guarded import guarded_implementation, guarded_operation
from kernelbench.planning.own_file import CuFile, free_name, read_own_kernel
from kernelbench.planning.plan_checks import fields_problem
from kernelbench.planning.user_code import limit_user_code

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_OPERATION_FILE = "operation.py"
_DEFINES = re.compile(r"^(IMPLEMENTATIONS|OPERATION)\b", re.MULTILINE)


@dataclass(frozen=True)
class Catalog:
    """All operations, and all implementations by operation, in the order of folders and file names."""

    operations: Mapping[str, Operation]
    implementations: Mapping[str, Mapping[str, Implementation]]
    own: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # implementations of the user's folders and files, by operation
    files: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)  # the user's files by operation and name


def load_catalog(
    folders: Sequence[Path] | None = None, *, specimens: bool = False, own: Sequence[Path | CuFile] = ()
) -> Catalog:
    """Read `folders` (the project's kernels if None), with `specimens` also kernels that are wrong on purpose, and
    `own`, the user's folders and files. This runs the Python of these folders.

    Raises ProblemsError, an InputError, with all mistakes in the files, and InputError for a folder that does not exist
    or has no kernels.
    """
    chosen = [places.KERNELS] if folders is None else list(folders)
    if specimens:
        chosen.append(places.SPECIMENS)
    reader = _Reader()
    for folder in (*chosen, *dict.fromkeys(one for one in own if isinstance(one, Path))):
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; expected one that holds <operation>/<name>.py")
        reader.read_folder(folder, own=folder in own)
    if reader.problems:
        raise ProblemsError(reader.problems)
    for file in own:
        if isinstance(file, CuFile):
            reader.add_file(file)
    found = {name: reader.implementations[name] for name in reader.operations}
    return Catalog(reader.operations, found, reader.own, reader.files)


def is_kernel_name(text: str) -> bool:
    """Whether an operation or implementation may have this name, which files and C functions share."""
    return bool(_NAME.fullmatch(text))


class _Reader:
    """Collects the definitions of the folders, and every problem on the way."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self.implementations: dict[str, dict[str, Implementation]] = {}
        self.own: dict[str, list[str]] = {}
        self.files: dict[str, dict[str, Path]] = {}
        self.problems: list[Problem] = []
        self._in_own = False  # whether the folder being read is the user's
        self._folder = Path()  # the folder being read
        self._package = ""  # the name of its package
        self._definitions: dict[str, Path] = {}  # operation -> the file that defines it
        self._modules: dict[tuple[str, str], Path] = {}  # (operation, implementation) -> its file

    def read_folder(self, folder: Path, *, own: bool) -> None:
        self._in_own, self._folder = own, folder
        if own and folder.resolve() in (places.KERNELS.resolve(), places.SPECIMENS.resolve()):
            self._problem(folder, "kernelbench's own folder, which is read without --kernels")
            return
        copies, changed = _copies(folder) if own else (set(), [])
        if copies and changed:
            text = "differs from the installed kernelbench's own; `pip install -e` the checkout, or name it otherwise"
            self._problem(changed[0], text)
            return
        # A folder without modules (only headers) is not an operation, nor is one from which others import.
        found = [one for one in sorted(folder.iterdir()) if one.is_dir() and any(_modules(one))]
        found = [one for one in found if self._is_operation(one) or not _is_shared(one)]
        if own and not found:
            text = "no kernels here; expected <operation>/<name>.py, as `kernelbench new softmax/my_kernel` writes it"
            self._problem(folder, text)
        # Checked before any file is run: it may not be a folder of kernels at all.
        if strangers := [one for one in found if not self._is_operation(one)]:
            for one in strangers:
                text = f"missing; '{one.name}' has implementations, so expected OPERATION = Operation(...) here"
                self._problem(one / _OPERATION_FILE, text)
            return
        self._package = _new_package(folder)
        with _without_bytecode() if own else nullcontext():
            for operation_folder in found:
                self.read(operation_folder, copies)

    def _is_operation(self, folder: Path) -> bool:
        return folder.name in self._definitions or (folder / _OPERATION_FILE).is_file()

    def read(self, folder: Path, copies: Set[Path] = frozenset()) -> None:
        _add_package(f"{self._package}.{folder.name}", folder, places.KERNELS / folder.name)
        operation_file = folder / _OPERATION_FILE
        if operation_file.is_file() and operation_file not in copies:
            self._read_operation(operation_file)
        for path in _modules(folder):
            if path.name != _OPERATION_FILE and path not in copies:
                self._read_implementations(path)

    def _read_operation(self, path: Path) -> None:
        name = path.parent.name
        if (earlier := self._definitions.get(name)) is not None:
            self._problem(path, f"operation '{name}' is already defined by {earlier}; delete one of the two")
            return
        # Set even if the operation is broken, so that its implementations are not reported as well.
        self._definitions[name] = path
        module = self._load(path)
        if module is None:
            return
        operation = getattr(module, "OPERATION", None)
        if not isinstance(operation, Operation):
            self._problem(path, f"expected OPERATION = Operation(...), got {_shown(operation)}")
        elif text := fields_problem(operation, OPERATION):
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
        beside = path.with_suffix(".cu")
        source = beside if implementation.source is None else implementation.source
        if text := fields_problem(implementation, IMPLEMENTATION):
            self._problem(path, f"implementation {described(name)}: {text}")
        elif not _NAME.fullmatch(name):
            self._problem(path, _bad_name("implementation", name))
        elif (earlier := self._modules.get((operation, name))) is not None:
            other = "twice here" if earlier == path else f"in {earlier} too"
            self._problem(path, f"implementation '{name}' is defined {other}; names must differ within an operation")
        elif implementation.plan is not None and (lacking := missing_source(implementation, source)):
            expected = f"{lacking.name} beside it" if lacking.parent == path.parent else f"it at {lacking}"
            self._problem(path, f"implementation '{name}' has a plan but no kernel: expected {expected}")
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

    def add_file(self, file: CuFile) -> None:
        """Add the file's kernel to every operation; its plan refuses those that it does not fit."""
        kernel = read_own_kernel(file)
        for operation in self.operations.values():
            known = self.implementations[operation.name]
            name = free_name(file.path, known)
            known[name] = kernel.implementation(name, operation)
            self.own.setdefault(operation.name, []).append(name)
            self.files.setdefault(operation.name, {})[name] = file.path

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
            with limit_user_code() if self._in_own else nullcontext():
                spec.loader.exec_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # user code: any error is a mistake in that file
            del sys.modules[name]
            place = self._place(error, path)
            text = str(error).replace(self._package, self._folder.name)
            self._problem(place, f"cannot be imported: {type(error).__name__}: {text}", raised_at(error, place))
            return None
        return module

    def _place(self, error: BaseException, path: Path) -> Path:
        """The file of the folder in which an error was raised: `path`, or one that it imports."""
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        files += [error.filename or ""] if isinstance(error, SyntaxError) else []
        base = self._folder.absolute()
        inside = [Path(file) for file in files if Path(file).is_relative_to(base)]
        return self._folder / inside[-1].relative_to(base) if inside else path

    def _problem(self, path: Path, text: str, line: int = 0) -> None:
        problem = Problem(path, line, text)
        if problem not in self.problems:  # several modules may import a broken one
            self.problems.append(problem)


@contextmanager
def _without_bytecode() -> Iterator[None]:
    """Modules leave no bytecode. Python would take it for current after an edit in the same second that keeps the
    source's size, such as one of a digit by a script between two runs."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _new_package(folder: Path) -> str:
    """The package name of a folder of kernels. Modules from an earlier reading are removed."""
    # Two folders may both have a softmax/naive.py, so the name depends on the path.
    name = f"_kernelbench_{sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
    for known in [one for one in list(sys.modules) if one == name or one.startswith(f"{name}.")]:  # threads import
        del sys.modules[known]
    importlib.invalidate_caches()
    _add_package(name, folder, places.KERNELS)
    return name


def _add_package(name: str, *folders: Path) -> None:
    """A package whose modules are looked for in these folders; __init__.py is not run."""
    package = ModuleType(name)
    package.__path__ = [*dict.fromkeys(str(folder.absolute()) for folder in folders)]
    sys.modules[name] = package


def _copies(folder: Path) -> tuple[set[Path], list[Path]]:
    """The files of a checkout's kernels folder, beside an installed kernelbench: those that are the same as our own,
    which need not be read again, and those that differ. Nothing for a folder that holds no operation of ours."""
    own = [path for path in places.KERNELS.rglob("*.*") if path.suffix in (".py", ".cu", ".cuh")]
    pairs = [(folder / path.relative_to(places.KERNELS), path) for path in own]
    same = {theirs: theirs.read_bytes() == ours.read_bytes() for theirs, ours in pairs if theirs.is_file()}
    if not any(equal and path.name == _OPERATION_FILE for path, equal in same.items()):
        return set(), []
    return {path for path, equal in same.items() if equal}, [path for path, equal in same.items() if not equal]


def _is_shared(folder: Path) -> bool:
    """Whether others import from this folder: a package without implementations."""
    modules = (path.read_text(encoding="utf-8", errors="replace") for path in _modules(folder))
    return (folder / "__init__.py").is_file() and not any(_DEFINES.search(text) for text in modules)


def _modules(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.glob("*.py")) if not path.name.startswith("_"))


def _shown(value: object) -> str:
    return "nothing" if value is None else printable(f"{value!r:.60}")


def _bad_name(kind: str, name: str) -> str:
    return f"{kind} name {name!r}: expected at most 64 lowercase letters, digits and '_', a letter first"
