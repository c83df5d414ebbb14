"""The input contract of an exported program: declared dimensions, and what torch.export added."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

import torch

from workbench.compiler.contract.contract import Contract, Leaf, describe
from workbench.compiler.contract.dims import Dynamic, Size
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.packaging.declared import Declared
from workbench.compiler.packaging.inputs import CallInputs
from workbench.compiler.packaging.symbols import Names, affine, only_symbol
from workbench.compiler.running.relations import Relation, read_relations
from workbench.errors import ArtifactError

Ranges = Mapping[str, tuple[int, int | None]]


@dataclass(frozen=True)
class ExportedContract:
    """What every input has to be; `guards` are relations between named dimensions, as text.

    `ranges` are the least and greatest value of each named dimension, None where there is no
    greatest. `unsaid` are guards of torch that could not be put in terms of the dimensions, `names`
    those of torch's symbols.
    """

    contract: Contract
    guards: tuple[str, ...] = ()
    ranges: Ranges = dataclass_field(default_factory=dict)
    unsaid: tuple[str, ...] = ()
    names: Names = dataclass_field(default_factory=lambda: Names({}))

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data for the manifest: that of a contract, with the guards."""
        return {**self.contract.to_json(), "guards": list(self.guards)}

    def starting_at(self, lows: Mapping[str, int]) -> ExportedContract:
        """The same contract with other least values of the named dimensions."""
        leaves = [
            replace(leaf, shape=tuple(_raised(size, lows) for size in leaf.shape))
            for leaf in self.contract.leaves or ()
        ]
        ranges = {name: (lows.get(name, low), high) for name, (low, high) in self.ranges.items()}
        return replace(self, contract=replace(self.contract, leaves=tuple(leaves)), ranges=ranges)


def _raised(size: Size, lows: Mapping[str, int]) -> Size:
    low = None if isinstance(size, int) else lows.get(size.name or "")
    return size if isinstance(size, int) or low is None else replace(size, min=low)


def contract_of(program: Any, inputs: CallInputs, declared: Declared) -> ExportedContract:
    """The contract of an exported program for calls like the example."""
    values = input_values(program)
    names = Names.of(inputs, values, declared)
    ranges = {name: _range(program, symbol) for symbol, name in names.by_symbol.items()}
    leaves = []
    for (path, example), value in zip(inputs.leaves, values, strict=True):
        leaf = replace(describe(path, example), requires_grad=False, inference=False)
        if isinstance(value, torch.Tensor):
            leaf = replace(leaf, shape=tuple(_size(n, names, ranges) for n in value.shape))
        leaves.append(leaf)
    guards, unsaid = _guards(program, leaves, inputs.rest)
    return ExportedContract(Contract(tuple(leaves)), guards, ranges, unsaid, names)


def input_values(program: Any) -> list[Any]:
    """What torch.export made of each leaf of the inputs, in their order."""
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    kind = tp.INPUT_KIND.get().USER_INPUT
    pairs = zip(nodes, specs, strict=True)
    return [node.meta.get("val") for node, spec in pairs if spec.kind == kind]


def _range(program: Any, symbol: Any) -> tuple[int, int | None]:
    found = program.range_constraints.get(symbol)
    if found is None:
        return 0, None
    return _bound(found.lower) or 0, _bound(found.upper)


def _bound(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return number if number < 2**31 else None


def _size(size: Any, names: Names, ranges: Ranges) -> Size:
    if not isinstance(size, torch.SymInt):
        return int(size)
    expression = size.node.expr
    if not expression.free_symbols:
        return int(expression)
    symbol = only_symbol(expression)
    terms = None if symbol is None else affine(expression, symbol)
    if symbol is None or terms is None:
        return Dynamic(None)
    name = names.by_symbol[symbol]
    low, high = ranges[name]
    return Dynamic(name, low, high, *terms)


def _guards(
    program: Any, leaves: Sequence[Leaf], rest: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What torch.export assumes beyond ranges, in the dimensions' names; then what has no words."""
    places = {
        f"L{prefix}[{leaf.path.root!r}]{leaf.path.tail}.size()[{index}]": size
        for leaf in leaves
        for index, size in enumerate(leaf.shape)
        for prefix in ("", f"[{rest!r}]")
        if isinstance(size, Dynamic) and size.name is not None
    }
    names = [size.name for size in places.values() if size.name is not None]
    said: dict[str, None] = {}
    unsaid: dict[str, None] = {}
    for text in program._guards_code or ():
        words = text
        for place in sorted(places, key=len, reverse=True):
            words = words.replace(place, _term(places[place]))
        try:
            (guard,) = read_relations((words,), names)
        except ArtifactError:
            unsaid[text] = None
            continue
        if not _is_same(guard, names):
            said[guard.source] = None
    return tuple(said), tuple(unsaid)


def _is_same(guard: Relation, names: Sequence[str]) -> bool:
    """Whether both sides of an equation are one polynomial: shared names say so already."""
    is_plain = re.search(r"//|%|max|min|<|>|!| and | or ", guard.source) is None
    if not is_plain or "==" not in guard.source:
        return False
    return all(guard.holds(dict.fromkeys(names, value)) for value in range(2, 12))


def _term(dim: Dynamic) -> str:
    assert dim.name is not None
    scaled = dim.name if dim.scale == 1 else f"{dim.scale}*{dim.name}"
    return scaled if dim.scale == 1 and not dim.offset else f"({scaled}{dim.offset:+d})"
