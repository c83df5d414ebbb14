"""Keeps Inductor from fusing over the edges of blocks that run as programs of their own."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch.utils.checkpoint import CheckpointPolicy

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.pipeline.fusion_constraints import CountedGraphs, realize_values
from workbench.errors import UsageError

APART = "in two blocks with hooks between them"
_ROOT = re.compile(r"^L\['\w+'\]\.?")  # the local variable that holds the module


class BlockEdges:
    """To which block the operations of the lowered graphs belong: `found`, by their ids.

    `blocks` has the block of each path of a module; what is in none has no row.
    """

    def __init__(self, blocks: Sequence[tuple[str, str]]):
        self.found: dict[str, str] = {}
        self._blocks = sorted(blocks, key=lambda pair: -len(pair[0]))  # the innermost first
        self._graphs = CountedGraphs()
        self._nodes: dict[int, Mapping[Any, str | None]] = {}

    def install(self, patches: Patches) -> None:
        """Write what another block reads, fuse nothing with it, and compute none of it again."""
        patches.wrap(tp.CHOOSE_SAVED_VALUES, self._around_saving, "blocks")
        patches.wrap(tp.LOWER_NODE, self._around_lowering, "blocks")
        patches.wrap(tp.FUSE_ONCE, self._graphs.around_round, "blocks")
        patches.wrap(tp.CAN_FUSE, self._around_can_fuse, "blocks")

    def _find(self, path: str) -> str | None:
        for around, block in self._blocks:
            if not around or path == around or path.startswith(f"{around}."):
                return block
        return None

    def _read_graph(self, graph: Any) -> Mapping[Any, str | None]:
        """The block of each node; a sum of gradients, in no module, is where the last is from."""
        block_of: dict[Any, str | None] = {}
        order: dict[Any, int] = {}
        for node in graph.nodes:
            order[node] = len(order)
            stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
            if node.op in ("placeholder", "output"):
                continue
            if stack:
                path = str(next(reversed(stack.values()))[0])
                block_of[node] = self._find(_ROOT.sub("", path))
            elif node.meta.get("stack_trace") and not node.meta.get("is_gradient_acc"):
                block_of[node] = self._find("")  # a line of the outermost module
            else:
                inputs = sorted(node.all_input_nodes, key=order.__getitem__, reverse=True)
                blocks = (block_of.get(input_node) for input_node in inputs)
                block_of[node] = next((block for block in blocks if block is not None), None)
        return block_of

    def _around_saving(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """What a block is given is an input of its program: its backward finds it there."""

        def choose(joint: Any, *args: Any, **kwargs: Any) -> Any:
            block_of = self._read_graph(joint)
            for node, block in block_of.items():
                users = {block_of.get(user, block) for user in node.users if not _is_backward(user)}
                if not _is_backward(node) and users - {block, None}:
                    node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
            return inner(joint, *args, **kwargs)

        return choose

    def _around_lowering(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def run_node(graph: Any, node: Any) -> Any:
            number = self._graphs.count_lowered(graph)
            if number not in self._nodes:
                self._nodes[number] = self._read_graph(node.graph)
            block_of = self._nodes[number]
            before = len(graph.operations)
            result = inner(graph, node)
            block = block_of.get(node)
            if block is None:
                return result
            if any(block_of.get(user, block) not in (block, None) for user in node.users):
                realize_values(result)
            for operation in graph.operations[before:]:
                self.found[f"i{number}:{operation.get_operation_name()}"] = block
            return result

        return run_node

    def _around_can_fuse(self, inner: Callable[..., bool]) -> Callable[..., bool]:
        def can_fuse(scheduler: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
            names = [n for end in (a, b) for n in self._graphs.list_operations(scheduler, end)]
            if len({self.found[name] for name in names if name in self.found}) > 1:
                sys.modules[type(scheduler).__module__].WhyNoFuse(a, b)(APART)
                return False
            return inner(scheduler, a, b, *args, **kwargs)

        return can_fuse


def _is_backward(node: Any) -> bool:
    return bool(node.meta.get("partitioner_tag") == "is_backward")


@contextmanager
def keep_blocks_apart(blocks: Sequence[tuple[str, str]]) -> Iterator[Mapping[str, str]]:
    """Compile so; gives the block of each operation, filled while graphs are lowered.

    Has to be entered before the recorder. Raises `UsageError` where this torch has no such hook.
    """
    edges = BlockEdges(blocks)
    if not blocks:
        yield edges.found
        return
    with Patches() as patches:
        edges.install(patches)
        if patches.missing:
            why = next(iter(patches.missing.values()))
            raise UsageError(f"fully_shard blocks cannot be kept separate: {why}.")
        yield edges.found
