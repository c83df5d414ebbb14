"""Host calls that break graphs: messages, clocks, progress bars."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator

from workbench.analysis.breaks.broken_statement import (
    BrokenStatement,
    Rewrite,
    change_of,
    parse_expression,
    replace_expression,
)

COMPILING = "torch.compiler.is_compiling()"
_MESSAGE = "Compiled code omits the message; eager still prints it."
_LEFT_OUT = "Compiled code omits the call; eager still makes it."
_LOGGING = {"debug", "info", "warning", "warn", "error", "critical", "exception", "log"}
_PRINTING = {"print", "pprint", "breakpoint", "set_trace"}
_STREAMS = {"stdout", "stderr", "tqdm", "sys.stdout", "sys.stderr"}
_NOT_COMPUTING = {"time.sleep", "sleep", "gc.collect", "torch.cuda.synchronize"}
_CLOCK = (
    "Compiled code cannot read the clock and uses {} instead. To time a compiled call, read "
    "the clock before and after it."
)
_CLOCKS = {"time", "perf_counter", "monotonic", "process_time", "thread_time"}
_PROGRESS = "Compiled code unrolls the loop over the same items, without a progress bar."


def rewrite_message(broken: BrokenStatement) -> Iterator[Rewrite]:
    """Print, log and wait only where nothing is compiled."""
    statement = broken.statement
    match statement:
        case ast.Expr(ast.Call(function)) if (
            is_message(function) or ast.unparse(function) in _NOT_COMPUTING
        ):
            text = textwrap.indent(ast.unparse(statement), "    ")
            is_said = is_message(function)
            title = f"Keep the {'message' if is_said else 'call'} out of compiled code"
            code = f"if not {COMPILING}:\n{text}"
            yield change_of(title, _MESSAGE if is_said else _LEFT_OUT, statement, code)
        case ast.If(test, body, []) if all(map(_is_said, body)):
            no = parse_expression(f"not {COMPILING}")
            both = ast.BoolOp(ast.And(), [no, test])
            title = "Keep the message out of compiled code"
            rewrite = replace_expression(title, _MESSAGE, statement, test, both)
            if rewrite is not None:
                yield rewrite


def _is_said(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(ast.Call(function)):
            return is_message(function)
    return False


def is_message(function: ast.expr) -> bool:
    """Whether a function prints or logs, by its name."""
    match function:
        case ast.Name(name):
            return name in _PRINTING
        case ast.Attribute(value, name):
            owner = ast.unparse(value).lower()
            if name in _LOGGING:
                return "log" in owner or owner in ("warnings", "wandb", "mlflow")
            if name in ("write", "flush"):
                return owner in _STREAMS
            is_board = "writer" in owner or owner in ("wandb", "mlflow")
            return name in _PRINTING or (is_board and name.startswith(("add_", "log_")))
    return False


def rewrite_clock(broken: BrokenStatement) -> Iterator[Rewrite]:
    """Zero in place of a clock, where something is compiled."""
    for node, value in find_calls(broken.statement, _clock):
        text = f"{value} if {COMPILING} else {ast.unparse(node)}"
        new = parse_expression(text)
        title = "Read the clock outside compiled code"
        why = _CLOCK.format(value)
        rewrite = replace_expression(title, why, broken.statement, node, new)
        if rewrite is not None:
            yield rewrite
        return


def _clock(call: ast.Call) -> str | None:
    """The value in compiled code instead of a clock's; None for other calls."""
    name = join_dotted(call.func)
    if name is None or call.keywords:
        return None
    owner, _, last = name.rpartition(".")
    if last in ("now", "utcnow", "today") and owner.rpartition(".")[2] == "datetime":
        return f"{owner}.min"
    is_whole, last = last.endswith("_ns"), last.removesuffix("_ns")
    if last not in _CLOCKS or owner not in ("", "time") or call.args:
        return None
    return "0" if is_whole else "0.0"


def rewrite_progress(broken: BrokenStatement) -> Iterator[Rewrite]:
    """The items without their progress bar, where something is compiled."""
    for node, items in find_calls(broken.statement, _progress):
        new = parse_expression(f"({items}) if {COMPILING} else {ast.unparse(node)}")
        title = "Keep the progress bar out of compiled code"
        rewrite = replace_expression(title, _PROGRESS, broken.statement, node, new)
        if rewrite is not None:
            yield rewrite
        return


def _progress(call: ast.Call) -> str | None:
    """The items that a progress bar goes through."""
    last = (join_dotted(call.func) or "").rpartition(".")[2]
    if last == "trange":
        return f"range({', '.join(map(ast.unparse, call.args))})"
    return ast.unparse(call.args[0]) if last in ("tqdm", "track") and call.args else None


def find_calls(
    statement: ast.stmt, describe: Callable[[ast.Call], str | None]
) -> Iterator[tuple[ast.Call, str]]:
    """The calls of a statement that a function knows, with what it says of them."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and (description := describe(node)) is not None:
            yield node, description


def join_dotted(function: ast.expr) -> str | None:
    """The name of a function, such as `time.time`; None for what is found by computing."""
    match function:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name):
            outer = join_dotted(value)
            return None if outer is None else f"{outer}.{name}"
    return None
