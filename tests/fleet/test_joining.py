"""Parts of a suite and the run that they make together."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.core import places
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.records import Case, Suite
from kernelbench.runs.joining import join_runs
from kernelbench.runs.results import ENVIRONMENT_FILE, Store, read_run, results_file
from kernelbench.runs.samples import read_samples
from kernelbench.suite import select_part
from kernelbench.walks.compare import judge_run

WHOLE = places.RECORDED / "h200" / "softmax"


def suite(sizes: list[int]) -> Suite:
    cases = tuple(Case("softmax", (4, size), 1, "float32", axes=(("seq", size),)) for size in sizes)
    return Suite("small", Path("small.yaml"), "", "softmax", cases, ("good",))


def test_parts_hold_every_case_once_and_take_about_equally_long() -> None:
    whole = suite([2**number for number in range(13)])
    parts = [select_part(whole, f"{number}/3") for number in (1, 2, 3)]
    assert Counter(case for part in parts for case in part.cases) == Counter(whole.cases)
    sizes = [[case.shape[1] for case in part.cases] for part in parts]
    assert sizes == [sorted(own) for own in sizes], "in the order of the suite"
    assert max(map(len, sizes)) - min(map(len, sizes)) <= 1
    assert sizes[0][-1] == 4096
    assert sizes[2][-2:] == [512, 1024], "dealt to and fro: the third gets the third and the fourth"
    assert select_part(whole, "1/1") == whole


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/2/3", "-1/2", "a/b", "", "1/9999999999"])
def test_a_part_that_cannot_be(text: str) -> None:
    with pytest.raises(InputError, match="expected K/N, as in 1/4"):
        select_part(suite([8, 16]), text)


def test_a_part_without_a_case_is_refused() -> None:
    with pytest.raises(InputError, match="has 2 cases, so this part has none"):
        select_part(suite([8, 16]), "3/3")


def parts_of(folder: Path) -> dict[str, Path]:
    """The recorded run, cut into two parts as two GPUs would have measured it."""
    from kernelbench.runs.joining import _rows

    run, found = read_run(WHOLE), {}
    cases = list(dict.fromkeys(row.case for row in run.rows))
    for label, own, uuid in (("h200-0", cases[1::2], "GPU-a"), ("h200-1", cases[::2], "GPU-b")):
        store = Store(folder / label)
        device = {**run.environment["device"], "uuid": uuid}
        store.write_environment({**run.environment, "device": device, "wall_s": 10.0 if uuid == "GPU-a" else 20.0})
        rows = [row for row in _rows(results_file(WHOLE)) if row["case"] in own]
        store.append(rows, [line for line in read_samples(WHOLE / "samples.csv.gz")[0] if line[0] in own])
        found[label] = folder / label
    return found


def test_a_joined_run_is_the_run_of_one_gpu(tmp_path: Path) -> None:
    whole = read_run(WHOLE)
    order = list(dict.fromkeys(row.case for row in whole.rows))
    joined = join_runs(parts_of(tmp_path), tmp_path / "softmax", order)
    assert joined.rows == whole.rows
    key = list(whole.samples.columns)
    assert joined.samples.sort_values(key).to_numpy().tolist() == whole.samples.sort_values(key).to_numpy().tolist()
    assert joined.environment["device"]["uuid"] == "several"
    assert joined.environment["wall_s"] == 20
    shared = joined.environment["shared"]
    assert {label: (own["uuid"], own["cases"]) for label, own in shared.items()} == {
        "h200-0": ("GPU-a", order[1::2]),
        "h200-1": ("GPU-b", order[::2]),
    }
    assert shared["h200-0"]["limits"]["dram_bytes_per_s"] > 0
    own, other = judge_run(joined), judge_run(whole)
    assert own.comparison == other.comparison
    assert own.verdicts == other.verdicts


def test_joined_again_nothing_is_there_twice(tmp_path: Path) -> None:
    parts = parts_of(tmp_path)
    first = join_runs({"h200-0": parts["h200-0"]}, tmp_path / "softmax", [])
    both = join_runs(parts, tmp_path / "softmax", list(dict.fromkeys(row.case for row in read_run(WHOLE).rows)))
    assert len(both.rows) == len(read_run(WHOLE).rows) > len(first.rows)
    assert first.environment["device"]["uuid"] == "GPU-a"


def test_a_run_that_one_part_has_not_finished_is_not_finished(tmp_path: Path) -> None:
    parts = parts_of(tmp_path)
    store = Store(parts["h200-1"])
    store.write_environment({**read_run(parts["h200-1"]).environment, "finished": None})
    assert join_runs(parts, tmp_path / "softmax", []).stopped


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    parts = parts_of(tmp_path)
    with pytest.raises(ResultsError, match="was measured on h200-0 too"):
        join_runs({**parts, "h200-2": parts["h200-0"]}, tmp_path / "out", [])
    run = read_run(parts["h200-1"])
    other = replace(run, environment={**run.environment, "device": {"name": "NVIDIA A100"}})
    Store(run.folder).write_environment(other.environment)
    with pytest.raises(ResultsError, match="only runs of one suite on GPUs of one kind"):
        join_runs(parts, tmp_path / "out", [])
    assert not (tmp_path / "out" / ENVIRONMENT_FILE).exists()
