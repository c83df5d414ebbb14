"""Right programs whose roundings are large: no engine that compares may call one wrong.

They are near the border of what a tolerance knows: sums, products and normalisations of 16 bits,
values that cancel, rows and columns of very different sizes, forward and backward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

HALF, BRAIN, FULL = torch.float16, torch.bfloat16, torch.float32


@dataclass(frozen=True)
class RightProgram:
    """A function or module, a new one each time, and its arguments from a seed."""

    name: str
    make: Callable[[], Any]
    args: Callable[[int], tuple[Any, ...]]

    def __str__(self) -> str:
        return self.name


class Draws:
    """Random tensors, one after the other, from a seed."""

    def __init__(self, seed: int) -> None:
        self._dice = torch.Generator().manual_seed(seed)

    def tensor(self, *sizes: int, dtype: torch.dtype = FULL, learns: bool = False) -> torch.Tensor:
        """Normal numbers of mean 0 and deviation 1."""
        drawn = torch.randn(*sizes, generator=self._dice).to(dtype)
        return drawn.requires_grad_(learns)

    def uneven(self, rows: int, dtype: torch.dtype = FULL, learns: bool = False) -> torch.Tensor:
        """A matrix whose columns are 1e3 to 1e-6 large."""
        scales = torch.logspace(3, -6 if dtype is not HALF else -3, 10)
        drawn = torch.randn(rows, 10, generator=self._dice) * scales
        return drawn.to(dtype).requires_grad_(learns)


def _tensors(
    *sizes: tuple[int, ...], dtype: torch.dtype = FULL, learns: bool = False
) -> Callable[[int], tuple[Any, ...]]:
    def args(seed: int) -> tuple[Any, ...]:
        draws = Draws(seed)
        return tuple(draws.tensor(*each, dtype=dtype, learns=learns) for each in sizes)

    return args


def _uneven(
    rows: int, *sizes: tuple[int, ...], dtype: torch.dtype = FULL, learns: bool = False
) -> Callable[[int], tuple[Any, ...]]:
    def args(seed: int) -> tuple[Any, ...]:
        draws = Draws(seed)
        first = draws.uneven(rows, dtype, learns)
        return first, *(draws.tensor(*each, dtype=dtype, learns=learns) for each in sizes)

    return args


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Scores, softmax and values apart."""
    return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v


def attend_masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Without the last keys, as the wrong program has it."""
    keys = torch.arange(k.shape[0], device=k.device)
    return (q @ k.t()).masked_fill(~(keys < k.shape[0] - 12), float("-inf")).softmax(-1) @ v


def attend_causally(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention as torch has it."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def normalize_root(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """RMSNorm as models write it, with its cast back."""
    wide = x.float()
    return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def feed_forward(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A gated layer with its residual."""
    return x + F.silu(x @ a) * (x @ a).tanh() @ b


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions with tables of 16 bits."""
    angles = torch.arange(x.shape[0], device=x.device)[:, None] / 100.0 ** torch.linspace(
        0, 1, x.shape[1] // 2, device=x.device
    )
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, left * sin + right * cos], -1)


def accumulate(x: torch.Tensor) -> torch.Tensor:
    """Written in place, row after row."""
    total = torch.zeros_like(x[0])
    for row in x:
        total.add_(row).mul_(1.01)
    return total


def scatter(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Adds rows up at some places, in 16 bits."""
    return torch.zeros(5, x.shape[1], dtype=x.dtype, device=x.device).index_add(0, at, x)


def _scattered(seed: int) -> tuple[Any, ...]:
    return Draws(seed).tensor(40, 8, dtype=BRAIN), torch.arange(40) % 5


def train_batch_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A normalisation over the batch with what it learns."""
    return F.batch_norm(x, None, None, w, b, training=True).relu()


def quantize(x: torch.Tensor) -> torch.Tensor:
    """To whole numbers and back: which ones, roundings decide."""
    scale = x.abs().amax(-1, keepdim=True) / 127
    return (x / scale).round().clamp(-128, 127).to(torch.int8).to(x.dtype) * scale


def route(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """By the two best of some experts."""
    values, at = (x @ w).softmax(-1).topk(2, -1)
    return (values / values.sum(-1, keepdim=True)) * w.sum(0)[at]


def _of(function: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: function


def _module(make: Callable[[], nn.Module], dtype: torch.dtype) -> Callable[[], Any]:
    def made() -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return make().to(dtype)

    return made


def _mixed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=BRAIN):
        return F.layer_norm(x @ w, (10,)).softmax(-1)


def _sum_of_others(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(0)).abs().sum(-1)


RIGHT: tuple[RightProgram, ...] = (
    *(
        RightProgram(f"{name} of {str(dtype)[6:]}", _of(function), _tensors(*sizes, dtype=dtype))
        for dtype in (BRAIN, HALF)
        for name, function, sizes in (
            ("a sum", lambda x: x.abs().sum(-1), [(8, 512)]),
            ("a sum over all", lambda x: (x * 3).sum(), [(64, 1000)]),
            ("a sum that cancels", lambda x: (x - x.flip(-1) * 1.01).sum(-1), [(16, 300)]),
            ("a sum of columns", lambda x: x.sum(0), [(700, 33)]),
            ("a mean of squares", lambda x: x.square().mean(-1), [(20, 600)]),
            ("a product", lambda x, w: x.abs() @ w.abs(), [(8, 512), (512, 8)]),
            (
                "a product with a bias",
                lambda x, w, b: torch.addmm(b, x, w).relu(),
                [(32, 100), (100, 16), (16,)],
            ),
            ("a product times a vector", lambda x, w: x @ w, [(40, 300), (300,)]),
            (
                "a batch of products",
                lambda x, w: torch.baddbmm(x @ w, x, w, alpha=0.3),
                [(3, 16, 40), (3, 40, 8)],
            ),
            (
                "a chain of products",
                lambda x, w: ((x @ w).relu() @ w.t()).sigmoid(),
                [(16, 64), (64, 32)],
            ),
            ("a softmax", lambda x: (x * 4).softmax(-1), [(16, 400)]),
            ("a logarithm of a softmax", lambda x: x.log_softmax(-1).sum(0), [(50, 200)]),
            ("a logsumexp", lambda x: (x * 2).logsumexp(-1), [(20, 300)]),
            ("attention", attend, [(2, 16, 32), (2, 64, 32), (2, 64, 32)]),
            ("masked attention", attend_masked, [(8, 16), (512, 16), (512, 16)]),
            ("fused attention", attend_causally, [(1, 2, 48, 16)] * 3),
            (
                "a layer norm",
                lambda x, w, b: F.layer_norm(x, (96,), w, b),
                [(20, 96), (96,), (96,)],
            ),
            ("a norm of roots", normalize_root, [(20, 128), (128,)]),
            ("a group norm", lambda x: F.group_norm(x, 2).tanh(), [(2, 8, 5, 5)]),
            ("a cumulative sum", lambda x: x.cumsum(-1), [(8, 300)]),
            ("a deviation", lambda x: x.std(-1) + x.var(0).sum(), [(30, 60)]),
            ("a norm", lambda x: x.norm(dim=-1) / x.norm(p=3, dim=-1), [(20, 300)]),
            (
                "a convolution",
                lambda x, w, b: F.conv2d(x, w, b, padding=1).relu(),
                [(2, 6, 9, 9), (8, 6, 3, 3), (8,)],
            ),
            ("pools", lambda x: F.avg_pool2d(x, 3) + F.adaptive_avg_pool2d(x, 3), [(2, 4, 9, 9)]),
            (
                "an enlarged image",
                lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
                [(1, 3, 9, 9)],
            ),
            ("a feed-forward layer", feed_forward, [(16, 32), (32, 64), (64, 32)]),
            ("rotated positions", rotate, [(60, 32)]),
            ("a sum in place", accumulate, [(30, 64)]),
            (
                "elements",
                lambda x, y: F.gelu(x * 1.7 + y) * (x - y).exp().rsqrt(),
                [(40, 50), (40, 50)],
            ),
            ("Taylor", lambda x: 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4))), [(900,)]),
            ("what is left of a mean", _sum_of_others, [(64, 40)]),
            (
                "linear interpolation",
                lambda x, y: torch.lerp(x, y, 0.3).addcmul(x, y),
                [(900,)] * 2,
            ),
        )
    ),
    RightProgram("a few whole numbers", _of(quantize), _tensors((8, 6), dtype=BRAIN)),
    RightProgram("a choice of experts", _of(route), _tensors((30, 16), (16, 6), dtype=BRAIN)),
    RightProgram("rows added up in bfloat16", _of(scatter), _scattered),
    *(
        RightProgram(
            f"gradient of {name} of {str(dtype)[6:]}",
            _of(function),
            _tensors(*sizes, dtype=dtype, learns=True),
        )
        for dtype in (BRAIN, HALF)
        for name, function, sizes in (
            ("a product", lambda x, w: (x @ w).tanh(), [(24, 64), (64, 10)]),
            ("a softmax", lambda x: (x * 3).softmax(-1), [(16, 100)]),
            ("attention", attend, [(2, 8, 16), (2, 24, 16), (2, 24, 16)]),
            ("masked attention", attend_masked, [(8, 16), (64, 16), (64, 16)]),
            ("fused attention", attend_causally, [(1, 2, 24, 16)] * 3),
            (
                "a layer norm",
                lambda x, w, b: F.layer_norm(x, (48,), w, b).relu(),
                [(20, 48), (48,), (48,)],
            ),
            ("a norm of roots", normalize_root, [(20, 64), (64,)]),
            ("a batch norm", train_batch_norm, [(24, 12), (12,), (12,)]),
            (
                "a cross entropy",
                lambda x: F.cross_entropy(x, torch.arange(20, device=x.device) % 9),
                [(20, 9)],
            ),
            ("a feed-forward layer", feed_forward, [(12, 16), (16, 32), (32, 16)]),
            (
                "a sum used twice",
                lambda x: x * x.sum(0) + x.cumsum(0) * x.sum(-1, keepdim=True),
                [(12, 24)],
            ),
            (
                "a convolution",
                lambda x, w, b: F.conv2d(x, w, b).tanh(),
                [(2, 4, 8, 8), (6, 4, 3, 3), (6,)],
            ),
        )
    ),
    RightProgram(
        "gradient of an embedding",
        _of(lambda i, w: F.embedding(i, w).square().sum(1)),
        lambda s: (
            torch.arange(60).reshape(6, 10) % 7,
            Draws(s).tensor(9, 16, dtype=BRAIN, learns=True),
        ),
    ),
    *(
        RightProgram(
            f"{name} with columns of very different sizes{words}",
            _of(function),
            _uneven(*sizes, dtype=dtype, learns=True),
        )
        for dtype, words in ((FULL, ""), (BRAIN, " in bfloat16"))
        for name, function, sizes in (
            ("a gradient", lambda x, w: (x * w).sin(), (16, (16, 10))),
            ("a product", lambda x, w: (x @ w).tanh(), (16, (10, 12))),
            ("a product the other way", lambda x, w: (w @ x).sigmoid(), (16, (12, 16))),
            (
                "a batch norm",
                lambda x: F.batch_norm(x, None, None, training=True) * x.tanh(),
                (24,),
            ),
            ("a layer norm", lambda x: F.layer_norm(x, (10,)), (24,)),
            ("a softmax", lambda x: x.softmax(-1), (24,)),
            ("a cumulative sum", lambda x: x.cumsum(0) * x, (24,)),
            ("a sum of squares", lambda x: (x * x).sum(0) / (x.abs().sum(0) + 1e-3), (24,)),
            ("what a mean leaves", lambda x: x - x.mean(0) + (x - x.mean(-1, keepdim=True)), (24,)),
        )
    ),
    RightProgram("a product under autocast", _of(_mixed), _tensors((16, 40), (40, 10))),
    RightProgram(
        "a transformer layer",
        _module(
            lambda: nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), BRAIN
        ),
        _tensors((2, 20, 32), dtype=BRAIN),
    ),
    RightProgram(
        "a batch norm between convolutions",
        _module(
            lambda: nn.Sequential(
                nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3)
            ),
            FULL,
        ),
        _tensors((4, 3, 10, 10)),
    ),
    RightProgram(
        "a batch norm between layers of bfloat16",
        _module(
            lambda: nn.Sequential(
                nn.Linear(24, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Linear(32, 8)
            ),
            BRAIN,
        ),
        _tensors((32, 24), dtype=BRAIN),
    ),
    RightProgram(
        "a recurrent layer",
        _module(lambda: nn.GRUCell(16, 24), BRAIN),
        _tensors((8, 16), (8, 24), dtype=BRAIN),
    ),
)
"""The name is unique."""
