"""Builds the documentation site in build/site/; a dead link or a page outside of the navigation is an error.

    pip install -e '.[docs]'
    python docs/build_site.py                 some minutes: the report of every recorded run is drawn anew
    python docs/build_site.py --no-reports    seconds, while writing pages

What mkdocs.yml does not say is added here: recorded reports, the page of each claim, CONTRIBUTING.md and CHANGELOG.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from kernelbench.core import places
from kernelbench.runs.folders import shipped_runs
from kernelbench.runs.results import read_run

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
STAGE = ROOT / "build" / "docs"
CONFIG = ROOT / "build" / "mkdocs.yml"
# The other files outside of docs/ are on no page of the site: links to them lead to the repository.
OF_THE_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
REPORTS_HEAD = """\
# Recorded reports

The page of each recorded run, as `kernelbench report` draws it. Runs on an H200 have times; runs on the simulator have
counts.

| run | device | date | cases |
|---|---|---|--:|
"""
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)((?:#[^)\s]*)?)(?=\))")


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site in build/site/.")
    parser.add_argument("--no-reports", action="store_true", help="leave out the recorded reports")
    options = parser.parse_args()
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    shutil.rmtree(STAGE, ignore_errors=True)
    stage_pages(STAGE, config["repo_url"])
    claims = sorted((STAGE / "claims").glob("*.md"))
    added: list[dict[str, Any]] = [{"Claims, one by one": [{path.stem: f"claims/{path.name}"} for path in claims]}]
    if not options.no_reports:
        stage_reports(STAGE)
        added.append({"Recorded reports": "reports.md"})
    config = with_reference(config, added)
    if astray := pages_of(STAGE) ^ listed(config["nav"]):
        print(f"a page without navigation, or the reverse: {', '.join(sorted(astray))}", file=sys.stderr)
        return 1
    CONFIG.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(CONFIG)]
    return subprocess.run(command, check=False).returncode


def with_reference(config: dict[str, Any], pages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The configuration with more pages at the end of the reference."""
    nav = [
        {name: [*part, *pages] if name == "Reference" else part for name, part in entry.items()}
        for entry in config["nav"]
    ]
    return {**config, "nav": nav}


def listed(nav: Sequence[dict[str, Any]]) -> set[str]:
    """Every page that a navigation names, at any depth."""
    found: set[str] = set()
    for entry in nav:
        for part in entry.values():
            found |= {part} if isinstance(part, str) else listed(part)
    return found


def pages_of(stage: Path) -> set[str]:
    return {path.relative_to(stage).as_posix() for path in stage.rglob("*.md")}


def stage_pages(stage: Path, repository: str) -> None:
    """Copy pages and pictures. Links then lead to other pages or, below this address, to files of the repository."""
    sources = [path for path in DOCS.rglob("*") if path.suffix in (".md", ".svg", ".css", ".ipynb", ".yml")]
    for source in [*sources, *(ROOT / name for name in OF_THE_ROOT if name != "README.md")]:
        target = stage / site_name(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")
        target.write_text(relinked(text, source, repository) if source.suffix == ".md" else text, encoding="utf-8")


def site_name(source: Path) -> str:
    """The path on the site of a file of docs/ or of a page of the root."""
    name = source.relative_to(DOCS if DOCS in source.parents else ROOT).as_posix()
    return OF_THE_ROOT.get(name, name)


def relinked(text: str, source: Path, repository: str) -> str:
    """The text of this page with links as the site has them."""
    here = Path(site_name(source)).parent

    def target(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(source.parent / match[1]))
        name = path.relative_to(ROOT).as_posix()
        if DOCS in path.parents or name in OF_THE_ROOT:
            return os.path.relpath(site_name(path), here) + match[2]
        return f"{repository}{name}{match[2]}"

    return _LINK.sub(target, text)


def stage_reports(stage: Path) -> None:
    """Draw the page of every recorded run, and a table of them."""
    runs = shipped_runs()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda run: stage_report(stage, run), runs))
    (stage / "reports.md").write_text(REPORTS_HEAD + "\n".join(rows) + "\n", encoding="utf-8")


def stage_report(stage: Path, folder: Path) -> str:
    """The row of the run in this folder, after its page was drawn."""
    name = folder.relative_to(places.RECORDED).as_posix()
    page = stage / "reports" / name / "report.html"
    page.parent.mkdir(parents=True)
    command = [sys.executable, "-m", "kernelbench", "report", str(folder), "--out", str(page)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(page.parent / "charts")  # the page holds them
    run = read_run(folder)
    cases = len({row.case for row in run.rows})
    return f"| [{name}](reports/{name}/report.html) | {run.device} | {run.environment['started'][:10]} | {cases} |"


if __name__ == "__main__":
    sys.exit(main())
