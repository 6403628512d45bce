"""Whatever a file holds, only suites and told mistakes come out of it."""

import contextlib

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelbench.core.errors import InputError
from kernelbench.core.records import Suite
from kernelbench.suite import read_suite, select_cases, select_implementations

KEYS = (
    "title", "description", "operation", "shape", "axis", "axes", "dtype", "inputs", "parameters", "cases",
    "implementations", "baseline", "claims", "caches", "seq", "(seq, b)", "scale", "mask", "window", "mode",
)  # fmt: skip
WORDS = (
    *KEYS, "softmax", "ft", "oneflow", "float16", "int32", "cold", "ft-dispatch", "(seq, 2)", "2 * seq - 1",
    "ones", "masked",
)  # fmt: skip
FRAGMENTS = (
    *WORDS,
    ": ", "- ", "\n", "\n  ", "[", "]", "{", "}", ", ", "&a ", "*a", "!!python/object:x ", "'", '"', "|\n", "? ",
    "#", "---\n", "%YAML 1.1\n", "\t", "0", "-1", "1e999", ".nan", "16", "\\x00", "\x00", "\x85", "\u2028", "<<: *a",
)  # fmt: skip
# A fixed seed and no deadline: the same on every machine. The whole is held to a minute by its timeout.
SETTINGS = settings(max_examples=300, derandomize=True, deadline=None, database=None)

scalars = st.none() | st.booleans() | st.integers(-3, 70) | st.integers() | st.floats() | st.sampled_from(WORDS)
scalars |= st.text(max_size=8)
nested = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | scalars, inner, max_size=4),
    max_leaves=12,
)
extents = st.sampled_from((1, 2, 0, -1, 2**40, "seq", "b", "seq * b", "8 // seq", "seq ** 2", True, None, "(", 1.5))
values = st.lists(st.integers(-1, 9), max_size=3) | nested
# Near enough to suites that the readers behind the keys are reached, too.
blocks = {
    "shape": st.lists(extents, max_size=4) | nested,
    "axes": st.dictionaries(st.sampled_from(("seq", "b", "(seq, b)", "dtype")), values, max_size=3),
    "axis": st.integers(-5, 5) | nested,
    "dtype": st.sampled_from(("float32", "int32", "bfloat16", "half")) | nested,
    "inputs": st.sampled_from(("normal", "large", "masked", ["ones", "zeros"], "one")) | nested,
    "parameters": st.dictionaries(
        st.sampled_from(("scale", "mask", "window", "mode", "x")), values | scalars, max_size=3
    ),
}
head = {"title": st.just("t"), "operation": st.just("softmax"), "implementations": st.just(["ft", "oneflow"])}
near_suites = st.fixed_dictionaries(
    head, optional={**blocks, "cases": st.lists(st.fixed_dictionaries({}, optional=blocks), max_size=4) | nested}
)
numbers = st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True)
more_extents = st.lists(st.sampled_from(("seq", "2 * seq", "b", "b - 1", 3)), max_size=2)
nearer_suites = st.fixed_dictionaries(
    {
        **head,
        "shape": more_extents.map(lambda more: ["seq", "b", *more]),
        "axes": st.fixed_dictionaries({"seq": numbers, "b": numbers}),
    },
    optional={
        "axis": st.integers(-3, 3),
        "dtype": st.sampled_from(("float16", "int32")),
        "inputs": st.sampled_from(("masked", ["normal", "large"])),
        "parameters": blocks["parameters"],
    },
)


@pytest.fixture(scope="module")
def reads_or_tells(tmp_path_factory, catalog):
    path = tmp_path_factory.mktemp("fuzz") / "suite.yaml"

    def reads_or_tells(content):
        path.write_bytes(content)
        try:
            suite = read_suite(path, catalog.operations, catalog.implementations, catalog.claims)
        except InputError as error:
            str(error).encode()  # can be printed
            return None
        assert isinstance(suite, Suite)
        assert len({case.key for case in suite.cases}) == len(suite.cases)
        return suite

    return reads_or_tells


@pytest.mark.timeout(60)
@SETTINGS
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(reads_or_tells, content):
    assert reads_or_tells(content) is None


@pytest.mark.timeout(60)
@SETTINGS
@given(fragments=st.lists(st.sampled_from(FRAGMENTS), max_size=40))
def test_any_fragments_of_suites(reads_or_tells, fragments):
    reads_or_tells("".join(fragments).encode())


@pytest.mark.timeout(60)
def test_any_structure(reads_or_tells):
    good = []

    @SETTINGS
    @given(document=nested | near_suites | nearer_suites)
    def read(document):
        good.append(reads_or_tells(yaml.safe_dump(document).encode()) is not None)

    read()
    # Else the structures would be too wild to reach what lies behind the first mistakes.
    assert sum(good) >= 10


@pytest.mark.timeout(60)
@SETTINGS
@given(
    text=st.lists(st.sampled_from((*FRAGMENTS, "=", ">=", "<", "!=", ",")), max_size=6).map("".join)
    | st.text(max_size=20)
)
def test_any_selection(reads_or_tells, changed, text):
    suite = reads_or_tells(changed("[16, 32]", "[16, 32]").encode())
    with contextlib.suppress(InputError):
        assert select_cases(suite, [text]).cases
    with contextlib.suppress(InputError):
        assert select_implementations(suite, [text]).implementations
