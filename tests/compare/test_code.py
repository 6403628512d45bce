"""Claims about machine code, both ways, on runs whose facts are known."""

import json

import pytest

from kernelbench.compare import judge_claims
from kernelbench.core.records import Case
from kernelbench.runs.results import read_run

WAYS = ("whole_packs", "cast_in_loop", "int4")


def product(dtype="float16", n=1024):
    return Case("multiply", (n,), -1, dtype, (("n", n),))


def launched(build, case, name, binary, entry="multiply_hand_written_f16"):
    build.refuse(case, name, "ok", "")
    build.rows[-1] |= {"binary": binary, "launches": f"{entry}<<<4, 256>>>"}


def verdict(build, ledger, id_, code):
    for row in build.rows:
        row["operation"] = ledger[id_].document["operation"]
    build.write()
    path = build.folder / "environment.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": code}))
    (answer,) = judge_claims(read_run(build.folder), ledger, [id_])
    assert answer.sentence.endswith(".")
    return answer


def code(hash_, instructions=100, entry="multiply_hand_written_f16"):
    return {entry: {"hash": hash_, "instructions": instructions}}


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize(("hashes", "outcome"), [(("a1", "a1", "a1"), "holds"), (("a1", "a1", "b2"), "does not hold")])
def test_the_same_code_is_the_same_hash_of_every_launch(build, ledger, simulated, hashes, outcome):
    build.simulated = simulated
    for name in WAYS:
        launched(build, product(), name, f"binary-{name}")
    known = {f"binary-{name}": code(hash_) for name, hash_ in zip(WAYS, hashes, strict=True)}
    answer = verdict(build, ledger, "mul-half-same-code", known)
    assert answer.verdict == outcome
    assert answer.cases[0].measured == len(set(hashes))
    assert f"int4 {hashes[2]} (100 instructions)" in answer.sentence


def test_other_types_are_not_looked_at(build, ledger):
    for name in WAYS:
        launched(build, product("float32"), name, f"binary-{name}")
    answer = verdict(build, ledger, "mul-half-same-code", {})
    assert answer.sentence == "Not decided: the run has no case that this claim is about."


def test_code_that_the_run_does_not_have_is_not_measured(build, ledger):
    for name in WAYS:
        launched(build, product(), name, f"binary-{name}")
    answer = verdict(build, ledger, "mul-half-same-code", {"binary-int4": code("a1")})
    assert answer.verdict == "not decided"
    assert "the run has not kept their machine code" in answer.sentence


def test_who_was_not_built_is_named(build, ledger):
    launched(build, product(), "whole_packs", "binary")
    build.refuse(product(), "int4", "failed", "nvcc")
    answer = verdict(build, ledger, "mul-half-same-code", {"binary": code("a1")})
    assert answer.sentence == "Not decided: cast_in_loop: not in this run."


@pytest.mark.parametrize(("more", "outcome"), [(103, "holds"), (100, "does not hold"), (97, "does not hold")])
def test_longer_code_has_more_instructions(build, ledger, more, outcome):
    for name in ("element_index", "cast_in_loop"):
        launched(build, product(), name, name)
    answer = verdict(
        build, ledger, "mul-half-element-index", {"element_index": code("b2", more), "cast_in_loop": code("a1")}
    )
    assert answer.verdict == outcome
    assert f"element_index {more} instructions, cast_in_loop 100" in answer.sentence
