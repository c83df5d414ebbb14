"""What torch's caches answered, or would have answered had they been asked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.internals.trace import Record, TraceHandler
from workbench.compiler.recording.cache_parts import KeyParts
from workbench.report import CacheEvent

PANE = "cache"
PARTS = "cache_parts"
_WITHHELD = "found, not used: capture='full' runs every step so that it is seen"
_RECORDS = {
    f"{record}_{outcome}": (cache, outcome)
    for record, cache in (
        ("fx_graph_cache", "FX graph cache"),
        ("aotautograd_cache", "AOTAutograd cache"),
    )
    for outcome in ("hit", "miss", "bypass")
    if outcome == "bypass" or record == "fx_graph_cache"  # its lookups are asked directly
}


class CacheRecorder:
    """Keeps the caches' answers; at full level it withholds them, so that every step runs.

    The AOTAutograd cache stays on, because torch saves a compiled function through it: it is asked,
    its answer noted and not passed on. The FX graph cache is off; a file that it would read counts
    as a hit, its guards are not checked.
    """

    def __init__(self, patches: Patches, *, is_bypassed: bool):
        self._patches = patches
        self._is_bypassed = is_bypassed
        self.rows: list[CacheEvent] = []
        self.parts = KeyParts()

    def install(self, trace: TraceHandler) -> None:
        """Watch the caches."""
        self._patches.wrap(tp.AUTOGRAD_CACHE_LOOKUP, self._lookup, PANE)
        for name in _RECORDS:
            trace.on(name, self._on_record, PANE)
        if self._is_bypassed:
            self._patches.config(tp.INDUCTOR_CONFIG, {"fx_graph_cache": False}, PANE)
            self._patches.observe(tp.FX_CODEGEN, PANE, before=self._on_lowering)
            self._patches.observe(tp.FX_CODEGEN, PARTS, before=self._take_parts)

    def _lookup(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def lookup(key: str, *args: Any, **kwargs: Any) -> Any:
            try:
                found = inner(key, *args, **kwargs)
            # An entry of a dynamic compilation is found for fixed sizes too and its guards ask for
            # sizes that are not there; torch takes that for a miss, but not while it saves.
            except Exception as error:
                why = f"an entry cannot be used: {type(error).__name__}: {error}"
                self.rows.append(CacheEvent("AOTAutograd cache", "miss", key, why))
                return None
            withheld = found is not None and self._is_bypassed
            outcome, reason = "miss" if found is None else "hit", _WITHHELD if withheld else None
            self.rows.append(CacheEvent("AOTAutograd cache", outcome, key, reason))
            return None if withheld else found

        return lookup

    def _on_record(self, record: Record) -> None:
        cache, outcome = _RECORDS[record.name]
        data: dict[str, Any] = json.loads(record.payload or "{}")
        key = data.get("key") or data.get("cache_key")
        if isinstance(data.get("components"), list):
            self.parts.take_lines(data["components"])
        reason = data.get("cache_bypass_reason") or data.get("cache_bypass_exception_type")
        self.rows.append(CacheEvent(cache, outcome, key, None if reason is None else str(reason)))

    def _take_parts(self, module: Any, inputs: Any, to_check: Any = (), *_: Any, **kw: Any) -> None:
        self.parts.take(module, inputs, to_check, kw)

    def _on_lowering(
        self, module: Any, inputs: Any, to_check: Any = (), *_: Any, **kw: Any
    ) -> None:
        options = {key: value for key, value in kw.items() if key != "compile_region_name"}
        if _nothing_kept():
            reason = _refusal(module, inputs, options)
            outcome = "miss" if reason is None else "bypass"
            self.rows.append(CacheEvent("FX graph cache", outcome, None, reason))
            return
        cache, config = tp.FX_GRAPH_CACHE.get(), tp.INDUCTOR_CONFIG.get()
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


def _nothing_kept() -> bool:
    """True when no graph is in the cache: a key, which takes longest to compute, finds nothing."""
    one = tp.FX_CACHE_FOLDER.get()("key")
    folder = os.path.dirname(os.path.dirname(one))
    return not os.path.isdir(folder) or not os.listdir(folder)


def _refusal(module: Any, inputs: Any, options: dict[str, Any]) -> str | None:
    """Why torch's cache would refuse the graph; None when it would take it."""
    try:
        with tp.INDUCTOR_CONFIG.get().patch({"fx_graph_cache": True}):
            tp.FX_GRAPH_CACHE.get()._check_can_cache(module, inputs, options)
    except tp.FX_CACHE_BYPASS.get() as error:
        return str(error)
    return None
