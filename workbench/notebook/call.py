"""What a magic's line says: options, a call or two names, evaluated in the user's names."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from workbench.errors import UsageError
from workbench.notebook.options import Option

_WORD = re.compile(r"""\s*("[^"]*"|'[^']*'|\S+)""")
_LATER = re.compile(r"\s(?=-{1,2}[A-Za-z])")
_PART = re.compile(r""""[^"]*"|'[^']*'|\S+""")
_FILE = re.compile(r".*\.(wbr|aot|pt2)$", re.IGNORECASE)


def split(text: str, options: Sequence[Option]) -> tuple[list[str], str]:
    """The options at the front of the line and after the call as words, and the call."""
    words, start = _leading(text, options)
    rest = text[start:].strip()
    if rest and not _is_call(rest):
        rest, later = _trailing(rest, options)
        words += later
    return words, rest


def _leading(text: str, options: Sequence[Option]) -> tuple[list[str], int]:
    """The options at the start of the text, and where they end."""
    with_value = {name for option in options if option.metavar for name in option.names}
    known = {name for option in options for name in option.names}
    words: list[str] = []
    position = 0
    while match := _WORD.match(text, position):
        word = match[1]
        if not word.startswith("-") or word == "-":
            break
        name = word.partition("=")[0] if word.startswith("--") else word
        if name not in known:
            if not re.fullmatch(r"--[A-Za-z][\w-]*(=.*)?|-[A-Za-z]\w*", word):
                break
            names = ", ".join(option.names[0] for option in options)
            near = difflib.get_close_matches(name, known, n=1)
            meant = f" Did you mean {near[0]}?" if len(name) > 2 and near else ""
            raise UsageError(f"There is no option {name}.{meant} The options are {names}.")
        words.append(word)
        position = match.end()
        if name in with_value and "=" not in word.removeprefix(name):
            value = _WORD.match(text, position)
            if value is None:
                option = next(option for option in options if name in option.names)
                raise UsageError(f"{name} needs a value: {name} {option.metavar}.")
            given = value[1]
            is_quoted = len(given) > 1 and given[0] == given[-1] and given[0] in "'\""
            words.append(given[1:-1] if is_quoted else given)
            position = value.end()
    return words, position


def _trailing(text: str, options: Sequence[Option]) -> tuple[str, list[str]]:
    """Options after a call: `f(x) -o name`."""
    known = {name for option in options for name in option.names}
    for match in _LATER.finditer(text):
        before, after = text[: match.start()].strip(), text[match.end() :]
        first = after.split()[0].partition("=")[0]
        is_whole = before.count("(") == before.count(")")
        if first in known and (_is_call(before) or is_whole):
            words, end = _leading(after, options)
            if not after[end:].strip():
                return before, words
    return text, []


def _is_call(text: str) -> bool:
    try:
        return isinstance(parsed(text), ast.Call)
    except UsageError:
        return False


def parsed(text: str, name: str = "<magic>") -> ast.expr:
    """The expression that a text is; raises `UsageError` when it is none."""
    try:
        return ast.parse(text, name, "eval").body
    except SyntaxError as error:
        raise UsageError(f"{text!r} is no Python expression: {error.msg}.") from error


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
    return _evaluate(shell, parsed(text, name), text, name)


def read_cell(shell: InteractiveShell, cell: str) -> WrittenCall:
    """Run a cell's body; its last expression must be a call, of which the parts are evaluated."""
    tree, name = _cell_tree(shell, cell)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise UsageError("The last line of the cell must be the call to compile, such as f(x).")
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, name, "exec", shell.compile.flags), shell.user_ns)
    return _evaluate(shell, last.value, ast.unparse(last), name)


def read_launch(shell: InteractiveShell, text: str, cell: str | None) -> WrittenCall:
    """The parts of a launch, `kernel[grid](x, n, BLOCK=256)`, with the grid among the named ones.

    It is the last expression of a cell, whose body is run, or the text beside the magic. Raises
    `UsageError` when it is none.
    """
    if cell is None:
        name = shell.compile.cache(text, shell.execution_count)
        node = parsed(text, name) if text else None
    else:
        tree, name = _cell_tree(shell, cell)
        last = tree.body.pop() if tree.body else None
        node = last.value if isinstance(last, ast.Expr) else None
        exec(compile(tree, name, "exec", shell.compile.flags), shell.user_ns)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
        raise UsageError(
            "Write the launch as Triton takes it, add[(4,)](x, y, out, n, BLOCK=256): beside "
            "%aot_kernel, or as the last line of a cell. It is not made."
        )
    for name, place in (("grid", "in the brackets"), ("target", "with -t, in front of the launch")):
        if any(keyword.arg == name for keyword in node.keywords):
            raise UsageError(
                f"{name} stands {place}. For an argument of the kernel with this name, give it by "
                "its place."
            )
    launch, grid = node.func, ast.keyword("grid", node.func.slice)
    called = ast.Call(launch.value, node.args, [*node.keywords, grid])
    return _evaluate(shell, ast.copy_location(called, node), ast.unparse(node), name)


def run_cell(shell: InteractiveShell, cell: str) -> Any:
    """Run a cell's body in the user's names; the value of its last expression, or None."""
    tree, name = _cell_tree(shell, cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", shell.compile.flags), shell.user_ns)
    return _value(shell, last.value, name) if isinstance(last, ast.Expr) else None


def _cell_tree(shell: InteractiveShell, cell: str) -> tuple[ast.Module, str]:
    """A cell as Python, and the name under which its lines are found."""
    # the magic's own line stays empty, so that line numbers are those of the cell as it is seen
    source = "\n" + shell.transform_cell(cell)
    name = shell.compile.cache(source, shell.execution_count)
    return ast.parse(source, name, "exec"), name


def evaluate(shell: InteractiveShell, text: str) -> Any:
    """The value of an expression in the user's names; raises `UsageError` when it is none."""
    return _value(shell, parsed(text), "<magic>")


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
            f"There is no {error.name} here, and no file {path}. Write two names or paths."
        ) from error


def find_last_output(shell: InteractiveShell) -> str:
    """The name that IPython gives the result of the running cell; `_` is soon another's."""
    return f"_{shell.execution_count}"
