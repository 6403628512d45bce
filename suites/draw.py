"""Draws the shapes of the suites draw_*.yaml and model_*.yaml at random, each from its own seed.

    python suites/draw.py             write all of them
    python suites/draw.py --check     write nothing; exit 1 if a file differs from what its seed gives

The size of x and all extents but the last are even on a logarithmic scale. Every other case has rows of whole packs of
16 bytes, but for model_unaligned and model_layer_norm_unaligned, which have none.
"""

from __future__ import annotations

import random
import sys
import textwrap
from dataclasses import dataclass
from math import exp, log, prod
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ITEMSIZES = {"float32": 4, "float16": 2, "bfloat16": 2}
BYTES, SMALL, WIDE = (2**20, 2**31), (2**18, 2**24), (2**18, 2**30)  # of x
ROWS, COLUMNS = (1, 10**7), (1, 10**6)
EXTENT, INNER = (1, 10**5), (2, 10**5)  # inner 1 is the last axis
PACK_BYTES = 16
DRAWN, MODEL_DRAWN, SMALL_DRAWN, UNALIGNED_DRAWN, UNSEEN_DRAWN = 16, 52, 20, 14, 30  # cases of each data type
MODEL = "The cases on which kernelbench tune --model times every candidate, to fit the cost function of the plans."
UNALIGNED = "A draw of such rows alone, timed before anybody looked at its shapes, once they could be held in words."

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Drawn:
    """A suite: what it draws and why."""

    name: str
    seed: int
    title: str
    description: str
    operation: str
    cases: int  # of each data type
    beside_peers: bool = False
    unaligned: bool = False  # no case has rows of whole packs
    nbytes: tuple[int, int] = BYTES

    @property
    def last_axis(self) -> bool:
        return self.operation != "log_softmax"

    @property
    def text(self) -> str:
        description = textwrap.fill(self.description, 116, initial_indent="  ", subsequent_indent="  ")
        return f"""\
# Made by suites/draw.py from seed {self.seed}.
title: {self.title}
description: >
{description}

operation: {self.operation}
cases:
{"".join(map(self._block, ITEMSIZES))}
implementations: [{", ".join(self._implementations())}]
baseline: {"torch" if self.beside_peers else "copy"}
caches: cold
"""

    def _implementations(self) -> list[str]:
        peers = ["torch", "torch_compile", "triton"] if self.beside_peers else []
        if peers and self.operation != "layer_norm":
            peers.append("cudnn")  # a peer of softmax alone
        own = "one_read_rows" if self.last_axis else "one_read_axis"
        return [own, *peers, "copy", "copy_1", "copy_streamed", "copy_memcpy"]

    def _block(self, dtype: str) -> str:
        names = "rows, columns" if self.last_axis else "outer, dim, inner"
        listed = textwrap.fill(", ".join(map(_shape_text, self.shapes(dtype))), 112, break_on_hyphens=False)
        lines = textwrap.indent(listed.replace("\u00a0", " "), " " * 8)
        along = "" if self.last_axis else "    axis: 1\n"
        return f"""\
  - shape: [{names}]
{along}    dtype: {dtype}
    axes:
      ({names}): [
{lines}]
"""

    def shapes(self, dtype: str) -> list[Shape]:
        """Distinct shapes of one type, in the order in which they are drawn."""
        generator = random.Random(f"{self.name} {dtype} {self.seed}")
        draw = _rows if self.last_axis else _view
        found: dict[Shape, None] = {}
        while len(found) < self.cases:
            whole_packs = len(found) % 2 == 0 and not self.unaligned
            elements = _even(generator, *self.nbytes) / ITEMSIZES[dtype]
            shape = draw(generator, elements, PACK_BYTES // ITEMSIZES[dtype], whole_packs)
            if shape is not None and _is_within(shape, ITEMSIZES[dtype], self.nbytes):
                found[shape] = None
        return list(found)


def _rows(generator: random.Random, elements: float, per_pack: int, whole_packs: bool) -> Shape | None:
    rows = round(_even(generator, *ROWS))
    columns = _with_packs(elements / rows, per_pack, whole_packs)
    return (rows, columns) if COLUMNS[0] <= columns <= COLUMNS[1] else None


def _view(generator: random.Random, elements: float, per_pack: int, whole_packs: bool) -> Shape | None:
    outer, dim = (round(_even(generator, *EXTENT)) for _ in range(2))
    inner = _with_packs(elements / outer / dim, per_pack, whole_packs)
    return (outer, dim, inner) if INNER[0] <= inner <= INNER[1] else None


def _even(generator: random.Random, least: float, most: float) -> float:
    """A number that is even on a logarithmic scale."""
    return exp(generator.uniform(log(least), log(most)))


def _with_packs(extent: float, per_pack: int, whole_packs: bool) -> int:
    """About `extent`: a multiple of `per_pack`, or none."""
    if whole_packs:
        return round(extent / per_pack) * per_pack
    return round(extent) + (round(extent) % per_pack == 0)


def _is_within(shape: Shape, itemsize: int, limits: tuple[int, int]) -> bool:
    return limits[0] <= itemsize * prod(shape) <= limits[1]


def _shape_text(shape: Shape) -> str:
    """With spaces at which no line is broken."""
    return f"[{', '.join(map(str, shape))}]".replace(" ", "\u00a0")


def suites() -> list[Drawn]:
    return [*beside_peers(), *for_models(), *for_the_model_of_layer_norm()]


def beside_peers() -> list[Drawn]:
    """Three draws of each operation, from seeds of their own, and a fourth of softmax."""
    what = "with 1 MB to 2 GB of x; half of the cases have rows of whole packs of 16 bytes."
    rows = f"1 to 10^7 rows of 1 to 10^6 columns, {what}"
    views = f"[outer, dim, inner] with every extent from 1 to 10^5, along dim, {what}"
    operations = (
        ("rows", "softmax", "Softmax of rows", rows),
        ("axis", "log_softmax", "Log-softmax of views", views),
        ("layer_norm", "layer_norm", "Layer norm of rows", rows),
    )
    unseen = "The same draw from another seed, recorded before anybody looked at its shapes."
    third = f"{unseen} It judges kernels and choices that the first two draws had changed."
    draws = (
        ("", "drawn at random", "", (1, 1, 20)),
        ("_unseen", "drawn at random, not looked at", unseen, (13, 15, 21)),
        ("_third", "drawn at random, a third time", third, (25, 26, 24)),
    )
    fourth = f"{unseen} It judges rows in words, whose choices were set by times on the first three draws and others."
    again = "Softmax of rows drawn at random, a fourth time"
    return [
        *(
            Drawn(
                f"draw_{kind}{end}", seed, f"{title} {how}", description or first, operation, DRAWN, beside_peers=True
            )
            for end, how, description, seeds in draws
            for (kind, operation, title, first), seed in zip(operations, seeds, strict=True)
        ),
        Drawn("draw_rows_fourth", 28, again, fourth, "softmax", DRAWN, beside_peers=True),
    ]


def for_models() -> list[Drawn]:
    """Cases of softmax and log-softmax, whose candidates are timed."""
    small = "These have 256 KB to 16 MB of x: their time is that of starting, waiting and a few instructions."
    return [
        Drawn("model_rows", 3, "Softmax of rows, to fit a cost function", MODEL, "softmax", MODEL_DRAWN),
        Drawn("model_axis", 3, "Log-softmax of views, to fit a cost function", MODEL, "log_softmax", MODEL_DRAWN),
        Drawn(
            "model_unaligned",
            4,
            "Log-softmax of views of unaligned rows, to fit a cost function",
            MODEL,
            "log_softmax",
            UNALIGNED_DRAWN,
            unaligned=True,
        ),
        Drawn(
            "model_small_rows",
            8,
            "Softmax of small arrays of rows, to fit a cost function",
            f"{MODEL} {small}",
            "softmax",
            SMALL_DRAWN,
            nbytes=SMALL,
        ),
        Drawn(
            "model_small_axis",
            9,
            "Log-softmax of small views, to fit a cost function",
            f"{MODEL} {small}",
            "log_softmax",
            SMALL_DRAWN,
            nbytes=SMALL,
        ),
        Drawn(
            "model_rows_unaligned",
            27,
            "Softmax of rows that are no whole packs, to judge its cost function",
            UNALIGNED,
            "softmax",
            SMALL_DRAWN,
            unaligned=True,
            nbytes=WIDE,
        ),
    ]


def for_the_model_of_layer_norm() -> list[Drawn]:
    return [
        Drawn(
            "model_layer_norm",
            16,
            "Layer norm of rows, to fit a cost function",
            f"{MODEL} They have 256 KB to 1 GB of x.",
            "layer_norm",
            SMALL_DRAWN,
            nbytes=WIDE,
        ),
        Drawn(
            "model_layer_norm_unseen",
            18,
            "Layer norm of rows, to judge its cost function",
            "The draw of model_layer_norm from another seed, timed before anybody looked at its shapes.",
            "layer_norm",
            UNSEEN_DRAWN,
            nbytes=WIDE,
        ),
        Drawn(
            "model_layer_norm_third",
            19,
            "Layer norm of rows, to judge its cost function once more",
            "A third draw, timed before anybody looked at its shapes, after the second had changed the cost function.",
            "layer_norm",
            UNSEEN_DRAWN,
            nbytes=WIDE,
        ),
        Drawn(
            "model_layer_norm_fourth",
            22,
            "Layer norm of rows, to judge its cost function a third time",
            "A fourth draw, timed before anybody looked at its shapes, after draws beside peers changed the function.",
            "layer_norm",
            UNSEEN_DRAWN,
            nbytes=WIDE,
        ),
        Drawn(
            "model_layer_norm_unaligned",
            23,
            "Layer norm of rows that are no whole packs, to judge its cost function",
            UNALIGNED,
            "layer_norm",
            SMALL_DRAWN,
            unaligned=True,
            nbytes=WIDE,
        ),
    ]


def main() -> int:
    changed = []
    for suite in suites():
        path = FOLDER / f"{suite.name}.yaml"
        if not path.is_file() or path.read_text() != suite.text:
            changed.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(suite.text)
    print("\n".join(changed))
    return int(bool(changed) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
