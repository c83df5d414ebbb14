"""Checks of a tensor's value, as checks that stay in the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from workbench.analysis.source.branches import negated, write_as_tensor
from workbench.analysis.source.broken_statement import BrokenStatement, Change, change_of
from workbench.analysis.source.caught_errors import is_caught

_KEPT = (
    "The condition stays a tensor, and the graph checks it; on a GPU what it finds comes later "
    "than its line, and ends the process's use of the GPU."
)
_ASSERTED = "Assert a tensor"
_ASYNC = "Check with torch._assert_async"
_CHECK = "torch._assert_async({}, {})"
_RAISES = "It raises RuntimeError in place of {}."
_COMPILED = "Only compiled code does."


def check_changes(broken: BrokenStatement) -> Iterator[Change]:
    """`assert ~t.any()` and `torch._assert_async` for an assertion, or for an `if` that raises."""
    if is_caught(broken.tree, broken.statement):  # by its class, which is another one in the graph
        return
    match broken.statement:
        case ast.Assert(test, message) as statement:
            condition, said = write_as_tensor(test), _constant(message)
            changed = ast.unparse(ast.Assert(condition, said))
            why = f"{_KEPT} {_RAISES.format('AssertionError')}"
            if changed != ast.unparse(statement):
                yield change_of(_ASSERTED, f"{why} {_COMPILED}", statement, changed)
            yield change_of(_ASYNC, why, statement, _checked(condition, said))
        case ast.If(test, [ast.Raise(ast.expr() as raised)], []) as statement:
            name, message = _raised(raised)
            why = f"{_KEPT} {_RAISES.format(name)}"
            code = _checked(write_as_tensor(negated(test)), _constant(message))
            yield change_of(_ASYNC, why, statement, code)


def _checked(condition: ast.expr, message: ast.expr | None) -> str:
    said = ast.Constant("an assertion failed") if message is None else message
    return _CHECK.format(ast.unparse(condition), ast.unparse(said))


def _raised(raised: ast.expr) -> tuple[str, ast.expr | None]:
    """The name of what is raised, and its message."""
    match raised:
        case ast.Call(function, [message, *_]):
            return ast.unparse(function), message
        case ast.Call(function):
            return ast.unparse(function), None
    return ast.unparse(raised), None


def _constant(message: ast.expr | None) -> ast.expr | None:
    """A message as a constant: what it would fill in stands there by its code.

    A graph holds no text that is put together while it runs.
    """
    if message is None or isinstance(message, ast.Constant):
        return message
    if not isinstance(message, ast.JoinedStr):
        return ast.Constant(ast.unparse(message))
    parts = (
        str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(_value(part))}}}"
        for part in message.values
    )
    return ast.Constant("".join(parts))


def _value(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, ast.FormattedValue) else part
