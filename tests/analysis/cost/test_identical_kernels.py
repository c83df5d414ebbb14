"""Kernels of equal layers are one row; what differs in sizes or in lines stays apart."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.report import Kernel, Node, Report, Request, Source, Table
from workbench.views.text import text


def product(n: int, columns: int = 8, line: int = 5, **changed: Any) -> tuple[Kernel, list[Node]]:
    """A library's product of a layer, with the nodes that it comes from."""
    weight = Node(f"g0:w{n}", "g0", f"w{n}", "placeholder", f"w{n}", (), (8, columns), dtype="f16")
    node = Node(f"g0:mm{n}", "g0", f"mm{n}", "call_function", "aten.mm", (weight.id,), (4, columns))
    kernel = Kernel(
        f"k{n}",
        "extern_kernels.mm",
        "extern",
        "i0",
        ops=("aten.mm.default",),
        nodes=(node.id,),
        lines=(f"L:s0:{line}",),
        bytes_read=90,
        bytes_written=10,
        **changed,
    )
    return kernel, [weight, node]


def report(*products: tuple[Kernel, list[Node]]) -> Report:
    tables = {
        "kernels": Table.of(Kernel, [kernel for kernel, _ in products]),
        "nodes": Table.of(Node, [node for _, nodes in products for node in nodes]),
        "sources": Table.of(Source, [Source("s0", "model.py", "forward", 1, None)]),
    }
    return Report(request=Request(name="model", backend="inductor"), tables=tables)


def test_equal_layers_are_one_row_with_their_sum() -> None:
    made = report(product(0), product(1), product(2, columns=16), product(3), product(4, line=6))
    frame = made.frame("identical_kernels")
    assert [*frame.kernels] == [("k0", "k1", "k3"), ("k2",), ("k4",)]
    assert [*frame.launches] == [3, 1, 1]
    assert [*frame.cost] == [300, 100, 100]
    assert frame.share.sum() == pytest.approx(1)
    assert [*frame.bytes_read] == [90, 90, 90]  # of one launch


def test_the_backward_stays_apart() -> None:
    made = report(product(0), product(1, is_backward=True))
    assert len(made.frame("identical_kernels")) == 2


def test_the_text_has_them_once() -> None:
    lines = text(report(product(0), product(1), product(2, line=6))).splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.startswith("kernels")]
    assert lines[at] == "kernels       3, 2 different, by bytes moved (estimate)"
    assert " ".join(lines[at + 1].split()) == "k0 extern mm × 2 line 5 200 B 67 %"
    assert " ".join(lines[at + 2].split()) == "k2 extern mm line 6 100 B 33 %"
