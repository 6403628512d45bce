"""What --out may name: nothing that is replaced there may be anything but a file. And options that name nothing."""

import os
import socket
import stat
from itertools import product
from pathlib import Path

import pytest

from kernelbench.cli.options import check_folder_option, require_file_place
from kernelbench.core.errors import InputError
from kernelbench.core.writing import write_whole
from tests.conftest import Command, Project
from tests.endings import ended, refused

KINDS = ("pipe", "device", "socket", "link", "dangling link")


def put(kind: str, path: Path) -> None:
    """Something that is no file, made for this test."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # one more node of what /dev/null is
        except PermissionError:
            pytest.skip("only root makes device nodes")
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(os.path.relpath(path))
    else:
        target = path.with_name("target")
        if kind == "link":
            target.write_text("mine")
        path.symlink_to(target)


def lying(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Everything below a folder: kind, rights and identity."""
    found = {str(path): path.lstat() for path in folder.rglob("*")}
    return {name: (one.st_mode, one.st_ino, one.st_size) for name, one in found.items()}


@pytest.fixture
def measured(project: Project, command: Command, monkeypatch: pytest.MonkeyPatch) -> Project:
    assert command("run", project.suite("good, other", columns="[8]"), "--quick", "--no-report")[0] == 0
    (project.root / "here").mkdir()
    monkeypatch.chdir(project.root / "here")
    return project


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "arguments",
    [("report",), ("compare",), ("run", "softmax", "--device", "tpu"), ("tune", "softmax", "--device", "tpu")],
)
def test_out_replaces_nothing_but_files(arguments: tuple[str, ...], kind: str, here: Path, command: Command) -> None:
    put(kind, Path("out"))
    before = lying(here)
    code, out, err = command(*arguments, "--out", "out")
    of_click = kind == "link" and arguments[0] in ("run", "compare")  # which follows it
    assert ("Directory 'out' is a file." if of_click else f"--out out: a {kind.rsplit(maxsplit=1)[-1]}") in err
    assert (code, out) == (2, "")
    assert lying(here) == before, "nothing is written"


def test_what_lies_beside_the_page_is_kept_too(measured: Project, command: Command) -> None:
    for name in ("comparison.csv", "claims.json", "charts"):
        Path(name).unlink(missing_ok=True)
        put("pipe", Path(name))
        there = Path(name).lstat()
        _, err = ended(2, command("report", "--out", "page.html"))
        assert "cannot write" in err
        assert "a pipe lies there" in err or name == "charts"
        assert os.path.samestat(Path(name).lstat(), there)


def test_a_folder_may_be_reached_by_a_link(measured: Project, command: Command) -> None:
    Path("other").mkdir()
    Path("out").symlink_to("other")
    assert command("compare", "--out", "out")[0] == 0
    assert Path("out").is_symlink()
    assert Path("other/comparison.csv").is_file()


def test_a_new_file_and_an_old_one_will_do(tmp_path: Path) -> None:
    require_file_place(tmp_path / "deep" / "er" / "page.html")
    (tmp_path / "page.html").write_text("old")
    require_file_place(tmp_path / "page.html")
    check_folder_option(tmp_path / "new")
    check_folder_option(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("link", "link: a link to .*target; name that file itself, or another one"),
        ("folder", "folder: a folder, which would be replaced; name a file"),
        ("file/page.html", r"file: cannot write here \(Not a directory\); choose another place with --out"),
        ("file/deep/page.html", r"file/deep: cannot write here \(Not a directory\); choose"),
        ("dangling/page.html", r"dangling: cannot write here \(Not a directory\); choose"),
    ],
)
def test_a_place_for_no_file_is_told(name: str, said: str, tmp_path: Path) -> None:
    put("link", tmp_path / "link")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=said):
        require_file_place(tmp_path / name)


def test_what_may_not_be_written_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.html").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as for anybody but root
    with pytest.raises(InputError, match=r"cannot be written \(Permission denied\); name another file"):
        require_file_place(tmp_path / "page.html")
    with pytest.raises(InputError, match=r"cannot write here \(Permission denied\); choose another place with --out"):
        require_file_place(tmp_path / "new.html")


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_no_write_takes_the_place_of_what_is_no_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(kind, Path("x"))
    before = lying(tmp_path)
    with pytest.raises(FileExistsError, match=f"a {kind} lies there"):
        write_whole(Path("x"), "text")
    assert lying(tmp_path) == before


EMPTY = (
    "plan softmax --kernels", "list kernels --kernels", "new softmax/mine --kernels", "compare --out", "report --out",
    "run softmax --device tpu --out", "tune relu --device tpu --out", "build softmax --nvcc", "doctor --nvcc",
    "plan softmax --gpu", "compare --baseline", "report --baseline", "tune relu --device tpu --suite",
    "new softmax/mine --from",
)  # fmt: skip
LISTS = ("plan softmax --only", "run softmax --device tpu --cache", "check softmax --device tpu --inputs")
OUTS = ("report --out", "compare --out", "run softmax --device tpu --out", "tune softmax --device tpu --out")


@pytest.mark.parametrize(
    ("arguments", "value", "said"),
    [
        *((arguments, "", "'': is empty; name something or leave it out") for arguments in EMPTY),
        *(
            (arguments, value, f"'{value}': names nothing; leave the option out for all")
            for arguments, value in product(LISTS, ("", ",", " , "))
        ),
        *((arguments, "-", "-: files are written, not standard output; name one") for arguments in OUTS),
    ],
)
def test_a_value_that_names_nothing_is_refused(
    arguments: str, value: str, said: str, command: Command, here: Path
) -> None:
    Path("softmax").mkdir()
    Path("softmax/ran.py").write_text("open('ran', 'w')")
    option = arguments.rsplit(maxsplit=1)[-1]
    assert refused(command(*arguments.split(), value)) == f"{option} {said}\n"
    assert sorted(path.name for path in Path().iterdir()) == ["softmax"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", ""), "suites '': is empty; name something or leave it out"),
        (("compare", ""), "runs '': is empty; name something or leave it out"),
        (("report", ""), "runs '': is empty; name something or leave it out"),
        (("plan", "softmax", "--filter", ""), "filter '' cannot be read; expected a term such as 'seq=512'"),
    ],
)
def test_an_empty_argument_is_refused(arguments: tuple[str, ...], said: str, command: Command) -> None:
    err = refused(command(*arguments))
    assert err.startswith(said)
