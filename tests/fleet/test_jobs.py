"""What a worker does, and what it refuses to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.fleet import jobs
from kernelbench.fleet.gpus import named_gpus
from kernelbench.fleet.jobs import FleetJob, RefusedJob

GPU = named_gpus("simulated:a100")[0]
SUITE = places.SUITES / "softmax.yaml"
JOB = FleetJob("20261123-2-gpus", "a100", GPU.resource, "softmax", jobs.digest_of(SUITE), ("--only", "ft"), "", 6, 6.0)


def test_a_job_of_this_suite_and_gpu_is_done() -> None:
    assert jobs._checked(JOB, GPU, local=False) == SUITE
    assert jobs._checked(replace(JOB, suite=str(SUITE)), GPU, local=True) == SUITE


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"digest": "0" * 64}, "has another softmax.yaml than the client"),
        ({"suite": "no_such_suite"}, "no suite 'no_such_suite.yaml'"),
        ({"suite": str(SUITE)}, "not valid names of"),
        ({"suite": "../suites/softmax"}, "not valid names of"),
        ({"fleet": ".."}, "not valid names of"),
        ({"fleet": "a/../../b"}, "not valid names of"),
        ({"label": "../x"}, "not valid names of"),
        ({"resource": "GPU-other"}, "not GPU-other"),
        ({"options": ("--kernels", "/tmp/theirs")}, "takes no option '--kernels'"),
        ({"options": ("--cu", "x.cu")}, "takes no option"),
        ({"options": ("--nvcc", "/tmp/run-me")}, "takes no option"),
        ({"options": ("--out", "/etc")}, "takes no option"),
        ({"options": ("--only", "--out")}, "lacks its value"),
        ({"options": ("--only",)}, "lacks its value"),
        ({"options": ("ft",)}, "takes no option 'ft'"),
    ],
)
def test_a_job_from_another_host_names_only_what_is_here(change: dict[str, object], said: str) -> None:
    with pytest.raises(RefusedJob, match=said):
        jobs._checked(replace(JOB, **change), GPU, local=False)


def test_runs_on_this_host_have_any_name_and_those_of_a_cluster_a_plain_one() -> None:
    assert jobs._checked(replace(JOB, suite=str(SUITE), fleet="my r\u00fcn"), GPU, local=True) == SUITE
    jobs.require_names(["softmax", "run-1.2"])
    with pytest.raises(InputError, match="'my run': hosts of a cluster make a folder of this name; expected letters"):
        jobs.require_names(["softmax", "my run"])


def test_a_worker_without_a_gpu_does_nothing() -> None:
    with pytest.raises(RefusedJob, match="has no GPU"):
        jobs._checked(JOB, None, local=True)


def test_every_option_that_workers_take_is_one_of_run() -> None:
    from kernelbench.cli.run import run

    known = {word: not one.is_flag for one in run.params for word in (*one.opts, *one.secondary_opts) if word[0] == "-"}
    assert {name: known[name] for name in jobs._OPTIONS} == jobs._OPTIONS


def test_what_resume_says_is_brought_back(tmp_path: Path) -> None:
    log = tmp_path / "softmax.log"
    log.write_text(
        "Going on with /x/softmax: 3 of 6 cases are finished\n"
        "2 cases are measured again: ft is another binary now\nother\n"
    )
    assert jobs._said(log, 0) == [
        "3 of 6 cases are finished",
        "2 cases are measured again: ft is another binary now",
    ]
    log.write_text("Going on with /x/softmax: 0 of 6 cases are finished\n")
    assert jobs._said(log, 1) == []
    log.write_text("one\n\n\x1b[2Jtwo\n")
    assert jobs._said(log, 2) == ["one", "\\x1b[2Jtwo"]


def test_the_code_has_one_hash_that_every_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PACKAGE", "KERNELS", "SPECIMENS"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(places, name, tmp_path / name)
    (tmp_path / "KERNELS" / "a.cu").write_text("one")
    first = jobs.code_digest()
    assert jobs.code_digest() == first
    (tmp_path / "KERNELS" / "a.cu").write_text("two")
    assert jobs.code_digest() != first


def test_no_folder_of_a_fleet_is_a_topic_of_dask() -> None:
    assert jobs.topic_of("all") == "kernelbench-all"
