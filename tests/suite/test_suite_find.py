"""What people type for a suite."""

from pathlib import Path

import pytest

from kernelbench.core.errors import InputError
from kernelbench.suite import find_suite


@pytest.fixture
def suites(tmp_path, monkeypatch):
    """A project's folder of suites, with the current folder elsewhere."""
    folder = tmp_path / "project" / "suites"
    folder.mkdir(parents=True)
    for name in ("softmax.yaml", "softmax_half.yaml", "other.yml", "notes.txt"):
        (folder / name).write_text("")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return folder


@pytest.mark.parametrize("typed", ["softmax", "softmax.yaml", "suites/softmax.yaml", "suites/softmax"])
def test_short_names_and_paths(suites, typed, monkeypatch):
    assert find_suite(typed, suites) == suites / "softmax.yaml"
    monkeypatch.chdir(suites.parent)
    assert find_suite(typed, suites).resolve() == suites / "softmax.yaml"
    assert find_suite(str(suites / "softmax.yaml"), suites) == suites / "softmax.yaml"
    assert find_suite("other", suites) == suites / "other.yml"


def test_a_file_here_goes_before_the_project_by_path_and_after_it_by_name(suites):
    for name in ("softmax.yaml", "mine.yaml"):
        Path(name).write_text("")
    assert find_suite("softmax.yaml", suites) == Path("softmax.yaml")
    assert find_suite("./softmax.yaml", suites) == Path("softmax.yaml")
    assert find_suite("softmax", suites) == suites / "softmax.yaml"
    assert find_suite("mine", suites) == Path("mine.yaml")


def test_a_folder_of_that_name_is_no_suite(suites):
    Path("softmax").mkdir()
    Path("softmax.yaml").mkdir()
    assert find_suite("softmax.yaml", suites) == suites / "softmax.yaml"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("sofmtax", "no suite 'sofmtax'; did you mean 'softmax'?"),
        ("suites/sofmax_haf.yaml", "no suite 'suites/sofmax_haf.yaml'; did you mean 'softmax_half'?"),
        ("zzz", "no suite 'zzz'; expected one of other, softmax, softmax_half"),
        ("", "no suite ''; expected one of other, softmax, softmax_half"),
        ("a\0b", "no suite 'a\\x00b'; expected one of other, softmax, softmax_half"),
        ("x" * 5000, "no suite 'xxx"),
    ],
)
def test_unknown_names_the_nearest(suites, typed, message):
    with pytest.raises(InputError) as caught:
        find_suite(typed, suites)
    assert str(caught.value).startswith(message)


def test_no_suites_at_all(tmp_path):
    with pytest.raises(InputError, match=r"^no suite 'softmax'; there are none in "):
        find_suite("softmax", tmp_path / "nothing")
