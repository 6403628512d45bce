"""One claim on one run, as pages show it."""

import pytest

from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.report.claim_story import _case


@pytest.mark.parametrize(
    ("measured", "met", "shown"), [(0.9484, False, "0.948"), (0.9516, True, "0.95"), (0.9, False, "0.90")]
)
def test_a_number_that_misses_its_band_is_not_rounded_to_the_end_of_it(measured: float, met: bool, shown: str) -> None:
    case = CaseVerdict("n=64 shape=64", "n=64", measured, "", size=met, required=(0.95, 1.02))
    line = _case(ClaimVerdict("id", "title", "holds in part", "", (case,)), case, {})
    assert (line.measured, line.required) == (shown, "0.95 to 1.02")
