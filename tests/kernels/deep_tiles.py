"""Small tiles of softmax and log-softmax off the last axis, by the techniques for long ones: packs in
shared memory, and blocks that share dim by a cluster, as a co-resident group, or by tickets."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernelbench.core import dtypes
from kernelbench.core.records import Case, DeviceProperties, LaunchPlan
from kernels.softmax_family.axis_plans import tile_plan
from kernels.softmax_family.axis_tiles import LOAD, Cut, Tile, deep_tile, pack_columns, tile_of, view_of

EXTENTS = ("DIM", "INNER", "COLUMNS", "ROWS")  # of a view and a tile, where they are constants of a kernel

PARTS = 3  # of dim, where blocks share it
PACKS, SHARED_PACKS = 2, 3  # of a thread


@dataclass(frozen=True)
class Form:
    """Tiles of blocks that are `segment` packs side by side, and so many rows of packs at once."""

    layout: str
    segment: int
    at_once: int
    inner: dict[int, int]  # columns, by a pack's elements
    widths: dict[int, int] | None = None  # of a tile; None: whole slabs
    lacks: int = 2  # rows that dim is shorter than the tiles that share it
    exact: bool = False  # all packs are whole


FORMS = {
    "strips": Form("whole", 4, 8, {4: 40, 8: 72}, {4: 16, 8: 32}, lacks=0),  # lanes of a warp share columns
    "slabs": Form("whole", 3, 5, {4: 12, 8: 24}),  # none do; odd rows of an odd number of packs, as of the next two
    "ragged": Form("ragged", 7, 3, {4: 7, 8: 7}),
    "even": Form("ragged", 7, 3, {4: 7, 8: 7}, lacks=0, exact=True),
    "shifted": Form("shifted", 9, 4, {4: 21, 8: 23}, {4: 9, 8: 16}),
    "folded": Form("whole", 1, 32, {4: 2, 8: 4}, {4: 4, 8: 8}, lacks=0),  # several short rows a pack
}


def case_of(form: str, exchange: str, dtype: str, operation: str = "log_softmax", lacks: int | None = None) -> Case:
    """A view of two slabs, which tiles of that form hold but for `lacks` rows in the last block."""
    this, per_pack = FORMS[form], pack_columns(dtype)
    inner = this.inner[per_pack]
    rows = (1 if exchange == "block" else PARTS) * rows_of(this, per_pack, exchange)
    dim = rows - (this.lacks if lacks is None else lacks)
    return Case(operation, (2, dim * max(1, per_pack // inner), inner), 1, dtype)


def packs_of(exchange: str) -> int:
    return PACKS if exchange == "tickets" else PACKS + SHARED_PACKS


def rows_of(form: Form, per_pack: int, exchange: str) -> int:
    """Of a block."""
    packs = packs_of(exchange)
    if form.layout != "ragged":
        return packs * form.at_once
    elements = packs * form.segment * form.at_once * per_pack
    return (elements if form.exact else elements - per_pack + 1) // form.inner[per_pack]


def tile_for(form: str, exchange: str, case: Case) -> Tile:
    this, per_pack, packs = FORMS[form], pack_columns(case.dtype), packs_of(exchange)
    rows, width = rows_of(this, per_pack, exchange), (this.widths or this.inner)[per_pack]
    view, threads = view_of(case), this.segment * this.at_once
    in_pack = LOAD // dtypes.itemsize(case.dtype) if this.layout == "shifted" else per_pack
    cut = Cut(this.layout, this.segment, width, in_pack)
    found = (
        tile_of(view, cut, rows, PACKS) if exchange == "tickets" else deep_tile(view, cut, rows, threads, PACKS, packs)
    )
    assert found is not None
    tile = replace(found, parts=-(-view.dim // rows), exchange=exchange)
    assert (tile.rows, tile.packs, tile.shared_packs, tile.at_once) == (rows, PACKS, packs - PACKS, this.at_once)
    assert tile.parts == (1 if exchange == "block" else PARTS)
    return tile


def planned(form: str, exchange: str) -> Callable[[Case, DeviceProperties], LaunchPlan]:
    """The plan of a small view by a kernel that takes the extents as parameters, as those of large views do."""

    def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
        name = f"{case.operation}_one_read_axis"
        found = tile_plan(name, case, device, tile_for(form, exchange, case), ahead=0)  # results follow at once
        return replace(found, defines=tuple(one for one in found.defines if one[0] not in EXTENTS))

    return plan
