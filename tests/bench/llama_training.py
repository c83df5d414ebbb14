"""Llama 3.1 as torchtitan trains it: FSDP in bf16, whose parameters and gradients are float32.

With tensor parallelism tokens lie on its ranks between the products: each layer gathers them
before its products and scatters their sums behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.distributed import _functional_collectives as functional
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
LLAMA_70B = Sizes(8192, 28672, 64, 80)


@dataclass(frozen=True)
class Split:
    """The ranks of tensor parallelism, of which each has a part of every product; one has all."""

    group: Any = None
    ranks: int = 1

    def gather(self, x: torch.Tensor) -> torch.Tensor:
        """All tokens of `[batch, seq / ranks, width]`."""
        if self.group is None:
            return x
        return functional.all_gather_tensor_autograd(x, 1, self.group)

    def scatter(self, x: torch.Tensor) -> torch.Tensor:
        """The own tokens of the sum of `[batch, seq, width]` over the ranks."""
        if self.group is None:
            return x
        return functional.reduce_scatter_tensor_autograd(x, "sum", 1, self.group)


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

    def __init__(self, sizes: Sizes, split: Split) -> None:
        super().__init__()
        self.head = sizes.width // sizes.heads
        self.repeats = sizes.heads // sizes.kv_heads
        self.split = split
        linear = torch.nn.Linear
        queries, keys, hidden = (
            size // split.ranks for size in (sizes.width, sizes.kv_heads * self.head, sizes.hidden)
        )
        self.wq, self.wk, self.wv = (
            linear(sizes.width, to, bias=False) for to in (queries, keys, keys)
        )
        self.wo = linear(queries, sizes.width, bias=False)
        self.w1, self.w3 = (linear(sizes.width, hidden, bias=False) for _ in range(2))
        self.w2 = linear(hidden, sizes.width, bias=False)
        self.before, self.between = (torch.nn.RMSNorm(sizes.width, eps=1e-5) for _ in range(2))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        y = self.split.gather(self.before(x))
        q, k, v = (of(y).unflatten(-1, (-1, self.head)) for of in (self.wq, self.wk, self.wv))
        q, k = _turn(q, cos, sin), _turn(k, cos, sin)
        k, v = (each.repeat_interleave(self.repeats, 2) for each in (k, v))
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        # what torch of December 2024 chose
        y = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True)[0]
        x = x + self.split.scatter(self.wo(y.transpose(1, 2).flatten(2)))
        y = self.split.gather(self.between(x))
        return x + self.split.scatter(self.w2(F.silu(self.w1(y)) * self.w3(y)))


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


@torch.library.custom_op("training::subtract", mutates_args=())
def _subtract(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x - y


@torch.library.custom_op("training::exp", mutates_args=())
def _exp(x: torch.Tensor, after: torch.Tensor | None = None) -> torch.Tensor:
    """`after`: a gradient, without which it could be computed in the forward."""
    return x.exp()


@torch.library.custom_op("training::add", mutates_args=())
def _add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


@torch.library.custom_op("training::multiply", mutates_args=())
def _multiply(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * y


@torch.library.custom_op("training::mark", mutates_args=())
def _mark(like: torch.Tensor, labels: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Minus one at each label that is the rank's own, zero elsewhere; `after` as in `_exp`."""
    is_own = (labels >= 0) & (labels < like.shape[-1])
    marks = torch.where(is_own, -1.0, 0.0)[:, None]
    return torch.zeros_like(like).scatter_(-1, labels.where(is_own, 0)[:, None], marks)


for _each in (_subtract, _exp, _add, _multiply, _mark):
    _each.register_fake(lambda x, *_: torch.empty_like(x))
_widen.register_fake(lambda x: torch.empty_like(x, dtype=torch.float32))
_narrow.register_fake(lambda x: torch.empty_like(x, dtype=torch.bfloat16))
_log_softmax.register_fake(torch.empty_like)
_log_softmax_backward.register_fake(lambda grad, made: torch.empty_like(made))
_widen.register_autograd(lambda ctx, grad: _narrow(grad))
_log_softmax.register_autograd(
    lambda ctx, grad: _log_softmax_backward(grad, *ctx.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
)


class _LossOfParts(torch.autograd.Function):
    """The loss of logits of which each rank has a part: torch's `loss_parallel`, step by step."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, labels: torch.Tensor, group: Any) -> torch.Tensor:
        x = _widen(x)
        shifted = _subtract(x, functional.all_reduce(x.amax(-1, keepdim=True), "max", group))
        total = functional.all_reduce(_exp(shifted).sum(-1, keepdim=True), "sum", group)
        logs = _subtract(shifted, total.log())
        ctx.save_for_backward(logs, labels)
        is_own = labels < logs.shape[-1]
        picked = logs.gather(-1, labels.where(is_own, 0)[:, None])[:, 0].where(is_own, 0.0)
        return functional.all_reduce(-picked, "sum", group).mean()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        logs, labels = ctx.saved_tensors
        each = _add(_mark(logs, labels, grad), _exp(logs, grad))
        return _narrow(_multiply(each, grad / labels.numel())), None, None


class Llama(torch.nn.Module):
    """The loss of a step, of tokens and labels `[batch, seq]`.

    `is_selective` keeps every second product of a layer for the backward, else its input alone. A
    rank has the embedding, and the logits, of its part of the vocabulary.
    """

    def __init__(self, sizes: Sizes, split: Split, *, is_selective: bool) -> None:
        super().__init__()
        self.head = sizes.width // sizes.heads
        self.split = split
        self.kept = {"context_fn": _keep_every_second_product} if is_selective else {}
        self.words = sizes.vocabulary // split.ranks
        self.embedding = torch.nn.Embedding(self.words, sizes.width)
        self.layers = torch.nn.ModuleList(Layer(sizes, split) for _ in range(sizes.layers))
        self.norm = torch.nn.RMSNorm(sizes.width, eps=1e-5)
        self.output = torch.nn.Linear(sizes.width, self.words, bias=False)

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device).float()
        steps = torch.arange(0, self.head, 2, device=tokens.device).float() / self.head
        angles = torch.outer(places, 500_000.0**-steps)[:, None]
        cos, sin = angles.cos(), angles.sin()
        x = self.split.scatter(self._embed(tokens))
        for layer in self.layers:
            x = checkpoint(
                layer, x, cos, sin, use_reentrant=False, preserve_rng_state=False, **self.kept
            )
        x = self.output(self.split.gather(self.norm(x))).flatten(0, 1)
        if self.split.group is not None:
            return _LossOfParts.apply(x, labels.flatten(), self.split.group)
        return F.nll_loss(_log_softmax(_widen(x)), labels.flatten())

    def _embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """The part of the first rank; zero for tokens of the others."""
        if self.split.group is None:
            return self.embedding(tokens)
        is_own = tokens < self.words
        return self.embedding(tokens.where(is_own, 0)) * is_own[..., None]


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
    return _build(LLAMA_8B, mesh, Split(), 2)


def build_8b_float8(mesh: Any) -> Any:
    """As `build_8b`, with torchao's float8 products, all but that of the output."""
    return _build(LLAMA_8B, mesh, Split(), 2, is_float8=True)


def build_70b(mesh: Any) -> Any:
    """16 sequences for the ranks of tensor parallelism, with full checkpointing."""
    return _build(LLAMA_70B, mesh, Split(mesh["tp"].get_group(), mesh["tp"].size()), 16)


def build_70b_float8(mesh: Any) -> Any:
    """As `build_70b`, with torchao's float8 products, all but that of the output."""
    split = Split(mesh["tp"].get_group(), mesh["tp"].size())
    return _build(LLAMA_70B, mesh, split, 16, is_float8=True)


def _build(sizes: Sizes, mesh: Any, split: Split, batch: int, *, is_float8: bool = False) -> Any:
    with torch.device("meta"):
        model = Llama(sizes, split, is_selective=split.group is None)
        if is_float8:
            from torchao.float8 import convert_to_float8_training

            convert_to_float8_training(model, module_filter_fn=lambda _, name: name != "output")
        model = shard_in_bf16(model, mesh["dp"])
        tokens = torch.empty(batch, 8192, dtype=torch.long)
        return model, (tokens, tokens)
