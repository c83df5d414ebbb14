"""Traces of whole models, eager and compiled: `python -m tests.gpu.whole_models FOLDER [MODEL…]`.

Each is `torch.profiler`'s own, with shapes, modules and stacks.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile


class Gated(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Grouped(nn.Module):
    """Attention with fewer heads of keys, over what is kept of earlier positions."""

    def __init__(self, width: int, heads: int, kept: int) -> None:
        super().__init__()
        self.heads, self.size, self.few = heads, width // heads, heads // 4
        self.q, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.kept: Tensor
        self.kv = nn.Linear(width, 2 * self.few * self.size, bias=False)
        self.register_buffer("kept", torch.randn(2, 1, self.few, kept, self.size))

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(x).unflatten(-1, (self.heads, self.size)).transpose(1, 2)
        k, v = self.kv(x).unflatten(-1, (2, self.few, self.size)).permute(2, 0, 3, 1, 4)
        earlier = self.kept.expand(-1, x.shape[0], -1, -1, -1)
        k, v = torch.cat([earlier[0], k], 2), torch.cat([earlier[1], v], 2)
        causal = earlier.shape[3] == 0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width: int, inner: int, heads: int, kept: int) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention, self.gated = Grouped(width, heads, kept), Gated(width, inner)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        return x + self.gated(self.second(x))


class Language(nn.Module):
    def __init__(self, kept: int = 0) -> None:
        super().__init__()
        self.words = nn.Embedding(32_000, 2048)
        self.layers = nn.ModuleList(Layer(2048, 5632, 16, kept) for _ in range(4))
        self.norm, self.head = nn.RMSNorm(2048), nn.Linear(2048, 32_000, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, -1])


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norms[0](self.convolutions[0](x)))
        return F.relu(x + self.norms[1](self.convolutions[1](y)))


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        parts: list[nn.Module] = []
        for width in (64, 128, 256):
            parts += [Residual(width), nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)]
        self.parts, self.head = nn.Sequential(*parts), nn.Linear(512, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        return self.head(self.parts(x).mean((2, 3)))


class Clicks(nn.Module):
    """Tables and products of odd sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(100_000, 65, mode="sum") for _ in range(16))
        self.inner = nn.Sequential(nn.Linear(13, 511), nn.ReLU(), nn.Linear(511, 65), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(201, 1023), nn.ReLU(), nn.Linear(1023, 1))
        self.pairs: Tensor
        self.register_buffer("pairs", torch.triu_indices(17, 17, 1))

    def forward(self, dense: Tensor, bags: Tensor) -> Tensor:
        own = self.inner(dense)
        rows = torch.stack([own, *(t(bags[i]) for i, t in enumerate(self.tables))], 1)
        dots = torch.bmm(rows, rows.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([own, dots], 1))


class Patches(nn.Module):
    def __init__(self, width: int = 768) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        layer = nn.TransformerEncoderLayer(
            width, 12, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(self.patch(x).flatten(2).transpose(1, 2)).mean(1))


@dataclass(frozen=True)
class Whole:
    """A module and its inputs, made on the CPU; a step trains when `trains`."""

    module: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]
    dtype: torch.dtype
    trains: bool = False
    last: bool = False  # channels last


def words(batch: int, length: int) -> tuple[Tensor, ...]:
    return (torch.randint(0, 32_000, (batch, length)),)


def clicks() -> tuple[Tensor, ...]:
    return torch.randn(4096, 13), torch.randint(0, 100_000, (16, 4096, 4))


WHOLE = {
    "prefill": Whole(Language, lambda: words(2, 1024), torch.bfloat16),
    "decode": Whole(lambda: Language(kept=1023), lambda: words(8, 1), torch.bfloat16),
    "pictures": Whole(Pictures, lambda: (torch.randn(32, 3, 224, 224),), torch.float16, last=True),
    "pictures_step": Whole(
        Pictures, lambda: (torch.randn(16, 3, 224, 224),), torch.float32, trains=True
    ),
    "clicks": Whole(Clicks, clicks, torch.float32),
    "patches_step": Whole(
        Patches, lambda: (torch.randn(16, 3, 224, 224),), torch.bfloat16, trains=True
    ),
}


def step_of(whole: Whole, device: str, *, compiled: bool) -> Callable[[], object]:
    """One call of a model, with its gradients where it is trained."""
    torch.manual_seed(0)
    module = whole.module().to(device, whole.dtype).train(whole.trains)
    inputs = [
        x.to(device, whole.dtype) if x.is_floating_point() else x.to(device) for x in whole.inputs()
    ]
    if whole.last:
        module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        inputs = [x.contiguous(memory_format=torch.channels_last) for x in inputs]
    run = torch.compile(module) if compiled else module
    if not whole.trains:
        return torch.no_grad()(lambda: run(*inputs))

    def step() -> None:
        module.zero_grad(set_to_none=True)
        run(*inputs).float().square().mean().backward()

    return step


def write_trace(step: Callable[[], object], path: Path, device: str) -> None:
    """Two steps after three that are not traced."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(3):
        step()
    wait()
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=kinds, record_shapes=True, with_stack=True, with_modules=True) as taken:
        for number in range(2):
            with torch.profiler.record_function(f"step {number}"):
                step()
        wait()
    plain = path.with_suffix("")
    taken.export_chrome_trace(str(plain))
    text = plain.read_bytes()
    path.write_bytes(gzip.compress(text))
    plain.unlink()


def main(arguments: Sequence[str], device: str = "cuda") -> int:
    """Trace every model twice; one that fails says so and the others go on."""
    from tests.gpu.more_models import MORE  # it imports this module

    folder, *names = arguments
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    failed = 0
    every = {**WHOLE, **MORE}
    for name in names or every:
        whole = every[name]
        for kind in ("eager", "compiled"):
            try:
                step = step_of(whole, device, compiled=kind == "compiled")
                write_trace(step, into / f"{name}_{kind}.json.gz", device)
            except Exception as error:
                print(f"{name}, {kind}: {type(error).__name__}: {error}", flush=True)
                failed += 1
            torch.compiler.reset()
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
