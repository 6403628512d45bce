"""The suites that the project ships: every name in them exists, and their shapes are what their comments say."""

import json
import re
from math import prod
from pathlib import Path

import pytest

from kernelbench.core import places
from kernelbench.core.errors import ProblemsError
from kernelbench.runs import folders
from kernelbench.suite import find_suite, read_suite
from tests.catalog import catalog

CATALOG = catalog(specimens=True)  # suites name the specimens that verification must reject
SUITES = sorted(path.stem for path in places.SUITES.glob("*.yaml"))


@pytest.fixture(scope="module")
def suites():
    """All suites by name, read against the real catalog and ledger."""
    claims = {path.stem for path in places.LEDGER.glob("*.yaml")}
    return {
        name: read_suite(find_suite(name, places.SUITES), CATALOG.operations, CATALOG.implementations, claims)
        for name in SUITES
    }


def axis_values(suite, name):
    return list(dict.fromkeys(dict(case.axes)[name] for case in suite.cases if name in dict(case.axes)))


@pytest.mark.parametrize("name", SUITES)
def test_reads_without_a_mistake_and_can_be_compared(suites, name):
    suite = suites[name]
    assert suite.cases
    if suite.step is None and suite.claims:
        assert suite.baseline in suite.implementations
        assert "copy" in suite.implementations
    assert suite.title
    assert suite.description or not suite.claims
    # Input and output of the largest case, with one more array of scratch, on a GPU of 40 GB.
    assert max(3 * case.elements * 4 for case in suite.cases) < 40e9


def test_softmax_has_the_published_sizes(suites):
    suite = suites["softmax"]
    assert [case.shape for case in suite.cases] == [(32, 64, s, s) for s in (16, 32, 64, 128, 512, 1024)]
    assert {case.dtype for case in suite.cases} == {"float32"}
    assert set(suite.claims) == {"softmax-ft-oneflow", "softmax-fusion", "softmax-four-kernels", "reduce-tree-counters"}


def test_softmax_half_has_the_same_shapes(suites):
    shapes = [case.shape for case in suites["softmax"].cases]
    assert [case.shape for case in suites["softmax_half"].cases] == 2 * shapes
    assert [case.dtype for case in suites["softmax_half"].cases] == 6 * ["float16"] + 6 * ["bfloat16"]


def test_ft_dispatch_lies_on_both_sides_of_120(suites):
    blocks = list(dict.fromkeys(case.shape[0] * case.shape[1] for case in suites["softmax_ft_dispatch"].cases))
    assert blocks == [12, 96, 120, 121, 192, 768]


def test_oneflow_regimes_move_the_same_bytes_at_every_length(suites):
    suite = suites["softmax_oneflow_regimes"]
    columns = axis_values(suite, "columns")
    assert columns == sorted([*(2**n for n in range(5, 19)), 12160, 12288])
    assert [case.shape[1] for case in suite.cases] == columns
    assert all(2**26 * 0.999 < prod(case.shape) <= 2**26 for case in suite.cases)


def test_bert_has_attention_shapes_with_prime_lengths(suites):
    suite = suites["softmax_bert"]
    lengths = {case.shape[3] for case in suite.cases}
    assert len(suite.cases) == 24
    assert all(case.shape[1] in (12, 16) and case.shape[2] == case.shape[3] for case in suite.cases)
    assert {case.shape[0] for case in suite.cases} >= {1, 64}
    assert lengths >= {128, 1024, 197, 257, 331, 509, 997}
    assert [case.dtype for case in suite.cases].count("float32") == 1


def test_log_softmax_has_the_published_shapes_and_the_sweep_runs_on_them(suites):
    published = [((128, 128, 16, 16), 0), ((512, 896, 4, 12), 1)]
    for name in ("log_softmax", "log_softmax_grid"):
        assert list(dict.fromkeys((case.shape, case.axis) for case in suites[name].cases)) == published
    assert {case.dtype for case in suites["log_softmax"].cases} == {"float32", "float16", "bfloat16"}


def test_log_softmax_shapes_lie_on_both_sides_of_every_threshold(suites):
    cases = suites["log_softmax_shapes"].cases
    views = {case.outer_dim_inner for case in cases}
    assert {inner for _, _, inner in views} >= {1, 64, 65, 1024, 1025, 4096}
    assert {dim for _, dim, _ in views} >= {1, 2, 63, 64, 100_000}
    assert ((2, 3, 4), 1) in {(case.shape, case.axis) for case in cases}, "the example of paddle-launch-rule"


def test_reduce_goes_from_one_block_to_more_than_any_cache_holds(suites):
    sizes = axis_values(suites["reduce"], "n")
    assert (sizes[0], sizes[-1]) == (2**8, 2**28)
    assert {2**22, 2**25} <= set(sizes), "the published sizes"
    odd = [case.elements for case in suites["reduce_shapes"].cases]
    assert {1, 2, 3, 257, 513, 1_000_003} <= set(odd)


def test_element_wise_suites_go_from_less_than_a_block_to_more_than_any_cache_holds(suites):
    for name in ("multiply", "relu", "copy"):
        sizes = {case.elements for case in suites[name].cases}
        assert {2**10, 2**28} <= sizes
        assert {case.dtype for case in suites[name].cases} == {"float32", "float16", "bfloat16"}
    assert 2**25 in axis_values(suites["multiply"], "n"), "the published size"
    for name in ("multiply_shapes", "relu", "copy"):
        assert {1, 7, 257, 1_000_003} <= {case.elements for case in suites[name].cases}
    assert all(case.parameter("debug", False) for case in suites["multiply_debug"].cases)


def calls(suite, operation):
    return sum(part.calls for part in suite.step.parts if part.operation == operation)


def elements(suite, operation):
    """Of all calls of a step together."""
    sizes = {case.key: case.elements for case in suite.cases}
    return sum(part.calls * sizes[part.case] for part in suite.step.parts if part.operation == operation)


def test_bert_base_step_calls_each_operation_as_often_as_the_model_has_it(suites):
    suite, tokens, layers = suites["bert_base_step"], 160 * 128, 12
    assert calls(suite, "softmax") == layers
    assert calls(suite, "dropout_add") == 2 * layers
    assert elements(suite, "bias_add") == layers * tokens * (5 * 768 + 3072)
    assert elements(suite, "random_mask") == (2 * layers + 1) * tokens * 768 + layers * 160 * 12 * 128**2
    assert elements(suite, "permute") == 2 * layers * 4 * tokens * 768, "forward and backward"


def test_resnet50_step_has_the_49_relus_of_the_model(suites):
    """Built from the model's description: a ReLU behind each convolution of a block, the stride in the second one."""
    relus = [64 * 112 * 112]
    for blocks, width, size in ((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7)):
        for block in range(blocks):
            before = 2 * size if block == 0 and width > 64 else size
            relus += [width * before**2, width * size**2, 4 * width * size**2]
    suite = suites["resnet50_step"]
    for operation in ("relu", "relu_bitset", "relu_grad"):
        parts = [part for part in suite.step.parts if part.operation == operation]
        sizes = {case.key: case.elements // 256 for case in suite.cases}
        assert sorted(size for part in parts for size in part.calls * [sizes[part.case]]) == sorted(relus)


@pytest.mark.parametrize("name", ["bert_base_step", "resnet50_step"])
def test_a_step_differs_in_what_is_fused_and_in_nothing_else(suites, name):
    pairs = {"five_kernels": "oneflow", "five_kernels_half": "oneflow", "two_kernels": "fused", "from_y": "from_bits"}
    pairs |= {"packed": "", "": "ballot_words"}
    parts = suites[name].step.parts
    assert len(parts) <= 30
    for part in parts:
        assert part.fused == pairs.get(part.unfused, part.unfused), part


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads a suite's text as long_rows.yaml of the current folder."""
    monkeypatch.chdir(tmp_path)

    def read(text):
        Path("long_rows.yaml").write_text(text)
        return read_suite(Path("long_rows.yaml"), CATALOG.operations, CATALOG.implementations, ())

    return read


def test_the_example_of_the_page_on_inputs_has_a_case_of_each(read):
    page = (places.ROOT / "docs" / "inputs.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    suite = read(text)
    assert [case.inputs for case in suite.cases] == ["normal", "normal", "masked", "masked"]
    assert suite.cases[2].key in page


def test_the_examples_of_the_page_on_suites_are_as_it_says(read):
    page = (places.ROOT / "docs" / "writing-a-suite.md").read_text()
    *good, wrong = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [len(read(text).cases) for text in good] == [6, 4, 4, 2]
    with pytest.raises(ProblemsError) as caught:
        read(wrong)
    shown = str(caught.value).replace("long_rows.yaml", "mistakes.yaml")
    assert f"```text\n{shown}\n```" in page


def test_recorded_runs_lie_in_folders_of_their_suites_names():
    """By which they are found: `kernelbench compare relu` is not to read `peers_relu`."""
    found = [
        (path.name, json.loads((path / "environment.json").read_text())["suite"]) for path in folders.shipped_runs()
    ]
    assert found
    assert [pair for pair in found if pair[0] != pair[1]] == []


def test_a_suite_with_a_copy_has_every_copy_of_its_operation(suites):
    """The yardstick is the best of them."""
    known = catalog().implementations
    for name, suite in suites.items():
        if "copy" in suite.implementations:
            of_operation = known[suite.operation]
            copies = {one for one in of_operation if of_operation[one].role == "yardstick"}
            assert len(copies) >= 3, name
            assert copies <= set(suite.implementations), name


BESIDE_PEERS = [name for name in SUITES if name.startswith("peers_")]


@pytest.mark.parametrize("name", BESIDE_PEERS)
def test_beside_peers_the_baseline_is_one_of_them_and_a_kernel_is_ours(suites, name):
    known = CATALOG.implementations[suites[name].operation]
    chosen = [known[one] for one in suites[name].implementations]
    assert known[suites[name].baseline].role == "peer"
    assert any(one.role == "kernel" and one.origin.project == "written here" for one in chosen)


def test_peers_of_softmax_are_met_at_attention_scores_and_at_long_rows(suites):
    shapes = list(dict.fromkeys(case.shape for case in suites["peers_softmax"].cases))
    assert shapes == [
        (8192, 4096), (4096, 16384), (2048, 65536), (512, 262144),
        *((32, 64, seq, seq) for seq in (16, 32, 64, 128, 512, 1024)),
    ]  # fmt: skip
    assert len(suites["peers_softmax"].cases) == 2 * len(shapes), "in float32 and bfloat16"
    libraries = {
        "torch", "torch_compile", "torch_compile_autotuned", "triton", "helion", "helion_cute", "quack", "liger",
        "flashinfer", "cudnn",
    }  # fmt: skip
    assert libraries | {"cupy"} <= set(suites["peers_softmax"].implementations)


def test_peers_of_log_softmax_are_met_off_the_last_axis(suites):
    cases = suites["peers_log_softmax"].cases
    published = [(case.shape, case.axis, case.dtype) for case in cases[:4]]
    assert published == [
        (shape, axis, dtype)
        for shape, axis in (((128, 128, 16, 16), 0), ((512, 896, 4, 12), 1))
        for dtype in ("float32", "bfloat16")
    ]
    views = {case.outer_dim_inner for case in cases[4:]}
    assert len(views) == 20
    assert (min(inner for *_, inner in views), max(inner for *_, inner in views)) == (1, 4096)
    assert (min(dim for _, dim, _ in views), max(dim for _, dim, _ in views)) == (2, 100_000)


def test_the_sweep_has_powers_of_two_their_neighbours_and_the_same_bytes_throughout(suites):
    suite = suites["peers_softmax_sweep"]
    columns = set(axis_values(suite, "columns"))
    powers = {2**power for power in range(14)}
    assert {near for power in powers for near in (power - 1, power, power + 1) if 1 <= near <= 8192} <= columns
    assert len(columns - powers) > 30
    for case in suite.cases:
        assert 0.99 * 2**28 < 2 * case.elements * (4 if case.dtype == "float32" else 2) <= 2**28
