"""Every published comparison on the recorded runs: a verdict, what decided it, and why."""

import pytest

from kernelbench.cli import listing
from kernelbench.compare.recorded import Standing, ledger_standings
from kernelbench.core import places

# Ids of the five documents that the project reproduces.
REPRODUCED = """
    softmax-ft-oneflow ft-dispatch oneflow-regimes smem-layout block-size-occupancy uncached-cache-hits
    paddle-log-softmax paddle-grid-sweep paddle-grid-xy paddle-launch-rule paddle-three-reads
    reduce-tree reduce-tree-counters softmax-four-kernels
    relu-naive-packed mul-half-kernels mul-debug-build copy-vector-width grid-waves
    dropout-add-fusion softmax-fusion relu-grad-bitset bitset-schemes access-offset access-stride transpose-widen
    bias-add-shapes index-width div-mod random-mask-pack local-array-index read-order branch-access latency-hiding
    effective-bandwidth
"""


@pytest.fixture(scope="module")
def found(judged: list[Standing]) -> dict[str, Standing]:
    return {one.claim.id: one for one in judged}


def test_every_entry_of_the_ledger_is_there(found: dict[str, Standing]) -> None:
    assert set(found) == {path.stem for path in places.LEDGER.glob("*.yaml")}
    assert set(REPRODUCED.split()) <= {id_ for id_, one in found.items() if one.claim.suites}


def test_each_suite_of_a_claim_is_one_that_runs_it(found: dict[str, Standing]) -> None:
    suites = {suite for one in found.values() for suite in one.claim.suites}
    assert suites
    for suite in suites:
        assert (places.SUITES / f"{suite}.yaml").is_file()


def test_a_verdict_follows_from_a_recorded_run_only(found: dict[str, Standing]) -> None:
    for one in found.values():
        folders = [places.RECORDED / kind / suite for kind in ("h200", "simulated") for suite in one.claim.suites]
        recorded = [folder.is_dir() for folder in folders]
        if one.verdict not in ("", "not decided"):
            assert any(recorded), one.claim.id
        elif one.claim.suites:
            assert one.measured.startswith("Not decided: "), one.claim.id
        else:
            assert (one.decided_by, one.measured) == ("", " ".join(one.claim.document["no_claim"].split()))


def test_what_does_not_hold_says_why(found: dict[str, Standing]) -> None:
    assert found["ft-dispatch"].verdict == "holds in part"
    for id_, one in found.items():
        if one.verdict in ("direction only", "holds in part", "does not hold"):
            own = [entry for entry in one.claim.document.get("why", ()) if entry["verdict"] == one.verdict]
            assert own, f"{id_}: {one.verdict}: its entry has no `why` for that verdict"
        assert "Not explained" not in one.why, f"{id_}: {one.why}"


def test_counters_decide_what_they_explain(found: dict[str, Standing]) -> None:
    one = found["reduce-tree-counters"]
    assert (one.verdict, one.decided_by) == ("holds", "counters")
    assert one.measured.startswith("reduce: Counted by the simulator on all 9 cases. Confirmed: ")
    assert "Contradicted: five kernels move 7 D + 4" in found["softmax-fusion"].why


def test_without_any_recorded_run_nothing_is_decided(tmp_path) -> None:
    empty = ledger_standings(tmp_path)
    assert {one.verdict for one in empty} == {"", "not decided"}
    assert next(one for one in empty if one.claim.id == "div-mod").measured == (
        "Not decided: no recorded run of indexing."
    )


@pytest.mark.usefixtures("judged_once")
def test_list_claims_says_what_decided(found: dict[str, Standing]) -> None:
    rows = {row[0]: row for row in listing.list_claims().rows}
    assert rows["reduce-tree-counters"][3] == "holds, by counters"
    assert rows["softmax-ft-oneflow"][3] == "holds in part"
    assert set(rows) == set(found)
