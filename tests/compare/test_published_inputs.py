"""Nothing is claimed of other inputs than a source had: normal numbers, or the constant that it is flagged for."""

from dataclasses import replace

import pytest

from kernelbench.compare import compare_within, judge_claims
from kernelbench.compare.ledger import find
from kernelbench.explain import evidence

FLAGGED, OTHER = "softmax-ft-oneflow", "oneflow-pr4058"  # the first was published with a constant input


def test_the_flag_of_the_ledger_decides(ledger):
    assert "input-constant" in ledger[FLAGGED].document["flags"]
    for inputs, flagged, other in (("normal", True, True), ("ones", True, False), ("masked", False, False)):
        assert evidence.has_published_inputs(inputs, ledger[FLAGGED]) is flagged
        assert evidence.has_published_inputs(inputs, ledger[OTHER]) is other


def test_figures_are_those_of_such_inputs(ledger):
    case = ("softmax", (32, 64, 16, 16), -1, "float32")
    assert FLAGGED in find(ledger, *case)
    assert set(find(ledger, *case, "ones")) == {FLAGGED}
    assert find(ledger, *case, "masked") == {}


@pytest.mark.parametrize(("inputs", "counted"), [("normal", 1), ("ones", 1), ("masked", 0)])
def test_claims_and_speedups_leave_other_cases_out(build, ledger, published_case, inputs, counted):
    case = replace(published_case(16), inputs=inputs)
    build.time(case, "ft", 200)
    build.time(case, "oneflow", 100)
    run = build.write()
    (answer,) = judge_claims(run, ledger, [FLAGGED])
    assert len(answer.cases) == counted
    assert (answer.verdict == "not decided") is (counted == 0)
    table = compare_within(run, "ft", ledger)
    assert sum(row.published_speedup is not None for row in table) == 2 * counted, "of both sides"


def test_explanations_leave_other_cases_out(ledger, counted_case):
    claims = [claim for claim in ledger.values() if claim.document.get("explanation")]
    asked = {name for claim in claims for one in evidence.claim_statements(claim) for name in one.names}
    assert evidence.decide_all(claims, counted_case(""), asked)
    assert not evidence.decide_all(claims, counted_case(" inputs=masked"), asked)


@pytest.fixture
def counted_case():
    from kernelbench.core.counters import Counters
    from kernelbench.explain.counted import Counted

    def make(words):
        key = f"seq=512 shape=32x64x512x512 axis=-1 dtype=float32{words}"
        return {"tree_modulo": Counted(key, "tree_modulo", Counters())}

    return make
