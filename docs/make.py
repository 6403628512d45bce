"""Makes the parts of the documents that show what the program prints or measured; tests check them.

    python docs/make.py              write what is out of date, and say which files those were
    python docs/make.py --check      write nothing; exit 1 if something is out of date
    python docs/make.py --run DIR    show this run in README.md in place of the recorded one
    python docs/make.py --results DIR    judge claims on the runs in DIR/h200 and DIR/simulated

Needs kernelbench installed (pip install -e .), but no GPU.

README.md        the blocks between `<!-- made by docs/make.py: NAME -->` and `<!-- end -->`, and docs/speedup.svg
docs/tutorial.md what the terminal shows of the recorded run
docs/cli.md      the whole page, from `--help` of every command
docs/claims.md   the whole page, see claims_page.py; docs/claims/ has a page and charts of each claim
docs/python.md   the whole page, and the same as a notebook, see python_page.py
docs/measuring.md             what compute-sanitizer found, and the table of agreement with NVBench
docs/reliability.md           every fault, and what came of it
docs/explaining.md            its tables of metrics and rules
docs/reading-a-report.md      its tables of columns
docs/kernels.md               our own kernels beside libraries, and how far they are from float64
docs/inputs.md                distributions, what operations have of them, and what they give for infinities and NaN
docs/simulator.md             its agreement with hardware, and its speed
docs/simulate.md              the instructions that the simulator runs
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import accuracy_blocks
import claims_page
import click
import inputs_blocks
import measured_blocks
import peers_blocks
import python_page
import readme_blocks

from kernelbench.cli.commands import cli
from kernelbench.compare.changes import CHANGES
from kernelbench.compare.comparison import COMPARISON
from kernelbench.compare.recorded import ledger_standings
from kernelbench.core import columns, places
from kernelbench.explain import RULES
from kernelbench.explain.counted import METRICS
from kernelbench.runs.folders import recorded_time
from kernelbench.runs.row_records import RESULTS
from kernelbench.simt.coverage import REFUSED_FORMS, coverage

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100

_BLOCK = re.compile(r"(<!-- made by docs/make\.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_blocks(page: str, blocks: Mapping[str, str]) -> str:
    """The page with every marked block made new. ValueError for a name that nothing makes."""

    def made(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        if name not in blocks:
            raise ValueError(f"block '{name}': nothing makes it; expected one of {', '.join(blocks)}")
        return f"{begin}\n{blocks[name]}\n\n{end}" if blocks[name] else f"{begin}{end}"

    return _BLOCK.sub(made, page)


# ---- docs/cli.md ---------------------------------------------------------------------------------

CLI_HEAD = """\
# The command line

Made by `docs/make.py` from `--help` of every command.

A SUITE is the path of a YAML file, or the name of one in `suites/`. A RUN is a folder, or the name of a run or of a
suite; left out, it is your newest run, else the recorded one that kernelbench ships.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | a row failed or was wrong, or nothing was verified; `doctor`: something is missing |
| 2 | wrong suite, option or file; no device or compiler where one is needed; output that cannot be written |
| 3 | `compare --fail-on`, `gate`: a regression |
| 129, 130, 143 | stopped by SIGHUP, with Ctrl-C, or by SIGTERM; finished cases are kept |
| 141 | nobody reads the output any more, as behind `head -1` |

Lost output never stops a measurement: `run`, `check`, `build` and `tune` go on to their end and write their rows. The
exit code then is 141 or 2, even where it would have been 1 or 3. A standard output that was closed on purpose (`>&-`)
changes no exit code, and neither does whatever becomes of standard error.

`--format csv`, `json` or `markdown` prints the rows of a table and nothing else; what else is told goes to standard
error. Times are in seconds, sizes in bytes, and a case is named by its key, as in `results.csv`.

Tables are as wide as the terminal, between 40 and 200 characters. A file or a pipe gets 100 characters per line, or as
many as the variable `COLUMNS` says. A narrow table names the columns that it leaves out.

**How long it takes.** On an H200 `run softmax` took {softmax:.0f} s and the longest suite, `{longest}`,
{seconds:.0f} s; `list suites` states the time of each. Where several GPUs shared a recorded run, their times are added.
On the simulator `check softmax --strict` takes minutes. Every
command that takes longer than a second says on standard error where it is: on a terminal one line, as
`[42/132] seq=128 oneflow  32 %  1:10 left`; elsewhere such a line every 30 seconds.

## Shell completion

Tab completes commands, options and suites, once one line is in your shell's configuration. For bash 4.4 or newer that
is `~/.bashrc`:

```bash
eval "$(_KERNELBENCH_COMPLETE=bash_source kernelbench)"
```

For zsh it is `~/.zshrc`, below `compinit`, and for fish `~/.config/fish/config.fish`:

```zsh
eval "$(_KERNELBENCH_COMPLETE=zsh_source kernelbench)"
```

```fish
_KERNELBENCH_COMPLETE=fish_source kernelbench | source
```
"""


def cli_page() -> str:
    top = click.Context(cli, info_name="kernelbench", terminal_width=WIDTH, **cli.context_settings)
    suites = {path.parent.name for path in (places.RECORDED / "h200").rglob("environment.json")}
    walls = {name: found[0] for name in suites if (found := recorded_time(name))}
    longest = max(walls, key=walls.__getitem__)
    head = CLI_HEAD.format(softmax=walls["softmax"], longest=longest, seconds=walls[longest])
    parts = [head, f"```text\n{cli.get_help(top)}\n```\n"]
    for name in cli.list_commands(top):
        command = cli.commands[name]
        context = click.Context(command, info_name=name, parent=top, terminal_width=WIDTH)
        text = re.sub(r"\[(\[[^\]]*\])\]", r"\1", command.get_help(context))  # click 8.4 doubles brackets, 8.5 does not
        parts.append(f"## kernelbench {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


# ---- docs/simulate.md ----------------------------------------------------------------------------


def instructions_block() -> str:
    """Instructions of PTX that the simulator runs, and those that it refuses, by chapter."""
    lines = ["| instructions | run | refused |", "|---|---|---|"]
    for chapter in coverage():
        runs, refused = (" ".join(f"`{name}`" for name in names) for names in (chapter.runs, chapter.refused))
        lines.append(f"| {chapter.title} | {runs} | {refused} |")
    return "\n".join([*lines, "", f"Of instructions that run it refuses {', '.join(REFUSED_FORMS)}."])


# ---- docs/explaining.md --------------------------------------------------------------------------


def metrics_block() -> str:
    """Every metric that counters come to: those with a column of their own first."""
    lines = ["| metric | what it is | better |", "|---|---|---|"]
    for metric in sorted(METRICS.values(), key=lambda one: not one.shown):
        lines.append(f"| `{metric.name}` | {metric.meaning} | {metric.better} |")
    return "\n".join(lines)


def rules_block() -> str:
    """Every sentence that explain can say; names in braces are metrics."""
    lines = ["| rule | sentence |", "|---|---|"]
    return "\n".join(lines + [f"| {rule.name} | {rule.template} |" for rule in RULES])


CSV_FILES = (
    ("results.csv", "A row for each case, implementation, cache and method.", RESULTS),
    ("samples.csv.gz", "A row per measurement: its times, round by round.", columns.SAMPLES),
    ("counters.csv", "A row for each launch, where a run was made with `--counters`.", columns.HARDWARE_COUNTERS),
    ("comparison.csv", "A row for each case, cache and implementation, against the baseline.", COMPARISON),
    ("claims.csv", "A row for each published claim of the suite.", columns.CLAIMS),
    ("compare RUN RUN --format csv", "A row for each row of either run.", CHANGES),
    ("history --format csv", "A row for each row and step of the runs; one for a row without a step.", columns.HISTORY),
)


def columns_block() -> str:
    """A table per CSV file: column, unit, meaning."""
    parts = []
    for name, rows, listed in CSV_FILES:
        lines = [f"### {name}", "", rows, "", "| column | unit | meaning |", "|---|---|---|"]
        lines += [f"| `{one.name}` | {one.unit} | {one.meaning.replace('|', chr(92) + '|')} |" for one in listed]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


# ---- All of it -----------------------------------------------------------------------------------


def pages(run: Path = readme_blocks.RECORDED, results: Path = places.RECORDED) -> Mapping[Path, str]:
    """Every page that this makes, wholly or in part, as it should read."""
    judged = ledger_standings(results)
    summary = f"{claims_page.summary(judged)} [Every one of them, and why](docs/claims.md)."

    readme, tutorial = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
    front = {**readme_blocks.readme_blocks(run), "summary": summary}
    reading = ROOT / "docs" / "reading-a-report.md"
    measuring, explaining = ROOT / "docs" / "measuring.md", ROOT / "docs" / "explaining.md"
    simulator, inputs = ROOT / "docs" / "simulator.md", ROOT / "docs" / "inputs.md"
    kernels, own = ROOT / "docs" / "kernels.md", {**accuracy_blocks.accuracy_blocks(), **peers_blocks.peers_blocks()}
    explanation = {"metrics": metrics_block(), "rules": rules_block()}
    measurement = {
        "agreement": measured_blocks.agreement_block(),
        "wall": measured_blocks.wall_block(),
        "trust": measured_blocks.self_test_block(),
        "sanitizer": measured_blocks.sanitizer_block(),
    }
    security, cheats = ROOT / "docs" / "security.md", {"cheats": measured_blocks.cheats_block()}
    reliability, faults = ROOT / "docs" / "reliability.md", {"faults": measured_blocks.faults_block()}
    library = ROOT / "docs" / "simulate.md"
    simulation = {"hardware": measured_blocks.hardware_block(), "speed": measured_blocks.speed_block()}
    return {
        readme: with_blocks(readme.read_text(encoding="utf-8"), front),
        **readme_blocks.readme_chart(run),
        tutorial: with_blocks(tutorial.read_text(encoding="utf-8"), readme_blocks.tutorial_blocks()),
        ROOT / "docs" / "cli.md": cli_page(),
        ROOT / "docs" / "claims.md": claims_page.claims_page(judged),
        **claims_page.claim_pages(judged, ROOT / "docs" / "claims"),
        **python_page.python_pages(),
        measuring: with_blocks(measuring.read_text(encoding="utf-8"), measurement),
        explaining: with_blocks(explaining.read_text(encoding="utf-8"), explanation),
        reliability: with_blocks(reliability.read_text(encoding="utf-8"), faults),
        security: with_blocks(security.read_text(encoding="utf-8"), cheats),
        simulator: with_blocks(simulator.read_text(encoding="utf-8"), simulation),
        library: with_blocks(library.read_text(encoding="utf-8"), {"instructions": instructions_block()}),
        kernels: with_blocks(kernels.read_text(encoding="utf-8"), own),
        inputs: with_blocks(inputs.read_text(encoding="utf-8"), inputs_blocks.inputs_blocks()),
        reading: with_blocks(reading.read_text(encoding="utf-8"), {"columns": columns_block()}),
    }


def out_of_date(made: Mapping[Path, str]) -> list[Path]:
    """Pages that are missing or read otherwise, and files of docs/claims/ that nothing makes any more."""
    stale = [path for path in (ROOT / "docs" / "claims").glob("*") if path not in made]
    return stale + [
        path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the parts of the documents that show output.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something is out of date")
    parser.add_argument("--run", type=Path, default=readme_blocks.RECORDED, help="the run that README.md shows")
    parser.add_argument("--results", type=Path, default=places.RECORDED, help="the recorded runs that claims are on")
    options = parser.parse_args()
    made = pages(options.run, options.results)
    old = out_of_date(made)
    for path in old:
        if not options.check and path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
        elif not options.check:
            path.unlink()
        print(f"{path.relative_to(ROOT)}: {'out of date' if options.check else 'made new'}")
    return 1 if old and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
