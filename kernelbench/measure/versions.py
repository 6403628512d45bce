"""Two versions of the same kernels as implementations of one case, so that the same rounds measure both.

BASE's version of `naive` is `naive.base`, and `naive.base.again` its twin, whose distance from it is noise. The process
that uses the GPU knows HEAD's kernels alone: it gets the plan and the binary of BASE, and checks its result as HEAD's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.records import CasePlan, Planned, Suite
from kernelbench.measure.bench import Bench
from kernelbench.measure.binaries import plans_for
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.planning.own_file import CuFile
from kernelbench.planning.twins import with_twins

BASE = ".base"  # suffix to the name of HEAD's version; names of kernels have no dot
NOT_INSTALLED = "a checkout of kernelbench itself; install HEAD with `pip install -e HEAD` and run its kernelbench"


@dataclass(frozen=True)
class GateVersions:
    """The kernels of both versions. `own`: what the process that uses the GPU has to load for HEAD."""

    base: Catalog
    head: Catalog
    own: tuple[Path | CuFile, ...]

    def names(self, operation: str) -> tuple[Sequence[str], Sequence[str]]:
        """The kernels of an operation, in BASE and in HEAD."""
        base, head = (_names(catalog, operation, own=bool(self.own)) for catalog in (self.base, self.head))
        return base, head

    def pairs(self, operation: str) -> Mapping[str, str]:
        """BASE's name of each kernel of HEAD that both have; two single files are a pair, whatever their names."""
        base, head = self.names(operation)
        if self.base.files and self.head.files:
            return dict(zip(head, base, strict=True))
        return {name: name for name in head if name in base and self._is_compiled(operation, name)}

    def calls(self, operation: str) -> list[str]:
        """Library calls of both, which have no machine code to compare, nor a plan to send to another process."""
        base, head = self.names(operation)
        return [name for name in head if name in base and not self._is_compiled(operation, name)]

    def _is_compiled(self, operation: str, name: str) -> bool:
        return all(catalog.implementations[operation][name].source for catalog in (self.base, self.head))

    @property
    def operations(self) -> list[str]:
        """Those with a kernel to compare."""
        return [name for name in self.head.operations if name in self.base.operations and self.pairs(name)]


def load_versions(base: Path, head: Path) -> GateVersions:
    """The kernels of two checkouts, kernel folders or .cu files. This runs their Python, HEAD's last.

    InputError for what is neither, and for a checkout of kernelbench itself whose HEAD is not the installed one.
    """
    first, second = _kernels(base), _kernels(head)
    if not _is_installed(second):
        if _is_installed(first):
            raise InputError(f"{base}: {NOT_INSTALLED}")
        before = load_catalog(specimens=True, own=[first])
        return GateVersions(before, load_catalog(specimens=True, own=[second]), (second,))
    if isinstance(first, CuFile):
        raise InputError(f"{base}: a file, and {head} is a checkout of kernelbench; expected two of one kind")
    return GateVersions(load_catalog([first]), load_catalog(specimens=True), ())


def suites_of(versions: GateVersions, base: Path, head: Path) -> list[str]:
    """The suites that have the name of an operation with kernels in both versions."""
    operations = versions.operations
    if not operations:
        raise InputError(f"{base} and {head}: no kernel in common; expected <operation>/<name>.cu and .py in both")
    if versions.head.files:
        raise InputError(f"{head}: which operation is it? Name a suite: kernelbench gate {base} {head} softmax")
    found = [name for name in operations if (places.SUITES / f"{name}.yaml").is_file()]
    if len(found) < len(operations):
        missing = ", ".join(name for name in operations if name not in found)
        raise InputError(f"{head}: no suite has the name of {missing}; name suites behind the two versions")
    return found


def common_kernels(suite: Suite, versions: GateVersions) -> Suite:
    """The suite with only the kernels that both versions have."""
    if suite.step is not None:
        raise InputError(f"'{suite.name}' is a step, which takes one kernel per part; name another suite")
    pairs = versions.pairs(suite.operation)
    names = tuple(name for name in suite.implementations if name in pairs)
    if not names:
        raise InputError(f"suite '{suite.name}' has no kernel of {suite.operation} that both versions have")
    return replace(suite, implementations=names)


def gate_notes(suite: Suite, versions: GateVersions) -> Iterator[str]:
    """What a gate cannot compare."""
    if versions.head.files:
        return
    base, head = versions.names(suite.operation)
    for text, names in (
        ("only in BASE", [name for name in base if name not in head]),
        ("only in HEAD", [name for name in head if name not in base]),
        ("a library call, which has no machine code to compare", versions.calls(suite.operation)),
    ):
        if names:
            yield f"{suite.operation}: {', '.join(names)}: {text}"


def _kernels(path: Path) -> Path | CuFile:
    if path.suffix == ".cu":
        return CuFile(path)
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; expected a checkout, a folder of kernels or a .cu")
    return path / "kernels" if (path / "kernels").is_dir() else path


def _is_installed(kernels: Path | CuFile) -> bool:
    return isinstance(kernels, Path) and kernels.resolve() == places.KERNELS.resolve()


def _names(catalog: Catalog, operation: str, *, own: bool) -> Sequence[str]:
    if own:
        return catalog.own.get(operation, ())
    return [one.name for one in catalog.implementations.get(operation, {}).values() if one.role == "kernel"]


def plans_of_both(bench: Bench, suite: Suite, versions: GateVersions) -> list[CasePlan]:
    """The cases with both versions of each kernel, where either of them takes the case."""
    pairs = versions.pairs(suite.operation)
    earlier = replace(suite, implementations=tuple(pairs[name] for name in suite.implementations))
    head, base = plans_for(bench, suite, versions.head), plans_for(bench, earlier, versions.base)
    both = [drop_unsupported_pairs(paired_with_base(*sides)) for sides in zip(head, base, strict=True)]
    return [plan for plan in both if plan.planned]


def paired_with_base(head: CasePlan, base: CasePlan) -> CasePlan:
    """HEAD's case with BASE's version behind each kernel; `base` has them in the same order."""
    planned = []
    for mine, theirs in zip(head.planned, base.planned, strict=True):
        one = replace(mine.implementation, name=mine.implementation.name + BASE, source=theirs.implementation.source)
        planned += [mine, replace(theirs, implementation=one)]
    return replace(head, planned=tuple(planned))


def drop_unsupported_pairs(plan: CasePlan) -> CasePlan:
    """The case of `paired_with_base` without the pairs of which neither version takes the case."""
    return _chosen(plan, lambda one, other: not {one.status, other.status} <= {"unsupported", "skipped"})


def drop_equal_pairs(plan: CasePlan) -> CasePlan:
    """The built case of `paired_with_base` without the pairs that run the same machine code in the same way."""
    return _chosen(plan, lambda one, other: not launches_same_code(one, other))


def _chosen(plan: CasePlan, holds: Callable[[Planned, Planned], bool]) -> CasePlan:
    pairs = zip(plan.planned[::2], plan.planned[1::2], strict=True)
    return replace(plan, planned=tuple(one for pair in pairs if holds(*pair) for one in pair))


def with_noise(plan: CasePlan) -> CasePlan:
    """The case with a twin behind each of BASE's versions."""
    return with_twins(plan, lambda one: one.name.endswith(BASE))


def launches_same_code(one: Planned, other: Planned) -> bool:
    """Whether both launch the same machine code with the same arguments and resources; False if that is not known."""
    if one.plan is None or other.plan is None or one.binary is None or other.binary is None:
        return False
    return _run_by(one) == _run_by(other)


def _run_by(one: Planned) -> object:
    """All that a run of it depends on: the code, registers and shared memory of what it launches, the functions and
    constants beside them, and the launches. Host code, and what is not readable, is the same if its source is."""
    from kernelbench.build.machine_code import data_hash, machine_code

    assert one.plan is not None
    assert one.binary is not None
    facts = one.binary.facts
    if one.plan.host is not None:
        return one.binary.key, one.plan.host
    try:
        code, data = machine_code(one.binary.path), data_hash(one.binary.path)
        launches = [
            (code[launch.entry], facts[launch.entry].registers, facts[launch.entry].shared_bytes)
            for launch in one.plan.launches
        ]
    except (OSError, ValueError, KeyError):
        return one.binary.key, one.plan.launches, one.plan.scratch
    functions = sorted(found.hash for name, found in code.items() if name not in facts)
    bare = [replace(launch, entry="") for launch in one.plan.launches]
    return launches, bare, functions, data, one.plan.scratch
