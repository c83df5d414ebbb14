"""What the readers of the kinds of files hand over, before it becomes a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.artifacts.inspect.rows import (
    ConstantFacts,
    GuardFacts,
    KernelFacts,
    ModelFacts,
    NeedFacts,
    OutsideFacts,
    ValueFacts,
)

REPORT_LIMIT = 16 << 20  # bytes of a packed report; that of GPT-2 takes 0.3 MiB
DTYPE_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "int16": 2,
    "float16": 2, "bfloat16": 2, "uint16": 2, "int32": 4, "float32": 4, "uint32": 4, "int64": 8,
    "float64": 8, "complex64": 8, "uint64": 8, "complex128": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Text:
    """One text of code; `text` is None when it is too big to be kept."""

    name: str
    language: str
    size: int
    text: str | None


@dataclass(frozen=True)
class Facts:
    """What one file says about itself; `notes` are what could not be read, with the reason."""

    models: Sequence[ModelFacts] = ()
    values: Sequence[ValueFacts] = ()
    constants: Sequence[ConstantFacts] = ()
    guards: Sequence[GuardFacts] = ()
    needs: Sequence[NeedFacts] = ()
    outside: Sequence[OutsideFacts] = ()
    kernels: Sequence[KernelFacts] = ()
    texts: Sequence[Text] = ()
    reports: Mapping[str, bytes] = field(default_factory=dict)
    notes: Sequence[str] = ()


def size_text(size: Any) -> str:
    """A size of a contract in words: a number, or a named range such as `2*batch in 4..64`."""
    if not isinstance(size, dict):
        return str(size)
    name, scale, offset = size.get("name"), size.get("scale") or 1, size.get("offset") or 0
    if name is None:
        return "any"
    shown = str(name) if scale == 1 else f"{scale}*{name}"
    shown += f"{offset:+d}" if isinstance(offset, int) and offset else ""
    low, high = (_scaled(size.get(end), scale, offset) for end in ("min", "max"))
    return f"{shown} in {low}..{high}" if low or high else shown


def _scaled(bound: Any, scale: Any, offset: Any) -> str:
    whole = all(isinstance(part, int) for part in (bound, scale, offset))
    return str(bound * scale + offset) if whole else ""


def shape_text(shape: Any) -> str:
    """A shape in words, such as `[batch in 2..64, 512]`."""
    return f"[{', '.join(map(size_text, shape))}]" if isinstance(shape, list | tuple) else ""


def path_text(path: Any) -> str:
    """The place of a leaf in the arguments, such as `batch['x'][0]`."""
    if not isinstance(path, list | tuple) or not path:
        return str(path)
    steps = [step for step in path[1:] if isinstance(step, list | tuple) and len(step) == 2]
    return str(path[0]) + "".join(
        f".{key}" if kind == "attr" else f"[{key!r}]" for kind, key in steps
    )


def bytes_of(dtype: str, shape: Any) -> int | None:
    """The bytes of a dense tensor, or None for sizes that are not fixed."""
    if dtype not in DTYPE_BYTES or not all(isinstance(size, int) for size in shape):
        return None
    count = DTYPE_BYTES[dtype]
    for size in shape:
        count *= size
    return count


def joined(values: Any) -> str:
    """Texts or numbers of a list, separated by commas."""
    return ", ".join(map(str, values)) if isinstance(values, list | tuple) else ""
