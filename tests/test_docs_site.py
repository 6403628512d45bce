"""The documentation site: every page is in the navigation, every link leads somewhere, and it builds."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://kernelbench.example/"
LINK = re.compile(r"\]\(([^)\s#]+)")


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "build_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stage(site: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stage")
    site.stage_pages(folder, REPOSITORY)
    return folder


def test_every_page_is_in_the_navigation(site: ModuleType, stage: Path) -> None:
    written = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert {"Tutorial", "How-to guides", "Reference", "Explanation"} <= {
        name for part in written["nav"] for name in part
    }
    pages = {name for name in site.pages_of(stage) if not name.startswith("claims/")}
    assert pages == site.listed(written["nav"])
    claims = [{"Claims": [{"one": "claims/div-mod.md"}]}]
    assert site.listed(site.with_reference(written, claims)["nav"]) == pages | {"claims/div-mod.md"}


def test_the_style_that_keeps_charts_readable_is_on_the_site(stage: Path) -> None:
    (style,) = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["extra_css"]
    assert "overflow-x" in (stage / style).read_text()


def test_a_table_of_a_claim_has_no_empty_column() -> None:
    for page in (ROOT / "docs" / "claims").glob("*.md"):
        text = page.read_text()
        for table in re.findall(r"(?:^\|.*\n)+", text.partition("## What came out")[2], re.MULTILINE):
            header, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
            empty = [name for place, name in enumerate(header) if not any(row[place] for row in rows)]
            assert not empty, (page.name, empty)


def test_links_lead_to_pages_or_to_files_of_the_repository(stage: Path) -> None:
    targets = [(page, target) for page in stage.rglob("*.md") for target in LINK.findall(page.read_text())]
    inside = [(page, target) for page, target in targets if not target.startswith("http")]
    assert len(inside) > 100
    assert [f"{page.name}: {target}" for page, target in inside if not (page.parent / target).is_file()] == []
    outside = [target.removeprefix(REPOSITORY) for _, target in targets if target.startswith(REPOSITORY)]
    assert [target for target in outside if not (ROOT / target).exists()] == []


def test_links_are_written_for_the_site(site: ModuleType) -> None:
    page, root = ROOT / "docs" / "claims" / "one.md", ROOT / "CONTRIBUTING.md"
    assert site.relinked("[a](../cli.md#x) [b](https://x.y/z.md) [c](#d)", page, "R/") == (
        "[a](../cli.md#x) [b](https://x.y/z.md) [c](#d)"
    )
    assert (
        site.relinked("[a](../../README.md) [b](../../kernels/copy/)", page, "R/")
        == "[a](../index.md) [b](R/kernels/copy)"
    )
    assert site.relinked("[a](docs/cli.md) [b](CHANGELOG.md)", root, "R/") == "[a](cli.md) [b](changelog.md)"


@pytest.mark.exhaustive
def test_the_page_of_a_recorded_run_stands_alone(site: ModuleType, tmp_path: Path) -> None:
    row = site.stage_report(tmp_path, ROOT / "results" / "h200" / "relu")
    assert row.startswith("| [h200/relu](reports/h200/relu/report.html) | NVIDIA H200 | 20")
    page = tmp_path / "reports" / "h200" / "relu" / "report.html"
    local = re.findall(r'(?:href|src)="(?!https?:|#|data:)([^"]+)"', page.read_text())
    assert [target for target in local if not (page.parent / target).is_file()] == []


@pytest.mark.exhaustive
def test_the_site_builds_and_a_dead_link_is_an_error(tmp_path: Path) -> None:
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed; the extra docs brings it")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    command = [sys.executable, str(tmp_path / "docs" / "build_site.py"), "--no-reports"]
    assert subprocess.run(command, check=False).returncode == 0
    assert (tmp_path / "build" / "site" / "search" / "search_index.json").is_file()
    page = (tmp_path / "build" / "site" / "claims" / "div-mod.html").read_text()
    fetched = re.findall(r'(?:src|rel="stylesheet" href)="([^"]+)"', page)
    assert fetched
    assert [address for address in fetched if "//" in address] == [], "it works without a network"
    (tmp_path / "docs" / "tuning.md").write_text("# Tuning\n\n[nothing](cli.md#nothing)\n")
    assert subprocess.run(command, check=False).returncode == 1
