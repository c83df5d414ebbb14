"""The source of a Triton kernel that code of the user launches and no generated program holds."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from workbench.errors import UsageError

_HEAD = ("import triton", "import triton.language as tl", "from types import SimpleNamespace")
_TAIL = (
    "{0} = SimpleNamespace(fn={0}, configs=[SimpleNamespace(kwargs={{}})], "
    "triton_meta={{'constants': {{}}}}, inductor_meta={{}})"
)


def write_kernel_source(function: Any) -> str:
    """A module with a kernel and what it names, as a generated program would hold it.

    Raises `UsageError` for a kernel that names what cannot be written down.
    """
    lines: dict[str, None] = dict.fromkeys(_HEAD)
    lines.update(dict.fromkeys(_list_statements(function, set())))
    return "\n".join([*lines, _TAIL.format(function.__name__)]) + "\n"


def _list_statements(function: Any, seen: set[int]) -> Iterator[str]:
    """What stands before a function, and the function."""
    seen.add(id(function))
    python = function.fn
    cells = zip(python.__code__.co_freevars, python.__closure__ or (), strict=True)
    inside = {name: cell.cell_contents for name, cell in cells}
    for name in dict.fromkeys(_list_names(python.__code__)):
        value = inside.get(name, python.__globals__.get(name, _MISSING))
        if value is _MISSING or id(value) in seen:
            continue
        is_triton = str(getattr(value, "__module__", "")).startswith("triton.")
        if hasattr(value, "src") and hasattr(value, "fn") and not is_triton:  # of the user
            yield from _list_statements(value, seen)
            if name != value.__name__:
                yield f"{name} = {value.__name__}"
        else:
            yield _write_value(function.__name__, name, value)
    yield f"@triton.jit\n{function.src}"


_MISSING = object()


def _list_names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)


def _write_value(kernel: str, name: str, value: Any) -> str:
    """The statement that gives a name its value."""
    kind = type(value)
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if value is None or kind in (bool, int, float, str):
        return f"{name} = {value!r}"
    if kind.__module__.startswith("triton.language"):
        if kind.__name__ == "constexpr":
            return f"{name} = tl.constexpr({value.value!r})"
        if kind.__name__ == "dtype":
            return f"{name} = tl.dtype({value.name!r})"
    if str(getattr(value, "__module__", "")).startswith("triton.") and hasattr(value, "__name__"):
        return f"from {value.__module__} import {value.__name__} as {name}"
    raise UsageError(
        f"The Triton kernel {kernel} uses {name}, which is of type {kind.__name__}: it cannot be "
        "taken along, so the kernel cannot be interpreted here."
    )
