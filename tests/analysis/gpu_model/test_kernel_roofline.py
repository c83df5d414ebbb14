"""Every kernel finds its roof: which rate, which bound, what is said where a number is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from workbench.analysis.gpu_model.kernel_roofline import add_measured, add_rooflines, rooflines
from workbench.report import Kernel, Node, Report, Request, Table, TextWriter
from workbench.report.machine_rows import KernelRoofline
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
DOT = "acc = tl.dot(a, b, acc)\nALLOW_TF32 : tl.constexpr = {}"


def node(target: str, dtype: str = "float32", shape: tuple[Any, ...] = (8, 8)) -> list[Node]:
    """A node `g0:n` and its only input `g0:x`, both of one dtype."""
    one = {"graph": "g0", "dtype": dtype, "shape": shape}
    x = Node(id="g0:x", name="x", op="placeholder", target="x", **one)
    return [
        x,
        Node(id="g0:n", name="n", op="call_function", target=target, inputs=("g0:x",), **one),
    ]


def row(
    nodes: list[Node], source: str = "", tf32: tuple[str, ...] = (), **kernel: Any
) -> KernelRoofline:
    texts = TextWriter()
    known = {"bytes_read": 3000, "bytes_written": 1000, "flops": 8000, "nodes": ("g0:n",)} | kernel
    language = "triton" if source else "extern"
    made = Kernel("k0", "kernel", language, "i0", text=texts.add(source), **known)
    report = Report(
        request=Request(tf32=tf32),
        tables={"kernels": Table.of(Kernel, [made]), "nodes": Table.of(Node, nodes)},
        texts=texts.finish(),
    )
    (found,) = rooflines(report, GPUS["h100"])
    return found


def test_a_loop_computes_on_vector_units() -> None:
    found = row(node("aten.relu.default", "bfloat16"), source="tl.store(out, x)")
    assert (found.kernel, found.target, found.rate) == ("k0", "h100", "vector.fp32")
    assert (found.moved_bytes, found.flops, found.intensity) == (4000, 8000, 2.0)
    assert found.bound == "memory"
    assert found.bound_us == pytest.approx(4000 / 3352e9 * 1e6)
    assert found.estimate
    assert found.note is None


@pytest.mark.parametrize(
    ("target", "dtype", "source", "tf32", "rate"),
    [
        ("aten.mm.default", "bfloat16", "", (), "matrix.bf16"),
        ("aten.mm.default", "float32", "", (), "vector.fp32"),
        ("aten.mm.default", "float32", "", ("products",), "matrix.tf32"),
        ("aten.convolution.default", "float32", "", ("convolutions",), "matrix.tf32"),
        ("aten.convolution.default", "float32", "", ("products",), "vector.fp32"),
        ("aten.mm.default", "float32", DOT.format(True), (), "matrix.tf32"),
        ("aten.mm.default", "float32", DOT.format(False), ("products",), "vector.fp32"),
        ("aten._scaled_mm.default", "float8_e4m3fn", DOT.format(False), (), "matrix.fp8"),
        ("aten._scaled_dot_product_flash_attention.default", "float16", "", (), "matrix.fp16"),
        ("aten.mm.default", "float64", "", (), "matrix.fp64"),
        ("aten.mm.default", "complex64", "", (), "vector.fp32"),
        ("aten.sin.default", "float64", "tl.store(out, x)", (), "vector.fp64"),
        ("aten.topk.default", "float16", "", (), "vector.fp32"),
    ],
)
def test_the_rate_is_that_of_the_units_and_the_dtype(
    target: str, dtype: str, source: str, tf32: tuple[str, ...], rate: str
) -> None:
    assert row(node(target, dtype), source, tf32).rate == rate


def test_what_is_not_known_is_said_and_the_rest_is_a_bound() -> None:
    mine = row(
        node("triton_kernel_wrapper_mutation"),
        source="tl.dot",
        flops=None,
        ops=("triton_kernel_wrapper_mutation",),
    )
    assert mine.note is not None
    assert mine.note.startswith("the operations of a kernel that the user wrote are not known")
    assert (mine.bound, mine.intensity) == (None, None)
    assert mine.bound_us == pytest.approx(4000 / 3352e9 * 1e6)
    lost = row(node("aten.mm.default"), bytes_read=None, bytes_written=None)
    assert lost.note == "the bytes that it moves are not known"
    assert lost.bound_us == pytest.approx(8000 / 67e12 * 1e6)
    nothing = row([], bytes_read=None, bytes_written=None, flops=None, ops=("aten.topk.default",))
    assert nothing.bound_us is None
    assert nothing.note is not None
    assert "aten.topk.default are not known" in nothing.note


def test_sizes_of_dynamic_shapes_are_those_of_the_example() -> None:
    found = row(node("aten.relu.default", shape=("s0", 8)), source="tl.store(out, x)")
    assert found.note == "with the sizes of the example inputs"


def test_numbers_are_those_of_one_call() -> None:
    found = row(node("aten.mm.default"), calls=4, time_us=12.0)
    assert (found.flops, found.measured_us) == (8000, 3.0)


def test_the_table_replaces_one_of_another_gpu(sample_report: Report) -> None:
    first = add_rooflines(sample_report, GPUS["h100"])
    second = add_rooflines(replace(first), GPUS["t4"])
    assert {found.target for found in second.roofline} == {"t4"}
    assert len(second.roofline) == len(sample_report.kernels)


def test_measured_times_stand_beside_the_bounds(sample_report: Report) -> None:
    placed = add_rooflines(sample_report, GPUS["h100"])
    timed = [replace(kernel, time_us=12.0, calls=2) for kernel in placed.kernels]
    found = add_measured(
        replace(placed, tables={**placed.tables, "kernels": Table.of(Kernel, timed)})
    )
    assert {row.measured_us for row in found.roofline} == {6.0}
    assert [row.bound_us for row in found.roofline] == [row.bound_us for row in placed.roofline]
    assert add_measured(sample_report) is sample_report or len(sample_report.roofline)
