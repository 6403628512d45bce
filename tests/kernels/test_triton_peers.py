"""Our Triton kernels without Triton: what Triton would refuse to compile, and which kernel and tiles a shape gets."""

import ast
import importlib
import sys
from math import prod
from types import ModuleType, SimpleNamespace

import pytest

from kernelbench.core import places

ROWS = places.KERNELS / "softmax_family" / "triton_rows.py"
SHAPES = (
    (7, 1, 1), (2**21, 16, 1), (2**15, 1000, 1), (4096, 16384, 1), (1024, 32000, 1), (2048, 65536, 1),
    (512, 262144, 1), (1, 128, 32768), (512, 896, 48), (349525, 2, 48), (170, 4096, 48), (34, 20000, 48),
    (65536, 256, 2), (7710, 256, 17), (16384, 256, 8), (1118481, 3, 5), (1, 100000, 320), (16, 100000, 20),
    (8, 21, 262144), (2, 70000, 2),
)  # fmt: skip


@pytest.fixture
def choice(monkeypatch):
    """The module of choices over a Triton that compiles nothing; `launched` has (kernel, grid, sizes) of each call."""
    triton, launched = ModuleType("triton"), []

    class Tuned:
        def __init__(self, kernel, configs, key, prune_configs_by, do_bench):
            self.kernel, self.configs, self.prune = kernel, configs, prune_configs_by["early_config_prune"]
            self.names = kernel.__code__.co_varnames

        def sizes(self, arguments, constants):
            named = dict(zip(self.names, arguments, strict=False))
            return [{**named, **constants, **one.kwargs} for one in self.prune(self.configs, named, **constants)]

        def warmup(self, *arguments, grid, **constants):
            assert self.sizes(arguments, constants)

        def __getitem__(self, grid):
            def launch(*arguments, **constants):
                launched.append((self.kernel.__name__, grid, self.sizes(arguments, constants)))

            return launch

    triton.jit = lambda function: function
    triton.autotune = lambda configs, key, prune_configs_by, do_bench: (
        lambda kernel: Tuned(kernel, configs, key, prune_configs_by, do_bench)
    )
    triton.Config = lambda kwargs, num_warps: SimpleNamespace(kwargs=kwargs, num_warps=num_warps)
    triton.next_power_of_2 = lambda number: 1 << (number - 1).bit_length()
    triton.cdiv = lambda number, step: -(-number // step)
    triton.language, triton.testing = ModuleType("triton.language"), ModuleType("triton.testing")
    triton.language.constexpr = object
    torch = ModuleType("torch")
    torch.float32 = "float32"
    for module in (triton, triton.language, triton.testing, torch):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    names = ["kernels.softmax_family.triton_rows", "kernels.softmax_family.triton_choice"]
    before = {name: sys.modules.pop(name, None) for name in names}
    module = importlib.import_module(names[1])
    yield SimpleNamespace(module=module, launched=launched)
    for name in names:
        sys.modules.pop(name, None)
        if before[name]:
            sys.modules[name] = before[name]


def tensor(itemsize: int = 4) -> SimpleNamespace:
    return SimpleNamespace(element_size=lambda: itemsize, new_empty=lambda count, dtype: (count, dtype))


def kernels(choice) -> list[str]:
    return [name for name, _, _ in choice.launched]


def test_a_compiled_function_is_annotated_by_constexpr_alone() -> None:
    """Triton looks other annotations up among the values of the kernel, and refuses it."""
    tree = ast.parse(ROWS.read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(functions) > 5
    assert not any(isinstance(node, ast.ImportFrom) for node in tree.body), "annotations are no texts"
    for function in functions:
        assert function.returns is None
        found = {ast.unparse(one.annotation) for one in function.args.args if one.annotation}
        assert found <= {"tl.constexpr"}, function.name


@pytest.mark.parametrize(
    ("extents", "expected"),
    [
        ((100, 4096, 1), ["rows_in_tiles"]),
        ((100, 32769, 1), ["long_rows"]),
        ((100, 128, 48), ["columns_in_tiles"]),
        ((100, 128, 8), ["columns_in_tiles"]),
        ((100, 128, 7), ["small_slabs"]),
        ((100, 4096, 7), ["columns_in_tiles"]),
        ((100, 20000, 48), ["sums_of_parts", "parts_from_sums"]),
    ],
)
def test_which_kernel_takes_a_shape(choice, extents, expected):
    call = choice.module.launcher(tensor(), tensor(), extents, log=False)
    assert kernels(choice) == expected, "has run once, which tunes it"
    call()
    assert kernels(choice) == 2 * expected


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("extents", SHAPES, ids=lambda extents: "x".join(map(str, extents)))
def test_every_choice_covers_the_array_with_tiles_that_a_program_can_hold(choice, extents, itemsize):
    outer, dim, inner = extents
    choice.module.launcher(tensor(itemsize), tensor(itemsize), extents, log=True)
    for name, grid, chosen in choice.launched:
        assert 1 <= len(chosen) <= 24, "tuning takes its time for each"
        for sizes in chosen:
            (blocks,) = grid(sizes)
            tile = [sizes[extent] for extent in choice.module.TILE if extent in sizes]
            assert prod(tile) <= choice.module.MOST_TILE
            if name == "rows_in_tiles":
                assert sizes["COLUMNS"] >= dim
                assert blocks * sizes["ROWS"] >= outer
            elif name == "long_rows":
                assert blocks == outer
            elif name == "small_slabs":
                assert sizes["DIM"] >= dim
                assert blocks * sizes["LANES"] >= outer * inner
            elif name == "columns_in_tiles":
                assert sizes["DIM"] >= dim
                assert blocks * sizes["OUTER"] * sizes["INNER"] >= outer * inner
            else:
                assert blocks * sizes["INNER"] >= outer * sizes["parts"] * inner
                assert sizes["parts"] <= sizes.get("PARTS", sizes["parts"])


def test_a_long_axis_of_few_programs_is_split(choice):
    for extents, parts in (((1, 100000, 320), 64), ((4096, 100000, 32), 1), ((1, 40000, 64), 64)):
        choice.launched.clear()
        choice.module.launcher(tensor(), tensor(), extents, log=False)
        assert {sizes["parts"] for _, _, chosen in choice.launched for sizes in chosen} == {parts}


@pytest.mark.parametrize("columns", [1, 768, 4097, 32768])
def test_layer_norm_covers_all_rows_with_tiles_that_a_program_can_hold(choice, columns):
    choice.module.norm_launcher(tensor(2), tensor(2), tensor(2), tensor(2), 5000, columns, 1e-5)
    ((name, grid, chosen),) = choice.launched
    assert name == "norm_rows_in_tiles"
    assert chosen
    for sizes in chosen:
        assert sizes["ROWS"] * sizes["COLUMNS"] <= choice.module.MOST_TILE
        assert sizes["COLUMNS"] >= columns
        assert grid(sizes)[0] * sizes["ROWS"] >= 5000
