from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.apart.apart import SILENT, explain_apart, list_neighbours
from workbench.errors import UsageError
from workbench.report import Buffer, Kernel, Node, Report, SchedulerNode, Table

RECORDS = Path(__file__).parents[2] / "records"
UNET = Report.load(RECORDS / "convolutions.wbr")
BLOCK = Report.load(RECORDS / "block.wbr")
TRAINING = Report.load(RECORDS / "training.wbr")


def test_a_norm_behind_a_convolution_is_apart_twice_over() -> None:
    why = explain_apart(UNET, "k3", "k4")
    assert why.is_apart
    assert why.sentence == (
        "k3 is a library call (convolution): it reads and writes whole tensors, so nothing can be "
        "fused into it. k4 also needs the mean and variance of 2,048 values before it can use the "
        "first."
    )
    assert why.help is None


def test_a_norm_waits_for_the_last_value_of_its_group() -> None:
    why = explain_apart(UNET, "k6", "k4")
    assert why.sentence == (
        "k6 needs the mean and variance of 2,048 values, and k4 has it only after reading all of "
        "them. A fused kernel would have to keep all 8.19 kB, or read the values twice."
    )
    assert why.kernels == ("k4", "k6")
    assert why.words == ("op11_op12_op14_op15 and op18: no shared data",)
    assert why.pair is not None


def test_a_library_call_between_two_kernels_is_named() -> None:
    why = explain_apart(UNET, "k2", "k4")
    assert why.sentence.startswith("k3, a library call (convolution), runs between them.")
    assert why.concerned == ("k2", "k4", "k3")


def test_a_fallback_has_a_cure() -> None:
    why = explain_apart(BLOCK, "k4", "k6")
    assert why.sentence.startswith("k5, a fallback (`aten.topk.default`), runs between them.")
    assert (
        why.help == "Replace `aten.topk.default` with an operator that Inductor generates code for."
    )
    assert str(why) == f"{why.sentence} {why.help}"


def test_the_scheduler_reason_is_in_plain_words() -> None:
    why = explain_apart(TRAINING, "k7", "k9")
    assert why.sentence == (
        "No shared data. Both use buf10, but access it in different orders or parts. The scheduler "
        "found no memory access that fusion would save."
    )


def test_two_passes_are_two_programs() -> None:
    why = explain_apart(TRAINING, "k4", "k0")
    assert why.sentence.startswith("k0 belongs to the forward pass, k4 to the backward")


def test_lines_and_nodes_lead_to_their_kernels() -> None:
    lines = explain_apart(UNET, "L:s0:30", "L:s0:31")
    assert lines.sentence.startswith("k2, k6 and k8 compute parts of both. For k")
    nodes = explain_apart(UNET, "g7:convolution_1", "g7:var_mean_1")
    assert nodes.kernels == ("k3", "k4")
    assert nodes.sentence.startswith("Their nearest kernels are k3 and k4. k3 is a library")
    assert explain_apart(UNET, "g0:h", "k0").kernels  # of the graph that Dynamo captured


def test_what_one_kernel_computes_is_not_apart() -> None:
    why = explain_apart(UNET, "g7:exp", "g7:div")
    assert (why.is_apart, why.kernels) == (False, ("k2",))
    assert why.sentence == "They are fused: k2 computes both."


def test_what_has_no_kernel_says_so() -> None:
    why = explain_apart(UNET, "g7:output", "k0")
    assert (why.is_apart, why.kernels) == (False, ())
    assert why.sentence.startswith("output has no kernel: ")


def test_where_the_backend_is_silent_what_is_known_is_said_and_the_rest_is_not() -> None:
    kernels = [
        replace(kernel, name="cpp_fused_convolution", language="cpp")
        if kernel.id == "k3"
        else kernel
        for kernel in UNET.kernels
    ]
    tables = {**UNET.tables, "kernels": Table.of(type(kernels[0]), kernels)}
    why = explain_apart(replace(UNET, tables=tables), "k2", "k3")
    assert why.sentence.startswith("k3 reads 140 kB that k2 writes.")
    assert why.sentence.endswith(SILENT)


def laid_out(stride: tuple[int, ...], kind: str = "pointwise") -> Report:
    """Two kernels of one shape, the second in another layout; the first of a kind."""
    shape = (4, 8, 16)
    nodes = [
        Node("g0:a", "g0", "a", "call_function", "aten.relu.default", (), shape, (128, 16, 1)),
        Node("g0:b", "g0", "b", "call_function", "aten.neg.default", ("g0:a",), shape, stride),
    ]
    kernels = [
        Kernel("k0", "first", "triton", "i0", nodes=("g0:a",), scheduler_nodes=("i0:op0",)),
        Kernel("k1", "second", "triton", "i0", nodes=("g0:b",), scheduler_nodes=("i0:op1",)),
    ]
    buffer = Buffer(
        "i0:buf0",
        "i0",
        "buf0",
        "intermediate",
        shape,
        bytes=2048,
        written_by=("i0:op0",),
        read_by=("i0:op1",),
    )
    before = [SchedulerNode(f"i0:op{n}", "i0", f"op{n}", "after", kind) for n in range(2)]
    tables = {
        "nodes": Table.of(Node, nodes),
        "kernels": Table.of(Kernel, kernels),
        "buffers": Table.of(Buffer, [buffer]),
        "scheduler_nodes": Table.of(
            SchedulerNode, [before[0], replace(before[1], kind="pointwise")]
        ),
    }
    return Report(tables=tables)


def test_layouts_are_compared_where_the_backend_is_silent() -> None:
    said = explain_apart(laid_out((128, 1, 8)), "k0", "k1").sentence
    assert "k0 iterates over dimensions in the order 0, 1, 2, k1 in the order " in said
    assert "order 0, 2, 1; a loop nest has one order." in said
    assert said.endswith(SILENT)
    assert "In memory" not in explain_apart(laid_out((128, 16, 1)), "k0", "k1").sentence


def test_a_template_says_what_it_takes_in() -> None:
    said = explain_apart(laid_out((128, 16, 1), "template"), "k0", "k1").sentence
    assert "k0 is a template: only elementwise work on its result can be fused." in said


def test_kernels_without_common_data_would_save_nothing() -> None:
    bare = replace(UNET, tables={"kernels": UNET.kernels, "sources": UNET.sources})
    assert "would save no traffic" in explain_apart(bare, "k0", "k2").sentence


def test_neighbours_come_with_the_most_bytes_first() -> None:
    pairs = list_neighbours(UNET, 3)
    assert len(pairs) == 3
    assert all(pair.is_apart and pair.kernels == (pair.a, pair.b) for pair in pairs)


@pytest.mark.parametrize("id", ["k99", "L:s9:1", "L:s0:9999", "L:s0", "nonsense"])
def test_an_id_that_is_not_there_is_refused(id: str) -> None:
    with pytest.raises(UsageError, match=f"no line, node or kernel '{id}'"):
        explain_apart(UNET, id, "k0")


def test_the_record_answers_itself() -> None:
    assert UNET.why_apart("k3", "k4") == explain_apart(UNET, "k3", "k4")
