"""The compiled graphs of a serialized function, called in another way than on their device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.compiler.aot_files.deserialize import Libraries
from workbench.compiler.internals import torch_private as tp

GraphCall = Callable[[list[Any]], Any]
"""What is called with the inputs of a graph, as a list that it may empty."""


class GraphParts(Libraries):
    """Makes the graphs of a payload callable: `start(graph, is_backward)` gives what is called.

    Everything around the graphs stays torch's own: arguments, mutations, aliases, autograd. What is
    deserialized here is called, neither guarded nor saved.
    """

    def __init__(self, start: Callable[[Any, bool], GraphCall]):
        super().__init__({}, None, packed=True, guarded=False)
        self._start = start

    def starter(self, part: Any) -> Callable[[Any, Any], Any]:
        """What torch calls to make a compiled graph callable."""
        is_backward = hasattr(part, "backward_state_indices")

        def post_compile(graph: Any, fx_config: Any) -> Any:
            call = self._start(graph, is_backward)

            def run(inputs: list[Any]) -> Any:
                return call(inputs)

            run._boxed_call = True  # type: ignore[attr-defined]
            if is_backward:
                return tp.DISABLE.get()(run, reason="do not trace generated backwards pass")
            return run

        return post_compile


def constants_of(graph: Any) -> dict[str, Any]:
    """The constants that a generated program reads as its own globals, on the CPU."""
    found: dict[str, Any] = tp.GRAPH_CONSTANTS.get()().unwrap(graph)
    return {name: value.cpu() if hasattr(value, "cpu") else value for name, value in found.items()}
