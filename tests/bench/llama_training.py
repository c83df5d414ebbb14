"""Llama 3.1 as torchtitan trains it: FSDP in bf16, whose parameters and gradients are float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)


@dataclass(frozen=True)
class Sizes:
    """Those of one model."""

    width: int
    hidden: int
    heads: int
    layers: int
    kv_heads: int = 8
    vocabulary: int = 128_256


LLAMA_8B = Sizes(4096, 14336, 32, 32)

_aten = torch.ops.aten
_KEPT = {
    _aten.mm.default,
    _aten._scaled_dot_product_efficient_attention.default,
    _aten._scaled_dot_product_flash_attention.default,
    _aten._scaled_dot_product_cudnn_attention.default,
}


def _keep_every_second_product() -> Any:
    """torchtitan's selective checkpointing of operators: attention and every second product."""
    products = {True: 0, False: 0}

    def choose(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        again = context.is_recompute
        if op == _aten.mm.default:
            products[again] += 1
        is_left = op == _aten.mm.default and products[again] % 2 == 0
        is_kept = op in _KEPT and not is_left
        return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(choose)


def _turn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary positions of `[batch, seq, heads, width]`, in float32."""
    one, other = x.float().chunk(2, -1)
    return torch.cat([one * cos - other * sin, other * cos + one * sin], -1).to(x.dtype)


class Layer(torch.nn.Module):
    """Attention with fewer keys than queries, and a gated product; `[batch, seq, width]`."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.head = sizes.width // sizes.heads
        self.repeats = sizes.heads // sizes.kv_heads
        keys = sizes.kv_heads * self.head
        linear = torch.nn.Linear
        self.wq, self.wk, self.wv, self.wo = (
            linear(sizes.width, to, bias=False) for to in (sizes.width, keys, keys, sizes.width)
        )
        self.w1, self.w3 = (linear(sizes.width, sizes.hidden, bias=False) for _ in range(2))
        self.w2 = linear(sizes.hidden, sizes.width, bias=False)
        self.before, self.between = (torch.nn.RMSNorm(sizes.width, eps=1e-5) for _ in range(2))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        y = self.before(x)
        q, k, v = (of(y).unflatten(-1, (-1, self.head)) for of in (self.wq, self.wk, self.wv))
        q, k = _turn(q, cos, sin), _turn(k, cos, sin)
        k, v = (each.repeat_interleave(self.repeats, 2) for each in (k, v))
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        # what torch of December 2024 chose
        y = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True)[0]
        x = x + self.wo(y.transpose(1, 2).flatten(2))
        y = self.between(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


@torch.library.custom_op("training::widen", mutates_args=())
def _widen(x: torch.Tensor) -> torch.Tensor:
    """An operator that no compiler fuses: torchtitan of 2024 did not compile its loss."""
    return x.float()


@torch.library.custom_op("training::narrow", mutates_args=())
def _narrow(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16()


@torch.library.custom_op("training::log_softmax", mutates_args=())
def _log_softmax(x: torch.Tensor) -> torch.Tensor:
    return F.log_softmax(x, -1)


@torch.library.custom_op("training::log_softmax_backward", mutates_args=())
def _log_softmax_backward(grad: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    return _aten._log_softmax_backward_data(grad, made, -1, torch.float32)


_widen.register_fake(lambda x: torch.empty_like(x, dtype=torch.float32))
_narrow.register_fake(lambda x: torch.empty_like(x, dtype=torch.bfloat16))
_log_softmax.register_fake(torch.empty_like)
_log_softmax_backward.register_fake(lambda grad, made: torch.empty_like(made))
_widen.register_autograd(lambda ctx, grad: _narrow(grad))
_log_softmax.register_autograd(
    lambda ctx, grad: _log_softmax_backward(grad, *ctx.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
)


class Llama(torch.nn.Module):
    """The loss of a step, of tokens and labels `[batch, seq]`."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.head = sizes.width // sizes.heads
        self.embedding = torch.nn.Embedding(sizes.vocabulary, sizes.width)
        self.layers = torch.nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.norm = torch.nn.RMSNorm(sizes.width, eps=1e-5)
        self.output = torch.nn.Linear(sizes.width, sizes.vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device).float()
        steps = torch.arange(0, self.head, 2, device=tokens.device).float() / self.head
        angles = torch.outer(places, 500_000.0**-steps)[:, None]
        cos, sin = angles.cos(), angles.sin()
        x = self.embedding(tokens)
        for layer in self.layers:
            x = checkpoint(
                layer, x, cos, sin,
                use_reentrant=False, context_fn=_keep_every_second_product,
            )  # fmt: skip
        x = self.output(self.norm(x)).flatten(0, 1)
        return F.nll_loss(_log_softmax(_widen(x)), labels.flatten())


class _Gathered(torch.nn.Module):
    """A float32 shard as the whole parameter in bf16, whose gradient is reduced in float32."""

    def forward(self, shard: Any) -> torch.Tensor:
        whole = shard.redistribute(
            placements=[Replicate()],
            forward_dtype=torch.bfloat16,
            backward_dtype=torch.float32,
        )
        return whole.to_local(grad_placements=[Partial("avg")])


def shard_in_bf16(module: torch.nn.Module, mesh: Any) -> torch.nn.Module:
    """FSDP as a parametrisation, with the dtypes of torchtitan's policy."""
    for part in list(module.modules()):
        for name, parameter in list(part.named_parameters(recurse=False)):
            shard = distribute_tensor(parameter.data, mesh, [Shard(0)], src_data_rank=None)
            setattr(part, name, torch.nn.Parameter(shard))
            torch.nn.utils.parametrize.register_parametrization(
                part, name, _Gathered(), unsafe=True
            )
    return module


def build_8b(mesh: Any) -> Any:
    """Two sequences of 8192 tokens on each GPU, with selective checkpointing of operators."""
    with torch.device("meta"):
        model = shard_in_bf16(Llama(LLAMA_8B), mesh)
        tokens = torch.empty(2, 8192, dtype=torch.long)
        return model, (tokens, tokens)
