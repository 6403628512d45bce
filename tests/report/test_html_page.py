"""The page: complete, below 3 MB, loading nothing, and safe with hostile text."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from kernelbench.core import places
from kernelbench.core.records import Claim
from kernelbench.report import charts, console, html_page, view
from kernelbench.report.page_sections import _note, repeat_commands
from kernelbench.runs.results import Run, read_run
from kernelbench.walks.compare import judge_run

LOADING = {"src", "href", "xlink:href", "srcset", "data", "action", "poster", "background", "formaction"}


class Page(HTMLParser):
    """What a browser would see: elements with attributes, table rows as texts, the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.scripts: list[str] = []
        self.open_cell = False
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag if tag in ("script", "style") else ""
        if tag == "script":
            self.scripts.append("")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.open_cell = True

    def handle_endtag(self, tag):
        self.inside = ""
        if tag in ("tr", "table"):
            self.open_cell = False

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.open_cell and self.inside != "style":
            self.tables[-1][-1][-1] += data

    def table(self, header: str) -> list[list[str]]:
        return next(table[1:] for table in self.tables if header in table[0])


CLAIM = Claim(
    "softmax-ft-oneflow",
    "FasterTransformer against OneFlow",
    "faster",
    ("softmax",),
    {
        "citation": {
            "project": "somebody/something",
            "document": "a page",
            "url": "https://example.org/page",
            "section": "4",
            "commit": "",
        },
        "device": {"name": "A100-PCIE-40GB", "peak_bytes_per_s": 1.555e12},
        "operation": "softmax",
        "figures": [
            {
                "shape": [32, 64, 16, 16],
                "axis": -1,
                "dtype": "float32",
                "us": {"ft": 26.43},
                "moved_bytes": {"ft": 2097152},
            }
        ],
        "tool": "Nsight Compute",
        **dict.fromkeys(("clock", "cache", "input"), "not stated"),
        "flags": ["kernel-not-as-described"],
        "note": "The <b>port</b> never reads its input.",
    },
)


@pytest.fixture(scope="module")
def written(example, tmp_path_factory):
    others = [replace(CLAIM, id=one.id, title=one.title, kind="bandwidth_share") for one in example.verdicts[1:]]
    source = html_page.Published([CLAIM, *others], {CLAIM.id: "because of <b>this</b>"})
    return html_page.write_report(
        example.run,
        example.comparison,
        example.verdicts,
        tmp_path_factory.mktemp("page") / "sub" / "report.html",
        source,
        charts.all_charts(example.run, example.comparison, source, verdicts=example.verdicts),
    )


@pytest.fixture(scope="module")
def text(written):
    return written.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_page_loads_nothing(page, text, written, synthetic_run):
    files = {(synthetic_run.folder / name).resolve() for name in ("results.csv", "samples.csv.gz", "environment.json")}
    linked = set()
    for tag, attributes in page.elements:
        for name in LOADING & set(attributes):
            value = attributes[name] or ""
            if tag == "a":
                if not value.startswith(("#", "https://", "http://")):
                    linked.add((written.parent / value).resolve())
            else:
                assert value.startswith(("#", "data:,")), (tag, value)
    assert linked == {path for path in files if path.exists()}, "the run's own files, by relative addresses"
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"iframe", "object", "embed", "img", "audio", "video", "base"}
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)


def test_only_the_pages_own_script_may_run(page):
    assert len(page.scripts) == 1
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    policy = next(
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_hostile_text_is_escaped(text):
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(&#39;row&#39;)&lt;/script&gt;" in text
    assert "<b>port</b>" not in text


def test_every_row_is_on_the_page(page, synthetic_run):
    rows = page.table("Median")
    assert len(rows) == len(synthetic_run.rows)
    assert sum(row[4] == "unsupported" for row in rows) == 3
    assert sum(row[4] == "wrong" for row in rows) == 1
    timed = next(row for row in synthetic_run.rows if row.status == "ok")
    assert rows[0][:4] == ["seq=16", timed.implementation, timed.cache, timed.method]


def test_a_row_says_what_makes_its_time_less_certain(synthetic_run):
    row = replace(synthetic_run.rows[0], reason="", floor_limited="", stopped="precise")
    assert _note(row) == ""
    marked = {"floor_limited": "yes", "throttle": "power cap", "disturbed": "3 of 40 samples beside another process"}
    assert _note(replace(row, **marked)) == (
        "floor-limited; clock lowered: power cap; disturbed: 3 of 40 samples beside another process"
    )


def test_every_measured_row_has_its_distribution(page, text, synthetic_run):
    assert text.count("<svg class=s") == sum(row.status == "ok" for row in synthetic_run.rows)


def test_reasons_launches_facts_and_origins(page):
    problems = page.table("Reason")
    assert ["ft", "unsupported", "columns must be at most 1000, got 1024", "seq=1024"] in problems
    assert any(row[1] == "wrong" and "got nan" in row[2] for row in problems)
    launches = page.table("Registers")
    one = next(row for row in launches if row[:2] == ["seq=16", "ft_v2"])
    assert one[2:6] == ["43", "128", "0", "x=0 never reads x"]
    assert one[-1] == "softmax_ft_v2_f32<<<(32768,1,1), (128,1,1), 64>>>"
    origins = page.table("Whose algorithm")
    assert any(
        row[0] == "ft" and "NVIDIA/FasterTransformer" in row[3] and row[4] == "mask made optional" for row in origins
    )


def test_claims_published_figures_environment_and_commands(page, text):
    assert "1 of 3 published claims holds on Fake GPU; 1 holds in part, 1 is not decided." in text
    assert page.table("95 % interval")[0] == [
        *("seq=16", "2.10", "2.00 to 2.20", "2.74", "1.60 to 2.50", "yes", "yes", "2.1x measured, 2.74x published")
    ]
    assert page.table("By whom")[1] == ["size", "2 times (1.60 to 2.50)", "set here: a round number", "yes"]
    assert text.count('<article class="claim"') == 3
    assert "GPU: A100-PCIE-40GB; tool: Nsight Compute; clock: not stated" in text
    why = "as told for the recorded run: because of &lt;b&gt;this&lt;/b&gt;"
    assert why in text
    assert why not in "".join(re.findall(r"<details>.*?</details>", text, re.DOTALL)), "folded away, it answers nobody"
    assert page.table("Of its GPU's peak")[0][3:] == ["26.43 µs", "2.10 MB", "79.3 GB/s", "5 %"]
    for expected in (
        "the timed code does not compute what the text says it computes",
        "https://example.org/page",
        "13.0.88",
        "40.0 MB",
        "0123456789ab…",
    ):
        assert expected in text
    assert re.search(r"kernelbench compare \S+ --baseline ft<", text)
    assert "kernelbench run softmax --cache cold,warm" in text


def test_commands_name_the_run(synthetic_run, tmp_path):
    def commands(run: Run) -> dict[str, str]:
        return dict(repeat_commands(run, ()))

    def recorded(name: str) -> dict[str, str]:
        return commands(read_run(places.RECORDED / name))

    assert recorded("h200/relu") | {"as it was run": ""} == {
        "as it was run": "",
        "measure again": "kernelbench run relu",
        "compare": "kernelbench compare results/h200/relu --baseline naive",
        "this page": "kernelbench report results/h200/relu",
    }
    step = read_run(places.RECORDED / "h200" / "bert_base_step")
    compare = dict(repeat_commands(step, judge_run(step).comparison))["compare"]
    assert compare == "kernelbench compare results/h200/bert_base_step", "each operation has its own baseline"
    assert recorded("h100/softmax")["as it was run"] == "kernelbench run suites/softmax.yaml --no-report"
    assert recorded("simulated/relu")["measure again"] == "kernelbench run relu --device simulated"
    own = commands(replace(synthetic_run, folder=tmp_path / "my run"))
    assert own["this page"] == f"kernelbench report '{tmp_path}/my run'"


def test_of_reasons_that_differ_the_first_says_whose_it_is(synthetic_run):
    one = replace(synthetic_run.rows[0], status="wrong", role="specimen", implementation="bad")
    rows = [replace(one, case=case, reason=reason) for case, reason in (("a", "5 wrong"), ("b", "7 wrong"))]
    labels = {"a": "seq=16", "b": "seq=32"}
    assert [group.said(labels) for group in view.reason_groups(rows)] == ["seq=16: 5 wrong; others alike"]
    alike = [replace(row, reason="5 wrong") for row in rows]
    assert [group.said(labels) for group in view.reason_groups(alike)] == ["5 wrong"]


def test_page_of_24_cases_is_below_3_mb(make_example, tmp_path):
    example = make_example(("float32", "float16"), (8, 32))
    assert len(view.words_by_case(example.run)) == 24
    path = html_page.write_report(example.run, example.comparison, example.verdicts, tmp_path / "report.html")
    assert path.stat().st_size < 3_000_000
    assert "<svg class=s" in path.read_text(encoding="utf-8")


def test_strips_give_way_where_the_page_would_be_too_large(example, tmp_path, monkeypatch):
    monkeypatch.setattr(html_page, "MAX_BYTES", 100_000)
    path = html_page.write_report(example.run, example.comparison, example.verdicts, tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "<svg class=s" not in text
    assert "left out to keep this page below 3 MB" in text
    assert len(Page(text).table("Median")) == len(example.run.rows)


@pytest.mark.parametrize(("finished", "said"), [(None, True), ("2026-11-21T17:01:41+00:00", False)])
def test_a_run_that_was_stopped_says_so(example, tmp_path, finished, said):
    run = Run(tmp_path, {**example.run.environment, "finished": finished}, example.run.rows)
    path = html_page.write_report(run, example.comparison, example.verdicts, tmp_path / "report.html")
    for shown in (path.read_text(encoding="utf-8"), console.limits_line(run)):
        assert ("stopped before its end, other cases are missing" in shown) == said


def test_page_of_a_bare_run(example, tmp_path):
    """No environment, no samples, no comparison, no claims: the page says less, and stands."""
    refused = tuple(row for row in example.run.rows if row.status != "ok")
    for rows in (example.run.rows, refused):
        path = html_page.write_report(Run(tmp_path, {}, rows), (), (), tmp_path / "report.html")
        text = path.read_text(encoding="utf-8")
        assert "No published claim belongs to this suite" in text
        assert "nan" not in re.sub(r"<[^>]*>|got nan", "", text).lower().split()
        assert len(Page(text).table("Median")) == len(rows)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/a", "https://example.org/a"),
        ("http://example.org", "http://example.org"),
        ("javascript:alert(1)", ""),
        (" JavaScript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("//example.org", ""),
        ("https:///path", ""),
        ("https://[broken", ""),
        ("", ""),
    ],
)
def test_links_are_http_only(url, expected):
    assert html_page.safe_link(url) == expected


def test_unwritable_place_is_named(example, tmp_path):
    from kernelbench.core.errors import ResultsError

    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="choose another place with --out"):
        html_page.write_report(example.run, example.comparison, (), tmp_path / "file" / "report.html")


def test_a_run_without_claims_opens_with_its_speedups(example):
    drawn = charts.all_charts(example.run, example.comparison)
    text = html_page.render(example.run, example.comparison, (), html_page.Published(), drawn)
    answer = re.search(r'<p class="answer">([^<]*)</p>', text)
    assert answer
    assert "as fast as ft on" in answer[1]
    first = re.search(r'<figure id="chart-([^"]*)"', text)
    assert first
    assert first[1] == "speedup-cold"


def test_claims_with_a_chart_come_first_and_those_not_decided_last(example):
    entries = [replace(CLAIM, id=one.id, title=one.title) for one in example.verdicts]
    drawn = [
        one
        for one in charts.all_charts(example.run, (), html_page.Published(entries), verdicts=example.verdicts)
        if one.name == "claim-block-size-occupancy"
    ]
    backwards = (example.verdicts[2], example.verdicts[0], example.verdicts[1])
    found = html_page._claims(
        backwards, html_page.Published(entries), example.run, {}, {one.name: one for one in drawn}
    )
    assert [one["story"].verdict.id for one in found] == ["block-size-occupancy", "softmax-ft-oneflow", "smem-layout"]
