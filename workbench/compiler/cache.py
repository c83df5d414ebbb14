"""What torch's caches answered, or would have answered had they been asked."""

from __future__ import annotations

import json
import os
from typing import Any

from workbench.compiler import torch_private as tp
from workbench.compiler.patches import Patches
from workbench.compiler.trace import Record, TraceHandler
from workbench.report import CacheEvent

PANE = "cache"
_RECORDS = {
    f"{record}_{outcome}": (cache, outcome)
    for record, cache in (
        ("fx_graph_cache", "FX graph cache"),
        ("aotautograd_cache", "AOTAutograd cache"),
    )
    for outcome in ("hit", "miss", "bypass")
}


class CacheRecorder:
    """Keeps the caches' answers; where they were bypassed, looks for the file that they would read.

    A file that exists counts as a hit; its guards are not checked.
    """

    def __init__(self, patches: Patches, *, is_bypassed: bool):
        self._patches = patches
        self._is_bypassed = is_bypassed
        self.rows: list[CacheEvent] = []

    def install(self, trace: TraceHandler) -> None:
        """Watch the caches."""
        for name in _RECORDS:
            trace.on(name, self._on_record, PANE)
        if self._is_bypassed:
            self._patches.observe(tp.FX_CODEGEN, PANE, before=self._on_lowering)

    def _on_record(self, record: Record) -> None:
        cache, outcome = _RECORDS[record.name]
        data: dict[str, Any] = json.loads(record.payload or "{}")
        key = data.get("key") or data.get("cache_key")
        reason = data.get("cache_bypass_reason") or data.get("cache_bypass_exception_type")
        self.rows.append(CacheEvent(cache, outcome, key, None if reason is None else str(reason)))

    def _on_lowering(self, module: Any, inputs: Any, to_check: Any = (), *_: Any, **kw: Any) -> None:
        cache, config = tp.FX_GRAPH_CACHE.get(), tp.INDUCTOR_CONFIG.get()
        options = {key: value for key, value in kw.items() if key != "compile_region_name"}
        counters = tp.COUNTERS.get()["inductor"]
        before = dict(counters)
        with config.patch({"fx_graph_cache": True}):
            found, info = cache.prepare_key(module, inputs, options, to_check, False)
        counters.clear()
        counters.update(before)
        if found is None:
            reason = str(info.get("cache_bypass_reason", ""))
            self.rows.append(CacheEvent("FX graph cache", "bypass", None, reason))
            return
        key = found[0]
        folder = tp.FX_CACHE_FOLDER.get()(key)
        is_hit = os.path.isdir(folder) and bool(os.listdir(folder))
        self.rows.append(CacheEvent("FX graph cache", "hit" if is_hit else "miss", key))
