"""Numbers as people read them."""

import pytest

from kernelbench.core.units import bytes_text, digits, duration_text, rate_text, share_text, time_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(26.43e-6, "26.43 µs"), (1.5e-6, "1.500 µs"), (0.6123e-6, "0.6123 µs"), (1023.2e-6, "1023 µs"),
     (9.9994e-3, "9999 µs"), (10e-3, "10.00 ms"), (0.5, "500.0 ms"), (9.99, "9990 ms"), (12.0, "12.00 s"),
     (0.0, "0 µs"), (None, "")],
)  # fmt: skip
def test_times(seconds: float | None, text: str) -> None:
    assert time_text(seconds) == text


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="not a time: nan"):
        time_text(float("nan"))


@pytest.mark.parametrize(
    ("value", "significant", "text"),
    [(26.434, 4, "26.43"), (1234.4, 4, "1234"), (123456.0, 4, "123456"), (0.97119, 4, "0.9712"), (0.0, 4, "0"),
     (-3.14159, 3, "-3.14"), (0.000012345, 3, "0.0000123"), (1e-20, 1, "0." + 19 * "0" + "1")],
)  # fmt: skip
def test_digits_without_an_exponent(value: float, significant: int, text: str) -> None:
    assert digits(value, significant) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (17, "17.0 B"), (4194304, "4.19 MB"), (1e9, "1.00 GB"), (4.8e12, "4.80 TB"), (5e15, "5000 TB"),
     (None, "")],
)  # fmt: skip
def test_sizes_in_decimal_units(size: float | None, text: str) -> None:
    assert bytes_text(size) == text


def test_rates_shares_and_durations() -> None:
    assert rate_text(3.26e12) == "3.26 TB/s"
    assert rate_text(None) == ""
    assert share_text(0.968) == "97 %"
    assert share_text(None) == ""
    durations = {0.2: "0 s", 4.4: "4 s", 59.6: "1 min 0 s", 80: "1 min 20 s", 3600: "60 min 0 s"}
    assert {seconds: duration_text(seconds) for seconds in durations} == durations
