"""A call of every kernel of `kernels.py`, with what PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.older_releases import RELEASE
from tests.worlds.own_kernels.programs import kernels


@dataclass(frozen=True)
class Case:
    """A kernel, its arguments, and what its outputs are to be by the names of the arguments.

    `fresh` are arguments that hold nothing before the call; `tolerance` is absolute.
    """

    kernel: Any
    args: tuple[Any, ...]
    grid: Any
    meta: Mapping[str, Any]
    expected: Mapping[str, torch.Tensor]
    fresh: tuple[str, ...] = ()
    tolerance: float = 1e-5
    named: Mapping[str, Any] = field(default_factory=dict)


def draw(*sizes: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(dtype)


def unset(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full(sizes, 7, dtype=dtype)


def cdiv(a: int, b: int) -> int:
    return (a + b - 1) // b


def make_add() -> Case:
    x, y = draw(1000), draw(1000, seed=1)
    args = (x, y, unset(1000), 1000)
    return Case(kernels.add, args, (4,), {"BLOCK": 256}, {"out": x + y}, ("out",))


def make_softmax() -> Case:
    x = draw(37, 100)
    args = (x, unset(37, 100), 100, 100)
    expected = {"out": x.softmax(-1)}
    return Case(kernels.softmax, args, (37,), {"BLOCK": 128}, expected, ("out",))


def make_guided_softmax() -> Case:
    x = draw(37, 100)
    args = (x, unset(37, 100), 100, 100)
    return Case(kernels.guided_softmax, args, (37,), {}, {"out": x.softmax(-1)}, ("out",))


def factors(m: int = 100, n: int = 96, k: int = 72) -> tuple[torch.Tensor, torch.Tensor]:
    return draw(m, k, dtype=torch.float16), draw(k, n, dtype=torch.float16, seed=1)


def make_matmul() -> Case:
    a, b = factors()
    args = (a, b, unset(100, 96, dtype=torch.float16), 100, 96, 72)
    meta = {"BM": 32, "BN": 32, "BK": 32, "GROUP": 2, "ACTIVATION": "leaky_relu"}
    made = F.leaky_relu(a.float() @ b.float(), 0.01).half()
    return Case(kernels.matmul, args, (cdiv(100, 32) * 3,), meta, {"c": made}, ("c",), 5e-2)


def make_tuned_matmul() -> Case:
    a, b = factors()
    args = (a, b, unset(100, 96, dtype=torch.float16), 100, 96, 72)

    def grid(meta: Mapping[str, Any]) -> tuple[int, ...]:
        return (cdiv(meta["M"], meta["BM"]) * cdiv(meta["N"], meta["BN"]),)

    expected = {"c": (a.float() @ b.float()).half()}
    return Case(kernels.tuned_matmul, args, grid, {}, expected, ("c",), 5e-2)


def describe(tensor: torch.Tensor, *block: int) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(tensor, list(block))


def make_descriptors() -> Case:
    a, b = factors()
    c = unset(100, 96, dtype=torch.float16)
    args = (describe(a, 64, 32), describe(b, 32, 64), describe(c, 64, 64), 72)
    expected = {"c": (a.float() @ b.float()).half()}
    meta = {"BM": 64, "BN": 64, "BK": 32}
    return Case(kernels.matmul_of_descriptors, args, (2, 2), meta, expected, ("c",), 5e-2)


def make_tuned_descriptors() -> Case:
    a, b = factors()
    c = unset(100, 96, dtype=torch.float16)
    args = (describe(a, 1, 8), describe(b, 1, 8), describe(c, 1, 8), 72)

    def grid(meta: Mapping[str, Any]) -> tuple[int, ...]:
        return cdiv(100, meta["BM"]), cdiv(96, meta["BN"])

    expected = {"c": (a.float() @ b.float()).half()}
    return Case(kernels.tuned_descriptors, args, grid, {}, expected, ("c",), 5e-2)


def make_block_pointers() -> Case:
    a, b = factors()
    args = (a, b, unset(100, 96, dtype=torch.float16), 100, 96, 72)
    meta = {"BM": 64, "BN": 32, "BK": 32}
    expected = {"c": (a.float() @ b.float()).half()}
    return Case(kernels.matmul_of_block_pointers, args, (2, 3), meta, expected, ("c",), 5e-2)


def make_dropout() -> Case:
    # the numbers that Triton draws have no twin in PyTorch: nothing is dropped with p = 0
    x = draw(1000)
    args = (x, unset(1000), 1000, 0.0, 123)
    return Case(kernels.dropout, args, (4,), {"BLOCK": 256}, {"out": x}, ("out",))


def make_layer_norm() -> Case:
    x, w, b = draw(37, 100), draw(100, seed=1), draw(100, seed=2)
    args = (x, unset(37, 100), w, b, unset(37), unset(37), 100, 100, 1e-5)
    expected = {
        "out": F.layer_norm(x, (100,), w, b),
        "mean": x.mean(1),
        "rstd": torch.rsqrt(x.var(1, unbiased=False) + 1e-5),
    }
    fresh = ("out", "mean", "rstd")
    return Case(kernels.layer_norm, args, (37,), {"BLOCK": 64}, expected, fresh)


def make_attention() -> Case:
    q, k, v = (draw(3, 50, 32, dtype=torch.float16, seed=s) for s in range(3))
    made = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True).half()
    args = (q, k, v, unset(3, 50, 32, dtype=torch.float16), 32**-0.5, 50)
    meta = {"D": 32, "BM": 32, "BN": 16, "CAUSAL": True}
    return Case(kernels.attention, args, (2, 3), meta, {"out": made}, ("out",), 5e-3)


def make_rms_norm() -> Case:
    x, w = draw(37, 100), draw(100, seed=1)
    args = (x, w, unset(37, 100), 100, 100, 1e-6)
    expected = {"out": F.rms_norm(x, (100,), w, 1e-6)}
    return Case(kernels.rms_norm, args, (37,), {"BLOCK": 128}, expected, ("out",))


def make_swiglu() -> Case:
    gate, up = draw(37, 100), draw(37, 100, seed=1)
    args = (gate, up, unset(37, 100), 100, 100)
    expected = {"out": F.silu(gate) * up}
    return Case(kernels.swiglu, args, (37,), {"BLOCK": 128}, expected, ("out",))


def make_rope() -> Case:
    q, angles = draw(10, 3, 32), draw(10, 16, seed=1)
    c, s = angles.cos()[:, None], angles.sin()[:, None]
    low, high = q.chunk(2, -1)
    expected = {"q": torch.cat([low * c - high * s, high * c + low * s], -1)}
    args = (q.clone(), angles.cos(), angles.sin(), 3)
    return Case(kernels.rope, args, (10,), {"HALF": 16, "BLOCK": 4}, expected)


def make_cross_entropy() -> Case:
    logits = draw(20, 300)
    labels = torch.randint(0, 300, (20,), generator=torch.Generator().manual_seed(0))
    args = (logits, labels, unset(20), 300, 300)
    expected = {"loss": F.cross_entropy(logits, labels, reduction="none")}
    return Case(kernels.cross_entropy, args, (20,), {"BLOCK": 128}, expected, ("loss",))


def make_paged_attention() -> Case:
    sequences, heads, size, page = 3, 2, 32, 16
    q = draw(sequences, heads, size)
    keys, values = (draw(8, page, heads, size, seed=s) for s in (1, 2))
    tables = torch.tensor([[3, 1, 0], [7, 2, 5], [4, 6, 0]], dtype=torch.int32)
    lengths = torch.tensor([20, 41, 16], dtype=torch.int32)
    rows = []
    for sequence, length in enumerate(lengths.tolist()):
        own = tables[sequence].long()
        k, v = (all_[own].flatten(0, 1)[:length].transpose(0, 1) for all_ in (keys, values))
        rows.append(F.scaled_dot_product_attention(q[sequence][:, None], k, v)[:, 0])
    args = (q, keys, values, tables, lengths, unset(sequences, heads, size), size**-0.5, heads, 3)
    meta = {"D": size, "PAGE": page}
    expected = {"out": torch.stack(rows)}
    grid = (sequences, heads)
    return Case(kernels.paged_attention, args, grid, meta, expected, ("out",))


def make_fused_moe() -> Case:
    count, top, experts, n, k, block = 10, 2, 4, 40, 48, 16
    x = draw(count, k, dtype=torch.float16)
    weights = draw(experts, n, k, dtype=torch.float16, seed=1)
    chosen = draw(count, experts, seed=2).topk(top).indices
    gates = torch.rand(count, top, generator=torch.Generator().manual_seed(3))
    rows, owners = [], []
    for expert in range(experts):
        own = (chosen.flatten() == expert).nonzero().flatten().tolist()
        own += [count * top] * (-len(own) % block)
        rows += own
        owners += [expert] * (len(own) // block)
    made = torch.einsum("tk,tjnk->tjn", x.float(), weights.float()[chosen]) * gates[..., None]
    out = unset(count * top, n, dtype=torch.float16)
    args = (
        x,
        weights,
        out,
        gates.flatten(),
        torch.tensor(rows, dtype=torch.int32),
        torch.tensor(owners, dtype=torch.int32),
        torch.tensor([len(rows)], dtype=torch.int32),
        n,
        k,
        count * top,
    )
    meta = {"TOP": top, "BM": block, "BN": 32, "BK": 32}
    expected = {"out": made.flatten(0, 1).half()}
    grid = (len(owners), cdiv(n, 32))
    return Case(kernels.fused_moe, args, grid, meta, expected, ("out",), 5e-2)


def make_linear_scan() -> Case:
    decay, x = torch.sigmoid(draw(5, 50)), draw(5, 50, seed=1)
    h, rows = torch.zeros(5), []
    for t in range(50):
        h = decay[:, t] * h + x[:, t]
        rows.append(h)
    args = (decay, x, unset(5, 50), 50)
    expected = {"out": torch.stack(rows, 1)}
    return Case(kernels.linear_scan, args, (5,), {"BLOCK": 64}, expected, ("out",))


def make_histogram() -> Case:
    x = torch.randint(0, 16, (1000,), generator=torch.Generator().manual_seed(0))
    args = (x, torch.zeros(16, dtype=torch.int32), 1000)
    expected = {"out": x.bincount(minlength=16).int()}
    return Case(kernels.histogram, args, (4,), {"BLOCK": 256}, expected)


def make_transpose() -> Case:
    x = draw(37, 100)
    args = (x, unset(100, 37), 37, 100)
    return Case(kernels.transpose, args, (2, 4), {"B": 32}, {"out": x.t()}, ("out",))


CASES: Mapping[str, Callable[[], Case]] = {
    name.removeprefix("make_"): made
    for name, made in globals().items()
    if name[:5] == "make_" and (name != "make_block_pointers" or RELEASE < (2, 15))
}  # Triton 3.9, of torch 2.15, has no block pointers
"""What makes each case, by name."""
