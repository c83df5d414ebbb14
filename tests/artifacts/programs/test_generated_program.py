"""What the text of a generated program says of its memory."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import workbench as wb
from workbench.artifacts.programs import (
    Allocate,
    Call,
    Check,
    Clear,
    Drop,
    Event,
    Inputs,
    Note,
    Program,
    Retain,
    Return,
    Share,
    find_kernels,
    flatten,
    read_functions,
    read_program,
)
from workbench.artifacts.programs.size_text import count_strided_bytes


def read(body: str, more: str = "") -> Program:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    program = read_program(f"def call(args):\n{lines}\n{more}", {})
    assert program is not None
    return program


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ("a, b = args", [Inputs(("a", "b"))]),
        ("b = empty_strided_cpu((2, 3), (3, 1), torch.float32)", [Allocate("b", 24)]),
        ("b = empty_strided_cuda((2, 3), (8, 1), torch.bfloat16)", [Allocate("b", 22)]),
        ("b = empty_strided_cpu((0, 3), (3, 1), torch.float32)", [Allocate("b", 0)]),
        ("b = empty_strided_cpu((n,), (1,), torch.float32)", [Allocate("b", None)]),
        ("buf1 = buf0; del buf0  # reuse", [Share("buf1", "buf0"), Drop("buf0")]),
        ("b = reinterpret_tensor(a, (2,), (1,), 0)", [Share("b", "a")]),
        ("b = alloc_from_pool(pool0, 64, torch.int8, (2,), (1,))", [Share("b", "pool0")]),
        ("buf2 = buf1[1]", [Share("buf2", "buf1", 1)]),
        ("cpp_fused_add_0(a, b)", [Call("cpp_fused_add_0")]),
        ("triton_poi_0.run(a, 4, stream=stream0)", [Call("triton_poi_0")]),
        ("extern_kernels.mm(a, b, out=c)", [Call("extern_kernels.mm")]),
        ("buf1 = torch.ops.aten.sort.default(a)", [Call("torch.ops.aten.sort.default", "buf1")]),
        (
            "buf1 = aten.convolution_backward.default(a, b, [0], True, [False, True, False])",
            [Call("aten.convolution_backward.default", "buf1", absent=(0, 2))],
        ),
        (
            "buf1 = aten._scaled_dot_product_flash_attention.default(q, k, v, 0.0, True)",
            [Call("aten._scaled_dot_product_flash_attention.default", "buf1", absent=(2, 3, 4, 5))],
        ),
        (
            "buf1 = torch.ops.higher_order.graphsafe_run_with_rng_state("
            "aten._scaled_dot_product_flash_attention.default, q, k, v, 0.0, rng_state=s)",
            [
                Call(
                    "torch.ops.higher_order.graphsafe_run_with_rng_state",
                    "buf1",
                    absent=(2, 3, 4, 5),
                )
            ],
        ),
        ("stream0 = get_raw_stream(0)", []),
        ("assert_size_stride(a, (2,), (1,), 'input')", []),
        ("assert_size_stride_grouped((a, b), ((2,), (3,)), ((1,), (1,)), 'input')", []),
        ("assert_tensor_metadata(a, (2,), (1,), torch.int8, 'torch.ops.aten.sort.default')", []),
        (
            "return (buf1, reinterpret_tensor(c, (2,), (1,), 0), None, )",
            [Return(("buf1", "c", None))],
        ),
    ],
)
def test_a_line(line: str, events: list[Event]) -> None:
    assert list(read(line).events) == events


def test_open_sizes_are_those_of_the_example_in_the_text() -> None:
    program = read(
        "arg0_1, arg1_1 = args\n"
        "s77 = arg0_1\n"
        "buf0 = empty_strided_cpu((s77, 2*s77), (2*s77, 1), torch.float32)",
        "def get_args():\n"
        "    arg0_1 = 3\n"
        "    arg1_1 = rand_strided((3, 8), (8, 1), device='cpu', dtype=torch.float64)\n",
    )
    assert program.sizes["s77"] == 3
    assert program.input_bytes == {"arg1_1": 192}
    assert program.is_sized_by_hint
    assert Allocate("buf0", 72) in program.events


def test_a_part_runs_in_the_place_of_its_call() -> None:
    program = read(
        "a, = args\n"
        "partition0_args = [a]\n"
        "del a\n"
        "(buf0,) = self.partitions[0](partition0_args)\n"
        "return (buf0, )",
        "def partition_0(args):\n"
        "    a, = args\n"
        "    args.clear()\n"
        "    buf0 = empty_strided_cpu((2,), (1,), torch.int8)\n"
        "    kernel_0(a, buf0)\n"
        "    del a\n"
        "    return (buf0, )\n",
    )
    assert list(program.events) == [
        Inputs(("a",)),
        Retain(("a",)),
        Drop("a"),
        Clear(("a",)),
        Allocate("buf0", 2),
        Call("kernel_0"),
        Drop("a"),
        Return(("buf0",)),
    ]


def test_what_a_function_of_the_program_is_called_with_lives_until_then() -> None:
    program = read(
        "a, b = args\n"
        "layer0_args = [a, b, reinterpret_tensor(b, (1, ), (1, ), 0)]\n"
        "del a\n"
        "buf0 = layer0(layer0_args)\n"
        "buf1 = buf0[0]\n"
        "buf2 = buf0[1]\n"
        "del buf0\n"
        "return (buf1, buf2, )",
        "def layer0(args):\n"
        "    layer0_arg0, layer0_arg1, layer0_arg2 = args\n"
        "    args.clear()\n"
        "    layer0_buf0 = empty_strided_cpu((2,), (1,), torch.int8)\n"
        "    return (layer0_buf0, reinterpret_tensor(layer0_arg0, (1, ), (1, ), 0), None, )\n",
    )
    assert program.calls == 1
    assert list(program.events) == [
        Inputs(("a", "b")),
        Call("layer0", "buf0", (1, 2)),
        Share("buf0[1]", "a"),
        Drop("a"),
        Share("buf1", "buf0", 0),
        Share("buf2", "buf0[1]"),
        Drop("buf0[1]"),
        Drop("buf0"),
        Return(("buf1", "buf2")),
    ]


def test_a_check_that_only_raises_is_no_branch() -> None:
    assert read("if not (u0 >= 0):\n    raise RuntimeError('u0')").branches == 0


def test_a_loop_is_left_out_as_a_branch_is() -> None:
    assert read("while True:\n    buf0 = empty_strided_cpu((2,), (1,), torch.int8)").branches == 1


def test_a_branch_is_counted_and_left_out() -> None:
    program = read("if buf0.item():\n    kernel_0(a)")
    assert program.events == ()
    assert program.branches == 1


@pytest.mark.parametrize("text", ["#include <torch/torch.h>", "def other(): ...", "int main() {"])
def test_what_is_no_program_in_python(text: str) -> None:
    assert read_program(text, {}) is None


def test_a_type_that_is_not_known_has_no_size() -> None:
    assert count_strided_bytes((2,), (1,), "float3") is None


CALL_OF_SEVERAL_LINES = """\
buf0 = empty_strided_cpu((2, 3), (3, 1), torch.float32)
cpp_fused_add_0(
    reinterpret_tensor(a, (2,), (1,), 0),
    helper(a))
buf1 = empty_strided_cpu((2, 3), (3, 1), torch.float32)
return (
    buf1,
    reinterpret_tensor(buf0, (n*(2 // 1), 2), (2, 1), 0)
)
"""


def test_a_statement_of_several_lines_is_read_whole() -> None:
    assert read(CALL_OF_SEVERAL_LINES).events == (
        Allocate("buf0", 24),
        Call("cpp_fused_add_0"),
        Allocate("buf1", 24),
        Return(("buf1", "buf0")),
    )


@pytest.mark.parametrize(
    "line",
    [
        "f(a), g(b)",
        "return buf1",
        "return None",
        "del a[0]",
        "assert f(a)",
        "buf0.view[0] = a",
        "from torch import device",
    ],
)
def test_a_line_that_says_nothing_of_memory(line: str) -> None:
    assert read(line).events == ()


def test_brackets_and_comments_in_a_text_are_none() -> None:
    program = read("kernel('a) # ; (')  # (\nif a: raise RuntimeError('(')\ndel a; del b")
    assert program.events == (Call("kernel"), Drop("a"), Drop("b"))
    assert program.branches == 0


FUNCTION = """\
k0 = async_compile.triton('k0', '''
def call(args):
    buf9 = kernel(args)
''')

class Runner:
    def call(self, args):
        assert_size_stride(a, (2, s0), (s0, 1), 'input')
        with torch.cuda._DeviceGuard(0):
            buf0 = empty_strided_cuda((2, 2*s0), (2*s0, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [x]
            if s0 > 2:
                k0.run(a, reinterpret_tensor(buf0, (4, ), (1, ), 0), 4, stream=stream0)
            else:
                k1.run(a)
        return (buf0, )
"""


def test_a_kernel_has_the_lines_of_its_source() -> None:
    (kernel,) = find_kernels(f"\n\n{FUNCTION}")
    assert (kernel.name, kernel.language, kernel.arguments) == ("k0", "triton", "'k0', ")
    assert kernel.source == "\ndef call(args):\n    buf9 = kernel(args)\n"
    assert kernel.lines == range(3, 7)


def test_an_event_has_its_line_and_what_is_written_there() -> None:
    (function,) = read_functions(FUNCTION)
    check, made, note, launch, other, given = flatten(function.events)
    assert check == Check("a", (2, "s0"), ("s0", 1), is_input=True)
    assert isinstance(made, Allocate)
    assert (made.shape, made.dtype, made.device) == ((2, "2*s0"), "bfloat16", "cuda")
    assert note == Note("Topologically Sorted Source Nodes: [x]")
    assert isinstance(launch, Call)
    assert launch.split_arguments()[1:3] == ("reinterpret_tensor(buf0, (4, ), (1, ), 0)", "4")
    assert (other, given) == (Call("k1"), Return(("buf0",)))
    assert [each.line for each in flatten(function.events)] == [8, 10, 11, 13, 15, 16]


def test_programs_are_read_as_pythons_parser_reads_them() -> None:
    """Allocations, kernels and what is deleted, each with its line."""
    records = Path(__file__).parents[2] / "records"
    reports = [wb.Report.load(path) for path in sorted(records.glob("*.wbr"))]
    texts = [report.texts[row.text or ""] for report in reports for row in report.wrappers]
    assert len(texts) > 1
    for text in texts:
        functions = [f for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)]
        (call,) = (function for function in functions if function.name == "call")
        (read_,) = (function for function in read_functions(text) if function.name == "call")
        made, dropped = Counter[int](), Counter[int]()
        for node in ast.walk(call):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("empty_strided"):
                made[node.lineno] += 1
            elif isinstance(node, ast.Delete):
                dropped[node.lineno] += len(node.targets)
        assert sum(made.values()) > 0
        found = list(flatten(read_.events))
        assert Counter(e.line for e in found if isinstance(e, Allocate)) == made
        assert Counter(e.line for e in found if isinstance(e, Drop)) == dropped
