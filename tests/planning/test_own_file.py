"""A .cu of the user's: what is read of its kernel, the arithmetic of its launch, and what each mistake is told."""

import time
from pathlib import Path

import pytest

from kernelbench.core.errors import InputError, Unsupported
from kernelbench.core.records import Case, Launch, LaunchPlan, Scalar
from kernelbench.devices.known import KNOWN
from kernelbench.planning.expressions import parse_expression
from kernelbench.planning.own_file import CuFile, free_name, read_own_kernel, renamed_text
from kernelbench.planning.signatures import defined_functions
from tests.catalog import catalog

H200 = KNOWN["h200"]
CASE = Case("softmax", (4, 3, 300), -1, "float32", (("seq", 300),), (("scale", 0.5),))
KERNEL = 'extern "C" __global__ void k(const float* x, float* y, int rows, long long columns, float scale) {}\n'
TWO_LINES = "// grid: rows\n// block: 256\n"


def plan(folder: Path, text: str, case: Case = CASE, **options: str) -> LaunchPlan:
    path = folder / "my.cu"
    path.write_text(text)
    kernel = read_own_kernel(CuFile(path, **options))
    operation = catalog().operations[case.operation]
    made = kernel.implementation("my", operation).plan(case, H200)
    assert isinstance(made, LaunchPlan)
    return made


def mistake(folder: Path, text: str, case: Case = CASE, **options: str) -> str:
    with pytest.raises(InputError) as raised:
        plan(folder, text, case, **options)
    return str(raised.value).replace(str(folder / "my.cu"), "my.cu")


@pytest.mark.parametrize(
    ("text", "value"),
    [("rows", 12), ("ceil(n / 256)", 15), ("(n + 255) // 256", 15), ("min(columns, 1024)", 300), ("max(1, 2, 3)", 3),
     ("-rows + 4 * 5", 8), ("columns % 7", 6), ("n / rows", 300), ("1.5 * 2", 3)],
)  # fmt: skip
def test_arithmetic_is_exact(text: str, value: int) -> None:
    (found,) = parse_expression(text, "--grid")
    assert found.whole({"rows": 12, "columns": 300, "n": 3600}) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("row", "--grid: 'row': unknown name 'row'; did you mean 'rows'?"),
        ("n / 256", "--grid: 'n / 256': is 14.0625; round up with ceil(a / b), or down with a // b"),
        ("0.5", "--grid: '0.5': is no whole number; give an integer"),
        ("-1.5", "--grid: '-1.5': is no whole number; give an integer"),
        ("n // 0", "--grid: 'n // 0': divides by zero"),
        ("n * n * n * n * n * n * n", "is beyond 2^63"),
        ("n ** 2", "--grid: 'n ** 2': is not made of numbers, names, + - * / // %"),
        ("abs(n)", "'abs(n)': is not made of"),
        ("ceil(1, 2)", "ceil() takes one value, min() and max() several"),
        ("n.real", "is not made of"),
        ("1e400", "is not made of"),
        ("rows if n else 1", "is not made of"),
        ("__import__('os')", "cannot be read; expected numbers"),
        ("rows +", "cannot be read"),
        ("(" * 150, "cannot be read"),
        ("9" * 201, "cannot be read"),
        (" ", "cannot be read"),
    ],
)
def test_what_is_no_arithmetic_is_told(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_expression(text, "--grid")[0].whole({"rows": 12, "n": 3600})
    assert said in str(raised.value)


def test_functions_are_found_with_their_parameters() -> None:
    text = """
    // __global__ void commented(int a) {}
    template <typename T> __global__ void t(const T* x) {}
    __device__ float helper(float a) { if (a > 0) { return a; } return 0; }
    extern "C" __global__ void __launch_bounds__(256) k(const __half* __restrict__ x, float y[], unsigned int n,
                                                        std::size_t m /* , int b */, float4* v) {}
    extern "C" { __global__ void in_block(void) {} }
    extern "C" int launch(const float* x, cudaStream_t stream) { k<<<1, 1, 0, stream>>>(x); return 0; }
    """
    found = {one.name: one for one in defined_functions(text)}
    assert {name for name, one in found.items() if one.callable} == {"k", "in_block", "launch"}
    assert found["t"].template
    assert [(one.name, one.dtype, one.pointer) for one in found["k"].parameters] == [
        ("x", "float16", True), ("y", "float32", True), ("n", "uint32", False), ("m", "int64", False), ("v", "", True),
    ]  # fmt: skip
    assert found["in_block"].parameters == ()
    assert found["launch"].launcher


def test_a_plan_is_made_from_two_lines_of_the_file(tmp_path: Path) -> None:
    arguments = ("x", "y", Scalar("int32", 12), Scalar("int64", 300), Scalar("float32", 0.5))
    expected = (Launch("k", (12, 1, 1), (256, 1, 1), arguments),)
    assert plan(tmp_path, TWO_LINES + KERNEL).launches == expected
    assert plan(tmp_path, KERNEL, grid="rows", block="256").launches == expected
    assert plan(tmp_path, "// grid: 1\n// block: 1\n" + KERNEL, grid="rows", block="256").launches == expected


def test_grid_and_block_have_up_to_three_extents_and_know_each_other(tmp_path: Path) -> None:
    (launch,) = plan(tmp_path, KERNEL, grid="ceil(n / block), sms", block="32, 8", shared="4 * block").launches
    assert (launch.grid, launch.block, launch.shared_bytes) == ((15, H200.multiprocessors, 1), (32, 8, 1), 1024)
    assert "grid takes at most 3 values, got 4" in mistake(tmp_path, KERNEL, grid="1, 1, 1, 1", block="1")


def test_the_lines_nearest_above_a_kernel_are_its_own(tmp_path: Path) -> None:
    text = TWO_LINES + KERNEL + "// grid: 7\n// block: 32\n" + KERNEL.replace("void k", "void second")
    assert plan(tmp_path, text, entry="k").launches[0].grid == (12, 1, 1)
    assert plan(tmp_path, text, entry="second").launches[0].grid == (7, 1, 1)
    assert "has 2 kernels: choose one with --entry: k, second" in mistake(tmp_path, text)


def test_arrays_go_by_their_names_or_in_order_and_args_overrule(tmp_path: Path) -> None:
    def arguments(parameters: str, **options: str) -> tuple[object, ...]:
        text = f'{TWO_LINES}extern "C" __global__ void k({parameters}) {{}}\n'
        return plan(tmp_path, text, **options).launches[0].arguments

    assert arguments("float* y, const float* x") == ("y", "x")
    assert arguments("const float* in, float* out, int n") == ("x", "y", Scalar("int32", 3600))
    assert arguments("int seq, const float* in, float* out") == (Scalar("int32", 300), "x", "y")
    assert arguments("float* a, float* b, int z", args="y, x, rows * 2") == ("y", "x", Scalar("int32", 24))
    assert arguments("float* a, float* b, float z", args="x, y, 0.25")[2] == Scalar("float32", 0.25)


@pytest.mark.parametrize(
    ("parameters", "options", "said"),
    [
        ("const float* x", {}, "k takes 1 arrays, but softmax has 2 here: x, y. Take them in this order"),
        ("const float* x, float* y, int lenght", {}, "k takes 'lenght', whose value is not known. Say what each"),
        ("const float* x, float* y, int colums", {}, "or rename it; did you mean 'columns'?"),
        ("const float* x, float* y, Size n", {}, "k takes 'n' as 'Size'; expected int, long long or float"),
        ("const float* x, float* y", {"args": "x"}, "--args: 1 arguments, but k takes 2: x, y"),
        ("const float* x, float* y", {"args": "x, z"}, "y of k is a pointer, and 'z' no array; expected one of x, y"),
        ("const float* x, float* y", {"grid": "row"}, "--grid: 'row': unknown name 'row'; did you mean 'rows'?"),
        ("const float* x, float* y", {"block": "n / 7"}, "--block: 'n / 7': is 514.286; round up with ceil"),
        (
            "const float* x, float* y, int columns",
            {"args": "x, y, 0.5"},
            "--args: '0.5': is no whole number, but columns of k has type int: give an integer, or declare it as float",
        ),
        ("const float* x, float* y", {"shared": "1, 2"}, "--shared: shared takes at most 1 values, got 2"),
    ],
)
def test_a_mistake_of_the_launch_says_what_to_write(
    parameters: str, options: dict[str, str], said: str, tmp_path: Path
) -> None:
    text = f'{TWO_LINES}extern "C" __global__ void k({parameters}) {{}}\n'
    assert said in mistake(tmp_path, text, **options)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (KERNEL, {}, "my.cu: how is k launched? There is no grid and no block. Write above it\n  // grid: rows\n"),
        ("// grid: rows\n" + KERNEL, {}, "There is no block."),
        (TWO_LINES + KERNEL, {"entry": "kk"}, "--entry kk: my.cu defines no such function; did you mean 'k'?"),
        ("int a;\n", {}, 'my.cu: no kernel here; expected extern "C" __global__ void NAME(...)'),
        ("__global__ void k(float* x) {}", {}, 'Write\n  extern "C" __global__ void k(...)'),
        ("template <typename T> __global__ void k(T* x) {}", {}, "k is a template, which has no name in the binary."),
        ("void go(float* x) { k<<<1, 1>>>(x); }", {"entry": "go"}, 'extern "C" int go(..., cudaStream_t stream)'),
        ("// grid: rows!\n// block: 1\n" + KERNEL, {}, "my.cu:1: grid: 'rows!' cannot be read"),
    ],
)
def test_a_mistake_of_the_file_says_what_to_write(
    text: str, options: dict[str, str], said: str, tmp_path: Path
) -> None:
    assert said in mistake(tmp_path, text, **options)


@pytest.mark.parametrize("text", ["/*", '\\"', "f(){", "f(", "//grid:\n", 'extern "C" ', "__global__ ", "<", " "])
def test_a_hostile_file_is_read_in_little_time(text: str, tmp_path: Path) -> None:
    path = tmp_path / "my.cu"
    path.write_text(text * (2**20 // len(text)))
    began = time.process_time()
    with pytest.raises(InputError):
        read_own_kernel(CuFile(path))
    assert time.process_time() - began < 5


def test_what_is_no_file_of_cuda_code_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.cu: cannot be read \(No such file"):
        read_own_kernel(CuFile(tmp_path / "absent.cu"))
    with pytest.raises(InputError, match=r"my\.c: expected a file of CUDA code that ends in \.cu"):
        read_own_kernel(CuFile(tmp_path / "my.c"))


def test_cases_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"x is float16, and k takes float\*"):
        plan(tmp_path, TWO_LINES + KERNEL, Case("softmax", (4, 8), -1, "float16"))
    with pytest.raises(Unsupported, match="axis must be the last"):
        plan(tmp_path, TWO_LINES + KERNEL, Case("softmax", (4, 8), 0, "float32"))


def test_host_code_launches_by_itself(tmp_path: Path) -> None:
    text = 'extern "C" int go(const float* x, float* y, int rows, int columns, cudaStream_t stream) { return 0; }\n'
    made = plan(tmp_path, text)
    assert made.host is not None
    assert (made.host.entry, made.launches) == ("go", ())
    assert made.host.arguments == ("x", "y", Scalar("int32", 12), Scalar("int32", 300))
    assert "--grid: go launches by itself; leave it out" in mistake(tmp_path, text, grid="rows")


@pytest.mark.parametrize(
    ("file", "name"),
    [("My Softmax.cu", "my_softmax"), ("naive.cu", "my_naive"), ("<b>.cu", "b"), ("2.cu", "my_2"), ("-.cu", "my"),
     ("$(touch x);.cu", "touch_x"), ("a" * 90 + ".cu", "a" * 40), ("é.cu", "my")],
)  # fmt: skip
def test_a_file_name_becomes_a_free_name(file: str, name: str) -> None:
    assert free_name(Path(file), {"naive"}) == name


def test_a_kernel_that_is_not_named_after_its_file_is_told_why() -> None:
    taken = "naive.cu is named my_naive here, because softmax already has a kernel naive."
    assert renamed_text(Path("own/single.cu"), "single", "softmax") == ""
    assert renamed_text(Path("own/naive.cu"), "my_naive", "softmax", ["ft"]) == taken
    only = " --only naive selects that kernel, and my_naive is added to it."
    assert renamed_text(Path("own/naive.cu"), "my_naive", "softmax", ["naive"]) == taken + only
    letters = "2-k\x1b.cu is named my_2_k here: names begin with a letter and have up to 40 letters a-z, digits and _."
    assert renamed_text(Path("2-k\x1b.cu"), "my_2_k", "softmax") == letters.replace("\x1b", "\\x1b")
