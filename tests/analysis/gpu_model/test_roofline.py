"""The bounds of kernels: which rate counts, and what is said where a number is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from workbench.analysis.gpu_model.roofline import (
    add_measured,
    add_rooflines,
    canonical,
    compute_roofline,
    find_peak_rate,
    rooflines,
)
from workbench.errors import UsageError
from workbench.report import Kernel, Node, Report, Request, Table, TextWriter
from workbench.report.machine_rows import KernelRoofline
from workbench.specs import DTYPES, Catalogue, Gpu

GPUS = Catalogue.built_in()


def test_a_pointwise_kernel_waits_for_memory() -> None:
    count = 1 << 26  # relu(x + 1) on 256 MiB: read once, written once
    found = compute_roofline(GPUS["a100"], moved_bytes=8 * count, flops=2 * count)
    assert found.bound == "memory"
    assert found.time_us == pytest.approx(8 * count / 2039e9 * 1e6)
    assert found.intensity == 0.25
    assert found.ridge == pytest.approx(19.5e12 / 2039e9)
    assert found.attainable_tflops == pytest.approx(0.25 * 2.039)
    assert found.estimate


def test_a_large_product_of_matrices_waits_for_tensor_cores() -> None:
    n = 8192
    found = compute_roofline(
        GPUS["h100"], moved_bytes=3 * n * n * 2, flops=2 * n**3, dtype="bf16", matrix=True
    )
    assert (found.bound, found.rate) == ("compute", "matrix.bf16")
    assert found.time_us == pytest.approx(2 * n**3 / 989.5e12 * 1e6)
    assert found.attainable_tflops == found.rate_tflops == 989.5


def test_the_bound_changes_at_the_ridge_point() -> None:
    gpu = GPUS["mi300x"]
    ridge = 1307.4e12 / 5300e9
    below, above = (
        compute_roofline(gpu, moved_bytes=1e9, flops=1e9 * ridge * part, dtype="fp16", matrix=True)
        for part in (0.99, 1.01)
    )
    assert (below.bound, above.bound) == ("memory", "compute")
    assert below.ridge == pytest.approx(ridge)


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
@pytest.mark.parametrize("matrix", [False, True])
def test_every_dtype_has_a_rate_on_every_gpu(gpu: Gpu, matrix: bool) -> None:
    for dtype in DTYPES:
        rate, tflops = find_peak_rate(gpu, dtype, matrix=matrix)
        assert rate is not None
        assert tflops is not None
        assert tflops > 0


@pytest.mark.parametrize(
    ("gpu", "dtype", "matrix", "rate"),
    [
        ("a100", "fp8", True, "matrix.fp16"),  # no unit: converted
        ("h100", "fp4", True, "matrix.fp16"),
        ("v100", "bf16", True, "vector.fp32"),  # neither a unit nor a conversion
        ("v100", "int8", True, "vector.fp32"),
        ("v100", "fp32", True, "vector.fp32"),  # no matrix unit for it
        ("mi300x", "fp32", True, "matrix.fp32"),
        ("mi355x", "tf32", True, "matrix.fp32"),
        ("rtx5090", "fp4", True, "matrix.fp4"),
        ("h100", "fp64", True, "matrix.fp64"),
        ("h100", "bf16", False, "vector.fp32"),  # what generated kernels compute in
        ("h100", "fp64", False, "vector.fp64"),
    ],
)
def test_which_units_count(gpu: str, dtype: str, matrix: bool, rate: str) -> None:
    assert find_peak_rate(GPUS[gpu], dtype, matrix=matrix)[0] == rate


def test_torchs_names_are_understood() -> None:
    names = ["torch.float32", "bfloat16", "torch.float8_e4m3fn", "torch.int8", "tf32"]
    assert [canonical(name) for name in names] == ["fp32", "bf16", "fp8", "int8", "tf32"]
    with pytest.raises(UsageError, match="'torch"):
        canonical("torch.bool")


def test_nothing_to_do_has_no_bound() -> None:
    found = compute_roofline(GPUS["t4"], moved_bytes=0, flops=0)
    assert (found.bound, found.time_us, found.intensity) == (None, 0.0, None)


def test_without_a_rate_only_the_memory_time_is_known() -> None:
    known = GPUS["h100"]
    unknown = Catalogue((known,)).adding("mine", {**limits(known), "bandwidth_gbs": 1000})["mine"]
    found = compute_roofline(unknown, moved_bytes=1e9, flops=1e12)
    assert (found.bound, found.time_us, found.compute_us) == (None, 1000.0, None)


def limits(gpu: Gpu) -> dict[str, object]:
    """Everything but the peak rates."""
    return {
        key: value
        for key, value in gpu.values().items()
        if "." not in key and value is not None and key != "name"
    }


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="negative"):
        compute_roofline(GPUS["h100"], moved_bytes=-1, flops=0)


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
    assert mine.note.startswith("the operation count of a hand-written kernel is unknown")
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
    assert found.note == "computed with the sizes of the example inputs"


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
