"""Options of magics, and the class that magics derive from.

A magic says with `with_options` what its line takes. Its parser, its help, the completion behind
Tab and the reference read that.
"""

from __future__ import annotations

import ast
import difflib
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from IPython.core.error import UsageError as OneLine
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics
from IPython.core.magic_arguments import argument

from workbench.cells.call import is_call
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.errors import UsageError, WorkbenchError
from workbench.report.report_holder import ReportHolder
from workbench.views.widgets.display import displayed

F = TypeVar("F", bound=Callable[..., Any])
Names = Mapping[str, Any]
"""The names of the user, with their values."""
_WORD = re.compile(r"""\s*("[^"]*"|'[^']*'|\S+)""")
_LATER = re.compile(r"\s(?=-{1,2}[A-Za-z])")


def list_nothing(names: Names) -> Iterable[str]:
    """Tab offers nothing more."""
    return ()


def list_callables(names: Names) -> Iterator[str]:
    """Names of the user's functions and modules."""
    for name, value in sorted(names.items()):
        if callable(value) and not name.startswith("_") and not isinstance(value, type):
            yield name


def list_gpus(names: Names) -> Iterator[str]:
    """Names of the GPUs that can be compiled for, whatever the user's names are."""
    return (gpu.name for gpu in list_known_gpus())


@dataclass(frozen=True)
class Option:
    """One option; without `metavar` it is a switch, `choices` are offered by Tab.

    `list_more` gives what Tab offers besides; of a `PATH` IPython completes files.
    """

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    is_repeated: bool = False
    choices: tuple[str, ...] = ()
    list_more: Callable[[Names], Iterable[str]] = list_nothing


@dataclass(frozen=True)
class Operand:
    """What stands on the line beside the options, by the name that the help has for it.

    `count` is how many names Tab offers of those that `list_names` gives.
    """

    name: str
    help: str
    count: int = 1
    list_names: Callable[[Names], Iterable[str]] = list_nothing


CALL = Operand("call", "the call, as you would write it: model(x, k=y)", list_names=list_callables)
PATH = Operand("path", "the file")
OUTPUT = Option(("-o", "--output"), "bind the result to this name", "NAME")
NO_VIEW = Option(("--no-view",), "do not show the view")


def with_options(options: Sequence[Option], operand: Operand) -> Callable[[F], F]:
    """Decorate a magic with what its line takes, below `magic_arguments`."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            rest: dict[str, Any] = {"help": option.help.replace("%", "%%")}
            if option.metavar is None:
                rest["action"] = "store_true"
            else:
                rest["metavar"] = option.metavar
                if option.is_repeated:
                    rest.update(action="append", default=[])
            function = argument(*option.names, **rest)(function)
        function = argument(operand.name, nargs="*", help=operand.help)(function)
        magic: Any = function
        magic.options, magic.operand = tuple(options), operand
        return function

    return decorate


class OptionMagics(Magics):
    """Magics whose lines are options and a call, a path or nothing: derive from it.

    A subclass has the decorators of IPython's `Magics` and `with_options`.
    """

    shell: Any  # an InteractiveShell; IPython's own annotation allows None

    def parse_line(self, magic: Any, line: str) -> tuple[Namespace, str]:
        """The options on the line of one of its magics, and the rest of the line."""
        words, rest = split(line, magic.options)
        return magic.parser.parse_args(words), rest

    def bind(self, result: Any, name: str | None) -> Any:
        """Bind the result to the name of `-o`, where there is one, and give it back."""
        if name is not None:
            if not name.isidentifier():
                raise UsageError(f"-o {name}: expected a name, such as -o fast.")
            self.shell.user_ns[name] = result
        if isinstance(result, ReportHolder):
            displayed().note(result)
        return result


def split(text: str, options: Sequence[Option]) -> tuple[list[str], str]:
    """The options at the front of the line and after the call as words, and the call."""
    words, start = _leading(text, options)
    rest = text[start:].strip()
    if rest and not is_call(rest):
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
            raise UsageError(f"Unknown option {name}.{meant} The options are {names}.")
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
        if first in known and (is_call(before) or is_whole):
            words, end = _leading(after, options)
            if not after[end:].strip():
                return before, words
    return text, []


def parse_option_value(text: str) -> tuple[str, Any]:
    """`key=value` with the value read as a Python literal, true and false in any case.

    Raises `UsageError` when there is no `=`.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"-O {text}: expected KEY=VALUE, such as -O epilogue_fusion=False.")
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    try:
        return key, ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return key, value


@contextmanager
def show_plain_errors(shell: InteractiveShell, magic: str) -> Iterator[None]:
    """Usage errors become one line, our other errors their message without a traceback."""
    try:
        yield
    except UsageError as error:
        raise OneLine(f"{magic}: {error}") from error
    except WorkbenchError as error:
        lines = [f"{type(error).__name__}: {error}", *error.__notes__, "%tb shows the traceback."]
        _shorten(shell, error, lines)
        raise
    except KeyboardInterrupt as error:
        line = f"Interrupted: {magic} was stopped, and no name was bound. torch is still usable."
        _shorten(shell, error, [line])
        raise


def _shorten(shell: InteractiveShell, error: BaseException, lines: list[str]) -> None:
    """Have IPython print these lines; `%tb`, in a later cell, gets the full traceback."""
    cell = shell.execution_count

    def render() -> list[str]:
        if shell.execution_count == cell:
            return lines
        kind, trace = type(error), error.__traceback__
        full: list[str] = shell.InteractiveTB.structured_traceback(kind, error, trace)
        return full

    error._render_traceback_ = render  # type: ignore[attr-defined]
