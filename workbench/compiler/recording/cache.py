"""What torch's caches answered, or would have answered had they been asked, and to which keys."""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.older_releases import check_can_cache
from workbench.compiler.internals.patches import Hook
from workbench.compiler.internals.trace import Record
from workbench.compiler.rows.dynamo_rows import CACHE_RECORDS, read_cache_event
from workbench.report import CacheEvent, CachePart, Table, content_hash

_SHOWN = 200  # characters of a value; the hash covers all of them
_CONSTANT = 1 << 20  # bytes of a constant whose values are compared
_OURS = ("fx_graph_cache", "cpp.vec_isa_ok")  # what the recorder itself switches
_NAMES = {
    "torch_version": "torch's sources",
    "system_info": "device",
    "cpp_runtime_thread_count": "threads",
    "default_dtype": "default dtype",
    "cuda_matmul_settings": "precision of products",
    "deterministic_algorithms_settings": "deterministic algorithms",
    "user_defined_triton_source": "user-written Triton kernels",
    "cache_key_tag": "tag of the cache",
}
_LINE = re.compile(r"\[(\w+)\] (\w+?)(?:\[([^\]]*)\])?: (.*)", re.DOTALL)
_TENSOR = re.compile(
    r"TensorMetadata\(dtype=torch\.(\w+), shape=torch\.Size\(\[(.*?)\]\), stride=\((.*?),?\), "
    r"device=device\(type='(\w+)'(?:, index=(\d+))?\)"
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class KeyParts:
    """The keys of one recording, in the order in which graphs were lowered."""

    def __init__(self) -> None:
        self._keys: list[Mapping[str, Any]] = []

    def take(self, module: Any, inputs: Any, to_check: Any, options: Mapping[str, Any]) -> None:
        """Keep what the key of a graph would be made of; a graph that torch refuses has none."""
        try:
            details = tp.FX_HASH_DETAILS.get()(module, inputs, options, to_check)
        except tp.FX_CACHE_BYPASS.get():
            return
        rest = {k: v for k, v in vars(details).items() if k not in ("gm", "example_inputs")}
        self._keys.append(
            {
                "gm": module.graph.python_code("self").src,  # .code would define the function too
                "example_inputs": [_input(value) for value in inputs],
                "constants": dict(_constants(module)),
                **rest,
                "fx_kwargs": {name: _text(v) for name, v in details.fx_kwargs.items()},
            }
        )

    def take_lines(self, lines: Sequence[str]) -> None:
        """Keep a key that torch has computed and described."""
        parts: dict[str, Any] = {}
        for line in lines:
            if match := _LINE.fullmatch(line):
                _, name, index, text = match.groups()
                if index is None:
                    parts[name] = text
                else:
                    parts.setdefault(name, {})[index] = text
        if "gm" not in parts:
            return
        inputs = parts.get("example_inputs", {})
        parts["example_inputs"] = [_described(text) for text in inputs.values()]
        parts["gm"] = _code(parts["gm"])
        parts["torch_version"] = parts.get("torch_version", "").encode()
        self._keys.append(parts)

    def table(self) -> Table[CachePart]:
        """A row for each part that is not at its default."""
        labels: dict[str, int] = {}
        rows = []
        for key in self._keys:
            options = key.get("fx_kwargs", {})
            label = "backward" if str(options.get("is_backward")) == "True" else "forward"
            labels[label] = labels.get(label, 0) + 1
            graph = label if labels[label] == 1 else f"{label} {labels[label]}"
            rows += [
                CachePart(graph, part, text[:_SHOWN], content_hash(text))
                for part, text in _parts(key)
            ]
        return Table.of(CachePart, rows)


def _parts(key: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "graph", str(key["gm"]).strip()
    for number, text in enumerate(key["example_inputs"], 1):
        yield f"input {number}", text
    if "constants" in key:
        yield "constants", ", ".join(key["constants"]) or "none"
        yield from ((f"constant {name}", text) for name, text in key["constants"].items())
    entries = tp.INDUCTOR_CONFIG_ENTRIES.find() or {}
    defaults = {name: _text(entry.default) for name, entry in entries.items()}
    for name, value in key.get("inductor_config", {}).items():
        if name not in _OURS and (text := _text(value)) != defaults.get(name):
            yield f"option {name}", text
    for name, value in key.get("fx_kwargs", {}).items():
        yield f"setting {name}", _text(value)
    done = ("gm", "example_inputs", "constants", "inductor_config", "fx_kwargs")
    for name, value in key.items():
        if name not in done and (text := _whole(value)) not in _EMPTY:
            yield _NAMES.get(name) or name.strip("_").replace("_", " "), text


_EMPTY = ("None", "[]", "{}", "()", "")


def _whole(value: Any) -> str:
    """A part with all that is in it, in the words in which torch describes one."""
    if isinstance(value, bytes):
        return content_hash(value.decode("utf-8", "replace"))
    if isinstance(value, list):
        value = {str(place): part for place, part in enumerate(value)}
    if isinstance(value, Mapping):
        return str({name: _text(part) for name, part in value.items()})
    return _text(value)


def _text(value: Any) -> str:
    return _ADDRESS.sub("", str(value))


def _input(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return f"value {value}"
    strides = value.stride() if value.layout is torch.strided else "none"
    return _tensor(str(value.dtype).removeprefix("torch."), value.shape, strides, value.device)


def _tensor(dtype: str, shape: Any, strides: Any, device: Any) -> str:
    sizes, steps = (
        ", ".join(map(str, v)) if not isinstance(v, str) else v for v in (shape, strides)
    )
    return f"shape ({sizes}); dtype {dtype}; strides ({steps}); device {device}"


def _described(text: str) -> str:
    """An input in our words, from torch's own description."""
    match = _TENSOR.match(text)
    if match is None:
        return f"value {text}"
    dtype, shape, strides, device, index = match.groups()
    return _tensor(dtype, shape, strides, device if index is None else f"{device}:{index}")


def _code(text: str) -> str:
    """The program in what torch prints for a graph."""
    start, end = text.find("\ndef forward"), text.rfind("\n# To see more debug info")
    return text[max(start, 0) : end if end > 0 else len(text)]


def _constants(module: Any) -> Iterator[tuple[str, str]]:
    """Tensors and graphs that the graph holds, with a hash of what is in them."""
    for node in module.graph.find_nodes(op="get_attr"):
        value = module
        for name in str(node.target).split("."):
            value = getattr(value, name, None)
        if isinstance(value, torch.fx.GraphModule):
            yield str(node.target), f"graph {content_hash(value.code)}"
        elif isinstance(value, torch.Tensor):
            yield str(node.target), f"{_input(value)}; values {_values(value)}"


def _values(tensor: torch.Tensor) -> str:
    is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.device.type == "cpu"
    if not is_plain or tensor.layout is not torch.strided or not tensor.is_contiguous():
        return "not compared"
    size = tensor.numel() * tensor.element_size()
    if size > _CONSTANT:
        return "not compared"
    return content_hash(ctypes.string_at(tensor.data_ptr(), size).hex())


PANE = "cache"
PARTS = "cache_parts"
_WITHHELD = "found but not used: capture='full' runs every step to record it"
_SEEN_DIRECTLY = ("aotautograd_cache_hit", "aotautograd_cache_miss")


class CacheRecorder:
    """Keeps the caches' answers; at full level it withholds them, so that every step runs.

    The AOTAutograd cache stays on, because torch saves a compiled function through it: it is asked,
    its answer noted and not passed on. The FX graph cache is off; a file that it would read counts
    as a hit, its guards are not checked.
    """

    def __init__(self, *, is_bypassed: bool):
        self._is_bypassed = is_bypassed
        self.rows: list[CacheEvent] = []
        self.parts = KeyParts()

    def list_hooks(self) -> Iterator[Hook]:
        """Watch the caches."""
        yield Hook(tp.AUTOGRAD_CACHE_LOOKUP, PANE, around=self._lookup)
        for name in CACHE_RECORDS:
            if name not in _SEEN_DIRECTLY:
                yield Hook(name, PANE, after=self._on_record)
        if self._is_bypassed:
            yield Hook(tp.FX_CODEGEN, PANE, before=self._on_lowering)
            yield Hook(tp.FX_CODEGEN, PARTS, before=self._take_parts)

    def _lookup(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def lookup(key: str, *args: Any, **kwargs: Any) -> Any:
            try:
                entry = inner(key, *args, **kwargs)
            # An entry of a dynamic compilation is found for fixed sizes too and its guards ask for
            # sizes that are not there; torch takes that for a miss, but not while it saves.
            except Exception as error:
                why = f"an entry cannot be used ({type(error).__name__}): {error}"
                self.rows.append(CacheEvent("AOTAutograd cache", "miss", key, why))
                return None
            withheld = entry is not None and self._is_bypassed
            outcome, reason = "miss" if entry is None else "hit", _WITHHELD if withheld else None
            self.rows.append(CacheEvent("AOTAutograd cache", outcome, key, reason))
            return None if withheld else entry

        return lookup

    def _on_record(self, record: Record) -> None:
        data: dict[str, Any] = json.loads(record.payload or "{}")
        if isinstance(data.get("components"), list):
            self.parts.take_lines(data["components"])
        self.rows.append(read_cache_event(record.name, data))

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
            prepared, info = cache.prepare_key(module, inputs, options, to_check, False)
        counters.clear()
        counters.update(before)
        if prepared is None:
            reason = str(info.get("cache_bypass_reason", ""))
            self.rows.append(CacheEvent("FX graph cache", "bypass", None, reason))
            return
        key = prepared[0]
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
            check_can_cache(module, inputs, options)
    except tp.FX_CACHE_BYPASS.get() as error:
        return str(error)
    return None
