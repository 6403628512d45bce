"""Cases on a horizontal axis: stretches along one word, ticks that fit."""

from itertools import pairwise

import matplotlib.pyplot as plt

from kernelbench.report import case_axis, view
from tests.report.conftest import cases_of

OFFSETS = [f"n=64 shape=64 axis=-1 dtype=float32 side=load offset={k} stride=1" for k in (0, 1, 8)]
STORES = [key.replace("load", "store") for key in OFFSETS]
STRIDES = [f"n=32 shape=32 axis=-1 dtype=float32 side=load offset=0 stride={k}" for k in (1, 2, 4)]


def test_cases_are_cut_where_a_second_word_changes():
    found = case_axis.laid_out(cases_of([*OFFSETS, *STORES, *STRIDES])).stretches
    assert [(one.along, one.values) for one in found] == [
        ("offset", ["0", "1", "8"]), ("offset", ["0", "1", "8"]), ("stride", ["1", "2", "4"]),
    ]  # fmt: skip
    assert found[1].shared == {"n": "64", "side": "store", "stride": "1"}


def test_numbers_that_begin_anew_are_another_stretch():
    keys = [f"n={n} shape={n} axis=-1 dtype=float32" for n in (1024, 65536, 1, 7)]
    assert [one.numbers for one in case_axis.laid_out(cases_of(keys)).stretches] == [[1024, 65536], [1, 7]]


def test_a_line_leads_along_numbers_and_not_through_names():
    keys = ["shape=3x5 axis=-1 dtype=float32", "shape=7x2 axis=-1 dtype=float32"]
    for to_scale in (False, True):
        layout = case_axis.laid_out(cases_of(keys), to_scale=to_scale)
        assert [layout.line_of(key) for key in keys] == [None, None]
    assert [case_axis.laid_out(cases_of(STRIDES)).line_of(key) for key in STRIDES] == [0, 0, 0]


def test_long_stretches_stand_apart_and_names_do_not():
    layout = case_axis.laid_out(cases_of([*OFFSETS, *STORES]))
    assert layout.captioned
    assert layout.x[STORES[0]] - layout.x[OFFSETS[-1]] > 1
    names = case_axis.laid_out(cases_of(["shape=3x5 dtype=float32", "shape=7x2 dtype=float16"]))
    assert not names.captioned
    assert list(names.x.values()) == [0.0, 1.0]


def test_cases_of_which_some_have_no_axis_keep_their_order():
    keys = ["n=16 shape=16 dtype=float32", "n=32 shape=32 dtype=float32", "shape=17x3 dtype=float32"]
    layout = case_axis.laid_out(cases_of(keys))
    assert [one.values for one in layout.stretches] == [["16", "32"], []]
    assert layout.stretches[1].shared == {"shape": "17x3"}
    assert layout.line_of(keys[2]) is None


def test_large_powers_of_two_are_written_as_such():
    assert view.number_text("16777216") == "2²⁴"
    assert [view.number_text(text) for text in ("4096", "65537", "32x64", "")] == ["4096", "65537", "32x64", ""]
    assert view.word_texts({"n": "67108864", "dtype": "float16"}, view.number_text) == ["n=2²⁶", "float16"]


def test_numbers_lie_at_their_true_distances():
    keys = [f"n={n} shape={n} axis=-1 dtype=float32" for n in (2**10, 2**20, 2**26, 2**28, 1)]
    layout = case_axis.laid_out(cases_of(keys), to_scale=True)
    first, *others = (layout.x[key] for key in (keys[4], *keys[:4]))
    assert [round(7 * (x - first), 6) for x in others] == [10, 20, 26, 28], "28 doublings over four distances"
    assert {layout.line_of(key) for key in keys} == {0}, "the one that begins anew lies on the same line"
    assert case_axis.laid_out(cases_of(keys)).x[keys[1]] == 1.0, "a table has columns"
    even = case_axis.laid_out(cases_of([f"n={n} shape={n} axis=-1 dtype=float32" for n in (0, 1, 3)]), to_scale=True)
    assert [round(x, 3) for x in even.x.values()] == [0, 0.667, 2], "numbers that do not span a factor of 8"


def test_the_same_size_of_other_shapes_is_another_line():
    keys = [f"bias={bias} shape={rows}x{bias} axis=-1 dtype=float32" for rows, bias in ((8, 768), (8, 3072), (8, 9000))]
    tall = [f"bias={bias} shape=9999x{bias} axis=-1 dtype=float32" for bias in (32, 1000, 4096)]
    layout = case_axis.laid_out(cases_of([*keys, *tall]), to_scale=True)
    assert [layout.line_of(key) for key in (*keys, *tall)] == [0, 0, 0, 1, 1, 1]


def test_an_axis_is_logarithmic_where_sizes_span_much():
    def sizes(*numbers: int):
        return cases_of([f"n={n} shape={n} axis=-1 dtype=float32" for n in numbers])

    assert case_axis.is_logarithmic(sizes(16, 64, 1024))
    assert not case_axis.is_logarithmic(sizes(16, 32, 64)), "at linear distances"
    assert not case_axis.is_logarithmic(cases_of(["shape=3x5 dtype=float32", "shape=7x2 dtype=float16"]))


def test_labels_of_cases_by_themselves_lie_beside_one_another():
    lone = [
        f"outer={outer} dim={dim} inner={inner} axis=1 dtype=float32"
        for outer, dim, inner in ((1, 100000, 320), (16, 100001, 20), (65, 1002, 513), (1024, 32000, 1), (9, 3, 5))
    ]
    keys = [*(f"dim={dim} axis=1 dtype=float32" for dim in range(2, 16)), *lone]
    layout = case_axis.laid_out(cases_of(keys))
    figure, axis = plt.subplots(figsize=(case_axis.PANEL / 72, 4))
    axis.set_position((0, 0.5, 1, 0.5))
    axis.set_xlim(-0.5, layout.right + 0.5)
    case_axis.case_ticks(axis, layout)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axis.texts if "outer" in text.get_text()]
    plt.close(figure)
    assert len(boxes) == len(lone)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
