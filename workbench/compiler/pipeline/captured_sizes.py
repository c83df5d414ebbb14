"""Which sizes compiled code takes: those that the program fixed, and what only sizes together meet.

What is declared says less: torch fixes sizes that the code compares, and puts others in relation.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.compiler.contract.contract import Contract, Leaf
from workbench.compiler.sizes.dims import Dynamic, Size, read_relations
from workbench.compiler.sources.size_symbols import FixedSize, in_words
from workbench.errors import ArtifactError

_LAYOUT = re.compile(r"\.(?:stride|storage_offset)\(")
_LEAST = re.compile(r"(\d+) <= ([^<>=]+?)(?: (?:<=|and \2 <=) (\d+))?")
_MOST = re.compile(r"([^<>=]+?) <= (\d+)")
_TRIED = 24  # values of each size, from the least
_LARGEST = 2**31  # about what memory can hold along a dimension
_MOST_NAMES = 3  # of sizes in a condition that is tried


def captured(
    contract: Contract, fixed: Iterable[FixedSize], guards: Iterable[str]
) -> tuple[Contract, tuple[str, ...]]:
    """The contract with the sizes that the code fixed, and the conditions between the others.

    `guards` are torch's on sizes, as Python in `L`. A condition that follows from what is declared
    is left out, and so are those on strides.
    """
    fixed_values = {size.place: size.value for size in fixed}
    leaves = [_with_fixed(leaf, fixed_values) for leaf in contract.leaves or ()]
    texts = list(dict.fromkeys(in_words(text) for text in guards if not _LAYOUT.search(text)))
    bounds = {place: bound for text in texts for place, bound in _bounds(text)}
    leaves = [replace(leaf, shape=_bounded(leaf, bounds)) for leaf in leaves]
    sizes = dict(_places(leaves))
    hints = {place for place, size in sizes.items() if size.name is None}
    between = [text for text in texts if not any(p in hints for p, _ in _bounds(text))]
    return replace(contract, leaves=tuple(leaves)), tuple(_told(between, sizes))


def _with_fixed(leaf: Leaf, fixed_values: dict[str, str]) -> Leaf:
    if leaf.kind != "tensor":
        value = fixed_values.get(str(leaf.path)) if leaf.shape else None
        return leaf if value is None else replace(leaf, shape=(), sizes=(), value=value)
    shape: list[Size] = []
    for index, size in enumerate(leaf.shape):
        value = fixed_values.get(f"{leaf.path}.shape[{index}]")
        is_fixed = isinstance(size, Dynamic) and size.name is None and value is not None
        shape.append(leaf.sizes[index] if is_fixed else size)
    return replace(leaf, shape=tuple(shape))


def _bounds(text: str) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    """The place and the range that a condition gives it, where it is one of a single size."""
    if match := _LEAST.fullmatch(text):
        yield match[2], (int(match[1]), None if match[3] is None else int(match[3]))
    elif match := _MOST.fullmatch(text):
        yield match[1], (None, int(match[2]))


def _bounded(leaf: Leaf, bounds: dict[str, tuple[int | None, int | None]]) -> tuple[Size, ...]:
    """The sizes, of which those that torch decides about have the range of its guards."""
    sizes: list[Size] = []
    for place, size in _dims(leaf):
        if isinstance(size, Dynamic) and size.name is None and place in bounds:
            low, high = bounds[place]
            size = replace(size, min=low, max=high)
        sizes.append(size)
    return tuple(sizes)


def _dims(leaf: Leaf) -> Iterator[tuple[str, Size]]:
    for index, size in enumerate(leaf.shape):
        yield f"{leaf.path}.shape[{index}]" if leaf.kind == "tensor" else str(leaf.path), size


def _places(leaves: Sequence[Leaf]) -> Iterator[tuple[str, Dynamic]]:
    for leaf in leaves:
        yield from ((p, size) for p, size in _dims(leaf) if isinstance(size, Dynamic))


@dataclass(frozen=True)
class _Condition:
    """A condition in the declared names, and as a function of the values of its sizes.

    `holds` is None for one that is more than arithmetic.
    """

    text: str
    names: frozenset[str]
    holds: Callable[[Mapping[str, int]], bool] | None


def _told(texts: Iterable[str], sizes: Mapping[str, Dynamic]) -> Iterator[str]:
    """The conditions that do not follow from the ranges and from simpler ones, in torch's order."""
    conditions = [_read(text, sizes) for text in texts]
    ranges = {_name(place, size): _values(size) for place, size in sizes.items()}
    essential: list[_Condition] = []
    for condition in sorted(conditions, key=lambda one: len(one.text)):
        if condition.holds is None or not _follows(condition, essential, ranges):
            essential.append(condition)
    yield from (condition.text for condition in conditions if condition in essential)


def _read(text: str, sizes: Mapping[str, Dynamic]) -> _Condition:
    used = sorted((place for place in sizes if place in text), key=len, reverse=True)
    plain, words, names = text, text, set[str]()
    for place in used:
        size = sizes[place]
        name = _name(place, size)
        names.add(name)
        plain = plain.replace(place, f"({size.scale}*{name}+{size.offset})")
        words = words.replace(place, place if size.name is None else size.term)
    try:
        (relation,) = read_relations((plain,), list(names))
    except ArtifactError:
        return _Condition(words, frozenset(names), None)
    code = compile(relation.source, "<condition>", "eval")
    scope = {"__builtins__": {}, "max": max, "min": min}
    return _Condition(words, frozenset(names), lambda values: bool(eval(code, scope, dict(values))))


def _name(place: str, size: Dynamic) -> str:
    return re.sub(r"\W", "_", place) if size.name is None else f"d_{size.name}"


def _follows(
    one: _Condition, others: Sequence[_Condition], ranges: Mapping[str, Sequence[int]]
) -> bool:
    """Whether it holds for all small values for which the others hold that speak of its sizes."""
    names = sorted(one.names)
    if len(names) > _MOST_NAMES or one.holds is None:
        return False
    tests = [other.holds for other in others if other.holds and other.names <= one.names]
    for numbers in itertools.product(*(ranges[name] for name in names)):
        values = dict(zip(names, numbers, strict=True))
        if all(holds(values) for holds in tests) and not one.holds(values):
            return False
    return True


def _values(size: Dynamic) -> Sequence[int]:
    """The least of its values and the greatest, which alone breaks some conditions."""
    low = size.min or 0
    high = _LARGEST if size.max is None else size.max
    return [*range(low, min(high, low + _TRIED) + 1), *([high] if high > low + _TRIED else [])]
