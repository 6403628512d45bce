"""Published explanations against counters: statements, their schema, and the verdict on a claim that only explains."""

import pytest

from kernelbench.compare import judge_claims, ledger_schema
from kernelbench.compare.ledger import FORM
from kernelbench.core import columns
from kernelbench.core.counters import Counters
from kernelbench.core.documents import plain_values, read_document
from kernelbench.core.problems import Problems
from kernelbench.core.records import Claim
from kernelbench.explain import evidence
from kernelbench.explain.counted import Counted
from kernelbench.runs.row_records import RESULTS

REQUESTS = 1000


def counted(name, wavefronts=1.0, lanes=32.0, ways=None):
    """A kernel with so many wavefronts for each shared load, where one would do."""
    counters = Counters(
        warp_instructions=REQUESTS,
        thread_instructions=round(lanes * REQUESTS),
        shared_load_requests=REQUESTS,
        shared_load_wavefronts=round(wavefronts * REQUESTS),
        shared_load_ideal_wavefronts=REQUESTS,
    )
    return Counted("case", name, counters, ways=ways)


def statement(of, relation, than, **more):
    entry = {"says": "they collide", "of": of, "metric": "bank_conflicts", "relation": relation, "than": than}
    (one,) = evidence.claim_statements(Claim("id", "", "explanation", (), {"explanation": [entry | more]}))
    return one


@pytest.mark.parametrize(
    ("relation", "than", "more", "decision"),
    [
        ("more", "clean", {}, "confirmed"),
        ("less", "clean", {}, "contradicted"),
        ("more", "clean", {"factor": 4}, "contradicted"),
        ("more", 1, {}, "confirmed"),
        ("times", 3.3, {}, "confirmed"),
        ("times", "clean", {"factor": 3.2}, "confirmed"),
        ("times", "clean", {"factor": 3.2, "within": 0.01}, "contradicted"),
        ("times", "clean", {"factor": 2}, "contradicted"),
        ("times", 0, {}, "contradicted"),
        ("at_most", 3.3, {}, "confirmed"),
        ("at_most", 3.2, {}, "contradicted"),
        ("at_most", "clean", {"factor": 4}, "confirmed"),
        ("at_most", "clean", {}, "contradicted"),
        ("more", "another", {}, "not visible here"),
    ],
)
def test_relations(relation, than, more, decision):
    case = {"strided": counted("strided", 3.3), "clean": counted("clean")}
    assert evidence.decide(statement("strided", relation, than, **more), case).decision == decision


@pytest.mark.parametrize("relation", ["more", "less"])
def test_counts_that_are_alike_are_neither_more_nor_less(relation):
    case = {"strided": counted("strided", 1.01), "clean": counted("clean")}
    assert evidence.decide(statement("strided", relation, "clean"), case).decision == "contradicted"


def test_both_numbers_are_told():
    case = {"strided": counted("strided", 3.3), "clean": counted("clean")}
    texts = [
        evidence.decide(statement("strided", "more", "clean"), case).text,
        evidence.decide(statement("strided", "times", "clean", factor=3), case).text,
        evidence.decide(statement("strided", "times", 1), case).text,
        evidence.decide(statement("strided", "more", 2, factor=1.5), case).text,
        evidence.decide(statement("strided", "at_most", 4), case).text,
        evidence.decide(statement("strided", "more", "gone"), case).text,
    ]
    assert texts == [
        "strided 3.30, clean 1.00",
        "strided 3.30, clean 1.00: 3.30 times, expected 3.00",
        "strided 3.30, expected 1.00",
        "strided 3.30, expected at least 3.00",
        "strided 3.30, expected at most 4.00",
        "gone: not counted on this case",
    ]


def test_what_has_nothing_to_count_is_not_visible():
    case = {"strided": Counted("case", "strided", Counters(warp_instructions=1)), "clean": counted("clean")}
    found = evidence.decide(statement("strided", "more", "clean"), case)
    assert found.decision == "not visible here"
    assert found.text.startswith("strided: nothing to count")


def test_what_cases_say_together():
    collide, lean = statement("strided", "more", "clean"), statement("clean", "times", 1)
    cases = [{"strided": counted("strided", ways), "clean": counted("clean")} for ways in (3.3, 2, 1)]
    found = [evidence.decide(one, case) for case in [*cases, {}] for one in (collide, lean)]
    assert [(one.decision, one.seen, one.numbers) for one in evidence.across(found)] == [
        ("confirmed on 2 of 3", 3, "strided 1.00 to 3.30, clean 1.00"),
        ("confirmed", 3, "clean 1.00, expected 1.00"),
    ]
    (gone,) = evidence.across([evidence.decide(collide, {})])
    assert (gone.decision, gone.numbers) == ("not visible here", "")
    (wrong,) = evidence.across([evidence.decide(collide, cases[2])])
    assert wrong.decision == "contradicted"
    (least,) = evidence.across([evidence.decide(statement("strided", "more", 2, factor=1.5), cases[0])])
    assert least.numbers == "strided 3.30, expected at least 3.00"


def test_statements_about_other_cases_are_left_out():
    entry = {"says": "they collide", "of": "strided", "metric": "bank_conflicts", "relation": "more", "than": 1}
    claim = Claim("id", "", "explanation", (), {"explanation": [entry | {"parameters": {"stride": 2}}]})
    for key, said in (("n=64 dtype=float32 stride=2", ["confirmed"]), ("n=64 dtype=float32 stride=1", [])):
        case = {"strided": Counted(key, "strided", counted("strided", 3.3).counters)}
        assert [one.decision for one in evidence.decide_all([claim], case, {"strided"})] == said
    assert [one.decision for one in evidence.decide_all([claim], {}, {"strided"})] == ["not visible here"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"metric": "bank_conflict"}, "explanation[0].metric: expected one of .*did you mean 'bank_conflicts'"),
        ({"relation": "same"}, "explanation[0].relation: expected one of more, less, at_most, times"),
        ({"than": ["clean"]}, "explanation[0].than: expected a name or number"),
        ({"than": -1}, "explanation[0].than: expected a name or number"),
        ({"factor": 0}, "explanation[0].factor: expected a positive number"),
        ({"within": 2}, "explanation[0].within: expected a share"),
        ({"sayd": "x"}, "explanation[0].sayd: unknown key; did you mean 'says'"),
    ],
)
def test_wrong_statements_are_named(ledger, change, problem):
    entry = dict(ledger["reduce-tree-counters"].document)
    entry["explanation"] = [entry["explanation"][0] | change]
    found = "\n".join(ledger_schema.schema_problems(entry, "reduce-tree-counters"))
    pattern, _, hint = problem.partition(".*")
    assert pattern in found
    assert hint in found
    assert len(found.splitlines()) == 1


def test_zero_is_a_number_to_compare_with(ledger):
    entry = dict(ledger["softmax-ft-oneflow"].document)
    assert entry["explanation"][0]["than"] == 0
    assert list(ledger_schema.schema_problems(entry, "softmax-ft-oneflow")) == []


def test_an_explanation_without_statements_is_refused(ledger):
    entry = {key: value for key, value in ledger["reduce-tree-counters"].document.items() if key != "explanation"}
    assert list(ledger_schema.schema_problems(entry, "reduce-tree-counters")) == [
        "explanation: missing; expected statements that counters can decide, as the claim's kind asks for"
    ]


def trees(strided=3.3, modulo_lanes=23.3):
    return {
        "tree_modulo": counted("tree_modulo", lanes=modulo_lanes),
        "tree_strided": counted("tree_strided", strided, 29.0, (2, 8)),
        "tree_sequential": counted("tree_sequential", lanes=29.1),
    }


def verdict(build, ledger, by_case):
    (answer,) = judge_claims(build.write(), ledger, ["reduce-tree-counters"], by_case)
    return answer


@pytest.fixture
def two_cases(build, published_case):
    """A run of a GPU: it has times, which must not matter."""
    for seq in (16, 32):
        for name in trees():
            build.time(published_case(seq), name, 100)
    return build


def test_an_explanation_is_decided_by_counters(two_cases, ledger, published_case):
    answer = verdict(two_cases, ledger, {published_case(seq).key: trees() for seq in (16, 32)})
    assert answer.verdict == "holds"
    assert answer.sentence.startswith("Counted by the simulator on both cases. Confirmed: threads picked by")
    assert "(tree_strided 3.30, tree_modulo 1.00)" in answer.sentence
    assert answer.cases[0].direction is True
    assert "confirmed: consecutive threads" in answer.cases[0].text


def test_an_explanation_can_fail_or_hold_in_part(two_cases, ledger, published_case):
    some = {published_case(16).key: trees(), published_case(32).key: trees(strided=1.0)}
    answer = verdict(two_cases, ledger, some)
    assert answer.verdict == "holds in part"
    assert "Confirmed on 1 of 2: consecutive threads" in answer.sentence
    none = {published_case(seq).key: trees(strided=1.0, modulo_lanes=30) for seq in (16, 32)}
    assert verdict(two_cases, ledger, none).verdict == "does not hold"


def test_an_explanation_with_a_statement_that_nothing_counted_is_not_decided(two_cases, ledger, published_case):
    """Unless another statement is contradicted."""
    unseen = {"tree_strided": counted("tree_strided", 3.3, 29.0)}
    answer = verdict(two_cases, ledger, {published_case(seq).key: trees() | unseen for seq in (16, 32)})
    assert answer.verdict == "not decided"
    assert answer.sentence.startswith("Not decided: the first stride collides two by two; each doubling")
    assert "not counted. Confirmed: threads picked by a modulo" in answer.sentence
    wrong = {"tree_sequential": counted("tree_sequential", 2.0, lanes=29.1)}
    both = {published_case(seq).key: trees() | unseen | wrong for seq in (16, 32)}
    assert verdict(two_cases, ledger, both).verdict == "does not hold"


def test_without_counters_an_explanation_is_not_measured(two_cases, ledger):
    answer = verdict(two_cases, ledger, None)
    assert answer.verdict == "not decided"
    assert "nothing was counted" in answer.sentence


def test_a_simulated_run_decides_by_its_own_counters(build, ledger, published_case):
    """Counters come back from results.csv; lanes a warp instruction stand for thread instructions."""
    case = published_case(512)
    known = set(columns.column_names(RESULTS))
    for name, one in trees().items():
        build.refuse(case, name, "ok", "not timed")
        cells = {key: value for key, value in vars(one.counters).items() if key in known}
        build.rows[-1] |= cells | {"lanes_per_instruction": one.counters.lanes_per_instruction}
        if one.ways:
            build.rows[-1] |= {"least_conflict_ways": one.ways[0], "most_conflict_ways": one.ways[1]}
    assert verdict(build, ledger, None).verdict == "holds"


def test_every_statement_of_the_ledger_names_implementations_that_exist(ledger):
    from kernelbench.planning.catalog import load_catalog

    catalog = load_catalog(specimens=True)
    found = [one for claim in ledger.values() for one in evidence.claim_statements(claim)]
    assert found
    for one in found:
        names = catalog.implementations[ledger[one.claim].document["operation"]]
        assert set(one.names) <= set(names), one


def test_statements_survive_the_file(tmp_path, ledger):
    """As YAML has them: a list of mappings, read without loss."""
    path = tmp_path / "x.yaml"
    path.write_text("explanation:\n  - {says: a, of: b, metric: lanes, relation: more, than: 1.5, factor: 2}\n")
    document = plain_values(read_document(path, Problems(path), FORM))
    (one,) = evidence.claim_statements(Claim("x", "", "explanation", (), document))
    assert (one.than, one.factor, one.within) == (1.5, 2, evidence.WITHIN)


def test_an_explanation_may_be_about_several_operations(two_cases, ledger, published_case):
    """The trees are published for a sum; a softmax has the same ones."""
    assert ledger["reduce-tree-counters"].document["operation"] != published_case(16).operation
    assert verdict(two_cases, ledger, {published_case(16).key: trees()}).verdict == "holds"


def test_a_statement_may_be_about_long_rows_only():
    statement_ = statement("strided", "more", 1, from_columns=64)

    def decision(shape):
        one = Counted(f"shape={shape} axis=-1 dtype=float32", "strided", counted("strided", 3.3).counters)
        return evidence.decide(statement_, {"strided": one})

    assert decision("32x64").decision == "confirmed"
    assert decision("64x32").decision == "not visible here"
    assert decision("64x32").text == "rows of 32, but it is about rows of at least 64"


def test_the_claims_dtypes_are_those_of_its_statements(ledger):
    (fewer, _) = evidence.claim_statements(ledger["softmax-fusion"])
    both = {
        dtype: {
            name: Counted(f"shape=4x4 axis=-1 dtype={dtype}", name, Counters(read_once_bytes=size), least_bytes=100)
            for name, size in (("oneflow_shared", 100), ("five_kernels", 400))
        }
        for dtype in ("float32", "float16")
    }
    assert evidence.decide(fewer, both["float32"]).decision == "confirmed"
    assert evidence.decide(fewer, both["float16"]).text == "float16, but it is about float32"


@pytest.mark.parametrize(("offset", "stride", "seen"), [(1, 1, [1]), (0, 1, [0]), (8, 1, [2]), (1, 2, []), (2, 1, [])])
def test_a_statement_is_about_its_point_of_a_curve(ledger, offset, stride, seen):
    key = f"n=64 shape=64 axis=-1 dtype=float32 side=load offset={offset} stride={stride}"
    counters = Counters(global_load_requests=2, global_load_sectors=10, warp_instructions=1)
    case = {"strided": Counted(key, "strided", counters)}
    said = [evidence.decide(one, case) for one in evidence.claim_statements(ledger["access-offset"])]
    assert [place for place, one in enumerate(said) if one.decision != "not visible here"] == seen
    assert [one.decision for one in said if one.decision != "not visible here"] == [
        "confirmed" if offset == 1 else "contradicted" for _ in seen
    ]
