"""Data classes among the outputs of a model: captured as dicts, given back as what they are."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

_Keyed = Callable[[Any], tuple[Any, Any]]
_Place = tuple[int, ...]  # which child of which child


@dataclass
class DataClasses:
    """The data classes of the last call, by their place in the nested output."""

    found: dict[_Place, type] = field(default_factory=dict)

    @contextmanager
    def as_dicts(self, module: torch.nn.Module) -> Iterator[None]:
        """The module returns dicts in place of data classes that torch does not know."""

        def convert(_module: Any, _args: Any, output: Any) -> Any:
            self.found.clear()
            return self._plain(output, ())

        handle = module.register_forward_hook(convert)
        try:
            yield
        finally:
            handle.remove()

    def _plain(self, value: Any, place: _Place) -> Any:
        kind = type(value)
        if kind in (tuple, list):
            return kind(self._plain(part, (*place, i)) for i, part in enumerate(value))
        if kind is dict:
            parts = enumerate(value.items())
            return {name: self._plain(part, (*place, i)) for i, (name, part) in parts}
        if not _is_unknown(value):
            return value
        self.found[place] = kind
        names = [one.name for one in dataclasses.fields(value)]
        parts_ = enumerate(names)
        return {name: self._plain(getattr(value, name), (*place, i)) for i, name in parts_}

    def specification(self, text: str) -> str:
        """What torch wrote of the nested outputs, with the data classes in their places."""
        if not self.found:
            return text
        protocol, root = json.loads(text)
        for place, kind in self.found.items():
            node = root
            for index in place:
                node = node["children_spec"][index]
            names = json.loads(node["context"])
            node |= {"type": _name(kind), "context": json.dumps([names, []])}
        return json.dumps([protocol, root])

    def notes(self) -> Iterator[str]:
        """A sentence for each class that no other process can find."""
        for kind in dict.fromkeys(self.found.values()):
            if "." in kind.__qualname__:
                yield (
                    f"the output {kind.__qualname__} comes back as a dict: its class is not in a "
                    "module that a package could import"
                )


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_unknown(value: Any) -> bool:
    """Whether a value is a data class that torch does not know and that its fields make again."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return False
    is_registered = type(value) in tp.TREE_NODES.get()
    return not is_registered and all(one.init for one in dataclasses.fields(value))


@contextmanager
def register_node_keys() -> Iterator[None]:
    """Classes that were registered without `flatten_with_keys_fn` have one inside of the `with`.

    torch asks for the place of every leaf while it exports, and raises where a class has none, as
    those of diffusers do.
    """
    nodes = tp.TREE_NODES.get()
    lacking = {kind: node for kind, node in nodes.items() if node.flatten_with_keys_fn is None}
    ours = {
        kind: node._replace(flatten_with_keys_fn=_keyed(node.flatten_fn))
        for kind, node in lacking.items()
    }
    nodes.update(ours)
    try:
        yield
    finally:
        nodes.update({kind: lacking[kind] for kind in ours if nodes.get(kind) is ours[kind]})


def _keyed(flatten: Callable[[Any], tuple[Any, Any]]) -> _Keyed:
    def flatten_with_keys(value: Any) -> tuple[Any, Any]:
        children, context = flatten(value)
        children, nodes = list(children), tp.TREE_NODES.get()
        names = list(context) if isinstance(context, list | tuple) else []
        is_named = all(isinstance(name, str) for name in names)
        if is_named and len({*names}) == len(names) == len(children):
            named = dict(zip(names, children, strict=True))
            return nodes[dict].flatten_with_keys_fn(named)[0], context
        return nodes[list].flatten_with_keys_fn(children)[0], context

    return flatten_with_keys
