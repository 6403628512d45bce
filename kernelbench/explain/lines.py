"""Source lines with what they cost: each line of a .cu or header that has counters, the costliest marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from kernelbench.counted import Counted
from kernelbench.counters import Counters, total
from kernelbench.explanations import Line, Listing

TOP = 3  # lines marked for each kind of work

# What a line can be costly in.
_WORK: tuple[Callable[[Counters], int], ...] = (
    lambda counters: counters.warp_instructions,
    lambda counters: counters.global_sectors,
    lambda counters: counters.shared_wavefronts,
    lambda counters: counters.local_load_sectors + counters.local_store_sectors,
)


def listings(one: Counted) -> tuple[Listing, ...]:
    """A listing for each source file of an implementation, in the order of its names; none without line counters."""
    lines = _by_line(one)
    marked = _marked(lines)
    found = []
    for name in sorted({file for file, _ in lines}):
        path = Path(name)
        text = _source_lines(path)
        own = {number: counters for (file, number), counters in lines.items() if file == name}
        found.append(
            Listing(
                one.implementation,
                path,
                tuple(
                    _line(number, text.get(number, ""), own[number], (name, number) in marked) for number in sorted(own)
                ),
            )
        )
    return tuple(found)


def _by_line(one: Counted) -> dict[tuple[str, int], Counters]:
    """Counters of each line, of all launches together."""
    places = {place for launch in one.launches for place in launch.lines}
    return {place: total(launch.lines[place] for launch in one.launches if place in launch.lines) for place in places}


def _marked(lines: Mapping[tuple[str, int], Counters]) -> set[tuple[str, int]]:
    """The few lines that do most of each kind of work."""
    marked: set[tuple[str, int]] = set()
    for work in _WORK:
        costly = sorted((place for place in lines if work(lines[place])), key=lambda place: -work(lines[place]))
        marked.update(costly[:TOP])
    return marked


def _source_lines(path: Path) -> dict[int, str]:
    """The file's lines by number; {} where it cannot be read, as for headers that came with the compiler."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(enumerate(text.splitlines(), start=1))


def _line(number: int, text: str, counters: Counters, top: bool) -> Line:
    return Line(number, text.rstrip(), counters, top)
