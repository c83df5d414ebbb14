from __future__ import annotations

import re

import torch
from recording import weighted

import workbench as wb
from workbench.analysis.diff.report_comparison import is_same_code
from workbench.report import Report


def test_kernels_of_both_directions(trained: Report) -> None:
    assert {kernel.is_backward for kernel in trained.kernels} == {False, True}
    assert {kernel.language for kernel in trained.kernels} == {"cpp", "extern"}
    for kernel in trained.kernels:
        assert kernel.nodes
        assert kernel.lines
        assert kernel.ops
        assert kernel.scheduler_nodes
        assert kernel.bytes_read
        assert kernel.bytes_written


def test_a_generated_kernel_has_its_source(trained: Report) -> None:
    for kernel in trained.kernels:
        if kernel.language == "cpp":
            assert kernel.text is not None
            assert 'extern "C"' in trained.texts[kernel.text]
            wrapper = next(w for w in trained.wrappers if w.graph == kernel.graph)
            assert wrapper.text is not None
            assert kernel.name in trained.texts[wrapper.text]


def test_library_calls_have_flops_and_their_line(compiled_function: Report) -> None:
    calls = [k for k in compiled_function.kernels if k.language == "extern"]
    assert [call.flops for call in calls] == [2 * 8 * 16 * 16] * 2
    line = weighted.__code__.co_firstlineno + 1
    assert all(call.lines[0].endswith(f":{line}") for call in calls)


def test_links_lead_from_a_line_to_a_kernel_and_back(trained: Report) -> None:
    for kernel in trained.kernels:
        for id_ in (*kernel.lines, *kernel.nodes, *kernel.scheduler_nodes):
            assert kernel.id in trained.linked(id_)
            assert id_ in trained.linked(kernel.id)
        assert any(":" in id_ and id_.startswith("i") for id_ in trained.linked(kernel.id))


def test_buffers_know_who_writes_and_reads_them(trained: Report) -> None:
    kinds = {buffer.kind for buffer in trained.buffers}
    assert {"input", "output"} <= kinds
    nodes = {node.id for node in trained.scheduler_nodes}
    for buffer in trained.buffers:
        assert set(buffer.written_by) | set(buffer.read_by) <= nodes
        assert buffer.bytes is None or buffer.bytes > 0


def scaled(numbers: list[float]) -> Report:
    def scale(x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor(numbers)

    return wb.aot_compile(scale, (torch.ones(2, len(numbers)),), grad=False).report


def test_a_constant_is_told_by_what_it_holds() -> None:
    """Torch writes its address, so that two compilations of one program seemed to differ."""
    numbers = [float(number) for number in range(40)]
    first, again = scaled(numbers), scaled(numbers)
    (program,) = (first.texts[wrapper.text or ""] for wrapper in first.wrappers)
    assert re.search(r"_tensor_constant0 = None  # .*\(40,\) \(1,\) sha256 [0-9a-f]{12}\n", program)
    assert is_same_code(first, again)
    assert not is_same_code(first, scaled([*numbers[1:], 7.0]))
