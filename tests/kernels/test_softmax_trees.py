"""Plans of kernels/softmax/tree.py, and that tree.cu compiles to what they launch."""

import pytest

from kernelbench.core.records import Case, Scalar

TREES = {
    "tree_modulo": ("Modulo", 256, 1),
    "tree_strided": ("Strided", 256, 1),
    "tree_sequential": ("Sequential", 256, 1),
    "tree_two_loads": ("Sequential", 128, 2),
    "tree_unrolled": ("Unrolled", 256, 1),
    "tree_shuffle": ("Shuffle", 256, 1),
}


@pytest.mark.parametrize(("name", "tree", "block", "loads"), [(name, *row) for name, row in TREES.items()])
def test_a_block_goes_through_each_row(softmax, h200, name, tree, block, loads):
    plan = softmax[name].plan(Case("softmax", (2, 3, 5, 257), -1, "float32"), h200)
    (launch,) = plan.launches
    assert launch.grid == (30, 1, 1)
    assert launch.block == (block, 1, 1)
    assert launch.arguments == ("x", "y", Scalar("int32", 257), Scalar("float32", 1.0))
    assert dict(plan.defines) == {"TREE": tree, "BLOCK": block, "LOADS": loads}
    assert plan.scratch == ()


def test_trees_of_one_block_differ_in_the_tree_alone(softmax, h200):
    case = Case("softmax", (64, 1000), -1, "float16")
    plans = {name: softmax[name].plan(case, h200) for name in TREES if name != "tree_two_loads"}
    assert len({plan.launches for plan in plans.values()}) == 1
    assert len({dict(plan.defines)["TREE"] for plan in plans.values()}) == len(plans)
    assert len({plan.defines[1:] for plan in plans.values()}) == 1


def test_scale_reaches_the_kernel(softmax, h200):
    case = Case("softmax", (4, 8), -1, "float32", parameters=(("scale", 0.125),))
    (launch,) = softmax["tree_shuffle"].plan(case, h200).launches
    assert launch.arguments[-1] == Scalar("float32", 0.125)


def test_an_axis_followed_by_ones_only_is_the_last(softmax, h200):
    (launch,) = softmax["tree_modulo"].plan(Case("softmax", (6, 8, 1), 1, "float32"), h200).launches
    assert launch.grid == (6, 1, 1)
