"""The forty programs that are compiled on a device and for the virtual GPU of the same name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.compiler.virtual_gpu.cases import BF16, Made, floats, indices
from tests.compiler.virtual_gpu.model_cases import CASES

TIMED = (
    "product_template",
    "product_template_in_bfloat16",
    "batched_product_template",
    "convolution_template",
    "float8_product",
    "module_of_templates",
)
"""Cases whose templates a device chooses by timing them: their numbers alone can be compared."""
SAME = (
    *("pointwise", "softmax", "softmax_of_long_rows", "layer_norm", "full_sum", "column_sum"),
    *("variance_argmax_scan", "product", "convolution", "attention_in_bfloat16"),
    *("attention_in_float32", "attention_by_hand", "attention_with_a_score", "embedding"),
    *("scatter", "sorting", "random_numbers", "bfloat16", "float16", "float8", "float64"),
    *("kernels_of_the_user", "combined_kernels", "module", "training_step"),
    *("convolution_with_batch_norm", "dynamic_batch", "transformer"),
)
WITHOUT_NUMBERS: Mapping[str, str] = {
    "random_numbers": "a device draws other numbers from the same seed",
    "convolution_with_batch_norm": "it writes buffers of its module, which has no other copy",
    "kernels_of_the_user": "its own kernels do not run on a CPU, where double precision does",
}
"""Programs whose results cannot be compared with a run in double precision, and why."""


@dataclass(frozen=True)
class Program:
    """What makes a function or module with its inputs on the CPU, and how it is compiled."""

    name: str
    make: Callable[[], Made]
    inductor: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_timed(self) -> bool:
        """Whether a device chooses its templates by timing them."""
        return self.name in TIMED

    def made(self) -> Made:
        """The function with its inputs, from the same seed every time."""
        torch.manual_seed(0)
        fn, args = self.make()
        if isinstance(fn, nn.Module):
            with torch.no_grad():  # a bias of zeros would hide what is done with it
                for tensor in fn.parameters():
                    tensor.add_(torch.randn_like(tensor), alpha=0.05)
        return fn, args


def rms_norm() -> Made:
    def fn(x: Tensor, w: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w

    return fn, (floats(256, 1024), floats(1024))


def gated_units() -> Made:
    def fn(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
        return F.silu(x @ w) * (x @ v)

    return fn, (floats(128, 256), floats(256, 512), floats(256, 512))


def rotary() -> Made:
    def fn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat((-right, left), -1) * sin

    return fn, (floats(4, 8, 128, 64), floats(128, 64), floats(128, 64))


def cross_entropy() -> Made:
    return F.cross_entropy, (floats(256, 1000).requires_grad_(), indices(1000, 256))


def huber() -> Made:
    return F.huber_loss, (floats(512, 512).requires_grad_(), floats(512, 512))


def group_norm() -> Made:
    def fn(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.silu(F.group_norm(x, 8, w, b))

    return fn, (floats(4, 64, 16, 16), floats(64), floats(64))


def pooling() -> Made:
    def fn(x: Tensor) -> tuple[Tensor, Tensor]:
        return F.avg_pool2d(x, 3, 2), F.interpolate(x, scale_factor=2.0, mode="nearest")

    return fn, (floats(2, 16, 32, 32),)


def running_product() -> Made:
    return lambda x: (x * 0.1 + 1).cumprod(-1).logsumexp(-1), (floats(64, 512),)


def masked() -> Made:
    def fn(x: Tensor, i: Tensor) -> Tensor:
        return F.pad(torch.where(x > 0, x, x.gather(1, i)), (1, 2, 3, 0)).masked_fill(
            x.sum() > 0, 1
        )

    return fn, (floats(64, 128), indices(128, 64, 128))


def wide_rows_in_bfloat16() -> Made:
    return lambda x, y: torch.softmax((x + y).float(), -1), (
        floats(64, 8192, dtype=BF16),
        floats(64, 8192, dtype=BF16),
    )


def mixture() -> Made:
    def fn(x: Tensor, gate: Tensor, experts: Tensor) -> Tensor:
        weights, chosen = torch.softmax(x @ gate, -1).topk(2, -1)
        return (
            torch.einsum("nd,ndf->nf", x, experts[chosen].mean(1)) * weights.sum(-1, True)
        ).relu()

    return fn, (floats(32, 64), floats(64, 4), floats(4, 64, 32))


def distances() -> Made:
    return lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1).sqrt(), (
        floats(64, 32),
        floats(48, 32),
    )


def batch_of_recurrences() -> Made:
    def fn(x: Tensor, w: Tensor) -> Tensor:
        state = torch.zeros_like(x[:, 0])
        for step in range(4):
            state = torch.tanh(state @ w * 0.1 + x[:, step])
        return state

    return fn, (floats(16, 4, 64), floats(64, 64))


def normalised_gradient() -> Made:
    def fn(x: Tensor, w: Tensor) -> Tensor:
        return (F.layer_norm(x, (256,), w) ** 2).mean(-1)

    return fn, (floats(64, 256).requires_grad_(), floats(256).requires_grad_())


OWN = (
    *(rms_norm, gated_units, rotary, cross_entropy, huber, group_norm, pooling, running_product),
    *(masked, wide_rows_in_bfloat16, mixture, distances, batch_of_recurrences),
    *(normalised_gradient,),
)


def programs() -> list[Program]:
    """The programs, those whose code is compared first."""
    cases = [Program(n, CASES[n].make, CASES[n].inductor, CASES[n].options) for n in SAME]
    own = [Program(make.__name__, make) for make in OWN]
    timed = [Program(n, CASES[n].make, CASES[n].inductor, CASES[n].options) for n in TIMED]
    return [*cases, *own, *timed]


def moved(fn: Callable[..., Any], args: tuple[Any, ...], device: str) -> Made:
    """The function with its inputs on a device: tensors of their own, a module of its own."""
    there = copy.deepcopy(fn).to(device) if isinstance(fn, nn.Module) else fn
    return there, tuple(_moved(arg, device) for arg in args)


def _moved(value: Any, device: str) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.detach().to(device, copy=True).requires_grad_(value.requires_grad)
