"""What keeps a compiled function from being saved, taken out where it is not needed."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import dis
import functools
import os
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.aot_files.deserialize import place_classes_in_main
from workbench.compiler.aot_files.generated import list_parts
from workbench.compiler.aot_files.guard_values import build_values_reducer, mark_unpicklable
from workbench.compiler.call_state.reachable import holds_tensors, list_tensors
from workbench.compiler.calls.paths import parse
from workbench.compiler.captured_code.specialized_values import _is_literal, resolve
from workbench.compiler.guards.guard_policy import (
    Decisions,
    find_other_sides,
    forget_passing_values,
    guarded_across,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches

_FileState = tuple[int, int] | None


@dataclass(frozen=True)
class Saveable:
    """A compiled function as it can be written, and what stays out of the file, by name.

    `emptied` are the variables of its closure that a file leaves empty. `modules` are handed back
    at load; `functions` are hidden from their own name by a decorator, each with the place to
    import it from.
    """

    aot_fn: Any
    emptied: tuple[str, ...]
    modules: Mapping[str, Any]
    functions: Mapping[str, tuple[Any, str]]

    @classmethod
    def of(cls, aot_fn: Any, guarded: frozenset[str]) -> Saveable:
        """Find what is reached through a closure or a global; `guarded` is what kept guards read.

        Lambdas and builtins in a closure do not pickle, and once a graph is captured they are
        mostly not needed: closure cells that nothing reads after capture are emptied.
        """
        aot_fn, emptied = _without_unread(aot_fn, guarded)
        reached = _reached(aot_fn)
        modules = {n: value for n, value in reached.items() if isinstance(value, torch.nn.Module)}
        functions = {
            n: (value, place)
            for n, value in reached.items()
            if isinstance(value, types.FunctionType) and (place := _behind_decorators(value))
        }
        return cls(aot_fn, emptied, modules, functions)

    @property
    def outside(self) -> dict[str, Any]:
        """Everything that stays out of the file."""
        return {
            **self.modules,
            **{name: function for name, (function, _) in self.functions.items()},
        }

    @property
    def imports(self) -> dict[str, str]:
        """Where a load imports functions from."""
        return {name: place for name, (_, place) in self.functions.items()}


def _without_unread(aot_fn: Any, guarded: frozenset[str]) -> tuple[Any, tuple[str, ...]]:
    """The same function with the closure cells emptied that nothing reads, and their names."""
    env = tp.artifacts_of(aot_fn).runtime_env
    loaded = {
        i.argval
        for i in dis.get_instructions(env.bytecode)
        if i.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
    }
    cells, emptied = [], []
    for name, cell in zip(env.bytecode.co_freevars, env.closure or (), strict=False):
        value = cell.cell_contents
        keep = name in loaded or name in guarded or _plain(value)
        if not keep:
            emptied.append(name)
            cell = types.CellType(None)
        elif name not in loaded and isinstance(value, dict | list | tuple):
            written = mark_unpicklable(value)  # a check looks at some of it
            cell = cell if written is value else types.CellType(written)
        cells.append(cell)
    if all(a is b for a, b in zip(cells, env.closure or (), strict=True)):
        return aot_fn, ()
    env = dataclasses.replace(env, closure=tuple(cells))
    twin = copy.copy(aot_fn)
    setattr(twin, tp.ARTIFACTS, dataclasses.replace(tp.artifacts_of(aot_fn), runtime_env=env))
    return twin, tuple(emptied)


def find_tensors_outside(aot_fn: Any) -> list[str]:
    """The globals and closures, modules aside, through which the code reaches a tensor."""
    return [
        name
        for name, value in _reached(aot_fn).items()
        if not isinstance(value, torch.nn.Module) and holds_tensors(value)
    ]


def _reached(aot_fn: Any) -> dict[str, Any]:
    env = tp.artifacts_of(aot_fn).runtime_env
    names = env.bytecode.co_freevars
    closure = {n: c.cell_contents for n, c in zip(names, env.closure or (), strict=False)}
    return {**env.used_globals, **closure}


def _behind_decorators(function: types.FunctionType) -> str | None:
    """`module:name.__wrapped__` for a function that a decorator replaced under its name."""
    place = f"{function.__module__}:{function.__qualname__}"
    if "<" in place:
        return None
    try:
        target = resolve(place)
    except (ImportError, AttributeError):
        return None
    while target is not function and hasattr(target, "__wrapped__"):
        target, place = target.__wrapped__, f"{place}.__wrapped__"
    return place if target is function and place.endswith("__wrapped__") else None


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | torch.Tensor) or _is_literal(value)


@contextlib.contextmanager
def prepare_serialization(
    decisions: Decisions, bound: Mapping[str, Any], *, is_cache_unread: bool
) -> Iterator[None]:
    """While compiling, leave out what would make torch fail instead.

    Guards whose values cannot be pickled are dropped and recorded in `decisions` with the reason;
    the live function keeps checking them. `bound` are the example inputs; gradients are kept
    out of what is pickled, because torch cannot read back a guard on a tensor that has one. What
    only a file needs is put off until `complete`: sources, and where nobody reads torch's cache
    of AOTAutograd (`is_cache_unread`), graphs that are run as they are.
    """
    with Patches() as patches:
        patches.wrap(tp.SERIALIZE_GUARDS, lambda inner: _serializer(inner, decisions, bound))
        patches.wrap(tp.GUARDS_REDUCER, build_values_reducer)
        patches.wrap(tp.DUPLICATE_GUARD, guarded_across)
        patches.wrap(tp.ADD_SOURCE, lambda _: _source_recorder(decisions.codes))
        patches.wrap(tp.PICKLE_GRAPH, write_bare_graph)
        # an operator with an effect (the check of a Cholesky factor) takes a token, which torch
        # passes to the live code alone (2.13): what it reads back ends in StopIteration
        patches.config(tp.FUNCTORCH_CONFIG, {"unlift_effect_tokens": True})
        _make_entries(patches)
        if is_cache_unread:
            patches.wrap(tp.SAVE_AUTOGRAD_ENTRY, _entry_keeper)
        # torch writes who asked for each guard beside it, each time it builds them
        patches.wrap(tp.SHORTEN_FILENAME, functools.cache)
        yield


_UNREAD, _UNSAVED = "unread", "unsaved"
"""On torch's record of sources: the code still to be read, with the state of its file. On an entry
of AOTAutograd: its graphs are still to be pickled."""


def _source_recorder(codes: list[types.CodeType]) -> Callable[..., None]:
    """Note each code instead of reading its source.

    To find where a function ends torch reads it token by token, anew at every call that it inlines:
    a twentieth of a small compilation, for what only a file holds.
    """
    states: dict[str, _FileState] = {}

    def add_code(info: Any, code: types.CodeType) -> None:
        codes.append(code)
        file = code.co_filename
        if file not in states:
            states[file] = _read_state(file)
        vars(info).setdefault(_UNREAD, {})[code] = states[file]

    return add_code


def _make_entries(patches: Patches) -> None:
    """Have AOTAutograd make its entry, of which a file is written, where its cache is off, too.

    Torch makes none then (force_disable_caches, enable_autograd_cache), and says so by a None that
    it calls. The cache stays off: nothing is read from it and nothing is written to it.
    """
    uses = tp.USES_AUTOGRAD_CACHE.find()
    if uses is None or uses():
        return
    patches.wrap(tp.USES_AUTOGRAD_CACHE, lambda _: lambda: True)
    patches.wrap(tp.AUTOGRAD_CACHE_LOOKUP, lambda _: lambda *_args, **_options: None)
    patches.wrap(tp.AUTOGRAD_CACHE_WRITE, lambda _: lambda _key, _content: None)


def _entry_keeper(inner: Callable[..., None]) -> Callable[..., None]:
    """Keep AOTAutograd's entry as it is, where torch would pickle graphs that are run eagerly."""

    def save(key: str, entry: Any, remote: bool) -> None:
        kind, parts = tp.AOT_EAGER_CODE.find(), list_parts(entry)
        if kind is None or not all(isinstance(getattr(p, "result", None), kind) for p in parts):
            inner(key, entry, remote)
        else:
            vars(entry)[_UNSAVED] = True

    return save


def complete(aot_fn: Any, entry: Any) -> None:
    """Do once what was put off; a file that changed since says nothing of the code.

    `entry` is AOTAutograd's, None for a backend that makes none.
    """
    if entry is not None and vars(entry).pop(_UNSAVED, False):
        entry.pre_save()
    info = tp.artifacts_of(aot_fn).source_info
    for code, state in vars(info).pop(_UNREAD, {}).items():
        if state == _read_state(code.co_filename):
            with contextlib.suppress(OSError):  # what inspect raises when there is no source
                tp.ADD_SOURCE.get()(info, code)


def _read_state(file: str) -> _FileState:
    """When a file was written, in nanoseconds, and its bytes; None for what is no file."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def write_bare_graph(inner: Callable[..., bytes]) -> Callable[..., bytes]:
    """Leave out what torch notes at each node of a graph that is only to be run again.

    Shapes, traces and the nodes it was made from are nine tenths of the bytes, and torch has them
    pickled in Python: a tenth of a small compilation.
    """

    def dumps(pickler: Any, graph: Any, options: Any = None) -> bytes:
        if options is not None and options.ops_filter is None:  # with every operator: to be run
            options = replace(options, node_metadata_key_filter=lambda _: False)
        return inner(pickler, graph, options)

    return dumps


def _serializer(
    inner: Callable[..., bytes], decisions: Decisions, bound: Mapping[str, Any]
) -> Callable[..., bytes]:
    def serialize_guards(
        self: Any, builder: Any, sorted_guards: list[Any], output_graph: Any
    ) -> bytes:
        decisions.apart, decisions.is_apart = _apart(self, builder, decisions, output_graph)
        kept_guards = [
            e.orig_guard for e, keep in zip(decisions.entries, decisions.kept, strict=True) if keep
        ]
        if len(kept_guards) < len(sorted_guards):
            builder = _rebuilt(self, builder, kept_guards, output_graph, save=True)[0]

        def serialize(guards: list[Any]) -> bytes:
            with _needed_key_orders(output_graph, guards), _needed_names(self, guards):
                return inner(self, builder, guards, output_graph)

        _look_at_given(builder, kept_guards)
        _look_at_aliases(builder, kept_guards)
        guarded = [entry.value for entry in decisions.entries if entry.has_value]
        guarded = [v for v in guarded if isinstance(v, torch.Tensor | torch.nn.Module)]
        held = [*bound.values(), *guarded]
        own = {type(v).__qualname__: type(v) for v in held if type(v).__module__ == "__main__"}
        # a worker has the class of a script without its name, and torch then writes a bare Module
        with (
            place_classes_in_main(None, own),
            _without_gradients(list_tensors(dict(bound), guarded)),
        ):
            try:
                return serialize(kept_guards)
            except Exception:
                lost = _lost_roots(serialize, kept_guards)
                if not lost:
                    raise
                _note(decisions, lost)
                return serialize([g for g in kept_guards if not lost.keys() & _roots(g)])

    return serialize_guards


_NOTED = ("used_builtin_vars", "additional_used_local_vars", "additional_used_global_vars")
"""What torch notes down of the guards that it builds for a file, besides the guards themselves."""


def _rebuilt(
    manager: Any, builder: Any, guards: Sequence[Any], output_graph: Any, *, save: bool
) -> tuple[Any, Any]:
    """A builder and a tree of these guards alone, beside those that torch checks here."""
    forget_passing_values(guards)
    for name in _NOTED:
        noted = getattr(manager, name, None)
        if save and noted is not None:
            setattr(manager, name, type(noted)())
    build = tp.BUILD_GUARDS.get()
    modes = manager.torch_function_mode_stack
    # torch forgets them once its own tree is made, and fails without them
    manager.torch_function_mode_stack = output_graph.torch_function_mode_stack
    try:
        with torch._C.DisableTorchFunction():
            rebuilt, tree = build(manager, guards, set(), builder.f_code, output_graph, save)
    finally:
        manager.torch_function_mode_stack = modes
    return rebuilt, tree


def _apart(manager: Any, builder: Any, decisions: Decisions, output_graph: Any) -> tuple[Any, bool]:
    """The tree of the live guards that look at no input, None without any; whether it has all.

    Guards on tensors also compare these with the inputs, which is not in the tree.
    """
    rest = [entry for entry in decisions.checked if not decisions.of_inputs(entry)]
    alone = [e.orig_guard for e in rest if e.name and e.guard_type != "DUPLICATE_INPUT"]
    tree = _rebuilt(manager, builder, alone, output_graph, save=False)[1].root if alone else None
    is_whole = not any(entry.guard_type == "TENSOR_MATCH" for entry in rest)
    return tree, is_whole and len(alone) == len(rest)


def _look_at_given(builder: Any, guards: Sequence[Any]) -> None:
    """Have the tensors written that guards were given beside their names.

    Of a numpy array or number torch made one for the graph, and looks at another one each time.
    """
    for guard in guards:
        value = getattr(guard.create_fn, "keywords", {}).get("value")
        if isinstance(value, torch.Tensor):
            builder.guard_tree_values[id(value)] = value


def _look_at_aliases(builder: Any, guards: Sequence[Any]) -> None:
    """Have everything written that is on the way to two names of one object.

    Torch compares them without a look at what they go through, such as a local function's closure.
    """
    for guard in guards:
        other = getattr(guard.create_fn, "keywords", {}).get("source_b")
        for source in (guard.originating_source, other) if other is not None else ():
            builder.get_guard_manager_from_source(source)


@contextlib.contextmanager
def _needed_key_orders(output_graph: Any, guards: Sequence[Any]) -> Iterator[None]:
    """Keep only the dicts whose key order a kept guard reads.

    torch reads them all back at load, also those that only dropped guards needed, such as a
    registry of transformers that has other entries in another process.
    """
    before = output_graph.guard_on_key_order
    sources = {s: str(s.name() if callable(s.name) else s.name) for s in before}
    output_graph.guard_on_key_order = {
        source for source, name in sources.items() if any(name in guard.name for guard in guards)
    }
    try:
        yield
    finally:
        output_graph.guard_on_key_order = before


@contextlib.contextmanager
def _needed_names(manager: Any, guards: Sequence[Any]) -> Iterator[None]:
    """Keep only the names that these guards look at besides their own: torch writes them all."""
    before = manager.additional_used_local_vars
    used = {root for guard in guards for root in _roots(guard)}
    manager.additional_used_local_vars = type(before)(name for name in before if name in used)
    try:
        yield
    finally:
        manager.additional_used_local_vars = before


@contextlib.contextmanager
def _without_gradients(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    saved = [(t, t.grad) for t in tensors if t.is_leaf and t.grad is not None]
    try:
        for tensor, _ in saved:
            tensor.grad = None
        yield
    finally:
        for tensor, grad in saved:
            tensor.grad = grad


def _root(guard_name: str) -> str:
    place = parse(guard_name)
    return place[1].root if place else guard_name


def _roots(guard: Any) -> set[str]:
    return {_root(guard.name), *map(_root, find_other_sides(guard))}


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
        roots = sorted(lost.keys() & _roots(entry.orig_guard))
        if decisions.reasons[i] is None and roots:
            decisions.reasons[i] = f"its value cannot be pickled ({lost[roots[0]]})"
    for key, one in decisions.specialized.items():
        if one.path.root in lost:  # no guard of the file compares it any more
            decisions.specialized[key] = replace(one, guarded=False)
