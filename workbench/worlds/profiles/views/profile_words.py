"""What a kernel of a profile is called: "matmul 2048 × 5185 × 3584", not a mangled name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workbench.number_text import number_text
from workbench.worlds.profiles.changes.profiled_kernels import ProfiledKernel
from workbench.worlds.profiles.rows.profile_rows import CollectiveTime, RanKernel
from workbench.worlds.profiles.views.messages import ProfileKind

_LONGEST = 60
_LENGTH = re.compile(r"(\d{1,4})")  # before each identifier of a mangled name


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
    known = {
        each.kernel: " ".join(filter(None, (each.name, number_text(each.bytes, "bytes"))))
        if each.bytes
        else each.name
        for each in collectives
    }
    titles = _tell_apart(kernels, [known.get(each.row.id) or _title(each) for each in kernels])
    return {
        kernel.row.id: KernelWords(
            f"kernels:{place}", title, _shorten(kernel.row.operator), kernel.kind
        )
        for place, (kernel, title) in enumerate(zip(kernels, titles, strict=True))
    }


def _tell_apart(kernels: Sequence[ProfiledKernel], titles: list[str]) -> list[str]:
    """The titles; those that several kernels have say in what these differ, where that is known."""
    tells: tuple[Callable[[ProfiledKernel], str], ...] = (
        lambda each: "backward" if each.row.is_backward else "",
        lambda each: each.work.dtype or "",
        lambda each: each.row.module.rpartition(".")[2],
    )
    for tell in tells:
        alike: dict[str, list[int]] = defaultdict(list)
        for place, title in enumerate(titles):
            alike[title].append(place)
        for title, places in alike.items():
            told = [tell(kernels[place]) for place in places]
            if len(set(told)) > 1:
                for place, word in zip(places, told, strict=True):
                    titles[place] = f"{title}, {word}" if word else title
    return titles


def _title(kernel: ProfiledKernel) -> str:
    row, product = kernel.row, kernel.work.product
    if row.kind in ("copy", "fill"):
        return row.name
    if kernel.read.is_helper and kernel.read.part:
        return f"{kernel.read.part} of {_shorten(row.operator) or 'a matmul'} {_say_sizes(row)}"
    if kernel.kind == "product" and product is not None:
        batch, m, n, k = product
        return f"matmul {f'{batch} × ' if batch > 1 else ''}{m} × {n} × {k}"
    if kernel.is_compiled:
        return row.name
    operator = _shorten(row.operator)
    if operator:
        return f"{operator} {_say_sizes(row)}".strip()
    if kernel.kind == "product" and kernel.read.library and kernel.read.tile:
        tile = " × ".join(map(str, kernel.read.tile))
        return f"{kernel.read.library} matmul, tile {tile}"
    return shorten_name(row.name)


def say_part(value: float) -> str:
    """A part of a bound; what is there is not said to be nothing."""
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"


def _say_sizes(row: RanKernel) -> str:
    """The sizes of the first argument that has any, of a list those of its first tensor."""
    for shape in row.shapes:
        sizes = shape[0] if shape and isinstance(shape[0], list | tuple) else shape
        if sizes and all(isinstance(size, int) for size in sizes):
            return " × ".join(map(str, sizes))
    return ""


def _shorten(operator: str) -> str:
    return operator.rpartition("::")[2].strip("_")


def shorten_name(name: str) -> str:
    """A C++ kernel without its return type, namespaces and arguments of templates.

    Of a mangled name those of its identifiers that tell what it is.
    """
    mangled = _demangle(name)
    plain = re.sub(r"^void\s+", "", name.replace("(anonymous namespace)::", ""))
    bare = plain.partition("<")[0].partition("(")[0]
    short = mangled or bare.rpartition("::")[2] or name
    return short if len(short) <= _LONGEST else f"{short[: _LONGEST - 1]}…"


def _demangle(name: str) -> str:
    """The function of a mangled name, with the first type that its template is made for."""
    if not name.startswith("_ZN"):
        return ""
    own, at = list[str](), 3
    while match := _LENGTH.match(name, at):
        at = match.end() + int(match[1])
        own.append(name[match.end() : at])
    if not own or at > len(name):
        return ""
    is_template = name.startswith("I", at)
    of = re.search(r"NS\w?_(\d{1,4})([A-Z]\w*)", name[at:]) if is_template else None
    if of is None:
        return own[-1]
    return f"{own[-1]}<{of[2][: int(of[1])]}>"
