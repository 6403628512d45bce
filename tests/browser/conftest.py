"""Pages of recorded runs, opened in headless Chromium: Debian's, driven by Playwright."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

RUNS = Path(__file__).resolve().parents[2] / "results" / "h200"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SEVERAL_GPUS = "several GPUs"  # in place of a run: the page of folders of runs
Open = Callable[..., Any]  # open(run, width=1280, height=900, scheme="light"): a page of Playwright


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A running Chromium; without one, or without its driver, the tests are skipped."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: the extra [browser]")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """written(run): the page of a recorded run, or of SEVERAL_GPUS."""
    from kernelbench.core.progress import QUIET
    from kernelbench.runs.results import read_run
    from kernelbench.walks.compare import judge_run
    from kernelbench.walks.fleet_report import report_folders
    from kernelbench.walks.report import report

    @cache
    def page(run: str) -> Path:
        if run == SEVERAL_GPUS:
            folder = tmp_path_factory.mktemp("gpus")
            for gpu, suite in product(("h200", "h100"), ("softmax", "bert_base_step")):
                shutil.copytree(RUNS.parent / gpu / suite, folder / gpu / suite)
            return report_folders([folder / "h200", folder / "h100"], folder / "report.html", QUIET)[0]
        return report(judge_run(read_run(RUNS / run), None), tmp_path_factory.mktemp("pages") / "report.html")

    return page


@pytest.fixture
def opened(browser: Any, written: Callable[[str], Path]) -> Iterator[Open]:
    pages = []

    def open_page(run: str, width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        pages.append(page)
        page.goto(written(run).as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
