"""Compiles each sample under a recorder while torch logs: `python -m … FOLDER [NAME …]`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from torch import Tensor, nn
from torch._logging import structured
from torch._logging._internal import LazyTraceHandler, TorchLogsFormatter

import workbench as wb
from workbench.compiler.recording.recorder import Recorder
from workbench.report.report_header import Request


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first(x))
        print("between")
        return self.second(y).softmax(-1)


class Learned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        hidden = nn.functional.gelu(self.up(self.norm(x)))
        return (x + self.down(hidden)).square().mean()


def plain(x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(x @ y) + 1


def inner(x: Tensor) -> Tensor:
    return x.softmax(-1)


def several(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    a = inner(x @ w)
    b = (a.cumsum(0) * 2).sum(1, keepdim=True)
    return torch.sort(a + b, dim=0)[0], b.exp().reshape(-1)


def looping(x: Tensor) -> Tensor:
    for _ in range(2):
        x = x.sin() + 1
        print("round")
    return x


def scaled(x: Tensor, factor: float) -> Tensor:
    return (x * factor).cumsum(-1) / x.shape[0]


def refused(x: Tensor) -> Tensor:
    y = x.relu()
    if y.sum() > 0:
        return y + 1
    return y - 1


def run_plain() -> None:
    torch.compile(plain)(torch.randn(4, 8), torch.randn(8, 8))


def run_broken() -> None:
    with torch.no_grad():
        torch.compile(Broken())(torch.randn(3, 8))


def run_looping() -> None:
    torch.compile(looping)(torch.randn(5))


def run_dynamic() -> None:
    compiled = torch.compile(scaled)
    for rows, factor in ((4, 2.0), (6, 2.0), (6, 3.0)):
        compiled(torch.randn(rows, 8), factor)


def run_training() -> None:
    torch.compile(Learned())(torch.randn(4, 16)).backward()


def run_several() -> None:
    torch.compile(several)(torch.randn(16, 8), torch.randn(8, 8))


def run_refused() -> None:
    torch.compile(refused, fullgraph=True)(torch.randn(5))


SAMPLES: dict[str, Callable[[], None]] = {
    "plain": run_plain,
    "broken": run_broken,
    "looping": run_looping,
    "dynamic": run_dynamic,
    "training": run_training,
    "several": run_several,
    "refused": run_refused,
}


@contextmanager
def logged(folder: Path) -> Iterator[None]:
    """Write what torch logs inside as `TORCH_TRACE=folder` does."""
    structured.INTERN_TABLE.clear()
    handler = LazyTraceHandler(str(folder))
    handler.setFormatter(TorchLogsFormatter(trace=True))
    log = logging.getLogger("torch.__trace")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()


def main(folder: Path, names: list[str]) -> None:
    torch.compile(torch.neg)(torch.ones(1))  # torch logs its own beginning once
    for name in names or SAMPLES:
        torch._dynamo.reset()
        torch.manual_seed(0)
        recorder = Recorder("light", Request(name=name))
        with logged(folder / name), suppress(torch._dynamo.exc.Unsupported), recorder:
            SAMPLES[name]()
        recorder.report().save(folder / f"{name}.wbr")


def compile_for_gpu(folder: Path) -> None:
    """The training step for a virtual GPU; its process logs by `TORCH_TRACE`."""
    made = wb.aot_compile(Learned(), (torch.randn(4, 16),), target="h100", grad=True)
    made.report.save(folder / "h100.wbr")


if __name__ == "__main__":
    if sys.argv[2:] == ["h100"]:
        compile_for_gpu(Path(sys.argv[1]))
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
