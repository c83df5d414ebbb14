"""`%aot_sweep`: the axes on its line, the inputs made of sizes, its rows as they end."""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import line_magic, magics_class
from IPython.core.magic_arguments import magic_arguments

from workbench.cells.call import WrittenCall, evaluate, find_last_output, parsed, read_line
from workbench.cells.option_magics import (
    CALL,
    NO_VIEW,
    OUTPUT,
    Names,
    Option,
    OptionMagics,
    parse_option_value,
    show_plain_errors,
    with_options,
)
from workbench.cells.progress_display import call_in_subshell, is_interactive
from workbench.errors import UsageError
from workbench.number_text import format_seconds
from workbench.report.trials import Trial
from workbench.views.widgets.display import find_running_cell, publish_live, take_back
from workbench.worlds.sweeps import calls
from workbench.worlds.sweeps.recommendation import describe_speedup
from workbench.worlds.sweeps.rows.axes import AXES, OBJECTIVES, STRATEGIES
from workbench.worlds.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from workbench.worlds.sweeps.views.sweep_view import SweepView

_EVERY_S = 0.4
_LONGEST_S = 2.0  # without a word though nothing has ended


def list_axes(names: Names) -> Sequence[str]:
    """The axes that settings have, whatever the user's names are."""
    return [f"{axis}=" for axis in AXES]


SWEEP = (
    Option(
        ("--over",),
        "an axis with its values, such as mode=default,max-autotune or batch=1,8,32; repeatable",
        "NAME=VALUE,…",
        is_repeated=True,
        list_more=list_axes,
    ),
    Option(
        ("--strategy",),
        "grid tries every combination; random, halving and tpe search",
        "STRATEGY",
        choices=STRATEGIES,
    ),
    Option(
        ("--objective",),
        f"what to optimize: {', '.join(OBJECTIVES)}",
        "OBJECTIVE",
        choices=OBJECTIVES,
    ),
    Option(("--trials",), "maximum number of trials", "COUNT"),
    Option(("--seconds",), "start no trial after this many seconds", "SECONDS"),
    Option(("--measure-s",), "maximum seconds to time each trial", "SECONDS"),
    Option(("--jobs",), "number of trials that compile in parallel", "COUNT"),
    Option(("--store",), "the store of finished trials", "PATH"),
    Option(("--executor",), "where trials run, such as client.get_executor()", "EXPRESSION"),
    OUTPUT,
    NO_VIEW,
)


@magics_class
class SweepMagics(OptionMagics):
    """`%aot_sweep`, with its help."""

    @magic_arguments()
    @with_options(SWEEP, CALL)
    @line_magic
    def aot_sweep(self, line: str) -> Any:
        """Compile and measure a call under many settings, and say which to take.

        A size that stands in the call is made anew for each of its values. *Cancel* in its view
        and an interrupt keep what is done; the same line goes on from there:

            %aot_sweep f(x) --over mode=default,max-autotune --over threads=1,2
            %aot_sweep model(torch.randn(batch, 64)) --over batch=1,8,32 --objective throughput
        """
        with show_plain_errors(self.shell, "%aot_sweep"):
            chosen, rest = self.parse_line(self.aot_sweep, line)
            sweep = run_sweep_line(self.shell, rest, chosen)
            bound = self.bind(sweep, chosen.output)
            return None if chosen.no_view else bound


class Following:
    """What `wb.sweep` is given as `progress`; silent when nobody is watching.

    `variable` is what the result is called in the notebook. Without `is_viewed` a notebook gets
    lines of text too.
    """

    def __init__(self, shell: InteractiveShell, variable: str = "_", *, is_viewed: bool = True):
        self.view: SweepView | None = None
        self._shell = shell
        self._variable = variable
        self._is_shown = is_interactive(shell)
        self._is_viewed = is_viewed and getattr(shell, "kernel", None) is not None
        self._count = 0
        self._running: Any = None
        self._told: Any = None
        self._at = 0.0
        self._done = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def started(self, running: Any) -> None:
        """Trials begin: `running` says how far they are, and can be cancelled."""
        self._running = running
        if not (self._is_shown and self._is_viewed):
            return
        from workbench.worlds.sweeps.views.sweep_view import SweepView, read_live

        def made() -> SweepView:
            live = read_live(running, self._variable)
            return SweepView(running.so_far(), live, cancel=running.cancel)

        self.view = call_in_subshell(self._shell, made)
        self.view.cell = find_running_cell(self._shell)
        publish_live(self._shell, self.view)
        self._ticker.start()

    def __call__(self, row: Trial, from_store: bool) -> None:
        """One row has ended, or was known."""
        self._count += 1
        if self._is_shown and not self._is_viewed and not from_store:
            print(f"{self._count}: {row.title}: {ended(row)}", flush=True)

    def end(self, sweep: Sweep) -> Sweep:
        """Show the whole sweep in place; what it is displayed with then is this view."""
        self._stop()
        if self.view is None:
            return sweep
        self.view.follow(sweep)
        return replace(sweep, view=self.view)

    def close(self) -> None:
        """Take the view away: the sweep came to nothing."""
        self._stop()
        if self.view is not None:
            take_back(self._shell, self.view)

    def _stop(self) -> None:
        self._done.set()
        if self._ticker.is_alive():
            self._ticker.join()

    def _tick(self) -> None:
        while not self._done.wait(_EVERY_S):
            now = time.monotonic()
            state = (len(self._running.rows), self._running.tried)
            if state != self._told or now - self._at > _LONGEST_S:
                self._told, self._at = state, now
                call_in_subshell(self._shell, self._tell)

    def _tell(self) -> None:
        from workbench.worlds.sweeps.views.sweep_view import read_live

        if self.view is not None:
            self.view.follow(self._running.so_far(), read_live(self._running, self._variable))


def ended(row: Trial) -> str:
    """How a row ended, in few words."""
    if row.status != "done":
        return f"{row.status}: {row.reason}" if row.reason else row.status
    if row.speedup:
        time = format_seconds((row.call_us or 0.0) / 1e6)
        return f"{describe_speedup(row.pairs)}, {time} a call"
    if row.call_us is not None:
        return f"{format_seconds(row.call_us / 1e6)} a call (modelled)"
    return f"compiled in {format_seconds(row.compile_s)}"


def run_sweep_line(shell: InteractiveShell, text: str, chosen: Any) -> Sweep:
    """The sweep of a call; an interrupt gives what is done until then."""
    axes = parse_axes(chosen.over)
    call, inputs = _call_of(shell, text, list(axes))
    executor = evaluate(shell, chosen.executor) if chosen.executor else None
    following = Following(
        shell, chosen.output or find_last_output(shell), is_viewed=not chosen.no_view
    )
    try:
        sweep = calls.sweep(
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
        sweep = kept
        print("Interrupted. Finished trials are kept; run the same line again to continue.")
    except BaseException:
        following.close()
        raise
    return following.end(sweep)


def _call_of(shell: InteractiveShell, text: str, axes: Sequence[str]) -> tuple[WrittenCall, Any]:
    """The call, and where sizes stand in it the function that makes its inputs."""
    if not text:
        raise UsageError("Write the call to measure: %aot_sweep f(x) --over mode=….")
    node = parsed(text)
    if not isinstance(node, ast.Call):
        raise UsageError(f"{text.strip()!r} is not a call. Write it as you would call it: f(x).")
    inputs = build_sized_inputs(shell, node, axes)
    if inputs is None:
        return read_line(shell, text), None
    call = read_line(shell, ast.unparse(ast.Call(node.func, [], node.keywords)))
    return WrittenCall(call.function, (), call.kwargs, text.strip()), inputs


def parse_axes(texts: Sequence[str]) -> dict[str, list[Any]]:
    """The axes of `--over name=a,b,c`; raises `UsageError` when one is written otherwise."""
    axes: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        parts = [part.strip() for part in values.split(",")]
        if not equals or not name or not all(parts):
            raise UsageError(
                f"--over {text}: expected NAME=VALUE,VALUE, such as --over batch=1,8,32."
            )
        axes.setdefault(name, []).extend(parse_option_value(f"{name}={part}")[1] for part in parts)
    if not axes:
        raise UsageError("Give at least one axis, such as --over mode=default,max-autotune.")
    return axes


def build_sized_inputs(shell: InteractiveShell, node: ast.Call, sizes: Sequence[str]) -> Any:
    """The positional arguments as a function of the sizes that stand in them; None without any.

    Raises `UsageError` where a keyword argument is made of one.
    """
    used = [size for size in sizes if size in _names(node.args)]
    lost = [size for size in sizes if size in _names([k.value for k in node.keywords])]
    if lost:
        raise UsageError(
            f"{lost[0]} is a size in a keyword argument: pass that argument by position."
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
    texts = {name: getattr(chosen, name) for name in ("strategy", "objective")}
    search = {name: text for name, text in texts.items() if text}
    for name in ("trials", "jobs"):
        if (text := getattr(chosen, name)) is not None:
            if not text.isdigit() or int(text) < 1:
                raise UsageError(f"--{name} {text}: expected a whole number from 1.")
            search[name] = int(text)
    for name in ("seconds", "measure_s"):
        if (text := getattr(chosen, name)) is not None:
            try:
                search[name] = float(text)
            except ValueError as error:
                option = name.replace("_", "-")
                raise UsageError(f"--{option} {text}: expected a number of seconds.") from error
    return search
