"""Plays every fault and keeps what came of it, for the table in docs/reliability.md.

    python tests/reliability/record.py                          on the fake device and the simulator
    python tests/reliability/record.py --device cuda FOLDER     on a GPU; four minutes
    python tests/reliability/record.py --only disk_full         some of them, shown and not kept

Writes FOLDER/<name>.json (results/reliability/ unless named); exit code 1 where a fault cost a finished row.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from kernelbench.core import places
from tests.reliability.matrix import FAULTS
from tests.reliability.stage import CUDA, FAKE, SIMULATOR, Stage

FOLDER = places.RECORDED / "reliability"


def played(name: str, kind: str, moments: int) -> dict[str, Any]:
    """What came of a fault, with how long it took; `failed` says what did not hold."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found: dict[str, Any] = asdict(FAULTS[name].play(Stage(kind, Path(folder), places.cache(), moments)))
            found["seen"] = found["seen"].replace(folder, "..").replace(f"{places.ROOT}/", "")
        except Exception as error:  # one fault is no reason not to play the others
            traceback.print_exc()
            found = {"failed": f"{type(error).__name__}: {str(error)[:2000]}"}
    return {"fault": FAULTS[name].title, "on": kind, **found, "seconds": round(time.monotonic() - began, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description="Play every fault and keep what came of it.")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--device", choices=["none", "cuda"], default="none")
    parser.add_argument("--only", help="names, with commas between")
    parser.add_argument("--moments", type=int, default=20, help="how often a run is killed")
    options = parser.parse_args()
    kinds = (CUDA,) if options.device == "cuda" else (FAKE, SIMULATOR)
    chosen = options.only.split(",") if options.only else list(FAULTS)
    found = {}
    for name in chosen:
        for kind in [kind for kind in FAULTS[name].kinds if kind in kinds]:
            one = found[f"{name}, {kind}"] = played(name, kind, options.moments)
            print(json.dumps({name: one}), flush=True)
    if not options.only:
        options.folder.mkdir(parents=True, exist_ok=True)
        path = options.folder / ("gpu.json" if kinds == (CUDA,) else "no_gpu.json")
        state = {
            "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
            "moments": options.moments,
            "gpu": gpu(options.device),
        }
        path.write_text(json.dumps({**state, "faults": list(found.values())}, indent=1) + "\n")
    return 1 if any("failed" in one or one["lost"] for one in found.values()) else 0


def gpu(device: str) -> str:
    """The name of the GPU, '' for none."""
    if device != "cuda":
        return ""
    import pynvml

    pynvml.nvmlInit()
    return str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0)))


if __name__ == "__main__":
    sys.exit(main())
