"""What runs around a call and follows operators one by one: compiled code has none to follow.

A tracer that meets it would record its results as constants, forward-mode AD would lose the
tangents, and no one would be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.autograd import forward_ad

from workbench.compiler.internals import torch_private as tp

_TRANSFORMS = {
    "Vmap": "torch.vmap",
    "Grad": "torch.func.grad",
    "Jvp": "torch.func.jvp",
    "Functionalize": "torch.func.functionalize",
}
_CONTEXT = "a default device (torch.set_default_device, with torch.device(…))"
_PROXIES = "ProxyTorchDispatchMode"


def has_tangents(values: Iterable[Any]) -> bool:
    """Whether one of the values is a dual tensor of forward-mode AD."""
    unpack_dual: Any = forward_ad.unpack_dual
    return get_forward_ad_level() >= 0 and any(
        isinstance(value, torch.Tensor) and unpack_dual(value).tangent is not None
        for value in values
    )


def get_forward_ad_level() -> int:
    """The innermost level of forward-mode AD, -1 outside of any."""
    level: int = tp.FORWARD_AD.get()._current_level
    return level


def find_recorders(name: str, values: Iterable[Any]) -> Iterator[str]:
    """A sentence for each thing around a call of `name` that would record a wrong result.

    Tangents are looked for among the `values`, the leaves of the call.
    """
    is_tracing: Any = torch.jit.is_tracing  # type: ignore[attr-defined]  # documented
    if is_tracing():
        yield (
            f"torch.jit.trace records individual operators, and the compiled {name} has none: "
            "trace the eager function"
        )
    if has_tangents(values):
        yield (
            f"forward-mode AD would lose its tangents in the compiled {name}. Use the eager "
            "function here, or compile the derivative, such as wb.aot_compile(lambda x, t: "
            f"torch.func.jvp({name}, (x,), (t,)), …)"
        )
    yield from _modes(name)


def surroundings(name: str, values: Iterable[Any]) -> Iterator[str]:
    """A sentence for each thing around a call of `name` that cannot see into compiled code."""
    leaves = list(values)
    if any(isinstance(value, torch.fx.Proxy) for value in leaves):
        yield refuse_fx_trace(name)
        return
    yield from find_recorders(name, leaves)
    transform = _transform(leaves)
    if transform is not None:
        yield (
            f"{transform} transforms individual operators, and the compiled {name} has none. Apply "
            f"it to the eager function and compile that: wb.aot_compile({transform}({name}), …)"
        )


def refuse_fx_trace(name: str) -> str:
    """What torch.fx is told in place of a graph."""
    return (
        f"torch.fx.symbolic_trace records individual operators, and the compiled {name} has none: "
        "trace the eager function"
    )


def find_function_modes() -> str:
    """What is said where other torch function modes are on than at the compilation."""
    names = [type(mode).__name__ for mode in tp.FUNCTION_MODE_STACK.get()()]
    modes = [_CONTEXT if name == "DeviceContext" else name for name in names]
    return (
        f"this call runs under different torch function modes ({', '.join(modes) or 'none'}) than "
        "the compilation: use the same ones, or recompile under these"
    )


def _modes(name: str) -> Iterator[str]:
    for mode in tp.DISPATCH_MODES.get()():
        kind = type(mode).__name__.lstrip("_")
        yield (
            f"{'make_fx' if kind == _PROXIES else kind} sees individual operators, and the "
            f"compiled {name} has none: run the eager function under this mode"
        )


def _transform(values: Iterable[Any]) -> str | None:
    """The transform of torch.func around a call, where an input belongs to one."""
    interpreter = tp.FUNCTORCH_INTERPRETER.get()()
    if interpreter is not None:
        kind = interpreter.key().name
        return _TRANSFORMS.get(kind, f"torch.func ({kind})")
    is_wrapped = tp.IS_TRANSFORMED.get()
    wrapped = any(isinstance(value, torch.Tensor) and is_wrapped(value) for value in values)
    return "A transform of torch.func" if wrapped else None
