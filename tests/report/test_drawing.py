"""Charts drawn by copies of the process are those that the process itself draws."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from kernelbench.report import charts, drawing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")


@pytest.fixture
def two(example, monkeypatch):
    monkeypatch.setattr(drawing, "_can_copy", lambda: True)
    monkeypatch.setattr(os, "cpu_count", lambda: drawing.FEWEST_CORES)
    return charts.all_charts(example.run, example.comparison)[:2]


def test_copies_draw_the_same(two, monkeypatch):
    drawing.draw_all(two)
    sent = [chart.__dict__.pop("drawn") for chart in two]
    assert [chart.drawn for chart in two] == sent


def test_what_a_copy_could_not_draw_is_drawn_here(two, monkeypatch):
    here = os.getpid()
    draw = drawing.style.png
    monkeypatch.setattr(drawing.style, "png", lambda figure: draw(figure) if os.getpid() == here else os._exit(1))
    drawing.draw_all(two)
    assert all("drawn" not in chart.__dict__ for chart in two)
    assert two[0].drawn[0].startswith(b"\x89PNG")


def test_a_copy_that_never_answers_is_ended_and_its_chart_drawn_here(two, monkeypatch):
    here, draw = os.getpid(), drawing.style.png
    monkeypatch.setattr(drawing, "LONGEST_S", 0.5)
    monkeypatch.setattr(drawing.style, "png", lambda figure: draw(figure) if os.getpid() == here else time.sleep(100))
    began = time.monotonic()
    drawing.draw_all(two)
    assert time.monotonic() - began < 10
    assert two[0].drawn[0].startswith(b"\x89PNG")


def test_no_copy_is_made_while_a_thread_imports(two, monkeypatch):
    importing = threading.Thread(target=time.sleep, args=(0.5,))
    monkeypatch.setattr(drawing.style, "_importing", importing)
    importing.start()
    drawing.draw_all(two)
    assert all("drawn" in chart.__dict__ for chart in two)
    assert not importing.is_alive()


def test_few_cores_and_a_gpus_process_draw_alone(two, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: drawing.FEWEST_CORES - 1)
    drawing.draw_all(two)
    assert all("drawn" not in chart.__dict__ for chart in two)
    monkeypatch.undo()
    monkeypatch.setattr(os, "cpu_count", lambda: drawing.FEWEST_CORES)
    monkeypatch.setitem(sys.modules, "cupy", drawing)
    drawing.draw_all(two)
    assert all("drawn" not in chart.__dict__ for chart in two)


def test_what_is_drawn_is_not_drawn_again(two, monkeypatch):
    drawing.draw_all(two)
    first = [chart.drawn for chart in two]
    drawing.draw_all(two)
    assert all(chart.drawn is one for chart, one in zip(two, first, strict=True))


def test_copies_import_no_part_of_matplotlib_anew():
    """In a new process, as a user's is: each copy would take most of a second for it."""
    text = """
        import sys
        from kernelbench.report import drawing, style
        style.load_matplotlib()
        drawing._can_copy, drawing.FEWEST_CORES = lambda: True, 1
        def loaded(figure): return " ".join(sorted(name for name in sys.modules if name.startswith("matplotlib")))
        style.png, style.svg = loaded, lambda figure: ""
        charts = [drawing.Chart(name, "", "", lambda: None) for name in "ab"]
        drawing.draw_all(charts)
        print(charts[0].drawn[0] if "drawn" in charts[0].__dict__ else "drawn here")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=True)
    assert {"matplotlib.figure", "matplotlib.backends.backend_svg"} <= set(done.stdout.split())
