"""Reports of any size: a deep model's graph, its kernels, fusion pairs and long sources."""

from __future__ import annotations

import random
from collections.abc import Iterator

from workbench.report import (
    FusionPair,
    Graph,
    Kernel,
    Link,
    Node,
    Report,
    Request,
    SchedulerNode,
    Source,
    Table,
    TextWriter,
    Wrapper,
)

NODES_PER_LAYER = 60
NODES_PER_KERNEL = 5


def big_report(
    nodes: int,
    *,
    pairs: int = 0,
    lines: int = 40,
    code_lines: int = 30,
    kernels: int | None = None,
    seed: int = 1,
) -> Report:
    """A chain of layers with residual connections, as FX graphs of transformers look.

    The source has `lines` lines, the wrapper and the code of each kernel `code_lines` lines; with
    `kernels` only so many are kept.
    """
    texts = TextWriter()
    source = texts.add("\n".join(f"    x = step_{n}(x) + x  # line {n}" for n in range(lines)))
    code = texts.add(
        "\n".join(f"auto tmp{n} = tmp{n // 2} + in_ptr[{n}];" for n in range(code_lines))
    )
    wrapper = texts.add("\n".join(f"buf{n} = call_{n}(buf{n // 2})" for n in range(code_lines)))
    rows = list(_nodes(nodes, lines, random.Random(seed)))
    made = list(_kernels(rows, code))[:kernels]
    tables = {
        "sources": Table.of(Source, [Source("s0", "forward", "~/model.py", 1, source)]),
        "graphs": Table.of(Graph, [Graph("g0", "after_post_grad", "0/0", nodes, None)]),
        "nodes": Table.of(Node, rows),
        "kernels": Table.of(Kernel, made),
        "wrappers": Table.of(Wrapper, [Wrapper("w0", "i0", False, wrapper)]),
        "scheduler_nodes": Table.of(SchedulerNode, list(_groups(pairs))),
        "fusion": Table.of(FusionPair, list(_pairs(pairs))),
        "links": Table.of(Link, list(_links(rows, made))),
    }
    return Report(request=Request(name="forward"), tables=tables, texts=texts.finish())


def _nodes(count: int, lines: int, choice: random.Random) -> Iterator[Node]:
    last: list[int] = []
    for n in range(count):
        is_weight = n == 0 or choice.random() < 0.15
        inputs: tuple[int, ...] = ()
        if not is_weight:
            far = [i for i in last[-40:-1] if choice.random() < 0.02]
            inputs = tuple(
                dict.fromkeys([*last[-1:], *far, *([n - 1] if choice.random() < 0.3 else [])])
            )
        layer = n // NODES_PER_LAYER
        yield Node(
            id=f"g0:n{n}",
            graph="g0",
            name=f"n{n}",
            op="placeholder" if is_weight else "call_function",
            target="weight" if is_weight else "aten.add.Tensor",
            inputs=tuple(f"g0:n{i}" for i in inputs),
            shape=(8, 128),
            stride=(128, 1),
            dtype="float32",
            device="cpu",
            bytes=4096,
            file="~/model.py",
            line=1 + n % lines,
            module_path=f"layers.{layer}.{'attention' if n % NODES_PER_LAYER < 30 else 'mlp'}",
        )
        if not is_weight:
            last.append(n)


def _kernels(rows: list[Node], code: str) -> Iterator[Kernel]:
    calls = [row for row in rows if row.op == "call_function"]
    for n, first in enumerate(range(0, len(calls), NODES_PER_KERNEL)):
        part = calls[first : first + NODES_PER_KERNEL]
        yield Kernel(
            id=f"k{n}",
            name=f"cpp_fused_add_{n}",
            language="cpp",
            graph="i0",
            ops=("aten.add.Tensor",),
            nodes=tuple(row.id for row in part),
            lines=tuple(dict.fromkeys(f"L:s0:{row.line}" for row in part)),
            bytes_read=8192,
            bytes_written=4096,
            text=code,
        )


def _groups(pairs: int) -> Iterator[SchedulerNode]:
    for phase in ("before", "after") if pairs else ():
        for n in range(400):
            yield SchedulerNode(
                f"i0:op{n}", "i0", f"op{n}", phase, "pointwise", (f"op{n}",), (), 4096, 4096
            )


def _pairs(count: int) -> Iterator[FusionPair]:
    reasons = ("no shared data", "intermediate nodes between node1 & node2", "different numel")
    for n in range(count):
        a, b = n % 400, (n // 400 + 1 + n) % 400
        reason = reasons[n % len(reasons)]
        yield FusionPair("i0", n // 160_000, f"op{a}", f"op{b}", "rejected", reason, n)


def _links(rows: list[Node], kernels: list[Kernel]) -> Iterator[Link]:
    for row in rows:
        yield Link(f"L:s0:{row.line}", row.id, "line-node")
    for kernel in kernels:
        yield Link(kernel.id, "w0", "kernel-wrapper")
        for node in kernel.nodes:
            yield Link(node, kernel.id, "node-kernel")
