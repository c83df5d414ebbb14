"""`and`, `or`, `not` and branches of a kernel, with the meaning that Triton's compiler gives them.

Python asks one truth of a whole block, which has one for each element. Triton's own interpreter
leaves it at that, so that `a == b and i < j` on blocks is `i < j`, and a tie is decided wrongly.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import triton.language as tl
from triton.runtime import interpreter as stock

_NAME = "workbench_logic"
"""Where a rewritten function finds this class: its globals are given all names of `stock`."""


class BlockDecides(TypeError):
    """A block of several elements decides which way a function goes; a scalar could."""

    def __init__(self) -> None:
        super().__init__(
            "a branch depends on a block of several elements, which Triton does not compile; "
            "tl.where selects per element"
        )


class KernelLogic:
    """What the operators become; each operand of `every` and `some` is computed when called."""

    @staticmethod
    def every(*operands: Callable[[], Any]) -> Any:
        """`and`: of tensors element by element, each of them computed, as the compiler does."""
        return _join(operands, is_and=True)

    @staticmethod
    def some(*operands: Callable[[], Any]) -> Any:
        """`or`, likewise."""
        return _join(operands, is_and=False)

    @staticmethod
    def no(operand: Any) -> Any:
        """`not`."""
        if isinstance(operand, tl.core.tensor):
            return stock.interpreter_semantic.not_(_as_truth(operand))
        return not operand

    @staticmethod
    def truth(test: Any) -> bool:
        """Which way a branch goes; raises `BlockDecides` where a block of several elements asks."""
        if not isinstance(test, tl.core.tensor) or not test.type.is_block():
            return bool(test)
        if test.numel.value > 1:
            raise BlockDecides
        return bool(int(test))

    @staticmethod
    def refuse_chain() -> Any:
        """`a < b < c`, which the compiler refuses."""
        raise NotImplementedError("a chained comparison, which Triton does not compile")


def _join(operands: tuple[Callable[[], Any], ...], *, is_and: bool) -> Any:
    """As Triton's compiler joins: a constant decides alone or is left out, tensors are combined."""
    semantic = stock.interpreter_semantic
    joined, value = None, None
    for operand in operands:
        value = operand()
        if isinstance(value, tl.core.tensor):
            part = _as_truth(value)
            combine = semantic.and_ if is_and else semantic.or_
            joined = part if joined is None else combine(joined, part)
        elif bool(value) is not is_and:
            return value
    return value if joined is None else joined


def _as_truth(value: Any) -> Any:
    if value.dtype.is_int1():
        return value
    semantic = stock.interpreter_semantic
    return semantic.not_equal(value, semantic.to_tensor(0))


class _Rewriter(stock.ASTTransformer):  # type: ignore[misc]
    """Triton's own rewriting of a kernel, with these operators in place of Python's."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)  # which Triton's own leaves as it is
        return super().visit_Assign(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        nothing = ast.arguments(
            posonlyargs=[],
            args=[],
            vararg=None,
            kwonlyargs=[],
            kw_defaults=[],
            kwarg=None,
            defaults=[],
        )
        parts: list[ast.expr] = [ast.Lambda(args=nothing, body=part) for part in node.values]
        return _call("every" if isinstance(node.op, ast.And) else "some", parts, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("no", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        return _call("refuse_chain", [], node) if len(node.ops) > 1 else node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._visit_test(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._visit_test(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._visit_test(node)

    def _visit_test(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.test = _call("truth", [node.test], node.test)
        return node  # type: ignore[no-any-return]


def _call(name: str, args: list[ast.expr], place: ast.AST) -> ast.expr:
    function = ast.Attribute(ast.Name(_NAME, ast.Load()), name, ast.Load())
    call = ast.Call(func=function, args=args, keywords=[])
    for part in (call, function, function.value):
        ast.copy_location(part, place)
    return call


def install_logic() -> None:
    """Have every function that Triton's interpreter rewrites use these operators."""
    setattr(stock, _NAME, KernelLogic)
    stock.FunctionRewriter.ast_transformer = _Rewriter()
