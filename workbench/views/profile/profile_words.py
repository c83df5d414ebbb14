"""What a kernel of a profile is called: "product 2048 × 5185 × 3584", not a mangled name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.analysis.profile_changes.profiled_kernels import ProfiledKernel
from workbench.report.profile.profile_rows import CollectiveTime
from workbench.views.wire.profile_messages import ProfileKind

_LONGEST = 60


@dataclass(frozen=True)
class KernelWords:
    """A kernel as the view has it: the id of its row, title, operator without its namespace."""

    row: str
    title: str
    operator: str
    kind: ProfileKind


def name_kernels(
    kernels: Sequence[ProfiledKernel], collectives: Iterable[CollectiveTime] = ()
) -> dict[str, KernelWords]:
    """By the id of the kernel; a collective is called what it is, whatever launched it."""
    known = {each.kernel: each.name for each in collectives}
    return {
        kernel.row.id: KernelWords(
            f"kernels:{place}",
            known.get(kernel.row.id) or _title(kernel),
            _shorten(kernel.row.operator),
            kernel.kind,
        )
        for place, kernel in enumerate(kernels)
    }


def _title(kernel: ProfiledKernel) -> str:
    row, product = kernel.row, kernel.work.product
    if row.kind in ("copy", "fill"):
        return row.name
    if kernel.read.is_helper and kernel.read.part:
        return f"{kernel.read.part} of {_shorten(row.operator) or 'a product'}"
    if kernel.kind == "product" and product is not None:
        batch, m, n, k = product
        return f"product {f'{batch} × ' if batch > 1 else ''}{m} × {n} × {k}"
    if kernel.is_compiled:
        return row.name
    operator = _shorten(row.operator)
    if operator:
        sizes = next((shape for shape in row.shapes if shape and _is_sizes(shape)), ())
        return f"{operator} {' × '.join(map(str, sizes))}".strip()
    return _shorten_name(row.name)


def _is_sizes(shape: object) -> bool:
    return isinstance(shape, list | tuple) and all(isinstance(n, int) for n in shape)


def _shorten(operator: str) -> str:
    return operator.rpartition("::")[2].strip("_")


def _shorten_name(name: str) -> str:
    """A C++ kernel without its return type, namespaces and arguments of templates."""
    bare = re.sub(r"^void\s+", "", name).partition("<")[0].partition("(")[0]
    short = bare.rpartition("::")[2] or name
    return short if len(short) <= _LONGEST else f"{short[: _LONGEST - 1]}…"
