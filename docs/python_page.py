"""docs/python.md and the notebook docs/kernelbench.ipynb: the same cells, run on a recorded run, with their output."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any
from unittest.mock import patch

from kernelbench.core import places

DOCS = Path(__file__).resolve().parent

HEAD = """\
# From Python

`kernelbench.load` reads a run, yours or a recorded one, and gives its tables as pandas DataFrames. It needs no GPU, and
writes nothing. This page and the notebook [kernelbench.ipynb](kernelbench.ipynb) are made by `docs/make.py`, which runs
every cell."""

# Pairs of what is said and the code below it.
CELLS = (
    (
        "A run is named by its folder, by its own name, or by its suite: the newest one of yours, else the recorded "
        "one. In a notebook it shows its claims with their verdicts, and its median times.",
        'import kernelbench\n\nrun = kernelbench.load("softmax")\nrun',
    ),
    (
        "## Speed-ups\n\n`comparison` has a row per case, cache state and implementation, with the columns of "
        "[comparison.csv](reading-a-report.md#comparisoncsv). The axes of the suite are columns too, here `seq`.",
        'over_ft = run.comparison(baseline="ft")\n'
        'cold = over_ft[over_ft["cache"] == "cold"]\n'
        'cold[cold["implementation"] == "oneflow"][["seq", "speedup", "published_speedup", "verdict"]]',
    ),
    (
        "It is a DataFrame like any other:",
        'some = cold[cold["implementation"].isin(["oneflow", "torch", "copy"])]\n'
        'some.pivot(index="seq", columns="implementation", values="speedup").round(2)',
    ),
    ("## Claims", 'run.claims[["id", "verdict", "direction", "size"]]'),
    (
        "## Rows and samples\n\n`rows` has the columns of [results.csv](reading-a-report.md#resultscsv), times in "
        "seconds; `samples` is every sample that was taken.",
        'run.rows[["seq", "implementation", "cache", "method", "median_s", "registers"]].tail(4)',
    ),
    (
        "",
        'samples = run.samples[run.samples["case"].str.startswith("seq=512 ")]\n'
        'two = samples[samples["implementation"].isin(["ft", "oneflow"])].groupby("implementation")\n'
        '(two["seconds"].quantile([0.05, 0.5, 0.95]).unstack() * 1e6).round(1)',
    ),
    (
        "## Records\n\n`answer` gives the same as frozen records with typed fields: `.run.rows`, `.comparison` and "
        "`.verdicts`. Of any DataFrame, `.to_dict('records')` makes dictionaries.",
        'answer = run.answer("ft")\n'
        'best = max((row for row in answer.comparison if row.cache == "cold"), key=lambda row: row.speedup or 0)\n'
        "best.implementation, best.case, round(best.speedup, 2)",
    ),
    ("", "verdict = answer.verdicts[0]\nverdict.id, verdict.verdict, verdict.direction.answer, verdict.size.answer"),
)

RUN = 'counted = kernelbench.run("softmax", device="simulated", only="naive,oneflow", filter="seq=16", out="counted")'
TAIL = f"""\
## A run of your own

`kernelbench.run` measures a suite and returns the same object; without a GPU it counts on the simulator. Its options
are those of [`kernelbench run`](cli.md#kernelbench-run), with `_` for `-`, but for those of several GPUs and of the
page:

```python
{RUN}
counted.rows[["implementation", "status", "warp_instructions", "lanes_per_instruction"]]
```

Rows are on disk as soon as they exist, and `kernelbench report counted` makes the page. Progress goes to the logger
`kernelbench`: `logging.basicConfig(level="INFO")` shows it. A wrong suite or option raises
`kernelbench.core.errors.InputError` with the message of the command line."""


def python_pages() -> Mapping[Path, str]:
    """The page and the notebook, as they should read."""
    with tempfile.TemporaryDirectory() as empty, patch.object(places, "runs", lambda: Path(empty)):
        values = executed([code for _, code in CELLS])
    parts = [HEAD]
    for (said, code), value in zip(CELLS, values, strict=True):
        parts += [fill(part, 120, break_on_hyphens=False) for part in said.split("\n\n")]
        parts += [f"```python\n{code}\n```", f"```text\n{_plain(value)}\n```"]
    return {
        DOCS / "python.md": "\n\n".join(filter(None, [*parts, TAIL])) + "\n",
        DOCS / "kernelbench.ipynb": notebook(values),
    }


def _plain(value: Any) -> str:
    return "\n".join(line.rstrip() for line in repr(value).splitlines())


def executed(codes: list[str]) -> list[Any]:
    """The value of the last line of each cell; all cells share their names."""
    names: dict[str, Any] = {}
    values = []
    for code in codes:
        tree = ast.parse(code)
        last = tree.body.pop()
        assert isinstance(last, ast.Expr), code
        exec(compile(tree, "<cell>", "exec"), names)
        values.append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))
    return values


def notebook(values: list[Any]) -> str:
    cells: list[dict[str, Any]] = []
    for place, ((said, code), value) in enumerate(zip(CELLS, values, strict=True), start=1):
        if text := f"{HEAD}\n\n{said}" if place == 1 else said:
            cells.append({"cell_type": "markdown", "id": f"text-{place}", "metadata": {}, "source": text})
        html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
        output = {"data": {**html, "text/plain": repr(value)}, "execution_count": place, "metadata": {}}
        cells.append(
            {
                "cell_type": "code", "id": f"code-{place}", "metadata": {}, "source": code, "execution_count": place,
                "outputs": [{"output_type": "execute_result", **output}],
            }
        )  # fmt: skip
    cells.append({"cell_type": "markdown", "id": "text-run", "metadata": {}, "source": TAIL})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
