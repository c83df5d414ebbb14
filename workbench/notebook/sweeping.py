"""`%aot_sweep`: the axes on its line, the inputs made of sizes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from workbench import api
from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import UsageError
from workbench.notebook.call import WrittenCall, evaluate, read_line
from workbench.notebook.following import Following
from workbench.notebook.options import option_value


def sweep_line(shell: InteractiveShell, text: str, chosen: Any) -> Sweep:
    """The sweep of a call; an interrupt gives what is done until then."""
    axes = axes_of(chosen.over)
    call, inputs = _call_of(shell, text, list(axes))
    executor = evaluate(shell, chosen.executor) if chosen.executor else None
    following = Following(shell, chosen.output or "_", is_viewed=not chosen.no_view)
    try:
        found = api.sweep(
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
        kept = getattr(interrupt, "sweep", None)
        if not isinstance(kept, Sweep):
            following.close()
            raise
        found = kept
        print("Interrupted: what is done is kept, the same line goes on from there.")
    except BaseException:
        following.close()
        raise
    return following.end(found)


def _call_of(shell: InteractiveShell, text: str, axes: Sequence[str]) -> tuple[WrittenCall, Any]:
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
    return WrittenCall(call.function, (), call.kwargs, text.strip()), inputs


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


def search_of(chosen: Any) -> Mapping[str, Any]:
    """The strategy, its budget and the time for measuring from the options of the magic."""
    measured: dict[str, Any] = {}
    if chosen.measure_s is not None:
        measured["measure_s"] = _number("--measure-s", chosen.measure_s)
    return measured | {
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
