"""Code that was compiled in, compared at a call with what the same names give now."""

from __future__ import annotations

import abc
import contextlib
import functools
import re
import sys
import types
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Any

import torch

from workbench.compiler.calls.paths import Path
from workbench.compiler.captured_code.code_digest import digest, hash_file, in_source
from workbench.compiler.captured_code.specialized_values import (
    find_importable_name,
    is_called,
    resolve,
)
from workbench.errors import ArtifactError
from workbench.live_only import LivePart

CODE, OBJECT, CLASS, NO_ATTRIBUTE = "code", "object", "class", "no attribute"
NO_KEY, ANSWER = "no key", "answer"
DEFAULTS = "defaults"
_TESTS = {
    CODE: "{}.__code__ is {}",
    OBJECT: "{} is {}",
    CLASS: "type({}) is {}",
    NO_ATTRIBUTE: "{1} not in {0}.__dict__",
    NO_KEY: "{1} not in {0}",
    ANSWER: "{0} == {1}",
}
_CHANGED = {
    CODE: "its code has changed since compilation",
    DEFAULTS: "its defaults have changed since compilation",
    OBJECT: "it is a different object than at compilation",
    CLASS: "its class is not the one at compilation",
    NO_ATTRIBUTE: "this attribute was set on the object after compilation",
    NO_KEY: "it exists now, but did not at compilation",
    ANSWER: "its result has changed since compilation",
}
_GONE = "it has been removed or replaced since compilation"
_FAILURES = (KeyError, IndexError, AttributeError, TypeError, ValueError)  # of what is gone
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_GLOBAL = re.compile(r"\['([^\W\d]\w*)'\](.*)")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
"""Dictionaries of a module."""
_GLOBAL_HOOKS = tuple(f"_global{kind}" for kind in _HOOKS)
"""Dictionaries of all modules."""


@dataclass(frozen=True)
class Inlined:
    """Something that was compiled in, and where a call looks it up.

    `lookup` is the Python source behind the holder, such as `['helper']`. `expected` is what was
    there: by `kind` the code of a function, the object itself, its class, or the name of an
    attribute that the object did not have. `place` is `module:path` where another process finds
    it too, `source` that of a function's own definition. A function that is defined again with the
    same code and `defaults` is the same. `is_guarded` says that a guard of torch compares it.
    """

    name: str
    holder: Any
    lookup: str
    kind: str
    expected: Any
    place: str | None = None
    defaults: Any = None
    source: str | None = None
    is_guarded: bool = False

    def found(self) -> Any:
        """What is there now; raises what a lookup raises."""
        return eval(f"holder{self.lookup}", {"holder": self.holder})

    def same_defaults(self) -> Iterator[tuple[str, Any]]:
        """What else of a function has to be the same object, as source behind it."""
        if self.kind == CODE and self.defaults is not None:
            positional, named = self.defaults
            yield ".__defaults__", positional
            yield from ((f".__kwdefaults__[{n!r}]", value) for n, value in (named or {}).items())

    def is_written(self) -> bool:
        """Whether a file has it: another process finds it by name, and can tell what it was."""
        if self.place is None or self.place.startswith("__main__:"):
            return False
        if self.kind == ANSWER:
            return isinstance(self.holder, SubclassAnswers)
        is_object = self.kind == OBJECT
        is_named = is_object and find_importable_name(self.expected) is not None
        return (
            is_named
            or (is_object and self.holder is sys.modules)
            or self.kind in (CODE, NO_ATTRIBUTE, NO_KEY)
        )

    def is_shown(self) -> bool:
        """Whether people look for it where nothing changed: not what was not there, or torch's."""
        is_lacking = self.kind in (NO_ATTRIBUTE, NO_KEY) and not self.lookup
        return not (is_lacking or _is_of_torch(self))

    def has_its_code(self) -> bool:
        """Whether it is a function with the code that was compiled in."""
        return self.kind == CODE and digest(self.found().__code__) == digest(self.expected)

    def is_same(self) -> bool:
        """Whether it is what was compiled in; raises what a lookup raises."""
        now = self.found()
        if self.kind == CODE:
            code = now.__code__
            # `==` compares lines, too
            is_equal = code is self.expected or digest(code) == digest(self.expected)
            return is_equal and _same(_defaults(now), self.defaults)
        if self.kind == NO_ATTRIBUTE:
            return self.expected not in vars(now)
        if self.kind == NO_KEY:
            return self.expected not in now
        if self.kind == ANSWER:
            return bool(now == self.expected)
        return (type(now) if self.kind == CLASS else now) is self.expected


class SubclassAnswers:
    """Which classes an abstract class counts as its own: `ABC.register` changes that.

    Python counts what is registered anywhere; until that changes nothing is asked again.
    """

    def __init__(self, kind: type, before: Mapping[type, bool]) -> None:
        self.before = dict(before)
        self._kind = kind
        self._token: object = None
        self._now: Mapping[type, bool] = {}

    @classmethod
    def of(cls, kind: type, others: Iterable[type]) -> SubclassAnswers | None:
        """The answers of this moment; None where there is nothing to ask."""
        before = {}
        for one in others:
            with contextlib.suppress(TypeError):  # a protocol that is none for the running program
                before[one] = issubclass(one, kind)
        return cls(kind, before) if before else None

    def now(self) -> Mapping[type, bool]:
        """What it answers."""
        token = abc.get_cache_token()
        if token != self._token:
            self._now = {one: issubclass(one, self._kind) for one in self.before}
            self._token = token
        return self._now

    def to_json(self) -> dict[str, bool]:
        """The answers for what another process finds by its name."""
        named = ((find_importable_name(one), answer) for one, answer in self.before.items())
        return {name: answer for name, answer in named if name is not None}

    @classmethod
    def from_json(cls, kind: type, rows: Mapping[str, bool]) -> SubclassAnswers:
        """The answers for the classes that this process has."""
        before = {}
        for name, answer in rows.items():
            if name.partition(":")[0] in sys.modules:
                with contextlib.suppress(ImportError, AttributeError):
                    before[resolve(name)] = answer
        return cls(kind, before)


def _as_global(lookup: str) -> re.Match[str] | None:
    """A name of a module's own, and what is looked up in it."""
    match = _GLOBAL.fullmatch(lookup)
    return None if match is None or iskeyword(match[1]) else match


def of_function(
    name: str, holder: Any, lookup: str, value: Any, place: str | None = None
) -> Inlined:
    """A function of the user, known by its code."""
    defaults, source = _defaults(value), find_importable_name(value)
    return Inlined(name, holder, lookup, CODE, value.__code__, place, defaults, source)


@dataclass(frozen=True)
class Hooks:
    """The hooks of a module, or with no module those of all: `own` is the table that has them.

    The table itself may be replaced, and each dictionary in it. `name` and `place` stand before
    the kinds.
    """

    name: str
    place: str
    own: Mapping[str, Any]
    module: torch.nn.Module | None
    kinds: tuple[str, ...]

    def hooked(self) -> Iterator[str]:
        """The places of those that are there."""
        yield from (f"{self.place}{kind}" for kind in self.kinds if self.own[kind])

    def without(self, places: Collection[str]) -> Hooks:
        """The same without the kinds at these places."""
        kinds = (kind for kind in self.kinds if f"{self.place}{kind}" not in places)
        return replace(self, kinds=tuple(kinds))

    def changed(self) -> Iterator[tuple[str, str]]:
        """The name of each that was added, and of a table that was replaced."""
        now = self.own if self.module is None else vars(self.module)  # which may be another
        for kind in self.kinds:
            if now.get(kind):
                name = f"{self.name}{kind}"
                yield name, "a hook was added, but the compiled code does not run it"


@dataclass(frozen=True)
class InlinedCode(LivePart):
    """Everything that was compiled in, and the hooks that a call would run besides.

    `hooks` are places of dictionaries that were empty: torch does not guard them.
    `registered` is what may not be hidden from Python's attribute lookup. `excepted` are the places
    of what had hooks or was hidden already, None where nobody wrote them down. `held` are modules
    among globals that guards speak of, where it was compiled.
    """

    parts: tuple[Inlined, ...] = ()
    hooks: tuple[Hooks, ...] = field(default=(), compare=False)
    registered: tuple[Registered, ...] = field(default=(), compare=False)
    excepted: frozenset[str] | None = None
    held: Mapping[str, torch.nn.Module] = field(default_factory=dict, compare=False)

    def checker(self) -> Callable[[], bool] | None:
        """One fast function that compares all that torch's guards do not, or None without any."""
        own = self._most_named()
        scope: dict[str, Any] = {"_wb_failures": (NameError, *_FAILURES)}
        tests = []
        for i, one in enumerate(one for one in self.parts if not one.is_guarded):
            holder, expected = f"_wb_h{i}", f"_wb_c{i}"
            named = _as_global(one.lookup) if one.holder is own else None
            term = f"{named[1]}{named[2]}" if named else f"{holder}{one.lookup}"
            scope[expected] = one.expected
            if not named:
                scope[holder] = one.holder
            tests.append(_TESTS[one.kind].format(term, expected))
            for tail, value in one.same_defaults():
                scope[f"{expected}_{len(scope)}"] = value
                tests.append(f"{term}{tail} is {expected}_{len(scope) - 1}")
        for i, hooks in enumerate(self.hooks):
            scope[f"_wb_d{i}"] = hooks.own
            tests += [f"not _wb_d{i}[{kind!r}]" for kind in hooks.kinds]
            if hooks.module is not None:
                scope[f"_wb_m{i}"] = hooks.module
                tests.append(f"_wb_m{i}.__dict__ is _wb_d{i}")
        tests += [test for names in self.registered for test in names.tests(scope)]
        if not tests:
            return None
        scope["_wb_unchanged"] = lambda: not any(self.changed())
        lines = [f"def same({', '.join(f'{name}={name}' for name in scope)}):", "    try:"]
        lines += [f"        if {' and '.join(tests)}: return True"]
        lines += ["    except _wb_failures:", "        return False", "    return _wb_unchanged()"]
        exec("\n".join(lines), scope)
        same: types.FunctionType = scope.pop("same")
        return types.FunctionType(same.__code__, own, "same", same.__defaults__)

    def _most_named(self) -> dict[str, Any]:
        """The globals that most parts are looked up in: Python finds its own ones the fastest."""
        named = [one.holder for one in self.parts if _as_global(one.lookup)]
        counts = Counter(id(holder) for holder in named if type(holder) is dict)
        most = counts.most_common(1)
        return next(holder for holder in named if id(holder) == most[0][0]) if most else {}

    def changed(self) -> Iterator[tuple[str, str]]:
        """The name of each part that is another one now, or gone, and what happened."""
        for one in self.parts:
            try:
                if not one.is_same():
                    yield one.name, _CHANGED[DEFAULTS if one.has_its_code() else one.kind]
            except _FAILURES:
                yield one.name, _GONE
        for hooks in self.hooks:
            yield from hooks.changed()
        for names in self.registered:
            yield from names.changed()

    def mismatches(self) -> list[str]:
        """A sentence for each part that is another one now."""
        return [f"{name}: {what}; recompile" for name, what in self.changed()]

    def with_modules(self, values: Mapping[str, Any], named: Set[str]) -> InlinedCode:
        """The same with what calls of modules find: hooks, and names that hide what is registered.

        The modules are those among the values, and in them by attributes and keys that are `named`.
        `values` have the names under which the code reads them, in every process the same.
        """
        modules = find_modules({**values, **self.held}, named)
        rows = [Hooks("", "", vars(torch.nn.modules.module), None, _GLOBAL_HOOKS)]
        for root, module in modules.items():
            for path, part in module.named_modules():
                name = ".".join(filter(None, (type(module).__name__, path)))
                place = ".".join(filter(None, (root, path)))
                rows.append(Hooks(f"{name}.", f"{place}.", vars(part), part, _HOOKS))
        excepted = self.excepted
        if excepted is None:  # of this process: a capture compiles what is there
            hooked = (place for row in rows for place in row.hooked())
            excepted = frozenset((*hooked, *hidden(modules)))
        by_id = {id(row.own): row.without(excepted) for row in rows}
        registered = read_as_registered(modules, excepted)
        hooks = tuple(by_id.values())
        return replace(self, hooks=hooks, registered=registered, excepted=excepted)

    def to_json(self) -> list[dict[str, Any]]:
        """What another process can compare: where it is, and what it was."""
        files: dict[str, str | None] = {}
        rows: list[dict[str, Any]] = []
        for one in self.parts:
            if not one.is_written():
                continue
            if one.holder is sys.modules:
                rows.append({"name": one.place, "imported": True})
            elif one.kind == OBJECT:
                rows.append({"name": one.place, "object": find_importable_name(one.expected)})
            elif one.kind in (NO_ATTRIBUTE, NO_KEY):
                rows.append({"name": one.place, one.kind: one.expected})
            elif one.kind == ANSWER:
                rows.append({"name": one.place, "subclasses": one.holder.to_json()})
            else:
                code = one.expected
                if code.co_filename not in files:
                    files[code.co_filename] = hash_file(code.co_filename)
                row = {"name": one.place, "function": code.co_qualname, "digest": digest(code)}
                row |= {"source": one.source, "file": files[code.co_filename]}
                row |= {"torch": torch.__version__} if _is_of_torch(one) else {}
                rows.append({**row, "defaults": _written(one.defaults)})
        return rows

    @classmethod
    def from_json(
        cls,
        rows: Sequence[Mapping[str, Any]],
        called: Sequence[Inlined],
        excepted: Iterable[str] | None = None,
    ) -> InlinedCode:
        """The parts as they are in this process, which are those of the rows; and what is called.

        `excepted` are the places that had hooks, or hidden names, when it was compiled; None for
        an older file.

        Of a module that is not imported the source is compared; one that cannot be found is left
        out. Raises `ArtifactError` naming those that are others than what was compiled.
        """
        parts, changed = [], []
        for row in rows:
            module, _, path = row["name"].partition(":")
            if module in sys.modules:
                one = _here(row, vars(sys.modules[module]), f"{path} (of {module})")
                parts += [one] if one is not None else []
                is_same = one is not None
            else:
                now = in_source(row.get("source"), row.get("file"))
                is_same = now is None or now == row.get("digest")
            if not is_same:
                changed.append(f"  - {_said(row, path, module)}")
        if changed:
            raise ArtifactError(
                "Compiled-in code has changed:\n"
                + "\n".join(changed)
                + "\nRecompile, or restore the compiled version of the code."
            )
        return cls((*parts, *called), excepted=None if excepted is None else frozenset(excepted))


def _here(row: Mapping[str, Any], scope: Mapping[str, Any], name: str) -> Inlined | None:
    """What a row speaks of, if it is in this process what it was."""
    module, _, place = row["name"].partition(":")
    if "imported" in row:
        source, lookup = f"sys.modules[{module!r}]", f"[{module!r}]"
        return Inlined(source, sys.modules, lookup, OBJECT, sys.modules[module], row["name"])
    if NO_KEY in row:
        one = Inlined(name, scope, "", NO_KEY, row[NO_KEY], row["name"])
        return one if one.is_same() else None
    root, *rest = place.split(".")
    path = Path.from_json([root, *(("attr", part) for part in rest)])
    lookup = f"[{root!r}]{path.tail}"
    try:
        value = path.get(scope)
        if "object" in row:  # which was replaced where it has another name
            same = value is resolve(row["object"]) and is_called(value, row["object"])
            return Inlined(name, scope, lookup, OBJECT, value, row["name"]) if same else None
        if "function" not in row:
            one = _asked_here(row, value, name)
            return one if one.is_same() else None
    except (ImportError, *_FAILURES):
        return None
    steps, function = to_function(value, lambda f: f.__code__.co_qualname == row["function"])
    if function is None:
        return None
    if row.get("torch") not in (None, torch.__version__):  # another release has other code
        return of_function(name, scope, lookup + steps, function, row["name"])
    if digest(function.__code__) != row["digest"]:
        return None
    if row.get("defaults") not in (None, _written(_defaults(function))):
        return None
    return of_function(name, scope, lookup + steps, function, row["name"])


def _asked_here(row: Mapping[str, Any], value: Any, name: str) -> Inlined:
    """What a row says of a class: an attribute that it lacks, or what it counts as its own."""
    if NO_ATTRIBUTE in row:
        lacking = row[NO_ATTRIBUTE]
        return Inlined(f"{name}.{lacking}", value, "", NO_ATTRIBUTE, lacking, row["name"])
    answers = SubclassAnswers.from_json(value, row["subclasses"])
    return Inlined(name, answers, ".now()", ANSWER, answers.before, row["name"])


def _said(row: Mapping[str, Any], path: str, module: str) -> str:
    """What is another one, or was not there."""
    if NO_ATTRIBUTE in row or NO_KEY in row:
        name = f"{path}.{row[NO_ATTRIBUTE]}" if NO_ATTRIBUTE in row else path
        return f"{name} of {module}: {_CHANGED[NO_KEY]}"
    return f"{path} of {module}"


def _is_of_torch(one: Inlined) -> bool:
    return str(one.place).partition(":")[0].partition(".")[0] == "torch"


def to_function(
    value: Any, is_wanted: Callable[[types.FunctionType], bool]
) -> tuple[str, types.FunctionType | None]:
    """How the function in a method, property or decorated function is reached, and it or None."""
    steps = ""
    while not (isinstance(value, types.FunctionType) and is_wanted(value)):
        inner = _inner(value)
        if inner is None:
            return steps, None
        steps, value = f"{steps}.{inner}", getattr(value, inner)
    return steps, value


def _inner(value: Any) -> str | None:
    """The attribute with what a method, a property or a decorator holds."""
    if isinstance(value, types.MethodType):
        return "__func__"
    if isinstance(value, property | functools.cached_property):
        return "fget" if isinstance(value, property) else "func"
    own = vars(value) if hasattr(type(value), "__dict__") and hasattr(value, "__dict__") else {}
    return "__wrapped__" if "__wrapped__" in own else None  # no proxy answers for it


def _defaults(function: Any) -> Any:
    named = function.__kwdefaults__  # which may be changed in place
    return function.__defaults__, None if named is None else dict(named)


def _written(defaults: Any) -> str | None:
    """Defaults as text that another process can compare; None where they are no plain values."""
    positional, named = defaults
    values = (*(positional or ()), *(named or {}).values())
    return repr(defaults) if all(type(value) in _PLAIN for value in values) else None


def _same(a: Any, b: Any) -> bool:
    """Whether defaults are the same: objects, or equal plain values."""
    if a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and a == b):
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    return False


_REGISTERED = {"_modules": "child", "_parameters": "parameter", "_buffers": "buffer"}
_WITHOUT_PARTS = (*_PLAIN, torch.Tensor)
_NOT_FOLLOWED = (*_WITHOUT_PARTS, type, types.ModuleType, types.FunctionType)
_LOOKUPS = ("__getattr__", "__getattribute__")
_HIDDEN = "{} shadows the {} that the compiled code reads"


@dataclass(frozen=True)
class InstanceNames:
    """Registered names of one module that its `__dict__` may not have.

    Dynamo 2.13 reads `module._parameters["w"]` and guards no `__dict__` for it, though an entry
    there comes first: `object.__setattr__(module, "w", …)` would go unnoticed.
    """

    name: str
    module: torch.nn.Module
    kinds: Mapping[str, str]

    def tests(self, scope: dict[str, Any]) -> Iterator[str]:
        """Expressions that hold while nothing is hidden; what they name goes into `scope`."""
        own = _put(scope, vars(self.module))  # to ask for it in each call takes three times as long
        yield from (f"{name!r} not in {own}" for name in self.kinds)

    def changed(self) -> Iterator[tuple[str, str]]:
        """Each hidden name, and what hides it."""
        for name in self.kinds.keys() & vars(self.module).keys():
            yield (
                f"{self.name}.{name}",
                _HIDDEN.format("an attribute of the object", self.kinds[name]),
            )


@dataclass(frozen=True)
class ClassNames:
    """Registered names that no class of a module may have, and how the class looks names up."""

    owner: type
    bases: tuple[type, ...]
    kinds: Mapping[str, str]
    lookups: Mapping[str, Any]

    def tests(self, scope: dict[str, Any]) -> Iterator[str]:
        """Expressions that hold while nothing is hidden; what they name goes into `scope`."""
        owner = _put(scope, self.owner)
        yield f"{owner}.__mro__ is {_put(scope, self.bases)}"
        for name, expected in self.lookups.items():
            yield f"{owner}.{name} is {_put(scope, expected)}"
        for base in self.bases:
            members = _put(scope, vars(base))
            yield from (f"{name!r} not in {members}" for name in self.kinds if base is not object)

    def changed(self) -> Iterator[tuple[str, str]]:
        """Each hidden name, and what hides it."""
        class_name = self.owner.__qualname__
        for name, expected in self.lookups.items():
            if getattr(self.owner, name, None) is not expected:
                yield (
                    f"{class_name}.{name}",
                    "the class now defines it, but the compiled code does not call it",
                )
        if self.owner.__mro__ != self.bases:
            yield class_name, "its base classes have changed since compilation"
        for name, kind in self.kinds.items():
            for base in self.owner.__mro__:
                if name in vars(base):
                    by = f"an attribute of the class {base.__qualname__}"
                    yield f"{class_name}.{name}", _HIDDEN.format(by, kind)


Registered = InstanceNames | ClassNames


def find_modules(values: Mapping[str, Any], named: Set[str]) -> dict[str, torch.nn.Module]:
    """The modules among the values and, by attributes and keys that are `named`, in them.

    One that is registered in another is found there. Lists are followed, and objects of any class.
    """
    modules: dict[str, torch.nn.Module] = {}
    visited: set[int] = set()
    queue = deque(values.items())
    while queue:
        place, value = queue.popleft()
        is_module = isinstance(value, torch.nn.Module)
        if is_module and (place in values or id(value) not in visited):
            modules[place] = value
        if id(value) in visited:
            continue
        visited.add(id(value))
        for path, part in value.named_modules() if is_module else ():
            visited.add(id(part))
            queue.extend(_held(_join(place, path), part, named))
        queue.extend(() if is_module else _held(place, value, named))
    return modules


def _held(place: str, value: Any, named: Set[str]) -> Iterator[tuple[str, Any]]:
    """What a value holds besides what is registered in it, by its place."""
    if isinstance(value, list | tuple):
        parts = enumerate(value)
        yield from (
            (f"{place}[{i}]", one) for i, one in parts if not isinstance(one, _WITHOUT_PARTS)
        )
    elif isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, str) or key in named:
                yield f"{place}[{key!r}]", one
    elif isinstance(value, types.MethodType):
        yield f"{place}.__self__", value.__self__
    elif not isinstance(value, _NOT_FOLLOWED):
        own: Any = getattr(value, "__dict__", None)
        names = sorted(named & own.keys()) if type(own) is dict else ()
        yield from ((_join(place, name), own[name]) for name in names if name not in _REGISTERED)


def hidden(modules: Mapping[str, torch.nn.Module]) -> Iterator[str]:
    """The places at which a capture of these modules does not read what is registered."""
    for place, _, module in _parts(modules):
        kinds = _registered(module)
        for name in kinds:
            if name in vars(module) or any(name in vars(base) for base in type(module).__mro__):
                yield _join(place, name)
        for name in _LOOKUPS:
            if getattr(type(module), name) is not getattr(torch.nn.Module, name):
                yield _join(place, name)


def read_as_registered(
    modules: Mapping[str, torch.nn.Module], hidden_before: Collection[str]
) -> tuple[Registered, ...]:
    """What has to stay visible for code that was compiled where only `hidden_before` was hidden."""
    by_id: dict[int, Registered] = {}
    classes: dict[type, dict[str, str]] = {}
    lookups: dict[type, dict[str, Any]] = {}
    for place, text, module in _parts(modules):
        owner, kinds = type(module), _registered(module)
        kinds = {n: kind for n, kind in kinds.items() if _join(place, n) not in hidden_before}
        if kinds:
            by_id[id(module)] = InstanceNames(text, module, kinds)
            classes.setdefault(owner, {}).update(kinds)
            lookups.setdefault(owner, {}).update(
                (name, getattr(torch.nn.Module, name))
                for name in _LOOKUPS
                if _join(place, name) not in hidden_before
            )
    for owner, kinds in classes.items():
        by_id[id(owner)] = ClassNames(owner, owner.__mro__, kinds, lookups[owner])
    return tuple(by_id.values())


def _parts(
    modules: Mapping[str, torch.nn.Module],
) -> Iterator[tuple[str, str, torch.nn.Module]]:
    """Each module: its place, which is the same in every process, and the name it is shown with."""
    for root, module in modules.items():
        for path, part in module.named_modules():
            yield _join(root, path), _join(type(module).__name__, path), part


def _registered(module: torch.nn.Module) -> dict[str, str]:
    """The kind of each name that Python would look up as an attribute, and not by `"0"`."""
    return {
        name: kind
        for table, kind in _REGISTERED.items()
        for name in vars(module).get(table, ())
        if name.isidentifier()
    }


def _join(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _put(scope: dict[str, Any], value: Any) -> str:
    """The name under which a test finds this value."""
    name = f"_wb_v{len(scope)}"
    scope[name] = value
    return name
