"""HTML pages from the templates of this folder: self-contained and offline.

What they show may come from anywhere, so all text is escaped; only style, scripts and drawings of our own are not.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernelbench.core.errors import ResultsError
from kernelbench.core.writing import write_whole
from kernelbench.report import style

_HERE = Path(__file__).parent
_NONE: Mapping[str, Any] = {}


def page_asset(name: str) -> Any:
    """A file of this folder, which a template takes as it is."""
    from markupsafe import Markup

    return Markup((_HERE / name).read_text(encoding="utf-8"))


def inline_chart(svg: str, prefix: str, label: str) -> Any:
    """A chart inside a page; see `style.inline_svg`. Text in it comes from matplotlib, which escapes it."""
    from markupsafe import Markup

    return Markup(style.inline_svg(svg, prefix, label))


def render_template(
    template: str, values: Mapping[str, Any], filters: Mapping[str, Callable[[Any], Any]] = _NONE
) -> str:
    """A page as text. Every template has its `css` and the filter `drawing` for a Chart."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters.update(
        filters, drawing=lambda chart: inline_chart(chart.svg, chart.name, f"{chart.title}. {chart.caption}")
    )
    return templates.get_template(template).render(values, css=page_asset("page.css"))


def write_page(out: Path, text: str, beside: Mapping[str, str] = _NONE) -> Path:
    """Write a page, and texts by the names of files beside it; ResultsError where that is not possible."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, text)
        for name, other in beside.items():
            write_whole(out.parent / name, other)
    except OSError as error:
        raise ResultsError(
            f"{out}: cannot write the report ({error.strerror}); choose another place with --out"
        ) from error
    return out
