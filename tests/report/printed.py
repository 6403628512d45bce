"""What a terminal shows."""

import io

from rich.console import Console, RenderableType


def printed(*parts: RenderableType, width: int = 100) -> str:
    """Without colours. No line may be longer than the terminal is wide."""
    out = io.StringIO()
    terminal = Console(file=out, width=width, color_system=None)
    for part in parts:
        terminal.print(part)
    assert max(map(len, out.getvalue().splitlines()), default=0) <= width
    return out.getvalue()
