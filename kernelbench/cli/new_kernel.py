"""The files of a user's kernel: a copy of one that is right, to be changed bit by bit.

For an operation that does not exist yet, also the files of the operation.
"""

import ast
import re
import shlex
from collections.abc import Mapping, Set
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from kernelbench.core import places, sources
from kernelbench.core.errors import InputError
from kernelbench.core.records import Implementation
from kernelbench.core.texts import one_line
from kernelbench.planning.catalog import Catalog, is_kernel_name, load_catalog

TEMPLATES = Path(__file__).with_name("templates")  # of a new operation
FOLDER = Path("kernels")  # of the user's kernels, unless another is named
NEAR = 0.8  # a new name this similar to a known one is taken for a misspelling
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

_SOURCE = """\
// {name}: your own {operation}. As written it is a copy of {start}, and right; change it bit by bit.
//   is it right    kernelbench check {suite} {option}--only {name}
//   how fast       kernelbench run {suite} {option}--only {timed}
// {name}.py says which kernel is launched, with which grid, block and arguments. The two must agree:
//   kernels      are extern "C" __global__, so that the plan can name them
//   arguments    come in the plan's order: arrays by their names, as pointers to device memory, then scalars
//   headers      #include "common/reduce.cuh" for sums and maxima of warps and blocks, "common/convert.cuh" for halves

"""
_PLAN = '''\
"""How {name}.cu is launched. As written it is the plan of {start}.

`plan` is called for each case of a suite: case.shape, case.axis, case.dtype, case.parameter("name", default). It
returns a LaunchPlan and does nothing else; raise Unsupported("what must hold, got what came") for a case that the
kernel cannot do. `arguments` are names of {operation}'s arrays and Scalar("int64", value), in the kernel's order, each
with the type that the kernel's parameter has. Look at the result: kernelbench plan {suite} {option}--only {name}
"""
'''


@dataclass(frozen=True)
class NewFiles:
    """What `new` made, and what to type next."""

    source: Path
    plan: Path
    start: str  # the implementation that it is a copy of; '' if the operation is new too
    commands: tuple[str, ...]
    further: tuple[Path, ...] = ()  # operation.py and a suite of a new operation; copies of sources that the plan names


def new_kernel(name: str, start: str | None = None, folder: Path = FOLDER) -> NewFiles:
    """Write <folder>/<operation>/<name>.cu and .py for `name` as `softmax/my_kernel`.

    They are a copy of the implementation `start`, or of the operation's shortest kernel, headers counted. For an
    operation that there is not, they come with an operation.py and a suite. Raises InputError for names that are taken,
    that are no names or nearly another's, and where there is nothing to start from.
    """
    operation, _, own = name.partition("/")
    for part in (operation, own):
        if not is_kernel_name(part):
            text = "small letters, digits and '_', a letter first, at most 64"
            raise InputError(f"{name!r:.80}: expected OPERATION/NAME, such as softmax/my_kernel, each of {text}")
    catalog = load_catalog(own=_own(folder))
    if operation not in catalog.operations:
        _require_new(catalog, operation, start, own, folder)
        return _new_operation(operation, own, folder)
    _require_free(catalog, operation, own)
    origin = _start_of(catalog, operation, start)
    assert origin.source is not None
    source = folder / operation / f"{own}.cu"
    words = _words(catalog, operation, own, origin.name, folder)
    texts = {
        source: _SOURCE.format(**words) + _device_code(origin.source, operation, own),
        source.with_suffix(".py"): _PLAN.format(**words) + _plan_code(origin, operation, own),
    }
    beside = (source.with_name(one) for one in origin.other_sources)
    others = {path: origin.source.with_name(path.name).read_text("utf-8") for path in beside if not path.exists()}
    _write(texts | others)
    commands = tuple(
        f"kernelbench {verb} {words['suite']} {words['option']}--only {only}"
        for verb, only in (("check", own), ("run", words["timed"]))
    )
    return NewFiles(source, source.with_suffix(".py"), origin.name, commands, tuple(others))


def _new_operation(operation: str, name: str, folder: Path) -> NewFiles:
    """Beside kernelbench's own kernels the suite goes to its suites; else it stays in the operation's folder."""
    shipped = folder.resolve() == places.KERNELS.resolve()
    suite = places.SUITES / f"{operation}.yaml" if shipped else folder / operation / f"{operation}.yaml"
    words = {
        "suite": operation if shipped else _quoted(suite),
        "option": "" if shipped else f"--kernels {_quoted(folder)} ",
    }
    texts = _operation_texts(operation, name, folder, suite, words)
    _write(texts)
    commands = tuple(f"kernelbench {verb} {words['suite']} {words['option']}".rstrip() for verb in ("check", "run"))
    defined, source, plan, _ = texts
    return NewFiles(source, plan, "", commands, (defined, suite))


def _operation_texts(
    operation: str, name: str, folder: Path, suite: Path, words: Mapping[str, str]
) -> Mapping[Path, str]:
    """What is computed, a first kernel, a suite: each file with its text. They work as written."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    files = {
        folder / operation / "operation.py": "operation.py",
        folder / operation / f"{name}.cu": "kernel.cu",
        folder / operation / f"{name}.py": "kernel.py",
        suite: "suite.yaml",
    }
    named = {"operation": operation, "name": name, **words}
    return {path: templates.get_template(f"{template}.j2").render(named) for path, template in files.items()}


def _write(texts: Mapping[Path, str]) -> None:
    """All of the files, none of which may be there."""
    for path in texts:
        if path.exists() or path.is_symlink():
            raise InputError(f"{path}: is there already; choose another name, or delete it")
    parent = next(iter(texts)).parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise InputError(f"{parent}: cannot write here ({error.strerror}); choose a --kernels folder") from error


def _own(folder: Path) -> tuple[Path, ...]:
    """The folder, if it already holds kernels and is not kernelbench's own."""
    if folder.resolve() == places.KERNELS.resolve() or not any(folder.glob("*/[!_]*.py")):
        return ()
    return (folder,)


def _require_new(catalog: Catalog, operation: str, start: str | None, name: str, folder: Path) -> None:
    """InputError unless this can become an operation. Names near a known one are misspellings; suites are none."""
    _require_no_suite(operation, name)
    if near := get_close_matches(operation, catalog.operations, n=1, cutoff=NEAR):
        text = "for an operation of your own choose a name that is less like it"
        raise InputError(f"unknown operation '{operation}'; did you mean '{near[0]}'? {text}")
    if start is not None:
        known = ", ".join(catalog.operations)
        raise InputError(f"--from {start}: '{operation}' is new, and has none to copy; the operations are {known}")
    if name == "operation":
        raise InputError(f"'{operation}/{name}' is taken: it says what is computed; choose another")
    if (folder / operation).exists():
        raise InputError(f"{folder / operation}: is there and has no operation.py; choose another name, or delete it")


def _require_no_suite(operation: str, name: str) -> None:
    suite = places.SUITES / f"{operation}.yaml"
    if not suite.is_file():
        return
    of = re.search(r"^operation: (\w+)$", suite.read_text(encoding="utf-8"), re.MULTILINE)
    if of is None:
        raise InputError(f"'{operation}' is a suite of several operations; for one of your own choose another name")
    raise InputError(f"'{operation}' is a suite; its operation is '{of[1]}': kernelbench new {of[1]}/{name}")


def _require_free(catalog: Catalog, operation: str, name: str) -> None:
    if name in catalog.implementations[operation] or name == "operation":
        raise InputError(f"'{operation}/{name}' is taken: names must differ within an operation; choose another")


def _start_of(catalog: Catalog, operation: str, start: str | None) -> Implementation:
    """The implementation to copy: that of the name, else the shortest kernel."""
    there = catalog.implementations[operation]
    able = {name: one for name, one in there.items() if one.source is not None and _call_of(one) is not None}
    if start is not None and start not in able:
        raise InputError(f"--from {start}: {_why_not(there.get(start))}; expected one of {', '.join(able)}")
    if start is not None:
        return able[start]
    kernels = [one for one in able.values() if one.role == "kernel" and one.source is not None]
    if not kernels:
        text = "each of its kernels is made in a loop or belongs to a library"
        raise InputError(
            f"'{operation}' has no kernel to copy: {text}; docs/writing-a-kernel.md shows how to write one"
        )
    return min(kernels, key=_lines)


def _why_not(one: Implementation | None) -> str:
    """Why this is none to copy."""
    if one is None:
        return "no implementation has this name"
    return "it has no .cu to copy" if one.source is None else "its file makes it in a loop or a function"


def _lines(one: Implementation) -> int:
    """Lines of its .cu and all its headers: a short kernel around a long header is not simple."""
    assert one.source is not None
    return sum(len(text.splitlines()) for _, text in sources.source_texts(one.source))


def _words(catalog: Catalog, operation: str, name: str, start: str, folder: Path) -> dict[str, str]:
    """What the comments and commands say: a suite of this operation, the option that finds the folder, whom to time."""
    option = "" if folder.resolve() == places.KERNELS.resolve() else f"--kernels {_quoted(folder)} "
    there = [one for one in (start, "copy") if one in catalog.implementations[operation]]
    return {
        "operation": operation,
        "name": name,
        "start": start,
        "suite": _suite_of(operation, folder),
        "option": option,
        "timed": ",".join(dict.fromkeys((name, *there))),
    }


def _suite_of(operation: str, folder: Path) -> str:
    """As a command names it: our own suite of this name or operation, else that beside the user's operation."""
    if (places.SUITES / f"{operation}.yaml").is_file():
        return operation
    for suite in sorted(places.SUITES.glob("*.yaml")):
        if f"\noperation: {operation}\n" in suite.read_text(encoding="utf-8"):
            return suite.stem
    beside = folder / operation / f"{operation}.yaml"
    return _quoted(beside) if beside.is_file() else operation


def _quoted(path: Path) -> str:
    """As a word of a command."""
    return shlex.quote(one_line(str(path)))


def _device_code(source: Path, operation: str, name: str) -> str:
    """The .cu with its kernels renamed, and headers beside it found from elsewhere."""
    text = _renamed(source.read_text(encoding="utf-8"), operation, source.stem, name, _header_words(source))
    beside = {path.name for path in source.parent.glob("*.cuh")}
    return re.sub(
        r'#include "([^"/]+)"',
        lambda match: f'#include "{operation}/{match[1]}"' if match[1] in beside else match[0],
        text,
    )


def _plan_code(start: Implementation, operation: str, name: str) -> str:
    """The .py without its docstring, and with one implementation, which bears the new name."""
    assert start.source is not None
    text = start.source.with_suffix(".py").read_text(encoding="utf-8")
    call = _call_of(start)
    assert call is not None
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    docstring = tree.body[0].end_lineno if ast.get_docstring(tree) is not None else 0
    assignment = next(one for one in tree.body if _is_implementations(one))
    kept = "".join(lines[docstring : assignment.lineno - 1])
    rest = [ast.get_source_segment(text, one) for one in call.args[2:]]
    rest += [f"{one.arg}={ast.get_source_segment(text, one.value)}" for one in call.keywords]
    words = [f'"{name}",  # what suites, --only and tables call it', f'"starts as a copy of {start.name}",']
    words += [_renamed(f"{argument},", operation, start.source.stem, name) for argument in rest]
    body = "\n".join(f"        {word}" for word in words)
    return (
        _renamed(kept, operation, start.source.stem, name)
        + f"IMPLEMENTATIONS = (\n    Implementation(\n{body}\n    ),\n)\n"
    )


def _header_words(source: Path) -> Set[str]:
    """The words of the headers that a .cu includes, comments left out, and of their names."""
    _, *headers = sources.source_texts(source)
    texts = [f"{spelled}\n{_COMMENT.sub(' ', text.decode(errors='replace'))}" for spelled, text in headers]
    return {word for text in texts for word in re.findall(r"\w+", text)}


def _renamed(text: str, operation: str, stem: str, name: str, kept: Set[str] = frozenset()) -> str:
    """Kernels are called operation, file, variant: `softmax_naive_f32`. What is `kept` has its name elsewhere."""
    return re.sub(
        rf"\b{operation}_{stem}(_\w*|\b)",
        lambda match: match[0] if match[0] in kept else f"{operation}_{name}{match[1]}",
        text,
    )


def _is_implementations(statement: ast.stmt) -> bool:
    names = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(one, ast.Name) and one.id == "IMPLEMENTATIONS" for one in names)


def _call_of(one: Implementation) -> ast.Call | None:
    """Where its module writes `Implementation("name", ..)`; None if a loop or a function makes it."""
    assert one.source is not None
    beside = one.source.with_suffix(".py")  # none, if several operations share the .cu
    module = ast.parse(beside.read_text(encoding="utf-8") if beside.is_file() else "")
    for node in (node for statement in filter(_is_implementations, module.body) for node in ast.walk(statement)):
        match node:
            case ast.Call(func=ast.Name(id="Implementation"), args=[ast.Constant(value=one.name), _, *_]):
                return node
    return None
