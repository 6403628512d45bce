"""Tables that fit any terminal: columns that can be spared go first, then names break, and no word is ever cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

Options = Mapping[str, Any]  # justify; no_wrap; max_width; spare: columns with the largest number are dropped first
Column = tuple[str, Options]
Cell = tuple[str, str]  # a text and its style

BETWEEN = 2  # characters between two columns
_EDGES = 2  # beside the outer columns
_INDENT = "    "
_PIECE = re.compile(r"[^_/,.=:;()-]*[_/,.=:;()-]?")  # where a name may be broken
_WORD = re.compile(r"[\d.±]+[°!]? (?:µs|ms|s|%)[°!]*(?!\S)|\S+")  # a unit stays beside its number
_NUMBER = re.compile(r"[^A-Za-z]*[A-Za-zµ%]?")


@dataclass
class Table:
    """Rows under headers without vertical lines; a renderable of rich."""

    title: str
    columns: Sequence[Column]
    rows: list[Sequence[Cell] | None] = field(default_factory=list)  # None: an empty line
    notes: Mapping[str, str] = field(default_factory=dict)  # by header: told below the table if its column is shown

    def add(self, *cells: str | Cell) -> None:
        """Add a row; cells that are left out at its end are empty."""
        row = [(cell, "") if isinstance(cell, str) else cell for cell in cells]
        self.rows.append(row + [("", "")] * (len(self.columns) - len(row)))

    def add_section(self) -> None:
        if self.rows:
            self.rows.append(None)

    def least(self) -> int:
        """Characters that the table needs when nothing is broken or dropped but sentences."""
        return _total([least for _, least in self._needs(range(len(self.columns)), _words)])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[RenderableType]:
        from rich.text import Text

        if self.title:
            yield Text(self.title, "bold")
        fitted = self._fitted(options.max_width)
        yield self._records(options.max_width) if fitted is None else self._drawn(*fitted)
        headers = [header for header, _ in self.columns]
        shown = headers if fitted is None else [headers[place] for place in fitted[0]]
        for note in [note for header, note in self.notes.items() if header in shown]:
            yield Text(note, "dim")
        if lost := ", ".join(header.replace("\n", " ") for header in headers if header not in shown):
            at = f"at {options.max_width} characters per line"
            yield Text(f"Not shown {at}: {lost}; a wider terminal shows them.", "dim")

    def _fitted(self, width: int) -> tuple[list[int], list[int]] | None:
        """The columns that are shown, and their widths; None if not even the needed ones fit."""
        places = list(range(len(self.columns)))
        spare = sorted(places, key=lambda place: -self.columns[place][1].get("spare", 0))
        for place in [None, *(place for place in spare if "spare" in self.columns[place][1])]:
            places = [one for one in places if one != place]
            if widths := _shared(self._needs(places, _words), width):
                return places, widths
        widths = _shared(self._needs(places, _pieces), width)
        return (places, widths) if widths else None

    def _needs(self, places: Iterable[int], parts: Callable[[str], list[str]]) -> list[tuple[int, int]]:
        """The widest line of each column, and its widest part that must stay whole."""
        found = []
        for place in places:
            header, options = self.columns[place]
            texts = [header, *(row[place][0] for row in self.rows if row)]
            lines = [line for text in texts for line in text.split("\n")]
            most = max(map(len, lines), default=0)
            words = [part for line in lines for part in parts(line)]
            limit = options.get("max_width", most)
            whole = max(
                (len(part) if len(part) <= limit else max(map(len, _pieces(part))) for part in words), default=0
            )
            least = most if options.get("no_wrap") else whole
            found.append((max(least, min(most, limit)), least))
        return found

    def _drawn(self, places: Sequence[int], widths: Sequence[int]) -> RenderableType:
        from rich import box
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for place, width in zip(places, widths, strict=True):
            header, options = self.columns[place]
            wrapped = Text("\n".join(wrapped_lines(header, width)))
            drawn.add_column(wrapped, width=width, justify=options.get("justify", "left"))
        for row in self.rows:
            if row is None:
                drawn.add_section()
                continue
            cells = [
                Text("\n".join(wrapped_lines(row[place][0], width)), row[place][1])
                for place, width in zip(places, widths, strict=True)
            ]
            drawn.add_row(*cells)
        return drawn

    def _records(self, width: int) -> RenderableType:
        """A paragraph per row, for windows that are narrower than the columns."""
        from rich.text import Text

        lines = Text()
        for row in filter(None, self.rows):
            for place, (text, style) in enumerate(row):
                header = self.columns[place][0].replace("\n", " ")
                said = text.strip() if place == 0 or not header else f"{header}: {' '.join(text.split())}"
                if text.strip():
                    for number, line in enumerate(wrapped_lines(said, width - 2 * len(_INDENT))):
                        lines.append(_INDENT * ((place > 0) + (number > 0)) + line + "\n", style)
        return lines


@dataclass(frozen=True)
class ForWidth:
    """What is shown depends on the width: `make` gets the characters per line."""

    make: Callable[[int], Iterable[RenderableType]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[RenderableType]:
        yield from self.make(options.max_width)


def wrapped_lines(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters: broken at spaces, within a longer word behind its punctuation."""
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) <= width:
            lines.append(line)
            continue
        indent = " " * min(len(line) - len(line.lstrip()), width // 2)
        lines.append(indent)
        for word in _WORD.findall(line):
            gap = " "
            for piece in [word] if len(indent + word) <= width else _pieces(word):
                gap = gap if lines[-1].strip() else ""
                if lines[-1].strip() and len(lines[-1] + gap + piece) > width:
                    lines.append(indent)
                    gap = ""
                lines[-1] += gap + piece
                while len(lines[-1]) > width:
                    lines[-1], rest = lines[-1][:width], lines[-1][width:]
                    lines.append(indent + rest)
                gap = ""
    return [line.rstrip() for line in lines]


def _words(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    return [indent + word for word in _WORD.findall(line)]


def _pieces(line: str) -> list[str]:
    """Parts of names, each with the punctuation behind it; numbers such as 2.74x stay whole."""
    return [
        piece
        for word in _words(line)
        for piece in ([word] if _NUMBER.fullmatch(word) else _PIECE.findall(word))
        if piece
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + BETWEEN * (len(widths) - 1) + _EDGES


def _shared(needs: Sequence[tuple[int, int]], width: int) -> list[int] | None:
    """Widths that fit: the widest columns give way, down to the least of each; None if that is not enough."""
    if _total([least for _, least in needs]) > width:
        return None
    cap = width
    while _total(widths := [max(least, min(most, cap)) for most, least in needs]) > width:
        cap -= 1
    return widths
