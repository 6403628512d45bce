"""Fields of implementations and operations, and what an operation's functions return: what is wrong is one message
with the file, before anything is measured."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError, InputError, ProblemsError, Unsupported
from kernelbench.core.records import Case, Suite
from kernelbench.devices.known import KNOWN
from kernelbench.planning.case_plans import plan_suite
from kernelbench.planning.catalog import Catalog, load_catalog

CASE = Case("scan", (4, 8), -1, "float32")
OPERATION = """\
from kernelbench import BROADCAST, Operation, Tolerance, ArraySpec, x_to_y
def four(case): return x_to_y(case, split=4)
fields = dict(name="scan", summary="", arrays=four, reference=lambda xp, case, inputs: {{"y": inputs["x"] * 1.0}},
              bytes_moved=lambda case: 1, flops=lambda case: 1, tolerance=lambda case: Tolerance(0, 0.5),
              large=lambda case: 2.0)
OPERATION = Operation(**{{**fields, {changes}}})
"""
KERNEL = """\
from kernelbench import Case, Deviation, Implementation, LaunchPlan, Origin, Tolerance, Tunable
class Word(str): pass
def plan(case, device, block=32): raise NotImplementedError("later")
fields = dict(name="mine", summary="", origin=Origin("test"), plan=plan)
IMPLEMENTATIONS = (Implementation(**{{**fields, {changes}}}),)
"""


def catalog(folder: Path, operation: str = "", kernel: str = "") -> Catalog:
    (folder / "scan").mkdir()
    (folder / "scan" / "operation.py").write_text(OPERATION.format(changes=operation))
    (folder / "scan" / "mine.py").write_text(KERNEL.format(changes=kernel))
    (folder / "scan" / "mine.cu").write_text("")
    return load_catalog([], own=[folder])


def plans(found: Catalog) -> Any:
    return plan_suite(Suite("s", Path("s.yaml"), "", "scan", (CASE,), ("mine",)), found, KNOWN["h200"])


def test_what_is_right_is_left_alone(tmp_path: Path) -> None:
    kernel = """'deviations': (Deviation('masked', 'no'),), 'extra_tolerance': Tolerance(0, 1e-6), 'role': 'peer',
             'tunable': Tunable({'block': (32, 64)}, ('block < 64',), cases=(Case('scan', (1,), 0, 'int8'),))"""
    found = catalog(tmp_path, "'parameters': {'scale': 1.5}, 'large': None", kernel)
    ((one,),) = (plan.planned for plan in plans(found))
    assert one.reason.endswith("mine.py:3: its plan raised NotImplementedError: later")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("'name': 5", "implementation 5: name must be a text, got 5"),
        ("'name': Word('mine')", "implementation Word 'mine': name must be a text, got Word 'mine'"),
        ("'name': None", "implementation None: name must be a text, got None"),
        ("'summary': 5", "implementation 'mine': summary must be a text, got 5"),
        ("'origin': None", "origin must be an Origin of texts, got None"),
        ("'origin': Origin(5)", "origin must be an Origin of texts, got Origin Origin(project=5"),
        ("'origin': Origin('a', url=None)", "origin must be an Origin of texts, got Origin"),
        ("'plan': 5", "plan must be a function or None, got 5"),
        ("'plan': None, 'prepare': 'torch'", "prepare must be a function or None, got 'torch'"),
        ("'arithmetic': 'sloppy'", "arithmetic must be one of accurate, fast, got 'sloppy'"),
        ("'arithmetic': None", "arithmetic must be one of accurate, fast, got None"),
        ("'role': 'king'", "role must be one of kernel, peer, yardstick, specimen, got 'king'"),
        ("'role': ['kernel']", "role must be one of kernel, peer, yardstick, specimen, got list"),
        ("'extra_tolerance': 1e-3", "extra_tolerance must be a Tolerance of numbers from 0 on, or None, got 0.001"),
        ("'extra_tolerance': Tolerance('1', 0)", "extra_tolerance must be a Tolerance of numbers from 0 on, or None"),
        ("'extra_tolerance': Tolerance(float('nan'), 0)", "extra_tolerance must be a Tolerance of numbers from 0 on"),
        ("'extra_tolerance': Tolerance(float('inf'), 0)", "extra_tolerance must be a Tolerance of numbers from 0 on"),
        ("'reference': 5", "reference must be a function or None, got 5"),
        ("'deviations': []", "deviations must be a tuple of Deviation(inputs, reason), got list []"),
        ("'deviations': ('masked',)", "deviations must be a tuple of Deviation(inputs, reason), got tuple"),
        ("'deviations': (Deviation(5, 'no'),)", "deviations must be a tuple of Deviation(inputs, reason), got tuple"),
        ("'tunable': {'block': (32,)}", "tunable must be a Tunable, its values tuples of ints by name, or None, got"),
        ("'tunable': Tunable(None)", "tunable must be a Tunable, its values tuples of ints by name, or None, got"),
        ("'tunable': Tunable({'block': 32})", "tunable must be a Tunable, its values tuples of ints by name, or None"),
        ("'tunable': Tunable({'block': (32.0,)})", "tunable must be a Tunable, its values tuples of ints by name"),
        ("'tunable': Tunable({'block': (32,)}, layout=1)", "tunable must be a Tunable, its values tuples of ints by"),
    ],
)
def test_a_wrong_field_of_an_implementation_is_named(change: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as raised:
        catalog(tmp_path, kernel=change)
    (problem,) = raised.value.problems
    assert problem.path == tmp_path / "scan" / "mine.py"
    assert said in problem.text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("'summary': None", "OPERATION.summary must be a text, got None"),
        ("'name': 5", "OPERATION.name must be a text, got 5"),
        ("'arrays': ()", "OPERATION.arrays must be a function, got tuple ()"),
        ("'reference': None", "OPERATION.reference must be a function, got None"),
        ("'bytes_moved': 5", "OPERATION.bytes_moved must be a function, got 5"),
        ("'flops': 'many'", "OPERATION.flops must be a function, got 'many'"),
        ("'tolerance': 1e-3", "OPERATION.tolerance must be a function, got 0.001"),
        ("'tolerance': None", "OPERATION.tolerance must be a function, got None"),
        ("'large': 4.0", "OPERATION.large must be a function or None, got 4.0"),
        ("'parameters': ['scale']", "OPERATION.parameters must be a mapping of names to a number, True, False or a"),
        ("'parameters': {'scale': None}", "OPERATION.parameters must be a mapping of names to a number, True, False"),
        ("'refused': ('masked',)", "OPERATION.refused must be a mapping of distributions to reasons, got tuple"),
        ("'special': 'none'", "OPERATION.special must be SpecialValues or None, got 'none'"),
    ],
)
def test_a_wrong_field_of_an_operation_is_named(change: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as raised:
        catalog(tmp_path, change)
    (problem,) = raised.value.problems
    assert problem.path == tmp_path / "scan" / "operation.py"
    assert problem.text.startswith(said)


SPEC = "ArraySpec('{}', {}, '{}', '{}')"
Y = SPEC.format("y", "(4, 8)", "float32", "output")


def arrays(*spec: str) -> str:
    return f"'arrays': lambda case: ({SPEC.format(*spec)},)"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("'arrays': lambda case: None", "its arrays: expected a tuple of ArraySpec, got None"),
        ("'arrays': lambda case: ()", "its arrays: expected a tuple of ArraySpec, got tuple ()"),
        ("'arrays': lambda case: ('x', 'y')", "its arrays: expected a tuple of ArraySpec, got tuple ('x', 'y')"),
        (f"'arrays': lambda case: (one for one in ({Y},))", "its arrays: expected a tuple of ArraySpec, got generator"),
        (arrays("y", "(4.0, 8)", "float32", "output"), "[0].shape must be a tuple of ints from 1 on, got tuple (4.0,"),
        (arrays("y", "(4, 0)", "float32", "output"), "[0].shape must be a tuple of ints from 1 on, got tuple (4, 0)"),
        (arrays("y", "[4]", "float32", "output"), "[0].shape must be a tuple of ints from 1 on, got list [4]"),
        (arrays("y", "(4,)", "float31", "output"), "its arrays: [0].dtype must be one of float64, float32"),
        (arrays("y", "(4,)", "float32", "inout"), "its arrays: [0].role must be one of input, output, got 'inout'"),
        (arrays("a b", "(4,)", "float32", "output"), "its arrays: [0].name must be a name of C, got 'a b'"),
        (arrays("x", "(4,)", "float32", "input"), "its arrays: expected names that differ and an output, got x"),
        (f"'arrays': lambda case: ({Y}, {Y})", "its arrays: expected names that differ and an output, got y, y"),
        ("'arrays': lambda case: 1 / 0", "its arrays raised ZeroDivisionError: division by zero"),
        ("'bytes_moved': lambda case: -1", "its bytes_moved: expected an int from 1 on, got -1"),
        ("'bytes_moved': lambda case: '1k'", "its bytes_moved: expected an int from 1 on, got '1k'"),
        ("'bytes_moved': lambda case: None", "its bytes_moved: expected an int from 1 on, got None"),
        ("'bytes_moved': lambda case: 10**5000", "its bytes_moved: expected an int from 1 on, got int that cannot be"),
        ("'flops': lambda case: 0.5", "its flops: expected an int from 0 on, got 0.5"),
        ("'tolerance': lambda case: None", "its tolerance: expected a Tolerance of numbers from 0 on, got None"),
        ("'tolerance': lambda case: 0.1", "its tolerance: expected a Tolerance of numbers from 0 on, got 0.1"),
        ("'tolerance': lambda case: Tolerance(-1, 0)", "its tolerance: expected a Tolerance of numbers from 0 on"),
        ("'tolerance': lambda case: exit(3)", "its tolerance raised SystemExit: 3"),
        ("'tolerance': lambda: 0", "its tolerance raised TypeError: "),
    ],
)  # fmt: skip
def test_garbage_of_an_operation_is_one_message_before_anything_is_measured(
    change: str, said: str, tmp_path: Path
) -> None:
    found = catalog(tmp_path, change)
    with pytest.raises(InputError) as raised:
        plans(found)
    text = str(raised.value)
    assert text.startswith(f"{tmp_path}/scan/operation.py")
    assert said in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("x", "bias", "y", "said"),
    [
        ("0", "1", "4", "[0].split must be an int from 1 on, or BROADCAST, got 0"),
        ("4.0", "1", "4", "[0].split must be an int from 1 on, or BROADCAST, got 4.0"),
        ("'rows'", "1", "4", "[0].split must be an int from 1 on, or BROADCAST, got 'rows'"),
        ("5", "BROADCAST", "5", "'y' has 32 elements: expected split=a divisor of it, got 5"),
        ("4", "1", "4", "'bias' is cut into 1 and the output 'y' into 4: expected the same split, or split=BROADCAST "
                        "where every slice reads all of it"),
        ("4", "16", "16", "'x' is cut into 4 and the output 'y' into 16: expected the same split, or split=BROADCAST"),
        ("16", "16", "16", "'bias' has 8 elements: expected split=a divisor of it, or split=BROADCAST where every "
                           "slice reads all of it, got 16"),
        ("4", "4", "BROADCAST", "'y' is an output, of which each slice makes a part: expected split=an int, got BROAD"),
        ("BROADCAST", "BROADCAST", "4", "no input is cut, so a slice cannot tell which it is: expected split=1 of 'y'"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_split_alike_are_one_message_with_the_way_out(
    x: str, bias: str, y: str, said: str, tmp_path: Path
) -> None:
    spec = "ArraySpec('{}', {}, 'float32', '{}', split={})"
    arrays = (("x", "(4, 8)", "input", x), ("bias", "(8,)", "input", bias), ("y", "(4, 8)", "output", y))
    text = ", ".join(spec.format(*one) for one in arrays)
    with pytest.raises(InputError) as raised:
        plans(catalog(tmp_path, f"'arrays': lambda case: ({text})"))
    assert f"{tmp_path}/scan/operation.py: its arrays: {said}" in str(raised.value)


def test_arrays_of_kernelbenchs_own_operations_are_checked_as_well(tmp_path: Path) -> None:
    catalog(tmp_path, "'arrays': lambda case: (x_to_y(case)[0], x_to_y(case, split=4)[1])")
    with pytest.raises(InputError, match=r"operation\.py: its arrays: 'x' is cut into 1 and the output 'y' into 4"):
        plans(load_catalog([tmp_path]))


HALF_OF_THE_ROWS = (np, CASE, {"x": np.ones((2, 8))})


@pytest.mark.parametrize(
    ("function", "change", "arguments", "said"),
    [
        *(
            ("reference", f"lambda xp, case, inputs: {returned}", HALF_OF_THE_ROWS, said)
            for returned, said in (
                ("None", "its reference: expected outputs by name, got None"),
                ("inputs['x']", "its reference: expected outputs by name, got ndarray"),
                ("{}", "its reference: expected 16 elements of float64 as 'y', got None"),
                ("{'y': 0.5}", "expected 16 elements of float64 as 'y', got 0.5"),
                ("{'y': inputs['x'][:, 1:]}", "16 elements of float64 as 'y', got 14 of float64"),
                ("{'y': inputs['x'] > 0}", "expected 16 elements of float64 as 'y', got 16 of bool"),
                ("{'y': inputs['x'] + 1j}", "16 elements of float64 as 'y', got 16 of complex128"),
                ("inputs['z']", "its reference raised KeyError: 'z'"),
            )
        ),
        ("large", "lambda case: 0", (CASE,), "its large: expected a number above 0, got 0"),
        ("large", "lambda case: float('inf')", (CASE,), "its large: expected a number above 0, got inf"),
        ("large", "lambda case: 'much'", (CASE,), "its large: expected a number above 0, got 'much'"),
    ],
)
def test_garbage_that_comes_when_it_is_asked_for_is_one_message(
    function: str, change: str, arguments: tuple[Any, ...], said: str, tmp_path: Path
) -> None:
    operation = catalog(tmp_path, f"'{function}': {change}").operations["scan"]
    with pytest.raises(InputError) as raised:
        getattr(operation, function)(*arguments)
    assert said in str(raised.value)


def test_a_reference_that_moves_elements_keeps_their_type(tmp_path: Path) -> None:
    changes = "'moves': True, 'reference': lambda xp, case, inputs: {'y': inputs['x'] * xp.float64(1)}"
    operation = catalog(tmp_path, changes).operations["scan"]
    assert operation.reference(*HALF_OF_THE_ROWS)["y"].size == 16
    with pytest.raises(InputError, match="expected 16 elements of float32 as 'y', got 16 of float64"):
        operation.reference(np, CASE, {"x": np.ones((2, 8), np.float32)})


def test_a_reference_without_memory_costs_its_case_and_not_the_run(tmp_path: Path) -> None:
    operation = catalog(tmp_path, "'reference': lambda xp, case, inputs: xp.empty(2**50)").operations["scan"]
    with pytest.raises(MemoryError):
        operation.reference(*HALF_OF_THE_ROWS)


@pytest.mark.parametrize(
    ("raised", "becomes", "said"),
    [
        ("InputError", DeviceError, r"mine.py:\d: its prepare raised InputError: no"),  # which ends the run
        ("Unsupported", Unsupported, "^no$"),
    ],
)
def test_an_implementation_may_refuse_and_not_end_the_run(
    raised: str, becomes: type[Exception], said: str, tmp_path: Path
) -> None:
    error = f"__import__('kernelbench.core.errors').core.errors.{raised}('no')"
    kernel = f"'plan': None, 'prepare': lambda case, arrays, stream: (_ for _ in ()).throw({error})"
    mine = catalog(tmp_path, kernel=kernel).implementations["scan"]["mine"]
    with pytest.raises(becomes, match=said):
        mine.prepare(CASE, {}, 0)


def test_a_layout_that_raises_is_told_with_its_file(tmp_path: Path) -> None:
    kernel = "'tunable': Tunable({'block': (32,)}, layout=lambda case: case.nothing)"
    mine = catalog(tmp_path, kernel=kernel).implementations["scan"]["mine"]
    with pytest.raises(DeviceError, match=r"mine.py:\d: its layout raised AttributeError: 'Case' object has no"):
        mine.tunable.layout(CASE)
