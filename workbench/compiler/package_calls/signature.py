"""How a call is written: its parameters, its leaves as the file lists them, its result.

Nested inputs are made flat and flat outputs nested again by the specification in the package, the
text that torch's `treespec_dumps` writes. It is read here: types that nobody registered with
torch's pytree in this process (a model's output class, say) are found by their names, so that no
model has to be built, and no compiler imported, before a first call.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench.artifacts.manifest.package_manifest import PackagedModel
from workbench.compiler.internals import torch_private as tp
from workbench.errors import ArtifactError, ContractError
from workbench.number_text import plural
from workbench.plain_data import parse_json

_PLAIN: Mapping[str, type] = {
    "builtins.tuple": tuple,
    "builtins.list": list,
    "builtins.dict": dict,
}

_NAMED_TUPLE = "collections.namedtuple"


@dataclass(frozen=True)
class Tree:
    """A leaf (`type` is None), or a container with what its type needs to be made again."""

    type: str | None
    context: Any = None
    children: tuple[Tree, ...] = ()
    text: str = ""  # the context as it was written

    @property
    def keys(self) -> tuple[str | int, ...] | None:
        """The keys of a container with names, or None for a sequence."""
        if self.type in ("builtins.tuple", "builtins.list"):
            return None
        names = _names(self.context)
        return names if names is not None and len(names) == len(self.children) else None


def read_tree(text: str) -> Tree:
    """Read what torch's `treespec_dumps` wrote; raises `ArtifactError` for anything else."""
    try:
        protocol, data = parse_json(text)
        if protocol != 1:
            raise ValueError(f"protocol {protocol}")
        return _read(data)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArtifactError(
            f"The package's description of its inputs or outputs cannot be read ({error}). "
            "Rebuild the package with this torch release."
        ) from error


def _read(data: Mapping[str, Any]) -> Tree:
    if data["type"] is None:
        return Tree(None)
    children = tuple(_read(child) for child in data["children_spec"])
    text = str(data["context"])
    try:
        context = parse_json(text)
    except ValueError:  # the name of a named tuple, say
        context = None
    return Tree(str(data["type"]), context, children, text)


def _names(context: Any) -> tuple[str | int, ...] | None:
    """The keys or field names in a context; a data class gives (given fields, fields at None)."""
    if (
        isinstance(context, list)
        and len(context) == 2
        and all(isinstance(c, list) for c in context)
    ):
        context = context[0]
    if isinstance(context, list) and all(isinstance(name, str | int) for name in context):
        return tuple(context)
    return None


# flat → nested


def builder(tree: Tree) -> Callable[[Iterator[Any]], Any]:
    """What makes the nested value from an iterator of leaves."""
    if tree.type is None:
        return next
    parts = [builder(child) for child in tree.children]
    if tree.type == "builtins.dict":
        names = tree.keys or ()
        return lambda leaves: {n: part(leaves) for n, part in zip(names, parts, strict=True)}
    if tree.type in _PLAIN:
        plain = _PLAIN[tree.type]
        return lambda leaves: plain([part(leaves) for part in parts])
    make = _maker(tree)
    return lambda leaves: make([part(leaves) for part in parts])


def nested(tree: Tree) -> Callable[[list[Any]], Any]:
    """What makes the nested value from a list of leaves; quick for the usual shapes."""
    if tree.type is None:
        return lambda leaves: leaves[0]
    flat = all(child.type is None for child in tree.children)
    if flat and tree.type in ("builtins.tuple", "builtins.list"):
        return _PLAIN[tree.type]
    build = builder(tree)
    return lambda leaves: build(iter(leaves))


def _maker(tree: Tree) -> Callable[[list[Any]], Any]:
    """What makes a container of another type from its children, found at the first use."""
    make = cache(lambda: _registered(tree) or _by_name(tree))
    return lambda children: make()(children)


def _registered(tree: Tree) -> Callable[[list[Any]], Any] | None:
    """What torch's pytree has for the type in this process."""
    kind = tp.TREE_TYPES.get().get(tree.type)
    if kind is None:
        return None
    read_context = tp.TREE_SERIALIZED.get()[kind].from_dumpable_context
    if tree.type == _NAMED_TUPLE:
        try:
            named_tuple = read_context(tree.text)
        except NotImplementedError:  # torch does not know the class
            named_tuple = _import(tree.text)
        return tuple if named_tuple is None else lambda children: named_tuple(*children)
    context = tree.context if read_context is None else read_context(tree.text)
    unflatten = tp.TREE_NODES.get()[kind].unflatten_fn
    return lambda children: unflatten(children, context)


def _by_name(tree: Tree) -> Callable[[list[Any]], Any]:
    """The type found by importing it; a dictionary where that is not possible."""
    names = tree.keys
    if names is None:
        return tuple
    kind = _import(tree.type or "")
    empty = tree.context[1] if isinstance(tree.context[0], list) else []
    if kind is None:
        return lambda children: dict(zip(names, children, strict=True))
    rest = dict.fromkeys(empty)
    words = [str(name) for name in names]
    return lambda children: kind(**dict(zip(words, children, strict=True)), **rest)


def _import(name: str) -> Any | None:
    """A class by its full name, or None where it cannot be imported."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError):
        return None


# nested → flat


class StructureError(Exception):
    """The value is not nested as it was when the model was compiled; the message says where."""


def flatten(tree: Tree, value: Any, place: str) -> Iterator[Any]:
    """The leaves of a value in the order of the specification.

    The order of a dictionary's keys does not matter. Raises `StructureError`.
    """
    if tree.type is None:
        yield value
        return
    parts = _parts(tree, value, place)
    for child, (name, part) in zip(tree.children, parts, strict=True):
        yield from flatten(child, part, f"{place}[{name!r}]")


def _parts(tree: Tree, value: Any, place: str) -> Sequence[tuple[str | int, Any]]:
    """The children of a value with their names, as many as the specification has."""
    if tree.type in ("builtins.tuple", "builtins.list"):
        expected: Any = _PLAIN[tree.type]
        if not isinstance(value, expected):
            raise StructureError(
                f"{place}: expected a {expected.__name__}, got {type(value).__name__}"
            )
        if len(value) != len(tree.children):
            items = plural(len(tree.children), "item")
            raise StructureError(f"{place}: expected {items}, got {len(value)}")
        return list(enumerate(value))
    if tree.type == "builtins.dict" or (tree.keys is not None and isinstance(value, Mapping)):
        return _items(tree, value, place)
    return _registered_parts(tree, value, place)


def _items(tree: Tree, value: Any, place: str) -> Sequence[tuple[str | int, Any]]:
    names = tree.keys or ()
    if not isinstance(value, Mapping):
        raise StructureError(f"{place}: expected a dict, got {type(value).__name__}")
    missing = [name for name in names if name not in value]
    extra = [name for name in value if name not in names]
    if missing or extra:
        words = [f"{name!r} is missing" for name in missing]
        words += [f"{name!r} is unexpected" for name in extra]
        raise StructureError(f"{place}: {', '.join(words)}")
    return [(name, value[name]) for name in names]


def _registered_parts(tree: Tree, value: Any, place: str) -> Sequence[tuple[str | int, Any]]:
    names = tree.keys
    kind = tp.TREE_TYPES.get().get(tree.type)
    if tree.type == _NAMED_TUPLE:
        fields = getattr(value, "_fields", ())
        if isinstance(value, tuple) and len(fields) == len(tree.children):
            return list(zip(fields, value, strict=True))
    elif kind is not None and type(value) is kind:
        flat, context = tp.TREE_NODES.get()[kind].flatten_fn(value)
        children = list(flat)
        context_names = names if _names(_plain(context)) is None else _names(_plain(context))
        if len(children) == len(tree.children) and context_names == names:
            return list(zip(names or range(len(children)), children, strict=True))
    elif names and type(value).__name__ == (tree.type or "").rpartition(".")[2]:
        return [(name, getattr(value, str(name))) for name in names]
    kind_name = (tree.type or "").rpartition(".")[2]
    raise StructureError(f"{place}: expected a {kind_name} as compiled, got {type(value).__name__}")


def _plain(context: Any) -> Any:
    """Tuples as the lists that JSON makes of them."""
    return [_plain(c) for c in context] if isinstance(context, list | tuple) else context


# parameters → leaves, outputs → result

_NUMBERS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool}
_KINDS = {int(kind): kind for kind in inspect._ParameterKind}


class _NotGiven:
    """Stands for a default that a file cannot hold."""

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = _NotGiven()


@dataclass(frozen=True)
class CallSignature:
    """The parameters, the specification of the inputs, and what was left at its default.

    `signature` is None for a package of torch, which does not hold the names: a call is then
    written as in the example.
    """

    model: str
    inputs: Tree
    signature: inspect.Signature | None

    @classmethod
    def of(cls, model: PackagedModel) -> CallSignature:
        """Read those of a manifest; raises `ArtifactError` when they are damaged."""
        tree = read_tree(model.in_spec)
        shape = [child.type for child in tree.children]
        if tree.type != "builtins.tuple" or shape != ["builtins.tuple", "builtins.dict"]:
            raise ArtifactError(
                f"The description of the inputs of {model.name} cannot be read. Rebuild the "
                "package with this torch release."
            )
        return cls(model.name, tree, _signature(model))

    @property
    def positional(self) -> tuple[Tree, ...]:
        """What the example gave by position."""
        return self.inputs.children[0].children

    @property
    def named(self) -> Mapping[str, Tree]:
        """What the example gave by name."""
        group = self.inputs.children[1]
        return {str(k): child for k, child in zip(group.keys or (), group.children, strict=True)}

    def given(self) -> list[str]:
        """The parameters that the example gave, in the order of the leaves."""
        if self.signature is None:
            return []
        rows = list(self.signature.parameters)
        return [*rows[: len(self.positional)], *self.named]

    @property
    def text(self) -> str:
        """The call as people write it."""
        return f"{self.model}{self.signature or '(…)'}"

    @property
    def is_plain(self) -> bool:
        """Whether every leaf is a parameter of its own, so that nothing has to be taken apart."""
        if self.signature is None:
            return False
        kinds = {p.kind for p in self.signature.parameters.values()}
        stars = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        trees = (*self.positional, *self.named.values())
        is_named = set(self.given()) <= set(self.signature.parameters)
        return is_named and not kinds & stars and all(tree.type is None for tree in trees)

    def leaves(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The leaves of a call; raises `ContractError` when it is written in another way."""
        if self.signature is not None:
            args, kwargs = self._as_compiled(self.signature, args, kwargs)
        try:
            return [
                *self._flat(self.positional, dict(enumerate(args)), self._place),
                *self._flat(self.named, kwargs, str),
            ]
        except StructureError as error:
            raise ContractError(
                f"{self.model} was called with inputs that are nested differently than when "
                f"compiled:\n  - {error}"
            ) from None

    def _place(self, index: Any) -> str:
        names = list(self.signature.parameters) if self.signature is not None else []
        return names[index] if index < len(names) else f"argument {index}"

    def _flat(
        self, trees: Sequence[Tree] | Mapping[str, Tree], values: Any, place: Callable[[Any], str]
    ) -> list[Any]:
        by_key = trees if isinstance(trees, Mapping) else dict(enumerate(trees))
        for key in by_key.keys() ^ values.keys():
            what = "is missing" if key in by_key else "is unexpected"
            raise StructureError(f"{place(key)} {what}")
        return [
            leaf for key, tree in by_key.items() for leaf in flatten(tree, values[key], place(key))
        ]

    def _as_compiled(
        self, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position and by name, as the example gave them."""
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ContractError(f"{self.model}() {error}. The signature is {self.text}.") from None
        bound.apply_defaults()
        plain: list[Any] = []
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                named.update(value)
            elif name in self.named:
                named[name] = value
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                plain.extend(value)
            elif len(plain) < len(self.positional):
                plain.append(value)
            else:
                self.check_default(name, value)
        return tuple(plain), named

    def check_default(self, name: str, value: Any) -> None:
        """Raise `ContractError` unless a parameter that the example left out has its default."""
        assert self.signature is not None
        default = self.signature.parameters[name].default
        same = value is default or (type(value) is type(default) and value == default)
        if not same:
            raise ContractError(
                f"{self.model} was compiled for {name}={default!r}, so it cannot be "
                f"{value!r:.200}. Recompile with that value."
            )


def _signature(model: PackagedModel) -> inspect.Signature | None:
    if not model.parameters:
        return None
    rows = []
    for name, kind, default in model.parameters:
        value = inspect.Parameter.empty if default is None else _default(default)
        rows.append(inspect.Parameter(name, _KINDS[kind], default=value))
    try:
        return inspect.Signature(_filled(rows, model))
    except ValueError as error:
        raise ArtifactError(f"The parameters of {model.name} are damaged ({error}).") from error


def _filled(rows: list[inspect.Parameter], model: PackagedModel) -> list[inspect.Parameter]:
    """Parameters whose default a file cannot hold can be left out too, if the example did so."""
    tree = read_tree(model.in_spec)
    count, named = len(tree.children[0].children), tree.children[1].keys or ()
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters: list[inspect.Parameter] = []
    optional = False
    for index, row in enumerate(rows):
        left_out = index >= count and row.name not in named and row.kind not in stars
        empty = row.default is inspect.Parameter.empty
        follows = optional and row.kind is not inspect.Parameter.KEYWORD_ONLY
        if empty and row.kind not in stars and (left_out or follows):
            row = row.replace(default=NOT_GIVEN)
        by_place = row.kind is not inspect.Parameter.KEYWORD_ONLY and row.kind not in stars
        optional = optional or (by_place and row.default is not inspect.Parameter.empty)
        parameters.append(row)
    return parameters


def _default(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return NOT_GIVEN


def build_outputs(model: PackagedModel) -> Callable[[list[Any]], Any]:
    """What makes the result of a call from the outputs of the library: nested, numbers as such."""
    build = nested(read_tree(model.out_spec))
    numbers = [
        (index, _NUMBERS[output.type])
        for index, output in enumerate(model.outputs)
        if output.type in _NUMBERS
    ]
    if not numbers:
        return build

    def built(outputs: list[Any]) -> Any:
        for index, number in numbers:
            outputs[index] = number(outputs[index].item())
        return build(outputs)

    return built
