"""Kernels on several GPUs: the least time first, and in a sentence."""

from __future__ import annotations

from dataclasses import replace

from workbench.report import Kernel, Report, Table
from workbench.report.machine_rows import MatrixCell
from workbench.views.document import document


def compared() -> Report:
    kernels = [Kernel("k0", "a", "triton", "i0"), Kernel("k1", "b", "triton", "i0", calls=2)]
    cells = [
        MatrixCell(kernel, target, f"{kernel}:{target}", registers=registers, bound_us=bound)
        for kernel, target, registers, bound in (
            ("k0", "a100", 20, 2.0),
            ("k0", "h100", 20, 1.0),
            ("k1", "a100", 40, 4.0),
            ("k1", "h100", 20, 2.0),
        )
    ]
    tables = {"kernels": Table.of(Kernel, kernels), "matrix": Table.of(MatrixCell, cells)}
    return Report(tables=tables)


def test_the_bound_is_the_first_figure() -> None:
    columns = [column["key"] for column in document(compared())["columns"]["matrix"]]
    assert columns[:3] == ["kernel", "target", "bound_us"]


def test_a_sentence_says_the_least_time_of_a_call_on_each_gpu_the_least_first() -> None:
    says = document(compared())["matrix_says"]
    assert says.startswith(
        "2 Triton kernels take at least 5.00 µs on h100, 10.0 µs on a100 (estimates)."
    )
    assert "k1 differs most between GPUs, in " in says
    assert document(Report())["matrix_says"] == ""


def test_of_many_gpus_the_sentence_names_the_ends_and_equal_errors_once() -> None:
    """As seen at 900 px: three lines that repeat the row of totals below them."""
    report = compared()
    more = [
        replace(cell, target=target, bound_us=times * (cell.bound_us or 0.0))
        for target, times in (("t4", 4), ("l4", 2))
        for cell in report.matrix
        if cell.target == "a100"
    ]
    cells = [replace(cell, modelled_us=cell.bound_us) for cell in [*report.matrix, *more]]
    told = replace(report, tables={**report.tables, "matrix": Table.of(MatrixCell, cells)})
    assert document(told)["matrix_says"].startswith(
        "2 Triton kernels take at least 5.00 µs on h100 to 40.0 µs on t4 (estimates). "
        "Modelled: 5.00 µs on h100, 10.0 µs on a100, 20.0 µs on l4 and 40.0 µs on t4 (error not "
        "measured)."
    )


def test_the_sentence_says_of_which_part_of_the_program_it_is() -> None:
    """A library call has no place in it, and may take most of the time."""
    report = compared()
    kernels = [*report.kernels, Kernel("k2", "extern_kernels.mm", "extern", "i0")]
    tables = {**report.tables, "kernels": Table.of(Kernel, kernels)}
    says = document(replace(report, tables=tables))["matrix_says"]
    assert says.startswith("2 Triton kernels of 3 take at least 5.00 µs on h100")


def test_modelled_times_stand_beside_the_bounds_with_what_was_not_measured() -> None:
    report = compared()
    cells = [
        replace(cell, modelled_us=2 * (cell.bound_us or 1.0), modelled_error=error)
        for cell, error in zip(report.matrix, (None, 0.2) * 2, strict=True)
    ]
    told = replace(report, tables={**report.tables, "matrix": Table.of(MatrixCell, cells)})
    assert (
        "(estimates). Modelled: 10.0 µs on h100 (± 20 %), 20.0 µs on a100 (error not measured). "
        in (document(told)["matrix_says"])
    )
