"""What keeps a compiled function from being saved, taken out where it is not needed."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import dis
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from workbench.compiler.aot_files.fake_guards import guards_of_real_tensors
from workbench.compiler.contract.guard_policy import Decisions
from workbench.compiler.contract.paths import Path, leaves, parse
from workbench.compiler.contract.specialized_values import _is_literal, resolve
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches


def saveable(aot_fn: Any, guarded: frozenset[str]) -> tuple[Any, tuple[str, ...]]:
    """The same function with the closure cells emptied that nothing reads after capture.

    Lambdas and builtins in a closure do not pickle, and once a graph is captured they are mostly
    not needed. `guarded` are the names that kept guards read. Returns the names that were emptied.
    """
    env = aot_fn._artifacts.runtime_env
    read = guarded | {
        i.argval
        for i in dis.get_instructions(env.bytecode)
        if i.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
    }
    cells, emptied = [], []
    for name, cell in zip(env.bytecode.co_freevars, env.closure or (), strict=False):
        keep = name in read or _plain(cell.cell_contents)
        cells.append(cell if keep else types.CellType(None))
        emptied += [] if keep else [name]
    if not emptied:
        return aot_fn, ()
    env = dataclasses.replace(env, closure=tuple(cells))
    twin = copy.copy(aot_fn)
    twin._artifacts = dataclasses.replace(aot_fn._artifacts, runtime_env=env)
    return twin, tuple(emptied)


def kept_outside(aot_fn: Any) -> tuple[dict[str, Any], dict[str, tuple[Any, str]]]:
    """What is reached through a closure or a global and stays out of the file, by name.

    First the modules: they are handed back at load. Then functions that a decorator hides from
    their own name, each with the place to import it from.
    """
    env = aot_fn._artifacts.runtime_env
    names = env.bytecode.co_freevars
    closure = {n: c.cell_contents for n, c in zip(names, env.closure or (), strict=False)}
    found = {**env.used_globals, **closure}
    modules = {n: value for n, value in found.items() if isinstance(value, torch.nn.Module)}
    functions = {
        n: (value, place)
        for n, value in found.items()
        if isinstance(value, types.FunctionType) and (place := _behind_decorators(value))
    }
    return modules, functions


def _behind_decorators(function: types.FunctionType) -> str | None:
    """`module:name.__wrapped__` for a function that a decorator replaced under its name."""
    place = f"{function.__module__}:{function.__qualname__}"
    if "<" in place:
        return None
    try:
        found = resolve(place)
    except (ImportError, AttributeError):
        return None
    while found is not function and hasattr(found, "__wrapped__"):
        found, place = found.__wrapped__, f"{place}.__wrapped__"
    return place if found is function and place.endswith("__wrapped__") else None


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | torch.Tensor) or _is_literal(value)


@contextlib.contextmanager
def compiling_for_serialization(decisions: Decisions, bound: Mapping[str, Any]) -> Iterator[None]:
    """While compiling, leave out what would make torch fail instead.

    Guards whose values cannot be pickled are dropped and recorded in `decisions` with the reason;
    the live function keeps checking them. `bound` are the example inputs; gradients are kept
    out of what is pickled, because torch cannot read back a guard on a tensor that has one. Code
    without a source file (typed at a prompt) is not recorded as source.
    """
    with Patches() as patches:
        patches.wrap(tp.SERIALIZE_GUARDS, lambda inner: _serializer(inner, decisions, bound))
        guards_of_real_tensors(patches)
        patches.wrap(tp.ADD_SOURCE, _source_recorder(set(), decisions.codes))
        yield


def _source_recorder(
    seen: set[tuple[int, types.CodeType]], codes: list[types.CodeType]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Record each code once: torch reads a source anew at every call that it inlines."""

    def make(inner: Callable[..., None]) -> Callable[..., None]:
        def add_code(info: Any, code: types.CodeType) -> None:
            codes.append(code)
            key = (id(info), code)
            if key in seen:
                return
            with contextlib.suppress(OSError):  # what inspect raises when there is no source
                inner(info, code)
            seen.add(key)

        return add_code

    return make


def _serializer(
    inner: Callable[..., bytes], decisions: Decisions, bound: Mapping[str, Any]
) -> Callable[..., bytes]:
    def serialize_guards(
        self: Any, builder: Any, sorted_guards: list[Any], output_graph: Any
    ) -> bytes:
        def serialize(guards: list[Any]) -> bytes:
            with _needed_key_orders(output_graph, guards):
                return inner(self, builder, guards, output_graph)

        with _without_gradients([*_read(bound), *_guarded(decisions)]):
            try:
                return serialize(sorted_guards)
            except Exception:
                lost = _lost_roots(serialize, sorted_guards)
                if not lost:
                    raise
                _note(decisions, lost)
                return serialize([g for g in sorted_guards if _root(g.name) not in lost])

    return serialize_guards


@contextlib.contextmanager
def _needed_key_orders(output_graph: Any, guards: Sequence[Any]) -> Iterator[None]:
    """Keep only the dicts whose key order a kept guard reads.

    torch reads them all back at load, also those that only dropped guards needed, such as a
    registry of transformers that has other entries in another process.
    """
    before = output_graph.guard_on_key_order
    names = [guard.name for guard in guards]
    output_graph.guard_on_key_order = {
        source for source in before if any(_name(source) in name for name in names)
    }
    try:
        yield
    finally:
        output_graph.guard_on_key_order = before


def _name(source: Any) -> str:
    return str(source.name() if callable(source.name) else source.name)


def _read(bound: Mapping[str, Any]) -> Iterator[torch.Tensor]:
    for name, value in bound.items():
        yield from _tensors(value, Path(name))


def _guarded(decisions: Decisions) -> Iterator[torch.Tensor]:
    """The tensors that guards read, also those of globals and closures, and their modules'."""
    for entry in decisions.entries:
        if entry.has_value and isinstance(entry.value, torch.Tensor | torch.nn.Module):
            yield from _tensors(entry.value, Path(entry.name))


@contextlib.contextmanager
def _without_gradients(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    saved = [(tensor, tensor.grad) for tensor in tensors if tensor.is_leaf]
    saved = [(tensor, grad) for tensor, grad in saved if grad is not None]
    try:
        for tensor, _ in saved:
            tensor.grad = None
        yield
    finally:
        for tensor, grad in saved:
            tensor.grad = grad


def _tensors(value: Any, path: Path) -> Iterator[torch.Tensor]:
    for _, leaf in leaves(value, path):
        if isinstance(leaf, torch.nn.Module):
            yield from leaf.parameters()
        elif isinstance(leaf, torch.Tensor):
            yield leaf


def _root(guard_name: str) -> str:
    place = parse(guard_name)
    return place[1].root if place else guard_name


def _lost_roots(serialize: Callable[[list[Any]], bytes], guards: Sequence[Any]) -> dict[str, str]:
    """The roots whose guards cannot be pickled on their own, with the reason."""
    groups: dict[str, list[Any]] = {}
    for guard in guards:
        groups.setdefault(_root(guard.name), []).append(guard)
    lost = {}
    for root, group in groups.items():
        try:
            serialize(group)
        except Exception as error:  # any pickling error of any user type
            lost[root] = f"{type(error).__name__}: {error}".splitlines()[0]
    return lost


def _note(decisions: Decisions, lost: dict[str, str]) -> None:
    for i, entry in enumerate(decisions.entries):
        root = _root(entry.name)
        if decisions.reasons[i] is None and root in lost:
            decisions.reasons[i] = f"its value cannot be pickled ({lost[root]})"
