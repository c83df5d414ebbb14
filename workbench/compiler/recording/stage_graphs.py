"""FX graphs of every stage, read from the live graph modules while torch compiles."""

from __future__ import annotations

import re
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from torch import Tensor

from workbench.artifacts.programs import bytes_of
from workbench.compiler.captured_graphs.captured import CapturedGraph, captured
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.internals.trace import Record
from workbench.compiler.recording.collective_nodes import is_ordered, list_nodes, unwrap_ordered
from workbench.compiler.rows.program_rows import (
    NO_NODES,
    GraphTable,
    SeenGraph,
    extend_columns,
    strip_printed,
)
from workbench.compiler.sources.sources import Places
from workbench.report import Node, Table, TextWriter
from workbench.report.graph_stages import BY_RECORD, GRAPH_STAGES

PANE = "graphs"
_LAST = "after_post_grad"
RUNNABLE = "runnable graphs"
STEPS_PANE = "graphs of passes"
_RUNNABLE = frozenset(
    {
        "dynamo",
        "after_pre_grad",
        "joint",
        "forward",
        "backward",
        "inference",
        "after_joint_passes",
        "before_post_grad",
        _LAST,
    }
)
"""The stages whose graphs are kept so that they can be run: the others equal one of them."""
MOST = 4
"""Inputs that are named; the others are counted."""
_LOCAL = re.compile(r"^L\['(\w+)'\]")
_KEYWORD = re.compile(r"^kwargs\['(\w+)'\]")  # of a wrapper that hands all of them on
_ROOT = re.compile(r"^L\['\w+'\]\.?")  # the local variable that holds the module
_STATIC = "_dynamo_static_input_type"  # torch's mark of parameters, buffers and pinned tensors

Described = tuple[Any, Any, str | None, str | None, int | None]


@dataclass
class KeptGraph(SeenGraph):
    """One graph as it was when torch showed it.

    `calls` has by the name of a call what a pass hands on to what it puts in its place, and the
    names of those that use it; a view is a part of none of these.
    """

    module: int = 0  # id() of the graph module, only compared while it is alive
    calls: Mapping[str, tuple[object, tuple[str, ...]]] = field(default_factory=dict)


class GraphRecorder:
    """Keeps the graphs of one recording, in `table`; `inputs` is what the last capture takes.

    `runnable` has graphs as data that can be run, by id: the table has no arguments.
    """

    def __init__(self, patches: Patches, places: Places, texts: TextWriter):
        self.table: GraphTable[KeptGraph] = GraphTable()
        self.graphs, self.links = self.table.graphs, self.table.links
        self.runnable: dict[str, CapturedGraph] = {}
        self.inputs = ""
        self.written: frozenset[str] | None = frozenset()
        self._patches = patches
        self._places = places
        self._texts = texts
        self._printed: deque[tuple[Any, str]] = deque(maxlen=3)
        self._steps = deepcopy(dict(NO_NODES))
        self._names = NodeTexts()
        self.is_backward = False
        self._depth = 0

    def list_hooks(self) -> Iterator[Hook]:
        """Watch what torch prints, and the passes whose graphs it does not print."""
        yield Hook(tp.PRINT_READABLE, PANE, after=self._on_print)
        for name in BY_RECORD:
            yield Hook(name, PANE, after=self._on_record)
        yield Hook(tp.FX_CODEGEN, PANE, before=self._on_lowering)
        yield Hook(tp.JOINT_PASSES, PANE, around=self._around_joint_passes)

    def _on_print(self, text: str, module: Any, *args: Any, **kwargs: Any) -> None:
        self._printed.append((module, text))

    def _on_lowering(self, /, *args: Any, **kwargs: Any) -> None:
        self.is_backward = bool(kwargs.get("is_backward", False))

    def _on_record(self, record: Record) -> None:
        text = record.payload or ""
        module = None
        for printed, start in reversed(self._printed):  # forward and backward come in a pair
            if text.startswith(start):
                module, text = printed, start
                break
        self._keep(BY_RECORD[record.name], module, text, record.compile_id)

    def _around_joint_passes(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Show the joint graph of a training step: torch prints it for inference only."""

        def passes(module: Any, *args: Any, **kwargs: Any) -> Any:
            last = self.graphs[-1] if self.graphs else None
            is_shown = last is not None and last.stage == "before_joint_passes"
            if self._depth or is_shown:
                return inner(module, *args, **kwargs)
            self._depth += 1
            try:
                self._patches.guarded(PANE, self._print, "before_joint_passes", module)
                result = inner(module, *args, **kwargs)
                self._patches.guarded(PANE, self._print, "after_joint_passes", result)
            finally:
                self._depth -= 1
            return result

        return passes

    def keep_exported(self, module: Any) -> None:
        """Keep the graph that torch.export captured, in the place of Dynamo's."""
        self._patches.guarded(PANE, self._print, "dynamo", module)

    def _print(self, stage: str, module: Any) -> None:
        text = module.print_readable(print_output=False, include_stride=True, include_device=True)
        compile_id = self.graphs[-1].compile_id if self.graphs else None
        self._keep(stage, module, text, compile_id)

    def _keep(self, stage: str, module: Any, text: str, compile_id: str | None) -> None:
        is_lowering = stage in ("before_post_grad", "after_post_grad")
        is_backward = stage == "backward" or (is_lowering and self.is_backward)
        kept_graph = KeptGraph(
            self.table.next_id, stage, compile_id, is_backward, None, {}, _id(module)
        )
        nodes = [] if module is None else list(module.graph.nodes)
        rows = [self._row(node, kept_graph) for node in nodes]
        kept_graph.targets = {row[2]: row[4] for row in rows}
        kept_graph.calls = {
            node.name: (_origin_key(node), _list_users(node))
            for node in nodes
            if node.op == "call_function"
        }
        kept_graph.text = self._texts.add(strip_printed(self._places.shared(text)))
        origins = {
            node.name: [origin.name for origin in node.meta.get("from_node") or ()]
            for node in nodes
        }
        parent, own = self.table.add(kept_graph, rows, origins), GRAPH_STAGES[stage]
        if parent is not None and parent.stage in own.parents[:1] and not own.is_retraced:
            self.links += [
                (f"{parent.id}:{origin}", f"{kept_graph.id}:{name}")
                for origin, name in _list_replaced(parent, kept_graph)
            ]
        if stage == "dynamo" and module is not None:
            self.inputs = inputs_of(nodes, self._names)
            self.written = find_written(nodes)
        is_wanted = stage in _RUNNABLE and RUNNABLE not in self._patches.failed
        if is_wanted and module is not None:
            self._patches.guarded(RUNNABLE, self._keep_runnable, kept_graph, module)

    def _keep_runnable(self, kept_graph: KeptGraph, module: Any) -> None:
        runnable = captured(module, is_backward=kept_graph.is_backward)
        pairs = pair_gradients(module.graph.nodes) if kept_graph.stage == "joint" else {}
        self.runnable[kept_graph.id] = replace(runnable, gradient_of=pairs)

    def keep_step(self, id: str, module: Any, names: Collection[str]) -> None:
        """Keep a graph as a pass left it, the rows only of the nodes that it changed."""
        kept_graph = KeptGraph(id, "", None, self.is_backward, None, {})
        nodes = (node for node in module.graph.nodes if node.name in names)
        extend_columns(self._steps, [self._row(node, kept_graph) for node in nodes])
        if STEPS_PANE not in self._patches.failed:
            self._patches.guarded(STEPS_PANE, self._keep_runnable, kept_graph, module)

    def _row(self, node: Any, kept_graph: KeptGraph) -> tuple[Any, ...]:
        meta, graph = node.meta, kept_graph.id
        value = meta.get("val")
        if value is None:
            value = meta.get("example_value")
        shape, stride, dtype, device, size = self._names.tensor(value)
        trace = meta.get("stack_trace")
        frame = None if trace is None else self._places.innermost(trace)
        prefix = f"{graph}:"
        target, inputs = node.target, node.all_input_nodes
        if is_ordered(node):  # the operator and what it takes, not what has to come before
            target, *arguments = unwrap_ordered(node)
            inputs = list_nodes(arguments)
        return (
            prefix + node.name,
            graph,
            node.name,
            node.op,
            self._names.target(target),
            tuple(prefix + n.name for n in inputs),
            shape,
            stride,
            dtype,
            device,
            size,
            None if frame is None else self._places.shown(frame.file),
            None if frame is None else frame.line,
            self._names.module_path(meta),
            trace,  # becomes the call sites in `node_table`
            self._operator(meta) if kept_graph.stage == "joint" else None,
        )

    def _operator(self, meta: Mapping[str, Any]) -> str | None:
        """The ATen operator that autograd called, before it was taken apart, and which call."""
        operator = meta.get("original_aten")
        if operator is None or meta.get("from_node"):
            return None
        return f"{self._names.target(operator)}#{meta.get('seq_nr')}"

    def lowered(self, module: Any = None, *, is_part: bool = False) -> KeptGraph | None:
        """The graph that is being lowered: the last one after the post-grad passes.

        A part of it, which torch prints with the whole, is kept as a graph of its own: its nodes
        may have the names of others.
        """
        if is_part:
            self._print(_LAST, module)
            return self.graphs[-1]
        module_id = _id(module)
        for graph in reversed(self.graphs):
            if graph.stage == _LAST and (not module_id or graph.module == module_id):
                return graph
        return self.lowered() if module_id else None

    def ids_before(self, kept: KeptGraph | None, names: Iterable[str]) -> tuple[str, ...]:
        """The ids of nodes in the graph that one was made from; those it lacks are left out."""
        before = None if kept is None else self.table.find_parent(kept)
        if before is None:
            return ()
        return tuple(f"{before.id}:{name}" for name in names if name in before.targets)

    def lines(self, nodes: Iterable[Any]) -> tuple[tuple[str, int], ...]:
        """The innermost user lines of FX nodes, each once, under the files' shown names."""
        places: dict[tuple[str, int], None] = {}
        for node in nodes:
            trace = node.meta.get("stack_trace")
            frame = None if trace is None else self._places.innermost(trace)
            if frame is not None:
                places[self._places.shown(frame.file), frame.line] = None
        return tuple(places)

    def target(self, target: Any) -> str:
        """The name of an FX node's target."""
        return self._names.target(target)

    def close(self) -> None:
        """Let go of torch's objects."""
        self._printed.clear()
        self._names.forget()

    def traces(self) -> set[str]:
        """The stack traces of all nodes."""
        both = chain(self.table.columns["called_from"], self._steps["called_from"])
        return {trace for trace in both if trace is not None}

    def targets(self) -> set[str]:
        """What the nodes of all graphs call."""
        return set(self.table.columns["target"])

    @property
    def module_classes(self) -> dict[str, str]:
        """The class of each module that the graphs name, by its path; that of the call is ``."""
        return dict(self._names.classes)

    def node_table(
        self, call_sites: Mapping[str, tuple[str, ...]], *, of_steps: bool = False
    ) -> Table[Node]:
        """The nodes of every graph, or those that passes changed, with their call sites."""
        columns = self._steps if of_steps else self.table.columns
        sites = [call_sites.get(trace, ()) for trace in columns["called_from"]]
        return Table(Node, {**columns, "called_from": sites})


def pair_gradients(nodes: Iterable[Any]) -> dict[str, str]:
    """By node of autograd's in a joint graph the captured node whose gradient it belongs to.

    torch gives it the sources of the forward nodes of the same call. The sums in which gradients
    of several uses meet belong to none.
    """
    by_source: dict[str, str] = {}
    pairs = {}
    for node in nodes:
        origin, sources = node.meta.get("from_node"), node.meta.get("source_fn_stack")
        if origin and sources:
            by_source[str(sources[-1][0])] = origin[-1].name
        forward = node.meta.get("fwd_source_fn_stack")
        if forward and (name := by_source.get(str(forward[-1][0]))) is not None:
            pairs[node.name] = name
    return pairs


def _id(module: Any) -> int:
    return 0 if module is None else id(module)


def inputs_of(nodes: Iterable[Any], texts: NodeTexts) -> str:
    """The tensors that differ from call to call, such as `ids [1, 5], mask [1, 1, 5, 9]`.

    Parameters and buffers are left out; an open size is torch's symbol.
    """
    every = list(_inputs(nodes, texts))
    tensors = [text for text in every if not text.endswith("[]")] or every  # scalars say little
    more = f" and {len(tensors) - MOST} more" if len(tensors) > MOST else ""
    return ", ".join(tensors[:MOST]) + more


def find_written(nodes: Iterable[Any]) -> frozenset[str] | None:
    """The inputs of a captured graph that it writes to, as the user calls them.

    None where that is not known: an operator that takes a function, or a kernel, may write too.
    Dynamo runs each operator on a fake tensor, whose version counts writes through any view.
    """
    written: set[str] = set()
    for node in nodes:
        if isinstance(node.target, tp.HIGHER_ORDER.get()):
            return None
        value = node.meta.get("example_value") if node.op == "placeholder" else None
        if not isinstance(value, Tensor):
            continue
        if value.is_inference():  # which counts no writes
            return None
        if value._version:
            written.add(_name(node))
    return frozenset(written)


def _inputs(nodes: Iterable[Any], texts: NodeTexts) -> Iterator[str]:
    for node in nodes:
        if node.op != "placeholder":
            continue
        shape = texts.tensor(node.meta.get("example_value"))[0]
        if shape is not None and _STATIC not in (node.meta.get("tensor_dict") or ()):
            yield f"{_name(node)} [{', '.join(map(str, shape))}]"


def _name(node: Any) -> str:
    """What the user calls it; torch's name of the node where Dynamo keeps no source."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", None)
    text = name() if callable(name) else name  # a method until torch 2.12
    return _KEYWORD.sub(r"\1", _LOCAL.sub(r"\1", text)) if isinstance(text, str) else node.name


class NodeTexts:
    """Texts of targets, types and devices, each made once."""

    def __init__(self) -> None:
        import torch

        self._tensor_type = torch.Tensor
        self._strided = torch.strided
        self._targets: dict[int, tuple[Any, str]] = {}
        self._paths: dict[Any, str | None] = {}
        self.classes: dict[str, str] = {}  # of modules, by their paths
        self._texts: dict[Any, str] = {}
        self._seen: dict[int, tuple[Any, Described]] = {}  # stages share most of their values

    def target(self, target: Any) -> str:
        """The name of a target: an operator, a function, or the text that names an attribute."""
        if isinstance(target, str):
            return target
        entry = self._targets.get(id(target))  # hashing an operator is a call in Python
        if entry is None:
            entry = self._targets[id(target)] = target, _target(target)
        return entry[1]

    def _text(self, value: Any) -> str:
        text = self._texts.get(value)
        if text is None:
            text = self._texts[value] = str(value).removeprefix("torch.")
        return text

    def module_path(self, meta: dict[str, Any]) -> str | None:
        """The path of the innermost module that an operation belongs to."""
        stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
        if not stack:
            return None
        path = next(reversed(stack.values()))[0]
        if path not in self._paths:
            self._paths[path] = _ROOT.sub("", str(path)) or None
            for around, kind in stack.values():  # torch's cache of graphs has the class as text
                name = getattr(kind, "__qualname__", None) or str(kind)
                self.classes[_ROOT.sub("", str(around))] = name.rpartition(".")[2]
        return self._paths[path]

    def forget(self) -> None:
        """Let go of torch's objects."""
        self._seen.clear()
        self._targets.clear()

    def tensor(self, value: Any) -> Described:
        """Shape, stride, dtype, device and bytes of a value; of several tensors, their bytes."""
        entry = self._seen.get(id(value))
        if entry is None:
            entry = self._seen[id(value)] = value, self._describe(value)
        return entry[1]

    def _describe(self, value: Any) -> Described:
        if isinstance(value, self._tensor_type):
            shape = _dims(value.shape)
            stride = _dims(value.stride()) if value.layout is self._strided else None
            size = bytes_of(shape, value.dtype.itemsize)
            return shape, stride, self._text(value.dtype), self._text(value.device), size
        if isinstance(value, tuple | list):
            parts = [self.tensor(part)[4] for part in value]
            sizes = [part for part in parts if part is not None]
            return None, None, None, None, sum(sizes) if sizes else None
        return None, None, None, None, None


def _list_users(node: Any) -> tuple[str, ...]:
    return () if getattr(node.target, "is_view", False) else tuple(u.name for u in node.users)


def _origin_key(node: Any) -> object:
    """What a pass copies from a call to those that it puts in its place."""
    origin = next(iter(node.meta.get("from_node") or ()), None)
    trace = node.meta.get("stack_trace")
    if origin is None and trace is None:
        return None
    return node.meta.get("original_aten"), origin and origin.name, trace


def _list_replaced(before: KeptGraph, after: KeptGraph) -> Iterator[tuple[str, str]]:
    """The calls that passes replaced, each with those in its place.

    One that only such calls read went with them: the product of an `addmm` that was an addition.
    """
    lost: dict[object, list[str]] = defaultdict(list)
    new: dict[object, list[str]] = defaultdict(list)
    for one, other, by_key in ((before, after, lost), (after, before, new)):
        for name, (key, _) in one.calls.items():
            if name not in other.targets and key is not None:
                by_key[key].append(name)
    became: dict[str, Sequence[str]] = {}
    for key, names in lost.items():
        new_names = new.get(key, ())
        size, rest = divmod(len(new_names), len(names))
        for at, name in enumerate(
            names
        ):  # in turn: calls of one line are told apart by their order
            became[name] = new_names if rest else new_names[at * size : (at + 1) * size]
    for name, (_, users) in reversed(list(before.calls.items())):
        if name not in after.targets:
            own = became.get(name) or [
                replacement for user in users for replacement in became.get(user, ())
            ]
            became[name] = tuple(dict.fromkeys(own))
            yield from ((name, replacement) for replacement in became[name])


def _dims(values: Iterable[Any]) -> tuple[int | str, ...]:
    return tuple(v if type(v) is int else str(v) for v in values)


def _target(target: Any) -> str:
    text = str(target)
    if not text.startswith("<"):
        return text
    module = str(getattr(target, "__module__", "") or "").removeprefix("_")
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    own = getattr(target, "__name__", "")
    if "<locals>" in str(name) and getattr(sys.modules.get(module), own, None) is target:
        name = own  # such as F.max_pool2d, which a flag chooses the body of
    return f"{module}.{name}".lstrip(".") if name else type(target).__name__
