"""How each implementation is drawn: one colour and one marker per name, the same on every chart of a page."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernelbench.compare.comparison import Comparison
from kernelbench.report import copies, peers, style, view
from kernelbench.runs.results import Run


@dataclass(frozen=True)
class Look:
    """Colour and marker of a name. Only highlighted names have a hue: copies are black, all others grey."""

    colour: str
    marker: str
    highlighted: bool
    yardstick: bool

    @property
    def sign(self) -> str:
        """The marker of a single point."""
        return "_" if self.yardstick else self.marker

    @property
    def text_colour(self) -> str:
        """The colour of the name itself, where it stands beside its line."""
        return self.colour if self.highlighted or self.yardstick else style.SOFT


def looks(run: Run, comparison: Comparison) -> Mapping[str, Look]:
    """Colours by implementation. Our own, the baseline, names with published figures and the fastest have a hue."""
    colours = style.colours(list(dict.fromkeys([*peers.own_kernels(run), *view.highlights(run, comparison)])))
    yardsticks = {row.implementation for row in run.rows if row.role == "yardstick"} | {copies.BEST}
    return {
        name: Look(
            style.INK if name in yardsticks else colours.get(name, style.MUTED),
            style.MARKERS[number % len(style.MARKERS)],
            name in colours and name not in yardsticks,
            name in yardsticks,
        )
        for number, name in enumerate(dict.fromkeys([*view.implementation_names(run), copies.BEST]))
    }
