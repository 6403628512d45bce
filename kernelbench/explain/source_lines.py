"""Source lines with their counters: each counted line of a .cu or header, with the costliest marked."""

from collections.abc import Callable, Mapping
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.counters import Counters, total_counters
from kernelbench.explain.counted import Counted
from kernelbench.explain.findings import Line, SourceListing

TOP = 3  # lines marked per kind of work

# The kinds of work by which lines are marked.
_WORK: tuple[Callable[[Counters], int], ...] = (
    lambda counters: counters.warp_instructions,
    lambda counters: counters.global_sectors,
    lambda counters: counters.shared_wavefronts,
    lambda counters: counters.local_sectors,
)


def source_listings(one: Counted) -> tuple[SourceListing, ...]:
    """One listing per source file of an implementation, the .cu first; none without line counters. Each header of the
    compiler is one line, with its total."""
    lines = _by_line(one)
    marked = _marked(lines)
    files: dict[str, dict[int, Counters]] = {}
    for (name, number), counters in sorted(lines.items()):
        files.setdefault(name, {})[number] = counters
    found = []
    for name, own in sorted(files.items(), key=lambda item: (not item[0].endswith(".cu"), item[0])):
        path = _here(Path(name))
        if "include" in path.parts:
            shown = [Line(0, f"all of {path.name}", total_counters(own.values()))]
        else:
            text = _source_lines(path)
            shown = [Line(number, text.get(number, ""), own[number], (name, number) in marked) for number in own]
        found.append(SourceListing(one.implementation, path, tuple(shown)))
    return tuple(found)


def _here(path: Path) -> Path:
    """The file in this project, if the PTX was compiled in another copy of it."""
    if "kernels" in path.parts and not path.exists():
        below = path.parts[path.parts.index("kernels") + 1 :]
        return places.KERNELS.joinpath(*below)
    return path


def _by_line(one: Counted) -> dict[tuple[str, int], Counters]:
    """Counters of each line, over all launches."""
    places = {place for launch in one.launches for place in launch.lines}
    return {
        place: total_counters(launch.lines[place] for launch in one.launches if place in launch.lines)
        for place in places
    }


def _marked(lines: Mapping[tuple[str, int], Counters]) -> set[tuple[str, int]]:
    """The lines with the most of each kind of work."""
    marked: set[tuple[str, int]] = set()
    for work in _WORK:
        costly = sorted((place for place in lines if work(lines[place])), key=lambda place: -work(lines[place]))
        marked.update(costly[:TOP])
    return marked


def _source_lines(path: Path) -> dict[int, str]:
    """The lines of the file by number; {} if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(enumerate(text.splitlines(), start=1))
