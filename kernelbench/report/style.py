"""How charts look: colours, markers, axes, and SVG whose bytes are the same each time.

Colours are Okabe and Ito's (jfly.uni-koeln.de/color), told apart by colour-blind readers too; every
line has a marker and its name beside it as well. The page replaces the colours by CSS variables, so
that one picture serves light and dark: each colour below stands for one variable.
"""

from __future__ import annotations

import io
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, MUTED, FAINT, PAPER = "#1f2328", "#656d76", "#a8b1ba", "#d8dee4", "#ffffff"
WIDTH = 8.6  # inches, of every chart
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GOOD, PART, BAD, HEAT = "#17692f", "#855600", "#b3261e", "#6a4fb3"  # never the colour of an implementation
MARKERS = "osD^vPX<>*h8pd"
VARIABLES = {
    INK: "--ink", SOFT: "--soft", MUTED: "--muted", FAINT: "--line", PAPER: "--paper",
    GOOD: "--good", PART: "--warn", BAD: "--bad", HEAT: "--heat",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES)},
}  # fmt: skip
_importing: threading.Thread | None = None
_loading = threading.Lock()
# Comparisons and pages need these, and they take a second to import.
FOR_COMPARISONS = ("pandas", "rich.table", "kernelbench.compare")
FOR_CHARTS = ("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg")
FOR_PAGES = (*FOR_CHARTS, "jinja2", "kernelbench.report.charts", "kernelbench.report.html_page")
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "kernelbench",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # a name with $ in it is a name
    "axes.edgecolor": FAINT,
    "axes.labelcolor": SOFT,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "figure.dpi": 160,  # the layout is made for the size of the drawing
    "text.hinting": "none",  # the width of hinted text depends on its size
    "figure.constrained_layout.w_pad": 0.07,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "hatch.linewidth": 0.8,
    "path.simplify": False,
}


def load_matplotlib() -> None:
    """Import matplotlib without the user's settings: charts are files, and look alike everywhere.

    MPLBACKEND may name a package that is not there, and a broken matplotlibrc, also one that happens to lie in the
    current folder, would end the import.
    """
    with _loading:
        if "matplotlib" in sys.modules:
            return
        os.environ.update(MPLBACKEND="agg", MATPLOTLIBRC=os.devnull)
        exists = os.path.exists
        os.path.exists = lambda path: path != "matplotlibrc" and exists(path)  # it looks in the current folder first
        try:
            import_module("matplotlib")
        finally:
            os.path.exists = exists


def import_ahead(*, pages: bool) -> None:
    """Import what comparisons need in a thread, and what `pages` need, while this process waits for another one."""

    def import_all() -> None:
        with suppress(Exception):  # the module that needs it reports the error
            if pages:
                load_matplotlib()
            for name in (*FOR_COMPARISONS, *(FOR_PAGES if pages else ())):
                import_module(name)

    global _importing  # noqa: PLW0603 - one per process
    _importing = threading.Thread(target=import_all, name="imports", daemon=True)
    _importing.start()


def await_imports() -> None:
    """Return once import_ahead() has ended: a copy made before that would wait for its locks for ever."""
    if _importing is not None:
        _importing.join()


@contextmanager
def house_style() -> Iterator[None]:
    """The house's look, within a `with` block; the caller's matplotlib settings come back after it."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def colours(highlighted: Sequence[str]) -> dict[str, str]:
    """A colour of its own for each highlighted implementation; all others are grey."""
    return dict(zip(highlighted, SERIES, strict=False))


@contextmanager
def new_figure(height: float, width: float = WIDTH) -> Iterator[Figure]:
    """An empty figure of so many inches in the house's look; its layout is fixed at the end of the `with` block."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        fix_layout(figure)


def fix_layout(figure: Figure) -> None:
    """Fix the layout now, so that every format shows the same."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def png(figure: Figure) -> bytes:
    data = io.BytesIO()
    with house_style():
        figure.savefig(data, format="png", dpi="figure", metadata={"Software": None})
    return data.getvalue()


def svg(figure: Figure) -> str:
    """SVG with text as text, without dates."""
    data = io.StringIO()
    with house_style():
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    generic = re.sub(r"'DejaVu Sans'", "'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif", data.getvalue())
    return _numbered_ids(re.sub(r"[ \t]+\n", "\n", generic))


def _numbered_ids(text: str) -> str:
    """Ids by their order: Matplotlib hashes all digits of coordinates, of which the last depends on the processor."""
    hashed = r"\b[A-Za-z]\w*?[0-9a-f]{10}\b"
    found = dict.fromkeys(re.findall(f'(?<= id="){hashed}', text))
    names = {name: f"{name[0]}{number}" for number, name in enumerate(found)}
    return re.sub(f'(?<=["#]){hashed}', lambda match: names.get(match[0], match[0]), text)


def inline_svg(text: str, prefix: str, label: str) -> str:
    """An SVG document of `svg` as an <svg> element for a page: colours as CSS variables, `prefix` before its ids.

    `label` says in words what is shown, for those who do not see it. It is escaped here.
    """
    from html import escape

    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Without backgrounds, which would hide the shade that says that a narrow screen shows part of a chart.
    paper = rf'<g id="patch_\d+">\s*<path d="[^"]*" style="fill: {PAPER}"/>\s*</g>'
    text = re.sub(rf'(<g id="(?:figure|axes)_\d+">)\s*{paper}', r"\1", text)
    referenced = set(re.findall(r"""(?:href="#|url\(#)([^")]+)""", text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in referenced else "", text)
    text = re.sub(r'(href="#|url\(#)([\w-]+)', rf"\g<1>{prefix}-\g<2>", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    text = re.sub(r"font: bold ([\d.]+)px [^;\"]*", r"font-weight: 600; font-size: \1px", text)
    text = re.sub(r"xlink:href", "href", text)
    head = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    assert head, "matplotlib writes a viewBox"
    opening = f'<svg viewBox="0 0 {head[1]} {head[2]}" role="img" aria-label="{escape(label)}">'
    text = re.sub(r"<svg[^>]*>", lambda m: opening, text, count=1)
    return re.sub(r"\n\s*", "\n", text)


def plain_time_axis(axis: Axes) -> None:
    """A logarithmic axis of seconds with labels as `10 µs`."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from kernelbench.core.units import time_text

    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 50 else (1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(time_text(value))))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _short(text: str) -> str:
    """`10.00 µs` as `10 µs`; 1000 µs as 1 ms."""
    value, unit = text.split(" ")
    amount = float(value)
    if unit == "µs" and amount >= 1000:
        amount, unit = amount / 1000, "ms"
    return f"{amount:g} {unit}"
