"""The input contract of an exported program: declared dimensions, and what torch.export added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler import torch_private as tp
from workbench.compiler.contract import Contract, Leaf, describe
from workbench.compiler.dims import Dynamic, Size
from workbench.compiler.packaging.inputs import CallInputs
from workbench.compiler.paths import Path

Declared = Mapping[tuple[Path, int], Dynamic]


@dataclass(frozen=True)
class ExportedContract:
    """What every input has to be; `guards` are relations between named dimensions, as text.

    `ranges` are (name, minimum, maximum) of each named dimension; None is no maximum.
    """

    contract: Contract
    guards: tuple[str, ...] = ()
    ranges: tuple[tuple[str, int, int | None], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data for the manifest: that of a contract, and the guards."""
        return {**self.contract.to_json(), "guards": list(self.guards)}


def contract_of(program: Any, inputs: CallInputs, declared: Declared) -> ExportedContract:
    """The contract of an exported program for calls like the example."""
    values = _placeholders(program)
    symbols = dict(_named_symbols(values, inputs, declared))
    ranges = {name: _range(program, symbol) for symbol, name in symbols.items()}
    leaves = []
    for (path, example), value in zip(inputs.leaves, values, strict=True):
        leaf = replace(describe(path, example), requires_grad=False, inference=False)
        if isinstance(value, torch.Tensor):
            shape = tuple(_size(size, symbols, ranges) for size in value.shape)
            leaf = replace(leaf, shape=shape)
        leaves.append(leaf)
    guards = tuple(_guards(program, leaves))
    rows = tuple((name, low, high) for name, (low, high) in ranges.items())
    return ExportedContract(Contract(tuple(leaves)), guards, rows)


def _placeholders(program: Any) -> list[Any]:
    """What torch.export made of each leaf of the inputs, in their order."""
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    kind = tp.INPUT_KIND.get().USER_INPUT
    return [
        node.meta.get("val") for node, spec in zip(nodes, specs, strict=True) if spec.kind == kind
    ]


def _named_symbols(
    values: Sequence[Any], inputs: CallInputs, declared: Declared
) -> Iterator[tuple[Any, str]]:
    """A readable name for each symbol: that of its Dim, or its first place."""
    found: dict[Any, str] = {}
    for (path, _), value in zip(inputs.leaves, values, strict=True):
        for index, expression in _symbolic(value):
            dim = declared.get((path, index))
            symbol = _only(expression)
            if dim is None or dim.name is None or symbol is None or symbol in found:
                continue
            if _affine(expression, symbol) == (dim.scale, dim.offset):
                found[symbol] = dim.name
    for (path, _), value in zip(inputs.leaves, values, strict=True):
        for index, expression in _symbolic(value):
            for symbol in sorted(expression.free_symbols, key=str):
                if symbol not in found:
                    name = re.sub(r"\W+", "_", f"{path}").strip("_") + f"_{index}"
                    taken = {*found.values()}
                    found[symbol] = name if name not in taken else str(symbol)
    yield from found.items()


def _symbolic(value: Any) -> Iterator[tuple[int, Any]]:
    if isinstance(value, torch.Tensor):
        for index, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt) and size.node.expr.free_symbols:
                yield index, size.node.expr


def _only(expression: Any) -> Any | None:
    symbols = expression.free_symbols
    return next(iter(symbols)) if len(symbols) == 1 else None


def _affine(expression: Any, symbol: Any) -> tuple[int, int] | None:
    """(scale, offset) when the expression is `scale * symbol + offset` in whole numbers."""
    try:
        scale, offset = expression.coeff(symbol, 1), expression.subs(symbol, 0)
        if (scale * symbol + offset - expression).expand() != 0:
            return None
        return int(scale), int(offset)
    except (TypeError, ValueError, AttributeError):
        return None


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


def _size(
    size: Any, symbols: Mapping[Any, str], ranges: Mapping[str, tuple[int, int | None]]
) -> Size:
    if not isinstance(size, torch.SymInt):
        return int(size)
    expression = size.node.expr
    if not expression.free_symbols:
        return int(expression)
    symbol = _only(expression)
    terms = None if symbol is None else _affine(expression, symbol)
    if symbol is None or terms is None:
        return Dynamic(None)
    name = symbols[symbol]
    low, high = ranges[name]
    return Dynamic(name, low, high, *terms)


def _guards(program: Any, leaves: Sequence[Leaf]) -> Iterator[str]:
    """What torch.export assumes beyond ranges and equal dimensions, in the dimensions' names."""
    places = {
        f"L[{leaf.path.root!r}]{leaf.path.tail}.size()[{index}]": size
        for leaf in leaves
        for index, size in enumerate(leaf.shape)
        if isinstance(size, Dynamic) and size.name is not None
    }
    seen: dict[str, None] = {}
    for text in program._guards_code or ():
        for place in sorted(places, key=len, reverse=True):
            text = text.replace(place, _term(places[place]))
        if "L[" not in text:
            seen[text] = None
    yield from seen


def _term(dim: Dynamic) -> str:
    assert dim.name is not None
    scaled = dim.name if dim.scale == 1 else f"{dim.scale}*{dim.name}"
    return scaled if dim.scale == 1 and not dim.offset else f"({scaled}{dim.offset:+d})"
