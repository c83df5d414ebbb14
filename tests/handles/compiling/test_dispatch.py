"""`target="h100"`: a full report, code that cannot be called, and a process that is as before."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import workbench as wb
from tests.compiler.virtual_gpu.model_cases import CASES
from workbench.analysis.gpu_model.matrix import Matrix
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler, keep_warm_worker
from workbench.errors import UsageError
from workbench.handles.compiling.dispatch import matrix as matrix_of
from workbench.handles.cross_compiled import CrossCompiled, compile_for_gpu
from workbench.report import Report
from workbench.specs import Catalogue

INPUTS = (torch.randn(64, 128), torch.randn(64, 128))
TARGETS = ["h100", "t4", "mi300x"]
H100 = Catalogue.built_in()["h100"]


def softmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu() * y, -1)


@pytest.fixture(scope="module")
def compiled() -> Any:
    seen: list[str] = []
    found = wb.aot_compile(
        softmax, INPUTS, target="h100", progress=lambda name, elapsed: seen.append(name)
    )
    assert seen
    yield found
    keep_warm_worker().close()


def test_the_report_is_full_and_can_be_kept(compiled: Any, tmp_path: Any) -> None:
    report = compiled.report
    assert compiled.target == report.request.target == "h100"
    assert repr(compiled).startswith("Compiled(softmax(x: float32 [64, 128] on cuda")
    assert {"graphs", "nodes", "guards", "kernels", "fusion", "phases"} <= set(report.tables)
    assert [kernel.language for kernel in report.kernels] == ["triton"]
    assert report.frame("resources").registers.min() > 8
    report.save(tmp_path / "h100.wbr")
    again = Report.load(tmp_path / "h100.wbr")
    assert list(again.assembly) == list(report.assembly)
    ptx = next(row for row in again.assembly if row.stage == "ptx")
    assert ".target sm_90a" in again.texts[ptx.text or ""]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c(*INPUTS), "was compiled for NVIDIA H100 80GB HBM3, whose code cannot run"),
        (lambda c: wb.profile(c, INPUTS), "Nothing can be measured on NVIDIA H100"),
    ],
)
def test_what_needs_the_device_is_refused(compiled: Any, ask: Any, words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        ask(compiled)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "h101"}, "target is 'h101': expected 'host', 'cpu', 'cuda' or a GPU"),
        ({"target": "h100", "backend": "eager"}, "needs backend 'inductor'"),
        ({"target": "h100", "options": {"cpp_wrapper": True}}, "cpp_wrapper builds a C"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.aot_compile(softmax, INPUTS, **options)
    with pytest.raises(wb.UsageError, match=words):
        wb.compile_async(softmax, INPUTS, **options)


def test_aliases_name_the_same_gpu() -> None:
    gpu = CompileOptions(target="h100-sxm").gpu
    assert gpu is not None
    assert gpu.name == "h100"


def test_this_process_is_as_before() -> None:
    toolkit, hip = torch.version.cuda, torch.version.hip
    wb.aot_compile(softmax, INPUTS, target="h100")
    assert (torch.version.cuda, torch.version.hip) == (toolkit, hip)
    assert not torch.cuda.is_available()
    with pytest.raises((RuntimeError, AssertionError)):
        torch.empty(1, device="cuda")
    here = wb.aot_compile(softmax, INPUTS)
    assert [kernel.language for kernel in here.report.kernels] == ["cpp"]
    torch.testing.assert_close(here(*INPUTS), softmax(*INPUTS))
    assert all(x.device.type == "cpu" for x in INPUTS)


def normalised(x: Tensor, w: Tensor) -> Tensor:
    return torch.relu(torch.softmax(x, -1) @ w + 1)


def elsewhere(
    fn: Any, args: tuple[Any, ...], worker: CrossCompiler, **options: Any
) -> CrossCompiled:
    return compile_for_gpu(
        CompileRequest(fn, args, options=CompileOptions(**options)), H100, worker=worker
    )


@pytest.fixture(scope="module")
def normalising(worker: CrossCompiler) -> CrossCompiled:
    return elsewhere(normalised, (torch.randn(64, 128), torch.randn(128, 64)), worker)


@pytest.fixture(scope="module")
def matrix(normalising: CrossCompiled, worker: CrossCompiler) -> Matrix:
    return matrix_of(normalising, None, TARGETS, worker=worker)


def test_every_triton_kernel_has_a_cell_for_each_gpu(
    normalising: CrossCompiled, matrix: Matrix
) -> None:
    kernels = [k.id for k in normalising.report.kernels if k.language == "triton"]
    assert len(kernels) == 2  # the product is a call of a library
    assert [(c.kernel, c.target) for c in matrix.report.matrix] == [
        (kernel, target) for kernel in kernels for target in TARGETS
    ]
    for cell in matrix.report.matrix:
        assert cell.note is None
        assert cell.estimate
        assert cell.registers
        assert cell.instructions
        assert cell.spills == 0
        assert cell.occupancy is not None
        assert cell.bound == "memory"
        assert cell.bound_us


def test_the_first_gpu_has_the_code_of_the_compilation(
    normalising: CrossCompiled, matrix: Matrix
) -> None:
    first: dict[str, Any] = {}
    for row in normalising.report.resources:
        first.setdefault(row.kernel, row)
    for cell in matrix.report.matrix:
        if cell.target == "h100":
            own = first[cell.kernel]
            assert (cell.choice, cell.registers, cell.instructions, cell.occupancy) == (
                own.choice,
                own.registers,
                own.instructions,
                own.occupancy,
            )


def test_the_code_of_each_cell_is_tied_to_the_source(matrix: Matrix) -> None:
    rows = {(row.config, row.stage): row for row in matrix.report.assembly}
    for cell in matrix.report.matrix:
        last = "amdgcn" if cell.target == "mi300x" else "sass"
        row = rows[cell.config, last]
        assert row.lines
        text = matrix.report.texts[row.text or ""]
        assert "/tmp" not in text
        assert Catalogue.built_in()[cell.target].arch in text or last == "sass"
    assert matrix.diff(cell.kernel, "h100", "t4").changed
    assert {row.target for row in matrix.report.roofline} == set(TARGETS)


def test_a_report_is_compiled_from_its_ttir_and_nothing_of_it_is_run(
    normalising: CrossCompiled, matrix: Matrix, worker: CrossCompiler, tmp_path: Path
) -> None:
    normalising.report.save(tmp_path / "r.wbr")
    again = matrix_of(Report.load(tmp_path / "r.wbr"), None, TARGETS, worker=worker)
    cells = {cell.config: cell for cell in again.report.matrix}
    for cell in matrix.report.matrix:
        if cells[cell.config].note is None:
            assert cells[cell.config].registers == cell.registers
        else:  # `exp` of NVIDIA's library stands in the TTIR
            assert cell.target == "mi300x"
            assert "calls the math library of NVIDIA" in str(cells[cell.config].note)
    rows = {(row.config, row.stage): row for row in again.report.assembly}
    before = {(row.config, row.stage): row for row in matrix.report.assembly}
    kernel = next(iter(cells.values())).kernel
    place = (f"{kernel}:t4", "ttir")
    assert rows[place].lines == before[f"{kernel}:h100", "ttir"].lines
    assert rows[f"{kernel}:t4", "ptx"].lines


def test_only_what_was_compiled_or_loaded_by_trust_is_run(
    normalising: CrossCompiled, worker: CrossCompiler
) -> None:
    looked_at = SimpleNamespace(report=normalising.report)  # as an inspection of a file has one
    found = matrix_of(looked_at, None, ["mi300x"], worker=worker)
    assert any("the kernel's TTIR calls" in str(cell.note) for cell in found.report.matrix)


def test_another_configuration_can_be_compared(
    normalising: CrossCompiled, worker: CrossCompiler
) -> None:
    rows = [r for r in normalising.report.resources if r.config.endswith(":c1")]
    chosen = {rows[0].kernel: rows[0].config}
    found = matrix_of(normalising, None, ["h100"], configs=chosen, worker=worker)
    cells = {cell.kernel: cell for cell in found.report.matrix}
    assert cells[rows[0].kernel].choice == rows[0].choice
    with pytest.raises(UsageError, match=r"has no configuration 'c9'. It has k\d+:c0"):
        matrix_of(normalising, None, ["h100"], configs={rows[0].kernel: "c9"}, worker=worker)


def test_progress_names_what_was_compiled(
    normalising: CrossCompiled, worker: CrossCompiler
) -> None:
    seen: list[str] = []
    matrix_of(normalising, None, ["t4"], progress=lambda name, _: seen.append(name), worker=worker)
    assert sorted(name.partition(" ")[2] for name in seen) == ["(1 of 2)", "(2 of 2)"]


def to_float8(x: Tensor) -> Tensor:
    return (x * 2).to(torch.float8_e4m3fn)


def test_a_kernel_that_a_gpu_cannot_have_gets_a_note(worker: CrossCompiler) -> None:
    found = matrix_of(
        elsewhere(to_float8, (torch.randn(64, 128),), worker), None, ["h100", "a100"], worker=worker
    )
    good, bad = found.report.matrix
    assert good.registers
    assert bad.registers is None
    assert str(bad.note).startswith(
        "Triton does not compile it for a100: type fp8e4nv not supported"
    )


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ([], "targets is empty: name at least one GPU"),
        ("a100", "targets is 'a100': expected a list of texts"),
        (["a101"], "GPU 'a101' is unknown. Did you mean"),
    ],
)
def test_targets_that_are_no_gpus_are_refused(targets: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        wb.matrix(normalised, (torch.randn(2, 2),), targets=targets)


def test_what_has_no_triton_kernels_is_refused(worker: CrossCompiler) -> None:
    with pytest.raises(UsageError, match="has only library calls, no Triton kernels"):
        matrix_of(elsewhere(torch.mm, (torch.randn(8, 8),) * 2, worker), None, ["a100"])
    on_cpu = wb.aot_compile(torch.relu, (torch.randn(8),), target="cpu")
    with pytest.raises(UsageError, match="was compiled for the CPU and has no Triton kernels"):
        wb.matrix(on_cpu, targets=["a100"])
    with pytest.raises(UsageError, match="Pass its example inputs too"):
        wb.matrix(torch.relu, targets=["a100"])
    with pytest.raises(UsageError, match="A int has no kernels"):
        wb.matrix(3, targets=["a100"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transformer", "kernels_of_the_user", "product_template"])
def test_cases_on_six_architectures(name: str, worker: CrossCompiler) -> None:
    fn, args = CASES[name].make()
    there = elsewhere(fn, args, worker, options=dict(CASES[name].inductor))
    targets = ["h100", "a100", "l4", "b200", "t4", "mi300x"]
    found = matrix_of(there, None, targets, worker=worker)
    assert len(found.report.matrix) % len(targets) == 0
    assert all(cell.registers for cell in found.report.matrix)


@pytest.mark.slow
def test_bfloat16_on_an_old_gpu_is_emulated_and_said(worker: CrossCompiler) -> None:
    x = torch.randn(64, 128, dtype=torch.bfloat16)
    found = matrix_of(elsewhere(torch.relu, (x,), worker), None, ["h100", "v100"], worker=worker)
    assert [cell.note is None for cell in found.report.matrix] == [True, False]
    assert "Inductor refuses to generate bfloat16 kernels" in str(found.report.matrix[1].note)


@pytest.mark.slow  # interrupts of a compilation: tests/compiler/virtual_gpu/test_interrupt.py
def test_an_interrupt_ends_the_comparison_at_once(normalising: CrossCompiled) -> None:
    own = CrossCompiler()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            matrix_of(normalising, None, TARGETS, progress=interrupt, worker=own)
        assert own.pid is None  # the next one starts another
    finally:
        own.close()
