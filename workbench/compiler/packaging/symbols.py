"""torch's symbols for sizes under names that people know: those of their Dims."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.packaging.declared import Declared
from workbench.compiler.packaging.inputs import CallInputs


@dataclass(frozen=True)
class Names:
    """The name of each symbol: that of its Dim, or else of its first place."""

    by_symbol: Mapping[Any, str]

    @classmethod
    def of(cls, inputs: CallInputs, values: Sequence[Any], declared: Declared) -> Names:
        """Names for the symbols in the sizes of exported inputs."""
        found: dict[Any, str] = {}
        places = [
            (path, index, expression)
            for (path, _), value in zip(inputs.leaves, values, strict=True)
            for index, expression in symbolic_sizes(value)
        ]
        for path, index, expression in places:
            dim = declared.get((path, index))
            symbol = only_symbol(expression)
            if dim is None or dim.name is None or symbol is None:
                continue
            if affine(expression, symbol) == (dim.scale, dim.offset):
                found.setdefault(symbol, dim.name)
        for path, index, expression in places:
            for symbol in sorted(expression.free_symbols, key=str):
                if symbol not in found:
                    found[symbol] = _unused(f"{path}_{index}", {*found.values()})
        return cls(found)

    def shown(self, text: str) -> str:
        """A text with symbols under their names."""
        names = {str(symbol): name for symbol, name in self.by_symbol.items()}
        return re.sub(r"\b[su]\d+\b", lambda match: names.get(match[0], match[0]), text)


def _unused(wish: str, taken: set[str]) -> str:
    name = re.sub(r"\W+", "_", wish).strip("_")
    name = name if name.isidentifier() else f"dim_{name}"
    while name in taken:
        name += "_"
    return name


def symbolic_sizes(value: Any) -> Iterator[tuple[int, Any]]:
    """The dimensions of an exported input whose size is an expression of symbols."""
    if isinstance(value, torch.Tensor):
        for index, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt) and size.node.expr.free_symbols:
                yield index, size.node.expr


def only_symbol(expression: Any) -> Any | None:
    """The symbol of an expression that has one, or None."""
    symbols = expression.free_symbols
    return next(iter(symbols)) if len(symbols) == 1 else None


def affine(expression: Any, symbol: Any) -> tuple[int, int] | None:
    """(scale, offset) of an expression `scale * symbol + offset` in whole numbers, or None."""
    try:
        scale, offset = expression.coeff(symbol, 1), expression.subs(symbol, 0)
        if (scale * symbol + offset - expression).expand() != 0:
            return None
        return int(scale), int(offset)
    except (TypeError, ValueError, AttributeError):
        return None
