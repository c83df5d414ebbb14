"""What a magic's line says: options, a call or two names, evaluated in the user's names."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from workbench.errors import UsageError

_PART = re.compile(r""""[^"]*"|'[^']*'|\S+""")
_FILE = re.compile(r".*\.(wbr|aot|pt2)$", re.IGNORECASE)


def is_call(text: str) -> bool:
    """Whether a text is the expression of a call."""
    try:
        return isinstance(parsed(text), ast.Call)
    except UsageError:
        return False


def parsed(text: str, name: str = "<magic>") -> ast.expr:
    """The expression that a text is; raises `UsageError` when it is none."""
    try:
        return ast.parse(text, name, "eval").body
    except SyntaxError as error:
        raise UsageError(f"{text!r} is not a Python expression: {error.msg}.") from error


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
        raise UsageError(
            "Write the call to compile: %aot_compile f(x), or use %%aot_compile in a cell."
        )
    name = shell.compile.cache(text, shell.execution_count)
    return evaluate_call(shell, parsed(text, name), text, name)


def read_cell(shell: InteractiveShell, cell: str) -> WrittenCall:
    """Run a cell's body; its last expression must be a call, of which the parts are evaluated."""
    tree, name = parse_cell(shell, cell)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise UsageError("The last line of the cell must be the call to compile, such as f(x).")
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, name, "exec", shell.compile.flags), shell.user_ns)
    return evaluate_call(shell, last.value, ast.unparse(last), name)


def run_cell(shell: InteractiveShell, cell: str) -> Any:
    """Run a cell's body in the user's names; the value of its last expression, or None."""
    tree, name = parse_cell(shell, cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", shell.compile.flags), shell.user_ns)
    return _value(shell, last.value, name) if isinstance(last, ast.Expr) else None


def parse_cell(shell: InteractiveShell, cell: str) -> tuple[ast.Module, str]:
    """A cell as Python, and the name under which its lines are found."""
    # the magic's own line stays empty, so that line numbers are those of the cell as it is seen
    source = "\n" + shell.transform_cell(cell)
    name = shell.compile.cache(source, shell.execution_count)
    return ast.parse(source, name, "exec"), name


def evaluate(shell: InteractiveShell, text: str) -> Any:
    """The value of an expression in the user's names; raises `UsageError` when it is none."""
    return _value(shell, parsed(text), "<magic>")


def evaluate_call(shell: InteractiveShell, node: ast.expr, text: str, name: str) -> WrittenCall:
    """The parts of a call, evaluated; raises `UsageError` where the expression is none."""
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


def pair(shell: InteractiveShell, text: str) -> list[tuple[str, Any]]:
    """Two words, each a path or an expression: what they are called, their values (paths as text).

    Raises `UsageError` when there are not two.
    """
    words = _parts(text)
    if len(words) != 2:
        raise UsageError(
            f"Write two names or paths, such as %aot_diff static dynamic; found {len(words)}."
        )
    return [_side(shell, word) for word in words]


def _parts(text: str) -> list[str]:
    """The words; an expression with blanks in it stays whole where that gives two."""
    words: list[str] = _PART.findall(text)
    if len(words) <= 2:
        return words
    for n in range(1, len(words)):
        halves = [" ".join(words[:n]), " ".join(words[n:])]
        if all(_is_expression(half) for half in halves):
            return halves
    return words


def _is_expression(text: str) -> bool:
    try:
        parsed(text)
    except UsageError:
        return bool(_FILE.fullmatch(text.strip("'\"")))
    return True


def _side(shell: InteractiveShell, word: str) -> tuple[str, Any]:
    path = word.strip("'\"")
    is_named = path != word or _FILE.fullmatch(path)
    if is_named or (word not in shell.user_ns and Path(path).is_file()):
        return Path(path).name, str(Path(path).expanduser())
    try:
        return word, evaluate(shell, word)
    except NameError as error:
        raise UsageError(
            f"{error.name} is not defined, and no file {path} exists. Write two names or paths."
        ) from error


def find_last_output(shell: InteractiveShell) -> str:
    """The name that IPython gives the result of the running cell; `_` is soon another's."""
    return f"_{shell.execution_count}"


def read_path(text: str, magic: str, example: str = "model.aot") -> str:
    """The path that a magic's line is; raises `UsageError` where there is none."""
    if not text:
        raise UsageError(f"Name the file, as in {magic} {example}.")
    return text.strip("'\"")
