"""The loops that Inductor lowered a buffer to, as plain data: a reference for its kernel.

Partial sums of a split reduction and copies with other strides are values of no node of the graph.
Inductor describes each by a loop nest whose body is a small graph of scalar operators; the
kernel's code is generated from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.virtual_gpu.captured_nodes import CapturedNode, captured_nodes


@dataclass(frozen=True)
class LoopBody:
    """A loop nest over `sizes` (those of the reduction last); index expressions are Python text.

    `blocks` holds the body under "" and the parts that a mask guards under their names; `indirect`
    are the sizes along which a loaded index counts from the end when it is negative.
    """

    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    variables: tuple[str, ...]
    indices: Mapping[str, str]
    blocks: Mapping[str, tuple[CapturedNode, ...]]
    indirect: Mapping[str, str]


def layout_of(buffer: Any) -> TensorLike | None:
    """The layout of a buffer of Inductor; None where it is not known before the call."""
    layout = buffer.maybe_get_layout()
    sizes = (*layout.size, *layout.stride, layout.offset) if hasattr(layout, "stride") else ("?",)
    if not all(str(size).isdigit() for size in sizes):
        return None
    shape, stride = (tuple(int(n) for n in part) for part in (layout.size, layout.stride))
    return TensorLike(shape, stride, layout.dtype, offset=int(layout.offset))


def loop_body(snode: Any) -> LoopBody | None:
    """The loops of a scheduler node; None for a library call, or where a size is dynamic."""
    body = getattr(snode, "_body", None)
    if body is None or not all(str(n).isdigit() for part in body.sizes for n in part):
        return None
    text = tp.SYMPY_PRINTER.get()().doprint
    blocks = {"": captured_nodes(body.root_block.graph)}
    blocks.update((name, captured_nodes(part.graph)) for name, part in body.subblocks.items())
    iterated, reduced = (tuple(int(n) for n in part) for part in body.sizes)
    return LoopBody(
        sizes=(iterated, reduced),
        variables=tuple(str(name) for name in (*body.iter_vars, *body.reduce_vars)),
        indices={name: text(index) for name, index in body.indexing_exprs.items()},
        blocks=blocks,
        indirect={str(name): text(size) for name, size in body.indirect_var_ranges.items()},
    )
