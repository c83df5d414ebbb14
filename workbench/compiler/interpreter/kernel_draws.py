"""How the kernels of a program draw random numbers: one of each draw, or all four."""

from __future__ import annotations

import re
from dataclasses import dataclass

_KERNEL = re.compile(
    r"^\w+ = async_compile\.triton\('\w+', r?'''(.*?)'''", re.DOTALL | re.MULTILINE
)
_NODE = re.compile(
    r"^#\s+%(\w+) .*= call_function\[target=torch\.ops\.prims\.inductor_random\b", re.MULTILINE
)
_FOUR, _ONE = re.compile(r"\btriton_helpers\.randn?4x\("), re.compile(r"\btl\.randn?\(")


@dataclass(frozen=True)
class Drawing:
    """`four` are the nodes of the graph whose kernels take all four numbers of each draw.

    `each` is how many every kernel takes, None where kernels differ. Inductor takes four where a
    kernel has one dimension of iterations, from torch 2.13 on; since 2.15 an option asks for it.
    """

    four: frozenset[str] = frozenset()
    each: int | None = 1


ONE_EACH = Drawing()


def read_drawing(source: str) -> Drawing:
    """Read from a generated program: a kernel stands below the nodes that it computes."""
    four: set[str] = set()
    takes: set[int] = set()
    end = 0
    for kernel in _KERNEL.finditer(source):
        above, end = source[end : kernel.start()], kernel.end()
        if _ONE.search(kernel[1]):
            takes.add(1)
        if _FOUR.search(kernel[1]):
            takes.add(4)
            four.update(_NODE.findall(above))
    return Drawing(frozenset(four), max(takes, default=1) if len(takes) < 2 else None)
