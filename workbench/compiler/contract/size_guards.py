"""Conditions on sizes: those of a package, and those of torch that a call breaks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import ArtifactError

NOT_SO = ", which is not so: "
"""Between a condition and the sizes that break it."""

_COPY = "pass .clone(memory_format=torch.contiguous_format)"
_SIZES = ("size", "stride", "storage_offset")
_ARITHMETIC = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Name, ast.Load, ast.Constant, ast.Call,
)  # fmt: skip
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
            known = [*_sizes(tree, bound)] or [*_numbers(tree, bound)]
            lines.append(f"{condition}{NOT_SO}{', '.join(known)}" if known else condition)
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

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the condition is true; a dimension without a value makes it so."""
        nodes = ast.walk(ast.parse(self.source, mode="eval"))
        names = {n.id for n in nodes if isinstance(n, ast.Name)} - {"max", "min"}
        if not names <= values.keys():
            return True
        scope: dict[str, Any] = {"__builtins__": {}, "max": max, "min": min}
        return bool(eval(self.source, scope, dict(values)))


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
            f"The package holds the condition {text!r:.200}, which is no arithmetic of its "
            f"dimensions ({error}). Do not use the file."
        ) from error


def _check(node: ast.AST, names: frozenset[str]) -> None:
    if not isinstance(node, _ARITHMETIC):
        raise ValueError(f"it uses {type(node).__name__}")
    if isinstance(node, ast.Name) and node.id not in names and node.id not in _CALLS:
        raise ValueError(f"it names {node.id}")
    if isinstance(node, ast.Constant) and not isinstance(node.value, int):
        raise ValueError("it holds something that is no whole number")
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _CALLS
        if not known or len(node.args) != 2 or node.keywords:
            raise ValueError("it calls something")


class _Plain(ast.NodeTransformer):
    """Functions of sympy as operators of Python."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        parts = [ast.unparse(argument) for argument in node.args]
        return ast.parse(_CALLS[node.func.id].format(*parts), mode="eval").body
