"""The configurations of a kernel, launched one by one as Triton launches any kernel."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import workbench as wb
from tests.gpu.figures import print_rows, reason
from tests.gpu.ranks import Times
from workbench.analysis.kernel_configs.triton_source import TritonSource, read_source
from workbench.analysis.tuning.tuned import RankedConfigs
from workbench.report import Report
from workbench.report.machine_rows import RankedConfig

DTYPES = {
    **{"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "i1": torch.bool},
    **{"fp64": torch.float64, "i64": torch.int64, "i32": torch.int32, "i8": torch.int8},
}
_AXES = {"XBLOCK": "x", "YBLOCK": "y", "ZBLOCK": "z"}
WARPS = (2, 8)
"""Every block size with each of these: about thirty configurations of a reduction."""
_MARK = "@triton_heuristics."
Clock = Callable[[Callable[[], object]], float]
"""Runs a launch as often as it likes and gives the microseconds of one."""


def on_device(launch: Callable[[], object]) -> float:
    """The median of a launch with a cold cache, by Triton's own benchmark."""
    import triton.testing

    found: Any = triton.testing.do_bench(launch, warmup=5, rep=30, return_mode="median")
    return float(found) * 1e3


class LaunchedKernel:
    """One kernel of a report with tensors of its own, which any configuration can be launched on.

    It is for kernels that read each tensor at positions inside of their own elements, as loops and
    reductions over whole tensors do. Raises `KeyError` for an argument of another kind.
    """

    def __init__(self, text: str, folder: Path, device: str, elements: int):
        self.source: TritonSource = read_source(text)
        self._function = _function(text, self.source.name, folder)
        self.tensors = {
            name: torch.ones(elements, dtype=DTYPES[kind[1:]], device=device)
            for name, kind in self.source.signature.items()
            if kind.startswith("*")
        }

    def launch(self, row: RankedConfig) -> None:
        """Start it once in one configuration."""
        sizes = dict(_sizes(row.choice))
        numels = self.source.numels
        arguments = [
            self.tensors[name] if name in self.tensors else numels[name.removesuffix("numel")]
            for name, kind in self.source.signature.items()
            if kind != "constexpr"
        ]
        held = [(numels[axis], sizes[p]) for p, axis in _AXES.items() if p in sizes]
        grid = tuple(ceil(elements / size) for elements, size in held) or (1,)
        self._function[grid](*arguments, **sizes, num_warps=row.warps, num_stages=row.stages)


def _function(text: str, name: str, folder: Path) -> Any:
    """Triton's function of a kernel without Inductor's decorator; it reads its own file."""
    lines, skipping = [], False
    for line in text.splitlines():
        skipping = skipping or line.startswith(_MARK)
        if not skipping and not line.startswith("triton_helpers.set_driver_to_gpu"):
            lines.append(line)
        skipping = skipping and line != ")"
    file = folder / f"{name}.py"
    file.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def _sizes(choice: str) -> Iterator[tuple[str, int]]:
    for each in filter(None, choice.split(", ")):
        name, _, size = each.partition("=")
        yield name, int(size)


def config_times(
    report: Report, ranked: RankedConfigs, device: str, elements: int, clock: Clock = on_device
) -> list[tuple[int, float]]:
    """The model's rank and the measured time of each configuration that can be launched."""
    kernel = next(kernel for kernel in report.kernels if kernel.id == ranked.kernel)
    text = report.texts[kernel.text or ""]
    found, rows = [], []
    with TemporaryDirectory() as folder:
        launched = LaunchedKernel(text, Path(folder), device, elements)
        for row in ranked.rows:
            told: dict[str, Any] = {
                "kernel": kernel.name,
                "config": row.choice,
                "warps": row.warps,
                "model_us": row.model_us,
            }
            if row.rank is None or row.model_us is None:
                rows.append({**told, "reason": row.rejection or row.note})
                continue
            try:
                measured = clock(partial(launched.launch, row))
            except Exception as error:  # a configuration that Triton cannot launch has no time
                rows.append({**told, "reason": reason(error)})
                continue
            rows.append({**told, "measured_us": measured})
            found.append((row.rank, measured))
    print_rows("configurations", rows)
    return found


def ranked_times(
    programs: Sequence[Callable[[torch.Tensor], torch.Tensor]], size: int, device: str
) -> dict[str, Times]:
    """The configurations of the kernels of some functions of one square matrix."""
    found: dict[str, Times] = {}
    x = torch.ones(size, size, device=device)
    for program in programs:
        compiled = wb.aot_compile(program, (x,), grad=False)
        for kernel in compiled.report.kernels:
            if kernel.language == "triton":
                ranked = compiled.rank_configs(kernel.id, warps=WARPS)
                times = config_times(compiled.report, ranked, device, size * size)
                found[f"{kernel.name} ({size} x {size})"] = times
    return found
