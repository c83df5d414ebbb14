"""Choices that Inductor timed against each other, each with its time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.sources.sources import Places
from workbench.report import AutotuneChoice, TextWriter

PANE = "autotune"
_WITH_CODE = 2  # of each operation: the choice that was taken and the next one


class AutotuneRecorder:
    """Reads the answers of the algorithm selector and of Triton's own tuner."""

    def __init__(self, places: Places, texts: TextWriter):
        self._places = places
        self._texts = texts
        self._seen: Counter[str] = Counter()
        self.rows: list[AutotuneChoice] = []

    def list_hooks(self) -> Iterator[Hook]:
        """Watch what is timed."""
        yield Hook(tp.DO_AUTOTUNING, PANE, after=self._on_results)
        yield Hook(tp.BENCHMARK_ALL_CONFIGS, PANE, after=self._on_configs)

    def _on_results(
        self, timings: Any, selector: Any, name: str, inputs: Any = (), *_: Any, **__: Any
    ) -> None:
        ranked = sorted(timings, key=lambda choice: float(timings[choice]))
        codes = {(c.name, _kind(c)): self._code(c) for c in ranked[:_WITH_CODE]}
        times = {(c.name, _kind(c)): float(t) for c, t in timings.items()}
        shapes = ("x".join(map(str, node.get_size())) for node in inputs)
        self._add(f"{name}({', '.join(shapes)})", times, codes)

    def _on_configs(self, timings: Any, tuner: Any, *_: Any, **__: Any) -> None:
        name = str(getattr(getattr(tuner, "fn", None), "__name__", "kernel"))
        self._add(name, {(str(c.config), "triton config"): float(t) for c, t in timings.items()})

    def _add(
        self,
        op: str,
        timings: Mapping[tuple[str, str], float],
        codes: Mapping[tuple[str, str], str | None] | None = None,
    ) -> None:
        """`op` may come again: each time is one operation of its own."""
        self._seen[op] += 1
        op = f"{op} #{self._seen[op]}" if self._seen[op] > 1 else op
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
                    text=(codes or {}).get(key),
                )
            )

    def _code(self, choice: Any) -> str | None:
        """The code that was timed, before what follows it was fused to it; of a call its name."""
        inner = _inner(choice)
        request = getattr(inner, "bmreq", None)
        text = getattr(request, "source_code", None)  # C++
        path = getattr(request, "module_path", None)  # Triton
        if text is None and path is not None and Path(path).is_file():
            text = Path(path).read_text(encoding="utf-8")
        call = getattr(inner, "choice", None)  # of a library: its function
        if text is None and call is not None and hasattr(call, "call_name"):
            text = f"{call.call_name()}  # a library call"
        return None if text is None else self._texts.add(self._places.shared(text.strip()))


_KINDS = {
    "ExternKernelCaller": "library",
    "CppTemplateCaller": "cpp template",
    "TritonTemplateCaller": "triton template",
    "SubgraphChoiceCaller": "subgraph",
}


def _kind(choice: Any) -> str:
    name = type(_inner(choice)).__name__
    return _KINDS.get(name, name)


def _inner(choice: Any) -> Any:
    """The choice itself, without a wrapper that repacks weights around it."""
    return getattr(choice, "_wrapped", choice)
