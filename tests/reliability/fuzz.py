"""Suites, ledgers and run folders from strangers, made up by the thousand: they are read, or it is said why not.

    python tests/reliability/fuzz.py 20000              # inputs; all three kinds in turn
    python tests/reliability/fuzz.py 20000 --seed 7 --kind run

An input must not give a traceback, take more than 2 s, start a process, or lead to a write outside of the run's folder.
Those that do are printed at the end, one for each place that they failed at, and the exit code is 1. Of runs everything
is done that `compare` and `report` do; charts are drawn of every fiftieth.
"""

import argparse
import contextlib
import copy
import csv
import functools
import gzip
import io
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jinja2
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kernelbench import compare
from kernelbench.cli.terminal import console
from kernelbench.compare import counted_runs, judge_claims, read_ledger
from kernelbench.compare.answer import judge_run
from kernelbench.compare.runs import compare_runs
from kernelbench.compare.self_test import self_test
from kernelbench.core import places
from kernelbench.core.errors import InputError, KernelbenchError
from kernelbench.planning.catalog import load_catalog
from kernelbench.report import changes_text
from kernelbench.report import self_test as self_test_text
from kernelbench.report.changes_table import changes_table
from kernelbench.report.console import claims_table, comparison_table, limits_line, results_table
from kernelbench.report.html_page import render
from kernelbench.report.origins import Published
from kernelbench.runs.files import MAX_RESULTS_BYTES, read_text
from kernelbench.runs.results import ENVIRONMENT_FILE, RESULTS_FILE, SAMPLES_FILE, read_run, results_file
from kernelbench.runs.samples import pack_samples, samples_file
from kernelbench.suite import read_suite, select_cases, select_implementations
from kernelbench.walks.report import report

SLOWEST_S = 2.0  # of the processor, however busy the machine is
DRAWN = 50  # of so many runs, one has its charts drawn
EVIL = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "<script>alert(1)</script>", '"><img src=x onerror=y>',
    "javascript:alert(1)", "../../../etc/passwd", "/etc/passwd", "..", "a/b", "\\..\\x", "$(touch x)", "`x`", "; rm x",
    "-Xcompiler", "--run", "@file", "\x1b[31mred", "\x1b]0;title\x07", "\u202ereversed", "\x00", "\ud800", "\x9b31m",
    "[bold]x[/bold]", "[/]", "[link=x]y", ":smile:", "$\\frac{1}{2}$", "$x", "%s%n", "{0}", "{{7*7}}", "{% x %}",
    "nan", "inf", "-inf", "1e999", "-0", "0", "1e-400", "9" * 30, "9" * 500, "true", "null", "", " ", "\n",
    "a\nb", "x" * 3000,
    "shape=0x0", "shape=4x axis=9", "seq==", "=", "axis=x", "dtype=", "ok", "wrong", "cold", "warm", "graph", "events",
    "masked", "zeros", "inputs", "inputs=zeros",
)  # fmt: skip
SPICE = (
    "!!python/object/apply:os.system [ls]", "&a [*a]", "*a", "<<: {a: 1}", "!x", "? ", "- - -", "{", "]", "|", ">",
    "%YAML 9.9",
    "---", "...", "1:1:1:1", "0b1", "0x1f", "0o7", "1_0", "2001-99-99", ".inf", ".nan", "~", "=", "!!binary x", "\t",
    "\x85",
)  # fmt: skip

# libyaml's are several times as fast, where it is there.
LOADER, DUMPER = (getattr(yaml, f"CSafe{name}", getattr(yaml, f"Safe{name}")) for name in ("Loader", "Dumper"))

scalars = (
    st.none() | st.booleans() | st.integers(-3, 70) | st.integers() | st.floats() | st.sampled_from((*EVIL, *SPICE))
    | st.text(max_size=12)
)  # fmt: skip
nested = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | st.sampled_from(EVIL), inner, max_size=4)
    ),
    max_leaves=8,
)
edits = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), nested), min_size=1, max_size=2)
cuts = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(0, 40), st.sampled_from((*EVIL, *SPICE)) | st.text(max_size=6)),
    max_size=3,
)


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) of a tree of lists and mappings."""
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(one, dict | list):
            yield from places_of(one)


def changed_tree(document: Any, wanted: list[tuple[int, int, Any]]) -> Any:
    """A copy with some values removed, put under other keys, or replaced: by others of the tree, or by any."""
    tree = json.loads(json.dumps(document))
    for where, how, value in wanted:
        spots = list(places_of(tree))
        if not spots:
            return value
        holder, key = spots[where % len(spots)]
        if how % 5 == 0:
            del holder[key]
        elif how % 5 == 1 and isinstance(holder, dict) and isinstance(value, str):
            holder[value] = holder.pop(key)
        elif how % 5 == 2:
            other, its_key = spots[how // 5 % len(spots)]
            holder[key] = copy.deepcopy(other.get(its_key) if isinstance(other, dict) else other[its_key:][:1])
        else:
            holder[key] = value
    return tree


def changed_text(text: str, wanted: list[tuple[int, int, str]]) -> bytes:
    """A copy with pieces cut out and others put in their place."""
    for where, length, piece in wanted:
        place = where % (len(text) + 1)
        text = text[:place] + piece + text[place + length :]
    return text.encode("utf-8", "surrogatepass")


def as_yaml(tree: Any) -> str:
    try:
        return str(yaml.dump(tree, Dumper=DUMPER, allow_unicode=True))
    except UnicodeEncodeError:  # of half a surrogate pair, which libyaml cannot write
        return str(yaml.safe_dump(tree, allow_unicode=True))


class Suites:
    def __init__(self, root: Path) -> None:
        self.path = root / "suite.yaml"
        self.catalog = load_catalog(specimens=True)
        self.claims = read_ledger(places.LEDGER)
        texts = [path.read_text() for path in sorted(places.SUITES.glob("*.yaml"))]
        trees = [yaml.load(text, LOADER) for text in texts]
        distributions = [{**tree, "inputs": ["normal", "zeros"]} for tree in trees]
        self.originals = [*zip(texts, trees, strict=True), *((as_yaml(tree), tree) for tree in distributions)]

    def inputs(self) -> st.SearchStrategy[Any]:
        return st.tuples(st.integers(0, len(self.originals) - 1), edits | st.none(), cuts, scalars)

    def put(self, given_: Any) -> None:
        number, tree_edits, text_cuts, self.word = given_
        text, tree = self.originals[number]
        content = as_yaml(changed_tree(tree, tree_edits)) if tree_edits else text
        self.path.write_bytes(changed_text(content, text_cuts))

    def read(self) -> None:
        suite = read_suite(self.path, self.catalog.operations, self.catalog.implementations, self.claims)
        with contextlib.suppress(InputError):
            select_cases(suite, [f"{self.word}"])
        with contextlib.suppress(InputError):
            select_implementations(suite, [f"{self.word}"])


class Ledgers:
    def __init__(self, root: Path) -> None:
        self.folder = root / "ledger"
        self.folder.mkdir()
        texts = {path.stem: path.read_text() for path in sorted(places.LEDGER.glob("*.yaml"))}
        self.originals = [(name, text, yaml.load(text, LOADER)) for name, text in texts.items()]
        self.run = read_run(make_run(root / "sound", "h200"))

    def inputs(self) -> st.SearchStrategy[Any]:
        return st.tuples(st.integers(0, len(self.originals) - 1), edits | st.none(), cuts)

    def put(self, given_: Any) -> None:
        number, tree_edits, text_cuts = given_
        name, text, tree = self.originals[number]
        for path in self.folder.iterdir():
            path.unlink()
        content = as_yaml(changed_tree(tree, tree_edits)) if tree_edits else text
        (self.folder / f"{name}.yaml").write_bytes(changed_text(content, text_cuts))

    def read(self) -> None:
        ledger = read_ledger(self.folder)
        verdicts = judge_claims(self.run, ledger, list(ledger))
        console_text(claims_table(verdicts))


class Runs:
    """Of a GPU, of the simulator, of a step and of a self-test; each is also compared with a sound run of a GPU."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "run"
        self.folder.mkdir()
        made = [make_run(root / device, device) for device in ("h200", "simulated")]
        made += [make_step(root / "step"), make_self_test(root / "self-test"), make_inputs(root / "inputs")]
        self.originals = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in made]
        self.sound = read_run(made[0])
        self.own = Own()
        self.read_so_far, self.drew = DRAWN - 1, False  # the first one is drawn

    def inputs(self) -> st.SearchStrategy[Any]:
        which = st.sampled_from((RESULTS_FILE, RESULTS_FILE, SAMPLES_FILE, ENVIRONMENT_FILE, ENVIRONMENT_FILE, "text"))
        further = st.dictionaries(
            st.sampled_from(("step", "self_test", "limits", "code", "resumed", "seconds", "wall_s")), nested, max_size=1
        )
        return st.tuples(st.integers(0, len(self.originals) - 1), which, edits, cuts, further)

    def put(self, given_: Any) -> None:
        number, which, tree_edits, text_cuts, further = given_
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        contents = dict(self.originals[number])
        if which == RESULTS_FILE:
            contents[which] = self._table(contents[which], tree_edits)
        elif which == SAMPLES_FILE and which in contents:
            contents[which] = gzip.compress(self._table(gzip.decompress(contents[which]), tree_edits), 1)
        elif which == ENVIRONMENT_FILE:
            tree = changed_tree({**json.loads(contents[which]), **further}, tree_edits)
            contents[which] = json.dumps(tree).encode("utf-8", "surrogatepass")
        else:
            name = list(contents)[len(text_cuts) % len(contents)]
            contents[name] = changed_text(contents[name].decode("latin-1"), text_cuts)
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)

    def read(self) -> None:
        self.drew = False
        with self.own.read_once():
            self._all()

    def _all(self) -> None:
        run = read_run(self.folder)
        found = judge_run(run)
        times = (results_table(run), comparison_table(found.comparison, run), limits_line(run))
        console_text(*times, claims_table(found.verdicts))
        if kept := self_test_text.self_test_figures(found.run):
            console_text(self_test_text.table(kept))
        render(run, found.comparison, found.verdicts, Published())
        self.read_so_far += 1
        self.drew = self.read_so_far % DRAWN == 0
        if self.drew:
            report(found, None)
        for first, second in ((run, self.sound), (self.sound, run)):
            changes = compare_runs(first, second)
            console_text(changes_table(changes))
            changes_text.as_markdown(changes, 0.02)

    def _table(self, content: bytes, wanted: list[tuple[int, int, Any]]) -> bytes:
        rows = list(csv.reader(io.StringIO(content.decode())))
        for where, column, value in wanted:
            row = rows[where % len(rows)]
            if where % 4 == 0:  # what another row has there
                row[column % len(row)] = rows[column // len(row) % len(rows)][column % len(row)]
            else:
                row[column % len(row)] = value if isinstance(value, str) else json.dumps(value)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode("utf-8", "surrogatepass")


class Own:
    """What is the project's own and the same for all runs, for which there is no need to read it each time: the ledger,
    the recorded runs of the simulator, and the template of the page."""

    def __init__(self) -> None:
        self._ledger = functools.cache(read_ledger)
        self._recorded = functools.cache(read_run)
        self._compile, self._compiled = jinja2.Environment.compile, {}

    @contextlib.contextmanager
    def read_once(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for holder, name, instead in (
                (compare, "read_ledger", self._ledger),
                (counted_runs, "read_run", self._recorded),
                (jinja2.Environment, "compile", lambda *arguments: self._template(*arguments)),
            ):
                stack.enter_context(patch.object(holder, name, instead))
            yield

    def _template(self, environment: jinja2.Environment, *source: Any) -> Any:
        if source not in self._compiled:
            self._compiled[source] = self._compile(environment, *source)
        return self._compiled[source]


KINDS: dict[str, Callable[[Path], Any]] = {"suite": Suites, "ledger": Ledgers, "run": Runs}
SOUND = {"suite": (0, None, [], "seq=16"), "ledger": (0, None, []), "run": (0, "text", [], [], {})}


def make_run(folder: Path, device: str = "h200") -> Path:
    """A small run: two cases of the recorded run of softmax."""
    source = places.RECORDED / device / "softmax"
    run = read_run(source)
    keys = list(dict.fromkeys(row.case for row in run.rows))[1:4:2]
    names = ["ft", "oneflow", "copy", "naive", "tree_modulo", "ft_as_published"]
    folder.mkdir()
    header, *rows = csv.reader(io.StringIO(read_text(results_file(source), MAX_RESULTS_BYTES)))
    case, name = header.index("case"), header.index("implementation")
    kept = [row for row in rows if row[case] in keys and row[name] in names]
    with (folder / RESULTS_FILE).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *kept])
    if not run.simulated:
        samples = run.samples[run.samples["case"].isin(keys) & run.samples["implementation"].isin(names)]
        kept_samples = [(*one[:5], repr(one[5])) for one in samples[samples["round"] < 5].itertuples(index=False)]
        (folder / SAMPLES_FILE).write_bytes(samples_file(pack_samples(kept_samples)))
    environment = dict(run.environment)
    environment["implementations"] = {one: environment["implementations"][one] for one in names[:3]}
    environment["code"] = dict(list(environment.get("code", {}).items())[:2])
    (folder / ENVIRONMENT_FILE).write_text(json.dumps(environment))
    return folder


def make_self_test(folder: Path) -> Path:
    """A small run in which two kernels are taken for twins."""
    run, twins = read_run(make_run(folder)), {"twins": {"tree_modulo": "naive"}}
    found = twins | self_test(replace(run, environment={**run.environment, "self_test": twins}))
    (folder / ENVIRONMENT_FILE).write_text(json.dumps({**run.environment, "self_test": found}))
    return folder


def make_step(folder: Path) -> Path:
    """A small run whose two cases are the parts of a step."""
    run = read_run(make_run(folder))
    parts = [
        {"name": f"part {key}", "operation": "softmax", "case": key, "calls": 12, "unfused": "ft", "fused": "oneflow"}
        for key in dict.fromkeys(row.case for row in run.rows)
    ]
    environment = {**run.environment, "step": {"parts": parts, "leaves_out": "the rest"}}
    (folder / ENVIRONMENT_FILE).write_text(json.dumps(environment))
    return folder


def make_inputs(folder: Path) -> Path:
    """A small run of one case with two distributions of its inputs."""
    make_run(folder)
    first, second = dict.fromkeys(row.case for row in read_run(folder).rows)
    results, samples = folder / RESULTS_FILE, folder / SAMPLES_FILE
    replaced = second.encode(), f"{first} inputs=zeros".encode()
    shapes = [
        shape.partition(" ")[0].encode() for shape in (second.partition("shape=")[2], first.partition("shape=")[2])
    ]
    results.write_bytes(results.read_bytes().replace(*replaced).replace(*shapes))
    samples.write_bytes(gzip.compress(gzip.decompress(samples.read_bytes()).replace(*replaced), mtime=0))
    return folder


def console_text(*parts: Any) -> str:
    """As a terminal would get it; no character of it may be one that a terminal obeys."""
    text = io.StringIO()
    out = console()
    out.file = text
    for part in parts:
        out.print(part)
    printed = text.getvalue()
    assert not [one for one in printed if one != "\n" and (ord(one) < 32 or 127 <= ord(one) < 160)], (
        "a control character"
    )
    return printed


class Watch:
    """Notes every file that is opened for writing, renamed, linked or removed outside of `root`."""

    def __init__(self, root: Path) -> None:
        self.root, self.outside, self.on = str(root.resolve()), [], False
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            path, _, flags = arguments
            if not (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or isinstance(path, int):
                return
            named = [path]
        elif event in ("os.rename", "os.link", "os.symlink", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"):
            named = [one for one in arguments if isinstance(one, str | bytes | Path)]
        elif event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn"):
            self.outside.append(f"{event} {arguments!r:.200}")
            return
        else:
            return
        for one in named:
            real = os.path.realpath(os.fsdecode(one))
            if real != os.devnull and not real.startswith(self.root):
                self.outside.append(f"{event} {real}")


@dataclass
class Outcome:
    """What became of all inputs of a kind."""

    read: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)  # by place, the first input that failed there


def fuzz(kind: str, inputs: int, root: Path, number: int = 0) -> Outcome:
    """Read so many inputs of a kind; `number` seeds them."""
    reader, watch, outcome = KINDS[kind](root), Watch(root), Outcome()

    @seed(number)
    @settings(
        max_examples=inputs, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(reader.inputs())
    def each(given_: Any) -> None:
        reader.put(given_)
        started = time.process_time()
        watch.on = True
        try:
            reader.read()
            outcome.read += 1
        except KernelbenchError as error:
            outcome.refused += 1
            console_text(Text(str(error)))
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} at {frame.filename}:{frame.lineno}"
            outcome.failures.setdefault(place, f"{traceback.format_exc()}\n{given_!r:.500}")
        finally:
            watch.on = False
        took = time.process_time() - started
        outcome.slowest_s = max(outcome.slowest_s, took)
        if took > SLOWEST_S * (5 if getattr(reader, "drew", False) else 1):  # drawing takes as long for sound runs
            outcome.failures.setdefault("slow", f"{took:.1f} s: {given_!r:.500}")
        if watch.outside:
            outcome.failures.setdefault(watch.outside[0], f"{watch.outside}: {given_!r:.500}")
            watch.outside.clear()

    reader.put(SOUND[kind])
    reader.read()  # imports and makes what is made once
    each()
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS)
    options = parser.parse_args()
    failed: dict[str, str] = {}
    kinds = [options.kind] if options.kind else list(KINDS)
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            inputs = options.inputs // len(kinds)
            found = fuzz(kind, inputs, Path(folder), options.seed)
            each_ms = 1e3 * (time.perf_counter() - started) / inputs
            told = f"{found.read} inputs read and {found.refused} refused, {each_ms:.1f} ms each"
            print(
                f"{kind}: {told}, the slowest {found.slowest_s:.2f} s; {len(found.failures)} places failed", flush=True
            )
            failed |= found.failures
    for place, text in failed.items():
        print(f"\n{place}\n{text}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
