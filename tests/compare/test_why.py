"""Why a claim comes out so: texts of the ledger, filled with the numbers of a run."""

import pytest

from kernelbench.compare.ledger_schema import schema_problems
from kernelbench.compare.measured import MeasuredRun
from kernelbench.compare.why import ledger_reason
from kernelbench.core.counters import Counters
from kernelbench.core.errors import InputError
from kernelbench.core.records import Claim
from kernelbench.explain.counted import Counted

CODE = {
    "b1": {"narrow_f32": {"hash": "aa", "instructions": 30}},
    "b2": {"wide_f32": {"hash": "bb", "instructions": 90}},
}


@pytest.fixture
def measured(build):
    """Two kernels on two cases, and counts of one of them on the larger case."""
    small, large = (build.case(2, columns, axes={"columns": columns}) for columns in (8, 64))
    for name, binary, times in (("narrow", "b1", (4, 40)), ("wide", "b2", (2, 10))):
        for case, time in zip((small, large), times, strict=True):
            build.time(case, name, time)
            build.rows[-1] |= {"launches": f"{name}_f32<<<2x3, 4>>>", "registers": 17}
            build.rows[-1] |= {"binary": binary, "arithmetic": "accurate"}
    run = build.write()
    run.environment["code"] = CODE
    counts = Counted(large.key, "wide", Counters(global_load_requests=3, global_load_sectors=12))
    return MeasuredRun(run, {large.key: {"wide": counts}})


def claim(text, verdict="holds"):
    return Claim("c", "t", "faster", ("s",), {"why": [{"verdict": verdict, "source": "times", "text": text}]})


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{narrow.time@columns=64}", "40.00 µs"),
        ("{narrow.time}", "4.000 µs to 40.00 µs"),
        ("{narrow/wide.time@columns=8} and {narrow/wide.time}", "2.00 and 2.00 to 4.00"),
        ("{wide.time@columns=64 over wide.time@columns=8}", "5.00"),
        ("{wide.rate@columns=64} {wide.share}", "102 MB/s 50 %"),
        ("{wide.instructions} {narrow.registers} {wide.blocks} {wide.threads}", "90 17 6 4"),
        ("{wide.load_sectors@columns=64}", "4.0"),
    ],
)
def test_numbers_come_out_of_the_run(measured, text, filled):
    assert ledger_reason(measured, claim(f"so\n  {text}."), "holds") == f"so {filled}."


def test_it_is_shown_beside_its_own_verdict_only(measured):
    assert ledger_reason(measured, claim("because", "does not hold"), "holds") == ""


def test_a_number_that_nobody_recorded_leaves_the_text_out(measured):
    said = ledger_reason(measured, claim("{narrow.load_sectors} so"), "holds")
    assert said == f"Not explained: the recorded simulator's run of {measured.run.suite} has no load_sectors of narrow."


def test_mistakes_name_the_entry_and_the_place(measured):
    with pytest.raises(InputError, match=r"c.yaml: why: \{wide.tmie\}: unknown value 'tmie'; expected one of time"):
        ledger_reason(measured, claim("{wide.tmie}"), "holds")
    with pytest.raises(InputError, match="2 numbers over 1; expected one over one"):
        ledger_reason(measured, claim("{wide.time over wide.time@columns=8}"), "holds")


def test_an_entry_claims_something_or_says_why_not(ledger):
    wrong = ["claim: expected either a claim, or no_claim with the reason why there is none"]
    silent = {key: value for key, value in ledger["quack-softmax"].document.items() if key != "no_claim"}
    assert list(schema_problems(silent, "quack-softmax")) == wrong
    assert list(schema_problems({**ledger["div-mod"].document, "no_claim": "both"}, "div-mod")) == wrong


def test_a_why_is_checked(ledger):
    document = {**ledger["div-mod"].document, "why": [{"verdict": "hold", "source": "guess", "text": ""}]}
    places = [problem.split(":")[0] for problem in schema_problems(document, "div-mod")]
    assert places == ["why[0].verdict", "why[0].source", "why[0].text"]
