"""What releases of torch call or keep otherwise, behind one function for all of them."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, get_args

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Function, Patches


def variants(entries: Any) -> Sequence[Any]:
    """What Dynamo keeps of a frame: a list, before torch 2.13 the first of a chain."""
    if isinstance(entries, list | tuple):
        return entries
    chain = []
    while entries is not None:
        chain.append(entries)
        entries = entries.next
    return chain


def check_can_cache(module: Any, inputs: Any, options: Mapping[str, Any]) -> None:
    """Raise torch's reason why its cache refuses a graph; before 2.13 it looks at that alone."""
    check = tp.FX_GRAPH_CACHE.get()._check_can_cache
    if len(inspect.signature(check).parameters) == 1:
        check(module)
    else:
        check(module, inputs, options)


def match_rblock_rule(tuner: Any) -> bool:
    """Whether Inductor's rule applies to a kernel; before 2.13 the rule itself asks that."""
    return tp.COULD_SCALE_RBLOCK.find() is None or bool(tuner._could_rblock_scale)


def find_hint_symbols() -> Callable[[Iterable[Any]], Sequence[int]] | None:
    """What gives sizes their numbers, by its name in this release; None when it has neither."""
    return next((hint for row in tp.HINT_SYMBOLS if (hint := row.find()) is not None), None)


def get_hint_symbols(sizes: Iterable[Any]) -> Sequence[int]:
    """The numbers that stand for sizes that may be symbols."""
    get_hints = find_hint_symbols() or tp.HINT_SYMBOLS[0].get()
    numbers: Sequence[int] = get_hints(sizes)
    return numbers


def find_backward_hook(
    newer: Callable[[Function], Function], older: Callable[[Function], Function]
) -> tuple[tp.Name, Callable[[Function], Function]]:
    """The function that compiles a backward at its first call, with the wrap that fits it."""
    if tp.LAZY_BACKWARD.find() is not None:
        return tp.LAZY_BACKWARD, newer
    return tp.OLDER_LAZY_BACKWARD, older


@contextmanager
def add_builtins_to_globals() -> Iterator[None]:
    """Put the builtins that code names among its globals, which torch does from 2.12 on."""
    with Patches() as patches:
        if tp.BUILTINS_IN_ENVIRONMENT.find() is None:
            patches.wrap(tp.RUNTIME_ENVIRONMENT, wrap_with_builtins)
        yield


def wrap_with_builtins(inner: Function) -> Function:
    """What gives compiled code its globals, as newer releases do it."""

    def get_runtime_env(capture: Any) -> Any:
        environment = inner(capture)
        names = environment.used_globals.keys() | environment.import_sources.keys()
        for name in environment.external_refs - names:
            if hasattr(builtins, name):
                environment.used_globals[name] = getattr(builtins, name)
        return environment

    return get_runtime_env


def has_march() -> bool:
    """Whether Inductor has an option for the level of processors that C++ is compiled for."""
    return hasattr(tp.INDUCTOR_CONFIG.get().cpp, "march")


@contextmanager
def use_processor_level(level: str) -> Iterator[None]:
    """Compile C++ for a level of processors, as `-march` names it; before 2.13 it is no option."""
    with Patches() as patches:
        if has_march():
            patches.enter_context(tp.INDUCTOR_CONFIG.get().patch({"cpp.march": level}))
        else:
            tp.OPTIMIZATION_FLAGS.get()  # without it the C++ would be for this processor
            patches.wrap(tp.OPTIMIZATION_FLAGS, lambda inner: _for_level(inner, level))
        yield


def _for_level(inner: Function, level: str) -> Function:
    def optimization_flags(*args: Any, **kwargs: Any) -> Any:
        compiling, linking = inner(*args, **kwargs)
        return [f"march={level}" if f == "march=native" else f for f in compiling], linking

    return optimization_flags


def list_strict_numerics(config: Any = None) -> tuple[str, ...]:
    """The words of Inductor's option `numerics` that round as eager does; none before torch 2.14.

    `config` stands for the options of Inductor.
    """
    options = tp.INDUCTOR_CONFIG.get() if config is None else config
    if not hasattr(options, "numerics"):
        return ()
    words = get_args(options.get_type("numerics"))
    return tuple(word for word in words if word != "default") or ("strict",)


def list_native_operators(native: Any = None) -> dict[str, str]:
    """Operators that eager itself computes by a kernel in a language such as Triton, and in which.

    Older releases of torch have none. `native` stands for `torch.backends.python_native`.
    """
    if native is None:
        import torch

        native = getattr(torch.backends, "python_native", None)
    names = [] if native is None else list(native.available_dsls)
    return {
        operator: name
        for name in names
        if getattr(getattr(native, name, None), "enabled", True)
        for operator in native.get_dsl_operations(name)
    }
