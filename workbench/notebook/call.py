"""The call written in a magic: parsed as an expression, its parts evaluated in the user's names."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from workbench.errors import UsageError


@dataclass(frozen=True)
class WrittenCall:
    """A call that was not made: the callable and what it would have been called with."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    text: str = ""

    @property
    def short(self) -> str:
        """The text in one line, at most 60 characters: the whole of it stands in the cell."""
        line = " ".join(self.text.split())
        return line if len(line) <= 60 else f"{line[:59]}…"


def read_line(shell: InteractiveShell, text: str) -> WrittenCall:
    """Evaluate the parts of a call such as `model(x, k=y)`; raises `UsageError` when it is none."""
    if not text:
        raise UsageError("Write the call to compile: %aot_compile f(x), or a cell with %%.")
    name = shell.compile.cache(text, shell.execution_count)
    try:
        tree = ast.parse(text, name, "eval")
    except SyntaxError as error:
        raise UsageError(f"{text!r} is no Python expression: {error.msg}.") from error
    return _evaluate(shell, tree.body, text, name)


def read_cell(shell: InteractiveShell, cell: str) -> WrittenCall:
    """Run a cell's body; its last expression must be a call, of which the parts are evaluated."""
    # the magic's own line stays empty, so that line numbers are those of the cell as it is seen
    source = "\n" + shell.transform_cell(cell)
    name = shell.compile.cache(source, shell.execution_count)
    tree = ast.parse(source, name, "exec")
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise UsageError("The last line of the cell must be the call to compile, such as f(x).")
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, name, "exec", shell.compile.flags), shell.user_ns)
    return _evaluate(shell, last.value, ast.unparse(last), name)


def evaluate(shell: InteractiveShell, text: str) -> Any:
    """The value of an expression in the user's names; raises `UsageError` when it is none."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise UsageError(f"{text!r} is no Python expression: {error.msg}.") from error
    return _value(shell, tree.body, "<magic>")


def _evaluate(shell: InteractiveShell, node: ast.expr, text: str, name: str) -> WrittenCall:
    if not isinstance(node, ast.Call):
        raise UsageError(
            f"{text.strip()!r} is not a call. Write it as you would call it: f(x), model(x, k=y)."
        )
    keys: list[ast.expr | None] = [
        None if k.arg is None else ast.Constant(k.arg) for k in node.keywords
    ]
    args = ast.Tuple(node.args, ast.Load())
    kwargs = ast.Dict(keys, [k.value for k in node.keywords])
    return WrittenCall(
        _value(shell, node.func, name),
        _value(shell, ast.copy_location(args, node), name),
        _value(shell, ast.copy_location(kwargs, node), name),
        text.strip(),
    )


def _value(shell: InteractiveShell, node: ast.expr, name: str) -> Any:
    tree = ast.fix_missing_locations(ast.Expression(node))
    return eval(compile(tree, name, "eval", shell.compile.flags), shell.user_ns)
