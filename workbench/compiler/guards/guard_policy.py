"""Which guards a call meets here, which a file keeps, what replaces the others; a fast check."""

from __future__ import annotations

import collections
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.nn.utils.parametrize import is_parametrized

from workbench.compiler.call_state.reachable import holds_tensors
from workbench.compiler.calls.paths import KEY, VALUE, Path, parse, parse_state
from workbench.compiler.captured_code.specialized_values import (
    SAME,
    SpecializedValue,
    find_globals_module,
    find_importable_name,
    is_python,
    is_users,
    observe,
    specialize,
)
from workbench.compiler.guards.guard_words import is_environment
from workbench.compiler.guards.inlined_places import find_compared_by_code
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import SET_BY_TORCH_COMPILE
from workbench.compiler.request.callables import read_closure
from workbench.errors import CaptureError
from workbench.number_text import plural

CODE_TYPES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
_HOOKS_GUARD = "EMPTY_NN_MODULE_HOOKS_DICT"
_OURS = ("GLOBAL_STATE", _HOOKS_GUARD)  # torch's own also compares threads
_NO_BACKWARD = "there is no backward pass, so no tensors are saved for it"
_NOTED_BY_LIBRARY = "a library adds entries to it at run time"
_NOT_ASKED = (_NO_BACKWARD, _NOTED_BY_LIBRARY)  # not in this process either
# dropped without losing a check
_REPLACED = ("GLOBAL_STATE", "AUTOGRAD_SAVED_TENSORS_HOOKS", "EMPTY_NN_MODULE_HOOKS_DICT")
_LENGTHS = ("SEQUENCE_LENGTH", "DICT_KEYS", "DICT_LENGTH")
_CONSTANTS = ("CONSTANT_MATCH", "EQUALS_MATCH", "BOOL_MATCH", "NONE_MATCH", "ID_MATCH")
_CONTAINERS = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    collections.deque,
)  # a registry class grows with every import
_GROWING = (list, dict, set, collections.deque, collections.OrderedDict, collections.defaultdict)
_IDENTITIES = ("ID_MATCH", "FUNCTION_MATCH", "CLASS_MATCH", "CLOSURE_MATCH")
_NOT_OF_INPUTS = (
    *("GRAD_MODE", "DETERMINISTIC_ALGORITHMS", "TORCH_FUNCTION_STATE", "DEFAULT_DEVICE"),
    "SHAPE_ENV",
)
_FAILURES = (KeyError, IndexError, AttributeError, TypeError, ValueError)  # of what is not there
_BUILTINS = "__builtins_dict__"
_OWN_NAME = "['{0}'].fget.__closure__[1].cell_contents"
"""What the property of a parametrized tensor calls it: `register_parametrization` makes both."""
_REGISTRIES = ("_modules", "_parameters", "_buffers")
_IMPORTED = "__import_"  # what Dynamo calls a module whose globals a function reads


@dataclass
class Decisions:
    """What happened to each guard of one compilation, filled while the guards are built.

    `reasons` say why a file does not keep a guard; `live` are those that torch checks in this
    process all the same. `replaced` are the places of those for which a file compares a value, or
    asks a state of torch. `codes` are those of every function that was traced. `apart` is torch's
    tree of the live guards on what is no input, `is_apart` says whether it has all of them.
    """

    entries: list[Any] = field(default_factory=list)
    reasons: list[str | None] = field(default_factory=list)
    specialized: dict[tuple[str | None, Path, str], SpecializedValue] = field(default_factory=dict)
    replaced: set[int] = field(default_factory=set)
    codes: list[types.CodeType] = field(default_factory=list)
    live: list[bool] = field(default_factory=list)
    apart: Any = None
    is_apart: bool = False

    @property
    def guarded(self) -> frozenset[str]:
        """The local names that kept guards read."""
        entries = [e for e, is_kept in zip(self.entries, self.kept, strict=True) if is_kept]
        places = [
            parse(name) for e in entries for name in (e.name, *find_other_sides(e.orig_guard))
        ]
        return frozenset(p[1].root for p in places if p is not None and p[0] == "L")

    @property
    def guarded_globals(self) -> set[str]:
        """The global names that kept guards read."""
        places = [
            parse(e.name) for e, is_kept in zip(self.entries, self.kept, strict=True) if is_kept
        ]
        return {p[1].root for p in places if p is not None and p[0] == "G"}

    @property
    def aliased(self) -> tuple[tuple[str, str], ...]:
        """The pairs of local names behind which kept guards ask for one object."""
        pairs = [
            (parse(entry.name), parse(other))
            for entry, is_kept in zip(self.entries, self.kept, strict=True)
            if is_kept
            for other in find_other_sides(entry.orig_guard)
        ]
        return tuple((a[1].root, b[1].root) for a, b in pairs if a is not None and b is not None)

    @property
    def read_as_inputs(self) -> tuple[tuple[str, str], ...]:
        """The globals with tensors that the code reads as an input, and which; no file asks that.

        Both were one object when the code was compiled.
        """
        pairs = [(across(e.orig_guard), e) for e in self.entries]
        return tuple(
            pair for pair, e in pairs if pair and (not e.has_value or holds_tensors(e.value))
        )

    @property
    def dropped(self) -> list[Any]:
        """The entries that are not kept."""
        return [e for e, is_kept in zip(self.entries, self.kept, strict=True) if not is_kept]

    @property
    def kept(self) -> list[bool]:
        """Whether each entry is kept, in the order of `entries`."""
        return [reason is None for reason in self.reasons]

    @property
    def checked(self) -> list[Any]:
        """The entries that torch checks in this process."""
        return [e for e, live in zip(self.entries, self.live, strict=True) if live]

    def of_inputs(self, entry: Any) -> bool:
        """Whether a guard is one on arguments, or on what the expression of a fast check asks."""
        places = (entry.orig_guard.name, *find_other_sides(entry.orig_guard))
        return entry.guard_type in _NOT_OF_INPUTS or any("L[" in place for place in places)


def build_guard_filter(
    policy: str | Callable[[Sequence[Any]], Sequence[bool]],
    function: types.FunctionType,
    decisions: Decisions,
    receiver: str | None = None,
) -> Callable[[Sequence[Any]], list[bool]]:
    """The filter handed to Dynamo; it fills `decisions` each time guards are built.

    Torch builds the guards that are checked in this process; which of them a file keeps is in
    `decisions`. `receiver` is the parameter of the module that is called, whose parts a handle
    knows.

    A policy of "strict" raises `CaptureError` naming every guard that a file cannot hold.
    """

    def decide(entries: Sequence[Any]) -> list[bool]:
        decisions.entries[:] = entries
        decisions.specialized.clear()
        decisions.replaced.clear()
        forget_passing_values([entry.orig_guard for entry in entries])
        # the compiled code reads at run time those globals that lead to a tensor
        tensors = (e for e in entries if e.is_global and e.guard_type == "TENSOR_MATCH")
        anchored = {p[1].root for e in tensors if (p := parse(e.name)) is not None}
        code = {n for n, value in read_closure(function).items() if isinstance(value, CODE_TYPES)}
        unsupported = frozenset(tp.UNSERIALISABLE_GUARDS.get())
        decisions.reasons[:] = [_why_not(e, unsupported, anchored, code) for e in entries]
        _drop_saved_tensor_hooks(decisions)
        by_code = find_compared_by_code(entries, function)
        _drop_library_notes(decisions, function)
        decisions.live[:] = [
            not (i in by_code or entry.guard_type in _OURS or reason in _NOT_ASKED)
            for i, (entry, reason) in enumerate(zip(entries, decisions.reasons, strict=True))
        ]
        _stand_in_for_all(function, decisions, receiver)
        if policy == "strict":
            _refuse(entries, decisions)
        elif callable(policy):
            for i, keep in enumerate(policy(entries)):
                decisions.live[i] &= bool(keep)
                if not keep and decisions.reasons[i] is None:
                    decisions.reasons[i] = "dropped by the given guard filter"
        return decisions.live.copy()

    return decide


def forget_passing_values(guards: Sequence[Any]) -> None:
    """Let guards be built again on values that are made anew at each look.

    Torch compares such a value, the tensor of a numpy array, with the one of the look before, and
    fails where that is neither true nor false.
    """
    for guard in guards:
        guard.obj_weakref = None


def _drop_saved_tensor_hooks(decisions: Decisions) -> None:
    """Without a backward nothing is saved for it; the guard costs a Python call each time."""
    values = (entry.value for entry in decisions.entries if torch.is_grad_enabled())
    if any(isinstance(value, torch.Tensor) and value.requires_grad for value in values):
        return
    for i, entry in enumerate(decisions.entries):
        if entry.guard_type == "AUTOGRAD_SAVED_TENSORS_HOOKS":
            decisions.reasons[i] = _NO_BACKWARD


def _why_not(
    entry: Any, unsupported: frozenset[str], anchored: set[str], code: set[str]
) -> str | None:
    """The reason why a guard cannot travel in a file, or None when it can."""
    if entry.guard_type == "GLOBAL_STATE":
        return "checked by aot-workbench itself, without the thread count"
    if entry.guard_type == "EMPTY_NN_MODULE_HOOKS_DICT":
        return "checked by aot-workbench itself, because torch does not check hooks"
    for kind in (entry.guard_type, *entry.derived_guard_types):
        if kind in unsupported:
            return f"{kind} compares an identity, which has no meaning in another process"
    if getattr(entry.orig_guard, "_unserializable", False):
        return "the type is local to a function and cannot be named in a file"
    if "__import__(" in entry.name:
        return "reached through an import statement, which torch cannot read from a file"
    if entry.has_value and _is_of_parametrization(entry):
        return "the class of a parametrized module is created at run time"
    if across(entry.orig_guard):
        return "a file has its own copy of the global, which is never the same object as an input"
    others = [(name, "G[" in name) for name in find_other_sides(entry.orig_guard)]
    reasons = (
        _why_not_reached(*one, anchored, code) for one in ((entry.name, entry.is_global), *others)
    )
    return next(filter(None, reasons), None)


def _why_not_reached(name: str, is_global: bool, anchored: set[str], code: set[str]) -> str | None:
    place = parse(name)
    if place is not None and place[0] == "L" and place[1].root in code:
        return "reached through a function in the closure, which is part of the code"
    if is_global and (place is None or place[1].root not in anchored):
        return "reached through a global, which may not exist in another process"
    return None


def find_other_sides(guard: Any) -> tuple[str, ...]:
    """The names that a guard looks at besides its own: what an object has to be, too."""
    source = getattr(guard.create_fn, "keywords", {}).get("source_b")  # of DUPLICATE_INPUT
    if source is None:
        return ()
    return (str(source.name() if callable(source.name) else source.name),)


def across(guard: Any) -> tuple[str, str] | None:
    """The names of the global and of the input that a guard asks to be one object, if it does."""
    sides = sorted((guard.name, *find_other_sides(guard)), key=lambda name: "L[" in name)
    is_mixed = ["L[" in name for name in sides] == [False, True]
    return (sides[0], sides[1]) if is_mixed else None


def guarded_across(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Have torch guard that an input is a global, too, as it does for two inputs.

    It makes no guard where one name is local and the other global (2.11 to 2.15, with a TODO), and
    the graph reads both by the first name: `a + G` compiled for `G` itself is `a + a` for good.
    """

    def make_guard(obj_source: Any, dupe_source: Any) -> Any:
        guard = inner(obj_source, dupe_source)
        if guard is not None or dupe_source is None or dupe_source == obj_source:
            return guard
        return functools.partial(tp.DUPLICATE_INPUT.get(), source_b=dupe_source)

    return make_guard


def _is_of_parametrization(entry: Any) -> bool:
    """Whether it looks at a parametrized module's class, or at the name that its property holds."""
    if isinstance(entry.value, torch.nn.Module):
        return entry.guard_type == "TYPE_MATCH" and is_parametrized(entry.value)
    return isinstance(entry.value, str) and entry.name.endswith(_OWN_NAME.format(entry.value))


def _drop_library_notes(decisions: Decisions, function: types.FunctionType) -> None:
    """Do not ask how many entries a container of a library has, nor for one by its number.

    Caches grow with what they meet: einops has an entry for each type that it was called with.
    Where one key of a dict is named by its number, every guard there compares the length (2.13).
    """
    noted = _find_library_notes(decisions.entries, function)
    for i, entry in enumerate(decisions.entries):
        place = parse_state(entry.orig_guard.name) if noted else None
        if place is not None and place[0] == "G":
            path = place[1]
            if path in noted or any(is_dict and p.holds(path) for p, is_dict in noted.items()):
                decisions.reasons[i] = _NOTED_BY_LIBRARY


def _find_library_notes(entries: Sequence[Any], function: types.FunctionType) -> dict[Path, bool]:
    """The containers of libraries that are asked for that, and whether each is a dict."""
    containers: dict[Path, bool] = {}
    for entry in entries:
        place = parse_state(entry.orig_guard.name)
        if place is None or place[0] != "G":
            continue
        path, value = place[1], entry.value if entry.has_value else None
        kinds = {entry.guard_type, *entry.derived_guard_types}
        is_length = bool(kinds & set(_LENGTHS)) and type(value) in _GROWING
        container = path if is_length else _numbered(path)
        if container is None:
            continue
        owner = _owner(container, function)
        if owner is not None and not (is_users(owner[0]) or is_python(owner[0])):
            containers[container] = isinstance(value, dict) or not is_length
    return containers


def _numbered(path: Path) -> Path | None:
    """The dict of which a path goes on by the number of a key or value, None if there is none."""
    at = next((i for i, (kind, _) in enumerate(path.steps) if kind in (KEY, VALUE)), None)
    return None if at is None else Path(path.root, path.steps[:at])


def _is_set_by_torch_compile(path: Path, scope: Mapping[str, Any]) -> bool:
    """Whether torch.compile itself sets this attribute of a class, for the whole process."""
    names = {name for _, name in SET_BY_TORCH_COMPILE}
    if not path.steps or path.steps[-1][1] not in names:
        return False
    try:
        holder = Path(path.root, path.steps[:-1]).get(scope)
    except _FAILURES:
        return False
    name = path.steps[-1][1]
    tables = [holder] if isinstance(holder, Mapping) else map(vars, getattr(holder, "__mro__", ()))
    table = next((one for one in tables if name in one), {})
    return (table.get("__module__"), name) in SET_BY_TORCH_COMPILE


def _stand_in_for_all(
    function: types.FunctionType, decisions: Decisions, receiver: str | None
) -> None:
    """Bake what replaces the guards that are dropped, or built anew, where a file is loaded."""
    pairs = zip(decisions.entries, decisions.reasons, strict=True)
    for i, (entry, reason) in enumerate(pairs):
        if reason not in (None, _NOTED_BY_LIBRARY):
            is_compared = _stand_in(entry, function, decisions, receiver)
            if is_compared or entry.guard_type in _REPLACED:
                decisions.replaced.add(i)
        elif reason is None and entry.guard_type == "TENSOR_MATCH" and entry.is_global:
            _stand_in(entry, function, decisions, guarded=True)
        elif reason is None and _is_of_class(entry):
            _stand_in(entry, function, decisions)
    for value in _stay_visible(decisions.entries, function, receiver):
        decisions.specialized[value.owner, value.path.attr(value.value), value.check] = value


def _stand_in(
    entry: Any,
    function: types.FunctionType,
    decisions: Decisions,
    receiver: str | None = None,
    *,
    guarded: bool = False,
) -> bool:
    """Bake the value of a dropped guard when it is a constant; whether a file compares it.

    `guarded` is the value of a guard that a file keeps, so that it can be named there.
    """
    value = find_specialized_check(entry, function)
    is_hooks = entry.guard_type == _HOOKS_GUARD
    if value is None or (is_hooks and value.owner is None and value.path.root == receiver):
        return False
    key = value.owner, value.path, value.check
    unguarded = is_hooks and value.owner is None
    decisions.specialized[key] = replace(value, guarded=guarded, unguarded=unguarded)
    return value.known


def _is_of_class(entry: Any) -> bool:
    """Whether a kept guard compares what an input's class has.

    A file has the class by its name, so that the guard is built anew of what the class has there.
    """
    kinds = {entry.guard_type, *entry.derived_guard_types}
    place = parse_state(entry.orig_guard.name) if kinds & set(_CONSTANTS) else None
    if place is None or place[0] != "L" or not any(kind == "type" for kind, _ in place[1].steps):
        return False
    return place[1].steps[-1][1] not in {name for _, name in SET_BY_TORCH_COMPILE}


def _stay_visible(
    entries: Sequence[Any], function: types.FunctionType, receiver: str | None
) -> Iterator[SpecializedValue]:
    """Names of modules that their own tables may not have: compiled code reads past these."""
    places = dict.fromkeys(parse_state(entry.orig_guard.name) for entry in entries)
    modules = {
        parse_state(entry.orig_guard.name): entry.value
        for entry in entries
        if entry.has_value and isinstance(entry.value, torch.nn.Module)
    }
    for place in places if modules else ():
        if place is None or (place[0] == "L" and place[1].root == receiver):
            continue
        for i, ((_, table), (_, name)) in enumerate(itertools.pairwise(place[1].steps)):
            holder = Path(place[1].root, place[1].steps[:i])
            module = modules.get((place[0], holder)) if table in _REGISTRIES else None
            if module is None or not str(name).isidentifier() or name in vars(module):
                continue
            spot = (None, holder) if place[0] == "L" else located(holder, function)
            if spot is not None:
                yield SpecializedValue(spot[1], name, "no own", spot[0], unguarded=spot[0] is None)
            # the classes of modules among globals are asked where their names are: `ClassNames`
            if place[0] == "L" and not hasattr(type(module), str(name)):
                yield SpecializedValue(holder, name, "none of its class", unguarded=True)


def find_held_modules(entries: Sequence[Any]) -> dict[str, torch.nn.Module]:
    """The modules among globals that guards speak of, by their places."""
    return {
        entry.name: entry.value
        for entry in entries
        if entry.is_global and entry.has_value and isinstance(entry.value, torch.nn.Module)
    }


def find_specialized_check(entry: Any, function: types.FunctionType) -> SpecializedValue | None:
    """What another process can compare in place of a guard, or None."""
    place = parse_state(entry.orig_guard.name)
    if place is None or not entry.has_value:
        return None
    scope, path = place
    owner: str | None = None
    if scope == "G":
        if _is_set_by_torch_compile(path, function.__globals__):
            return None
        holder = located(path, function)
        if holder is None:
            return _of_torch(entry, path, function)
        owner, path = holder
        is_inside = any(kind != "attr" for kind, _ in path.steps)
        # os.environ is compared
        if is_inside and not is_python(owner) and not is_users(owner):
            # what a library's own containers hold is noted down as it runs: transformers has an
            # entry for each class of which a model was made, which a fresh process has not
            return None
    elif any(kind in (KEY, VALUE) for kind, _ in path.steps):
        return None
    return _by_kind(entry, path, owner, function)


def _of_torch(entry: Any, path: Path, function: types.FunctionType) -> SpecializedValue | None:
    """A function or class of torch where a module of torch has it: it may be replaced there."""
    scope: Mapping[str, Any] = function.__globals__
    if path.root.startswith(_IMPORTED):
        module = path.root.removeprefix(_IMPORTED).replace("_dot_", ".")
        scope = {path.root: sys.modules.get(module)}
    owner = ""
    while path.steps and isinstance(scope.get(path.root), types.ModuleType):
        holder: types.ModuleType = scope[path.root]
        kind, name = path.steps[0]
        if kind != "attr":
            return None
        owner, scope, path = holder.__name__, vars(holder), Path(str(name), path.steps[1:])
    is_torch = owner.partition(".")[0] == "torch" and not path.steps
    if not is_torch or entry.guard_type not in (*_IDENTITIES, "BUILTIN_MATCH"):
        return None
    is_named = isinstance(entry.value, CODE_TYPES) and find_importable_name(entry.value)
    return SpecializedValue(path, entry.value, "is", owner) if is_named else None


def _by_kind(
    entry: Any, path: Path, owner: str | None, function: types.FunctionType
) -> SpecializedValue | None:
    kinds = {entry.guard_type, *entry.derived_guard_types}
    hide = is_environment(entry.value, entry.name)
    specialized = None
    if path.steps and path.steps[-1][0] == KEY:
        specialized = _keys(path, owner, entry.value, function, hide=hide)
    elif entry.guard_type == _HOOKS_GUARD:
        specialized = specialize(path, entry.value, owner, length=True)
    elif entry.guard_type == "DUPLICATE_INPUT":
        specialized = _same_object(entry, path, owner, function)
    elif kinds & set(_LENGTHS) and (
        type(entry.value) in _CONTAINERS or (owner is not None and is_users(owner))
    ):
        specialized = specialize(path, entry.value, owner, length=True)
        if owner is not None and entry.guard_type == "DICT_KEYS_MATCH" and is_users(owner):
            specialized = observe(path, entry.value, owner, entry.guard_type, None) or specialized
    elif kinds & {*_CONSTANTS, *_IDENTITIES, "MODULE_MATCH"}:
        specialized = specialize(path, entry.value, owner, hide=hide)
    elif owner is not None and (is_users(owner) or entry.guard_type == "TENSOR_MATCH"):
        keywords = getattr(entry.orig_guard.create_fn, "keywords", {})
        key = keywords.get("attr", keywords.get("key"))
        specialized = observe(path, entry.value, owner, entry.guard_type, key)
    return specialized


def located(path: Path, function: types.FunctionType) -> tuple[str, Path] | None:
    """The owner of a global and its path there, by keys that another process finds, too."""
    try:
        named = path.by_keys(function.__globals__)
    except _FAILURES:
        return None
    return None if named is None else _owner(named, function)


def _keys(
    path: Path, owner: str | None, value: Any, function: types.FunctionType, *, hide: bool
) -> SpecializedValue | None:
    """The keys of a dict, of which a guard names one by its place; this one where it is no text."""
    if owner is None or hide or not is_users(owner):
        return None
    table = Path(path.root, path.steps[:-1])
    is_own = owner == find_globals_module(function)
    try:
        scope = function.__globals__ if is_own else vars(sys.modules[owner])
        keys = observe(table, table.get(scope), owner, "DICT_KEYS_MATCH", None)
        return keys or specialize(path, value, owner)
    except _FAILURES:
        return None


def _owner(path: Path, function: types.FunctionType) -> tuple[str, Path] | None:
    """The module a global belongs to and its path there, or None for torch's own globals."""
    if path.root.startswith(_BUILTINS):  # a name that torch makes in this process
        kind, name = path.steps[0] if path.steps else ("", "")
        return ("builtins", Path(str(name), path.steps[1:])) if kind == "item" else None
    owner, scope = find_globals_module(function), function.__globals__
    while path.steps and isinstance(scope.get(path.root), types.ModuleType):
        module: types.ModuleType = scope[path.root]
        if module is not sys.modules.get(module.__name__):  # made by hand: no import finds it
            break
        kind, name = path.steps[0]
        if kind != "attr":
            return None
        owner, scope = module.__name__, module.__dict__
        path = Path(str(name), path.steps[1:])
        if (owner, path.root) == ("torch", "backends"):  # flags, of modules with properties
            return owner, path
    if owner.partition(".")[0] in ("torch", "builtins", "workbench"):
        return None
    return owner, path


def _same_object(
    entry: Any, path: Path, owner: str | None, function: types.FunctionType
) -> SpecializedValue | None:
    """Two places of one module of the user that held one object."""
    other = getattr(entry.orig_guard.create_fn, "keywords", {}).get("source_b")
    name = "" if other is None else other.name() if callable(other.name) else other.name
    there = parse_state(str(name)) if name else None
    if owner is None or not is_users(owner) or there is None or there[0] != "G":
        return None
    located = _owner(there[1], function)
    if located is None or located[0] != owner:
        return None
    return SpecializedValue(path, located[1], SAME, owner)


def _refuse(entries: Sequence[Any], decisions: Decisions) -> None:
    lost = [
        f"  - {entry.name or 'global state'} ({entry.guard_type}): {reason}"
        for entry, reason in zip(entries, decisions.reasons, strict=True)
        if reason is not None and entry.guard_type not in _REPLACED
    ]
    if lost:
        raise CaptureError(
            f"guards='strict' cannot store {plural(len(lost), 'guard')} in a file:\n"
            + "\n".join(lost)
            + (
                "\nCompile with guards='portable', which reports them, or remove the values they "
                "depend on."
            )
        )


# a check in one C++ call for plain signatures, which accepts only what torch's guards accept


def is_plain(decisions: Decisions, bound: Mapping[str, Any]) -> bool:
    """Whether tensors and constants, passed as they are, are all that guards on inputs look at."""
    if tp.FUNCTION_MODES.get()() or tp.DEVICE_MODULE.get().CURRENT_DEVICE is not None:
        return False
    if not all(isinstance(v, torch.Tensor | bool | int | str | None) for v in bound.values()):
        return False
    for entry, is_kept, live in zip(decisions.entries, decisions.kept, decisions.live, strict=True):
        if not (is_kept or live) or entry.guard_type in _NOT_OF_INPUTS:
            continue
        if not is_kept and not decisions.of_inputs(entry) and decisions.is_apart:
            continue
        scope, path = parse(entry.name) or ("", None)
        own = scope == "L" and path is not None and path.root in bound and not path.steps
        if not own or entry.guard_type not in ("TENSOR_MATCH", "CONSTANT_MATCH", "EQUALS_MATCH"):
            return False
    return True
