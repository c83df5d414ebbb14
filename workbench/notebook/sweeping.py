"""`%aot_sweep`: the axes on its line, the inputs made of sizes, a table that follows the trials."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Mapping, Sequence
from html import escape
from types import FunctionType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from workbench import api
from workbench.errors import UsageError
from workbench.notebook.call import Call, evaluate, read_line
from workbench.notebook.options import option_value
from workbench.notebook.progress import is_interactive
from workbench.report.trials import Trial
from workbench.views.units import seconds_text

_ROWS = 12
_EVERY_S = 0.3


def sweep_line(shell: InteractiveShell, text: str, chosen: Any) -> Any:
    """The sweep of a call; an interrupt gives what is done until then."""
    axes = axes_of(chosen.over)
    call, inputs = _call_of(shell, text, list(axes))
    executor = evaluate(shell, chosen.executor) if chosen.executor else None
    is_grid = (chosen.strategy or "grid") == "grid" and not (chosen.trials or chosen.seconds)
    total = math.prod(len(values) for values in axes.values()) if is_grid else None
    following = Following(shell, call, total)
    try:
        return api.sweep(
            call.function,
            inputs or call.args,
            call.kwargs,
            over=axes,
            executor=executor,
            store=chosen.store,
            progress=following,
            **search_of(chosen),
        )
    except KeyboardInterrupt as interrupt:
        found = getattr(interrupt, "sweep", None)
        if found is None:
            raise
        print("Interrupted: what is done is kept, the same line goes on from there.")
        return found
    finally:
        following.close()


def _call_of(shell: InteractiveShell, text: str, axes: Sequence[str]) -> tuple[Call, Any]:
    """The call, and where sizes stand in it the function that makes its inputs."""
    if not text:
        raise UsageError("Write the call to measure: %aot_sweep f(x) --over mode=….")
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"{text!r} is no Python expression: {error.msg}.") from error
    if not isinstance(node, ast.Call):
        raise UsageError(f"{text.strip()!r} is not a call. Write it as you would call it: f(x).")
    inputs = sized_inputs(shell, node, axes)
    if inputs is None:
        return read_line(shell, text), None
    bare = ast.Call(node.func, [], node.keywords)
    call = read_line(shell, ast.unparse(bare))
    return Call(call.function, (), call.kwargs, text.strip()), inputs


def axes_of(texts: Sequence[str]) -> dict[str, list[Any]]:
    """The axes of `--over name=a,b,c`; raises `UsageError` when one is written otherwise."""
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        parts = [part.strip() for part in values.split(",")]
        if not equals or not name or not all(parts):
            raise UsageError(
                f"--over {text}: expected NAME=VALUE,VALUE, such as --over batch=1,8,32."
            )
        found.setdefault(name, []).extend(option_value(f"{name}={part}")[1] for part in parts)
    if not found:
        raise UsageError("Say what to go through, such as --over mode=default,max-autotune.")
    return found


def sized_inputs(shell: InteractiveShell, node: ast.Call, sizes: Sequence[str]) -> Any:
    """The positional arguments as a function of the sizes that stand in them; None without any.

    Raises `UsageError` where a keyword argument is made of one.
    """
    used = [size for size in sizes if size in _names(node.args)]
    lost = [size for size in sizes if size in _names([k.value for k in node.keywords])]
    if lost:
        raise UsageError(
            f"{lost[0]} is a size, but stands in a keyword argument: pass that by position."
        )
    if not used:
        return None
    parameters = [ast.arg(name) for name in used]
    made = ast.Lambda(
        ast.arguments([], parameters, None, [], [], None, []), ast.Tuple(node.args, ast.Load())
    )
    code = compile(ast.fix_missing_locations(ast.Expression(made)), "<inputs>", "eval")
    function = eval(code, shell.user_ns)
    assert isinstance(function, FunctionType)
    return function


def _names(nodes: Sequence[ast.AST]) -> set[str]:
    inner = [part for node in nodes for part in ast.walk(node)]
    return {part.id for part in inner if isinstance(part, ast.Name)}


class Following:
    """Rows as they end, in a notebook as a table, in a terminal as a line each.

    `total` is how many there are to be; without one, as for a search, it is not said.
    """

    def __init__(self, shell: InteractiveShell, call: Call, total: int | None):
        self._call = call
        self._total = total
        self._rows: list[tuple[Trial, bool]] = []
        self._start = time.monotonic()
        self._drawn = 0.0
        self._in_notebook = getattr(shell, "kernel", None) is not None
        self._is_shown = is_interactive(shell)
        self._handle: Any = None

    def __call__(self, row: Trial, from_store: bool) -> None:
        """One row has ended, or was known."""
        self._rows.append((row, from_store))
        if not self._is_shown:
            return
        if not self._in_notebook:
            if not from_store:
                print(f"{len(self._rows)}: {row.title}: {_ended(row)}", flush=True)
            return
        now = time.monotonic()
        if now - self._drawn >= _EVERY_S or len(self._rows) == self._total:
            self._drawn = now
            self._draw()

    def _draw(self) -> None:
        if self._handle is None:
            self._handle = display(self, display_id=True)
        else:
            self._handle.update(self)

    def title(self) -> str:
        """One line: done, failed, the best so far, the time left."""
        done = sum(row.status == "done" for row, _ in self._rows)
        known = sum(from_store for _, from_store in self._rows)
        failed = len(self._rows) - done
        of = f" of {self._total}" if self._total else ""
        words = [f"{len(self._rows)}{of} settings of {self._call.short}"]
        words += [f"{known} from the store"] if known else []
        words += [f"{failed} failed"] if failed else []
        left = self._left()
        words += [f"about {seconds_text(left)} left"] if left else []
        return ", ".join(words)

    def _left(self) -> float | None:
        measured = sum(not from_store for _, from_store in self._rows)
        if not self._total or not measured:
            return None
        spent = time.monotonic() - self._start
        return spent / measured * (self._total - len(self._rows))

    def _best(self) -> Trial | None:
        timed = [row for row, _ in self._rows if row.call_us is not None]
        return max(timed, key=lambda row: (row.speedup or 0.0, -(row.call_us or 0.0)), default=None)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        best = self._best()
        lines = [self.title()]
        lines += [f"Best so far: {best.title}: {_ended(best)}"] if best else []
        rows = "".join(
            f'<tr><td style="text-align: left">{escape(row.title)}</td>'
            f'<td style="text-align: left">{escape(_ended(row))}</td></tr>'
            for row, _ in self._rows[-_ROWS:][::-1]
        )
        html = "".join(f"<div>{escape(line)}</div>" for line in lines)
        hint = "Interrupt the kernel to stop: what is done is kept."
        table = f'<table style="font-size: 12px">{rows}</table>'
        return {"text/plain": "\n".join(lines), "text/html": f"{html}{table}<div>{hint}</div>"}

    def close(self) -> None:
        """Take the table away: the sweep itself is shown in its place."""
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _ended(row: Trial) -> str:
    if row.status != "done":
        return f"{row.status}: {row.reason}" if row.reason else row.status
    if row.speedup:
        return f"{row.speedup:.2f} × ({seconds_text((row.call_us or 0.0) / 1e6)} a call)"
    if row.call_us is not None:
        return f"{seconds_text(row.call_us / 1e6)} a call by a model"
    return f"compiled in {seconds_text(row.compile_s)}"


def search_of(chosen: Any) -> Mapping[str, Any]:
    """The strategy and its budget from the options of the magic."""
    return {
        "strategy": chosen.strategy or "grid",
        "objective": chosen.objective or "latency",
        "trials": None if chosen.trials is None else _whole("--trials", chosen.trials),
        "seconds": None if chosen.seconds is None else _number("--seconds", chosen.seconds),
        "jobs": None if chosen.jobs is None else _whole("--jobs", chosen.jobs),
    }


def _whole(name: str, text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"{name} {text}: expected a whole number from 1.")
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{name} {text}: expected a number of seconds.") from error
