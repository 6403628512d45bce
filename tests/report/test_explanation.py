"""What counters explain, as the terminal, the page and JSON show it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.core.counters import Counters
from kernelbench.explain.counted import METRICS, Counted, LaunchShape
from kernelbench.explain.evidence import Evidence, Statement
from kernelbench.explain.findings import Bound, CaseExplanation, Line, Link, Sentence, SourceListing
from kernelbench.report import explanation, html_page
from kernelbench.report.origins import Published
from tests.report.printed import printed

HOSTILE = "<script>alert('says')</script>"
STATEMENT = Statement("reduce-tree-counters", "they collide", "tree_strided", "bank_conflicts", "more", "naive", 1, 0)


def counted(case, name, wavefronts, sampled=""):
    counters = Counters(
        warp_instructions=2_000_000,
        thread_instructions=60_000_000,
        shared_load_requests=1000,
        shared_load_wavefronts=wavefronts,
        shared_load_ideal_wavefronts=1000,
    )
    return Counted(case, name, counters, shapes=(LaunchShape("kernel", 10, 256),), sampled=sampled)


@pytest.fixture
def explained(example):
    case = example.run.rows[0].case
    return CaseExplanation(
        case=case,
        counted={
            "naive": counted(case, "naive", 1000, "sampled 64 of 4096 blocks"),
            "tree_strided": counted(case, "tree_strided", 3300),
        },
        metrics=("wavefronts",),
        sentences=(
            Sentence("bank conflicts", "tree_strided", "3.3 wavefronts", (Link("reduce-tree-counters", "confirmed"),)),
        ),
        bounds={"naive": Bound(12.3e-6, "DRAM bytes", "NVIDIA H200", 20e-6)},
        evidence=(Evidence(STATEMENT, "confirmed", "tree_strided 3.30, naive 1.00", 3.3, 1.0),),
        missing={"torch": "a library call"},
    )


def terminal(explained, title="softmax"):
    return shown(*explanation.case_parts(explained, title))


def shown(*parts):
    return " ".join(printed(*parts).split())


def test_terminal_shows_table_sentences_bounds_and_evidence(explained):
    text = terminal(explained)
    assert "wavefronts implementation per request" in text
    assert "tree_strided 3.3" in text
    assert "tree_strided: 3.3 wavefronts (confirms reduce-tree-counters)" in text
    assert "naive: takes at least 12.30 µs on NVIDIA H200 (DRAM bytes)" in text
    assert "naive: sampled 64 of 4096 blocks" in text
    assert "torch: not counted, a library call" in text
    assert "confirmed they collide (tree_strided 3.30, naive 1.00)" in text


def test_all_metrics_fit_the_terminal(explained):
    text = terminal(replace(explained, metrics=tuple(METRICS)))
    assert "Counters, continued" in text


def test_alike_kernels_have_no_table(explained):
    assert "no counter differs" in terminal(replace(explained, metrics=()))


def test_source_lines_stand_beside_their_counters(explained):
    own = Counters(
        warp_instructions=5_000_000,
        thread_instructions=100_000_000,
        global_load_requests=1000,
        global_load_sectors=32_000,
        global_load_ideal_sectors=4000,
    )
    lines = (Line(7, "  sum += x[row * columns + i];  [bold]", own, top=True), Line(9, "", Counters()))
    text = terminal(replace(explained, listings=(SourceListing("naive", Path("naive.cu"), lines),)))
    assert "naive: naive.cu" in text
    assert "* 7 5.00 M 20.0 1000 32.0 k x8.0 sum += x[row * columns + i]; [bold]" in text


def test_page_shows_counts_beside_measured_times(example, explained):
    said = replace(explained.sentences[0], text=HOSTILE)
    shown = [replace(explained, sentences=(said,))], "the recorded simulator run of this suite"
    text = html_page.render(example.run, example.comparison, example.verdicts, Published(), explained=shown)
    start = text.index('<section id="explanation">')
    section = text[start : text.index("</section>", start)]
    assert '<a href="#explanation">' in text
    assert "Counted from the recorded simulator run of this suite" in section
    assert "Measured, cold" in section
    assert "sampled 64 of 4096 blocks" in section
    assert "12.30 µs" in section
    assert "they collide" in section
    assert HOSTILE not in section
    assert "&lt;script&gt;" in section


def test_page_without_counts_has_no_such_section(example):
    text = html_page.render(example.run, example.comparison, example.verdicts, Published())
    assert 'id="explanation"' not in text


def test_what_all_cases_say_of_each_published_statement(explained):
    (seen, *_) = explained.evidence
    wrong = replace(seen, decision="contradicted", left=1.0)
    gone = replace(seen, statement=replace(seen.statement, says="nobody saw it"), decision="not visible here")
    cases = [explained, replace(explained, evidence=(wrong, gone))]
    text = shown(explanation.statements_table(cases, "trees: published explanations over all cases"))
    assert "trees: published explanations over all cases" in text
    assert "confirmed on 1 of 2 2 they collide (tree_strided 1.00 to 3.30, naive" in text
    assert "not visible here 0 nobody saw it" in text


def test_json_has_every_metric(explained):
    (found,) = json.loads(explanation.as_json([explained]))
    one = found["implementations"]["tree_strided"]
    assert one["metrics"]["wavefronts"] == 3.3
    assert one["metrics"]["load_sectors"] is None
    assert set(one["metrics"]) == set(METRICS)
    assert one["sentences"][0]["claims"] == {"reduce-tree-counters": "confirmed"}
    naive = found["implementations"]["naive"]
    assert (naive["bound_s"], naive["bound_by"], naive["issue_s"]) == (12.3e-6, "DRAM bytes", 20e-6)
    assert found["evidence"][0]["decision"] == "confirmed"
    assert found["missing"] == {"torch": "a library call"}
