"""Python's arithmetic of whole numbers, as the relations of a contract use it, in C++."""

from __future__ import annotations

import ast

from workbench.errors import UsageError

_INFIX: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "&&",
    ast.Or: "||",
}
_CALLS = {ast.FloorDiv: "floor_div", ast.Mod: "floor_mod"}
_NAMED_CALLS = {"max": "std::max", "min": "std::min"}


def in_cpp(source: str) -> tuple[tuple[str, ...], str]:
    """The names in a condition, and the condition in C++ with `v[i]` for the i-th name.

    Raises UsageError for more than arithmetic and comparisons of whole numbers.
    """
    try:
        tree = ast.parse(source, mode="eval").body
        names = tuple(dict.fromkeys(_names(tree)))
        return names, _code(tree, names)
    except (SyntaxError, KeyError, TypeError) as error:
        raise UsageError(
            f"The package assumes {source}, which has no counterpart in C++ ({error}). Declare the "
            "dimensions so that the assumption is not needed, or fix their sizes."
        ) from error


def _names(tree: ast.expr) -> list[str]:
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [name for name in names if name not in _NAMED_CALLS]


def _code(node: ast.expr, names: tuple[str, ...]) -> str:
    match node:
        case ast.Constant(value=int() as value):
            return f"std::int64_t{{{value}}}"
        case ast.Name(id=name):
            return f"v[{names.index(name)}]"
        case ast.UnaryOp(op=ast.USub()):
            return f"-{_code(node.operand, names)}"
        case ast.UnaryOp(op=ast.Not()):
            return f"!{_code(node.operand, names)}"
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod() as operator):
            return _call(_CALLS[type(operator)], [node.left, node.right], names)
        case ast.BinOp():
            return _joined([node.left, node.right], _INFIX[type(node.op)], names)
        case ast.BoolOp():
            return _joined(node.values, _INFIX[type(node.op)], names)
        case ast.Compare():
            values = [node.left, *node.comparators]
            pairs = zip(values, node.ops, values[1:], strict=False)
            tests = [_joined([a, b], _INFIX[type(op)], names) for a, op, b in pairs]
            return tests[0] if len(tests) == 1 else f"({' && '.join(tests)})"
        case ast.Call(func=ast.Name(id=name)):
            return _call(_NAMED_CALLS[name], node.args, names)
        case _:
            raise TypeError(ast.unparse(node))


def _call(function: str, arguments: list[ast.expr], names: tuple[str, ...]) -> str:
    return f"{function}({', '.join(_code(argument, names) for argument in arguments)})"


def _joined(values: list[ast.expr], operator: str, names: tuple[str, ...]) -> str:
    return "(" + f" {operator} ".join(_code(value, names) for value in values) + ")"
