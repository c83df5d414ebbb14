"""The magics of the core, each of which makes one call into the API; `load` registers all."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    line_magic,
    magics_class,
)
from IPython.core.magic_arguments import magic_arguments
from IPython.display import display

from workbench import api
from workbench.api.compilation import warm_up
from workbench.cells.call import (
    WrittenCall,
    evaluate,
    find_last_output,
    pair,
    read_cell,
    read_line,
    read_path,
)
from workbench.cells.option_magics import (
    CALL,
    PATH,
    Operand,
    OptionMagics,
    parse_option_value,
    show_plain_errors,
    with_options,
)
from workbench.cells.progress_display import ProgressDisplay, is_interactive, show_job
from workbench.errors import UsageError, WorkbenchError, describe_error
from workbench.notebook import options
from workbench.notebook.completion import build_matcher
from workbench.notebook.options import dynamic, parse_fits_options, parse_packaging_options
from workbench.number_text import join_words
from workbench.report import Report
from workbench.views.document import ViewContext
from workbench.views.widgets.display import show
from workbench.worlds.world import World, collect

Present = Callable[..., None]


def list_compilations(names: Mapping[str, Any]) -> Iterator[str]:
    """Names of what has a report, or is one."""
    for name, value in sorted(names.items()):
        report = value if isinstance(value, Report) else getattr(value, "report", None)
        is_ours = isinstance(report, Report) or callable(report)
        if is_ours and not name.startswith("_") and not isinstance(value, type | ModuleType):
            yield name


_PAIR = Operand("pair", "two names, or paths of .wbr, .aot or .pt2 files", 2, list_compilations)


@magics_class
class WorkbenchMagics(OptionMagics):
    """The magics: `%aot_compile` and the others, each with its help."""

    found: Mapping[str, Mapping[str, Any]] = {}  # the magics that were there before ours
    more: list[Any]  # those of worlds
    matcher: Any = None
    warm_up: Any = None

    @magic_arguments()
    @with_options(options.COMPILE, CALL)
    @line_cell_magic
    def aot_compile(self, line: str, cell: str | None = None) -> Any:
        """Compile a call ahead of time and show what became of it.

        The call is not made: its callable is compiled for its arguments. As a cell magic the
        body runs and its last expression is the call. The result is `_`, or NAME with -o:

            %aot_compile model(x)
            %aot_compile -m max-autotune -s model.aot -o fast model(x, mask=m)
            %aot_compile -d x:0=batch[2..64] --no-grad model(x)
            %aot_compile -p model.pt2 -d x:0=batch[1..64] model(x)
            %aot_compile --bg -o job model(x)
        """
        with show_plain_errors(self.shell, "%aot_compile"):
            chosen, rest = self.parse_line(self.aot_compile, line)
            if cell is not None and rest:
                raise UsageError(
                    f"write the call at the end of the cell, not after %%aot_compile: {rest}"
                )
            if chosen.annotate and cell is None:
                raise UsageError("-a annotates a cell: use it with %%aot_compile.")
            call = read_line(self.shell, rest) if cell is None else read_cell(self.shell, cell)
            if chosen.bg:
                return self._start(call, chosen)
            if chosen.package:
                compiled = self._package(call, chosen)
                print(f"Packaged as {chosen.package}.")
            else:
                compiled = self._compile(call, chosen)
            if chosen.save:
                gpu = getattr(compiled, "gpu", None)
                there = f" for machines with {gpu.device_name}" if gpu is not None else ""
                print(f"Saved {chosen.save}{there}.")
            if chosen.annotate and cell is not None:
                name = f"cell {self.shell.execution_count}"
                display(show(compiled).annotated(name, "\n" + cell))
            return self.bind(compiled, chosen.output)

    @magic_arguments()
    @with_options(options.EXPLAIN, CALL)
    @line_magic
    def aot_explain(self, line: str) -> Any:
        """Show every graph break of a call, with the reason and what to do. This runs the call."""
        with show_plain_errors(self.shell, "%aot_explain"):
            chosen, rest = self.parse_line(self.aot_explain, line)
            call = read_line(self.shell, rest)
            explanation = api.explain(call.function, call.args, call.kwargs)
            if not chosen.no_view:
                display(
                    show(explanation, ViewContext(chosen.output or find_last_output(self.shell)))
                )
            return self.bind(explanation, chosen.output)

    @magic_arguments()
    @with_options(options.LOAD, PATH)
    @line_magic
    def aot_load(self, line: str) -> Any:
        """Load a saved artifact, ready to be called: %aot_load model.aot -o model."""
        with show_plain_errors(self.shell, "%aot_load"):
            chosen, path = self.parse_line(self.aot_load, line)
            module = evaluate(self.shell, chosen.module) if chosen.module else None
            loaded = api.load(read_path(path, "%aot_load"), module=module, trust=chosen.trust)
            return self.bind(loaded, chosen.output)

    @magic_arguments()
    @with_options(options.INSPECT, PATH)
    @line_magic
    def aot_inspect(self, line: str) -> Any:
        """Look inside a saved artifact; nothing from it is executed: %aot_inspect model.aot."""
        with show_plain_errors(self.shell, "%aot_inspect"):
            chosen, path = self.parse_line(self.aot_inspect, line)
            return self.bind(api.inspect(read_path(path, "%aot_inspect")), chosen.output)

    @magic_arguments()
    @with_options(options.DIFF, _PAIR)
    @line_magic
    def aot_diff(self, line: str) -> Any:
        """Compare two compilations: kernels, graphs, guards, fusion, traffic.

        Each is a name (or an expression) or the path of a .wbr, .aot or .pt2 file:

            %aot_diff static dynamic
            %aot_diff before.wbr model.aot --html diff.html -o found
        """
        with show_plain_errors(self.shell, "%aot_diff"):
            chosen, rest = self.parse_line(self.aot_diff, line)
            (a, first), (b, second) = pair(self.shell, rest)
            comparison = api.diff(first, second, names=(a, b))
            if chosen.html:
                comparison.to_html(chosen.html)
                print(f"Wrote {chosen.html}.")
            bound = self.bind(comparison, chosen.output)
            return None if chosen.no_view else bound

    @magic_arguments()
    @with_options(options.FITS, CALL)
    @line_magic
    def aot_fits(self, line: str) -> Any:
        """Say whether a training step or a call fits into a GPU, which need not be there.

        The call is not made: its model is compiled at two depths, without weights, and what the
        programs hold is extended to all layers:

            %aot_fits loss_model(tokens)
            %aot_fits -t a100 --optimizer adamw --moments bfloat16 --total 32 loss_model(tokens)
        """
        with show_plain_errors(self.shell, "%aot_fits"):
            chosen, rest = self.parse_line(self.aot_fits, line)
            call = read_line(self.shell, rest)
            asked = parse_fits_options(chosen)
            target = asked.get("target", "h100")
            with ProgressDisplay(self.shell, call.short, target=target, is_viewed=False) as shown:
                made = call.function, call.args, call.kwargs
                fit = api.fits(*made, progress=shown, **asked)
            return self.bind(fit, chosen.output)

    def _start(self, call: WrittenCall, chosen: Namespace) -> Any:
        """Compile in the background; what needs the result has to wait for it."""
        if chosen.save or chosen.annotate or chosen.package:
            raise UsageError(
                "--bg cannot be combined with -s, -p or -a: leave them out, and use .result() of "
                "the job."
            )
        wanted = self._wanted(chosen)
        job = api.compile_async(call.function, call.args, call.kwargs, **wanted)
        if not chosen.no_view:
            show_job(
                self.shell,
                job,
                chosen.output or find_last_output(self.shell),
                call.short,
                chosen.target,
            )
        return self.bind(job, chosen.output)

    def _wanted(self, chosen: Namespace) -> dict[str, Any]:
        own = self.shell.user_ns.get(chosen.backend)
        return {
            "backend": own if callable(own) else chosen.backend,
            "mode": chosen.mode,
            "options": dict(parse_option_value(text) for text in chosen.option) or None,
            **dynamic(chosen.dynamic),
            "grad": False if chosen.no_grad else None,
            "target": chosen.target or "host",
            "guards": chosen.guards or "portable",
        }

    def _compile(self, call: WrittenCall, chosen: Namespace) -> Any:
        wanted = self._wanted(chosen)

        def make(progress: Any, present: Present) -> Any:
            compiled = api.aot_compile(
                call.function, call.args, call.kwargs, **wanted, progress=progress
            )
            present(compiled)
            if chosen.save:
                compiled.save(chosen.save)
                present(compiled, saved=(chosen.save, Path(chosen.save).stat().st_size))
            return compiled

        return self._watched(call, chosen, make)

    def _package(self, call: WrittenCall, chosen: Namespace) -> Any:
        wanted = parse_packaging_options(chosen, self._wanted(chosen))

        def make(progress: Any, present: Present) -> Any:
            package = api.package(
                call.function,
                call.args,
                call.kwargs,
                path=chosen.package,
                **wanted,
                progress=progress,
            )
            present(package, saved=(chosen.package, Path(chosen.package).stat().st_size))
            return package

        return self._watched(call, chosen, make)

    def _watched(
        self, call: WrittenCall, chosen: Namespace, make: Callable[[Any, Present], Any]
    ) -> Any:
        """Compile with progress and show the record, that of a failure or an interrupt too."""
        name = chosen.output or find_last_output(self.shell)
        shown = ProgressDisplay(
            self.shell, call.short, target=chosen.target, is_viewed=not chosen.no_view
        )
        with shown as progress:

            def present(x: Any, variable: str = name, saved: tuple[str, int] | None = None) -> None:
                context = ViewContext(variable, saved=saved)
                if not chosen.no_view:
                    progress.result = show(x, context, view=progress.view)

            try:
                return make(progress, present)
            except WorkbenchError as error:
                if isinstance(error.report, Report):
                    present(*_failed(error.report, call))
                raise
            except KeyboardInterrupt as interrupt:
                so_far = getattr(interrupt, "report", None)
                if so_far is not None:
                    present(so_far, variable=_RAISED)
                raise


_ERROR = '__import__("sys").last_value'
_RAISED = f"{_ERROR}.report"
"""The record of what failed or was interrupted: nothing else has it."""


def _failed(report: Report, call: WrittenCall) -> tuple[Any, str]:
    """What is shown of a compilation that failed, and its name: at a break with its cures."""
    if not len(report.breaks):
        return report, _RAISED
    from workbench.handles.rehearsing.live_cures import BrokenCompilation

    return BrokenCompilation.of(report, call.function, call.args, call.kwargs), _ERROR


def load(shell: InteractiveShell) -> None:
    """Register the magics, also of worlds, and completion; warm the compiler's cache."""
    magics = WorkbenchMagics(shell)
    magics.found = {kind: dict(table) for kind, table in shell.magics_manager.magics.items()}
    shell.register_magics(magics)
    magics.more = [kind(shell) for kind in list_own_magics()[1:]]
    for more in magics.more:
        shell.register_magics(more)
    for kind in collect(partial(_read_magics, False), type, "class of magics"):
        foreign = ask_for_magics(kind, shell)
        magics.more += [] if foreign is None else [foreign]
    if shell.Completer is not None:
        magics.matcher = build_matcher(shell)
        shell.Completer.custom_matchers.append(magics.matcher)
    if is_interactive(shell):
        magics.warm_up = warm_up()


def list_own_magics() -> list[type]:
    """The class of the core's magics, then those of this package's worlds."""
    return [WorkbenchMagics, *collect(partial(_read_magics, True), type, "class of magics")]


def _read_magics(is_own: bool, world: World) -> Sequence[Any]:
    """Those of a world of this package, or of one of another package; else none."""
    return world.list_magics() if world.is_own == is_own else ()


def ask_for_magics(kind: type, shell: InteractiveShell) -> Any:
    """Register a class of magics; None, with a warning, where it is none or takes a name."""
    known = {name for table in shell.magics_manager.magics.values() for name in table}
    own = {name for table in getattr(kind, "magics", {}).values() for name in table}
    if not issubclass(kind, Magics) or known & own:
        why = f"it takes {join_words(sorted(known & own))}." if known & own else "it has no magics."
        warnings.warn(f"The magics {kind.__name__} are left out: {why}", stacklevel=2)
        return None
    try:
        made = kind(shell)
    except Exception as error:  # somebody else's code, which may raise anything
        why = describe_error(error)
        warnings.warn(f"The magics {kind.__name__} are left out: {why}", stacklevel=2)
        return None
    shell.register_magics(made)
    return made


def unload(shell: InteractiveShell) -> None:
    """Take back what `load` registered; what had our names before gets them again."""
    manager = shell.magics_manager
    magics: Any = manager.registry.pop(WorkbenchMagics.__name__, None)
    if magics is None:
        return
    if magics.warm_up is not None:
        magics.warm_up.stop()
    for registered in (magics, *magics.more):
        manager.registry.pop(type(registered).__name__, None)
        for kind, names in registered.magics.items():
            for name in names:
                manager.magics[kind].pop(name, None)
                if name in magics.found[kind]:
                    manager.magics[kind][name] = magics.found[kind][name]
    if shell.Completer is not None and magics.matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(magics.matcher)
