from __future__ import annotations

import pytest

from workbench.compiler.sources.dynamo_messages import (
    choose_hints,
    explain_refused_inputs,
    find_missing_kernel,
    parse_break_message,
)

HEAD = "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node "


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "with fake tensors: call_function <built-in method cat of type object at 0x7f>"
            "(*([FakeTensor(..., size=(2, 3)), FakeTensor(..., size=(2, 4))],), **{}): got "
            "RuntimeError('Sizes of tensors must match')\n  Hint: x",
            "cat does not take tensors of shapes [2, 3] and [2, 4]: Sizes of tensors must match",
        ),
        (
            "with fake tensors: call_method view(*(FakeTensor(..., size=(6,)), 3, 5), **{}): got "
            "RuntimeError(\"shape '[3, 5]' is invalid for input of size 6\")",
            "view does not take a tensor of shape [6]: shape '[3, 5]' is invalid for input of "
            "size 6",
        ),
        (
            "with fake tensors: call_function <function embedding at 0x7f>(*(FakeTensor(..., "
            "size=(2, 3), dtype=torch.int8), FakeTensor(..., size=(3, 4))), **{}): got "
            "TypeError('no.')",
            "embedding does not take tensors of shapes [2, 3] of int8 and [3, 4]: TypeError: no",
        ),
    ],
)
def test_an_operator_that_refuses_its_inputs_is_named_with_their_shapes(
    message: str, words: str
) -> None:
    assert explain_refused_inputs(HEAD + message) == words
    found = parse_break_message(HEAD + message)
    assert found.explanation == f"During tracing, {words}."
    assert not found.hints


def test_another_message_is_none_of_these() -> None:
    assert explain_refused_inputs("Unsupported Tensor.backward() call\n  Explanation: no") is None
    assert find_missing_kernel("Unsupported Tensor.backward() call\n  Explanation: no") is None


def test_an_operator_without_a_kernel_is_not_blamed_on_the_inputs() -> None:
    message = HEAD + (
        "with fake tensors: call_function <built-in method gru_cell of type object at 0x7f>"
        "(*(FakeTensor(..., size=(2, 8)), FakeTensor(..., size=(2, 8))), **{}): got "
        "NotImplementedError('could not find kernel for aten._thnn_fused_gru_cell.default at "
        "dispatch key DispatchKey.CPU')"
    )
    assert explain_refused_inputs(message) is None
    found = parse_break_message(message)
    assert (
        "neither a kernel nor a fake implementation of aten._thnn_fused_gru_cell.default"
        in found.explanation
    )
    assert "without compiling" not in found.explanation
    assert not found.hints


def test_hints_that_help_nobody_are_left_out_or_replaced() -> None:
    hints = [
        "It may be possible to write Dynamo tracing rules for this code. Please report an issue to "
        "PyTorch if you encounter this graph break often.",
        "Make sure fullgraph=False and error_on_graph_break=False.",
        "Enable compiled autograd by setting torch._dynamo.config.compiled_autograd = True.",
        "Move the call outside.",
    ]
    hook, kept = choose_hints(hints)
    assert hook.startswith("Remove the backward hook from the compiled module")
    assert kept == "Move the call outside."
