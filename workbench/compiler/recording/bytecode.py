"""What Dynamo put in the place of each frame: its bytecode, disassembled and as source."""

from __future__ import annotations

import ast
import dis
import importlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from types import CodeType, ModuleType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.recording.stage_graphs import KeptGraph
from workbench.compiler.sources.sources import Places
from workbench.report import Bytecode, Table, Texts, TextWriter
from workbench.report.wbr_file import Lazy

_INSTALL = "depyf decompiles bytecode to Python: pip install 'aot-workbench[decompile]'"
_STOPPED = re.compile(r"opname='(\w+)'")
_TEMPORARY = re.compile(r"\b__temp_\d+\b")
_NAMES = {"<lambda>": "lambda_", "<module>": "module_"}
"""Functions whose names cannot be written in a `def`."""
NEWEST_READ = (3, 12)
"""The newest Python whose bytecode depyf 0.20 reads; it takes that of 3.13 for another's."""


def decompiled(code: CodeType) -> tuple[str | None, str | None]:
    """The source of a function that does the same, or None and the sentence that says why not.

    depyf puts a value where it is used, so that two calls may stand in another order than they run;
    its own names are numbered from 0 here, where it counts them within the process.
    """
    depyf = _depyf()
    if isinstance(depyf, str):
        return None, depyf
    here = sys.version_info[:2]
    if here > NEWEST_READ:
        return (
            None,
            f"depyf {depyf.__version__} does not support bytecode of Python {here[0]}.{here[1]}",
        )
    # past the method's cache, which would keep every code object for good
    write = depyf.Decompiler.decompile.__wrapped__
    try:
        text = write(depyf.Decompiler(code), overwite_fn_name=_NAMES.get(code.co_name))
        return _tidy(text), None
    except depyf.decompiler.DecompilationError as error:
        stopped = _STOPPED.search(str(error))
        where = f"at {stopped[1]}" if stopped else f"there: {error}"
        return None, f"depyf {depyf.__version__} cannot decompile this; it stopped {where}"
    except SyntaxError:
        return None, f"depyf {depyf.__version__} decompiled this to invalid Python"


def _depyf() -> ModuleType | str:
    """The module, or why it is not to be had."""
    try:
        with warnings.catch_warnings():
            # it compares torch's versions as texts, and takes 2.13 for one before 2.2
            warnings.filterwarnings("ignore", "Please use the nightly version of PyTorch")
            return importlib.import_module("depyf")
    except ImportError as error:
        return _INSTALL if error.name == "depyf" else f"depyf cannot be imported: {error}"


def _tidy(text: str) -> str:
    """The source as Python lays it out; raises `SyntaxError` where it is none."""
    numbers: dict[str, str] = {}
    named = _TEMPORARY.sub(
        lambda match: numbers.setdefault(match[0], f"__temp_{len(numbers)}"), text
    )
    return ast.unparse(ast.parse(named))


PANE = "bytecode"
_RANDOM = re.compile(r"(__compiled_fn_\d+)_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_CALLED = re.compile(r"\b(?:__compiled_fn_|__resume_at_)\w+")


class BytecodeRecorder:
    """Keeps the new bytecode of every frame that Dynamo compiled in one recording."""

    def __init__(self, places: Places, texts: TextWriter):
        self._places = places
        self._texts = texts
        self._kept: list[tuple[CodeType, str | None]] = []

    def list_hooks(self) -> Iterator[Hook]:
        """Watch what Dynamo returns for each frame."""
        yield Hook(tp.COMPILE_FRAME, PANE, after=self._on_frame)

    def _on_frame(self, result: Any, *args: Any, **kwargs: Any) -> None:
        compiled = result.guarded_code
        if compiled is not None:  # else the frame runs as it is
            self.keep(compiled.code, str(compiled.compile_id))

    def keep(self, code: CodeType, compile_id: str | None) -> None:
        """Keep what stands in the place of one function."""
        self._kept.append((code, compile_id))

    def finish(self, graphs: Sequence[KeptGraph]) -> WrittenFrames:
        """The frames in the order in which they were compiled, with the graph that each calls."""
        captured = {graph.compile_id: graph.id for graph in graphs if graph.stage == "dynamo"}
        rows = [
            self._row(number, code, captured.get(compile_id), compile_id)
            for number, (code, compile_id) in enumerate(self._kept)
        ]
        return WrittenFrames(rows, [code for code, _ in self._kept], self._places)

    def _row(
        self, number: int, code: CodeType, graph: str | None, compile_id: str | None
    ) -> Bytecode:
        text = _share(dis.Bytecode(code).dis(), self._places)
        return Bytecode(
            id=f"d{number}",
            function=code.co_name,
            graph=graph,
            compile_id=compile_id,
            calls=tuple(dict.fromkeys(_CALLED.findall(text))),
            text=self._texts.add(text),
        )


class WrittenFrames:
    """The table `bytecode`; its sources are written when one is first asked for.

    depyf takes a twentieth of a small compilation, and few people look.
    """

    def __init__(self, rows: Sequence[Bytecode], codes: Sequence[CodeType], places: Places):
        self._rows, self._codes, self._places = rows, codes, places

    def table(self) -> Table[Bytecode]:
        """A row for each frame."""
        columns = Table.of(Bytecode, self._rows).columns
        makers: dict[str, Callable[[], Sequence[Any]]] = {
            name: partial(_same, values) for name, values in columns.items()
        }
        makers["source_text"] = lambda: self._made[0]
        makers["why_no_source"] = lambda: self._made[1]
        return Table(Bytecode, Lazy(makers))

    def texts(self) -> Texts:
        """The texts of the sources."""
        return self._made[2]

    @cached_property
    def _made(self) -> tuple[list[str | None], list[str | None], Texts]:
        writer = TextWriter()
        written = [decompiled(code) for code in self._codes]
        keys = [None if s is None else writer.add(_share(s, self._places)) for s, _ in written]
        return keys, [why for _, why in written], writer.finish()


def _same(values: Sequence[Any]) -> Sequence[Any]:
    return values


def _share(text: str, places: Places) -> str:
    """A text without random names, addresses and the machine's own folders."""
    return places.shared(_ADDRESS.sub("", _RANDOM.sub(r"\1", text)).rstrip("\n"))
