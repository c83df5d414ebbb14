"""Which lowering each operator took, and what it made: read while Inductor walks the graph."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.report.rows import Lowering

PANE = "lowerings"
_ITS_INPUT = "its input"
_BOXES = ("TensorBox", "StorageBox")
_KINDS = {
    "Scatter": "scatter",
    "Pointwise": "pointwise",
    "Reduction": "reduction",
    "Scan": "scan",
    "Sort": "sort",
    "BaseView": "view",
    "TemplateBuffer": "template",
    "MultiTemplateBuffer": "template or library call",
    "ConcatKernel": "concatenation",
    "UserDefinedTritonKernel": "user kernel",
    "FallbackKernel": "fallback",
    "ScatterFallback": "fallback",
    "IndexPutFallback": "fallback",
    "InplaceBernoulliFallback": "fallback",
    "InplaceCopyFallback": "fallback",
    "Conditional": "control flow",
    "WhileLoop": "control flow",
    "InvokeSubgraph": "control flow",
    "ExternKernel": "library call",
    "BaseConstant": "pointwise",
}
"""Classes of Inductor's IR by name; the nearest class of an object counts."""
_PART_OF_ANOTHER = ("MultiOutput", "MutationOutput", "NopKernel", "InputBuffer")
_WITHIN = tp.LOWERINGS.module.removesuffix("lowering")
_FALLBACK = "lowering.fallback_handler"


@dataclass
class _Open:
    """A node on its way: how many operations were there, and whether a lowering was called."""

    first: int
    is_called: bool = False


class OperatorRecorder:
    """Keeps what Inductor made of each operator of the graphs that it lowers."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._found: dict[int, tuple[Any, list[Lowering]]] = {}

    def list_hooks(self) -> Iterator[Hook]:
        """Watch every node on its way to IR."""
        yield Hook(tp.LOWER_NODE, PANE, before=self._enter, after=self._leave)
        yield Hook(tp.CALL_LOWERING, PANE, before=self._call)

    def close(self) -> None:
        """Forget which of torch's objects were seen."""
        self._open.clear()
        self._found.clear()

    def take(self, graph: Any) -> list[Lowering]:
        """The rows of a graph that is lowered; they name their nodes and not yet their graph."""
        _, rows = self._found.pop(id(graph), (None, []))
        return rows

    def _enter(self, graph: Any, node: Any) -> None:
        self._open.append(_Open(len(graph.operations)))

    def _call(self, /, *args: Any) -> None:
        if self._open:
            self._open[-1].is_called = True

    def _leave(self, result: Any, graph: Any, node: Any) -> None:
        opened = self._open.pop()
        if node.op != "call_function" or not hasattr(node.target, "namespace"):
            return  # an argument, a result, or arithmetic on sizes
        made = [_kind(one) for one in graph.operations[opened.first :] if _is_of(one, node)]
        for value in map(_unboxed, result if isinstance(result, tuple | list) else (result,)):
            if not hasattr(value, "operation_name"):  # else it is among the operations
                made.append(_kind(value) if _is_of(value, node) else None)
        kinds = tuple(dict.fromkeys(kind for kind in made if kind is not None)) or (_ITS_INPUT,)
        name = _lowering(node) if opened.is_called else _FALLBACK
        row = Lowering("", node.name, str(node.target), name, kinds)
        self._found.setdefault(id(graph), (graph, []))[1].append(row)


def _unboxed(value: Any) -> Any:
    while type(value).__name__ in _BOXES:
        value = value.data
    return value


def _written(value: Any) -> Any:
    """What computes a buffer; views and all else stand for themselves."""
    return value.data if type(value).__name__ == "ComputedBuffer" else value


def _is_of(value: Any, node: Any) -> bool:
    """Whether something was made for this node, and not for an input of it before."""
    written = _written(value)
    return node in getattr(written, "origins", ())


def _kind(value: Any) -> str | None:
    written = type(_written(value))
    if written.__name__ in _PART_OF_ANOTHER:
        return None
    return next((_KINDS[one.__name__] for one in written.__mro__ if one.__name__ in _KINDS), None)


def _lowering(node: Any) -> str | None:
    """The function that lowered a node, without the module's `torch._inductor`."""
    custom = node.meta.get("custom") or {}
    if "should_fallback" in node.meta or custom.get("fallback_to_eager"):
        return _FALLBACK
    users, own = tp.USER_LOWERINGS.find() or {}, tp.LOWERINGS.find() or {}
    called = users.get(node.target) or own.get(node.target)
    if called is None:
        return None
    function = inspect.unwrap(called)
    name = function.__qualname__.partition(".<locals>")[0]
    return f"{function.__module__}.{name}".removeprefix(_WITHIN)
