"""How functions of Triton are pickled: they hold locks and what was compiled, which stay here."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any

import torch

from workbench.compiler.internals.patches import ProcessPatches

_OPTIONS = (
    "do_not_specialize",
    "do_not_specialize_on_alignment",
    "debug",
    "noinline",
    "launch_metadata",
)
_HEAD = re.compile(r"^def\s", re.MULTILINE)


def is_jitted(value: Any) -> bool:
    """Whether it is what `triton.jit` or Gluon's makes of a function, interpreted ones too."""
    home = type(value).__module__
    return (
        home.startswith("triton.")
        and isinstance(getattr(value, "fn", None), FunctionType)
        and hasattr(value, "arg_names")
    )


def is_constant_function(value: Any) -> bool:
    """Whether it is what `triton.constexpr_function` makes: Python that runs while one compiles."""
    home = type(value).__module__
    is_made = home == "triton.runtime.jit" and hasattr(value, "raw_src")
    return is_made and isinstance(getattr(value, "fn", None), FunctionType) and callable(value)


def is_autotuner(value: Any) -> bool:
    """Whether it is what `triton.autotune` makes of a kernel."""
    return type(value).__module__ == "triton.runtime.autotuner" and hasattr(value, "configs")


def has_type(dtype: torch.dtype) -> bool:
    """Whether Triton has a type for the elements of such a tensor."""
    from triton._utils import canonicalize_dtype

    try:
        canonicalize_dtype(dtype)
    except KeyError:
        return False
    return True


def read_lines(value: Any) -> tuple[list[str], int]:
    """The lines of a kernel as it was decorated, whatever its file says now; the first's number."""
    if hasattr(value, "raw_src"):
        return list(value.raw_src), int(value.starting_line_number)
    return inspect.getsourcelines(value.fn)


def read_source(value: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The text of a kernel from its `def` on, the options of its decorator, other names it reads.

    Those are the globals that annotations and defaults alone name, which no code object knows.
    """
    lines, _ = read_lines(value)
    text = textwrap.dedent("".join(lines))
    head = _HEAD.search(text)
    options = {name: getattr(value, name, None) for name in _OPTIONS}
    return text[head.start() if head else 0 :], options, _only_in_text(value.fn, lines)


def is_library(text: str) -> bool:
    """Whether it is the text of a function that Triton's language or Gluon's is written with."""
    files = {
        file
        for name, module in sys.modules.items()
        if name.startswith(("triton.language.", "triton.experimental.gluon.language."))
        and (file := getattr(module, "__file__", None))
    }
    return any(text in Path(file).read_text(encoding="utf-8") for file in files)


def reduce_function(value: Any) -> tuple[Any, ...] | str | None:
    """How a function of Triton is made again from its Python function and the text it has now.

    None for what is none; its name alone for one of Triton's own library.
    """
    if is_autotuner(value):
        state = {name: held for name, held in vars(value).items() if name != "do_bench"}
        return object.__new__, (type(value),), state | {"cache": {}}
    is_constant = is_constant_function(value) and not is_jitted(value)
    if not is_constant and not is_jitted(value):
        return None
    function = value.fn
    if function.__module__.startswith("triton."):
        member: Any = sys.modules.get(function.__module__)
        for part in function.__qualname__.split("."):
            member = getattr(member, part, None)
        if member is value:
            name: str = function.__qualname__
            return name
    options = {
        name: held for name in _OPTIONS if (held := getattr(value, name, None)) not in (None, [])
    }
    if callable(named := getattr(value, "_repr", None)):
        options["repr"] = named
    lines, first = read_lines(value)
    if is_constant:
        return _make_constant, (function, lines, first)
    is_gluon = bool(getattr(value, "is_gluon", bool)())
    return _make, (is_gluon, function, options, lines, first, _only_in_text(function, lines))


def _only_in_text(function: FunctionType, lines: list[str]) -> dict[str, Any]:
    """The globals that annotations and defaults name, such as `n: constexpr = …`.

    The code of a function does not name them, so that what pickles it by its code leaves them
    behind; Triton reads the text.
    """
    definition = ast.parse(textwrap.dedent("".join(lines))).body[0]
    heads = [node for node in ast.walk(definition) if isinstance(node, ast.arguments)]
    notes = [node.annotation for node in ast.walk(definition) if isinstance(node, ast.AnnAssign)]
    named = chain.from_iterable(map(ast.walk, [*heads, *notes]))
    names = {part.id for part in named if isinstance(part, ast.Name)}
    scope = function.__globals__
    return {name: scope[name] for name in sorted(names) if name in scope}


def _make(
    is_gluon: bool,
    function: FunctionType,
    options: dict[str, Any],
    lines: list[str],
    first: int,
    others: dict[str, Any],
) -> Any:
    if is_gluon:
        from triton.experimental.gluon import jit
    else:
        from triton import jit

    for name, held in others.items():
        function.__globals__.setdefault(name, held)
    with _reading(lines, first):
        jitted = jit(function, **options)
        if hasattr(jitted, "rewrite"):  # interpreted: its text is read when it is first called
            jitted.rewrite()
        return jitted


def _make_constant(function: FunctionType, lines: list[str], first: int) -> Any:
    from triton import constexpr_function

    with _reading(lines, first):
        return constexpr_function(function)


@contextmanager
def _reading(lines: list[str], first: int) -> Iterator[None]:
    """Inside, every function has this text."""
    with ProcessPatches() as patches:
        patches.attribute(inspect, "getsourcelines", lambda _: (lines, first))
        yield
