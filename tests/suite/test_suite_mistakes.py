"""Every kind of mistake is told with its line; mistakes.txt lists them."""

from pathlib import Path

import pytest

from kernelbench.core.errors import InputError
from kernelbench.suite import read_suite

TABLE = Path(__file__).with_name("mistakes.txt")


def table():
    """Of each block of mistakes.txt: its title, the lines replaced, those put there, the messages."""
    for block in TABLE.read_text().strip().split("\n\n"):
        title, *lines = block.split("\n")
        old = "\n".join(line[2:] for line in lines if line.startswith("- "))
        new = "\n".join(line[2:] for line in lines if line.startswith("+ "))
        yield pytest.param(old, new, [line for line in lines if line[0].isdigit()], id=title.removeprefix("# "))


def listed(*entries):
    lines = ["title: t", "operation: softmax", "implementations: ft", "cases:", *(f"- {entry}" for entry in entries)]
    return "\n".join(lines)


@pytest.mark.parametrize(("old", "new", "expected"), list(table()))
def test_mistake_is_told_with_its_line(problems, changed, old, new, expected):
    assert expected
    assert problems(changed(old, new)) == expected


@pytest.mark.parametrize("extent", ["(" * 99 + "seq" + ")" * 98, "(" * 98 + "seq" + ")" * 98, "-" * 196 + "seq"])
def test_the_deepest_expressions_are_no_trouble(read, problems, changed, extent):
    text = changed("[32, 64,", f"['{extent}', 64,")
    if extent.count("(") == extent.count(")"):
        assert read(text).cases[0].shape == (16, 64, 16, 16)
    else:
        assert problems(text)[0].startswith("3: '((((")


def test_the_limit_is_met_exactly(read, problems):
    assert problems(listed("{shape: [1000000, 1000000]}")) == [
        "5: shape 1000000x1000000 of float32 makes an array of 4.00 TB; the limit is 137 GB"
    ]
    assert read(listed(f"{{shape: [{2**35}]}}")).cases[0].shape == (2**35,)
    assert problems(listed(f"{{shape: [{2**35 + 1}]}}"))[0].endswith("makes an array of 137 GB; the limit is 137 GB")


@pytest.mark.parametrize(
    "second", ["{shape: [2, 3]}", "{shape: [2, n], axes: {n: 3}}", "{shape: [2, 3], axis: 1, parameters: {scale: 1}}"]
)
def test_the_same_case_twice(problems, second):
    found = problems(listed("{shape: [2, 3]}", second))
    assert len(found) == 1
    assert found[0].startswith("6: case '")
    assert found[0].endswith("' occurs twice, first in line 5")


def test_too_many_cases(problems):
    values = ", ".join(map(str, range(1, 102)))
    text = f"{{shape: [a, b], axes: {{a: [{values}], b: [{values}]}}}}"
    assert problems(listed(text)) == ["5: the suite has 10201 cases; the limit is 10000"]


def test_a_shape_wrong_everywhere_is_not_told_a_hundred_times(problems):
    found = problems(listed(f"{{shape: [n - 1000, n], axes: {{n: {list(range(1, 501))}}}}}"))
    assert [text.partition(",")[0] for text in found[:3]] == ["5: an extent must be at least 1"] * 3
    assert found[3:] == ["5: 497 more cases of this shape are wrong"], "behind those that it continues"


def test_all_mistakes_at_once_in_the_order_of_lines(problems):
    found = problems(
        """\
        titel: A title
        operation: softmax
        shape: [32, sqe, 0]
        axes:
          seq: [16, -1]
        dtype: [float32, half]
        parameters: {scale: wide}
        implementations:
          - ft
          - onflow
        baseline: naive
        claims: softmax
        axis: &a x
        caches: !!python/name:os.system cold
        """
    )
    assert [int(line.split(":")[0]) for line in found] == [1, 1, 3, 5, 5, 6, 7, 10, 11, 12, 13, 13, 14]


def test_missing_file_names_the_nearest(read, changed, catalog):
    read(changed("A title", "t"))
    with pytest.raises(InputError, match=r"^suites/tset.yaml: no such file; did you mean 'test'\?$"):
        read_suite(Path("suites/tset.yaml"), catalog.operations, catalog.implementations)


def test_a_folder_is_no_suite(tmp_path, catalog):
    with pytest.raises(InputError, match="no such file; there are none in"):
        read_suite(tmp_path / "a", catalog.operations, catalog.implementations)
