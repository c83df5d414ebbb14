"""What the text of a generated program says of its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.memory import python_program
from workbench.analysis.memory.events import (
    Allocate,
    Call,
    Drop,
    Event,
    Give,
    Hold,
    LetGo,
    Program,
    Share,
    Take,
    count_strided_bytes,
)
from workbench.analysis.memory.line_events import read_line_events
from workbench.analysis.memory.python_program import read_python_program


def read(body: str, more: str = "") -> Program:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    program = read_python_program(f"def call(args):\n{lines}\n{more}")
    assert program is not None
    return program


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ("a, b = args", [Take(("a", "b"))]),
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
        ("stream0 = get_raw_stream(0)", []),
        ("assert_size_stride(a, (2,), (1,), 'input')", []),
        ("assert_size_stride_grouped((a, b), ((2,), (3,)), ((1,), (1,)), 'input')", []),
        ("assert_tensor_metadata(a, (2,), (1,), torch.int8, 'torch.ops.aten.sort.default')", []),
        (
            "return (buf1, reinterpret_tensor(c, (2,), (1,), 0), None, )",
            [Give(("buf1", "c", None))],
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
        Take(("a",)),
        Hold(("a",)),
        Drop("a"),
        LetGo(("a",)),
        Allocate("buf0", 2),
        Call("kernel_0"),
        Drop("a"),
        Give(("buf0",)),
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
        Take(("a", "b")),
        Call("layer0", "buf0", (1, 2)),
        Share("buf0[1]", "a"),
        Drop("a"),
        Share("buf1", "buf0", 0),
        Share("buf2", "buf0[1]"),
        Drop("buf0[1]"),
        Drop("buf0"),
        Give(("buf1", "buf2")),
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
    assert read_python_program(text) is None


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
        Give(("buf1", "buf0")),
    )


@pytest.mark.parametrize(
    "line",
    [
        "buf1 = f(a) + g(b)",
        "buf1 = f(a).view(b)",
        "f(a), g(b)",
        "f(a); del b",
        "kernel('a)')",
        "buf1 = s0",
        "buf1 = empty_strided_cpu((s0, 2), (2, 1), torch.float32)",
        "buf1 = empty_strided_cpu((2,), (1,), torch.float3)",
        "buf1 = aten.convolution_backward.default(a, [True, False])",
        "a = args",
        "return buf1",
        "return (buf1, f(a), )",
        "del a[0]",
        "b = as_strided(a, (2,), (1,))",
        "if buf0.item():",
    ],
)
def test_a_line_without_one_of_the_forms_is_left_to_the_parser(line: str) -> None:
    assert read_line_events(line, ()) is None


def test_a_name_of_a_number_is_no_memory() -> None:
    assert read_line_events("buf1 = buf0", ()) == (Share("buf1", "buf0"),)
    assert read_line_events("buf1 = buf0", ("buf0",)) is None


def test_lines_are_read_as_the_parser_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    records = Path(__file__).parents[2] / "records"
    reports = [wb.Report.load(path) for path in sorted(records.glob("*.wbr"))]
    texts = [report.texts[row.text or ""] for report in reports for row in report.wrappers]
    assert len(texts) > 1
    found = [read_python_program(text) for text in texts]
    assert all(found)
    monkeypatch.setattr(python_program, "read_line_events", lambda line, sizes: None)
    monkeypatch.setattr(python_program, "example", lambda line: None)
    assert [read_python_program(text) for text in texts] == found
