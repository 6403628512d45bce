"""Numbers as text for people. All other modules use seconds and bytes; only this one chooses units."""

from __future__ import annotations


def time_text(seconds: float | None) -> str:
    """Four significant digits in us up to 10 ms, then ms, then s: `26.43 us`; '' for None."""
    if seconds is None:
        return ""
    for limit, factor, unit in ((10e-3, 1e6, "us"), (10.0, 1e3, "ms"), (float("inf"), 1.0, "s")):
        if seconds < limit:
            return f"{digits(seconds * factor)} {unit}"
    raise ValueError(f"not a time: {seconds}")


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
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(size) < 1000 or unit == "TB":
            return f"{digits(size, 3)} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


def count_text(count: float | None) -> str:
    """`24.9 M`; whole below ten thousand."""
    if count is None:
        return ""
    if abs(count) < 10_000:
        return f"{count:.0f}"
    for unit in ("k", "M", "G"):
        count /= 1000
        if abs(count) < 999.5 or unit == "G":
            return f"{digits(count, 3)} {unit}"
    raise AssertionError("unreachable")


def rate_text(bytes_per_s: float | None) -> str:
    """`3.26 TB/s`."""
    return "" if bytes_per_s is None else f"{bytes_text(bytes_per_s)}/s"


def share_text(share: float | None) -> str:
    """`97 %`."""
    return "" if share is None else f"{100 * share:.0f} %"


def duration_text(seconds: float) -> str:
    """`4 s`, `1 min 20 s`: for progress and totals."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
