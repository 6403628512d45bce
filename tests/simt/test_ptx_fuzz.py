"""Whatever the text, the answer is a module or a PtxError with a line, and it comes soon.

KERNELBENCH_FUZZ_EXAMPLES=50000 tries that many texts in each test instead of the few hundred of every run.
"""

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kernelbench.core.errors import PtxError
from kernelbench.simt.cfg import control_flow
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.parse import parse

EXAMPLES = int(os.environ.get("KERNELBENCH_FUZZ_EXAMPLES", "300"))
SECONDS = 5.0  # for one text; an ordinary one takes 5 ms
LINE = re.compile(r"line \d+: |kernel ")
FIXTURES = [path.read_text() for path in sorted(Path(__file__).with_name("ptx").glob("*.ptx"))]
# The code without the sections for debuggers, so that most changes hit something that is read.
CODE = [text[: text.find(".section")] for text in FIXTURES]
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
FRAGMENTS = (
    "{", "}", "(", ")", "[", "]", "<", ">", ";", ":", ",", "|", "!", "@", "-", "+", "=", "_", ".", "\0", "\n", " ", '"',
    "/*", "*/", "//", "0x", "0f3F800000", "99999999999999999999", "-1", "%r1", "%p1", "%tid.x", "$L__BB0_2", "param0",
    ".reg .b32 %r<5>;", ".shared .b32 s[4];", ".param .b64 p;", ".entry", ".func", ".global .u64 g = ", "generic(",
    "bra", "call", "ret;", "brx.idx %r1, T;", "T: .branchtargets A, B;", ".loc 1 2 3", ".file 1", ".section .x {",
    ".align 4096", ".v4", ".b8", ".pred", "[99999999]", ".extern", ".alias", "trap;", "exit;", "A:",
    "\u0665", "\U0001f4a5",
)  # fmt: skip
quick = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def read(text: str) -> None:
    start = time.process_time()
    refusal = _follow(text)
    assert refusal is None or LINE.match(refusal), refusal
    assert time.process_time() - start < SECONDS


def _follow(text: str) -> str | None:
    """The way of a text to control flow, for all its kernels; what refused the last one that was refused."""
    refusal = None
    try:
        module = parse(text)
    except PtxError as error:
        return str(error)
    for name, function in module.functions.items():
        if not (function.entry and function.defined):
            continue
        try:
            flat = inline_calls(module, name)
            found = control_flow(flat)
        except PtxError as error:
            refusal = str(error)
            continue
        count = len(flat.instructions)
        assert all(0 <= index <= count for index in flat.labels.values())
        assert all(meet is None or 0 <= meet < count for meet in found.reconverge.values())
        assert [block.start for block in found.blocks[1:]] == [block.end for block in found.blocks[:-1]]
        assert found.undefined <= set(flat.registers)
    return refusal


@st.composite
def changed(draw: st.DrawFn) -> str:
    """A text of nvcc with up to six changes: cut, copied, moved, overwritten, or a fragment put in."""
    text = draw(st.sampled_from(CODE))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 40)))
        change = draw(st.integers(0, 4))
        if change == 0:
            text = text[:start] + text[stop:]
        elif change == 1:
            text = text[:stop] + text[start:stop] + text[stop:]
        elif change == 2:
            to = draw(st.integers(0, len(text)))
            text = text[:to] + text[start:stop] + text[to:]
        elif change == 3:
            text = text[:start] + draw(st.sampled_from(FRAGMENTS)) + text[stop:]
        else:
            text = text[:start] + draw(st.sampled_from(FRAGMENTS)) + text[start:]
    return text


@quick
@given(changed())
def test_changed_ptx(text: str) -> None:
    read(text)


@quick
@given(st.sampled_from(FIXTURES), st.floats(0, 1))
def test_truncated_ptx(text: str, part: float) -> None:
    read(text[: int(part * len(text))])


@quick
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40), st.booleans())
@example(["bra"], True)
def test_fragments_in_any_order(fragments: list[str], inside: bool) -> None:
    text = " ".join(fragments)
    read(f"{HEAD}.entry k() {{ {text} }}" if inside else HEAD + text)


@quick
@given(st.binary(max_size=400))
def test_bytes(data: bytes) -> None:
    read(data.decode("latin-1"))
    read(HEAD + data.decode("utf-8", errors="surrogateescape"))


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_one_fragment_again_and_again(fragment: str) -> None:
    for count in (100, 20_000):
        read(HEAD + fragment * count)
        read(f"{HEAD}.entry k() {{ .reg .b32 %r<9>; mov.b32 {fragment * count}; }}")
        read(f"{HEAD}.entry k() {{ {fragment * count} }}")
        read(f"{HEAD}.global .b8 x[4] = {{ {fragment * count} }};")
