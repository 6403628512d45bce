"""How far kernels that are written here are from float64, technique by technique, beside PyTorch on the same inputs.

    python tests/gpu/accuracy.py OUT                       accuracy.csv and environment.json in OUT: needs a GPU, nvcc
    python tests/gpu/accuracy.py OUT --device simulated    the same on the simulator, small cases, without PyTorch

Errors are in ulp, as ulp.py counts them.
"""

import argparse
import csv
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # to run as a program from anywhere

import numpy as np  # noqa: E402

from kernelbench.build import BuildRequest, Compiler, find_compiler  # noqa: E402
from kernelbench.core import dtypes  # noqa: E402
from kernelbench.core.errors import DeviceError, DeviceLost, MissingLibrary, Unsupported  # noqa: E402
from kernelbench.core.records import Arrays, ArraySpec, Binary, Case, Implementation, LaunchPlan, Operation, Reference  # noqa: E402
from kernelbench.planning.catalog import Catalog  # noqa: E402
from tests.build.binaries import all_built  # noqa: E402
from tests.catalog import catalog as own_catalog  # noqa: E402
from tests.gpu.shapes import DTYPES  # noqa: E402
from tests.gpu.techniques import MOST_ELEMENTS, ROW_OPERATIONS, Technique, techniques  # noqa: E402
from tests.gpu.ulp import Errors, errors, least_size  # noqa: E402
from tests.gpu.unaligned import Unaligned  # noqa: E402
from tests.kernels.simulated import all_slices  # noqa: E402

SEED = 20261121
MOST = {"cuda": MOST_ELEMENTS, "simulated": 2**13}  # elements of a case
# Beside the distributions that a suite may name.
OWN = {
    "near": "8 with differences of up to a few hundredths: all exponentials alike",
    "one_hot": "0, and 30 once a row",
    "special": "rows, in turn, of -inf, with a NaN, with inf, of -inf but for one number, with one -inf, of normal "
    "numbers, with both infinities; where there are no rows, one of these elements every 31",
    "hidden": "numbers about -200 among stretches of -inf: of a row, in turn, all but one element, the first half, the "
    "second, all but every eighth, none, all, all but a NaN, all but an inf",
}
EVERY = 31
EXACT = ("special", "hidden")  # 0 and 1 of softmax have to be
PEER = "torch"


@dataclass(frozen=True)
class Row:
    """One technique on one input, as accuracy.csv has it. Errors are None where it was refused."""

    operation: str
    implementation: str
    form: str
    dtype: str
    shape: str
    axis: int
    begins: str
    inputs: str
    max_ulp: float | None
    below: float | None
    special: int | None
    wrong: int | None
    repeats: bool | None  # the same bits from a second run
    refused: str
    technique: str


def inputs_of(operation: Operation) -> tuple[str, ...]:
    """Distributions that say something of it."""
    if operation.special is None:
        return ("normal",)
    if operation.name in ROW_OPERATIONS:
        return ("normal", "large", "masked", *OWN)
    return ("normal", "uniform", "large", "special")


def filled(device: Any, case: Case, specs: Sequence[ArraySpec], arrays: Arrays, inputs: str) -> None:
    """Inputs of this distribution; `specs` are filled by another one where it is of OWN."""
    device.fill(arrays, specs, SEED)
    for number, spec in enumerate(specs):
        if spec.role != "input":
            continue
        whole = device.materialise(arrays[spec.name]) if hasattr(device, "materialise") else arrays[spec.name]
        if inputs in OWN and spec.fill not in ("mask", "bits"):
            flat = whole.reshape(-1)
            values = dtypes.widen(device.xp, flat, spec.dtype).astype(np.float32)
            flat[...] = dtypes.narrow(device.xp, changed(device.xp, values, case, inputs, number), spec.dtype)


def changed(xp: Any, values: Any, case: Case, inputs: str, number: int) -> Any:
    """Normal float32 numbers made into those of a distribution of OWN; `number` is the array's."""
    if case.operation not in ROW_OPERATIONS:
        for start, value in enumerate((np.nan, np.inf, -np.inf, 0.0)):
            values[start + number :: EVERY + number] = value
        return values
    outer, dim, inner = case.outer_dim_inner
    rows = values.reshape(outer, dim, inner)
    if inputs == "near":
        return 8 + values / 128
    if inputs == "one_hot":
        rows[...] = 0
        rows[:, dim // 3] = 30
        return values
    if inputs == "hidden":
        rows -= np.float32(200)
        hide(xp, rows)
        return values
    kinds = (xp.arange(outer * inner) % 7).reshape(outer, inner)
    hidden = (kinds == 0) | (kinds == 3)
    rows[...] = xp.where(hidden[:, None, :], np.float32(-np.inf), rows)
    for place, kind, value in (
        (dim - 1, 1, np.nan), (dim // 2, 2, np.inf), (dim // 3, 3, 1.5), (0, 4, -np.inf), (0, 6, np.inf),
        (dim - 1, 6, -np.inf),
    ):  # fmt: skip
        rows[:, place] = xp.where(kinds == kind, np.float32(value), rows[:, place])
    return values


def hide(xp: Any, rows: Any) -> None:
    """Whole parts of [outer, dim, inner], whatever parts a kernel makes of dim: in halves, and in rows of every
    remainder by a power of two to 8."""
    outer, dim, inner = rows.shape
    place = xp.arange(dim)[None, :, None]
    number = xp.arange(outer * inner).reshape(outer, 1, inner)
    kind, turn = number % 8, number // 8
    lone = place == turn % dim
    hidden = (kind == 5) | (((kind == 0) | (kind >= 6)) & ~lone)
    hidden |= ((kind == 1) & (place < dim // 2)) | ((kind == 2) & (place >= (dim + 1) // 2))
    hidden |= (kind == 3) & (place % 8 != turn % min(8, dim))
    rows[...] = xp.where(hidden, np.float32(-np.inf), rows)
    for which, value in ((6, np.nan), (7, np.inf)):
        rows[...] = xp.where((kind == which) & lone, np.float32(value), rows)


class Given:
    """A case with one distribution of inputs on a device, and what float64 makes of it."""

    def __init__(self, device: Any, operation: Operation, case: Case, inputs: str, late: Sequence[str] = ()) -> None:
        """`late`: arrays that begin one element beyond an aligned address."""
        drawn = "normal" if inputs in OWN else inputs
        self.device: Any = Unaligned(device, late) if late else device
        self.operation, self.case, self.inputs = operation, replace(case, inputs=drawn), inputs
        self.begins = "one element late" if late else "aligned"
        self.specs = operation.filled(self.case)
        self.arrays = self.device.allocate(self.specs)
        filled(self.device, self.case, self.specs, self.arrays, inputs)
        self.wide = {
            spec.name: dtypes.widen(device.xp, self.arrays[spec.name].reshape(-1), spec.dtype)
            for spec in self.specs
            if spec.role == "input"
        }
        self._expected: dict[Reference, Arrays] = {}

    def expected(self, implementation: Implementation) -> Arrays:
        """Flat outputs in float64, by the kernel's own reference where what it reads is not what others read."""
        reference = implementation.reference or self.operation.reference
        if reference not in self._expected:
            with np.errstate(all="ignore"):
                found = reference(self.device.xp, self.case, all_slices(self.operation, self.case, self.wide))
            self._expected[reference] = {name: array.reshape(-1) for name, array in found.items()}
        return self._expected[reference]

    def row(self, implementation: Implementation, form: str, plan: LaunchPlan | None, binary: Any, name: str) -> Row:
        """Run twice and compared."""
        found, repeats, refused = None, None, ""
        try:
            found, repeats = self._ran(implementation, plan, binary)
        except DeviceLost:
            raise
        except (Unsupported, MissingLibrary, DeviceError) as error:
            refused = str(error).splitlines()[0]
        numbers = asdict(found) if found else dict.fromkeys(field.name for field in fields(Errors))
        return Row(
            self.case.operation, implementation.name, form, self.case.dtype, "x".join(map(str, self.case.shape)),
            self.case.axis, self.begins, self.inputs, **numbers, repeats=repeats, refused=refused, technique=name,
        )  # fmt: skip

    def _ran(self, implementation: Implementation, plan: LaunchPlan | None, binary: Any) -> tuple[Errors, bool]:
        execute = self.device.executable(implementation, self.case, plan, binary, self.arrays)
        first = self._outputs(execute)
        again = self._outputs(execute)
        bits = [{name: array.reshape(-1).view(np.uint8) for name, array in one.items()} for one in (first, again)]
        repeats = all(bool((bits[0][name] == bits[1][name]).all()) for name in bits[0])
        wanted = self.expected(implementation)
        found = [self._errors(spec, first[spec.name], wanted[spec.name]) for spec in self.specs if spec.name in first]
        if damaged := self.device.red_zone_damage():
            raise DeviceError(f"wrote outside of {damaged}")
        worst = {one.name: max(getattr(errors, one.name) for errors in found) for one in fields(Errors)}
        return Errors(**worst), repeats

    def _outputs(self, execute: Any) -> dict[str, Any]:
        self.device.poison(self.arrays, self.specs)
        arrays = {**self.arrays, **(execute() or {})}
        self.device.clock.wait()
        return {spec.name: arrays[spec.name].copy() for spec in self.specs if spec.role == "output"}

    def _errors(self, spec: ArraySpec, stored: Any, expected: Any) -> Errors:
        xp = self.device.xp
        got = dtypes.widen(xp, stored.reshape(-1), spec.dtype)
        least = least_size(xp, self.case, self.wide, spec.dtype)
        exact = self.case.operation in ROW_OPERATIONS and self.inputs in EXACT
        found = errors(xp, got, expected, spec.dtype, least, exact)
        compared = self.device.compare(stored.reshape(-1), spec.dtype, expected, self.operation.tolerance(self.case))
        return replace(found, wrong=compared.mismatches)


Binaries = Mapping[tuple[Implementation, LaunchPlan], Binary]


def built(chosen: Sequence[Technique], architecture: str, compiler: Compiler) -> Binaries:
    """The binary of every technique. AssertionError where one does not compile."""
    requests = {
        (one.implementation, one.plan): BuildRequest.of(one.implementation.source, one.plan, architecture)
        for one in chosen
        if one.implementation.source is not None
    }
    binaries = all_built(set(requests.values()), compiler)
    return {key: binaries[request] for key, request in requests.items()}


def rows_of(
    device: Any, catalog: Catalog, technique: Technique, binaries: Binaries, late: bool = False, peer: bool = False
) -> Iterator[Row]:
    """All inputs, each by the technique, and by PyTorch. `late`: all arrays begin one element beyond an
    aligned address; then not all inputs."""
    case, operation = technique.case, catalog.operations[technique.case.operation]
    known = catalog.implementations[operation.name]
    names = [spec.name for spec in operation.arrays(case)] if late else []
    for inputs in inputs_of(operation):
        if late and inputs not in ("normal", *EXACT):
            continue
        given = Given(device, operation, case, inputs, names)
        own, plan = technique.implementation, technique.plan
        yield given.row(own, technique.form, plan, binaries[own, plan], technique.name)
        if peer and PEER in known:
            yield given.row(known[PEER], "", None, None, "")
        del given
    device.release()


@cache
def opened(name: str) -> Any:
    from kernelbench.devices import open_device

    device = open_device(name)
    if name == "simulated":
        device.prepare()
        device.full = True
    else:
        device.stream.use()
    return device


def environment(device: Any, compiler: Compiler, seconds: Mapping[str, float]) -> dict[str, Any]:
    torch = sys.modules.get("torch")
    return {
        "device": dict(device.environment()),
        "nvcc": compiler.version,
        "torch": torch.__version__ if torch else "",
        "seed": SEED,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Errors of our own kernels against float64.")
    parser.add_argument("out", type=Path, help="folder of accuracy.csv and environment.json")
    parser.add_argument("--device", choices=MOST, default="cuda")
    parser.add_argument("--only", default="", help="implementations, comma-separated")
    parser.add_argument("--most-elements", type=int, help="of a case; more reach techniques of longer rows")
    parser.add_argument("--seconds", type=float, default=inf, help="after which no further technique is begun")
    options = parser.parse_args()
    began = time.monotonic()
    device, compiler, catalog = opened(options.device), find_compiler(), own_catalog()
    most = options.most_elements or MOST[options.device]
    chosen = techniques(device.properties, DTYPES, most)
    names = set(filter(None, options.only.split(",")))
    chosen = tuple(one for one in chosen if not names or one.implementation.name in names)
    binaries = built(chosen, device.properties.architecture, compiler)
    compiled = time.monotonic()
    on_gpu = options.device == "cuda"
    options.out.mkdir(parents=True, exist_ok=True)

    def write_environment(**seconds: float) -> None:
        state = environment(device, compiler, seconds)
        (options.out / "environment.json").write_text(json.dumps(state, indent=1) + "\n")

    seconds = {"build_s": round(compiled - began, 1)}
    write_environment(**seconds)  # before the first row, so that rows of a run that ends early have it, too
    rows: list[Row] = []
    with (options.out / "accuracy.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for done, one in enumerate(chosen):
            if time.monotonic() - began > options.seconds:
                print(f"out of time: {done} of {len(chosen)} techniques are in {options.out}")
                break
            for late in (False, True) if on_gpu else (False,):  # the simulator binds whole allocations: none is late
                found = list(rows_of(device, catalog, one, binaries, late, peer=on_gpu and not late))
                writer.writerows(asdict(row) for row in found)
                rows += found
            file.flush()  # whatever ends the program, what is finished stays
    seconds["run_s"] = round(time.monotonic() - compiled, 1)
    write_environment(**seconds)
    return summed_up(rows, len(chosen), seconds)


def summed_up(rows: Sequence[Row], count: int, seconds: Mapping[str, float]) -> int:
    """Print what is not as it has to be; 1 if anything is."""
    ours = [row for row in rows if row.implementation != PEER]
    refused = {(row.implementation, row.refused) for row in rows if row.refused}
    theirs = sum(bool(row.special) for row in rows if row.implementation == PEER)
    bad = [row for row in ours if row.wrong or row.special or row.repeats is False]
    for implementation, reason in sorted(refused):
        print(f"refused: {implementation}: {reason}")
    for row in bad:
        print(f"BAD: {row}")
    print(f"{count} techniques, {len(rows)} rows, {len(bad)} bad, {sum(bool(row.refused) for row in ours)} refused; "
          f"PyTorch's NaN, infinities or exact 0 and 1 are elsewhere in {theirs} rows; "
          f"{seconds}")  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
