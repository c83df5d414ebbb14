"""Which FX node each operation of a generated kernel was lowered from, seen as it is generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.recording.code_lines import Body

PANE = "kernel_lines"
_BLOCKS = ("preloads", "loads", "compute", "stores", "poststores")
_INDEXING = ("get_index", "set_")
Function = Callable[..., Any]
_Value = tuple[Any, str, Any]  # the kernel object, the variable, the operation of the loop body

_NOT_READABLE = "FakeIndentedBuffer"  # the body of a template outside of its hooks: it raises


class LineRecorder:
    """Follows an FX node through lowering, the loop body and code generation.

    A loop body is traced by calling the functions that lowering made, which call one another: the
    innermost one that runs names the node of the operation that is traced. While code is
    generated, torch knows which operation of the loop body it writes. References are only kept
    until `close`.
    """

    def __init__(self, patches: Patches):
        self._patches = patches
        self._running: list[Any] = []
        self._origins: dict[Any, Any] = {}
        self._values: list[_Value] = []
        self._stores: list[_Value] = []
        self._defined: dict[tuple[str, str], list[tuple[list[_Value], list[_Value]]]] = {}
        self._bodies: dict[tuple[str, str], list[list[Body]]] = {}
        self._torch: Any = None

    def list_hooks(self) -> Iterator[Hook]:
        """Watch lowering and code generation."""
        self._torch = tp.VIRTUALIZED.find()
        yield Hook(tp.POINTWISE_LOADER, PANE, around=self._around_loader)
        yield Hook(tp.STORE_FUNCTION, PANE, around=self._around_store_function)
        yield Hook(tp.LOOP_BODY_NODE, PANE, after=self._on_operation)
        yield Hook(tp.CSE_GENERATE, PANE, around=self._around_value)
        for name in tp.KERNEL_STORES:
            yield Hook(name, PANE, before=self._on_store)

    def _around_loader(self, inner: Function) -> Function:
        return lambda data: self._following(inner(data), data)

    def _around_store_function(self, inner: Function) -> Function:
        return lambda buffer: self._following(inner(buffer), buffer.data)

    def _following(self, function: Function, data: Any) -> Function:
        """The same function; while it runs, the node that `data` was made for is on top."""
        node = next(iter(getattr(data, "origins", ())), None)
        if node is None:
            return function
        running = self._running

        def followed(*args: Any) -> Any:
            running.append(node)
            try:
                return function(*args)
            finally:
                running.pop()

        return followed

    def _on_operation(self, made: Any, *args: Any, **kwargs: Any) -> None:
        if self._running:
            self._origins[made] = self._running[-1]
            return
        copied = getattr(self._torch.interpreter, "current_node", None)
        if copied in self._origins:  # a loop body that is traced again in another order
            self._origins[made] = self._origins[copied]

    def _around_value(self, inner: Function) -> Function:
        """Note each variable: the most frequent of all hooks, so without a guard around it."""
        torch = self._torch

        def generate(*args: Any, **kwargs: Any) -> Any:
            made = inner(*args, **kwargs)
            node = getattr(torch.interpreter, "current_node", None)
            self._values.append((torch.kernel, getattr(made, "name", ""), node))
            return made

        return generate

    def _on_store(self, proxy: Any, name: str, index: Any, value: Any, *_: Any, **__: Any) -> None:
        node = getattr(self._torch.interpreter, "current_node", None)
        self._stores.append((self._torch.kernel, str(value), node))

    def on_kernel(self, graph: str, name: str, *, is_defined: bool) -> None:
        """A kernel was named: what was generated since the last one is its code.

        A name that comes again without its source is another call of the same kernel, generated
        from other nodes.
        """
        if is_defined:
            self._defined[graph, name] = []
        calls = self._defined.get((graph, name))
        if calls is None:
            return
        if self._values:
            calls.append((self._values, self._stores))
        self._values, self._stores = [], []

    def close(self) -> None:
        """Keep names and texts, let go of torch's objects."""
        for key, calls in self._defined.items():
            for values, stores in calls:
                self._patches.guarded(PANE, self._read, key, values, stores)
        self._defined.clear()
        self._origins.clear()
        self._values, self._stores = [], []

    def _read(self, key: tuple[str, str], values: list[_Value], stores: list[_Value]) -> None:
        bodies: dict[int, Body] = {}
        for kernel, variable, operation in values:
            body = bodies.get(id(kernel))
            if body is None:
                body = bodies[id(kernel)] = Body(_blocks(kernel))
            node, known = self._origin(operation), body.values.setdefault(variable, {})
            if node is not None:
                known[node] = None
        for kernel, variable, operation in stores:
            body = bodies.get(id(kernel))
            if body is not None:
                body.stores.setdefault(variable, []).append(self._origin(operation))
        self._bodies.setdefault(key, []).append(list(bodies.values()))

    def _origin(self, operation: Any) -> str | None:
        if operation is None:
            return None
        if operation.op == "call_module" and str(operation.target).startswith(_INDEXING):
            return None
        node = self._origins.get(operation)
        return None if node is None else str(node.name)

    def bodies(self, graph: str, name: str) -> list[list[Body]]:
        """What was generated for each call of one kernel."""
        return self._bodies.get((graph, name), [])


def _blocks(kernel: Any) -> list[list[tuple[str, bool]]]:
    """The lines that one kernel object wrote, and whether torch may leave a line out."""
    blocks = []
    for name in _BLOCKS:
        buffer = getattr(kernel, name, None)
        if type(buffer).__name__ == _NOT_READABLE:
            continue
        lines = getattr(buffer, "_lines", ())
        block = [
            (str(getattr(line, "line", line)).strip(), not isinstance(line, str))
            for line in lines
            if isinstance(line, str) or hasattr(line, "line")
        ]
        blocks.append([part for part in block if part[0]])
    return [block for block in blocks if block]
