"""One small fault: another comparison, number, operator, condition, or a lost statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """A part of a line of a file, and what stands in its place."""

    file: str  # from the package's folder
    function: str  # as `file:line`, as a test's reach has it
    line: int  # from 1
    column: int  # in bytes, from 0
    before: str
    after: str

    def change(self, source: str) -> str:
        """The source with the fault; raises `ValueError` where the source is another one."""
        lines = source.splitlines(keepends=True)
        line = lines[self.line - 1].encode()
        before = self.before.encode()
        if line[self.column : self.column + len(before)] != before:
            raise ValueError(f"{self.file}:{self.line} is not {self.before} any more")
        changed = line[: self.column] + self.after.encode() + line[self.column + len(before) :]
        return "".join([*lines[: self.line - 1], changed.decode(), *lines[self.line :]])


def list_mutants(file: str, source: str) -> Iterator[Mutant]:
    """Every fault that can be put into the functions of a file, each on one line."""
    lines = [line.encode() for line in source.splitlines()]
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
            for node in _own_nodes(function):
                after = _changed(node)
                if after is None or not isinstance(node, ast.expr | ast.stmt):
                    continue
                line, column = node.lineno, node.col_offset
                if node.end_lineno != line:
                    continue
                # ast.get_source_segment splits the whole source for every node: minutes in all
                before = lines[line - 1][column : node.end_col_offset].decode()
                if before != after:
                    yield Mutant(file, f"{file}:{first}", line, column, before, after)


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a body without those of functions within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _changed(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(left=left, ops=[only], comparators=right) if type(only) in _COMPARISONS:
            return f"({ast.unparse(ast.Compare(left, [_COMPARISONS[type(only)]()], right))})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            if _is_text(left) or _is_text(right):
                return None
            return f"({ast.unparse(ast.BinOp(left, _OPERATORS[type(operator)](), right))})"
        case ast.BoolOp(op=operator):
            other = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            return f"({ast.unparse(ast.BoolOp(other, node.values))})"
        case ast.UnaryOp(op=ast.Not()):
            return f"bool({ast.unparse(node.operand)})"
        case ast.Constant(value=value) if type(value) is int:
            return str(value + 1)
        case ast.Constant(value=value) if type(value) is bool:
            return str(not value)
        case ast.Return(value=ast.expr() as given) if not isinstance(given, ast.Constant):
            return "return None"
        case ast.Expr(value=ast.Call()):
            return "pass"
    return None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)
