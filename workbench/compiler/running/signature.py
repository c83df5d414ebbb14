"""How a call is written: the parameters of what was compiled, and the leaves in its arguments."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.artifacts.manifest.package_manifest import PackagedModel
from workbench.compiler.running.trees import StructureError, Tree, flatten, read_tree
from workbench.errors import ArtifactError, ContractError

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
                f"The inputs of {model.name} are described in a way that cannot be read. Make the "
                "package again with this release of torch."
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
        known = set(self.given()) <= set(self.signature.parameters)
        return known and not kinds & stars and all(tree.type is None for tree in trees)

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
                f"{self.model} was called with inputs that are nested in another way than those "
                f"that were compiled:\n  - {error}"
            ) from None

    def _place(self, index: Any) -> str:
        names = list(self.signature.parameters) if self.signature is not None else []
        return names[index] if index < len(names) else f"argument {index}"

    def _flat(
        self, trees: Sequence[Tree] | Mapping[str, Tree], values: Any, place: Callable[[Any], str]
    ) -> list[Any]:
        wanted = trees if isinstance(trees, Mapping) else dict(enumerate(trees))
        for key in wanted.keys() ^ values.keys():
            what = "is missing" if key in wanted else "is unexpected"
            raise StructureError(f"{place(key)} {what}")
        return [
            leaf for key, tree in wanted.items() for leaf in flatten(tree, values[key], place(key))
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
                f"{self.model} was compiled with {name}={default!r}, which is part of the code: it "
                f"cannot be {value!r:.200}. Compile again with that value."
            )


def _signature(model: PackagedModel) -> inspect.Signature | None:
    if not model.parameters:
        return None
    rows = []
    for name, kind, default in model.parameters:
        given = inspect.Parameter.empty if default is None else _default(default)
        rows.append(inspect.Parameter(name, _KINDS[kind], default=given))
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
