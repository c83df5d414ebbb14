"""A tensor without its data, and tensors made of such a description."""

from __future__ import annotations

import pickle

import torch

from workbench.compiler.internals.tensor_like import TensorLike


def test_a_description_says_how_a_tensor_lies() -> None:
    like = TensorLike.of(torch.zeros(4, 6)[1:, ::2])
    assert (like.shape, like.stride, like.offset) == ((3, 3), (6, 2), 6)
    assert like == pickle.loads(pickle.dumps(like))
    assert like.span == (2 * 6 + 2 * 2 + 1) * 4
    assert TensorLike((0, 3), (3, 1), torch.float32).span == 0
    assert TensorLike.named((2,), (1,), "int8", "meta").empty().device.type == "meta"


def test_a_tensor_is_found_again_in_its_storage() -> None:
    whole = torch.arange(24.0).reshape(4, 6)
    part = whole[1:, ::2]
    seen = TensorLike.of(part).view(whole.untyped_storage())
    torch.testing.assert_close(seen, part)
    seen[0, 0] = -1.0
    assert whole[1, 0] == -1.0


def test_kind_gradient_and_marks_come_back() -> None:
    x = torch.nn.Parameter(torch.zeros(2, 3), requires_grad=False)
    torch._dynamo.mark_dynamic(x, 0)
    made = (like := TensorLike.of(x)).dressed(like.empty())
    assert isinstance(made, torch.nn.Parameter)
    assert not made.requires_grad
    assert made._dynamo_dynamic_indices == {0}
    made = (like := TensorLike.of(torch.zeros(2, requires_grad=True))).dressed(like.empty())
    assert made.requires_grad
    buffer = (like := TensorLike.of(torch.nn.Buffer(torch.zeros(1)))).dressed(like.empty())
    assert isinstance(buffer, torch.nn.Buffer)
