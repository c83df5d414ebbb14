"""Choices that Inductor timed against each other, each with its time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.compiler import torch_private as tp
from workbench.compiler.patches import Patches
from workbench.report import AutotuneChoice

PANE = "autotune"


class AutotuneRecorder:
    """Reads the answers of the algorithm selector and of Triton's own tuner."""

    def __init__(self, patches: Patches):
        self._patches = patches
        self.rows: list[AutotuneChoice] = []

    def install(self) -> None:
        """Watch what is timed."""
        self._patches.observe(tp.DO_AUTOTUNING, PANE, after=self._on_results)
        self._patches.observe(tp.BENCHMARK_ALL_CONFIGS, PANE, after=self._on_configs)

    def _on_results(self, timings: Any, selector: Any, name: str, *_: Any, **__: Any) -> None:
        self._add(name, {(c.name, _kind(c)): float(t) for c, t in timings.items()})

    def _on_configs(self, timings: Any, tuner: Any, *_: Any, **__: Any) -> None:
        name = str(getattr(getattr(tuner, "fn", None), "__name__", "kernel"))
        self._add(name, {(str(c.config), "triton config"): float(t) for c, t in timings.items()})

    def _add(self, op: str, timings: Mapping[tuple[str, str], float]) -> None:
        best = min(timings, key=lambda key: timings[key], default=None)
        for key, time_ms in timings.items():
            is_timed = math.isfinite(time_ms)
            self.rows.append(
                AutotuneChoice(
                    id=f"a{len(self.rows)}",
                    op=op,
                    choice=key[0],
                    kind=key[1],
                    time_ms=time_ms if is_timed else None,
                    chosen=key == best and is_timed,
                    note=None if is_timed else "failed",
                )
            )


_KINDS = {
    "ExternKernelCaller": "library",
    "CppTemplateCaller": "cpp template",
    "TritonTemplateCaller": "triton template",
    "SubgraphChoiceCaller": "subgraph",
}


def _kind(choice: Any) -> str:
    inner = getattr(choice, "_wrapped", choice)  # a template with weights repacked around it
    name = type(inner).__name__
    return _KINDS.get(name, name)
