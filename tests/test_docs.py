"""The documents keep what they promise: commands run, links lead somewhere, shown output is that of the program."""

import gzip
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from kernelbench.build import BuildRequest, build, find_compiler
from kernelbench.cli.commands import cli
from kernelbench.compare.changes import CHANGES
from kernelbench.compare.comparison import COMPARISON
from kernelbench.compare.recorded import Standing
from kernelbench.core import columns, places
from kernelbench.core.launch_texts import input_loads
from kernelbench.core.records import Binary, Case
from kernelbench.planning.case_plans import plan_case
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs.row_records import RESULTS

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CLI_PAGE = ROOT / "docs" / "cli.md"
RECORDED = ROOT / "results" / "h200" / "softmax"
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
each_command = pytest.mark.parametrize("name", list(cli.commands))


@pytest.fixture(scope="module")
def make() -> Iterator[ModuleType]:
    """docs/make.py, which is a script and in no package; the module beside it is found as a script finds it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        yield loaded("docs_make", ROOT / "docs" / "make.py")


def loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fences(page: Path, language: str) -> list[str]:
    return [text for found, text in _FENCE.findall(page.read_text()) if found == language]


def links(page: Path) -> Iterator[str]:
    """Targets outside of code."""
    yield from _LINK.findall(_FENCE.sub("", page.read_text()))


def shell_words(page: Path) -> Iterator[list[str]]:
    """The commands of a page's bash blocks, each as its words."""
    for block in fences(page, "bash"):
        for line in block.splitlines():
            words: list[str] = []
            for word in shlex.split(line, comments=True):
                if word != "&&":
                    words.append(word)
                elif words:
                    yield words
                    words = []
            if words:
                yield words


@pytest.mark.exhaustive  # makes all of them: 27 s
def test_made_pages_are_up_to_date(make: ModuleType, judged: list[Standing], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "ledger_standings", lambda results: judged)
    pages = {path: text for path, text in make.pages().items() if path != CLI_PAGE}
    old = [str(path.relative_to(ROOT)) for path in make.out_of_date(pages)]
    assert old == [], "out of date; run `python docs/make.py`"


def test_the_page_of_commands_is_up_to_date() -> None:
    """In a process of its own: other tests leave traces in the commands of this one."""
    code = "import make; print(make.cli_page(), end='')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "docs", env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == CLI_PAGE.read_text(), "out of date; run `python docs/make.py`"


def test_the_readme_shows_the_recorded_run(make: ModuleType) -> None:
    if not RECORDED.is_dir():
        pytest.skip("no recorded run of softmax on an H200 here")
    page = (ROOT / "README.md").read_text()
    chart = make.readme_blocks.CHART
    assert (ROOT / chart).is_file(), "the chart that README.md shows"
    assert chart in page
    assert page.count("| (32, 64, ") == 6


def test_blocks_are_filled_and_the_text_round_them_stays(make: ModuleType) -> None:
    page = "# Title\n<!-- made by docs/make.py: times -->\nold\n<!-- end -->\nafter\n"
    filled = make.with_blocks(page, {"times": "new"})
    assert filled == "# Title\n<!-- made by docs/make.py: times -->\n\nnew\n\n<!-- end -->\nafter\n"
    assert make.with_blocks(filled, {"times": "new"}) == filled
    with pytest.raises(ValueError, match="block 'times': nothing makes it; expected one of claims"):
        make.with_blocks(page, {"claims": ""})


def test_a_difference_that_is_rounded_to_zero_has_no_sign(make: ModuleType) -> None:
    cells = [line.split(" | ")[-1] for line in make.measured_blocks.agreement_block().splitlines()[2:]]
    assert "0.00 µs |" in cells
    assert [cell for cell in cells if cell[:5] in ("+0.00", "-0.00")] == []


def test_short_cases_of_the_draws_are_counted(make: ModuleType) -> None:
    blocks = make.peers_blocks
    said = blocks.short_block(blocks.shown_runs(blocks.RESULTS)).partition("\n")[0]
    assert re.search(r" on \d+ of \d+ cases of the suites .* on \d+ of the \d+ cases of the draws: ", said)
    assert said.endswith("The table leaves the draws out:")
    assert blocks.short_block({}) == ""


def test_the_page_shows_the_latest_run_of_each_suite_and_compares_suites_of_two(
    make: ModuleType, tmp_path: Path
) -> None:
    blocks = make.peers_blocks
    shown = blocks.shown_runs(blocks.RESULTS)
    started: dict[str, list[str]] = {}
    for path in blocks.RESULTS.glob("*/peers/*/environment.json"):
        started.setdefault(path.parent.name, []).append(json.loads(path.read_text())["started"])
    assert max(map(len, started.values())) == 2, "of two GPUs"
    assert {name: run.environment["started"] for name, run in shown.items()} == {
        name: max(times) for name, times in started.items()
    }
    gpus = [line.split(" | ")[1] for line in blocks.both_gpus_block(blocks.RESULTS).splitlines()[2:]]
    assert gpus == ["NVIDIA H100 80GB HBM3", "NVIDIA H200"] * len(blocks.BOTH)
    assert blocks.both_gpus_block(tmp_path) == ""


def test_every_block_of_the_readme_is_made(make: ModuleType, tmp_path: Path) -> None:
    marked = re.findall(r"made by docs/make\.py: (\w+)", (ROOT / "README.md").read_text())
    assert sorted(marked) == sorted([*make.readme_blocks.readme_blocks(tmp_path / "no run"), "summary"])


def test_every_column_is_listed_with_unit_and_meaning(make: ModuleType) -> None:
    page = (ROOT / "docs" / "reading-a-report.md").read_text(encoding="utf-8")
    listed = (
        *RESULTS,
        *columns.SAMPLES,
        *COMPARISON,
        *columns.CLAIMS,
        *CHANGES,
        *columns.HISTORY,
    )
    assert len(listed) > 50
    for column in listed:
        meaning = column.meaning.replace("|", "\\|")  # a bare one would end the cell
        assert f"| `{column.name}` | {column.unit} | {meaning} |" in page
    assert make.with_blocks(page, {"columns": make.columns_block()}) == page


def test_every_id_of_the_ledger_is_on_the_page_of_claims() -> None:
    table, without = (ROOT / "docs" / "claims.md").read_text().split("## Figures without a claim")
    claimed = re.findall(r"^\| \[`([\w-]+)`\]\(claims/\1\.md\) \| ", table, re.MULTILINE)
    others = re.findall(r"^\| `([\w-]+)` \| ", without, re.MULTILINE)
    entries = {path.stem: "\nclaim:" in path.read_text() for path in places.LEDGER.glob("*.yaml")}
    assert sorted(claimed) == sorted(id_ for id_, has_claim in entries.items() if has_claim), "one line an id"
    assert sorted(others) == sorted(id_ for id_, has_claim in entries.items() if not has_claim)


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "claims").glob("*.md")), ids=lambda path: path.stem)
def test_a_claims_page_says_all_of_it(path: Path) -> None:
    page = path.read_text()
    for part in (
        "# ",
        "## What was said",
        "## What was required",
        "## What differs",
        "## Again\n\n```sh\nkernelbench run ",
    ):
        assert f"\n{part}" in f"\n{page}", part
    if not page.split("\n")[2].startswith("**not decided**"):
        assert "## What came out: " in page
    for chart in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page):
        assert (path.parent / chart).is_file()


def test_the_summary_counts_the_rows(make: ModuleType) -> None:
    page = (ROOT / "docs" / "claims.md").read_text()
    readme = (ROOT / "README.md").read_text()
    assert "(docs/claims.md)" in readme
    for text in (page, readme):
        total = int(re.search(r"of (\d+) published claims", text)[1])
        found = {
            word: re.search(rf"\*\*(\d+)(?: of \d+ published claims|\*\*) {said}\b", text)
            for word, said in make.claims_page.WORDS.items()
        }
        counts = {word: int(one[1]) if one else 0 for word, one in found.items()}
        assert sum(counts.values()) == total
        assert "**0 " not in text
        for word, count in counts.items():
            assert page.count(f"| **{word}**") == count, word


def test_the_table_of_accuracy_has_the_largest_error_of_each_type_and_empty_cells(
    make: ModuleType, tmp_path: Path
) -> None:
    header = "operation,implementation,form,dtype,shape,axis,begins,max_ulp,wrong,special,repeats,refused"
    rows = """\
softmax,one_read_rows,accurate,float32,5x4,-1,aligned,1.25,0,0,True,
softmax,one_read_rows,accurate,float32,5x4,-1,one element late,2.5,0,0,True,
softmax,one_read_rows,fast,float32,5x4,-1,aligned,17.04,0,2,True,
softmax,one_read_rows,hardware,float16,5x8,-1,aligned,,,,,no clusters
softmax,torch,,float32,5x4,-1,aligned,3.5,0,0,True,
softmax,torch,,float32,5x4,1,aligned,99,0,0,True,
"""
    (tmp_path / "accuracy.csv.gz").write_bytes(gzip.compress(f"{header}\n{rows}".encode()))
    state = {"device": {"name": "GPU", "driver": "580"}, "nvcc": "13.0", "torch": "2.11", "date": "2026-11-21"}
    (tmp_path / "environment.json").write_text(json.dumps(state))
    lines = make.accuracy_blocks.accuracy_block(tmp_path).splitlines()
    assert "| `softmax` | `one_read_rows` | 2 | 1.25 |  |  | 3.5 |  |  |" in lines
    assert "| `softmax` | `one_read_axis` |  |  |  |  |  |  |  |" in lines
    assert "2 runs of a kernel on one input, 1 of them" in lines[-1]
    assert "in 0, other bits in a second run in 0, unsupported 1." in lines[-1]
    assert lines[-1].endswith("errors are at most these, but for 2.5 (softmax/one_read_rows, float32).")
    assert "2 runs" not in make.accuracy_blocks.accuracy_block(tmp_path / "nothing")


def test_a_page_without_recorded_runs_says_so(make: ModuleType, tmp_path: Path) -> None:
    judged = make.ledger_standings(tmp_path)
    page = make.claims_page.claims_page(judged)
    assert "| **not decided** |  |  |" in page
    assert make.claims_page.summary(judged).startswith("**55 of 55 published claims are not decided**. ")
    alone = make.claims_page.claim_pages(judged, tmp_path)[tmp_path / "div-mod.md"]
    assert "Not decided: no recorded run of indexing." in alone
    assert "Nothing was judged." in alone


@each_command
def test_examples_parse(name: str) -> None:
    """Each `kernelbench ...` line of the help is taken by the command's own parser."""
    lines = [line.strip() for line in (cli.commands[name].help or "").splitlines()]
    examples = [line.split("  ")[0] for line in lines if line.startswith("kernelbench ")]  # the rest says what for
    assert examples
    for example in examples:
        takes(shlex.split(example))


def takes(words: list[str]) -> None:
    """Parse a command line and run nothing."""
    assert words[0] == "kernelbench"
    assert words[1] in cli.commands, f"kernelbench has no command '{words[1]}'"
    command = cli.commands[words[1]]
    command.make_context(words[1], words[2:], parent=click.Context(cli, **cli.context_settings))


def test_pages_were_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "measuring.md", "writing-a-kernel.md"} <= {page.name for page in PAGES}
    assert any(links(page) for page in PAGES)
    assert any(shell_words(page) for page in PAGES)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        if target.startswith(("http://", "https://", "#")):
            continue
        path = page.parent / target.split("#")[0]
        later = RECORDED in path.parents and not RECORDED.exists()
        assert later or path.exists(), f"{page.name}: [..]({target}) leads nowhere"


@each_page
def test_every_page_is_in_the_index(page: Path) -> None:
    """Of the documents; the site says the same in its navigation."""
    index = ROOT / "docs" / "README.md"
    if page not in (index, ROOT / "README.md"):
        assert page.resolve() in {(index.parent / target.split("#")[0]).resolve() for target in links(index)}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@each_page
def test_commands_in_pages_exist(page: Path) -> None:
    for words in shell_words(page):
        if words[0] == "kernelbench":
            takes(words)


@each_page
def test_only_extras_that_exist_are_installed(page: Path) -> None:
    project = (ROOT / "pyproject.toml").read_text()
    section = project.split("[project.optional-dependencies]")[1].split("\n[")[0]
    extras = set(re.findall(r"^(\w+) = \[", section, re.MULTILINE))
    assert {"test", "nvcc"} <= extras
    for words in shell_words(page):
        if words[:2] == ["pip", "install"]:
            asked = {extra for word in words for extra in re.findall(r"\[(.*)\]", word) for extra in extra.split(",")}
            assert asked <= extras


def test_the_readmes_two_commands_are_whole() -> None:
    """Each begins with a fresh environment and ends with what it promises; a shell can read it."""
    lines = [line for block in fences(ROOT / "README.md", "bash") for line in block.splitlines() if "venv" in line]
    assert len(lines) == 2
    for line, last in zip(lines, ("kernelbench run suites/softmax.yaml", "pytest -n auto"), strict=True):
        steps = line.split(" && ")
        assert steps[:2] == ["python3 -m venv .venv", ". .venv/bin/activate"]
        assert steps[-1] == last
        assert subprocess.run(["bash", "-n", "-c", line], check=False).returncode == 0
    assert (ROOT / "suites" / "softmax.yaml").is_file()


def test_ci_runs_the_readmes_test_command() -> None:
    pattern = re.search(r"grep -E '(.+)' README\.md", (ROOT / ".ci" / "run").read_text())
    found = [line for line in (ROOT / "README.md").read_text().splitlines() if re.search(pattern[1], line)]
    assert len(found) == 1


@pytest.mark.nvcc
def test_the_example_kernel_compiles_and_fits_its_plan(tmp_path: Path) -> None:
    page = ROOT / "docs" / "writing-a-kernel.md"
    compiler = find_compiler()
    folder = tmp_path / "softmax"
    folder.mkdir()
    (folder / "warp.cu").write_text(next(text for text in fences(page, "cuda") if "softmax_warp_f32" in text))
    (folder / "warp.py").write_text(next(text for text in fences(page, "python") if "IMPLEMENTATIONS" in text))

    from kernelbench.devices.known import known_gpu

    catalog = load_catalog([places.KERNELS, tmp_path])
    warp = catalog.implementations["softmax"]["warp"]
    case = Case("softmax", (2, 3, 129), -1, "float32")
    planned = plan_case(case, catalog.operations["softmax"], warp, known_gpu("h200"))
    assert planned.status == "ok", planned.reason
    assert planned.plan.launches[0].grid == (2, 1, 1)
    assert warp.source is not None
    request = BuildRequest(warp.source, planned.plan.defines, "sm_90")
    binary = build({request}, compiler, tmp_path / "cache")[request]
    assert isinstance(binary, Binary), binary
    assert input_loads(planned.plan, binary.facts, ["x"])["x"] > 0
