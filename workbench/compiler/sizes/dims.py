"""Declared dimensions of an input: fixed sizes, named ranges, relations between them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.compiler.sources.size_symbols import in_words
from workbench.errors import ArtifactError

_LARGEST = 2**31  # torch writes "no maximum" as a number beyond


@dataclass(frozen=True)
class Dynamic:
    """A dimension of size `scale * name + offset`, where `name` lies in [min, max].

    A `name` of None is `Dim.AUTO` or `Dim.DYNAMIC`: torch's own guards decide, and the range is
    what they say. `is_raised` says
    that less was declared, and that torch compiled no code for the sizes 0 and 1.
    """

    name: str | None
    min: int | None = None
    max: int | None = None
    scale: int = 1
    offset: int = 0
    is_raised: bool = False

    @classmethod
    def of(cls, dim: Any) -> Dynamic | None:
        """What a Dim of torch.export, or an expression of one, declares; None for anything else."""
        root = getattr(dim, "root", dim)
        if not isinstance(getattr(root, "min", None), int) or not hasattr(root, "__name__"):
            return None
        function = getattr(dim, "fn", None)
        offset = function(0) if function else 0
        scale = function(1) - offset if function else 1
        high = root.max if isinstance(root.max, int) and root.max < _LARGEST else None
        return cls(root.__name__, root.min, high, scale, offset)

    @property
    def text(self) -> str:
        """The dimension as people write it, such as `2*batch in 4..64`."""
        if self.name is None:
            bounds = (
                f"{'' if self.min is None else self.min}..{'' if self.max is None else self.max}"
            )
            return "any" if bounds == ".." else bounds
        term = self.term
        low = "" if self.min is None else str(self.size(self.min))
        high = "" if self.max is None else str(self.size(self.max))
        return f"{term} in {low}..{high}" if low or high else term

    @property
    def term(self) -> str:
        """A named dimension without its range, such as `2*batch`."""
        scaled = str(self.name) if self.scale == 1 else f"{self.scale}*{self.name}"
        return f"{scaled}{self.offset:+d}" if self.offset else scaled

    @property
    def starts_at_two(self) -> str:
        """Why a dimension starts above the least size that was declared."""
        return (
            f"{self.name} starts at {self.min}, higher than declared: torch specializes sizes 0 "
            f"and 1, and its code is wrong below {self.min}. Compile smaller sizes separately"
        )

    def raised(self, low: int) -> Dynamic:
        """The same dimension from a greater minimum on."""
        return replace(self, min=low, is_raised=True)

    def size(self, value: int) -> int:
        """The size when the named dimension is `value`."""
        return self.scale * value + self.offset

    def value(self, size: int) -> int | None:
        """The named dimension behind a size, or None when no whole number gives it."""
        value, rest = divmod(size - self.offset, self.scale)
        return None if rest else value

    def allows(self, size: int) -> bool:
        """Whether the declared range holds a size."""
        value = self.value(size)
        if value is None:
            return False
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)


@dataclass(frozen=True)
class Hint:
    """`Dim.AUTO` or `Dim.DYNAMIC` of torch.export, perhaps with bounds; `kind` is its name."""

    kind: str
    min: int | None = None
    max: int | None = None

    @classmethod
    def of(cls, dim: Any) -> Hint | None:
        """What a hint declares; None for anything else."""
        kind = getattr(getattr(dim, "type", None), "name", None)
        return None if kind is None else cls(kind, dim.min, dim.max)

    def at(self, place: str) -> Dynamic:
        """The dimension or number that it declares, named by its place where it has bounds."""
        if self.min is None and self.max is None:
            return Dynamic(None)
        return Dynamic(re.sub(r"\W+", "_", place).strip("_"), self.min, self.max)


Size = int | Dynamic


def text(sizes: tuple[Size, ...]) -> str:
    """A shape as people write it, such as `[batch in 2..64, 512]`."""
    return "[" + ", ".join(str(s) if isinstance(s, int) else s.text for s in sizes) + "]"


NOT_SO = ", which is not so: "
"""Between a condition and the sizes that break it."""

_COPY = "pass .clone(memory_format=torch.contiguous_format)"
_SIZES = ("size", "stride", "storage_offset")
_ARITHMETIC = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.Call,
)
_CALLS: Mapping[str, str] = {
    "Eq": "({0} == {1})",
    "Ne": "({0} != {1})",
    "Mod": "({0} % {1})",
    "PythonMod": "({0} % {1})",
    "FloorDiv": "({0} // {1})",
    "Max": "max({0}, {1})",
    "Min": "min({0}, {1})",
    "max": "max({0}, {1})",
    "min": "min({0}, {1})",
}
_LONGEST = 2000


def broken(conditions: Sequence[str], bound: Mapping[str, Any]) -> list[str]:
    """The conditions that these arguments break, each with the sizes it speaks of.

    Torch gives all conditions of a call as one guard, and so names also those that hold. One that
    says more than arithmetic on sizes is kept; so are all when none is found to be broken.
    """
    lines = []
    for condition in conditions:
        tree = _arithmetic(condition)
        if tree is None:
            lines.append(condition)
        elif _holds(tree, bound) is False:
            values = [*_sizes(tree, bound)] or [*_numbers(tree, bound)]
            lines.append(f"{condition}{NOT_SO}{', '.join(values)}" if values else condition)
    return lines or list(conditions)


def _arithmetic(condition: str) -> ast.Expression | None:
    try:
        tree = ast.parse(condition, mode="eval")
    except SyntaxError:
        return None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return tree if all(_is_plain(node, called) for node in ast.walk(tree)) else None


def _is_plain(node: ast.AST, called: set[int]) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "L"
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and not node.args and not node.keywords
    if isinstance(node, ast.Attribute):  # any other one could run code of the user's
        return node.attr in _SIZES and id(node) in called
    return isinstance(node, (*_ARITHMETIC, ast.Subscript))


def _holds(tree: ast.Expression, bound: Mapping[str, Any]) -> bool | None:
    """Whether the condition is true; None where an argument has no such size."""
    try:
        return bool(_value(tree, bound))
    except (ArithmeticError, AttributeError, LookupError, TypeError):
        return None


def _sizes(tree: ast.Expression, bound: Mapping[str, Any]) -> Iterator[str]:
    tensors = {
        ast.unparse(node.value): node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    }
    layout = any(isinstance(n, ast.Attribute) and n.attr != "size" for n in ast.walk(tree))
    for text, node in tensors.items():
        tensor = _value(ast.Expression(node), bound)
        # .contiguous() is not enough: where a size is 1, torch takes any stride for contiguous
        how = f" with stride {list(tensor.stride())}: {_COPY}" if layout else ""
        yield f"{text} is {list(tensor.shape)}{how}"


def _numbers(tree: ast.Expression, bound: Mapping[str, Any]) -> Iterator[str]:
    """The values of a condition that speaks of no tensor."""
    subscripts = {ast.unparse(n): n for n in ast.walk(tree) if isinstance(n, ast.Subscript)}
    for text, node in subscripts.items():
        value = _value(ast.Expression(node), bound)
        if isinstance(value, bool | int | float | complex | str | bytes | None):
            yield f"{text} is {value!r}"


def _value(tree: ast.Expression, bound: Mapping[str, Any]) -> Any:
    return eval(compile(tree, "<guard>", "eval"), {"__builtins__": {}}, {"L": bound})


# relations between named dimensions, such as `Eq(Mod(s, 8), 0)`, read without running text


@dataclass(frozen=True)
class Relation:
    """A condition on named dimensions: the text for people, and Python source in their names."""

    text: str
    source: str

    def write_test(self, variables: Mapping[str, str]) -> str:
        """The condition as source, in the variables of its dimensions."""
        tree = ast.parse(self.source, mode="eval")
        return f"({ast.unparse(_Renamed(variables).visit(tree))})"

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the condition is true; a dimension without a value makes it so."""
        nodes = ast.walk(ast.parse(self.source, mode="eval"))
        names = {n.id for n in nodes if isinstance(n, ast.Name)} - {"max", "min"}
        if not names <= values.keys():
            return True
        scope: dict[str, Any] = {"__builtins__": {}, "max": max, "min": min}
        return bool(eval(self.source, scope, dict(values)))


def write_size_tests(places: Iterable[tuple[str, Dynamic]], names: dict[str, str]) -> Iterator[str]:
    """The tests of sizes as source, by the source of their places; `names` gets their variables."""
    ranges: dict[str, tuple[int | None, int | None]] = {}
    for place, dim in places:
        if dim.name is None:
            yield from _write_range(place, dim.min or None, dim.max)
        elif dim.name in names:
            variable = names[dim.name]
            scaled = variable if dim.scale == 1 else f"{dim.scale} * {variable}"
            yield f"{place} == {scaled}" + (f" + {dim.offset}" if dim.offset else "")
            if ranges[dim.name] != (dim.min, dim.max):
                yield from _write_range(variable, dim.min, dim.max)
        else:
            name = names[dim.name] = f"_wb_d{len(names)}"
            ranges[dim.name] = dim.min, dim.max
            value = place
            if (dim.scale, dim.offset) != (1, 0):
                yield f"({place} - {dim.offset}) % {dim.scale} == 0"
                value = f"({place} - {dim.offset}) // {dim.scale}"
            bounded = [*_write_range(f"({name} := {value})", dim.min, dim.max)]
            yield from bounded or [f"({name} := {value}) is not None"]


def _write_range(term: str, low: int | None, high: int | None) -> Iterator[str]:
    below = "" if low is None else f"{low} <= "
    above = "" if high is None else f" <= {high}"
    if below or above:
        yield f"{below}{term}{above}"


def read_relations(texts: Sequence[str], names: Sequence[str]) -> tuple[Relation, ...]:
    """The relations of a package; raises `ArtifactError` for text that is more than arithmetic."""
    return tuple(Relation(text, _source(text, frozenset(names))) for text in texts)


def _source(text: str, names: frozenset[str]) -> str:
    try:
        if len(text) > _LONGEST:
            raise ValueError("it is too long")
        tree = ast.parse(text, mode="eval")
        for node in ast.walk(tree):
            _check(node, names)
        return ast.unparse(_Plain().visit(tree))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ArtifactError(
            f"The package contains the condition {text!r:.200}, which is not an arithmetic "
            f"expression of its dimensions ({error}). Do not use the file."
        ) from error


def _check(node: ast.AST, names: frozenset[str]) -> None:
    if not isinstance(node, _ARITHMETIC):
        raise ValueError(f"it uses {type(node).__name__}")
    if isinstance(node, ast.Name) and node.id not in names and node.id not in _CALLS:
        raise ValueError(f"it names {node.id}")
    if isinstance(node, ast.Constant) and not isinstance(node.value, int):
        raise ValueError("it contains a constant that is not a whole number")
    if isinstance(node, ast.Call):
        is_allowed = isinstance(node.func, ast.Name) and node.func.id in _CALLS
        if not is_allowed or len(node.args) != 2 or node.keywords:
            raise ValueError("it calls something")


class _Plain(ast.NodeTransformer):
    """Functions of sympy as operators of Python."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        parts = [ast.unparse(argument) for argument in node.args]
        return ast.parse(_CALLS[node.func.id].format(*parts), mode="eval").body


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)


HEAD = "dynamic_shapes does not hold for "
_SHOWN = 2  # conditions that are spelled out
_RANGE = re.compile(
    r"Not all values of (\S+) = (.*?) in the specified range (.*?) satisfy the "
    r"generated guard (.*?)\.?$"
)
_FIXED = re.compile(
    r"You marked (.*?) as dynamic but your code specialized it to be a constant \((\d+)\)"
)
_FIXED_CURE = "leave that dimension out of dynamic_shapes, or change the code"
_BETWEEN = re.compile(r"^(\d+) <= (\S+) and \2 <= (\d+)$")
_NARROWER = re.compile(r"needs (\d+) <= \S+ <= (\d+)$")


def is_violated(error: Exception) -> bool:
    """Whether torch refuses because a declared range does not hold."""
    return "Constraints violated" in str(error)


def list_conditions(words: str, lines: Mapping[str, str | None] | None = None) -> list[str]:
    """A line for each condition that torch's text names, the first few spelled out.

    `lines` are the user's that fixed a size, by its place.
    """
    texts = (in_words(line[4:]) for line in words.splitlines() if line.startswith("  - "))
    conditions = [short(condition, lines or {}) for condition in texts]
    rest = len(conditions) - _SHOWN
    more = [f"  … and {rest} more with the same cause"] if rest > 0 else []
    return [*(f"  - {condition}" for condition in conditions[:_SHOWN]), *more]


def short(condition: str, lines: Mapping[str, str | None]) -> str:
    """One condition of torch's, with the sizes named, in fewer words."""
    broken = _RANGE.match(condition)
    if broken is not None:
        name, place, declared, guard = broken.groups()
        what = "" if name == place else f"{name} ({place}) is declared "
        needed = _BETWEEN.sub(r"\1 <= \2 <= \3", guard)
        start = f"{what}{declared}" if what else f"{declared} is declared"
        return f"{start}, but the code needs {needed}"
    fixed = _FIXED.match(condition)
    if fixed is not None:
        by = lines.get(fixed[1]) or "the code or a weight"
        return f"{fixed[1]} is declared dynamic, but {by} fixes it to {fixed[2]}"
    return condition.rstrip(".")


def explained(name: str, words: str, lines: Mapping[str, str | None]) -> str:
    """The message for torch's text about a compilation of `name` that keeps guards."""
    conditions = list_conditions(words, lines)
    fixed = all(" is declared dynamic, but " in line for line in conditions)
    cure = _FIXED_CURE if fixed else _cure(conditions[0])
    return "\n".join([f"{HEAD}{name}:", *conditions, f"  Cure: {cure}."])


def _cure(condition: str) -> str:
    advice = "leave max out: the condition is then a guard, and calls that fail it are refused"
    narrower = _NARROWER.search(condition)
    if narrower is None:
        return advice
    return (
        f"declare min={narrower[1]} and max={narrower[2]} there, or {advice}. The code depends on "
        "the example's size; for other sizes, recompile with an example of that size"
    )
