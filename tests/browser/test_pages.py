"""The page as a browser shows it: the answer on the first screen, nothing too wide, readable for everyone, on paper."""

import re

import pytest

from tests.browser.conftest import SEVERAL_GPUS, Open

pytestmark = pytest.mark.exhaustive
RUNS = ("softmax", "peers/peers_softmax", "relu", "log_softmax")
SCREEN = 900  # pixels high, at a width of 1280
PHONE = 390
UNFOLD = "document.querySelectorAll('details').forEach(part => { part.open = true; })"
REST = "tbody tr:nth-child(n + 4), #explanation details ~ details"  # of the tables and of the explanations
KEPT = {"claims", "peers", "charts", "times"}  # sections that are printed


@pytest.mark.parametrize("run", RUNS)
def test_the_answer_and_its_chart_are_on_the_first_screen(opened: Open, run: str) -> None:
    page = opened(run)
    answer, chart = page.locator(".answer"), page.locator("main svg[role=img]").first
    assert answer.inner_text()
    for part in (answer, chart):
        box = part.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= SCREEN, f"{run}: {box}"


def test_softmax_has_at_most_twelve_screens(opened: Open) -> None:
    assert opened("softmax").evaluate("document.documentElement.scrollHeight") <= 12 * SCREEN


@pytest.mark.parametrize("run", RUNS)
def test_the_page_never_scrolls_sideways(opened: Open, run: str) -> None:
    """Not even with everything unfolded: what is wider scrolls within its own frame."""
    page = opened(run)
    page.evaluate(UNFOLD)
    for width in (1280, PHONE):
        page.set_viewport_size({"width": width, "height": SCREEN})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("run", ["softmax", "peers/peers_softmax", "bert_base_step"])
def test_no_column_of_the_times_is_cut(opened: Open, run: str) -> None:
    assert opened(run).locator("#table-times").evaluate("table => table.offsetWidth <= table.parentElement.clientWidth")


CUT = """tables => tables.map(one => one.parentElement).filter(frame => frame.scrollWidth > frame.clientWidth)
    .map(frame => frame.ariaLabel)"""


@pytest.mark.parametrize("run", [*RUNS, "bert_base_step", SEVERAL_GPUS])
def test_verdicts_and_speedups_fit_a_telephone(opened: Open, run: str) -> None:
    tables = opened(run, PHONE).locator("table.fits")
    assert tables.count()
    assert tables.evaluate_all(CUT) == []


def test_a_telephone_leaves_out_columns_that_answer_nothing(opened: Open) -> None:
    page = opened("softmax", PHONE)
    heads = page.locator("#table-times th")
    shown = [head.inner_text().strip() for head in heads.all() if head.is_visible()]
    assert shown == ["Case", "Implementation", "Median", "Speed-up"]
    how = page.locator("#table-times tbody tr").first.locator("td").nth(1)
    assert how.evaluate("cell => getComputedStyle(cell, '::after').content") == '"cold, events"'
    assert opened("softmax").locator("#table-times th:visible").count() == heads.count()


@pytest.mark.parametrize("run", ["softmax", "relu"])
def test_charts_of_claims_fit_a_telephone(opened: Open, run: str) -> None:
    charts = opened(run, PHONE).locator(".claim figure svg[role=img]")
    assert charts.count()
    for chart in charts.all():
        box = chart.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE


@pytest.mark.parametrize(
    ("run", "width", "scheme"),
    [
        *(("softmax", width, scheme) for width in (PHONE, 1280) for scheme in ("light", "dark")),
        ("peers/peers_softmax", PHONE, "dark"),
        ("log_softmax", PHONE, "light"),
    ],
)
def test_axe_finds_nothing(opened: Open, run: str, width: int, scheme: str) -> None:
    """With everything unfolded; of each table the first rows alone, since all are made alike and axe takes its time."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: [browser]")
    page = opened(run, width, scheme=scheme)
    page.evaluate(UNFOLD)
    page.evaluate("parts => document.querySelectorAll(parts).forEach(part => part.remove())", REST)
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_long_numbers_and_hashes_are_out_of_sight(opened: Open) -> None:
    page = opened("softmax")
    assert not page.locator("#environment dl").is_visible()
    page.locator("nav a[href='#environment']").click()
    assert page.locator("#environment dl").is_visible(), "a link opens what it leads to"
    shown = page.locator("#environment").inner_text()
    assert "580.159.04" in shown
    words = shown.replace("-", " ").split()
    assert not [word for word in words if sum(letter.isdigit() for letter in word) > 12]


def test_the_links_lead_to_the_files_of_the_run(opened: Open) -> None:
    page = opened("softmax")
    links = page.locator("footer a")
    assert links.all_inner_texts() == [
        "results.csv.gz", "samples.csv.gz", "environment.json", "comparison.csv", "claims.csv",
    ]  # fmt: skip
    assert "/results/h200/softmax/results.csv.gz" in links.first.evaluate("link => link.href")


@pytest.mark.parametrize("run", ["softmax", "peers/peers_softmax"])
def test_claims_charts_and_times_alone_are_printed(opened: Open, run: str) -> None:
    page = opened(run)
    page.emulate_media(media="print")
    sections = page.locator("main > section")
    shown = {sections.nth(number).get_attribute("id") for number in range(sections.count())
             if sections.nth(number).is_visible()}  # fmt: skip
    assert shown <= KEPT
    assert {"charts", "times"} <= shown
    assert not page.locator("nav").is_visible()
    assert page.locator("#table-times").evaluate("table => table.parentElement.scrollHeight - table.offsetHeight") < 5


def test_a_row_of_the_times_takes_a_line_of_paper(opened: Open) -> None:
    """No column may be one letter wide, which made 37 pages of 263 rows."""
    page = opened("softmax")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= 16
    page.emulate_media(media="print")
    head = page.locator("#table-times th button").first
    assert head.evaluate("button => getComputedStyle(button).display") == "contents", "or further pages lack it"
