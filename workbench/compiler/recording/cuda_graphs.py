"""Which parts of a program torch will record as CUDA graphs, and why not the others.

torch cuts a program where something cannot be recorded, and records the parts between when they
first run. Where it cuts, and what makes it give up a whole graph, is settled while it compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.recording.lowered_nodes import Lowered, LoweringRecorder
from workbench.report import Buffer, Kernel
from workbench.report.machine_rows import CudaGraphPart

PANE = "cuda_graphs"
RECORDED, SKIPPED, DEPENDS = "recorded", "skipped", "depends"
_WRITES = (
    "mutated inputs: torch decides at every call, and records only if they are in another CUDA "
    "graph's memory"
)
_SIZES = "one CUDA graph for each combination of sizes"
LineId = Callable[[str, int], str | None]


@dataclass
class _Part:
    """Neighbours in the program; `inputs` are places among the inputs of the graph."""

    names: tuple[str, ...]
    is_skipped: bool = False
    inputs: tuple[int, ...] | None = None  # None: all of them


@dataclass
class _Plan:
    lowered: Lowered
    parts: list[_Part] = field(default_factory=list)
    refusal: str | None = None
    static: frozenset[int] = frozenset()
    mutated: frozenset[int] = frozenset()


class CudaGraphRecorder:
    """Reads how the scheduler cuts each graph, and what its compiled form says of CUDA graphs."""

    def __init__(self, lowering: LoweringRecorder):
        self._lowering = lowering
        self._plans: dict[str, _Plan] = {}
        self._reasons: dict[tuple[str, str], str] = {}  # by graph and scheduler node

    def list_hooks(self) -> Iterator[Hook]:
        """Watch the scheduler and what becomes of a graph."""
        yield Hook(tp.SHOULD_PARTITION, PANE, after=self._on_reason)
        yield Hook(tp.GRAPH_PARTITION, PANE, after=self._on_parts)
        yield Hook(tp.COMPILED_FX_GRAPH_INIT, PANE, after=self._on_compiled)

    def _current(self) -> _Plan | None:
        lowered = self._lowering.current
        if lowered is None or not tp.INDUCTOR_CONFIG.get().triton.cudagraphs:
            return None
        return self._plans.setdefault(lowered.id, _Plan(lowered))

    def _on_reason(self, reason: str | None, scheduler: Any, node: Any) -> None:
        plan = self._current()
        if reason is not None and plan is not None:
            self._reasons[plan.lowered.id, node.get_name()] = reason

    def _on_parts(self, partitions: Any, *_: Any, **__: Any) -> None:
        plan = self._current()
        if plan is not None:
            plan.parts = [
                _Part(
                    tuple(member.get_name() for node in nodes for member in node.get_nodes()),
                    bool(signature.skip_cudagraph),
                )
                for nodes, signature in zip(*partitions, strict=True)
            ]

    def _on_compiled(self, _: None, code: Any, *args: Any, **kwargs: Any) -> None:
        plan = self._current()
        if plan is None:
            return
        reasons = getattr(code.cudagraph_info, "cudagraph_fail_reasons", ())
        plan.refusal = code.disabled_cudagraphs_reason or "; ".join(reasons) or None
        plan.static = frozenset(code.fx_kwargs.get("static_input_idxs") or ())
        plan.mutated = frozenset(code.mutated_input_idxs) - plan.static
        recorded = [part for part in plan.parts if not part.is_skipped]
        for part, places in zip(recorded, code.partition_maps or (), strict=False):
            part.inputs = tuple(i for i in places.input_index_mapping if i is not None)

    def rows(self, kernels: Sequence[Kernel], line_id: LineId) -> list[CudaGraphPart]:
        """The parts of every graph in the order of the program; none without CUDA graphs."""
        rows = []
        for plan in self._plans.values():
            names = tuple(node.name for node in plan.lowered.before)
            for number, part in enumerate(plan.parts or [_Part(names)]):
                verdict, reason = self._verdict(plan, part)
                rows.append(
                    CudaGraphPart(
                        graph=plan.lowered.id,
                        part=number,
                        verdict=verdict,
                        reason=reason,
                        kernels=_kernels(plan.lowered.id, part, kernels),
                        lines=tuple(_lines(plan.lowered, part.names, line_id)),
                        copied_bytes=None if verdict == SKIPPED else _copied(plan, part),
                    )
                )
        return rows

    def _verdict(self, plan: _Plan, part: _Part) -> tuple[str, str | None]:
        if plan.refusal is not None:
            return SKIPPED, _shown(plan.refusal)
        if part.is_skipped:
            keys = ((plan.lowered.id, name) for name in part.names)
            reasons = (self._reasons[key] for key in keys if key in self._reasons)
            return SKIPPED, "; ".join(dict.fromkeys(reasons)) or "too few kernels"
        places = set(range(len(_inputs(plan)))) if part.inputs is None else set(part.inputs)
        if plan.mutated & places:
            return DEPENDS, _WRITES
        is_dynamic = any(isinstance(s, str) for b in _inputs(plan) for s in b.shape or ())
        return RECORDED, _SIZES if is_dynamic else None


def _shown(reason: str) -> str:
    """The first line of torch's words; the others are a stack trace, given by `lines`."""
    words = reason.strip().split("\n")[0].split(". Found from")[0]
    # Without any device torch says "multiple devices: " and lists none.
    return "nothing in it runs on a GPU" if words.endswith("multiple devices:") else words


def _inputs(plan: _Plan) -> list[Buffer]:
    return [buffer for buffer in plan.lowered.buffers if buffer.kind == "input"]


def _copied(plan: _Plan, part: _Part) -> int | None:
    """Bytes of the inputs that a replay first copies to where the graph expects them.

    Parameters stay where they are. What another part made is not counted. None with dynamic sizes.
    """
    inputs = _inputs(plan)
    places = range(len(inputs)) if part.inputs is None else part.inputs
    sizes = [
        inputs[i].bytes
        for i in dict.fromkeys(places)
        if i < len(inputs) and i not in plan.static and inputs[i].shape is not None
    ]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _kernels(graph: str, part: _Part, kernels: Iterable[Kernel]) -> tuple[str, ...]:
    names = {f"{graph}:{name}" for name in part.names}
    return tuple(k.id for k in kernels if k.graph == graph and names & set(k.scheduler_nodes))


def _lines(lowered: Lowered, names: Iterable[str], line_id: LineId) -> Iterator[str]:
    places = dict.fromkeys(place for name in names for place in lowered.lines.get(name, ()))
    for place in places:
        line = line_id(*place)
        if line is not None:
            yield line
