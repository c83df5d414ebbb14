"""FX nodes behind the lines of generated kernels, against labels made by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import workbench as wb
from tests.older_releases import since
from workbench.report import Report

X = (torch.randn(32, 64),)
PICKED = (*X, torch.tensor([1, 3, 2]))
RAGGED = (torch.randn(33, 37),)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.abs(), -1)


def layer_norm(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (64,)).sin()


def gelu_chain(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x).cos().tanh()


def reduction(x: torch.Tensor) -> torch.Tensor:
    return (x.exp() * 3).sum(-1) - 4


def two_outputs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a = torch.relu(x) + 1
    return a, x.exp() * a


def picked(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return x[rows].exp()


def masked(x: torch.Tensor) -> torch.Tensor:
    return F.pad(x.sin(), (1, 1)).cos()


def labels(report: Report) -> list[tuple[str, set[str]]]:
    """Every line of the generated kernels with the names of its nodes."""
    nodes = {(r.kernel, r.line): {n.split(":")[1] for n in r.nodes} for r in report.kernel_lines}
    found = []
    for kernel in report.kernels:
        text = report.texts[kernel.text] if kernel.text is not None else ""
        for number, line in enumerate(text.split("\n"), 1):
            found.append((line.strip(), nodes.get((kernel.id, number), set())))
    return found


BY_HAND: list[tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, set[str]]]] = [
    (
        softmax,
        X,
        {
            r"\.exp\(\)": {"exp"},
            r"maximum\(tmp_acc\d_vec, ": {"amax"},
            r"tmp_acc0_vec \+ tmp\d+;": {"sum_1"},
            r"= tmp\d+ / tmp\d+;": {"div"},
            r"= tmp\d+ - tmp\d+;": {"sub"},
            r"in_ptr0 \+": {"abs_1"},
            r"\.abs\(\)": {"abs_1"},
        },
    ),
    (
        layer_norm,
        X,
        {
            r"= tmp\d+ - tmp\d+;": {"sub", "var_mean"},
            r"1e-05": {"add"},
            r"\.sin\(\)": {"sin"},
            r"tmp_acc0_vec \+ tmp\d+;": {"var_mean"},
            r"std::sqrt|rsqrt": {"rsqrt"},
        },
    ),
    (
        gelu_chain,
        X,
        {
            r"\.erf\(\)": {"erf"},
            r"0\.5\)": {"mul"},
            r"0\.707": {"mul_1"},
            r"\(1\.0\)": {"add"},
            r"\.cos\(\)": {"cos"},
            r"\.tanh\(\)": {"tanh"},
            r"\.store\(out_ptr0": {"tanh"},
        },
    ),
    (
        reduction,
        RAGGED,
        {
            r"\.exp\(\)": {"exp"},
            r"\(3\.0\)": {"mul"},
            r"float tmp_acc0 = ": {"sum_1"},
            r"tmp_acc0_vec = (?!at)": {"sum_1"},
            r"\(4\.0\)": {"sub"},
        },
    ),
    (
        two_outputs,
        RAGGED,
        {
            r"loadu\(in_ptr0": {"relu", "exp"},
            r"clamp_min": {"relu"},
            r"\(1\.0\)": {"add"},
            r"store\(out_ptr0": {"add"},
            r"store\(out_ptr1": {"mul"},
            r"= tmp\d+ \* tmp\d+;": {"mul"},
            r"= tmp\d+ \+ tmp\d+;": {"add"},
        },
    ),
    (picked, PICKED, {r"\.exp\(\)|std::exp": {"exp"}, r"TORCH_CHECK": set()}),
    (masked, X, {r"\.sin\(\)|std::sin": {"sin"}, r"\.cos\(\)|std::cos": {"cos"}}),
]


@since("2.12", "other kernels than those read by hand")
@pytest.mark.parametrize(("function", "args", "expected"), BY_HAND)
def test_lines_by_hand(
    function: Callable[..., Any], args: tuple[Any, ...], expected: Mapping[str, set[str]]
) -> None:
    lines = labels(wb.aot_compile(function, args).report)
    for pattern, nodes in expected.items():
        found = [names for line, names in lines if re.search(pattern, line)]
        assert found, pattern
        assert set().union(*found) == nodes, pattern
        assert all(found) or not nodes, pattern


def test_backward_kernels_have_lines_too() -> None:
    x = torch.randn(8, 16, requires_grad=True)
    report = wb.aot_compile(lambda x: (x.sin().exp() * 2).sum(), (x,)).report
    backward = {k.id for k in report.kernels if k.is_backward}
    rows = [row for row in report.kernel_lines if row.kernel in backward]
    targets = {node.id: node.target for node in report.nodes}
    cosine = {
        targets[node]
        for row in rows
        for node in row.nodes
        if ".cos()" in source_line(report, row.kernel, row.line)
    }
    assert cosine == {"aten.cos.default"}


def source_line(report: Report, kernel: str, line: int) -> str:
    row = next(k for k in report.kernels if k.id == kernel)
    assert row.text is not None
    return report.texts[row.text].split("\n")[line - 1]


def test_loops_braces_and_indexing_belong_to_nobody() -> None:
    for line, names in labels(wb.aot_compile(picked, PICKED).report):
        if line.startswith(("for(", "{", "}", "#", "int tid", "if(")):
            assert not names, line


def test_every_line_names_only_nodes_of_its_kernel() -> None:
    report = wb.aot_compile(two_outputs, RAGGED).report
    kernels = {kernel.id: kernel for kernel in report.kernels}
    assert len(report.kernel_lines) > 0
    for row in report.kernel_lines:
        assert set(row.nodes) <= set(kernels[row.kernel].nodes)
    assert Report.from_json(report.to_json()).kernel_lines == report.kernel_lines


def two_layers(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return ((x.sin() * 2) @ w).sin() * 2


def test_every_call_of_a_kernel_that_is_used_again_is_behind_its_lines() -> None:
    args = (torch.rand(8, 8, requires_grad=True), torch.rand(8, 8, requires_grad=True))
    report = wb.aot_compile(two_layers, args).report
    (kernel,) = (k for k in report.kernels if k.language == "cpp" and not k.is_backward)
    assert kernel.calls == 2
    found = [names for line, names in labels(report) if ".sin()" in line]
    assert found
    assert all(names == {"sin", "sin_1"} for names in found)


def test_triton_kernels_with_a_loop_over_the_reduction() -> None:
    pytest.importorskip("triton")
    from tests.compiler.virtual_gpu.gpus import H100
    from workbench.compiler.internals import torch_private as tp
    from workbench.compiler.pipeline.pipeline import compile_ahead
    from workbench.compiler.request.compile_request import CompileRequest
    from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu

    def long_sum(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() * 2).sum(-1).exp()

    with (
        enter_virtual_gpu(H100, lambda choice, position: float(position)),
        tp.FAKE_TENSOR_MODE.get()(shape_env=tp.SHAPE_ENV.get()()),
    ):
        x = torch.empty(4096, 3000, device="cuda")
        report = compile_ahead(CompileRequest(long_sum, (x,))).report
    lines = labels(report)
    for pattern, nodes in (
        (r"tl_math\.sin", {"sin"}),
        (r"= tmp\d+ \* tmp\d+", {"mul"}),
        (r"^_tmp\d+ = tl\.(full|where)", {"sum_1"}),
        (r"= tl\.sum\(", {"sum_1"}),
        (r"libdevice\.exp|tl_math\.exp", {"exp"}),
        (r"^tl\.store\(", {"exp"}),
    ):
        found = [names for line, names in lines if re.search(pattern, line)]
        assert found, pattern
        assert all(names == nodes for names in found), pattern
