"""What a file could do to its reader: tags, bombs, depth, size, bytes that are no text."""

import pytest

from kernelbench.core.errors import InputError
from kernelbench.suite import read_suite

EMPTY = "the file is empty; expected at least title, operation, shape and implementations"
UNSAFE = {
    "python tag": (
        "title: !!python/object/apply:os.system [ls]\n",
        "1: tag 'tag:yaml.org,2002:python/object/apply:os.system' is refused; a suite holds plain values",
    ),
    "own tag": ("title: !secret x\n", "1: tag '!secret' is refused; a suite holds plain values"),
    "plain tag": ("\ntitle: ! x\n", "2: tag '!' is refused; a suite holds plain values"),
    "anchor": ("title: &a x\n", "1: anchor '&a' is refused; write values out where they are used"),
    "alias": ("title: &a x\nbaseline: *a\n", "2: alias '*a' is refused; write the value out"),
    "merge key": ("base: {}\n<<: {}\n", "2: unknown key '<<'; expected one of title"),
    "deep list": ("title: " + "[" * 30, "1: nested more than 20 deep"),
    "deep mapping": ("".join(" " * i + "a:\n" for i in range(30)), "20: nested more than 20 deep"),
    "too large": ("#" * 65537, "the file is larger than 64 KB, the limit of a suite"),
    "empty": ("", EMPTY),
    "comments only": ("# nothing\n\n", EMPTY),
    "a list": ("\n- a\n", "2: expected keys such as 'title' and 'operation', got a list"),
    "a word": ("softmax", "1: expected keys such as 'title' and 'operation', got 'softmax'"),
    "a tagged root": ("!x {}", "1: tag '!x' is refused; a suite holds plain values"),
    "two documents": ("title: a\n---\ntitle: b\n", "2: a second document starts; a suite is one document"),
    "not UTF-8": (b"title: a\ndescription: \xff\n", "2: byte 0xff is not UTF-8; save the file as UTF-8"),
    "NUL": (b"title: a\naxis: \x00\n", "2: character '\\x00' cannot stand in a suite"),
    "escape sequence": ('title: "\\e[31m"\n', "1: text holds the control character '\\x1b'"),
    "lone surrogate": ('title: "\\ud800"\n', "1: text holds the control character '\\ud800'"),
    "no character": ('title: "\\UFFFFFFFF"\n', "not valid YAML: "),
    "huge version": (f"%YAML 1.{'9' * 5000}\n---\ntitle: a\n", "not valid YAML: "),
    "long text": (f"\ntitle: {'x' * 2001}\n", "2: text of 2001 characters; the limit is 2000"),
    "long number": (f"axis: {'9' * 1500}\n", "1: number of 1500 characters; the limit is 40"),
    "unclosed": ("title: [a\noperation: softmax\n", "2: not valid YAML: while parsing a flow sequence"),
    "tab": ("title: a\n\tb: c\n", "2: not valid YAML: while scanning for the next token, found character '\\t' that"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), UNSAFE.values(), ids=UNSAFE.keys())
def test_refused(problems, text, expected):
    assert any(line.startswith(expected) for line in problems(text)), problems(text)


def test_refused_values_are_told_once(problems, changed):
    text = changed("baseline: ft", "dtype: !y 3")
    for old, new in (("shape: ", "shape: !x "), ("axes:", "axes: !z")):
        assert problems(text.replace(old, new)) == [
            f"{3 if old == 'shape: ' else 4}: tag {new.split()[1]!r} is refused; a suite holds plain values",
            "7: tag '!y' is refused; a suite holds plain values",
        ]


def test_a_bomb_ends_after_a_hundred_mistakes(problems):
    layers = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 30)]
    found = problems("\n".join(["l0: &l0 [x, x]", *layers]))
    assert "1: anchor '&l0' is refused; write values out where they are used" in found
    assert "2: alias '*l0' is refused; write the value out" in found
    assert len(found) <= 101


def test_thousands_of_unknown_keys_end_after_a_hundred(problems):
    found = problems("\n".join(f"key{i}: 1" for i in range(5_000)))
    assert found[0] == "reading stopped after 100 mistakes"
    assert len(found) == 101


def test_messages_never_carry_what_a_terminal_obeys(problems):
    found = problems('title: t\n"ax\\u202Eis": 1\n\'' + "y" * 900 + "': 1\n")
    assert "2: text holds the control character '\\u202e'" in found
    assert all(len(line) < 300 for line in found)


@pytest.mark.parametrize("name", ["-x", "a;b", "$(touch x)", "a\nb", ".hidden", "x" * 101, "a\x1b[31m"])
def test_a_files_name_that_would_be_a_strange_folder_is_refused(name, catalog, tmp_path):
    path = tmp_path / f"{name}.yaml"
    path.write_text("title: t\n")
    with pytest.raises(InputError, match="the name of a suite's file may have"):
        read_suite(path, catalog.operations, catalog.implementations, ())
