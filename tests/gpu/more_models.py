"""Models of other kinds than those of `whole_models`, which the calibrated model was fitted to."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.gpu.whole_models import Language, Whole, words


class Experts(nn.Module):
    """Each position goes to two of eight products, which hold a fixed number of positions."""

    def __init__(self, width: int = 1024, inner: int = 2048, experts: int = 8) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.up, self.down = (
            nn.Parameter(torch.randn(experts, *size) / 32)
            for size in ((width, 2 * inner), (inner, width))
        )

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.router(x).float().softmax(-1).topk(2)
        places = F.one_hot(chosen, self.up.shape[0]).flatten(0, 1).cumsum(0).amax(-1) - 1
        room = x.shape[0] // 2
        held = x.new_zeros(self.up.shape[0] * room, x.shape[1])
        at = (chosen.flatten() * room + places.clamp(max=room - 1))[:, None].expand(-1, x.shape[1])
        held = held.scatter(0, at, x.repeat_interleave(2, 0)).view(-1, room, x.shape[1])
        gate, up = torch.bmm(held, self.up).chunk(2, -1)
        y = torch.bmm(F.silu(gate) * up, self.down).flatten(0, 1).gather(0, at)
        return (y.view(-1, 2, x.shape[1]) * weights[..., None].to(x.dtype)).sum(1)


class Denoiser(nn.Module):
    """Convolutions with group norms, attention over the pixels between them."""

    def __init__(self, width: int = 320) -> None:
        super().__init__()
        self.into = nn.Conv2d(4, width, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(32, width) for _ in range(5))
        self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(4))
        self.qkv, self.back = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.out = nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.into(x)
        for norm, convolution in zip(self.norms, self.convolutions, strict=False):
            x = x + convolution(F.silu(norm(x)))
        batch, width, height, across = x.shape
        y = self.norms[4](x).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(y).unflatten(-1, (3, 8, width // 8)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self.out(x + self.back(y).transpose(1, 2).reshape(batch, width, height, across))


class Translator(nn.Module):
    """Attention whose mask is a table by distance, over an encoder's and a decoder's positions."""

    def __init__(self, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.heads, self.table = heads, nn.Embedding(64, heads)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.RMSNorm(width),
                    "qkv": nn.Linear(width, 3 * width, bias=False),
                    "out": nn.Linear(width, width, bias=False),
                    "second": nn.RMSNorm(width),
                    "up": nn.Linear(width, 4 * width, bias=False),
                    "down": nn.Linear(4 * width, width, bias=False),
                }
            )
            for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        at = torch.arange(x.shape[1], device=x.device)
        far = (at[:, None] - at[None, :]).clamp(-31, 32) + 31
        mask = self.table(far).permute(2, 0, 1)[None]
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleDict)
            q, k, v = (
                layer["qkv"](layer["norm"](x))
                .unflatten(-1, (3, self.heads, -1))
                .permute(2, 0, 3, 1, 4)
            )
            y = F.scaled_dot_product_attention(q, k, v, mask, scale=1.0)
            x = x + layer["out"](y.transpose(1, 2).flatten(2))
            x = x + layer["down"](F.relu(layer["up"](layer["second"](x))))
        return x


class Speech(nn.Module):
    """Convolutions along time, each channel by itself, gates and layer norms."""

    def __init__(self, width: int = 512) -> None:
        super().__init__()
        self.stem = nn.Conv1d(80, width, 3, stride=2, padding=1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(6))
        self.wide = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(6))
        self.along = nn.ModuleList(
            nn.Conv1d(width, width, 31, padding=15, groups=width) for _ in range(6)
        )
        self.back = nn.ModuleList(nn.Linear(width, width) for _ in range(6))

    def forward(self, x: Tensor) -> Tensor:
        x = F.silu(self.stem(x)).transpose(1, 2)
        for norm, wide, along, back in zip(
            self.norms, self.wide, self.along, self.back, strict=True
        ):
            y = F.glu(wide(norm(x)), -1).transpose(1, 2)
            x = x + back(F.silu(along(y)).transpose(1, 2))
        return x.mean(1)


class Messages(nn.Module):
    """A graph of points: rows gathered along edges, added up where they end."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.told = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(3))
        self.kept = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(3))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        start, end = edges[0], edges[1]
        for told, kept in zip(self.told, self.kept, strict=True):
            message = F.relu(told(torch.cat([x[start], x[end]], -1)))
            heard = torch.zeros_like(x).index_add(0, end, message)
            x = x + F.relu(kept(torch.cat([x, heard], -1)))
        return x.log_softmax(-1)


class Words(nn.Module):
    """A small language model whose loss goes over all words at each position."""

    def __init__(self, width: int = 768, vocabulary: int = 32_000) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(1024, width)
        layer = nn.TransformerEncoderLayer(
            width, 12, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.ModuleList([layer])
        self.norm = nn.LayerNorm(width)

    def forward(self, words: Tensor) -> Tensor:
        length = words.shape[1]
        x = self.words(words) + self.places.weight[:length]
        mask = nn.Transformer.generate_square_subsequent_mask(length, x.device, x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        logits = F.linear(self.norm(x), self.words.weight).float()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten())


class Mixer(nn.Module):
    """Products over channels and over places in turn, in float32."""

    def __init__(self, width: int = 512, places: int = 196) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(8))
        sizes = [(places, 2 * places), (width, 4 * width)] * 4
        self.up = nn.ModuleList(nn.Linear(a, b) for a, b in sizes)
        self.down = nn.ModuleList(nn.Linear(b, a) for a, b in sizes)

    def forward(self, x: Tensor) -> Tensor:
        for number, (norm, up, down) in enumerate(zip(self.norms, self.up, self.down, strict=True)):
            y = norm(x) if number % 2 else norm(x).transpose(1, 2)
            y = down(F.gelu(up(y)))
            x = x + (y if number % 2 else y.transpose(1, 2))
        return x.mean(1)


class Video(nn.Module):
    """Convolutions over time and space with instance norms."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (3, 32, 64, 128)
        self.convolutions = nn.ModuleList(
            nn.Conv3d(a, b, 3, padding=1, stride=1 if a == 3 else 2) for a, b in pairwise(sizes)
        )
        self.norms = nn.ModuleList(nn.InstanceNorm3d(b, affine=True) for b in sizes[1:])

    def forward(self, x: Tensor) -> Tensor:
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = F.leaky_relu(norm(convolution(x)), 0.01)
        return x.amax((2, 3, 4))


def messages() -> tuple[Tensor, ...]:
    return torch.randn(20_000, 128), torch.randint(0, 20_000, (2, 100_000))


MORE = {
    "long": Whole(Language, lambda: words(1, 8192), torch.bfloat16),
    "alone": Whole(lambda: Language(kept=4095), lambda: words(1, 1), torch.bfloat16),
    "experts": Whole(Experts, lambda: (torch.randn(4096, 1024),), torch.bfloat16),
    "denoiser": Whole(Denoiser, lambda: (torch.randn(4, 4, 64, 64),), torch.float16, last=True),
    "translator": Whole(Translator, lambda: (torch.randn(8, 512, 768),), torch.float16),
    "speech": Whole(Speech, lambda: (torch.randn(16, 80, 1600),), torch.bfloat16),
    "messages": Whole(Messages, messages, torch.float32),
    "words_step": Whole(Words, lambda: words(8, 512), torch.bfloat16, trains=True),
    "mixer_step": Whole(Mixer, lambda: (torch.randn(64, 196, 512),), torch.float32, trains=True),
    "video": Whole(Video, lambda: (torch.randn(2, 3, 16, 112, 112),), torch.float16),
}
