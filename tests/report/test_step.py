"""How a step that was added up is shown."""

import pytest

from kernelbench.compare.step_sums import Amount, PartAmount, StepSum
from kernelbench.core.parts import Part
from kernelbench.report import step


def amount(seconds: float) -> Amount:
    return Amount(seconds, 0.99 * seconds, 1.01 * seconds)


def summed(missing: bool = False, unit: str = "s") -> StepSum:
    """10 calls of `a` on both sides, 3 of `b` on the fused side alone."""
    a = Part("a", "softmax", "part=a shape=4x8 axis=-1 dtype=float16", 10, "slow", "quick")
    b = Part("b", "relu", "part=b shape=16 axis=-1 dtype=float16", 3, "", "packed")
    of_b = PartAmount(b, {"fused": None}, {"fused": "packed: failed (no memory)"})
    return StepSum(
        [
            PartAmount(a, {"unfused": amount(20e-6), "fused": amount(5e-6)}, {}),
            of_b if missing else PartAmount(b, {"fused": amount(10e-6)}, {}),
        ],
        "the rest",
        unit,
    )


def test_a_line_has_operation_case_calls_both_times_and_both_sums():
    assert step.part_rows(summed()) == [
        ("a", "softmax 4x8 float16", "10", "slow", "20.00 µs", "quick", "5.000 µs", "200.0 µs", "50.00 µs"),
        ("b", "relu 16 float16", "3", "", "", "packed", "10.00 µs", "", "30.00 µs"),
    ]
    assert step.totals(summed()) == ("a step", "", "13", "", "", "", "", "200.0 µs", "80.00 µs")


def test_what_the_sums_say_and_leave_out():
    said = "Unfused, a step takes 2.50 times as long as fused, 95 % interval 2.45 to 2.55."
    assert step.remarks(summed()) == [said, "Left out: the rest"]


def test_a_missing_part_is_told_and_its_side_has_no_sum():
    broken = summed(missing=True)
    assert step.part_rows(broken)[1][5:] == ("packed", "-", "", "-")
    assert step.totals(broken)[-2:] == ("200.0 µs", "no sum")
    assert step.remarks(broken) == [
        "No sum of the fused step, because parts are missing: b: packed: failed (no memory).",
        "Left out: the rest",
    ]


@pytest.mark.parametrize("missing", [False, True])
def test_the_chart_has_a_bar_for_each_whole_sum_alone(missing):
    (axis,) = step.figure(summed(missing)).axes
    ends = {round(patch.get_y() + 0.3): patch.get_x() + patch.get_width() for patch in axis.patches}
    assert ends == pytest.approx({0: 200e-6} if missing else {0: 200e-6, 1: 80e-6})
    texts = [text.get_text() for text in axis.texts]
    assert texts == ["200.0 µs", "no sum" if missing else "80.00 µs"]


def test_of_the_simulator_bytes_are_shown():
    counted = summed(unit="B")
    assert step.title(counted).startswith("Bytes per step")
    assert step.remarks(counted)[0] == "Unfused, a step moves 2.50 times as many bytes as fused."


def test_the_table_of_the_terminal_fits_its_width(capsys):
    from kernelbench.cli.terminal import console

    console().print(step.table(summed()))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    assert "Left out: the rest" in out
