"""How the joint graph of a training step would be parted under other activation memory budgets.

torch solves a minimum cut for a budget, and asks for operators' run times. Between budgets most of
the cuts and all of the times are the same, so that they are kept while a graph is looked at.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.internals.tensor_like import list_tensor_leaves
from workbench.compiler.recording.flops import count_formula_flops
from workbench.compiler.sources.sources import Places
from workbench.report.memory_rows import MemoryBudget, RecomputedNode

PANE = "memory_budgets"


class BudgetRecorder:
    """Asks torch's partitioner for each budget before it answers for its own.

    The cuts leave marks on nodes, so that a program compiled with it is for its figures only.
    """

    def __init__(self, patches: Patches, places: Places, budgets: Sequence[float]):
        self.budgets: list[MemoryBudget] = []
        self.recomputed: list[RecomputedNode] = []
        self._patches = patches
        self._places = places
        self._asked = budgets
        self._graphs = 0

    @property
    def panes(self) -> tuple[str, ...]:
        """What it is called among the capabilities of a record; nothing where it is not asked."""
        return (PANE,) if self._asked else ()

    def list_hooks(self) -> Iterator[Hook]:
        """Watch the partitioner, where budgets are asked for."""
        if self._asked:
            yield Hook(tp.CHOOSE_SAVED_VALUES, PANE, around=self._around)

    def _around(self, choose: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(graph: Any, info: Any, *args: Any, **kwargs: Any) -> Any:
            self._patches.guarded(PANE, self._preview, choose, graph, info)
            return choose(graph, info, *args, **kwargs)

        return chosen

    def _preview(self, choose: Callable[..., Any], graph: Any, info: Any) -> None:
        with Patches() as patches:
            patches.wrap(tp.SOLVE_MIN_CUT, _with_kept_cuts)
            patches.wrap(tp.ESTIMATE_RUNTIME, _with_kept_times)
            for budget in self._asked:
                started = time.perf_counter()
                saved = choose(graph, info, memory_budget=budget)
                again = _again(graph, info, set(saved))
                seconds = time.perf_counter() - started
                self._note(budget, saved, again, seconds, _peak(graph, info, saved))
        self._graphs += 1

    def _note(
        self,
        budget: float,
        saved: Iterable[Any],
        again: Sequence[Any],
        seconds: float,
        preview: int,
    ) -> None:
        values = (
            node.meta["val"] for node in saved if node.op != "placeholder" and _is_tensor(node)
        )
        storages = {
            tp.address_of(storage): storage for storage in map(torch.Tensor.untyped_storage, values)
        }
        sizes = [hint(storage.nbytes()) for storage in storages.values()]
        rows = [self._row(budget, node) for node in again]
        self.recomputed += rows
        self.budgets.append(
            MemoryBudget(
                graph=self._graphs,
                budget=budget,
                saved_bytes=sum(size for size in sizes if size is not None),
                saved_tensors=len(storages),
                recomputed_nodes=len(rows),
                recomputed_flops=sum(row.flops or 0 for row in rows),
                recomputed_bytes=sum(row.bytes for row in rows if row.bytes is not None),
                unsized=sizes.count(None) + sum(row.bytes is None for row in rows),
                seconds=seconds,
                preview_bytes=preview,
                random_nodes=sum(bool(row.is_random) for row in rows),
            )
        )

    def _row(self, budget: float, node: Any) -> RecomputedNode:
        trace = node.meta.get("stack_trace")
        frame = self._places.innermost(trace) if trace else None
        return RecomputedNode(
            graph=self._graphs,
            budget=budget,
            node=node.name,
            operator=str(node.target),
            dtype=next((str(leaf.dtype) for leaf in tensors_of(node)), None),
            file=None if frame is None else self._places.shown(frame.file),
            line=None if frame is None else frame.line,
            flops=hint(count_formula_flops(node)),
            bytes=_sum(map(count_tensor_bytes, (node, *node.all_input_nodes))),
            is_random=is_random_operator(node),
        )


def _with_kept_cuts(solve: Callable[..., Any]) -> Callable[..., Any]:
    cuts: dict[Any, Any] = {}

    def solved(graph: Any, info: Any, options: Any, dont_ban: Any = None) -> Any:
        key = repr(options), frozenset(node.name for node in dont_ban or ())
        if key not in cuts:
            cuts[key] = solve(graph, info, options, dont_ban)
        return cuts[key]

    return solved


def _with_kept_times(estimate: Callable[..., Any]) -> Callable[..., Any]:
    times: dict[Any, Any] = {}

    def estimated(node: Any) -> Any:
        if node not in times:
            times[node] = estimate(node)
        return times[node]

    return estimated


def _again(graph: Any, info: Any, saved: set[Any]) -> list[Any]:
    """Operators of the forward that gradients are made of and that are not kept.

    What belongs to neither part, such as a mask that is converted for the backward alone, leads to
    them as well.
    """
    results = next(node for node in graph.nodes if node.op == "output").all_input_nodes
    todo = [node for node in results if info.is_required_bw(node)]
    visited: set[Any] = set()
    while todo:
        node = todo.pop()
        if node not in visited and node not in saved and node.op == "call_function":
            visited.add(node)
            todo += node.all_input_nodes
    return [
        n for n in graph.nodes if n in visited and info.is_required_fw(n) and not costs_nothing(n)
    ]


def is_random_operator(node: Any) -> bool:
    """Whether an operator gives random numbers, or the seeds of some.

    Inductor's own carry no tag but for the seeds, and attention has the tag without dropout, too.
    """
    if node.op != "call_function":
        return False
    if any(map(is_random_operator, _nodes_inside(node))):
        return True
    is_tagged = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    return (is_tagged and not _is_switched_off(node)) or str(node.target).startswith(_DRAWING)


_DRAWING = ("prims.inductor_rand", "prims.inductor_seed", "run_and_save_rng_state")


def _is_switched_off(node: Any) -> bool:
    """Whether an operator was told not to draw: no dropout, or no training."""
    schema = getattr(node.target, "_schema", None)
    for place, argument in enumerate(() if schema is None else schema.arguments):
        positional = node.args[place] if place < len(node.args) else argument.default_value
        value = node.kwargs.get(argument.name, positional)
        if argument.name == "dropout_p" and value == 0:
            return True
        if argument.name in ("train", "training") and value is False:
            return True
    return False


def _nodes_inside(node: Any) -> list[Any]:
    """The nodes of the graphs that a higher-order operator calls."""
    owner = node.graph.owning_module
    named = [argument.target for argument in node.all_input_nodes if argument.op == "get_attr"]
    modules = dict(owner.named_modules()) if owner is not None and named else {}
    inner = [getattr(modules.get(name), "graph", None) for name in named]
    return [inner_node for graph in inner if graph is not None for inner_node in graph.nodes]


def _peak(graph: Any, info: Any, saved: Iterable[Any]) -> int:
    """A model of the peak above inputs of a step that keeps these: forward, then backward.

    What is computed again is computed where the backward first asks for it.
    """
    calls = [node for node in graph.nodes if node.op == "call_function"]
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    callers = {id for node in inputs if not info.is_required_bw(node) for id in _storages(node)}
    sizes = {id: size for node in graph.nodes for id, size in _storages(node).items()}
    sizes = {id: size for id, size in sizes.items() if id not in callers}
    results = next(node for node in graph.nodes if node.op == "output").all_input_nodes
    outputs = {id for node in results if info.is_required_fw(node) for id in _storages(node)}
    gradients = {id for node in results for id in _storages(node)} - outputs
    to_keep = outputs | {id for node in saved for id in _storages(node)}
    forward = [node for node in calls if info.is_required_fw(node)]
    backward = _in_turn((node for node in calls if info.is_required_bw(node)), saved)
    tangents = {id for node in inputs for id in _storages(node)} - callers
    return max(
        peak_bytes(list(map(_operator, forward)), sizes, kept=to_keep),
        peak_bytes(list(map(_operator, backward)), sizes, to_keep | tangents, outputs | gradients),
    )


def _in_turn(nodes: Iterable[Any], there: Iterable[Any]) -> list[Any]:
    """Nodes in their order, each after what it reads and is not there."""
    ordered: dict[Any, None] = dict.fromkeys(there)
    count = len(ordered)
    for node in nodes:
        todo = [node]
        while todo:
            last = todo[-1]
            missing = [
                n for n in last.all_input_nodes if n.op == "call_function" and n not in ordered
            ]
            if missing:
                todo += reversed(missing)
            else:
                ordered[todo.pop()] = None
    return list(ordered)[count:]


def _operator(node: Any) -> Operator:
    """A node as the model knows it."""
    reads = tuple(id for source in node.all_input_nodes for id in _storages(source))
    return Operator(_kind(node), reads, tuple(_storages(node)))


def _kind(node: Any) -> Any:
    if costs_nothing(node):
        return "pointwise"
    packet = getattr(node.target, "overloadpacket", node.target)
    name = getattr(packet, "__name__", str(packet))
    if name in _REDUCTIONS:
        return "reduction"
    is_tagged = torch.Tag.pointwise in getattr(node.target, "tags", ())
    is_fused = is_tagged or name in _POINTWISE or str(node.target).startswith("prims.")
    return "pointwise" if is_fused else "library"


_REDUCTIONS = frozenset(
    ("sum", "mean", "amax", "amin", "max", "min", "any", "all", "prod", "var", "var_mean", "argmax")
)
_POINTWISE = frozenset(
    ("full", "iota", "arange", "scalar_tensor", "embedding", "gather", "index", "clone", "cat")
) | frozenset(("constant_pad_nd", "slice_scatter", "select_scatter", "copy", "copy_", "_to_copy"))
"""Operators without torch's tag that Inductor fuses with what reads them."""


def _storages(node: Any) -> dict[int, int]:
    """The storages of a node's tensors and their bytes; what data decide counts as none."""
    storages = [tensor.untyped_storage() for tensor in tensors_of(node)]
    return {tp.address_of(storage): hint(storage.nbytes()) or 0 for storage in storages}


def tensors_of(node: Any) -> list[torch.Tensor]:
    """What a node gives, as fake tensors."""
    return list_tensor_leaves(node.meta.get("val"))


def costs_nothing(node: Any) -> bool:
    """Whether it takes a part of a tuple, computes a size, or looks at a tensor in another way."""
    own = _storages(node)
    if not own or "getitem" in str(node.target):
        return True
    storages = {id for source in node.all_input_nodes for id in _storages(source)}
    return _is_tensor(node) and own.keys() <= storages


def _is_tensor(node: Any) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def count_tensor_bytes(node: Any) -> int | None:
    """Bytes of its tensors, with the sizes of the example inputs; None where data decide them."""
    return _sum(hint(tensor.numel() * tensor.itemsize) for tensor in tensors_of(node))


def _sum(sizes: Iterable[int | None]) -> int | None:
    listed = list(sizes)
    return None if None in listed else sum(size for size in listed if size is not None)


def hint(value: Any) -> int | None:
    """A number, a symbol with the value of the example inputs; None where data decide it."""
    number = value.node.hint if hasattr(value, "node") else value
    return None if number is None else int(number)


@dataclass(frozen=True, slots=True)
class Operator:
    """What an operator reads and writes, as ids of storages.

    A "pointwise" one is computed where it is read, and writes no memory unless a library call or
    three operators read it or it is kept. A "reduction" reads what is computed in it; a "library"
    call reads memory.
    """

    kind: Literal["pointwise", "reduction", "library"]
    reads: tuple[int, ...]
    writes: tuple[int, ...]


_MANY = 3
"""Operators that read a result from which on Inductor keeps it rather than compute it in each."""


def peak_bytes(
    operators: Sequence[Operator],
    sizes: Mapping[int, int],
    there: Collection[int] = (),
    kept: Collection[int] = (),
) -> int:
    """The most bytes of storages that live at once.

    `sizes` are the bytes of those that count. `there` live before the first operator and until the
    last that reads them, `kept` live on.
    """
    in_memory = _in_memory(operators, kept)
    last = {s: place for place, op in enumerate(operators) for s in (*op.reads, *op.writes)}
    alive = {storage for storage in there if storage in sizes}
    live = peak = sum(sizes[storage] for storage in alive)
    for place, operator in enumerate(operators):
        begin = [s for s in operator.writes if s in sizes and s in in_memory and s not in alive]
        alive.update(begin)
        live += sum(sizes[storage] for storage in begin)
        peak = max(peak, live)
        touched = {*operator.reads, *operator.writes} & alive
        end = [s for s in touched if last[s] == place and s not in kept]
        alive.difference_update(end)
        live -= sum(sizes[storage] for storage in end)
    return peak


def _in_memory(operators: Iterable[Operator], kept: Iterable[int]) -> set[int]:
    """The storages that take memory: results that are no part of what reads them."""
    storages = set(kept)
    readers: Counter[int] = Counter()
    for operator in operators:
        readers.update(set(operator.reads))
        if operator.kind != "pointwise":
            storages.update(operator.writes)
        if operator.kind == "library":
            storages.update(operator.reads)
    return storages | {storage for storage, count in readers.items() if count >= _MANY}
