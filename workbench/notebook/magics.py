"""The magics: each one parses its line and makes one call into the API; `load` registers them."""

from __future__ import annotations

import re
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.error import UsageError as OneLine
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_cell_magic,
    line_magic,
    magics_class,
)
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from workbench import api
from workbench.api.compilation import warm_up
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.errors import UsageError, WorkbenchError, describe_error
from workbench.notebook import options
from workbench.notebook.call import (
    WrittenCall,
    evaluate,
    find_last_output,
    pair,
    read_cell,
    read_launch,
    read_line,
    run_cell,
    split,
)
from workbench.notebook.following_views import recorded
from workbench.notebook.options import (
    AXES,
    OF_MAGICS,
    Option,
    dynamic,
    parse_fits_options,
    parse_packaging_options,
)
from workbench.notebook.progress_display import ProgressDisplay, is_interactive, show_job
from workbench.notebook.sweep_magic import run_sweep_line
from workbench.number_text import join_words
from workbench.report import Report
from workbench.report.report_holder import ReportHolder
from workbench.views.document import ViewContext
from workbench.views.widgets.display import displayed, show
from workbench.worlds.world import collect

Present = Callable[..., None]
_CALL = argument("call", nargs="*", help="the call, as you would write it: model(x, k=y)")
_PATH = argument("path", nargs="?", help="the file")
_PAIR = argument("pair", nargs="*", help="two names, or paths of .wbr, .aot or .pt2 files")

_NOTHING = argument("rest", nargs="*", help="nothing: the code stands in the cell")


@magics_class
class WorkbenchMagics(Magics):
    """The magics: `%aot_compile`, `%aot_kernel` and the others, each with its help."""

    found: Mapping[str, Mapping[str, Any]] = {}  # the magics that were there before ours
    more: list[Any]  # those of worlds
    matcher: Any = None
    warm_up: Any = None
    shell: Any  # an InteractiveShell; IPython's own annotation allows None

    @magic_arguments()
    @_CALL
    @options.with_options(options.COMPILE)
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
            chosen, rest = self._parse(self.aot_compile, line, options.COMPILE)
            if cell is not None and rest:
                raise UsageError(
                    f"the call stands at the end of the cell, not beside %%aot_compile: {rest}"
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
            return self._bound(compiled, chosen.output)

    @magic_arguments()
    @_CALL
    @options.with_options(options.KERNEL)
    @line_cell_magic
    def aot_kernel(self, line: str, cell: str | None = None) -> Any:
        """Compile a kernel of Triton or Gluon for a GPU, and show its code line by line.

        The launch is not made. As a cell magic the body runs, which may define the kernel, and its
        last expression is the launch. The result is `_`, or NAME with -o; it can be checked:

            %aot_kernel -t b200 add[(4,)](x, y, out, n, BLOCK=256)
            %%aot_kernel -o k
            k.check(reference=lambda x, y, out, n: x + y)
        """
        with show_plain_errors(self.shell, "%aot_kernel"):
            chosen, rest = self._parse(self.aot_kernel, line, options.KERNEL)
            if cell is not None and rest:
                raise UsageError(
                    f"the launch stands at the end of the cell, not beside %%aot_kernel: {rest}"
                )
            call = read_launch(self.shell, rest, cell)
            kernel = api.kernel(
                call.function, *call.args, target=chosen.target or "h100", **call.kwargs
            )
            bound = self._bound(kernel, chosen.output)
            if chosen.no_view:
                return None
            kernel.report  # noqa: B018 - compiled here, where an error is one sentence
            return bound

    @magic_arguments()
    @_CALL
    @options.with_options(options.EXPLAIN)
    @line_magic
    def aot_explain(self, line: str) -> Any:
        """Show every graph break of a call, with the reason and what to do. This runs the call."""
        with show_plain_errors(self.shell, "%aot_explain"):
            chosen, rest = self._parse(self.aot_explain, line, options.EXPLAIN)
            call = read_line(self.shell, rest)
            explanation = api.explain(call.function, call.args, call.kwargs)
            if not chosen.no_view:
                display(
                    show(explanation, ViewContext(chosen.output or find_last_output(self.shell)))
                )
            return self._bound(explanation, chosen.output)

    @magic_arguments()
    @_PATH
    @options.with_options(options.LOAD)
    @line_magic
    def aot_load(self, line: str) -> Any:
        """Load a saved artifact, ready to be called: %aot_load model.aot -o model."""
        with show_plain_errors(self.shell, "%aot_load"):
            chosen, path = self._parse(self.aot_load, line, options.LOAD)
            module = evaluate(self.shell, chosen.module) if chosen.module else None
            loaded = api.load(_path(path, "%aot_load"), module=module, trust=chosen.trust)
            return self._bound(loaded, chosen.output)

    @magic_arguments()
    @_PATH
    @options.with_options(options.INSPECT)
    @line_magic
    def aot_inspect(self, line: str) -> Any:
        """Look inside a saved artifact; nothing from it is executed: %aot_inspect model.aot."""
        with show_plain_errors(self.shell, "%aot_inspect"):
            chosen, path = self._parse(self.aot_inspect, line, options.INSPECT)
            return self._bound(api.inspect(_path(path, "%aot_inspect")), chosen.output)

    @magic_arguments()
    @_PAIR
    @options.with_options(options.DIFF)
    @line_magic
    def aot_diff(self, line: str) -> Any:
        """Compare two compilations: kernels, graphs, guards, fusion, traffic.

        Each is a name (or an expression) or the path of a .wbr, .aot or .pt2 file:

            %aot_diff static dynamic
            %aot_diff before.wbr model.aot --html diff.html -o found
        """
        with show_plain_errors(self.shell, "%aot_diff"):
            chosen, rest = self._parse(self.aot_diff, line, options.DIFF)
            (a, first), (b, second) = pair(self.shell, rest)
            comparison = api.diff(first, second, names=(a, b))
            if chosen.html:
                comparison.to_html(chosen.html)
                print(f"Wrote {chosen.html}.")
            bound = self._bound(comparison, chosen.output)
            return None if chosen.no_view else bound

    @magic_arguments()
    @_CALL
    @options.with_options(options.SWEEP)
    @line_magic
    def aot_sweep(self, line: str) -> Any:
        """Compile and measure a call under many settings, and say which to take.

        A size that stands in the call is made anew for each of its values. *Cancel* in its view
        and an interrupt keep what is done; the same line goes on from there:

            %aot_sweep f(x) --over mode=default,max-autotune --over threads=1,2
            %aot_sweep model(torch.randn(batch, 64)) --over batch=1,8,32 --objective throughput
        """
        with show_plain_errors(self.shell, "%aot_sweep"):
            chosen, rest = self._parse(self.aot_sweep, line, options.SWEEP)
            sweep = run_sweep_line(self.shell, rest, chosen)
            bound = self._bound(sweep, chosen.output)
            return None if chosen.no_view else bound

    @magic_arguments()
    @_CALL
    @options.with_options(options.FITS)
    @line_magic
    def aot_fits(self, line: str) -> Any:
        """Say whether a training step or a call fits into a GPU, which need not be there.

        The call is not made: its model is compiled at two depths, without weights, and what the
        programs hold is extended to all layers:

            %aot_fits loss_model(tokens)
            %aot_fits -t a100 --optimizer adamw --moments bfloat16 --total 32 loss_model(tokens)
        """
        with show_plain_errors(self.shell, "%aot_fits"):
            chosen, rest = self._parse(self.aot_fits, line, options.FITS)
            call = read_line(self.shell, rest)
            asked = parse_fits_options(chosen)
            target = asked.get("target", "h100")
            with ProgressDisplay(self.shell, call.short, target=target, is_viewed=False) as shown:
                made = call.function, call.args, call.kwargs
                fit = api.fits(*made, progress=shown, **asked)
            return self._bound(fit, chosen.output)

    @magic_arguments()
    @_PATH
    @options.with_options(options.PROFILE)
    @line_magic
    def aot_profile(self, line: str) -> Any:
        """Show what a GPU did while torch.profiler recorded it; nothing of the file is run.

        A trace of export_chrome_trace, or a folder with one for each rank:

            %aot_profile trace.json.gz
            %aot_profile traces --gpu mi300x -o p
        """
        with show_plain_errors(self.shell, "%aot_profile"):
            chosen, path = self._parse(self.aot_profile, line, options.PROFILE)
            profile = api.read_profile(_path(path, "%aot_profile", "trace.json.gz"), chosen.gpu)
            bound = self._bound(profile, chosen.output)
            return None if chosen.no_view else bound

    @magic_arguments()
    @_NOTHING
    @options.with_options(options.SESSION)
    @cell_magic
    def aot_session(self, line: str, cell: str) -> Any:
        """Run a cell and record what plain torch.compile does in it.

        With -o the name is bound before the cell runs, which can end a step with NAME.step() or
        go through NAME.steps(loader). A cell that raises or is interrupted keeps what there is:

            %%aot_session -o run
            for batch in run.steps(loader):
                train(batch)
        """
        with show_plain_errors(self.shell, "%%aot_session"):
            chosen, rest = self._parse(self.aot_session, line, options.SESSION)
            if rest:
                raise UsageError(f"the code stands in the cell, not beside %%aot_session: {rest}")
            session = api.session(
                "full" if chosen.full else "light", chosen.steps, profile=chosen.profile
            )
            self._bound(session, chosen.output)
            variable = chosen.output or find_last_output(self.shell)
            with recorded(self.shell, session, variable, is_viewed=not chosen.no_view):
                return run_cell(self.shell, cell)

    def _parse(
        self, magic: Any, line: str, known: tuple[options.Option, ...]
    ) -> tuple[Namespace, str]:
        words, rest = split(line, known)
        return magic.parser.parse_args(words), rest

    def _start(self, call: WrittenCall, chosen: Namespace) -> Any:
        """Compile in the background; what needs the result has to wait for it."""
        if chosen.save or chosen.annotate or chosen.package:
            raise UsageError(
                "--bg returns before there is anything to save or annotate: leave -s, -p and -a "
                "out, and use .result() of the job."
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
        return self._bound(job, chosen.output)

    def _wanted(self, chosen: Namespace) -> dict[str, Any]:
        own = self.shell.user_ns.get(chosen.backend)
        return {
            "backend": own if callable(own) else chosen.backend,
            "mode": chosen.mode,
            "options": dict(options.parse_option_value(text) for text in chosen.option) or None,
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

    def _bound(self, result: Any, name: str | None) -> Any:
        if name is not None:
            if not name.isidentifier():
                raise UsageError(f"-o {name}: expected a name, such as -o fast.")
            self.shell.user_ns[name] = result
        if isinstance(result, ReportHolder):
            displayed().note(result)
        return result


_ERROR = '__import__("sys").last_value'
_RAISED = f"{_ERROR}.report"
"""The record of what failed or was interrupted: nothing else has it."""


def _failed(report: Report, call: WrittenCall) -> tuple[Any, str]:
    """What is shown of a compilation that failed, and its name: at a break with its cures."""
    if not len(report.breaks):
        return report, _RAISED
    from workbench.handles.rehearsing.live_cures import BrokenCompilation

    return BrokenCompilation.of(report, call.function, call.args, call.kwargs), _ERROR


def _path(text: str, magic: str, example: str = "model.aot") -> str:
    if not text:
        raise UsageError(f"Write the file: {magic} {example}.")
    return text.strip("'\"")


def load(shell: InteractiveShell) -> None:
    """Register the magics, also of worlds, and completion; warm the compiler's cache."""
    magics = WorkbenchMagics(shell)
    magics.found = {kind: dict(table) for kind, table in shell.magics_manager.magics.items()}
    magics.more = list[Any]()  # those of worlds
    shell.register_magics(magics)
    for each in collect(lambda world: world.list_magics(), type, "class of magics"):
        more = ask_for_magics(each, shell)
        magics.more += [] if more is None else [more]
    if shell.Completer is not None:
        magics.matcher = matcher(shell)
        shell.Completer.custom_matchers.append(magics.matcher)
    if is_interactive(shell):
        magics.warm_up = warm_up()


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


@contextmanager
def show_plain_errors(shell: InteractiveShell, magic: str) -> Iterator[None]:
    """Usage errors become one line, our other errors their message without a traceback."""
    try:
        yield
    except UsageError as error:
        raise OneLine(f"{magic}: {error}") from error
    except WorkbenchError as error:
        lines = [f"{type(error).__name__}: {error}", "", "%tb shows the traceback."]
        _shorten(shell, error, lines)
        raise
    except KeyboardInterrupt as error:
        line = f"Interrupted: {magic} was stopped and bound nothing. torch is usable."
        _shorten(shell, error, [line])
        raise


_LINE = re.compile(r"\s*%{1,2}(aot_\w+)\s(.*)", re.DOTALL)
_TAKE_CALLS = ("aot_compile", "aot_kernel", "aot_explain", "aot_sweep", "aot_fits")


def suggestions(text: str, names: Mapping[str, Any]) -> list[str] | None:
    """What can follow `text`, the line up to the cursor; None when it is not for us to say."""
    match = _LINE.fullmatch(text)
    if match is None or match[1] not in OF_MAGICS:
        return None
    known = OF_MAGICS[match[1]]
    words = match[2].split(" ")
    word, before = words[-1], [w for w in words[:-1] if w]
    last = before[-1] if before else ""
    taking = next((o for o in known if last in o.names and o.metavar is not None), None)
    if taking is not None:
        return _values(taking, word, names)
    if word.startswith("-"):
        return [name for option in known for name in option.names if name.startswith(word)]
    if match[1] in _TAKE_CALLS and word.isidentifier() | (not word) and _is_start(before, known):
        return [name for name in _callables(names) if name.startswith(word)]
    if match[1] == "aot_diff" and word.isidentifier() | (not word):
        matching = [name for name in _compilations(names) if name.startswith(word)]
        return matching or None  # paths are for IPython to complete
    return None


def _values(option: Option, word: str, names: Mapping[str, Any]) -> list[str] | None:
    if option.metavar == "PATH":
        return None
    values = [choice for choice in option.choices if choice.startswith(word)]
    if "--over" in option.names and "=" not in word:
        return [f"{axis}=" for axis in AXES if axis.startswith(word)]
    if "--target" in option.names:
        values += [gpu.name for gpu in list_known_gpus() if gpu.name.startswith(word)]
    if "--backend" in option.names:
        values += [name for name in _callables(names) if name.startswith(word)]
    return values


def _is_start(before: Sequence[str], known: Sequence[Option]) -> bool:
    """Whether only options came before, so that a name begins the call."""
    rest = list(before)
    while rest:
        option = next((o for o in known if rest[0] in o.names), None)
        if option is None:
            return False
        del rest[: 1 if option.metavar is None else 2]
    return True


def _callables(names: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sorted(names.items()):
        if callable(value) and not name.startswith("_") and not isinstance(value, type):
            yield name


def _compilations(names: Mapping[str, Any]) -> Iterator[str]:
    """Names of what has a report, or is one."""
    for name, value in sorted(names.items()):
        report = value if isinstance(value, Report) else getattr(value, "report", None)
        is_ours = isinstance(report, Report) or callable(report)
        if is_ours and not name.startswith("_") and not isinstance(value, type | ModuleType):
            yield name


def matcher(shell: InteractiveShell) -> Any:
    """The matcher that IPython asks; it keeps other completions out of our options."""

    @context_matcher(identifier="workbench")
    def complete(context: CompletionContext) -> SimpleMatcherResult:
        text = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
        words = suggestions(text, shell.user_ns)
        if words is None:
            return SimpleMatcherResult(completions=[])
        word = re.split(r"\s", text)[-1]
        skipped = len(word) - len(context.token) if word.endswith(context.token) else 0
        made = [SimpleCompletion(text=text[skipped:], type="magic option") for text in words]
        return SimpleMatcherResult(completions=made, suppress=True)

    return complete
