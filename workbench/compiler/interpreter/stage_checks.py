"""Which stage of a compilation on this machine made a difference: each is run in its turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.compiler.aot_files.writing.saveable import Saveable
from workbench.compiler.aot_files.writing.serialized import serialize
from workbench.compiler.captured_graphs.captured import CapturedGraph, GraphKeeper
from workbench.compiler.interpreter.reference import GraphRunner
from workbench.compiler.interpreter.serialized_function import (
    GraphCall,
    GraphParts,
    make_callable_here,
)
from workbench.compiler.interpreter.serialized_function import tensors_of as tensors_of
from workbench.compiler.interpreter.serialized_function import (
    wrap_writing_back as wrap_writing_back,
)
from workbench.compiler.pipeline.pipeline import CompiledCode, compile_ahead
from workbench.compiler.request.callables import Callee, resolve
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import WorkbenchError, read_first_line

Differs = Callable[[Callable[..., Any]], bool]
"""Whether what is called gives something else than the original, in a leaf that is wrong."""

_CAPTURE = (
    "The captured graph, run by torch without a compiler, differs from eager: the capture is "
    "wrong. Graph passes and code generation were not checked."
)
_PASSES = (
    "The captured graph agrees with eager, but the graph after the passes differs: a pass is "
    "wrong. The code generation was not checked."
)
_CODE = (
    "The captured graph and the graph after the passes agree with eager: the code generation is "
    "wrong. wb.aot_compile(..., backend='eager') runs the captured graph."
)
_CHANGED = (
    "A new compilation agrees with eager in every stage: a compiled-in value has changed since, or "
    "the error is not reproducible. Recompile it."
)


def name_wrong_stage(request: CompileRequest, differs: Differs) -> str:
    """Two sentences: which stage is wrong, and what was not judged.

    The call is compiled again, twice: as captured, and with the backend that it has.
    """
    callee, options = resolve(request.target), request.options
    try:
        plain = replace(options, backend="eager", mode=None, options={}, fusion=None)
        captured = compile_ahead(replace(request, options=plain))
        if differs(wrap_writing_back(captured.aot_fn, callee)):
            return _CAPTURE
        if options.backend != "inductor":
            return _not_judged(f"the graphs of backend {options.backend_name!r} are unknown")
        with GraphKeeper() as keeper:
            again = compile_ahead(request)
        if differs(_as_graphs(again, callee, tuple(keeper.graphs))):
            return _PASSES
        return _CODE if differs(wrap_writing_back(again.aot_fn, callee)) else _CHANGED
    except (WorkbenchError, RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        return _not_judged(read_first_line(error))


def _not_judged(why: str) -> str:
    return f"The stage that went wrong could not be identified: {why.rstrip('.')}."


def _as_graphs(
    code: CompiledCode, callee: Callee, graphs: tuple[CapturedGraph, ...]
) -> Callable[..., Any]:
    """What was compiled, with its graphs run node by node in place of the generated code."""
    saveable = Saveable.of(code.aot_fn, code.plan.guarded)

    def start(compiled: Any, is_backward: bool) -> GraphCall:
        graph = next(g for g in reversed(graphs) if g.is_backward == is_backward)
        runner = GraphRunner()

        def call(inputs: list[Any]) -> Any:
            arguments = list(inputs)
            inputs.clear()
            return runner.run(graph, arguments)[0]

        return call

    serialized, imports = serialize(saveable.aot_fn, saveable.outside), saveable.imports
    return make_callable_here(serialized, {"imports": imports}, callee, GraphParts(start))
