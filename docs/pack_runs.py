"""Packs recorded runs, so that a checkout stays small: `python docs/pack_runs.py`, after runs were recorded.

results.csv becomes results.csv.gz, and samples.csv.gz one gzip member, a quarter smaller than one per case and
implementation. Times of candidates and counts of a GPU become .csv.gz too. Contents stay as they were recorded, but for
the folder after `--out` in the command, which is a place on that machine: it becomes the run's folder here.
zopfli's gzip files are a tenth smaller than gzip's own; it takes seconds for each.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from zopfli.gzip import compress

from kernelbench.core import places, writing
from kernelbench.runs.folders import is_run, shipped_runs
from kernelbench.runs.results import ENVIRONMENT_FILE, PACKED_RESULTS_FILE, RESULTS_FILE, SAMPLES_FILE

OTHER_VERSIONS = "*/other_versions/*/*"  # of libraries: runs that are found by their paths only
TABLES = ("*/model/*.csv", "*/simulator/*.csv", "*/accuracy/*.csv")  # recorded tables that are no runs


def pack(run: Path) -> bool:
    """Pack the run in this folder; False if it was packed before."""
    results, samples = run / RESULTS_FILE, run / SAMPLES_FILE
    if not results.exists():
        return False
    if samples.exists():
        writing.write_whole(samples, packed(gzip.decompress(samples.read_bytes())))
    writing.write_whole(run / PACKED_RESULTS_FILE, packed(results.read_bytes()))
    results.unlink()
    return True


def name_folder(run: Path) -> None:
    """Let the recorded command write to the run's folder in the checkout."""
    environment = run / ENVIRONMENT_FILE
    text = environment.read_text(encoding="utf-8")
    named = re.sub(r'(?<= --out )[^ "]+', run.relative_to(places.ROOT).as_posix(), text)
    if named != text:
        writing.write_whole(environment, named.encode())
        print(f"{environment.relative_to(places.ROOT)}: names the folder")


def packed(data: bytes) -> bytes:
    whole: bytes = compress(data, numiterations=5)  # with no time of writing in it
    return whole


if __name__ == "__main__":
    for folder in filter(is_run, (*shipped_runs(), *places.RECORDED.glob(OTHER_VERSIONS))):
        name_folder(folder)
        if pack(folder):
            print(f"{folder.relative_to(places.ROOT)}: packed")
    for pattern in TABLES:
        for table in places.RECORDED.glob(pattern):
            writing.write_whole(table.with_name(f"{table.name}.gz"), packed(table.read_bytes()))
            table.unlink()
            print(f"{table.relative_to(places.ROOT)}: packed")
