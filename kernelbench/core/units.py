"""Numbers as text for people. All other modules use seconds and bytes; only this one chooses units."""

from collections.abc import Callable, Iterable

_TIMES = ((10e-3, 1e6, "µs"), (10.0, 1e3, "ms"), (float("inf"), 1.0, "s"))  # below this: factor and unit


def time_text(seconds: float | None) -> str:
    """Four significant digits in µs up to 10 ms, then ms, then s: `26.43 µs`; '' for None."""
    return time_column([seconds])(seconds)


def time_column(times: Iterable[float | None]) -> Callable[[float | None], str]:
    """How a column of times is written: all in the unit of the shortest."""
    least = min((seconds for seconds in times if seconds is not None), default=0.0)
    found = next(((factor, unit) for limit, factor, unit in _TIMES if least < limit), None)
    if found is None:
        raise ValueError(f"not a time: {least}")
    factor, unit = found
    return lambda seconds: "" if seconds is None else f"{digits(seconds * factor)} {unit}"


def digits(value: float, significant: int = 4) -> str:
    """`value` with at least `significant` digits, without an exponent: 26.43, 1234, 0.9712."""
    if value == 0:
        return "0"
    from math import floor, log10

    decimals = max(0, significant - 1 - floor(log10(abs(value))))
    return f"{value:.{decimals}f}"


def bytes_text(size: float | None) -> str:
    """`4.19 MB`, decimal units as bandwidths use them."""
    if size is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{digits(size, 3)} {unit}"
        size /= 1000
    return f"{digits(size, 3)} TB"


def count_text(count: float | None) -> str:
    """`24.9 M`; whole below ten thousand."""
    if count is None:
        return ""
    if abs(count) < 10_000:
        return f"{count:.0f}"
    for unit in ("k", "M"):
        count /= 1000
        if abs(count) < 999.5:
            return f"{digits(count, 3)} {unit}"
    return f"{digits(count / 1000, 3)} G"


def rate_text(bytes_per_s: float | None) -> str:
    """`3.26 TB/s`."""
    return "" if bytes_per_s is None else f"{bytes_text(bytes_per_s)}/s"


def energy_text(joules: float | None) -> str:
    """`12.3 mJ`."""
    return "" if joules is None else f"{digits(1e3 * joules, 3)} mJ"


def share_text(share: float | None) -> str:
    """`97 %`."""
    return "" if share is None else f"{100 * share:.0f} %"


def number_of(count: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def clock_text(seconds: float) -> str:
    """`1:10`, `2:03:04`: for the time that is left."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def duration_text(seconds: float) -> str:
    """`4 s`, `1 min 20 s`: for progress and totals."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
